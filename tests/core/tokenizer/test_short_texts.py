"""Short texts are encoded as long ones."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.reference import encode_slowly
from tests.core.texts import patient
from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.progress import finish
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.pretokenization.patterns import NAMES
from tokstudio.core.pretokenization.word_table import WordTable
from tokstudio.core.tokenizer import encoder
from tokstudio.core.training.trainer import train

TEXT = "the cat sat on the mat, and that's that: the rat sat in the hat. Zürich 123 <|end|> 日本\n" * 9
texts = st.lists(st.sampled_from([*TEXT.split(" "), " ", "\n", "'s", "x"]), max_size=30).map(" ".join)


def trained(pattern, **more):
    config = TrainingConfig(vocabulary_size=330, pattern=pattern, special_tokens=("<|end|>",), **more)
    return train(Corpus.from_texts([TEXT]), config)


TRAINED = {pattern: trained(pattern) for pattern in NAMES}


def by_arrays(tokenizer, text, allowed=()):
    return finish(tokenizer.encode_work(text, allowed)).tolist()


@pytest.mark.parametrize("pattern", NAMES)
@settings(patient, max_examples=60)
@given(text=st.one_of(texts, st.binary(max_size=300)))
def test_a_short_text_has_the_ids_that_it_has_among_arrays(pattern, text):
    tokenizer = TRAINED[pattern]
    assert tokenizer.encode(text) == by_arrays(tokenizer, text)
    assert tokenizer.encode_array(text).dtype == np.uint32
    assert tokenizer.encode_array(text).tolist() == by_arrays(tokenizer, text)
    assert tokenizer.encode(text, "all") == by_arrays(tokenizer, text, "all")


@settings(patient, max_examples=60)
@given(some=st.lists(texts, min_size=1, max_size=6))
def test_known_words_are_forgotten_when_there_are_too_many(some):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoder, "_MOST_KNOWN_OF_SHORT", 3)
        tokenizer = TRAINED["gpt2"].at(30)
        for text in some:
            assert tokenizer.encode(text) == by_arrays(tokenizer, text)


def test_fewer_merges_and_dropout_have_ids_of_their_own():
    tokenizer = TRAINED["gpt2"]
    text = "the cat sat on the mat"
    assert tokenizer.encode(text) == by_arrays(tokenizer, text)
    assert tokenizer.at(5).encode(text) == by_arrays(tokenizer.at(5), text) != tokenizer.encode(text)
    broken = tokenizer.with_dropout(0.9, seed=1)
    assert broken.encode(text) == by_arrays(broken, text) != tokenizer.encode(text)
    assert broken.with_dropout(0).encode(text) == tokenizer.encode(text)


@pytest.fixture
def many_whole():
    """A tokenizer with 300 whole words; and the calls of the table of words, as they come."""
    spelled = {1_000 + n: b" cat%d" % n if n % 2 else b"%d" % n for n in range(300)}
    tokenizer = TRAINED["gpt2"].changed(extra_tokens=spelled, whole_words=list(spelled))
    calls, look_up = [], WordTable.look_up
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WordTable, "look_up", lambda *given: calls.append(1) or look_up(*given))
        yield tokenizer, calls


@pytest.mark.parametrize("at_once", [7, 1 << 16])
def test_whole_words_cost_a_text_little(many_whole, monkeypatch, at_once):
    monkeypatch.setattr("tokstudio.core.tokenizer.encoder.MOST_WORDS", at_once)
    monkeypatch.setattr(encoder, "_MOST_KNOWN_OF_SHORT", 3)
    tokenizer, calls = many_whole
    merged = {word: encode_slowly(word, tokenizer.merges.tolist()) for word in (b"the", b" cat", b" sat", b" 2")}
    for n in range(0, 300, 50):
        text = f"the cat{n + 1} cat sat 2"  # a letter and a digit are two words
        ids = [*merged[b"the"], *merged[b" cat"], *tokenizer.encode(f"{n + 1}"), *merged[b" cat"], *merged[b" sat"]]
        assert tokenizer.encode(text) == [*ids, *merged[b" 2"]] == by_arrays(tokenizer, text)
        assert tokenizer.encode(f"{n}") == [1_000 + n] == by_arrays(tokenizer, f"{n}")
    assert len(calls) < 300 / min(at_once, 50) + 50


def test_tokens_across_words_are_joined_in_a_short_text():
    tokenizer = trained("gpt2", algorithm="boundless")
    assert tokenizer.supermerges is not None
    assert tokenizer.encode("the cat sat on the mat") == by_arrays(tokenizer, "the cat sat on the mat")


def test_characters_without_a_token_and_bytes_that_are_not_utf8():
    tokenizer = trained("gpt2", base="characters")
    for text in ("the ÿ", b"the c\xffat"):
        with pytest.raises(ConfigError, match="vocabulary"):
            tokenizer.encode(text)
    assert tokenizer.encode("the cat") == by_arrays(tokenizer, "the cat")


def test_an_unknown_special_token_is_refused():
    with pytest.raises(ConfigError, match="no special token"):
        TRAINED["gpt2"].encode("the", ["<|nothing|>"])
    with pytest.raises(ConfigError, match="list"):
        TRAINED["gpt2"].encode("the", "")
