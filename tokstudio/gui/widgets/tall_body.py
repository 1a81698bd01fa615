"""The body of a pane that may be taller than the pane: it scrolls, but never sideways."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QSize, Qt
from PySide6.QtWidgets import QFrame, QScrollArea, QWidget

_LEAST_HEIGHT = 48


class TallBody(QScrollArea):
    """Shows `content` in full width and, where there is no room for all of it, a part of its height."""

    def __init__(self, content: QWidget) -> None:
        super().__init__()
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setWidget(content)
        # The card is the background.
        self.viewport().setAutoFillBackground(False)
        content.setAutoFillBackground(False)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Passes on that the content wants another size."""
        if watched is self.widget() and event.type() == QEvent.Type.LayoutRequest:
            self.updateGeometry()
        return super().eventFilter(watched, event)

    def minimumSizeHint(self) -> QSize:
        """Gives the width that the content cannot do without beside a scroll bar, and a few lines of height."""
        content = self.widget()
        width = content.minimumSizeHint().width() if content is not None else 0
        return QSize(width + self.verticalScrollBar().sizeHint().width(), _LEAST_HEIGHT)

    def sizeHint(self) -> QSize:
        """Gives the size of the whole content."""
        content = self.widget()
        return content.sizeHint() if content is not None else super().sizeHint()
