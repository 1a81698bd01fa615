"""Long texts in the token view: blocks are laid out when they become visible, and the visible text does not jump."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
import pytest

from tokstudio.gui.style.theme import Theme
from tokstudio.gui.token_text.blocks import EncodedText
from tokstudio.gui.token_text.token_view import TokenView

pytestmark = pytest.mark.qt_log_ignore("OpenType support missing", "This plugin does not support", extend=True)

# Bytes say little about the room that these need, so that every guess is wrong.
LINES = ("It was a dark and stormy night.\n", "太阳照常升起。\n", "\n", "🌍🌎🌏 ЖЖЖ ääää " * 9 + "\n", "i" * 200 + "\n")


def tokens_of(data: bytes, length: int = 3):
    ends = np.append(np.arange(length, len(data), length, dtype=np.int64), len(data))
    return data, ends, (np.arange(len(ends)) * 31 % 5000).astype(np.uint32)


def long_text(lines: int = 3_000) -> bytes:
    dice = random.Random(1)
    return "".join(dice.choice(LINES) for _ in range(lines)).encode()


@pytest.fixture
def view(qtbot, theme: Theme) -> TokenView:
    view = TokenView(theme)
    qtbot.addWidget(view)
    view.resize(400, 300)
    view.show()
    view.set_tokens(*tokens_of(long_text()))
    assert view._rows.blocks > 20
    return view


def top(view: TokenView) -> tuple[int, int]:
    """The first token of the topmost row, and of the row below it."""
    row = view._row_at(4)
    return tuple(next(iter(view._rows.boxes(place))).first for place in (row, row + 1))


def test_only_the_visible_part_of_a_long_text_is_laid_out(view):
    view.select(view._table.tokens - 1, view._table.tokens - 1)
    assert sum(map(view._rows.knows, range(view._rows.blocks))) < 6
    assert view.viewport().rect().contains(view.token_rectangle(view._table.tokens - 1).center().toPoint())


@pytest.mark.parametrize("way", [1, -1])
def test_scrolling_shows_every_row_once(view, way):
    bar = view.verticalScrollBar()
    bar.setValue(bar.maximum() // 2)
    seen = [top(view)]
    for _ in range(900):
        bar.setValue(bar.value() + way * bar.singleStep())
        seen.append(top(view))
    for before, after in pairwise(seen):
        assert after[0] == before[1] if way > 0 else after[1] == before[0]


def test_both_ends_can_be_reached_from_anywhere(view):
    bar = view.verticalScrollBar()
    dice = random.Random(2)
    for _ in range(20):
        bar.setValue(dice.randrange(bar.maximum()))
        bar.setValue(bar.maximum())
        last = view.token_rectangle(view._table.tokens - 1)
        assert view.viewport().rect().contains(last.center().toPoint())
        bar.setValue(dice.randrange(bar.maximum()))
        bar.setValue(0)
        assert top(view)[0] == 0
        assert view.token_rectangle(0).top() < 8


def test_the_visible_text_stays_when_a_distant_block_above_is_laid_out(view):
    bar = view.verticalScrollBar()
    bar.setValue(bar.maximum() * 3 // 4)
    before = top(view)
    view.token_rectangle(view._table.tokens // 4)
    assert top(view) == before


def test_a_short_text_after_a_long_one_needs_no_scrolling(view):
    view.verticalScrollBar().setValue(view.verticalScrollBar().maximum())
    view.set_tokens(*tokens_of(b"short"))
    assert view.verticalScrollBar().maximum() == 0
    view.clear()
    assert view.token_at(view.viewport().rect().center()) == -1


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
    bar, height = view.verticalScrollBar(), view._row_height()
    for block in range(10, view._rows.blocks - 5, 3):
        bar.setValue(view._rows.first_row(block) * height)
        first = view._row_at(0)
        assert view._rows.knows(view._rows.block_of_row(max(first, 0)))
        view.grab()
    assert not caplog.records
