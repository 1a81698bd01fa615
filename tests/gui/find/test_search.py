"""The order of the results of Find, against a check of every token."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import gc
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tokstudio.core.analysis.token_index import HEAD, IndexedTokens, index_work
from tokstudio.core.base.progress import finish
from tokstudio.gui.find.finder import search_work

BASE = tuple(bytes([value]) for value in range(256))


def made_of(base, parts):
    """The index of base tokens and merges."""
    lengths = list(map(len, base))
    for left, right in parts.tolist():
        lengths.append(lengths[left] + lengths[right])
    return finish(index_work(IndexedTokens(tuple(base), parts, np.array(lengths, np.int64))))


def index_of(*tokens):
    """An index of the bytes and of some tokens, each made of its first part, which must be there, and its last byte."""
    heads, parts = list(BASE), []
    for token in tokens:
        for end in range(2, len(token) + 1):
            if token[:end] not in heads:
                parts.append((heads.index(token[: end - 1]), token[end - 1]))
                heads.append(token[:end])
    return made_of(BASE, np.array(parts, np.int32).reshape(-1, 2)), heads


def found(index, heads, text, slot=-1, most=200):
    return [heads[one] for one in finish(search_work(index, text, np.arange(len(heads), dtype=np.int32), slot, most))]


def test_a_word_after_a_space_counts_as_the_same_word():
    index, heads = index_of(b"them", b" The", b" the", b" thee", "▁the".encode(), b"the")
    some = [token for token in found(index, heads, "the") if token[-3:].lower() == b"the"]
    assert some == [b"the", b" the", "▁the".encode(), b" The"]
    assert found(index, heads, "the")[4:] == [b"them", b" thee"], "both begin with it"
    assert found(index, heads, " the") == [b" the", b" The", b" thee"]
    assert found(index, heads, "zzz") == []


def test_ids_bytes_and_letters_of_any_script_are_found_and_nothing_that_is_not_there():
    index, heads = index_of(b"97", b"1997")
    assert found(index, heads, "97", slot=97) == [b"97", b"a", b"\x97", b"1997"]
    assert found(index, heads, "#98", slot=98) == [b"b"]
    index, heads = index_of(b"CaB", b"cAb", b"Ab", b"aB")
    assert found(index, heads, "0x41") == [b"A", b"Ab", b"cA", b"cAb"]
    assert found(index, heads, "61 42") == [b"aB", b"CaB"]
    index, heads = index_of("Äpfel".encode(), "Привет".encode())
    assert found(index, heads, "äpfel") == ["Äpfel".encode()]
    assert found(index, heads, "ПРИВЕТ") == ["Привет".encode()]
    index, heads = index_of(b"xy", b"zw")
    assert found(index, heads, "yz") == []
    assert found(index, heads, "") == []
    assert found(index, heads, "99999999999") == []
    heads = [*(b"%d" % number for number in range(20_100)), b"a\xffb", b"\xff\xffz"]
    index = made_of(heads, np.empty((0, 2), np.int32))
    assert found(index, heads, "0xff") == [b"\xff\xffz", b"a\xffb"]
    assert found(index, heads, "0xffff") == [b"\xff\xffz"]
    assert found(index, heads, "0xff 0x62") == [b"a\xffb"]
    assert found(index, heads, "0x31 0xff") == []


def test_bytes_are_found_by_their_hexadecimal_digits():
    index, heads = index_of(b"ab", b"cab", b"abc")
    for typed in ("61 62", "0x6162", "0x61 0x62", "61 62 "):
        assert found(index, heads, typed) == [b"ab", b"abc", b"cab"], typed
    index, heads = index_of(b"be", b" be", b"bee", b"a\xbe")
    for typed in ("be", "BE"):
        assert found(index, heads, typed) == [b"be", b" be", b"\xbe", b"bee"], typed


@pytest.mark.parametrize(
    ("typed", "token"),
    [
        ("\\n", b"\n"),
        ("␠", b" "),
        ("␠a", b" a"),
        ("·a", b" a"),
        ("Ġa", b" a"),
        ("\\t", b"\t"),
        ("↵", b"\n"),
        ("⏎", b"\n"),
        ("←", b"\r"),
        (" ", b" "),
    ],
)
def test_white_space_is_found_by_its_marks(typed, token):
    index, heads = index_of(b" a", b"a b")
    assert found(index, heads, typed)[0] == token


def test_an_index_of_many_merges_triggers_no_garbage_collection():
    parts = np.tile(np.array([(97, 98)], np.int32), (30_000, 1))
    made = IndexedTokens(BASE, parts, np.full(30_256, 2, np.int64))
    before = gc.get_stats()[0]["collections"]
    finish(index_work(made))
    assert gc.get_stats()[0]["collections"] - before < 3


def test_the_number_of_results_and_the_heads_of_long_tokens_are_limited():
    index, heads = index_of(*(bytes([65 + n // 26, 65 + n % 26, 33]) for n in range(400)))
    assert len(found(index, heads, "!")) == 200
    assert found(index, heads, "!")[0] == b"!"
    index, heads = index_of(b"ab" * HEAD)
    assert max(map(len, index.heads)) == HEAD
    assert len(found(index, heads, "ab" * 100)) == 200


@settings(deadline=None)
@given(st.lists(st.text("abAB é\n", min_size=1, max_size=5), max_size=12), st.text("abAB é\n", min_size=1, max_size=3))
def test_every_match_is_found_once_and_in_its_class(tokens, typed):
    index, heads = index_of(*(token.encode() for token in tokens))
    made = found(index, heads, typed)
    small = [one.lower() for one in dict.fromkeys((typed, typed.upper(), typed.lower(), typed.title()))]
    needles = {one.encode().lower() for one in small} | {typed.encode().lower()}
    begun = needles | {b" " + needle for needle in needles}
    byte = {bytes.fromhex(typed)} if re.fullmatch("[0-9A-Fa-f]{2}", typed) else set[bytes]()
    expected = {token for token in heads if any(one in token.lower() for one in needles)} | byte
    assert set(made) == expected
    assert len(made) == len(expected)
    kinds = [
        0
        if token == typed.encode()
        else 1
        if token == b" " + typed.encode()
        else 2
        if token.lower() in begun or token in byte
        else 3
        if token.lower().startswith(tuple(begun))
        else 4
        for token in made
    ]
    assert kinds == sorted(kinds)
