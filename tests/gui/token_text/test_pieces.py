"""Pieces: tokens that share a grapheme are drawn together, everything else alone, and no byte is lost."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import regex
from hypothesis import assume, given
from hypothesis import strategies as st

from tokstudio.gui.token_text.blocks import EncodedText
from tokstudio.gui.token_text.spelling import SHARED_LIMIT, PieceTable, describe

FAMILY = "👨‍👩‍👧‍👦".encode()
CHARACTERS = st.sampled_from(
    [*"ab \n\r\t", "é", "e\u0301", "太", "🌍", "👩🏽‍🚀", "🇩🇪", "\u200d", "क्", "ष", "ि", "각", "\u1100", "\u0600"]
)


def spans(*tokens: bytes, ids: list[int] | None = None):
    ends = np.cumsum([len(token) for token in tokens], dtype=np.int64)
    numbers = np.array(ids if ids is not None else range(len(tokens)), dtype=np.uint32)
    return b"".join(tokens), ends, numbers


def table_of(data: bytes, ends: np.ndarray, ids: np.ndarray) -> PieceTable:
    edges = np.concatenate([[0], ends]).astype(np.int64)
    return PieceTable(data, edges, ids, np.zeros(len(ids), np.bool_))


def pieces(data: bytes, ends: np.ndarray, ids: np.ndarray):
    table = table_of(data, ends, ids)
    return [table.piece(index) for index in range(table.count)]


def shown(*tokens: bytes):
    return [(piece.text, piece.kind, piece.count) for piece in pieces(*spans(*tokens))]


def split(data: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    return [data[start:end] for start, end in pairwise(places)]


def test_each_token_of_plain_text_is_a_piece():
    assert shown(b"The", b" cat", b" ", b"\n") == [
        ("The", "text", 1),
        (" cat", "text", 1),
        (" ", "space", 1),
        ("\n", "space", 1),
    ]


def test_an_emoji_of_three_tokens_is_one_piece():
    assert shown(b"a", b"\xf0\x9f", b"\x8c", b"\x8d", b"b") == [("a", "text", 1), ("🌍", "text", 3), ("b", "text", 1)]


def test_a_family_in_bytes_is_one_piece():
    assert shown(*(bytes([value]) for value in FAMILY)) == [(FAMILY.decode(), "text", 25)]


def test_a_token_that_begins_with_half_a_character_joins_its_neighbour():
    assert shown(b"said \xe2\x80", b"\x9cyes") == [("said “yes", "text", 2)]


def test_an_accent_stays_with_its_letter_and_a_line_feed_with_its_return():
    assert shown(b"e", "\u0301".encode(), b"\r", b"\n") == [("e\u0301", "text", 2), ("\r\n", "space", 2)]


def test_two_flags_are_two_pieces():
    german, french = "🇩🇪".encode(), "🇫🇷".encode()
    assert shown(german[:4], german[4:], french[:4], french[4:]) == [("🇩🇪", "text", 2), ("🇫🇷", "text", 2)]


def test_broken_bytes_stand_alone_as_hexadecimal():
    assert shown(b"\xff\xfe", b"\xe2\x80", b"a") == [("FF FE", "bytes", 1), ("E2 80", "bytes", 1), ("a", "text", 1)]


def test_too_many_marks_on_one_letter_are_shown_one_by_one():
    marks = ["\u0301".encode()] * SHARED_LIMIT
    result = pieces(*spans(b"e", *marks, b"x"))
    assert [piece.count for piece in result] == [1] * (SHARED_LIMIT + 2)


@pytest.mark.parametrize("raw", [b"\x00", b"a\x1bb", "\u200b".encode(), "\ufeff".encode(), "\ufe0f".encode()])
def test_invisible_text_is_shown_as_bytes(raw: bytes):
    assert describe(raw) == (raw.hex(" ").upper(), "bytes")


def test_an_empty_text_has_no_pieces():
    assert pieces(*spans()) == []


def test_tokens_that_do_not_cover_the_text_are_refused():
    with pytest.raises(ValueError, match="cover"):
        EncodedText(b"abc", np.array([1, 2]), np.array([5, 6], dtype=np.uint32))


@given(st.lists(CHARACTERS, max_size=60).map("".join), st.lists(st.integers(0, 400), max_size=300))
def test_pieces_begin_where_token_and_grapheme_begin(text: str, cuts: list[int]):
    data = text.encode()
    table = table_of(*spans(*split(data, cuts)))
    graphemes = np.cumsum([0, *(len(cluster.encode()) for cluster in regex.findall(r"\X", text))])
    expected = sorted(set(table.edges[:-1].tolist()) & set(graphemes.tolist()))
    assume(max(np.diff(np.searchsorted(table.edges, [*expected, len(data)])), default=0) <= SHARED_LIMIT)
    assert [table.piece(index).start for index in range(table.count)] == expected


@given(st.binary(max_size=400), st.lists(st.integers(0, 400), max_size=300))
def test_pieces_hold_every_token_once_whatever_the_bytes(data: bytes, cuts: list[int]):
    table = table_of(*spans(*split(data, cuts)))
    found = [table.piece(index) for index in range(table.count)]
    assert b"".join(data[piece.start : piece.end] for piece in found) == data
    assert [token for piece in found for token in range(piece.first, piece.first + piece.count)] == list(
        range(len(table.ids))
    )
    assert all(table.index_of(piece.first) == index for index, piece in enumerate(found))


@given(st.lists(st.integers(0, 12), min_size=1, max_size=300))
def test_neighbours_never_have_the_same_colour(ids: list[int]):
    table = table_of(*spans(*[b"a"] * len(ids), ids=ids))
    assert np.all(table.colours[1:] != table.colours[:-1])


def test_a_token_has_the_same_colour_everywhere():
    one = table_of(*spans(b"a", b"b", b"c", ids=[300, 5, 301]))
    two = table_of(*spans(b"b", b"x", b"a", ids=[5, 77, 300]))
    assert one.colours[0] == two.colours[2]
    assert one.colours[1] == two.colours[0]


def test_an_empty_token_joins_the_piece_before_it_or_at_the_start_the_next_one():
    ends = np.array([0, 3, 3, 3, 4, 4])
    found = pieces("€a".encode(), ends, np.arange(6, dtype=np.uint32))
    assert [(piece.text, piece.first, piece.count) for piece in found] == [("€", 0, 4), ("a", 4, 2)]
    found = pieces(b"ab", np.array([1, 1, 2]), np.arange(3, dtype=np.uint32))
    assert [(piece.text, piece.first, piece.count) for piece in found] == [("a", 0, 2), ("b", 2, 1)]
