"""Buttons that trigger an action of the window or look like a link."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QMetaMethod, QObject
from PySide6.QtGui import QAction, QActionEvent
from PySide6.QtWidgets import QPushButton, QSizePolicy, QToolButton

from tokstudio.gui.style.icons import icon
from tokstudio.gui.style.theme import Theme


class ActionButton(QPushButton):
    """A large button for an action of the window; it follows whether the action is enabled, and its tip says why not.

    Args:
        action: What it does.
        text: What it says.
        theme: Tints the icon.
        icon_name: The drawing before its text, or "".
    """

    def __init__(self, action: QAction, text: str, theme: Theme, icon_name: str = "") -> None:
        super().__init__(text)
        self._action = action
        self.setProperty("primary", True)
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        if icon_name:
            self.setIcon(icon(icon_name, theme, "on_accent"))
        self.clicked.connect(action.trigger)
        action.changed.connect(self._follow)
        self._follow()

    def _follow(self) -> None:
        self.setEnabled(self._action.isEnabled())
        self.setToolTip(self._action.toolTip())


def link_button(text: str, clicked: Callable[..., object]) -> QPushButton:
    """A button that looks like a link."""
    button = QPushButton(text)
    button.setProperty("link", True)
    button.clicked.connect(clicked)
    return button


class _OneConnection(QObject):
    """Before Qt connects a button to its changed action once more, disconnects it."""

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Disconnects the button from the action that has changed."""
        if event.type() == QEvent.Type.ActionChanged and isinstance(event, QActionEvent):
            changed = QMetaMethod.fromSignal(event.action().changed)
            QObject.disconnect(event.action(), changed, watched, QMetaMethod())
        return False


def connect_once(button: QToolButton) -> None:
    """Keeps Qt from connecting a button to its default action again at each of the action's changes.

    Qt 6.11 does so, and never disconnects: memory would grow, and each change would take longer than the one before.
    """
    button.installEventFilter(_OneConnection(button))
