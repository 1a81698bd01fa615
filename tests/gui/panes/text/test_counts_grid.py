"""The counts of other tokenizers: columns are as wide as names need, as far as all cells stay."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from PySide6.QtGui import QFontMetrics
from pytestqt.qtbot import QtBot

from tokstudio.gui.panes.text.grids import CountsGrid
from tokstudio.gui.style.theme import Theme


def is_whole(grid: CountsGrid, index: int) -> bool:
    text = grid.shown()[index]
    return QFontMetrics(grid._font).horizontalAdvance(text) <= grid.place_of(index).width()


def test_a_wide_grid_shows_names_whole_and_a_narrow_one_all_cells(qtbot: QtBot, theme: Theme) -> None:
    grid = CountsGrid(theme)
    qtbot.addWidget(grid)
    grid.show()
    names = "SentencePiece Unigram", "SentencePiece BPE", "GPT-2"
    grid.set_counts([(name, 49) for name in names])
    grid.resize(400, 40)
    assert [is_whole(grid, index) for index in range(3)] == [True] * 3
    assert {grid.place_of(index).y() for index in range(3)} == {0, grid.place_of(2).y()}
    grid.resize(1200, 40)
    assert {grid.place_of(index).y() for index in range(3)} == {0}
    grid.resize(260, 40)
    assert grid.shown() == tuple(f"{name} 49" for name in names)
    assert not is_whole(grid, 0)
    grid.set_counts([(name, 49) for name in (*names, "BPE", "GPT-4")])
    assert grid.shown()[3:] == ("2 more",)
