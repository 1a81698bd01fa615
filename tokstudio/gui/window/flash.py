"""A frame around a widget for a moment, to show where a link has led."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from PySide6.QtCore import QPoint, QRect, Qt, QTimer
from PySide6.QtGui import QColor, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.painting import guarded_painter

_SHOWN_FOR = 1500  # milliseconds
_WIDTH = 3  # pixels


class Flash(QWidget):
    """A frame over its parent; pointer events go to what is below."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._over = QTimer(self, singleShot=True, interval=_SHOWN_FOR)
        self._over.timeout.connect(self.hide)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()

    def show_around(self, widget: QWidget) -> None:
        """Shows the frame around a widget of the parent; around one in another window, shows none."""
        around = self.parentWidget()
        if around is None or widget.window() is not around.window():
            self.hide()
            return
        self.setGeometry(QRect(widget.mapTo(around, QPoint()), widget.size()))
        self.show()
        self.raise_()
        self._over.start()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draws the frame."""
        with guarded_painter(self) as painter:
            painter.setPen(QPen(QColor(self._theme.palette.accent), 2 * _WIDTH))
            painter.drawRect(self.rect())
