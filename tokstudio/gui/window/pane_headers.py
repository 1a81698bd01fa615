"""What the titles and tabs of the panes do: a double click maximises, a context menu offers what else a pane can do.

The actions of that menu are those of the menu bar. They act on the pane that had the focus last.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from PySide6.QtCore import QChildEvent, QEvent, QObject, QPoint, Qt
from PySide6.QtGui import QAction, QContextMenuEvent, QHelpEvent, QMouseEvent
from PySide6.QtWidgets import QApplication, QMainWindow, QTabBar, QToolTip, QWidget

from tokstudio.core.guide.glossary import explained
from tokstudio.gui.widgets.menus import Menu
from tokstudio.gui.widgets.pane import Pane
from tokstudio.gui.window.dock_layout import Arrangement

#: The words of the glossary that titles of panes are.
_WORDS = {
    "corpus": "corpus",
    "compression": "compression",
    "merges": "merge-log",
    "vocabulary": "vocabulary",
    "runs": "run",
    "token": "token",
}


class PaneHeaders(QObject):
    """Watches the headers of the panes, and knows the current pane; `actions` are in the context menu."""

    def __init__(self, window: QMainWindow, places: Arrangement, actions: list[QAction]) -> None:
        super().__init__(window)
        self._window, self._places = window, places
        self._panes: list[Pane] = []
        self._last: Pane | None = None
        self._torn: Pane | None = None  # whose tab the left button holds
        self.menu = Menu(window)
        self.menu.addActions(actions)
        for watched in (window, *window.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly)):
            watched.installEventFilter(self)
        application = QApplication.instance()
        assert isinstance(application, QApplication)
        application.focusChanged.connect(self._follow_focus)

    def add(self, pane: Pane) -> None:
        """Watches a pane, too."""
        self._panes.append(pane)
        pane.title.setToolTip(explained("", _WORDS.get(pane.objectName(), "")))
        pane.installEventFilter(self)

    @property
    def current(self) -> Pane | None:
        """The pane in sight that had the focus last, or else the largest; None if none is in sight."""
        seen = [pane for pane in self._panes if not pane.visibleRegion().isEmpty()]
        if self._last in seen:
            return self._last
        return max(seen, key=lambda pane: pane.width() * pane.height(), default=None)

    def maximise(self) -> bool:
        """Lets the current pane fill the window, or restores the layout; returns whether there is a pane."""
        pane = self.current
        if self._places.maximised is not None:
            self._places.give_back()
        elif pane is not None:
            if pane.isFloating():
                pane.setFloating(False)
            self._places.maximise(pane)
        return pane is not None

    def float(self) -> bool:
        """Makes the current pane a window of its own, or puts it back; returns whether there is a pane."""
        pane = self.current
        self._places.give_back()
        if pane is not None:
            pane.setFloating(not pane.isFloating())
        return pane is not None

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QChildEvent):
            # Qt makes tab bars as it needs them.
            if event.type() == QEvent.Type.ChildPolished and isinstance(event.child(), QTabBar):
                event.child().installEventFilter(self)
        elif isinstance(event, QHelpEvent) and isinstance(watched, QTabBar):
            pane = self._pane_at(watched, event.pos())
            QToolTip.showText(event.globalPos(), pane.title.toolTip() if pane is not None else "", watched)
            return True
        elif event.type() == QEvent.Type.MouseButtonDblClick and isinstance(event, QMouseEvent):
            pane = self._pane_at(watched, event.position().toPoint())
            if pane is not None and not pane.isFloating() and event.button() == Qt.MouseButton.LeftButton:
                self._last = pane
                self.maximise()
                return True
        elif event.type() == QEvent.Type.ContextMenu and isinstance(event, QContextMenuEvent):
            pane = self._pane_at(watched, event.pos())
            if pane is not None:
                pane.raise_()
                self._last = pane
                self.menu.popup(event.globalPos())
                return True
        elif isinstance(watched, QTabBar) and isinstance(event, QMouseEvent) and watched.parent() is self._window:
            return self._tear_off(watched, event)
        return False

    def _tear_off(self, bar: QTabBar, event: QMouseEvent) -> bool:
        """Makes the pane whose tab is dragged out of its bar a window of its own, under the pointer."""
        at, reach = event.position().toPoint(), bar.height()
        if event.type() == QEvent.Type.MouseButtonPress:
            self._torn = self._pane_at(bar, at) if event.button() == Qt.MouseButton.LeftButton else None
        elif event.type() == QEvent.Type.MouseButtonRelease:
            self._torn = None
        elif event.type() == QEvent.Type.MouseMove and self._torn is not None:
            pane, near = self._torn, bar.rect().adjusted(-reach, -reach, reach, reach)
            if not near.contains(at) and self._places.maximised is None:
                self._torn = None
                pane.setFloating(True)
                pane.move(event.globalPosition().toPoint() - QPoint(reach, reach // 2))
                return True
        return False

    def _pane_at(self, watched: QObject, at: QPoint) -> Pane | None:
        """The pane whose header is at a point."""
        if isinstance(watched, QTabBar):
            return self._titled(watched.tabText(watched.tabAt(at)))
        header = watched.titleBarWidget() if isinstance(watched, Pane) else None
        return watched if isinstance(watched, Pane) and header is not None and header.geometry().contains(at) else None

    def _titled(self, title: str) -> Pane | None:
        return next((pane for pane in self._panes if pane.windowTitle() == title), None)

    def _follow_focus(self, before: QWidget | None, now: QWidget | None) -> None:
        if isinstance(now, QTabBar) and now.parent() is self._window:
            self._last = self._titled(now.tabText(now.currentIndex()))
        elif now is not None:
            inside = (pane for pane in self._panes if pane.isAncestorOf(now))
            self._last = next(inside, self._last)
