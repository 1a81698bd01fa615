"""The toolbar: the corpus, the training and the export, within reach of the mouse."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QAction, QResizeEvent
from PySide6.QtWidgets import QLineEdit, QSizePolicy, QToolBar, QToolButton, QWidget

from tokstudio.gui.style.icons import icon
from tokstudio.gui.style.theme import Theme

_ACTIONS = "open_corpus | train pause step stop |"


class ToolBar(QToolBar):
    """Buttons for the actions of every day.

    Args:
        actions: The window's actions by id.
        theme: Its looks.

    Attributes:
        export_button: Opens a menu, which whoever makes the menus gives it.
    """

    def __init__(self, actions: Mapping[str, QAction], theme: Theme) -> None:
        super().__init__("Toolbar")
        self._actions = actions
        self._wide = 0  # pixels that all need where buttons have words; known once they have none
        self.setObjectName("toolbar")
        self.setMovable(False)
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.setIconSize(QSize(18, 18))
        for name in _ACTIONS.split():
            if name == "|":
                self.addSeparator()
            else:
                self.addAction(actions[name])
        button = self.widgetForAction(actions["pause"])
        assert isinstance(button, QToolButton)
        self.pause_button = button
        self.export_button = QToolButton()
        self.export_button.setText("Export")
        self.export_button.setToolTip("Export")
        self.export_button.setIcon(icon("export", theme))
        self.export_button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.export_button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.export_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.addWidget(self.export_button)
        spacer = QWidget()
        spacer.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.addWidget(spacer)
        theme.changed.connect(self._measure_again)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Leaves the words of buttons to their tips where else the field for finding would have no room."""
        super().resizeEvent(event)
        self._fit()

    def _measure_again(self) -> None:
        self._dress(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self._fit()

    def _fit(self) -> None:
        if self.toolButtonStyle() == Qt.ToolButtonStyle.ToolButtonTextBesideIcon:
            yielding = (field.sizeHint() - field.minimumSizeHint() for field in self.findChildren(QLineEdit))
            self._wide = self.sizeHint().width() - sum(spare.width() for spare in yielding)
            if self.width() < self._wide:
                self._dress(Qt.ToolButtonStyle.ToolButtonIconOnly)
        elif self.width() >= self._wide:
            self._dress(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)

    def _dress(self, style: Qt.ToolButtonStyle) -> None:
        self.setToolButtonStyle(style)
        self.export_button.setToolButtonStyle(style)

    def show_paused(self, paused: bool) -> None:
        """Lets one button hold the training and let it go on."""
        action = self._actions["resume" if paused else "pause"]
        if self.pause_button.defaultAction() is action:
            return
        self.pause_button.setDefaultAction(action)
        # A button with two actions would offer them in a menu.
        self.pause_button.removeAction(self._actions["pause" if paused else "resume"])
