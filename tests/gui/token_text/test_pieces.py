"""Tokens as pieces of a text, and the blocks in which a long text is laid out."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
import pytest
import regex
from hypothesis import assume, given
from hypothesis import strategies as st
from PySide6.QtCore import QPoint

from tokstudio.gui.token_text.blocks import EncodedText
from tokstudio.gui.token_text.spelling import SHARED_LIMIT, PieceTable, describe
from tokstudio.gui.token_text.token_view import MARGIN, TokenView

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


def test_a_piece_is_as_few_tokens_as_make_whole_characters():
    assert shown(b"The", b" cat", b" ", b"\n") == [
        ("The", "text", 1),
        (" cat", "text", 1),
        (" ", "space", 1),
        ("\n", "space", 1),
    ]
    assert shown(b"a", b"\xf0\x9f", b"\x8c", b"\x8d", b"b") == [("a", "text", 1), ("🌍", "text", 3), ("b", "text", 1)]
    assert shown(*(bytes([value]) for value in FAMILY)) == [(FAMILY.decode(), "text", 25)]
    assert shown(b"said \xe2\x80", b"\x9cyes") == [("said “yes", "text", 2)]
    assert shown(b"e", "\u0301".encode(), b"\r", b"\n") == [("e\u0301", "text", 2), ("\r\n", "space", 2)]
    german, french = "🇩🇪".encode(), "🇫🇷".encode()
    assert shown(german[:4], german[4:], french[:4], french[4:]) == [("🇩🇪", "text", 2), ("🇫🇷", "text", 2)]
    assert pieces(*spans()) == []


def test_what_cannot_be_read_is_shown_as_bytes_and_too_many_marks_one_by_one():
    assert shown(b"\xff\xfe", b"\xe2\x80", b"a") == [("FF FE", "bytes", 1), ("E2 80", "bytes", 1), ("a", "text", 1)]
    for raw in (b"\x00", b"a\x1bb", "\u200b".encode(), "\ufeff".encode(), "\ufe0f".encode()):
        assert describe(raw) == (raw.hex(" ").upper(), "bytes")
    marks = ["\u0301".encode()] * SHARED_LIMIT
    result = pieces(*spans(b"e", *marks, b"x"))
    assert [piece.count for piece in result] == [1] * (SHARED_LIMIT + 2)


def test_tokens_that_do_not_cover_the_text_are_refused():
    with pytest.raises(ValueError, match="cover"):
        EncodedText(b"abc", np.array([1, 2]), np.array([5, 6], dtype=np.uint32))


@given(st.lists(CHARACTERS, max_size=60).map("".join), st.lists(st.integers(0, 400), max_size=300))
def test_pieces_begin_where_token_and_grapheme_begin(text, cuts):
    data = text.encode()
    table = table_of(*spans(*split(data, cuts)))
    graphemes = np.cumsum([0, *(len(cluster.encode()) for cluster in regex.findall(r"\X", text))])
    expected = sorted(set(table.edges[:-1].tolist()) & set(graphemes.tolist()))
    assume(max(np.diff(np.searchsorted(table.edges, [*expected, len(data)])), default=0) <= SHARED_LIMIT)
    assert [table.piece(index).start for index in range(table.count)] == expected


@given(st.binary(max_size=400), st.lists(st.integers(0, 400), max_size=300))
def test_pieces_hold_every_token_once_whatever_the_bytes(data, cuts):
    table = table_of(*spans(*split(data, cuts)))
    found = [table.piece(index) for index in range(table.count)]
    assert b"".join(data[piece.start : piece.end] for piece in found) == data
    assert [token for piece in found for token in range(piece.first, piece.first + piece.count)] == list(
        range(len(table.ids))
    )
    assert all(table.index_of(piece.first) == index for index, piece in enumerate(found))


@given(st.lists(st.integers(0, 12), min_size=1, max_size=300))
def test_neighbours_never_have_the_same_colour(ids):
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


# Bytes say little about the room that these need, so that every guess is wrong.
LINES = ("It was a dark and stormy night.\n", "太阳照常升起。\n", "\n", "🌍🌎🌏 ЖЖЖ ääää " * 9 + "\n", "i" * 200 + "\n")


def tokens_of(data: bytes, length: int = 3):
    ends = np.append(np.arange(length, len(data), length, dtype=np.int64), len(data))
    return data, ends, (np.arange(len(ends)) * 31 % 5000).astype(np.uint32)


def long_text(lines: int = 3_000) -> bytes:
    dice = random.Random(1)
    return "".join(dice.choice(LINES) for _ in range(lines)).encode()


@pytest.fixture
def view(qtbot, theme) -> TokenView:
    view = TokenView(theme)
    qtbot.addWidget(view)
    view.resize(400, 300)
    view.show()
    view.set_tokens(*tokens_of(long_text()))
    assert view.rows.blocks > 20
    return view


def top(view: TokenView) -> tuple[int, int]:
    """The first token of the topmost row, and of the row below it."""
    row = view.verticalScrollBar().singleStep()
    return view.token_at(QPoint(MARGIN + 1, 4)), view.token_at(QPoint(MARGIN + 1, 4 + row))


def test_only_the_visible_part_of_a_long_text_is_laid_out_and_both_ends_can_be_reached(view):
    view.select(view.table.tokens - 1, view.table.tokens - 1)
    assert sum(map(view.rows.knows, range(view.rows.blocks))) < 6
    assert view.viewport().rect().contains(view.token_rectangle(view.table.tokens - 1).center().toPoint())
    bar = view.verticalScrollBar()
    bar.setValue(bar.maximum() * 3 // 4)
    before = top(view)
    view.token_rectangle(view.table.tokens // 4)
    assert top(view) == before
    bar = view.verticalScrollBar()
    dice = random.Random(2)
    for _ in range(20):
        bar.setValue(dice.randrange(bar.maximum()))
        bar.setValue(bar.maximum())
        last = view.token_rectangle(view.table.tokens - 1)
        assert view.viewport().rect().contains(last.center().toPoint())
        bar.setValue(dice.randrange(bar.maximum()))
        bar.setValue(0)
        assert top(view)[0] == 0
        assert view.token_rectangle(0).top() < 8
    view.verticalScrollBar().setValue(view.verticalScrollBar().maximum())
    view.set_tokens(*tokens_of(b"short"))
    assert view.verticalScrollBar().maximum() == 0
    view.clear()
    assert view.token_at(view.viewport().rect().center()) == -1


@pytest.mark.parametrize("way", [1, -1])
def test_scrolling_shows_every_row_once(view, way):
    bar = view.verticalScrollBar()
    bar.setValue(bar.maximum() // 2)
    seen = [top(view)]
    for _ in range(300):
        bar.setValue(bar.value() + way * bar.singleStep())
        seen.append(top(view))
    for before, after in pairwise(seen):
        assert after[0] == before[1] if way > 0 else after[1] == before[0]


@pytest.mark.parametrize(
    "text", ["line\n" * 9_000, "word " * 9_000, "太阳" * 9_000, "\u0301" * 20_000, "x" * 40_000, ""]
)
def test_blocks_cover_every_token_once_and_avoid_cutting_characters(text):
    table = EncodedText(*tokens_of(text.encode(), 6)) if text else EncodedText(b"", np.zeros(0, np.int64), np.zeros(0))
    assert table.cuts[[0, -1]].tolist() == [0, table.tokens]
    assert (np.diff(table.cuts) > 0).all() or not text
    assert (np.diff(table.cuts) <= 5 * 1024).all()
    joined = b"".join(bytes(table.pieces(block).data) for block in range(len(table.cuts) - 1))
    assert joined == text.encode()
    for cut in table.cuts[1:-1].tolist():
        before = table.data[: table.edges[cut]]
        if "\n" in text:
            assert b"\n" in before[-6:], "the last token of a block ends its line"
        assert before.decode()  # whole characters


def test_the_end_of_a_row_that_the_margin_shows_is_laid_out_too(view, caplog):
    bar = view.verticalScrollBar()
    for block in range(10, view.rows.blocks - 5, 15):
        bar.setValue(view.rows.first_row(block) * bar.singleStep())
        above = (bar.value() - MARGIN) // bar.singleStep()
        assert view.rows.knows(view.rows.block_of_row(above))
        view.grab()
    assert not caplog.records
