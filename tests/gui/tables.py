"""What a table shows, and clicks in its cells."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from PySide6.QtCore import QAbstractItemModel, Qt
from PySide6.QtWidgets import QAbstractItemView
from pytestqt.qtbot import QtBot

from tokstudio.gui.token_table.model import TokenTable


def row_texts(model: QAbstractItemModel, row: int) -> list[str]:
    """The texts of a row."""
    return [model.index(row, column).data() for column in range(model.columnCount())]


def column_texts(model: QAbstractItemModel, column: int) -> list[str]:
    """The texts of a column."""
    return [model.index(row, column).data() for row in range(model.rowCount())]


def titles(model: QAbstractItemModel) -> list[str]:
    """The titles of the columns."""
    return [model.headerData(column, Qt.Orientation.Horizontal) for column in range(model.columnCount())]


def listed(model: TokenTable) -> list[int | None]:
    """The ids of the tokens in the rows."""
    return [model.token_at(row) for row in range(model.rowCount())]


def click(qtbot: QtBot, view: QAbstractItemView, row: int, column: int = 1, *, double: bool = False) -> None:
    """Clicks a cell, or double-clicks it."""
    place = view.visualRect(view.model().index(row, column)).center()
    qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=place)
    if double:
        qtbot.mouseDClick(view.viewport(), Qt.MouseButton.LeftButton, pos=place)
