"""The card that every pane is: a dock with a quiet title, room for a few controls beside it, and a body."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QEvent, Qt, QTimer
from PySide6.QtGui import QMoveEvent
from PySide6.QtWidgets import QDockWidget, QFrame, QHBoxLayout, QLabel, QSizePolicy, QTabBar, QVBoxLayout, QWidget

_MARGIN = 12
_NARROWEST = 260


class _Header(QWidget):
    """The title's row; a pane may leave things out of it, so it must be able to become narrow."""

    def __init__(self) -> None:
        super().__init__()
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.row = QHBoxLayout(self)

    def event(self, event: QEvent) -> bool:
        """Follows what the row holds. A hint of its own would be asked for a thousand times as docks are laid out."""
        done = super().event(event)
        if event.type() in (QEvent.Type.LayoutRequest, QEvent.Type.Polish):
            self.setMinimumWidth(min(self.row.minimumSize().width(), _NARROWEST))
        return done


class Pane(QDockWidget):
    """A movable, closable card.

    Add controls to `header` (after the title, right-aligned) and the content to `body`.

    Args:
        key: Its name in the saved layout; never shown and never changed.
        title: What people call it.
        parent: The owner.
    """

    def __init__(self, key: str, title: str, parent: QWidget | None = None) -> None:
        super().__init__(title, parent)
        self.setObjectName(key)
        self.setFeatures(
            QDockWidget.DockWidgetFeature.DockWidgetMovable
            | QDockWidget.DockWidgetFeature.DockWidgetClosable
            | QDockWidget.DockWidgetFeature.DockWidgetFloatable
        )
        top, header = QFrame(), _Header()
        top.setProperty("card", "top")
        around = QVBoxLayout(top)
        around.setContentsMargins(0, 0, 0, 0)
        around.addWidget(header)
        self.header = header.row
        self.header.setContentsMargins(_MARGIN, 10, _MARGIN, 4)
        self.header.setSpacing(8)
        self.title = QLabel(title)
        self.title.setTextFormat(Qt.TextFormat.PlainText)
        self.title.setProperty("role", "title")
        self.header.addWidget(self.title)
        self.header.addStretch(1)
        self.setTitleBarWidget(top)

        bottom = QFrame()
        bottom.setProperty("card", "bottom")
        self.body = QVBoxLayout(bottom)
        self.body.setContentsMargins(_MARGIN, 4, _MARGIN, _MARGIN)
        self.body.setSpacing(8)
        self.setWidget(bottom)
        self._told = False  # what `visibilityChanged` has said last
        self.visibilityChanged.connect(self._remember)

    def moveEvent(self, event: QMoveEvent) -> None:
        """Sees that it stands somewhere else."""
        super().moveEvent(event)
        QTimer.singleShot(0, self, self._tell)

    def _remember(self, visible: bool) -> None:
        self._told = visible

    def _tell(self) -> None:
        """Qt says nothing where a pane that stood behind a tab gets a place of its own."""
        if not self._told and not self.visibleRegion().isEmpty():
            self.visibilityChanged.emit(True)

    def show_title(self, shown: bool) -> None:
        """Hides the title where a tab says the same."""
        self.title.setVisible(shown)


class EmptyState(QWidget):
    """What an empty pane shows: what will be there, in one or two sentences, and whatever fills it."""

    def __init__(self, text: str, *actions: QWidget) -> None:
        super().__init__()
        layout = QVBoxLayout(self)
        layout.setSpacing(10)
        layout.addStretch(1)
        self.label = QLabel(text)
        self.label.setTextFormat(Qt.TextFormat.PlainText)
        self.label.setProperty("role", "muted")
        self.label.setWordWrap(True)
        self.label.setAlignment(Qt.AlignmentFlag.AlignCenter)
        layout.addWidget(self.label)
        for action in actions:
            layout.addWidget(action, 0, Qt.AlignmentFlag.AlignCenter)
        layout.addStretch(1)


# The room of the header is dear: smaller than the tabs of a page.
_STYLE = "QTabBar::tab { padding: 2px 7px 3px 7px; }"


class HeaderTabs(QTabBar):
    """One tab for each view of a pane.

    Args:
        name: What a screen reader calls them.
        tips: Each tab's words, with its tip.
    """

    def __init__(self, name: str, tips: Mapping[str, str]) -> None:
        super().__init__()
        self.setStyleSheet(_STYLE)
        self.setExpanding(False)
        self.setAccessibleName(name)
        for tab, (words, tip) in enumerate(tips.items()):
            self.addTab(words)
            self.setTabToolTip(tab, tip)
