"""The header of a table of tokens: titles above their columns, with an arrow at the sorted one."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from PySide6.QtCore import QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPen
from PySide6.QtWidgets import QHeaderView, QWidget

from tokstudio.gui.style.theme import Theme
from tokstudio.gui.token_table.cells import PADDING
from tokstudio.gui.token_table.model import TokenTable
from tokstudio.gui.widgets.painting import guarded_painter

_ARROW = 12  # pixels for the arrow and the gap to the title


class TokenHeader(QHeaderView):
    """Aligns titles with the cells; room is reserved for the arrow, so that no title is cut.

    Args:
        theme: Colours and sizes.
        parent: The table.
    """

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self._theme = theme
        self.setHighlightSections(False)
        self.setMinimumSectionSize(32)
        self.apply_style()

    def apply_style(self) -> None:
        """Updates fonts and sizes; call it after a change of the theme."""
        self._font = QFont(self.font())
        self._font.setPixelSize(self._theme.scaled(11))
        self._font.setWeight(QFont.Weight.DemiBold)
        self._metrics = QFontMetricsF(self._font)
        self.setFixedHeight(round(self._metrics.height()) + 14)
        self.viewport().update()

    def width_of(self, title: str) -> int:
        """The width in pixels of a column with this title."""
        arrow = _ARROW if self.sectionsClickable() else 0
        return round(self._metrics.horizontalAdvance(title) + 0.5) + 2 * PADDING + arrow

    def paintSection(self, painter: QPainter, rect: QRect, logicalIndex: int) -> None:
        """Paints one title."""
        with guarded_painter(painter):
            model = self.model()
            if isinstance(model, TokenTable):
                self._paint(painter, QRectF(rect), model, logicalIndex)

    def _paint(self, painter: QPainter, rect: QRectF, model: TokenTable, index: int) -> None:
        palette, column = self._theme.palette, model.columns[index]
        sorted_by = self.isSortIndicatorShown() and self.sortIndicatorSection() == index
        painter.fillRect(rect, QColor(palette.surface))
        painter.setPen(QPen(QColor(palette.grid), 1))
        painter.drawLine(QPointF(rect.left(), rect.bottom() - 0.5), QPointF(rect.right(), rect.bottom() - 0.5))
        area = rect.adjusted(PADDING, 0, -PADDING, 0)
        right = column.kind == "number"
        title = self._metrics.elidedText(column.title, Qt.TextElideMode.ElideRight, area.width() + 1)
        width = self._metrics.horizontalAdvance(title)
        painter.setFont(self._font)
        painter.setPen(QColor(palette.text if sorted_by else palette.muted))
        side = Qt.AlignmentFlag.AlignRight if right else Qt.AlignmentFlag.AlignLeft
        painter.drawText(area, side | Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine, title)
        if sorted_by:
            middle = area.right() - width - _ARROW / 2 - 1 if right else area.left() + width + _ARROW / 2 + 1
            self._paint_arrow(painter, QPointF(middle, area.center().y()))

    def _paint_arrow(self, painter: QPainter, middle: QPointF) -> None:
        tip = -2.0 if self.sortIndicatorOrder() == Qt.SortOrder.AscendingOrder else 2.0
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(self._theme.palette.text), 1.4, c=Qt.PenCapStyle.RoundCap))
        for reach in (-3.5, 3.5):
            painter.drawLine(middle + QPointF(0, tip), middle + QPointF(reach, -tip))
