"""The sizes of the panes that the user has chosen; they come back when a small window becomes large again.

They are not stored: the next start has the sizes at the end.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QEvent, QObject, QSize, Qt, QTimer
from PySide6.QtWidgets import QMainWindow, QTabBar

from tokstudio.gui.widgets.pane import Pane

# Qt shrinks panes as their minimum sizes allow, and later enlarges them in proportion to those sizes: after a small
# window, every column would have another width than before.


class DockSizes(QObject):
    """Remembers sizes when the user has moved a border, and applies them after a resize of the window."""

    def __init__(self, window: QMainWindow, rest: int) -> None:
        super().__init__(window)
        self._window = window
        self._panes: list[Pane] = []
        self._chosen: dict[Pane, QSize] = {}
        self._chosen_at = QSize()
        self._grasped: dict[Pane, QSize] = {}
        self._soon = QTimer(self, singleShot=True)
        self._soon.timeout.connect(self._remember)
        self._resting = QTimer(self, singleShot=True, interval=rest)
        self._resting.timeout.connect(self._share_out)
        self.rested = self._resting.timeout  # some time after the last change, when Qt has settled the minimum sizes
        window.installEventFilter(self)

    def add(self, pane: Pane) -> None:
        """Remembers the sizes of a pane, too."""
        self._panes.append(pane)
        pane.dockLocationChanged.connect(self.remember)
        pane.topLevelChanged.connect(self.remember)

    @property
    def chosen(self) -> tuple[QSize, dict[Pane, QSize]]:
        """The size of a window, and the sizes of the panes in it; nothing if none are known."""
        return self._chosen_at, dict(self._chosen)

    def choose(self, window: QSize, sizes: dict[Pane, QSize]) -> None:
        """Applies sizes from `chosen`, whatever has moved since."""
        self._soon.stop()
        self._chosen_at, self._chosen = window, sizes
        if sizes:
            self.apply()
        else:
            self.remember()

    def apply(self) -> None:
        """Gives the panes the remembered sizes, if there are any."""
        layout = self._window.layout()
        if self._chosen and layout is not None:
            # Now, so that no other sizes are painted, and again while Qt settles the minimum sizes.
            layout.activate()
            self._share_out()
            QTimer.singleShot(0, self, self._share_out)
        self._resting.start()

    def forget(self) -> None:
        """Forgets the sizes until others are remembered."""
        self._chosen = {}

    def remember(self) -> None:
        """Remembers the current sizes after the layout."""
        self._resting.stop()
        self._soon.start()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Watches the window for changes of its size, and for moved borders, which belong to the window."""
        kind = event.type()
        if kind == QEvent.Type.MouseButtonPress:
            self._grasped = self._sizes()
        elif kind == QEvent.Type.Show or (kind == QEvent.Type.MouseButtonRelease and self._grasped != self._sizes()):
            self.remember()
        elif kind == QEvent.Type.Resize and self._chosen:
            self._resting.start()
        return super().eventFilter(watched, event)

    def widths(self) -> dict[Pane, int]:
        """The width of each column, by the pane in front that is its uppermost."""
        layout = self._window.layout()
        if layout is not None:
            layout.activate()
        columns = {pane.x(): pane for pane in sorted(self._docked(), key=lambda pane: -pane.y())}
        return {pane: pane.width() for pane in columns.values()}

    def widen(self, widths: Mapping[Pane, int]) -> None:
        """Gives columns the widths of `widths`, and remembers all sizes."""
        self._window.resizeDocks(list(widths), list(widths.values()), Qt.Orientation.Horizontal)
        self.remember()

    def _docked(self) -> list[Pane]:
        """The panes in front: the size of a pane behind a tab means nothing."""
        return [pane for pane in self._panes if not pane.isFloating() and not pane.visibleRegion().isEmpty()]

    def _sizes(self) -> dict[Pane, QSize]:
        return {pane: pane.size() for pane in self._docked()}

    def _remember(self) -> None:
        if not self._window.isVisible():
            return
        self._chosen_at, self._chosen = self._window.size(), self._sizes()
        for pane, size in list(self._chosen.items()):
            self._chosen.update({one: size for one in self._window.tabifiedDockWidgets(pane) if isinstance(one, Pane)})

    def _share_out(self) -> None:
        panes, window, at = self._docked(), self._window, self._chosen_at
        if any(pane not in self._chosen for pane in panes):
            self._remember()
            return
        across, down = window.width() / at.width(), window.height() / at.height()
        columns: dict[int, list[Pane]] = {}
        for pane in sorted(panes, key=lambda pane: (pane.x(), pane.y())):
            columns.setdefault(pane.x(), []).append(pane)
        # Two of one column would both move the same border.
        tops = [column[0] for column in columns.values()]
        widths = [round(self._chosen[pane].width() * across) for pane in tops]
        if any(pane.width() != width for pane, width in zip(tops, widths, strict=True)):
            window.resizeDocks(tops, widths, Qt.Orientation.Horizontal)
        for column in columns.values():
            heights = [round(self._chosen[pane].height() * down) for pane in column]
            if any(pane.height() != height for pane, height in zip(column, heights, strict=True)):
                # Qt counts the tabs above a pane as part of its height.
                heights = [height + self._tabs_above(pane) for pane, height in zip(column, heights, strict=True)]
                window.resizeDocks(column, heights, Qt.Orientation.Vertical)

    def _tabs_above(self, pane: Pane) -> int:
        if not self._window.tabifiedDockWidgets(pane):
            return 0
        return max((bar.height() for bar in tab_bars(self._window) if bar.isVisible()), default=0)


def tab_bars(window: QMainWindow) -> list[QTabBar]:
    """The tab bars of docked panes, also those out of use."""
    return window.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly)
