"""Puts the theme's style sheet on a window, a part in a turn: a change of the theme never holds the window up."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from functools import partial

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtWidgets import QMainWindow, QWidget
from shiboken6 import isValid

from tokstudio.gui.style.theme import Theme
from tokstudio.gui.window.sliced_updates import Turns

# What the window draws itself; it stands on both themes, as a sheet of the window's own would restyle all within it.
# And what a dialog of the window must know while it is made: it is dressed only when it is shown.
_OWN = """
QMainWindow::separator { background: transparent; width: 8px; height: 8px; }
QMainWindow::separator:hover { background: rgba(128, 138, 148, 80); }
QDialogButtonBox { dialogbuttonbox-buttons-have-icons: 0; }
"""


class Dressing(QObject):
    """Dresses the children of a window, also those to come, and dresses them again whenever the theme changes.

    A sheet of the application is put on all of some 900 widgets at once, which takes Qt 0.2 s.

    Args:
        window: Whose children, each with all within it.
        theme: Its looks; what it must have told its listeners before is told.
        turns: Does the window's changes a part at a time.
    """

    def __init__(self, window: QMainWindow, theme: Theme, turns: Turns) -> None:
        super().__init__(window)
        self._window = window
        self._theme = theme
        self._turns = turns
        window.setStyleSheet(_OWN)
        for part in _parts(window):
            part.setStyleSheet(theme.style_sheet)
        window.installEventFilter(self)
        theme.changed.connect(self._begin)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Dresses what comes to the window later, such as a dialog, before it is shown."""
        if event.type() == QEvent.Type.ChildPolished:
            part = event.child()  # pyright: ignore[reportAttributeAccessIssue]
            if isinstance(part, QWidget) and part.styleSheet() != self._theme.style_sheet:
                part.setStyleSheet(self._theme.style_sheet)
        return False

    def _begin(self) -> None:
        parts = {part: partial(self._dress, part) for part in _parts(self._window)}
        self._turns.begin({**parts, self._theme: self._theme.dressed.emit})

    def _dress(self, part: QWidget) -> None:
        # Qt may have deleted a bar of tabs since.
        if isValid(part) and part.parent() is self._window:
            part.setStyleSheet(self._theme.style_sheet)


def _parts(window: QMainWindow) -> list[QWidget]:
    return window.findChildren(QWidget, options=Qt.FindChildOption.FindDirectChildrenOnly)
