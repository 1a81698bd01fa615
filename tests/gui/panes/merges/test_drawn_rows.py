"""The rows of a table of tokens as they are drawn."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QImage, QKeySequence, QRegion
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from tests.gui.conftest import Actions
from tokstudio.gui.panes.merges import MergesPane
from tokstudio.gui.session.session import Session
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.token_table.view import FollowTable

Show = Callable[[QWidget, int, int], None]


@pytest.fixture
def pane(session: Session, theme: Theme, actions: Actions, show: Show) -> MergesPane:
    made = MergesPane(session, theme, actions)
    show(made, 640, 320)
    return made


@pytest.fixture
def table(pane: MergesPane, trained: Session) -> FollowTable:
    return pane.table


def drawn(widget: QWidget, area: QRect) -> QImage:
    image = QImage(area.size(), QImage.Format.Format_RGB32)
    image.fill(Qt.GlobalColor.magenta)
    widget.render(image, QPoint(), QRegion(area))
    return image


def colour(table: FollowTable, row: int) -> str:
    """The colour of a row behind its text: that of a pixel at its right end, in the padding."""
    area = table.viewport().rect()
    return drawn(table.viewport(), area).pixelColor(area.width() - 2, table.rowViewportPosition(row) + 3).name()


@pytest.mark.parametrize("area", [QRect(0, 0, 640, 9), QRect(70, 31, 120, 60), QRect(300, 100, 7, 7)])
@pytest.mark.parametrize("scrolled", [0, 13])
def test_a_part_is_drawn_as_in_the_whole(table: FollowTable, area: QRect, scrolled: int) -> None:
    table.show_row(2)
    table.verticalScrollBar().setValue(scrolled)
    viewport = table.viewport()
    area &= viewport.rect()
    assert drawn(viewport, area) == drawn(viewport, viewport.rect()).copy(area)


def test_selected_rows_are_coloured_all_of_them_and_no_other(qtbot: QtBot, table: FollowTable, theme: Theme) -> None:
    surface, soft = theme.palette.surface.lower(), theme.palette.accent_soft.lower()
    table.setFocus()
    table.show_row(3)
    qtbot.keyClick(table, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
    place = QPoint(60, table.rowViewportPosition(7) + 5)
    qtbot.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.ControlModifier, place)
    assert [colour(table, row) == soft for row in range(1, 9)] == [False, False, True, True, False, False, True, False]
    assert {colour(table, row) for row in (1, 2, 5, 6, 8)} == {surface}
    qtbot.keySequence(table, QKeySequence(QKeySequence.StandardKey.SelectAll))
    assert {colour(table, row) for row in range(9)} == {soft}


def test_a_hidden_column_is_left_out_and_another_takes_its_place(table: FollowTable) -> None:
    table.setColumnHidden(1, True)
    assert [column for column, _ in table._places(0)] == [at for at in range(len(table._model.columns)) if at != 1]
    for column, place in table._places(4):
        assert place == table.visualRect(table.model().index(4, column))


def test_a_double_click_on_a_border_makes_the_column_as_wide_as_its_cells(table: FollowTable) -> None:
    for column, one in enumerate(table._model.columns):
        table.resizeColumnToContents(column)
        seen = [table._model.cell(row, column).text for row in range(table.rowAt(0), table.rowAt(200) + 1)]
        assert table.columnWidth(column) >= max(table._cells.width_of(text, one) for text in seen)


def test_below_the_last_row_there_is_nothing(table: FollowTable) -> None:
    end = table.model().rowCount() - 1
    table.show_row(end)
    table.window().resize(640, 4000)
    table.resize(640, 3900)
    table.verticalScrollBar().setValue(table.verticalScrollBar().maximum())
    bottom = table.rowViewportPosition(end) + table.rowHeight(end)
    image = drawn(table.viewport(), table.viewport().rect())
    below = range(bottom, min(bottom + 40, image.height()))
    assert {image.pixelColor(x, y).name() for y in below for x in range(0, image.width(), 5)} <= {"#ffffff", "#ff00ff"}
