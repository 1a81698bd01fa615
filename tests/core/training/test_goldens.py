"""The documents that this project follows print results; these are the byte-level ones and the simple tokenizers'."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
from pathlib import Path

import pytest

from tokstudio.core.analysis.baselines import ByteTokenizer, CharacterTokenizer, WordTokenizer
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.formats.loading import load
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.text.byte_level import to_characters
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.core.training.trainer import train

FILE = Path(__file__).parents[2] / "data" / "goldens.json"
CASES = {case["name"]: case for case in json.loads(FILE.read_text(encoding="utf-8"))["cases"]}
TRAINED = ["banana", "the cat in the hat", "fifty merges"]


def tokenizer_of(name: str) -> Tokenizer:
    case = CASES[name]
    return train(Corpus.from_text(case["text"]), TrainingConfig(vocabulary_size=256 + case["merges"]))


@pytest.mark.parametrize("name", TRAINED)
def test_the_merges_are_those_of_the_document(name):
    tokenizer = tokenizer_of(name)
    made = [[*pair, result] for pair, result in zip(tokenizer.merges.tolist(), tokenizer.merge_results, strict=True)]
    assert made == CASES[name]["expect_merges"]
    assert len(tokenizer) == CASES[name].get("vocabulary_size", len(tokenizer))
    assert tokenizer.run.ended == "reached vocabulary size"


@pytest.mark.parametrize("name", ["the cat in the hat", "fifty merges"])
def test_a_text_encodes_as_in_the_document(name):
    encode = CASES[name]["encode"]
    assert tokenizer_of(name).encode(encode["text"]) == encode["ids"]


def test_banana():
    case = CASES["banana"]
    tokenizer = tokenizer_of("banana")
    assert tokenizer.encode("banana") == case["expect_ids"]
    [(token, entry)] = case["expect_vocabulary_json_entry"].items()
    assert tokenizer.tokens[int(token)] == bytes(entry["bytes"])


def test_fifty_merges():
    case = CASES["fifty merges"]
    tokenizer = tokenizer_of("fifty merges")
    assert tokenizer.at(0).encode(case["text"])[:10] == case["first_ten_ids"]
    assert tokenizer.decode(case["decode"]["ids"]) == case["decode"]["text"]
    assert tokenizer.run.counts[-1] == 1, "the size alone goes on where pairs occur once"


@pytest.mark.parametrize("name", TRAINED)
def test_a_language_that_was_not_trained_on_falls_back_to_bytes(name):
    case = CASES["an untrained language falls back to bytes"]
    assert tokenizer_of(name).encode(case["text"]) == case["ids"]


@pytest.mark.parametrize(
    ("name", "tokenizer"), [("character tokenizer", CharacterTokenizer()), ("byte tokenizer", ByteTokenizer())]
)
def test_the_tokenizers_of_characters_and_bytes(name, tokenizer):
    case, size = CASES[name], len(CASES[name]["text"].encode())
    ids = tokenizer.encode(case["text"])
    assert ids == case["ids"]
    assert (len(ids), size, size / len(ids)) == (case["tokens"], case.get("bytes", size), case["compression_ratio"])
    lower = case.get("vocabulary_size_lower_bound", max(ids) + 1)
    assert tokenizer.vocabulary_size_lower_bound(ids) == lower
    assert tokenizer.decode(ids) == case["text"]


@pytest.mark.parametrize("name", ["word tokenizer by regex", "word tokenizer by white space"])
def test_the_word_tokenizer(name):
    case = CASES[name]
    tokenizer = WordTokenizer.from_text(case["text"], case.get("pattern"))
    ids = tokenizer.encode(case["text"])
    assert [tokenizer.decode([token]) for token in ids] == case["segments"]
    # Numbered from 1 in order of appearance: the second space of the first case is the first one again.
    assert ids == [list(dict.fromkeys(case["segments"])).index(segment) + 1 for segment in case["segments"]]
    assert tokenizer.decode(ids) == case["text"]


def test_the_word_tokenizer_s_own_pattern_is_the_document_s():
    case = CASES["word tokenizer by regex"]
    assert WordTokenizer.from_text(case["text"]).pattern == case["pattern"]


def test_a_text_in_characters():
    case, tokenizer = CASES["character split"], CharacterTokenizer()
    assert [tokenizer.decode([token]) for token in tokenizer.encode(case["text"])] == case["segments"]


@pytest.mark.shared_data
class TestGpt2:
    @pytest.fixture
    def gpt2(self, shared):
        return load(shared / "tokenizers" / "gpt2")

    def test_a_sentence_and_garbage(self, gpt2):
        case = CASES["GPT-2"]
        ids = gpt2.encode(case["encode"]["text"])
        assert len(gpt2) == case["vocabulary_size"]
        assert ids == case["encode"]["ids"]
        tokens = [gpt2.tokens[token] for token in ids]
        assert [token.decode() for token in tokens] == case["encode"]["tokens_as_text"]
        assert [to_characters(token) for token in tokens] == case["encode"]["tokens_as_stored"]
        assert gpt2.encode_batch([case["encode"]["text"]]).attention_mask == [case["encode"]["attention_mask"]]
        garbage = gpt2.encode(case["garbage"]["text"])
        assert [gpt2.decode([token]) for token in garbage] == case["garbage"]["tokens_as_text"]

    def test_the_end_of_text_and_a_batch(self, gpt2):
        case = CASES["GPT-2 special tokens"]
        end = case["end_of_text"]
        assert gpt2.special_tokens == {end["token"]: end["id"]}
        assert gpt2.encode(end["token"], "all") == [end["id"]]
        assert len(gpt2.encode(end["token"])) > 1
        assert gpt2.encode_batch(case["batch"]["texts"]).ids == case["batch"]["ids"]
