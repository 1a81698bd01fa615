"""Closing gaps between ids keeps the tokens and reports every move."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np

from tests.core.formats.trained import SPECIALS, TEXT, shuffled, trained, with_specials
from tokstudio.core.formats.common.proof import closed_gaps
from tokstudio.core.tokenizer.tokenizer import Tokenizer


def tokens_of(tokenizer: Tokenizer, text: str) -> list[bytes | None]:
    return [tokenizer.tokens[token] for token in tokenizer.encode(text, allowed_special="all")]


def test_a_tokenizer_without_gaps_stays_itself():
    for whole in (with_specials(), with_specials(placement="first"), trained(TEXT, 20)):
        assert closed_gaps(whole) == (whole, ())


def test_a_special_token_behind_merges_that_are_left_out_is_named_with_both_ids():
    tokenizer = trained(TEXT * 3, 61, special_tokens=["<|end|>"]).at(12)
    compact, sentences = closed_gaps(tokenizer)
    assert sentences == ('The special token "<|end|>" moves from 316 to 268.',)
    assert compact.special_tokens == {"<|end|>": 268}
    assert len(compact.tokens) == len(compact) == 256 + 12 + 1


def test_more_than_three_are_counted():
    whole = with_specials()
    _, sentences = closed_gaps(whole.at(10))
    first = 256 + len(whole.merges)
    assert sentences == (f"{len(SPECIALS)} special tokens move, the first from {first} to 266.",)


def test_a_gap_before_ordinary_tokens_is_told_apart_from_special_ones():
    results = np.array([300, 301, 302, 303, 304], np.int32)
    merges = np.array([(97, 98), (300, 99), (98, 99), (99, 99), (99, 97)], np.int32)
    tokenizer = Tokenizer(merges, results, special_tokens={"<|end|>": 256, "a\nb": 900})
    compact, sentences = closed_gaps(tokenizer)
    assert sentences == (
        'The special token "a\\nb" moves from 900 to 262.',
        "5 other tokens move, the first from 300 to 257.",
    )
    assert compact.special_tokens == {"<|end|>": 256, "a\nb": 262}
    assert closed_gaps(tokenizer.at(2))[1][1:] == (
        "A token moves from 300 to 257.",
        "A token moves from 301 to 258.",
    )


def test_the_same_text_becomes_the_same_tokens():
    for tokenizer in (with_specials().at(30), shuffled().at(25), shuffled()):
        compact, sentences = closed_gaps(tokenizer)
        assert sentences
        assert compact.tokens.ids().tolist() == list(range(len(tokenizer)))
        assert tokens_of(compact, TEXT * 2) == tokens_of(tokenizer, TEXT * 2)
