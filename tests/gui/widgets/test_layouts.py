"""Columns and rows as one expression."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from PySide6.QtCore import QMargins, Qt
from PySide6.QtWidgets import QLabel, QWidget
from pytestqt.qtbot import QtBot

from tokstudio.gui.widgets.layouts import STRETCH, column, row


def test_a_column_fills_its_parent_in_order(qtbot: QtBot) -> None:
    page, first, last = QWidget(), QLabel("a"), QLabel("b")
    qtbot.addWidget(page)
    box = column(first, 12, (last, 1), spacing=5, margins=(1, 2, 3, 4), parent=page)
    assert page.layout() is box
    assert box.spacing() == 5
    assert box.contentsMargins() == QMargins(1, 2, 3, 4)
    assert [box.indexOf(first), box.indexOf(last)] == [0, 2]
    assert [box.stretch(at) for at in range(3)] == [0, 0, 1]
    assert box.itemAt(1).spacerItem().sizeHint().height() == 12


def test_a_row_takes_layouts_alignments_and_room_left_over(qtbot: QtBot) -> None:
    page, top, inner = QWidget(), QLabel("a"), QLabel("b")
    qtbot.addWidget(page)
    box = row((top, Qt.AlignmentFlag.AlignTop), STRETCH, (column(inner), 2), parent=page)
    assert box.itemAt(0).alignment() == Qt.AlignmentFlag.AlignTop
    assert box.itemAt(1).spacerItem().expandingDirections() & Qt.Orientation.Horizontal
    assert box.stretch(2) == 2
    assert inner.parent() is page
    assert box.contentsMargins() == QMargins(0, 0, 0, 0)
