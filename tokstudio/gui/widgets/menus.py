"""Buttons and menus."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from PySide6.QtCore import QEvent, QMetaMethod, QObject, QPoint, Qt, SignalInstance
from PySide6.QtGui import QAction, QHelpEvent, QHideEvent, QIcon, QKeyEvent, QMouseEvent, QStatusTipEvent
from PySide6.QtWidgets import (
    QAbstractScrollArea,
    QApplication,
    QMenu,
    QPushButton,
    QSizePolicy,
    QToolButton,
    QToolTip,
    QWidget,
)

from tokstudio.gui.style.icons import icon
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.labels import named, plain

# --- Buttons that trigger an action of the window or look like a link -------------------------------------------------


class ActionButton(QPushButton):
    """A large button for an action of the window; it is enabled as the action is, and its tip says why not."""

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


#: What a button does, or the signal that it emits.
_Act: TypeAlias = Callable[..., object] | SignalInstance


def link_button(text: str, clicked: _Act, tip: str = "") -> QPushButton:
    """A button that looks like a link."""
    button = push_button(text, clicked, tip)
    button.setProperty("link", True)
    return button


def push_button(text: str, clicked: _Act, tip: str = "", *, is_main: bool = False) -> QPushButton:
    """A button; the main one of a dialog is filled, and Enter presses it."""
    button = QPushButton(text, default=True) if is_main else QPushButton(text, autoDefault=False)
    if is_main:
        button.setProperty("primary", True)
    button.setToolTip(tip)
    button.clicked.connect(clicked)
    return button


def tool_button(
    tip: str,
    drawing: QIcon | None = None,
    text: str = "",
    *,
    name: str = "",
    clicked: _Act | None = None,
    menu: QMenu | None = None,
) -> QToolButton:
    """A button with a drawing, a text or both, which does something or opens a menu; `name` is for a screen reader."""
    button = named(QToolButton(), name or tip, tip)
    button.setText(text)
    if drawing is not None:
        button.setIcon(drawing)
        if text:
            button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
    if clicked is not None:
        button.clicked.connect(clicked)
    if menu is not None:
        button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        button.setMenu(menu)
    return button


def button_of(action: QAction, name: str = "") -> QToolButton:
    """A button with the icon of an action of the window, which it triggers; its accessible name is the action's."""
    button = QToolButton()
    button.setDefaultAction(action)
    connect_once(button)
    button.setAccessibleName(name or action.text().replace("&", ""))
    return button


class _OneConnection(QObject):
    """Takes back each connection that Qt makes of a button to its changed action."""

    def __init__(self, button: QToolButton) -> None:
        super().__init__(button)
        self._button, self._action = button, button.defaultAction()
        self._action.changed.connect(self._disconnect)

    def _disconnect(self) -> None:
        # The button knows of the change: Qt sends it an event before this signal.
        changed = QMetaMethod.fromSignal(self._action.changed)
        QObject.disconnect(self._action, changed, self._button, QMetaMethod())


def connect_once(button: QToolButton) -> None:
    """Keeps Qt from collecting connections of a button to its default action, one for each of the action's changes.

    Qt 6.11 does so, and never disconnects: memory would grow, and each change would take longer than the one before.
    """
    _OneConnection(button)


# --- Menus whose grey entries say why they are grey -------------------------------------------------------------------

_TICKING = (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space)


class Menu(QMenu):
    """A menu that shows the tool tip of a grey entry, which is the reason, and its status tip."""

    _shown: QAction | None = None  # the grey entry whose status tip is shown

    def add_menu(self, title: str) -> Menu:
        """Adds a submenu."""
        menu = Menu(title, self)
        self.addMenu(menu)
        return menu

    def event(self, arg__1: QEvent) -> bool:
        """Shows the tool tip of a grey entry; that of another would repeat its text."""
        if isinstance(arg__1, QHelpEvent) and arg__1.type() == QEvent.Type.ToolTip:
            action = self._grey_at(arg__1.pos())
            QToolTip.showText(arg__1.globalPos(), "" if action is None else plain(action.toolTip()), self)
            return True
        return super().event(arg__1)

    def mouseMoveEvent(self, arg__1: QMouseEvent) -> None:
        """Shows the status tip of a grey entry; Qt shows those of others."""
        grey = self._grey_at(arg__1.position().toPoint())
        if grey is None:
            self._show_status(None)
        super().mouseMoveEvent(arg__1)
        self._show_status(grey)

    def hideEvent(self, event: QHideEvent) -> None:
        """Removes the status tip of a grey entry."""
        self._show_status(None)
        super().hideEvent(event)

    def _show_status(self, grey: QAction | None) -> None:
        if grey is self._shown:
            return
        opener: QWidget | None = self
        while isinstance(opener, QMenu):
            opener = opener.parentWidget()
        if opener is not None:
            QApplication.sendEvent(opener, QStatusTipEvent(grey.statusTip() if grey is not None else ""))
        self._shown = grey

    def _grey_at(self, place: QPoint) -> QAction | None:
        """The grey entry at a place that has a reason."""
        action = self.actionAt(place)
        grey = action is not None and not action.isEnabled() and action.toolTip() != action.text().replace("&", "")
        return action if grey else None


class TickMenu(Menu):
    """A menu that stays open while entries are ticked, by mouse or keyboard; another entry, or Escape, closes it."""

    def mouseReleaseEvent(self, arg__1: QMouseEvent) -> None:
        """Ticks the entry under the pointer."""
        if not self._tick(self.actionAt(arg__1.position().toPoint())):
            super().mouseReleaseEvent(arg__1)

    def keyPressEvent(self, arg__1: QKeyEvent) -> None:
        """Ticks the current entry with Enter or Space."""
        if arg__1.key() not in _TICKING or not self._tick(self.activeAction()):
            super().keyPressEvent(arg__1)

    def _tick(self, action: QAction | None) -> bool:
        """Ticks an entry, or unticks it, and returns whether there is one to tick."""
        if action is None or not action.isCheckable() or not action.isEnabled():
            return False
        action.trigger()
        return True


def set_why_not(action: QAction, why_not: str) -> None:
    """Disables an entry for a reason, which it shows; "" changes nothing."""
    if why_not:
        action.setEnabled(False)
        action.setToolTip(why_not)
        action.setStatusTip(why_not)


def offer_actions(widget: QWidget, actions: list[QAction]) -> None:
    """Adds actions to a widget, and shows all of its actions as its context menu."""
    widget.addActions(actions)
    menu = Menu(widget)

    def show(place: QPoint) -> None:
        menu.clear()
        menu.addActions(widget.actions())
        around = widget.viewport() if isinstance(widget, QAbstractScrollArea) else widget
        menu.popup(around.mapToGlobal(place))

    widget.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
    widget.customContextMenuRequested.connect(show)
