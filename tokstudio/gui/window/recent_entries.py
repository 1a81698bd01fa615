"""The menu of recently opened files."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu

from tokstudio.core.base.wording import printable
from tokstudio.gui.session.preferences import Preferences
from tokstudio.gui.style.icons import icon
from tokstudio.gui.style.theme import Theme

# The icon and the tip of each kind of recent file.
_KINDS = {
    "text": ("text", "Add this to the corpus."),
    "bytes": ("text", "Add this to the corpus, read as bytes."),
    "plain": ("text", "Add this to the corpus, read as plain text."),
    "tokenizer": ("tokenizer", "Open this tokenizer."),
    "name": ("tokenizer", "Open this tokenizer by its name; uses the network."),
    "project": ("open", "Open this project."),
}


class RecentEntries(QObject):
    """Fills the menu when it is about to show.

    Args:
        menu: The menu.
        clear: Its last entry.
        preferences: They list the files.
        theme: The colours of the icons.
        opened: Opens a file of a kind.
    """

    def __init__(
        self,
        menu: QMenu,
        clear: QAction,
        preferences: Preferences,
        theme: Theme,
        opened: Callable[[Path, str], object],
    ) -> None:
        super().__init__(menu)
        self.menu = menu
        self._clear = clear
        self._preferences = preferences
        self._theme = theme
        self._open = opened
        menu.aboutToShow.connect(self._fill)

    def _fill(self) -> None:
        self.menu.clear()
        for path, kind in self._preferences.recent:
            action = self.menu.addAction(printable(str(path)).replace("&", "&&"))
            drawn, tip = _KINDS.get(kind, _KINDS["text"])
            action.setIcon(icon(drawn, self._theme))
            action.setStatusTip(tip)
            action.triggered.connect(partial(self._open, path, kind))
        self.menu.addSeparator()
        self.menu.addAction(self._clear)
