"""The table of sizes: hides columns that do not fit; a click or Enter asks for the size of a row."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QModelIndex, Qt, Signal
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView

from tokstudio.gui.panes.sizes.model import COLUMNS, SizesModel
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.tables import ReadOnlyTable

_ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter)


class SizesTable(ReadOnlyTable):
    """One row per size."""

    chosen = Signal(int)  # a row was clicked, or Enter was pressed on it

    def __init__(self, model: SizesModel, theme: Theme, about: Callable[[], Sequence[str]]) -> None:
        super().__init__("Sizes", about)
        self._theme = theme
        self.setModel(model)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setMinimumHeight(1)  # in a low window, the curves need the room
        header = self.horizontalHeader()
        header.setHighlightSections(False)
        header.setMinimumSectionSize(24)
        # Headings are aligned with the texts of the cells.
        header.setProperty("wide", True)
        self.clicked.connect(self._clicked)
        theme.changed.connect(self._apply_style)
        self._apply_style()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Shows the columns that fit."""
        super().resizeEvent(event)
        self._fit()

    def event(self, event: QEvent) -> bool:
        """Handles Enter before the window's actions while it has the focus."""
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent) and event.key() in _ENTER:
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Emits `chosen` for Enter; other keys move between rows."""
        if event.key() in _ENTER and self.currentIndex().isValid():
            self.chosen.emit(self.currentIndex().row())
        else:
            super().keyPressEvent(event)

    def _clicked(self, index: QModelIndex) -> None:
        self.chosen.emit(index.row())

    def _fit(self) -> None:
        """Hides columns until the rest fits; the tip of a row has all of them."""
        header = self.horizontalHeader()
        for number in range(len(COLUMNS)):
            self.setColumnHidden(number, False)
        for number in sorted(range(len(COLUMNS)), key=lambda number: -COLUMNS[number].yields):
            if header.length() > self.viewport().width() and COLUMNS[number].yields:
                self.setColumnHidden(number, True)

    def _apply_style(self) -> None:
        self.verticalHeader().setDefaultSectionSize(self._theme.scaled(28))
        metrics = self.fontMetrics()
        for number, column in enumerate(COLUMNS):
            width = max(metrics.horizontalAdvance(text) for text in (column.widest, column.title)) + 22
            self.horizontalHeader().resizeSection(number, width)
        self._fit()
