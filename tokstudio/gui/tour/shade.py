"""A shade over the window that leaves one place light, to see and to use."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from PySide6.QtCore import QEvent, QRect, Qt
from PySide6.QtGui import QColor, QPaintEvent, QPen, QRegion
from PySide6.QtWidgets import QWidget

from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.painting import guarded_painter

_DARKNESS = 150  # of 255
_FRAME = 2  # pixels around the place
#: What the pointer does to the dark part has no effect.
_HELD_BACK = (
    QEvent.Type.MouseButtonPress,
    QEvent.Type.MouseButtonRelease,
    QEvent.Type.MouseButtonDblClick,
    QEvent.Type.Wheel,
    QEvent.Type.ContextMenu,
)


class Shade(QWidget):
    """Darkens its parent but for one place. Pointer events in the place go to what is there."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self.place = QRect()
        theme.changed.connect(self.update)
        self.hide()

    def light(self, place: QRect) -> None:
        """Covers the parent but for a place; an empty one covers all of it."""
        around = self.parentWidget()
        assert around is not None
        place = place.intersected(around.rect())
        if (place, around.rect()) == (self.place, self.geometry()):
            return
        self.place = place
        self.setGeometry(around.rect())
        self.setMask(QRegion(self.rect()) - QRegion(self.place))
        self.update()

    def event(self, event: QEvent) -> bool:
        """Keeps clicks from what is below."""
        if event.type() in _HELD_BACK:
            event.accept()
            return True
        return super().event(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Darkens, and draws a frame around the place."""
        with guarded_painter(self) as painter:
            painter.fillRect(event.rect(), QColor(0, 0, 0, _DARKNESS))
            if not self.place.isEmpty():
                pen = QPen(QColor(self._theme.palette.accent), 2 * _FRAME)
                pen.setJoinStyle(Qt.PenJoinStyle.MiterJoin)
                painter.setPen(pen)
                # The mask hides the inner half of the line.
                painter.drawRect(self.place)
