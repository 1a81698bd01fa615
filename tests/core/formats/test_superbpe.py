"""Exports of SuperBPE, whose pattern leaves text between its matches."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import re

import pytest

from tests.core.training.test_superbpe import TEXT, superbpe
from tokstudio import Corpus, save, train
from tokstudio.core.formats.loading import load
from tokstudio.core.formats.saving import fit
from tokstudio.core.model.algorithms import SECOND_PATTERN
from tokstudio.core.pretokenization.patterns import covering

FILES = {"huggingface": "tokenizer.json", "tiktoken": "x.tiktoken", "minbpe": "x.model"}
SAMPLE = "12345 ... of the end!! \n\n  the day: of\tthe\r\n naïve 日本 (??)   "


@pytest.fixture(scope="module")
def tokenizer():
    return train(Corpus.from_text(TEXT), superbpe(special_tokens=["<s>"]))


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("merges", [20, 74 - 1])
def test_files_hold_it_and_give_its_ids(tmp_path, tokenizer, name, merges):
    pytest.importorskip("tiktoken" if name == "tiktoken" else "tokenizers")
    whole = tokenizer.at(merges).compact()
    report = save(whole, tmp_path / FILES[name], name, sample=SAMPLE.encode())
    assert report.losses == ()
    assert report.proof.startswith("identical over ")
    again = load(tmp_path / FILES[name])
    assert again.pattern == whole.pattern == (covering(SECOND_PATTERN) if merges > 34 else "gpt2")
    assert again.encode(SAMPLE) == whole.encode(SAMPLE)


def test_tokenizer_json_has_the_pattern_of_stage_2_as_it_is_published(tmp_path, tokenizer):
    tokenizers = pytest.importorskip("tokenizers")
    save(tokenizer, tmp_path / "tokenizer.json", "huggingface")
    settings = json.loads((tmp_path / "tokenizer.json").read_text(encoding="utf-8"))
    split = settings["pre_tokenizer"]["pretokenizers"][0]
    assert (split["pattern"], split["behavior"]) == ({"Regex": SECOND_PATTERN}, "Isolated")
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    assert theirs.encode(SAMPLE).ids == tokenizer.encode(SAMPLE)


def test_text_that_a_file_drops_is_not_taken_for_pre_tokens(tmp_path, tokenizer):
    save(tokenizer, tmp_path / "tokenizer.json", "huggingface")
    file = tmp_path / "tokenizer.json"
    text = (
        file.read_text(encoding="utf-8").replace('"Isolated"', '"Removed"').replace('"invert": false', '"invert": true')
    )
    file.write_text(text, encoding="utf-8")
    made = load(file)
    assert made.library == "tokenizers"
    assert made.decode(made.encode("of 123 the")) == "123"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("classic", "The pattern .* is lost: this format does not split text"),
        ("gpt2", "The pattern .* is lost: programs that read this format split text as GPT-2 does"),
        ("sentencepiece", "merges characters, but this tokenizer merges bytes"),
    ],
)
def test_other_formats_say_what_they_cannot_hold(tokenizer, name, reason):
    found = fit(tokenizer, name)
    assert re.search(reason, " ".join([found.problem or "", *found.losses]))
