"""Names with counts in columns of equal width, in up to two rows; a tool tip has those that do not fit."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QPoint, QRect, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QHelpEvent, QMouseEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from tokstudio.core.guide.glossary import explained
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.token_text.spelling import figure
from tokstudio.gui.widgets.labels import ask_word, mark_word
from tokstudio.gui.widgets.painting import guarded_painter

_FONT = 12
_NARROWEST = 112  # of a column
_GAP = 20  # between columns
_MOST_ROWS = 2

#: Names that have another meaning in everyday language, with their words of the glossary.
_TERMS = {"Words and marks": "words-and-marks"}

Count = tuple[str, int | None]


class CountsGrid(QWidget):
    """The number of tokens of the same text with several tokenizers."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._counts: tuple[Count, ...] = ()
        self._columns = 1
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("Tokens of the same text with other tokenizers")
        self.setMouseTracking(True)
        theme.changed.connect(self._follow_theme)
        self._follow_theme()

    def set_counts(self, counts: Sequence[Count]) -> None:
        """Shows names and counts; None is an unknown count."""
        self._counts = tuple(counts)
        self.setAccessibleDescription(", ".join(f"{name} {figure(count)}" for name, count in counts))
        self._arrange()

    def counts(self) -> tuple[Count, ...]:
        """Returns all counts, visible or not."""
        return self._counts

    def shown(self) -> tuple[str, ...]:
        """Returns the text of each cell: "GPT-2 51", and "3 more" for those that do not fit."""
        return tuple(f"{name} {count}".strip() for name, count in self._cells())

    def place_of(self, index: int) -> QRect:
        """Returns the rectangle of a cell."""
        row, column = divmod(index, self._columns)
        width = (self.width() + _GAP) // self._columns
        return QRect(column * width, row * self._height, width - _GAP, self._height)

    def sizeHint(self) -> QSize:
        """Makes room for its rows."""
        return QSize(240, self.minimumHeight())

    def minimumSizeHint(self) -> QSize:
        """Returns a width that does not depend on the counts."""
        return QSize(80, self._height)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Arranges the counts in as many columns as fit."""
        self._arrange()

    def event(self, event: QEvent) -> bool:
        """Shows the full text of a cell as a tip."""
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            QToolTip.showText(event.globalPos(), self.tip_at(event.pos()), self)
            return True
        return super().event(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Shows by the pointer which names a click explains."""
        asks = self._word_at(event.position().toPoint())
        self.setCursor(Qt.CursorShape.WhatsThisCursor if asks else Qt.CursorShape.ArrowCursor)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Opens the word of the glossary for a name."""
        if event.button() == Qt.MouseButton.LeftButton and (word := self._word_at(event.position().toPoint())):
            ask_word(self, word)

    def tip_at(self, place: QPoint) -> str:
        """Returns the tip at a point; "" beside the cells."""
        cells, index = self._cells(), self._index_at(place)
        if index < 0:
            return ""
        hidden = self._counts[index:] if len(cells) < len(self._counts) and index == len(cells) - 1 else ()
        return "\n".join(_tip_of(count) for count in hidden or (self._counts[index],))

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draws the cells."""
        with guarded_painter(self) as painter:
            painter.setFont(self._font)
            for index, (name, count) in enumerate(self._cells()):
                self._draw(painter, self.place_of(index), name, count)

    def _draw(self, painter: QPainter, place: QRect, name: str, count: str) -> None:
        metrics, palette = painter.fontMetrics(), self._theme.palette
        room = place.width() - (metrics.horizontalAdvance(count + " ") if count else 0)
        painter.setPen(QColor(palette.muted if self.isEnabled() else palette.disabled))
        name = metrics.elidedText(name, Qt.TextElideMode.ElideRight, room)
        left = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(place, left, name)
        if name in _TERMS:
            mark_word(painter, metrics.boundingRect(place, left, name), self)
        painter.setPen(QColor(palette.text if self.isEnabled() else palette.disabled))
        painter.drawText(place, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, count)

    def _index_at(self, place: QPoint) -> int:
        """The cell at a point; -1 beside the cells."""
        return next((index for index in range(len(self._cells())) if self.place_of(index).contains(place)), -1)

    def _word_at(self, place: QPoint) -> str:
        """The word of the glossary at a point; "" for none."""
        index = self._index_at(place)
        return _TERMS.get(self._cells()[index][0], "") if index >= 0 else ""

    def _cells(self) -> list[tuple[str, str]]:
        room = self._columns * _MOST_ROWS
        kept = len(self._counts) if len(self._counts) <= room else room - 1
        cells = [(name, figure(count)) for name, count in self._counts[:kept]]
        more = len(self._counts) - kept
        return [*cells, (f"{more} more", "")] if more else cells

    def _arrange(self) -> None:
        # Columns are wide enough for whole names, unless cells would then need more rows.
        metrics, narrowest = QFontMetrics(self._font), self._theme.scaled(_NARROWEST)
        cells = (metrics.horizontalAdvance(f"{name} {figure(count)}") for name, count in self._counts)
        widest = max(narrowest, *cells, 0)
        most, whole = ((self.width() + _GAP) // (width + _GAP) for width in (narrowest, widest))
        needed = -(-len(self._counts) // _MOST_ROWS)
        self._columns = max(1, whole, min(needed, most))
        rows = min(-(-len(self._counts) // self._columns), _MOST_ROWS)
        self.setFixedHeight(max(rows, 1) * self._height)
        self.update()

    def _follow_theme(self) -> None:
        self._font = self._theme.tabular_font(_FONT)
        self._height = QFontMetrics(self._font).height() + 3
        self._arrange()


def _tip_of(count: Count) -> str:
    name, tokens = count
    told = f"{name}: cannot encode this text" if tokens is None else f"{name}: {tokens:,} tokens of this text"
    return explained(told, _TERMS.get(name, ""))
