"""The near form of BoundlessBPE: what it is, what it loses, and how many words differ."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import re

import pytest
import regex
from tokenizers import Tokenizer as Theirs

from tests.core.algorithms import SUPERBPE_TEXT, boundless, superbpe
from tokstudio import Corpus, FormatError, load, save, train
from tokstudio.core.base.progress import finish
from tokstudio.core.formats.saving import fit
from tokstudio.core.formats.writers import difference_work, near_form
from tokstudio.core.model.algorithms import SECOND_PATTERN
from tokstudio.core.pretokenization.patterns import NAMES, REGEX, covering

# " the" is a word, and the beginning of others that are not one token each.
TEXT = (
    "of the man in the house. of the men, of the moon in the theatre of them. It's of the self.made kind in 1984.\n"
    * 30
)
OTHER = "of the themes in the thesis of the theory: of theoretical men, of the 12 moons. it's of the"


def trained(pattern="gpt2", size=330):
    return train(Corpus.from_text(TEXT), boundless(size, pattern=pattern))


def tokens_with_places(tokenizer, text):
    found, at = [], 0
    for token in tokenizer.encode(text):
        raw = tokenizer.tokens[token]
        found.append((at, at + len(raw), token))
        at += len(raw)
    return found


@pytest.mark.parametrize("pattern", [name for name in NAMES if name != "none"])
def test_the_library_encodes_as_the_near_form_does(tmp_path, pattern):
    tokenizer = trained(pattern)
    near = near_form(tokenizer)
    assert near.supermerges is None
    assert sorted(near.merges.tolist()) == sorted(tokenizer.merges.tolist())
    assert list(near.tokens) == list(tokenizer.tokens)
    report = save(tokenizer, tmp_path / "tokenizer.json", accept_loss=True, sample=TEXT)
    assert report.proof.startswith("the near form is identical on the test text")
    theirs, again = Theirs.from_file(str(tmp_path / "tokenizer.json")), load(tmp_path / "tokenizer.json")
    for text in (TEXT, OTHER):
        assert theirs.encode(text).ids == near.encode(text) == again.encode(text)
    joined = [token for token in near.encode(TEXT) if b"of the" in near.tokens[token]]
    assert joined, "supermerges are used"


def test_words_that_differ_are_counted():
    tokenizer = trained()
    near = near_form(tokenizer)
    ours, theirs = tokens_with_places(tokenizer, OTHER), tokens_with_places(near, OTHER)
    alone = set(ours) ^ set(theirs)
    words = [match.span() for match in regex.finditer(REGEX["gpt2"], OTHER)]
    different = [
        OTHER[begin:end] for begin, end in words if any(first < end and begin < last for first, last, _ in alone)
    ]
    assert different, "the text has such words"
    found = finish(difference_work(tokenizer, near, OTHER))
    assert (found.different, found.words) == (len(different), len(words))
    assert different[0].strip() in found.example
    none = finish(difference_work(tokenizer, near, ""))
    assert (none.different, none.words, none.example) == (0, 0, "")


def test_the_loss_is_said_and_must_be_accepted(tmp_path):
    tokenizer = trained()
    [loss] = fit(tokenizer, "huggingface", sample=OTHER).losses
    assert re.search(
        r"near form.*Of \d+ words in a sample of the text, \d+ \(\d+\.\d\s%\) get other tokens, as in “", loss
    )
    [loss] = fit(tokenizer, "huggingface").losses
    assert "sample" not in loss
    with pytest.raises(FormatError, match="near form"):
        save(tokenizer, tmp_path / "tokenizer.json")
    assert not (tmp_path / "tokenizer.json").exists()


def test_what_has_no_near_form_says_so():
    for name in ("tiktoken", "gpt2", "minbpe", "classic"):
        assert "cannot hold supermerges" in fit(trained(), name).problem
    tokenizer = trained(r" ?\w+|\W")
    assert tokenizer.supermerges is not None
    assert near_form(tokenizer) is None
    assert "cannot hold supermerges" in fit(tokenizer, "huggingface").problem
    before_the_first = trained().at(3)
    assert before_the_first.supermerges is None
    assert fit(before_the_first, "huggingface").losses == ()


# --- Exports of SuperBPE, whose pattern leaves text between its matches -----------------------------------------------

FILES = {"huggingface": "tokenizer.json", "tiktoken": "x.tiktoken", "minbpe": "x.model"}
SAMPLE = "12345 ... of the end!! \n\n  the day: of\tthe\r\n naïve 日本 (??)   "


@pytest.fixture(scope="module")
def tokenizer():
    return train(Corpus.from_text(SUPERBPE_TEXT), superbpe(special_tokens=["<s>"]))


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("merges", [20, 74 - 1])
def test_files_hold_it_and_give_its_ids(tmp_path, tokenizer, name, merges):
    pytest.importorskip("tiktoken" if name == "tiktoken" else "tokenizers")
    whole = tokenizer.at(merges).compact()
    report = save(whole, tmp_path / FILES[name], name, sample=SAMPLE.encode())
    assert report.losses == ()
    assert report.proof.startswith("identical on the test text")
    again = load(tmp_path / FILES[name])
    assert again.pattern == whole.pattern == (covering(SECOND_PATTERN) if merges > 34 else "gpt2")
    assert again.encode(SAMPLE) == whole.encode(SAMPLE)


def test_tokenizer_json_has_the_pattern_of_stage_2_as_it_is_published(tmp_path, tokenizer):
    """And text that a file drops is not taken for pre-tokens."""
    tokenizers, file = pytest.importorskip("tokenizers"), tmp_path / "tokenizer.json"
    save(tokenizer, file, "huggingface")
    text = file.read_text(encoding="utf-8")
    split = json.loads(text)["pre_tokenizer"]["pretokenizers"][0]
    assert (split["pattern"], split["behavior"]) == ({"Regex": SECOND_PATTERN}, "Isolated")
    assert tokenizers.Tokenizer.from_file(str(file)).encode(SAMPLE).ids == tokenizer.encode(SAMPLE)
    text = text.replace('"Isolated"', '"Removed"').replace('"invert": false', '"invert": true')
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
