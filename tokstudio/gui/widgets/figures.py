"""A row of large numbers with their names; two rows where the width is small."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from PySide6.QtCore import QSize
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QGridLayout, QLabel, QSizePolicy, QWidget

from tokstudio.gui.widgets.labels import TermLabel, plain, plain_label
from tokstudio.gui.widgets.layouts import column

_GAP = 8


class FigureName(NamedTuple):
    """The name of a number, in the plural, its explanation, and the word of the glossary for its name."""

    name: str
    tip: str
    word: str


class Figures(QWidget):
    """Numbers side by side.

    Args:
        figures: The names of the numbers.
    """

    def __init__(self, figures: Sequence[FigureName]) -> None:
        super().__init__()
        self._tips = {figure.name: figure.tip for figure in figures}
        self._names = tuple(self._tips)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(_GAP)
        self._grid.setVerticalSpacing(4)
        self._cells: list[QWidget] = []
        self._numbers: list[QLabel] = []
        for figure in figures:
            self._add(figure)
        self._columns = 0
        self._arrange()

    def set_values(self, values: Sequence[str]) -> None:
        """Sets the texts, one for each name."""
        for label, name, value in zip(self._numbers, self._names, values, strict=True):
            if label.text() != value:
                label.setText(value)
                label.setAccessibleName(f"{name}: {value}")
        self._arrange()

    def values(self) -> tuple[str, ...]:
        """The texts."""
        return tuple(label.text() for label in self._numbers)

    def add_to_tip(self, name: str, text: str) -> None:
        """Adds a line to the tool tip of a number; "" removes it."""
        tip = "\n".join(filter(None, (self._tips[name], text)))
        self._cells[self._names.index(name)].setToolTip(plain(tip))

    def tip(self, name: str) -> str:
        """The tool tip of a number."""
        return self._cells[self._names.index(name)].toolTip()

    def minimumSizeHint(self) -> QSize:
        """Returns the width of two columns; a narrower widget uses two rows."""
        widest = max(cell.minimumSizeHint().width() for cell in self._cells)
        return QSize(2 * widest + _GAP, super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Arranges the numbers in one or two rows."""
        super().resizeEvent(event)
        self._arrange()

    def _add(self, figure: FigureName) -> None:
        cell = QWidget()
        cell.setToolTip(figure.tip)
        number = plain_label("figure", "–")
        name = TermLabel(figure.name, figure.word)
        name.setProperty("role", "muted")
        column(number, name, spacing=0, parent=cell)
        self._cells.append(cell)
        self._numbers.append(number)

    def _arrange(self) -> None:
        count = len(self._cells)
        needed = sum(cell.sizeHint().width() for cell in self._cells) + (count - 1) * _GAP
        columns = count if needed <= self.width() else (count + 1) // 2
        if columns == self._columns:
            return
        self._columns = columns
        for index, cell in enumerate(self._cells):
            self._grid.addWidget(cell, index // columns, index % columns)
        for index in range(count):
            self._grid.setColumnStretch(index, 1 if index < columns else 0)
