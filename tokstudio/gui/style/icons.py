"""One-colour SVG icons, tinted when they are painted, so they follow the theme and stay sharp on every screen.

The drawings are resources; the colours come from `Theme.palette`.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from functools import cache

from PySide6.QtCore import QByteArray, QPoint, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QIcon, QIconEngine, QPainter, QPixmap, QPixmapCache
from PySide6.QtSvg import QSvgRenderer

from tokstudio.core.base.resources import resource
from tokstudio.gui.style.theme import Theme


def icon(name: str, theme: Theme, role: str = "text") -> QIcon:
    """Gives the icon `resources/icons/NAME.svg`; raises an error if it does not exist.

    Args:
        name: The file's name without its extension.
        theme: Its palette tints the icon, and is read each time the icon is painted.
        role: The role of the palette that gives its colour: "text", "muted", "accent", "on_accent" (on a filled
            button), "error" ... Disabled icons are paler in every role.
    """
    return QIcon(_TintedEngine(_drawing(name), theme, role))


@cache  # a window asks for 134
def _drawing(name: str) -> str:
    return resource(f"icons/{name}.svg").read_text(encoding="utf-8")


class _TintedEngine(QIconEngine):
    """Paints a drawing in the current colour of its role."""

    def __init__(self, drawing: str, theme: Theme, role: str) -> None:
        super().__init__()
        self._drawing = drawing
        self._theme = theme
        self._role = role
        self._renderers: dict[str, QSvgRenderer] = {}

    def paint(self, painter: QPainter, rect: QRect, mode: QIcon.Mode, state: QIcon.State) -> None:
        side = min(rect.width(), rect.height())
        square = QRectF(rect.x() + (rect.width() - side) / 2, rect.y() + (rect.height() - side) / 2, side, side)
        self._renderer(self._colour(mode)).render(painter, square)

    def pixmap(self, size: QSize, mode: QIcon.Mode, state: QIcon.State) -> QPixmap:
        # `size` is in device pixels: QIcon sets the ratio of the returned pixmap.
        key = f"{hash(self._drawing)} {self._colour(mode)} {size.width()} {size.height()}"
        image = QPixmap()
        if not QPixmapCache.find(key, image):
            image = QPixmap(size)
            image.fill(Qt.GlobalColor.transparent)
            if not image.isNull():
                with QPainter(image) as painter:
                    self.paint(painter, QRect(QPoint(0, 0), size), mode, state)
                QPixmapCache.insert(key, image)
        return image

    def _colour(self, mode: QIcon.Mode) -> str:
        palette = self._theme.palette
        return palette.disabled if mode == QIcon.Mode.Disabled else getattr(palette, self._role, palette.text)

    def _renderer(self, colour: str) -> QSvgRenderer:
        if colour not in self._renderers:
            drawing = self._drawing.replace("currentColor", colour)
            self._renderers[colour] = QSvgRenderer(QByteArray(drawing.encode()))
        return self._renderers[colour]

    def clone(self) -> QIconEngine:
        # Qt calls this only when an icon is edited (addPixmap, setIsMask), which nothing here does; a clone made by
        # Python would not outlive this call.
        return _TintedEngine(self._drawing, self._theme, self._role)
