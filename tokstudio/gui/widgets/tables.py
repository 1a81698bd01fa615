"""Tables that show rows and edit nothing."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

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
