"""The choices of other rules: a row each, with the pair and whether it is the same."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from PySide6.QtWidgets import QGridLayout, QWidget

from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.fields import set_role
from tokstudio.gui.widgets.labels import ElidedLabel, plain_label


class RuleChoice(NamedTuple):
    """A rule and the pair that it chooses."""

    rule: str
    pair: str
    same: bool


class RuleGrid(QWidget):
    """Rules below a caption."""

    def __init__(self, theme: Theme, rows: int) -> None:
        super().__init__()
        self._theme = theme
        self._choices: tuple[RuleChoice, ...] = ()
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(12)
        grid.setVerticalSpacing(2)
        grid.setColumnStretch(1, 1)
        self._rows = [(plain_label("muted"), ElidedLabel(), plain_label()) for _ in range(rows)]
        for row, labels in enumerate(self._rows):
            for column, label in enumerate(labels):
                grid.addWidget(label, row, column)
        theme.changed.connect(self._apply_style)
        self._apply_style()

    def set_choices(self, choices: Sequence[RuleChoice]) -> None:
        """Shows one row for each rule, or none."""
        self._choices = tuple(choices)
        for (name, pair, same), choice in zip(self._rows, choices, strict=False):
            name.setText(choice.rule)
            pair.setText(choice.pair)
            same.setText("the same" if choice.same else "another pair")
            set_role(same, "muted" if choice.same else "warning")

    def choices(self) -> tuple[RuleChoice, ...]:
        """Returns the rules."""
        return self._choices

    def _apply_style(self) -> None:
        for _, pair, _ in self._rows:
            pair.setFont(self._theme.monospace_font(12))
