"""The field of reserved special tokens whose ids new tokens get."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSignalBlocker, Qt
from PySide6.QtWidgets import QListWidget, QListWidgetItem

from tokstudio.gui.style.theme import Theme
from tokstudio.gui.token_text.spelling import marked, shown
from tokstudio.gui.widgets.buttons import link_button
from tokstudio.gui.widgets.fields import Field

_HELP = "New tokens get the ids of the chosen ones, which go."
_LINES = 4
_TOKEN = Qt.ItemDataRole.UserRole


class ReservedField(Field):
    """Reserved special tokens with check boxes; none is chosen at first.

    Args:
        tokens: The reserved tokens with their ids, by id.
    """

    def __init__(self, tokens: Sequence[tuple[str, int]], theme: Theme) -> None:
        self.list = QListWidget()
        super().__init__(_HELP, self.list)
        self._theme = theme
        self.add_label("Fill &reserved ids", self.list)
        self.row.addWidget(link_button("All", lambda: self._choose(Qt.CheckState.Checked)))
        self.row.addWidget(link_button("None", lambda: self._choose(Qt.CheckState.Unchecked)))
        self.column.insertWidget(1, self.list)
        for token, number in tokens:
            text = f"{number:,}  {marked(shown(token.encode('utf-8', 'replace')))}"
            item = QListWidgetItem(text, self.list)
            item.setData(_TOKEN, token)
            item.setCheckState(Qt.CheckState.Unchecked)
        self.list.itemChanged.connect(self.changed)
        self.setVisible(bool(tokens))
        theme.changed.connect(self._apply_theme)
        self._apply_theme()

    @property
    def chosen(self) -> tuple[str, ...]:
        """The texts of the chosen tokens, by id."""
        items = (self.list.item(row) for row in range(self.list.count()))
        return tuple(item.data(_TOKEN) for item in items if item.checkState() == Qt.CheckState.Checked)

    def _choose(self, state: Qt.CheckState) -> None:
        with QSignalBlocker(self.list):
            for row in range(self.list.count()):
                self.list.item(row).setCheckState(state)
        self.list.viewport().update()
        self.changed.emit()

    def _apply_theme(self) -> None:
        self.list.setFont(self._theme.monospace_font())
        line = self.list.sizeHintForRow(0) if self.list.count() else 0
        self.list.setFixedHeight(min(self.list.count(), _LINES) * line + 2 * self.list.frameWidth() + 10)
