"""Tokens that no text becomes, compared with encoded texts."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tokstudio import Corpus, Tokenizer, TrainingConfig, train
from tokstudio.core.analysis.reachability import CUT, MADE_OTHERWISE, NORMALIZED, NOT_MADE, REACHED, reachability_work
from tokstudio.core.base.progress import finish
from tokstudio.core.pretokenization.patterns import NAMES
from tokstudio.core.pretokenization.preparation import Preparation
from tokstudio.core.text.nfc import nfc

LETTERS = "ab 1."
#: Every text of up to five of these letters: a token of three has all that can stand before and behind it.
TEXTS = ["".join(text) for size in range(1, 6) for text in product(LETTERS, repeat=size)]


@st.composite
def merges(draw: st.DrawFn) -> NDArray[np.int32]:
    """Merges that make tokens of two or three letters."""
    tokens = {ord(letter): letter for letter in LETTERS}
    pairs: list[tuple[int, int]] = []
    for result in range(256, 256 + draw(st.integers(1, 8))):
        fitting = [
            pair
            for pair in product(tokens, repeat=2)
            if len(tokens[pair[0]] + tokens[pair[1]]) <= 3 and pair not in pairs
        ]
        left, right = draw(st.sampled_from(fitting))
        pairs.append((left, right))
        tokens[result] = tokens[left] + tokens[right]
    return np.array(pairs, np.int32)


def reach(tokenizer: Tokenizer) -> list[int]:
    return finish(reachability_work(tokenizer)).tolist()


@settings(max_examples=12)
@given(merges(), st.sampled_from(["none", "gpt2", "cl100k", "o200k", "whitespace", r"[ab]+|\D|\d\d?", r"a+b?| ?\w|."]))
def test_a_token_is_unreachable_exactly_where_no_text_becomes_it(merges, pattern):
    tokenizer = Tokenizer(merges, pattern=pattern)
    seen = set(tokenizer.encode_batch(TEXTS).flat.tolist())
    found = reach(tokenizer)
    made = range(256, 256 + len(merges))
    assert [token for token in made if found[token] == REACHED] == [token for token in made if token in seen]


@pytest.mark.parametrize("pattern", [*NAMES, r"\w+|\W+", r"'?[a-z]+(?=\W|$)|.|\n"])
@settings(max_examples=10)
@given(text=st.text(alphabet="aBr'sevé中\u0301 \n12.?", min_size=2, max_size=200))
def test_tokens_of_a_training_are_reached(pattern, text):
    tokenizer = train(Corpus.from_texts([text]), TrainingConfig(vocabulary_size=300, pattern=pattern))
    assert set(reach(tokenizer)) == {REACHED}


@pytest.mark.parametrize(
    ("pattern", "text", "token"),
    [
        (r"\w+(?=;)|[\s\S]", "key;", b"key"),
        (r"(?<=ab\d{3} )\w+|[\s\S]", "ab123 key", b"key"),
        (r"<<[^>]*>>|\w+|\W", "<<a b>>", b"a b"),
        (r"x.{9}y|\w|\W", "x12 45 78 y", b"5 7"),
        (r"(\w)\w+\1|[\s\S]", "nine in", b"nin"),
    ],
)
def test_what_a_custom_expression_keeps_whole_only_in_some_place_is_reached(pattern, text, token):
    tokenizer = Tokenizer(np.array(merged(token), np.int32), pattern=pattern)
    made = 254 + len(token)
    assert made in tokenizer.encode(text)
    assert reach(tokenizer)[made] == REACHED


def test_each_reason_has_its_own_constant():
    merges = np.array([[98, 32], [98, 99], [97, 98], [258, 99]], np.int32)
    tokenizer = Tokenizer(
        merges, pattern="gpt2", extra_tokens={260: b"xyz", 261: b"a1", 262: b"no"}, whole_words=[261, 262]
    )
    found = reach(tokenizer)
    assert [found[token] for token in range(256, 263)] == [
        CUT, REACHED, REACHED, MADE_OTHERWISE, NOT_MADE, CUT, REACHED,
    ]  # fmt: skip
    assert tokenizer.encode("no") == [262]


def merged(*texts: bytes) -> list[list[int]]:
    """Merges of bytes that make each text, from the left."""
    rows: list[list[int]] = []
    for text in texts:
        left = text[0]
        for byte in text[1:]:
            rows.append([left, byte])
            left = 255 + len(rows)
    return rows


def test_tokens_whose_text_the_normalizer_changes_are_reached_by_no_text():
    # U+1F77 becomes U+03AF, "e" and U+0301 one character, and U+0344 two; a mark alone and a part of one stay.
    texts = [b"\xe1\xbd\xb7", b"e\xcc\x81", b"\xaa\xcd\x84", b"\xcc\x81", b"o\xcc", b"\xc3\xa9"]
    rows, tokens = merged(*texts), Preparation(nfc=True)
    special = 256 + len(rows)
    made = dict(tokens_of(Tokenizer(np.array(rows), pattern="none")))
    plain = Tokenizer(
        np.array(rows), pattern="none", special_tokens={"\u212b": special}, extra_tokens={special + 1: b"\xcd\xb4"},
        whole_words=[special + 1],
    )  # fmt: skip
    assert set(reach(plain)) == {REACHED}
    found = reach(plain.changed(preparation=tokens))
    changed = {token for token, kind in enumerate(found) if kind == NORMALIZED}
    assert changed == {made[text] for text in texts[:3]} | {special + 1}
    assert {found[token] for token in set(range(special + 1)) - changed} == {REACHED}
    seen = set(plain.changed(preparation=tokens).encode_batch([*texts, b"\xcd\xb4"]).flat.tolist())
    assert not seen & changed


@settings(max_examples=12)
@given(st.lists(st.sampled_from("eo\u0301\u0344\u1f77\u212b\u1100\u1161가"), min_size=2, max_size=3, unique=True))
def test_no_text_becomes_a_token_that_is_told_to_be_changed(letters):
    tokenizer = train(
        Corpus.from_texts(["".join(text) for text in product(letters, repeat=3)]), TrainingConfig(vocabulary_size=290)
    ).changed(preparation=Preparation(nfc=True))
    texts = ["".join(text) for size in range(1, 5) for text in product(letters, repeat=size)]
    seen, found = set(tokenizer.encode_batch(texts).flat.tolist()), reach(tokenizer)
    for token, kind in enumerate(found):
        raw = tokenizer.tokens[token] or b""
        text = raw.decode("utf-8", "surrogateescape")
        assert (kind == NORMALIZED) == (nfc(text) != text)
        assert kind == REACHED or token not in seen


def tokens_of(tokenizer: Tokenizer) -> list[tuple[bytes, int]]:
    return [(tokenizer.tokens[token] or b"", token) for token in range(len(tokenizer.tokens))]


DOUBLED = [[97, 97], *([256 + k, 256 + k] for k in range(9))]


@pytest.mark.parametrize(
    ("merges", "pattern", "text", "tokens", "kinds"),
    [
        # Of two tokens with the same bytes one is made.
        ([[97, 97], [97, 256], [256, 97]], "none", "aaa", 1, [REACHED, MADE_OTHERWISE, REACHED]),
        # A long token is tried as well.
        ([*DOUBLED, [97, 265]], "none", "a" * 1025, 2, [REACHED] * 10 + [MADE_OTHERWISE]),
        # "a" and the first byte of a character: the pattern sees a letter and something broken.
        ([[97, 0xC3]], "gpt2", "aé", 2, [REACHED]),
    ],
)
def test_tokens_that_are_made_in_one_way_or_in_none(merges, pattern, text, tokens, kinds):
    tokenizer = Tokenizer(np.array(merges, np.int32), pattern=pattern)
    assert len(tokenizer.encode(text)) == tokens
    assert reach(tokenizer)[256:] == kinds


def test_tokens_from_word_counts_may_be_split_by_the_pattern():
    counts = Corpus.from_counts({"hello world": 5, "hello": 3, "o w": 9})
    trained = train(counts, TrainingConfig(vocabulary_size=270, pattern="gpt2"))
    cut = {trained.tokens[token] for token, kind in enumerate(reach(trained)) if kind == CUT}
    assert b"hello world" in cut
    assert b"hello" not in cut
    assert all(b" " in (token or b"")[1:] for token in cut)


def test_characters_are_merged_as_characters():
    trained = train(
        Corpus.from_texts(["no 中文 no 中文 no 中文"]), TrainingConfig(vocabulary_size=14, base="characters")
    )
    again = Tokenizer(trained.merges, trained.merge_results, alphabet=trained.alphabet, pattern="gpt2")
    cut = {again.tokens[token] for token, kind in enumerate(reach(again)) if kind == CUT}
    assert cut
    assert all(b" " in (token or b"")[1:] for token in cut)
