"""Tables that show rows and edit nothing, and the keys that widgets with rows handle while they have the focus."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from PySide6.QtCore import QEvent
from PySide6.QtGui import QKeyEvent, QKeySequence
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView


class ReadOnlyTable(QTableView):
    """A table without grid and row headings, whose rows can be selected. Tab leaves it.

    Args:
        name: For screen readers.
    """

    def __init__(self, name: str) -> None:
        super().__init__(showGrid=False, wordWrap=False)
        self.setAccessibleName(name)
        self.setTabKeyNavigation(False)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.verticalHeader().hide()
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)


def keeps_copy(event: QEvent) -> bool:
    """Accepts the override of the shortcuts Copy and Select All for a widget; returns whether it was one of them."""
    if event.type() != QEvent.Type.ShortcutOverride or not isinstance(event, QKeyEvent):
        return False
    kept = event.matches(QKeySequence.StandardKey.Copy) or event.matches(QKeySequence.StandardKey.SelectAll)
    if kept:
        event.accept()
    return kept
