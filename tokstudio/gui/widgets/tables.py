"""Tables that show rows and edit nothing, and the keys that widgets with rows handle while they have the focus."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QGuiApplication, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView

from tokstudio.core.base.wording import printable


class ReadOnlyTable(QTableView):
    """A table without grid and row headings, whose rows can be selected. Tab leaves it.

    Args:
        name: For screen readers.
        about: Says what the table is of, in lines. Then Copy gives these, the headings, and the selected cells, instead
            of the current cell.
        named: The columns that say what a row is of, which are copied too.
    """

    def __init__(
        self, name: str, about: Callable[[], Sequence[str]] | None = None, named: Sequence[int] = (0,)
    ) -> None:
        super().__init__(showGrid=False, wordWrap=False)
        self._about, self._named = about, named
        self.setAccessibleName(name)
        self.setTabKeyNavigation(False)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.verticalHeader().hide()
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)

    def event(self, event: QEvent) -> bool:
        """Handles Copy itself while it has the focus, where it says what it is of."""
        return (self._about is not None and keeps_copy(event)) or super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Copies, where it says what it is of."""
        if self._about is not None and event.matches(QKeySequence.StandardKey.Copy):
            self.copy()
        else:
            super().keyPressEvent(event)

    def copy(self) -> None:
        """Copies the selected cells with their headings, and what they are of; else the current cell."""
        model, chosen = self.model(), self.selectedIndexes()
        if self._about is None or not chosen:
            QGuiApplication.clipboard().setText(_plain(self.currentIndex().data()))
            return
        rows = sorted({index.row() for index in chosen})
        columns = sorted({index.column() for index in chosen}.union(self._named))
        cells = [[_plain(model.index(row, column).data()) for row in rows] for column in columns]
        # A column without texts, such as one of drawn marks, is left out.
        kept = [[self._heading(column), *texts] for column, texts in zip(columns, cells, strict=True) if any(texts)]
        lines = ("\t".join(line) for line in zip(*kept, strict=True))
        QGuiApplication.clipboard().setText("\n".join([*map(_plain, self._about()), *lines]))

    def _heading(self, column: int) -> str:
        roles = Qt.ItemDataRole.AccessibleTextRole, Qt.ItemDataRole.DisplayRole
        found = (self.model().headerData(column, Qt.Orientation.Horizontal, role) for role in roles)
        return _plain(next(filter(None, found), ""))


def _plain(text: object) -> str:
    """A cell on one line, without the marks that isolate names on screen."""
    return "" if text is None else printable(re.sub("[\u2066-\u2069]", "", str(text)))


def keeps_copy(event: QEvent) -> bool:
    """Accepts the override of the shortcuts Copy and Select All for a widget; returns whether it was one of them."""
    if event.type() != QEvent.Type.ShortcutOverride or not isinstance(event, QKeyEvent):
        return False
    kept = event.matches(QKeySequence.StandardKey.Copy) or event.matches(QKeySequence.StandardKey.SelectAll)
    if kept:
        event.accept()
    return kept
