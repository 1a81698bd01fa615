"""The layout of the panes: three columns of two places; related panes share a place as tabs.

On a small screen, or a large one at twice its size, more panes share a place: controls of a window larger than the
screen could not be reached. In a low window, the right column is one place: half its height is too little for the
steps of an encoding, for a tree, or for a table.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import itertools
from collections.abc import Mapping

from PySide6.QtCore import QByteArray, QEvent, QObject, QSize, Qt, QTimer
from PySide6.QtWidgets import QMainWindow, QTabBar

from tokstudio.gui.widgets.pane import Pane
from tokstudio.gui.window.dock_sizes import DockSizes

_VERSION = 4  # increases with every added pane
# Columns from left to right with their shares of the width. Each has its places from top to bottom, with the share
# of the height of the upper one; each place has the panes that share it as tabs, the front one first.
_Columns = tuple[tuple[float, float, tuple[tuple[str, ...], ...]], ...]
_LARGE: _Columns = (
    (0.21, 0.43, (("corpus",), ("configure",))),
    (0.47, 0.46, (("compression", "distribution"), ("merges", "vocabulary", "runs"))),
    (0.32, 0.60, (("text",), ("token", "why"))),
)
_LOW: _Columns = (
    (0.27, 1, (("configure", "corpus"),)),
    (0.40, 1, (("compression", "distribution", "merges", "vocabulary", "runs"),)),
    (0.33, 1, (("text", "token", "why"),)),
)
_SMALL: _Columns = (
    (0.38, 1, (("configure", "corpus"),)),
    (0.62, 1, (("compression", "distribution", "merges", "vocabulary", "runs", "text", "token", "why"),)),
)
# The right column: shares of the window's height where there are two places.
_HEIGHTS = {"text": 0.60, "token": 0.40, "why": 0.40}
_LARGE_NEEDS = QSize(960, 580)  # pixels of the content that the large layout needs
_LOW_CURVES = 0.66  # the share of the curves in the height of a low window, the least that can be read
_LOW_WINDOW = 700  # pixels of height below which the right column of the large layout is one place


class Arrangement(QObject):
    """Places the panes, which are given by object name, and saves and restores their layout.

    `room` is the room of the screen for the window.
    """

    def __init__(self, window: QMainWindow, panes: Mapping[str, Pane], room: QSize) -> None:
        super().__init__(window)
        self._window = window
        self._panes = panes
        low, narrow = room.height() < _LARGE_NEEDS.height(), room.width() < _LARGE_NEEDS.width()
        self._columns = _SMALL if narrow else _LOW if low else _LARGE
        self._sizes = DockSizes(window, panes.values())
        # A layout from a larger screen does not fit.
        self._version = _VERSION + 1000 * (_LARGE, _LOW, _SMALL).index(self._columns)
        # Every pane emits a signal when it is shown or hidden, and a layout moves them all.
        self._titles = QTimer(self, singleShot=True, interval=0)
        self._titles.timeout.connect(self._show_titles)
        for pane in panes.values():
            pane.visibilityChanged.connect(self._titles.start)
        self._lay_out()
        self._first = window.saveState(self._version)
        # Building the layout also leaves tab bars behind.
        self._put(self._first)
        self._raise_first()
        self._low = False  # whether the window was low when its right column was last arranged
        # For the return to two places: their heights, and the front pane of the lower one.
        self._heights, self._front = dict(_HEIGHTS), "token"
        window.installEventFilter(self)

    def state(self) -> QByteArray:
        """The layout of the panes, for `restore`."""
        return self._window.saveState(self._version)

    def restore(self, state: QByteArray) -> bool:
        """Restores `state`; returns False for another version, which changes nothing."""
        restored = self._put(state)
        if restored:
            # As the user left it; panes move only when the window becomes low, or high.
            self._low = self._window.height() < _LOW_WINDOW
        self._show_titles()
        self._sizes.remember()
        return restored

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Follows the height of the window."""
        if event.type() in (QEvent.Type.Resize, QEvent.Type.Show):
            QTimer.singleShot(0, self, self._follow_height)
        return False

    def reset(self) -> None:
        """Restores the default layout."""
        self._put(self._first)
        self._raise_first()
        self._low = False
        self._heights, self._front = dict(_HEIGHTS), "token"
        self._sizes.forget()
        self.share_room()
        self._follow_height()
        self._titles.start()

    def _follow_height(self) -> None:
        """Merges the right column in a low window and splits it in a high one, unless the user has rearranged it."""
        low = self._window.height() < _LOW_WINDOW
        if low == self._low or self._columns is not _LARGE or not self._window.isVisible():
            return
        self._low = low
        text, token, why = right = [self._panes[key] for key in _HEIGHTS]
        # A closed pane moves too, and stays closed.
        lower = {key for key in ("token", "why") if not self._panes[key].isHidden()}
        if text.isHidden() or not lower or any(pane.isFloating() for pane in right):
            return
        if not low and self._beside(text) == lower:
            self._part(*right)
        elif low and not self._beside(text):
            # The geometry of a pane behind a tab means nothing.
            front = next((pane for pane in (token, why) if not pane.visibleRegion().isEmpty()), None)
            if front is None or self._beside(front) != lower - {front.objectName()}:
                return
            if front.x() == text.x() and front.y() > text.y():
                self._join(*right)

    def _join(self, text: Pane, token: Pane, why: Pane) -> None:
        at, sizes = self._sizes.chosen
        right = (text, token, why)
        self._heights |= {pane.objectName(): sizes[pane].height() / at.height() for pane in sizes if pane in right}
        self._front = "token" if why.visibleRegion().isEmpty() else "why"
        self._window.tabifyDockWidget(text, token)
        self._window.tabifyDockWidget(token, why)
        self._put(self.state())
        text.raise_()
        self._sizes.choose(at, sizes)
        self._titles.start()

    def _part(self, text: Pane, token: Pane, why: Pane) -> None:
        at, sizes = self._sizes.chosen
        shown = next((pane for pane in (token, why) if not pane.visibleRegion().isEmpty()), self._panes[self._front])
        # Qt cannot split a shared place, and keeps a place for a pane that has left it until the pane is elsewhere.
        self._window.addDockWidget(Qt.DockWidgetArea.RightDockWidgetArea, token)
        self._window.tabifyDockWidget(token, why)
        self._window.splitDockWidget(text, token, Qt.Orientation.Vertical)
        self._window.tabifyDockWidget(token, why)
        shown.raise_()
        for pane in (text, token, why):
            if pane in sizes:
                sizes[pane] = QSize(sizes[pane].width(), round(self._heights[pane.objectName()] * at.height()))
        self._sizes.choose(at, sizes)
        self._titles.start()

    def _beside(self, pane: Pane) -> set[str]:
        """The panes that share a place with one."""
        return {other.objectName() for other in self._window.tabifiedDockWidgets(pane)}

    def _lay_out(self) -> None:
        add, panes = self._window.splitDockWidget, self._panes
        tops = [panes[places[0][0]] for _, _, places in self._columns]
        self._window.addDockWidget(Qt.DockWidgetArea.LeftDockWidgetArea, tops[0])
        for left, right in itertools.pairwise(tops):
            add(left, right, Qt.Orientation.Horizontal)
        for _, _, places in self._columns:
            for upper, lower in itertools.pairwise(places):
                add(panes[upper[0]], panes[lower[0]], Qt.Orientation.Vertical)
        for _, _, places in self._columns:
            for place in places:
                for before, after in itertools.pairwise(place):
                    self._window.tabifyDockWidget(panes[before], panes[after])
        self._raise_first()

    def _raise_first(self) -> None:
        for _, _, places in self._columns:
            for place in places:
                if len(place) > 1:
                    self._panes[place[0]].raise_()

    def _put(self, state: QByteArray) -> bool:
        """Restores a layout. Qt makes new tab bars for it and leaves the old ones visible, so these are hidden."""
        before = self.state()
        for bar in self._window.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly):
            bar.hide()
        if self._window.restoreState(state, self._version):
            return True
        # It is not known which of the old ones are in use; the new ones all are.
        self._window.restoreState(before, self._version)
        return False

    def share_room(self) -> None:
        """Gives every pane its default share of the window."""
        window, panes = self._window, self._panes
        fronts = [panes[places[0][0]] for _, _, places in self._columns]
        widths = [round(share * window.width()) for share, *_ in self._columns]
        window.resizeDocks(fronts, widths, Qt.Orientation.Horizontal)
        for _, share, places in self._columns:
            if places[0][0] == "compression" and window.height() < _LOW_WINDOW:
                share = max(share, _LOW_CURVES)
            heights = [round(share * window.height()), round((1 - share) * window.height())]
            rows = [panes[place[0]] for place in places]
            if len(rows) == 1 or rows[1] not in window.tabifiedDockWidgets(rows[0]):
                window.resizeDocks(rows, heights[: len(rows)], Qt.Orientation.Vertical)
        self._sizes.remember()

    def _show_titles(self) -> None:
        """Hides the titles of panes with tabs."""
        for pane in self._panes.values():
            pane.show_title(not self._window.tabifiedDockWidgets(pane))
        for bar in self._window.findChildren(QTabBar):
            bar.setDrawBase(False)
            if self._columns is not _LARGE:
                # Many panes share a bar: it scrolls, and no name is cut.
                bar.setElideMode(Qt.TextElideMode.ElideNone)
                bar.setUsesScrollButtons(True)
            bar.setExpanding(False)
            bar.setAccessibleName("Tables")
