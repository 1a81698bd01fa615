"""The choices of other rules: a row each, with the pair and whether it is the same."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from PySide6.QtWidgets import QGridLayout, QLabel, QWidget

from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.fields import set_role
from tokstudio.gui.widgets.labels import ElidedLabel


class RuleChoice(NamedTuple):
    """A rule and the pair that it chooses."""

    rule: str
    pair: str
    same: bool


class RuleGrid(QWidget):
    """Rules below a caption."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._choices: tuple[RuleChoice, ...] = ()
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(12)
        self._grid.setVerticalSpacing(2)
        self._grid.setColumnStretch(1, 1)
        self._rows: list[tuple[QLabel, ElidedLabel, QLabel]] = []
        theme.changed.connect(self._apply_style)

    def set_choices(self, choices: Sequence[RuleChoice]) -> None:
        """Shows one row for each rule."""
        self._choices = tuple(choices)
        while len(self._rows) < len(choices):
            self._add_row()
        for row, labels in enumerate(self._rows):
            for label in labels:
                label.setVisible(row < len(choices))
        for labels, choice in zip(self._rows, choices, strict=False):
            name, pair, same = labels
            name.setText(choice.rule)
            pair.setText(choice.pair)
            same.setText("the same" if choice.same else "another pair")
            set_role(same, "muted" if choice.same else "warning")
        self._apply_style()

    def choices(self) -> tuple[RuleChoice, ...]:
        """Returns the rules."""
        return self._choices

    def _add_row(self) -> None:
        name, pair, same = QLabel(), ElidedLabel(), QLabel()
        name.setProperty("role", "muted")
        row = len(self._rows)
        for column, label in enumerate((name, pair, same)):
            self._grid.addWidget(label, row, column)
        self._rows.append((name, pair, same))

    def _apply_style(self) -> None:
        for _, pair, _ in self._rows:
            pair.setFont(self._theme.monospace_font(12))
