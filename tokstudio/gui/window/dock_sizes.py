"""The widths and heights of the panes that a person has chosen: they come back when a window that was small has room.

They are known as long as the window is: the next start has those that the panes stood with at the end.

Qt shares out the room that is lost as the panes' smallest sizes allow, and then shares out what comes by what it has
made of them: after a small window every column would stand elsewhere than before.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Collection

from PySide6.QtCore import QEvent, QObject, QSize, Qt, QTimer
from PySide6.QtWidgets import QMainWindow, QTabBar

from tokstudio.gui.widgets.pane import Pane

_AT_REST = 50  # milliseconds without another size of the window


class DockSizes(QObject):
    """Remembers sizes when the person has moved a border, and shares a window of another size out by them.

    Args:
        window: Whose docks they are; it owns this.
        panes: The docks.
    """

    def __init__(self, window: QMainWindow, panes: Collection[Pane]) -> None:
        super().__init__(window)
        self._window = window
        self._panes = panes
        self._chosen: dict[Pane, QSize] = {}
        self._chosen_at = QSize()
        self._grasped: dict[Pane, QSize] = {}
        self._soon = QTimer(self)
        self._soon.setSingleShot(True)
        self._soon.timeout.connect(self._remember)
        self._resting = QTimer(self)
        self._resting.setSingleShot(True)
        self._resting.setInterval(_AT_REST)
        self._resting.timeout.connect(self._share_out)
        for pane in panes:
            pane.dockLocationChanged.connect(self.remember)
            pane.topLevelChanged.connect(self.remember)
        window.installEventFilter(self)

    @property
    def chosen(self) -> tuple[QSize, dict[Pane, QSize]]:
        """The size of a window, and those that the panes are to have in it; nothing where none are known."""
        return self._chosen_at, dict(self._chosen)

    def choose(self, window: QSize, sizes: dict[Pane, QSize]) -> None:
        """Wants the sizes that were `chosen`, whatever has moved since."""
        self._soon.stop()
        self._chosen_at, self._chosen = window, sizes
        if sizes:
            self._resting.stop()
            QTimer.singleShot(0, self, self._share_out)
        else:
            self.remember()

    def forget(self) -> None:
        """Wants no sizes any more, until others are remembered."""
        self._chosen = {}

    def remember(self) -> None:
        """Takes the sizes that the panes have, once they are laid out, for those that are wanted."""
        self._resting.stop()
        self._soon.start()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Sees the window change its size, and borders between panes be moved: those are the window's own."""
        kind = event.type()
        if kind == QEvent.Type.MouseButtonPress:
            self._grasped = self._sizes()
        elif kind == QEvent.Type.Show or (kind == QEvent.Type.MouseButtonRelease and self._grasped != self._sizes()):
            self.remember()
        elif kind == QEvent.Type.Resize and self._chosen:
            self._resting.start()
        return super().eventFilter(watched, event)

    def _docked(self) -> list[Pane]:
        """Those in front: one that stands behind a tab has whatever size."""
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
        # Two of one column would each move the same border.
        tops = [column[0] for column in columns.values()]
        widths = [round(self._chosen[pane].width() * across) for pane in tops]
        if any(pane.width() != width for pane, width in zip(tops, widths, strict=True)):
            window.resizeDocks(tops, widths, Qt.Orientation.Horizontal)
        for column in columns.values():
            heights = [round(self._chosen[pane].height() * down) for pane in column]
            if any(pane.height() != height for pane, height in zip(column, heights, strict=True)):
                # To Qt the tabs above a pane are of its height.
                heights = [height + self._tabs_above(pane) for pane, height in zip(column, heights, strict=True)]
                window.resizeDocks(column, heights, Qt.Orientation.Vertical)

    def _tabs_above(self, pane: Pane) -> int:
        if not self._window.tabifiedDockWidgets(pane):
            return 0
        bars = self._window.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly)
        return max((bar.height() for bar in bars if bar.isVisible()), default=0)
