"""A line of names with counts beside each other, in as many rows as it needs."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtWidgets import QLabel

from tokstudio.gui.models.text import figure
from tokstudio.gui.widgets.fields import line

_LONGEST_NAME = 24
_SPACE = "\u00a0"


class CountsLine:
    """What other tokenizers make of the same text: "Words 12   White space 9".

    Attributes:
        label: Where it is shown.
    """

    def __init__(self) -> None:
        self.label: QLabel = line("muted")
        self.label.setAccessibleName("Tokens of the same text by others")
        self.label.setToolTip("How many tokens others make of the same text")

    def show_counts(self, counts: Sequence[tuple[str, int | None]]) -> None:
        """Shows names and counts; none hide the line."""
        parts = [f"{_short(name)} {figure(count)}".replace(" ", _SPACE) for name, count in counts]
        self.label.setText(f"{_SPACE} ".join(parts))
        self.label.setAccessibleDescription(", ".join(parts))
        self.label.setVisible(bool(parts))


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"
