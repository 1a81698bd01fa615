"""Several texts encoded together."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
import pytest

from tokstudio import Corpus, LibraryConfig, TrainingConfig, add_specials, train, train_by_library
from tokstudio.core.analysis.baselines import ByteTokenizer, CharacterTokenizer, WordTokenizer
from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.progress import finish
from tokstudio.core.tokenizer.batch import Batch, encode_texts, padding_id

TEXTS = ["ab", "", b"c\xff", "é!"]


def test_without_padding_each_text_keeps_its_length():
    batch = encode_texts(ByteTokenizer().encode, TEXTS)
    assert batch == Batch([[97, 98], [], [99, 255], [195, 169, 33]], [[1, 1], [], [1, 1], [1, 1, 1]])


def test_padding_goes_to_the_right_and_the_mask_says_where():
    batch = encode_texts(ByteTokenizer().encode, TEXTS, padding=True, pad_id=7)
    assert batch.ids == [[97, 98, 7], [7, 7, 7], [99, 255, 7], [195, 169, 33]]
    assert batch.attention_mask == [[1, 1, 0], [0, 0, 0], [1, 1, 0], [1, 1, 1]]
    assert np.array(batch.ids).shape == np.array(batch.attention_mask).shape == (4, 3)


@pytest.mark.parametrize("padding", [0, 1, np.uint32(50256)])
def test_zero_and_one_are_ids_to_pad_with(padding):
    assert encode_texts(ByteTokenizer().encode, ["a", ""], padding, pad_id=7).ids == [[97], [padding]]


@pytest.mark.parametrize("padding", [False, True, 3])
def test_no_texts_make_an_empty_batch(padding):
    assert encode_texts(ByteTokenizer().encode, [], padding) == Batch([], [])


@pytest.mark.parametrize("text", ["one text", b"one text"])
def test_one_text_is_no_batch(text):
    with pytest.raises(ConfigError, match="list of texts"):
        encode_texts(ByteTokenizer().encode, text)


@pytest.mark.parametrize("padding", [-1, 1.0, "longest", None])
def test_padding_that_is_no_id_is_refused_before_anything_is_encoded(padding):
    asked: list[object] = []
    with pytest.raises(ConfigError, match=f"not {padding!r}"):
        encode_texts(lambda text: asked.append(text) or [1], ["a"], padding)
    assert asked == []


@pytest.mark.parametrize("token", ["<pad>", "<PAD>", "[PAD]", "<|pad|>", "<|padding|>", "<padding>"])
def test_a_padding_token_is_recognised(token):
    assert padding_id({"<|endoftext|>": 3, "<unk>": 1, token: 9}) == 9


@pytest.mark.parametrize("token", ["pad", "<pads>", "<|pad>", "[pad|]", "<launchpad>", "a <pad>"])
def test_similar_tokens_are_not_padding_tokens(token):
    assert padding_id({token: 9, "<|endoftext|>": 3}) == 3


def test_of_two_padding_tokens_the_lower_id_counts_whatever_their_order():
    assert padding_id({"[PAD]": 9, "<pad>": 4}) == padding_id({"<pad>": 4, "[PAD]": 9}) == 4


@pytest.mark.parametrize("texts", [["a", "bb"], ["a"], []])
def test_without_a_token_to_pad_with_an_id_must_be_given(texts):
    """No id is taken for it without a word: id 0 may be any token."""
    tokenizer = train(Corpus.from_text("abab abab"), TrainingConfig(vocabulary_size=258))
    for any_tokenizer in (tokenizer, ByteTokenizer(), WordTokenizer(["a"])):
        with pytest.raises(ConfigError, match="has no padding token: give the id to pad with, as in padding=0"):
            any_tokenizer.encode_batch(texts, padding=True)
        assert any_tokenizer.encode_batch(texts, padding=0).attention_mask[:1] in ([[1, 0]], [[1]], [])
    ended = add_specials(tokenizer, ["<|pad|>"])
    assert ended.encode_batch(["a", ""], padding=True).ids == [[97], [ended.special_tokens["<|pad|>"]]]


@pytest.mark.parametrize("given", [["a"], ("a", "b"), [], None, 3, {"a": 1}, bytearray(b"a"), ["long"] * 5_000])
def test_what_is_not_one_text_is_refused_with_the_name_of_what_takes_several(given):
    tokenizer = train(Corpus.from_text("abab abab"), TrainingConfig(vocabulary_size=258))
    of_library = train_by_library(
        Corpus.from_text("abab abab\nab"), LibraryConfig(algorithm="wordpiece", vocabulary_size=10)
    ).tokenizer
    for encode in (
        tokenizer.encode,
        tokenizer.encode_array,
        lambda text: tokenizer.encode(text, "all"),
        lambda text: finish(tokenizer.encode_work(text)),
        lambda text: finish(tokenizer.encode_with_ends_work(text)),
        lambda text: tokenizer.encode_batch([text]),
        lambda text: list(tokenizer.encode_iterable([text])),
        tokenizer.with_dropout(0.5, 1).encode,
        of_library.encode,
        of_library.encode_array,
        CharacterTokenizer().encode,
        ByteTokenizer().encode,
        WordTokenizer(["a"]).encode,
    ):
        with pytest.raises(ConfigError, match=f"not {type(given).__name__}: encode takes one text, encode_batch sev"):
            encode(given)
