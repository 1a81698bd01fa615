"""Menus whose grey entries say why they are grey."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QAction, QHelpEvent, QHideEvent, QKeyEvent, QMouseEvent, QStatusTipEvent
from PySide6.QtWidgets import QAbstractScrollArea, QApplication, QMenu, QToolTip, QWidget

from tokstudio.gui.widgets.labels import plain

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
