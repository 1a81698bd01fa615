"""Tokens that no merge makes, and pre-tokens that are tokens without being merged."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import pickle

import numpy as np
import pytest

from tokstudio import ConfigError, Tokenizer

TH, THE = 256, 257
MERGES = np.array([[ord("t"), ord("h")], [TH, ord("e")]], np.int32)


def make(pattern="gpt2", **changed):
    return Tokenizer(MERGES, pattern=pattern, extra_tokens={300: b"cat", 301: b" dog"}, **changed)


def test_they_are_in_the_vocabulary_and_decode_but_are_never_made():
    tokenizer = make()
    assert len(tokenizer) == 256 + 2 + 2
    assert tokenizer.tokens[300] == b"cat"
    assert tokenizer.tokens[299] is None
    assert tokenizer.extra_tokens == {300: b"cat", 301: b" dog"}
    assert tokenizer.encode("cat") == list(b"cat")
    assert tokenizer.decode([300, 301]) == "cat dog"


def test_a_whole_word_becomes_its_token_wherever_it_is_a_pre_token():
    tokenizer = make(whole_words=(300, 301))
    assert tokenizer.encode("cat dog") == [300, 301]
    assert tokenizer.encode("cats dog the") == [*b"cats", 301, ord(" "), THE]


def test_a_whole_text_is_a_pre_token_where_nothing_is_split():
    tokenizer = make("none", whole_words=(300,))
    assert tokenizer.encode("cat") == [300]
    assert tokenizer.encode("cat dog") == list(b"cat dog")


def test_whole_words_are_still_known_after_more_words_than_are_kept(monkeypatch):
    monkeypatch.setattr("tokstudio.core.tokenizer.encoder._MOST_KNOWN", 5)
    tokenizer = make(whole_words=(300, 301))
    words = " ".join(f"w{number} cat" for number in range(50)).replace(" cat", "\ncat")
    assert tokenizer.encode(words).count(300) == words.count("\ncat ") + words.endswith("cat")


def test_a_whole_word_that_a_merge_makes_comes_with_that_merge():
    tokenizer = make(whole_words=(THE, 300))
    assert tokenizer.at(1).encode("the cat") == [TH, ord("e"), *b" cat"]
    assert tokenizer.at(1).encode("cat") == [300]
    assert tokenizer.encode("the") == [THE]


def test_compact_moves_them_with_all_others():
    compact = make(whole_words=(300,)).at(1).compact()
    assert compact.extra_tokens == {257: b"cat", 258: b" dog"}
    assert compact.encode("cat") == [257]
    assert len(compact) == len(compact.tokens) == 259


def test_they_survive_pickling():
    again = pickle.loads(pickle.dumps(make(whole_words=(300,))))
    assert again.extra_tokens == make().extra_tokens
    assert again.encode("cat") == [300]


@pytest.mark.parametrize("extra", [{5: b"x"}, {256: b"x"}, {400: b""}, {-1: b"x"}])
def test_an_id_that_is_not_free_or_an_empty_token_is_refused(extra):
    with pytest.raises(ConfigError):
        Tokenizer(MERGES, extra_tokens=extra)


def test_they_are_told_apart_from_what_merges_make():
    tokenizer = make(whole_words=(301,))
    assert [tokenizer.kind(token) for token in (0, THE, 300, 301)] == ["byte", "merge", "unreachable", "whole word"]
