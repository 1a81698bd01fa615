"""Draws a line of text once for each tokenizer, one below another, with the same character at the same place."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetrics,
    QFontMetricsF,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
    QTextLayout,
    QTextLine,
    QTextOption,
)
from PySide6.QtWidgets import QToolTip

from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import several
from tokstudio.core.comparison.alignment import CutText, borders
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.token_text.rows import direction
from tokstudio.gui.token_text.spelling import PieceTable, grapheme_edges, hex_head, marked, shown
from tokstudio.gui.widgets.labels import guarded_painter, isolated, plain
from tokstudio.gui.widgets.layouts import Canvas

if TYPE_CHECKING:
    from numpy.typing import NDArray

# --- A line of text laid out once, for the rows of all tokenizers: the place of each character in wrapped lines -------

_LEAST_WIDTH = 1.0  # pixels
_BOX = "\u25af"  # for characters that draw nothing
_TAB = "\u21e5"
_INVISIBLE = {"Cc", "Cf", "Cs", "Zl", "Zp"}


class GraphemePlace(NamedTuple):
    """Where a grapheme is drawn: bytes of the text, and the horizontal edges at which it begins and ends."""

    begin: int
    end: int
    lead: float
    trail: float

    @property
    def left(self) -> float:
        """The left edge."""
        return min(self.lead, self.trail)

    @property
    def right(self) -> float:
        """The right edge."""
        return max(self.lead, self.trail)

    def at(self, byte: float) -> float:
        """The place of a byte within the grapheme, as if all its bytes were equally wide."""
        return self.lead + (self.trail - self.lead) * (byte - self.begin) / (self.end - self.begin)


class LineLayout:
    """A text without line feeds in wrapped lines; letters are joined as in any text, whatever its tokens are."""

    def __init__(self, text: str, font: QFont, width: float) -> None:
        data = text.encode()
        edges = grapheme_edges(data)
        bytes_at = list(range(len(data) + 1)) if edges is None else np.flatnonzero(edges).tolist()
        graphemes = [data[begin:end].decode() for begin, end in pairwise(bytes_at)]
        self._bytes_at = bytes_at
        self._metrics, self._shown = QFontMetricsF(font), [_drawn(grapheme) for grapheme in graphemes]
        shown = self._shown
        units = np.cumsum([0, *(len(each.encode("utf-16-le")) // 2 for each in shown)])
        self._layout = QTextLayout("".join(shown), font)
        option = QTextOption()
        option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self._mirrored = direction(data) > 0
        if self._mirrored:
            option.setTextDirection(Qt.LayoutDirection.RightToLeft)
            option.setAlignment(Qt.AlignmentFlag.AlignRight)
        self._layout.setTextOption(option)
        self._layout.setCacheEnabled(True)
        self._layout.beginLayout()
        lines: list[QTextLine] = []
        while (line := self._layout.createLine()).isValid():
            line.setLineWidth(max(width, 1.0))
            line.setPosition(QPointF(0, 0))
            lines.append(line)
        self._layout.endLayout()
        self._lines = lines
        starts = [line.textStart() for line in lines]
        self._firsts = [*np.searchsorted(units, starts).tolist(), len(graphemes)]
        self._units = units.tolist()
        self._places: dict[int, list[GraphemePlace]] = {}
        self.heights = [line.height() for line in lines]  # of each wrapped line

    def __len__(self) -> int:
        """The number of wrapped lines."""
        return len(self._lines)

    def places(self, number: int) -> Sequence[GraphemePlace]:
        """The graphemes of a wrapped line, in the order of the text."""
        if number not in self._places:
            line, units, edges = self._lines[number], self._units, self._bytes_at
            places: list[GraphemePlace] = []
            for at in range(self._firsts[number], self._firsts[number + 1]):
                lead, trail = _x(line, units[at]), _x(line, units[at], QTextLine.Edge.Trailing)
                following = _x(line, units[at + 1])
                # The next grapheme begins inside a ligature, or where this one ends.
                if min(lead, trail) < following < max(lead, trail):
                    trail = following
                places.append(GraphemePlace(edges[at], edges[at + 1], lead, trail))
            self._fill_gaps(line, places, self._shown[self._firsts[number] : self._firsts[number + 1]])
            self._places[number] = places
        return self._places[number]

    def _fill_gaps(self, line: QTextLine, places: list[GraphemePlace], shown: Sequence[str]) -> None:
        """Places the first character of a run of the other direction, whose edges Qt does not tell."""
        lost = [at for at, place in enumerate(places) if place.right - place.left < _LEAST_WIDTH]
        lost = [at for at in lost if self._metrics.horizontalAdvance(shown[at]) > _LEAST_WIDTH]
        covered = [(place.left, place.right) for place in places if place.right - place.left >= _LEAST_WIDTH]
        whole = line.naturalTextRect()
        covered = sorted([*covered, (whole.left(), whole.left()), (whole.right(), whole.right())])
        gaps = [(one[1], other[0]) for one, other in pairwise(covered) if other[0] - one[1] > _LEAST_WIDTH]
        if self._mirrored:
            gaps.reverse()
        for at in lost:
            if not gaps:
                return
            width = self._metrics.horizontalAdvance(shown[at])
            gap = min(gaps, key=lambda each: round(abs(each[1] - each[0] - width)))
            gaps.remove(gap)
            ends = gap[::-1] if direction(shown[at].encode()) > 0 else gap
            places[at] = places[at]._replace(lead=ends[0], trail=ends[1])

    def draw(self, painter: QPainter, number: int, x: float, y: float) -> None:
        """Draws the text of a wrapped line."""
        self._lines[number].draw(painter, QPointF(x, y))


def _drawn(grapheme: str) -> str:
    """The characters to draw for a grapheme."""
    if grapheme == "\t":
        return _TAB
    if all(unicodedata.category(character) in _INVISIBLE for character in grapheme):
        return _BOX
    return "\u00a0" if grapheme != " " and grapheme.isspace() else grapheme


def _x(line: QTextLine, unit: int, edge: QTextLine.Edge = QTextLine.Edge.Leading) -> float:
    return cast("tuple[float, int]", line.cursorToX(unit, edge))[0]


_FONT = 15
_MARGIN = 10  # around everything
_INSET = 3  # between the edge of a box and its text, above and below
_GAP = 5  # between rows
_BLOCK_GAP = 18  # between wrapped lines
_BESIDE = 14  # between names, text and counts
_NAMES = 0.22  # of the width, at most
_HEADING = "Tokens"  # of the counts
_LOW = 110  # pixels; a lower pane has no heading
_RADIUS = 3.0
_TOLD = 8  # tokens of one character in a tip
_HEAD = 16  # bytes of a token in a tip


@dataclass(frozen=True, eq=False)
class StackedRow:
    """The line in one tokenizer."""

    name: str
    cut: CutText | None  # None if it cannot encode the line
    problem: str = ""  # why not
    simple: bool = False  # whether it is shown for comparison only: not marked, and never the best


@dataclass(frozen=True, eq=False)
class Stack:
    """A line in several tokenizers."""

    text: str
    rows: Sequence[StackedRow]

    @cached_property
    def data(self) -> bytes:
        """The UTF-8 of the line."""
        return self.text.encode()

    @cached_property
    def best(self) -> int | None:
        """The fewest tokens, of tokenizers that are not simple; None where these do not differ."""
        counts = {len(row.cut.ids) for row in self.rows if row.cut is not None and not row.simple}
        return min(counts) if len(counts) > 1 else None

    @cached_property
    def apart(self) -> frozenset[int]:
        """The borders, as bytes before them, that some tokenizers have and others have not; simple ones left aside."""
        cuts = [row.cut for row in self.rows if row.cut is not None and not row.simple]
        places, counts = borders(cuts)
        return frozenset(places[counts < len(cuts)].tolist())

    @cached_property
    def pieces(self) -> Sequence[PieceTable | None]:
        """The tokens of each row; those that share a character are one piece."""
        return [self._table(row.cut) if row.cut is not None and len(row.cut.ids) else None for row in self.rows]

    def tokens_at(self, row: int, place: GraphemePlace) -> list[int]:
        """The numbers of the tokens that a row has at a grapheme."""
        table = self.pieces[row]
        if table is None:
            return []
        edges = table.edges
        inside = (edges[:-1] < place.end) & (edges[1:] > place.begin)
        # An empty token belongs to the character that it is in.
        empty = (edges[:-1] == edges[1:]) & (edges[1:] > place.begin) & (edges[1:] <= place.end)
        return np.flatnonzero(inside | empty).tolist()

    def _table(self, cut: CutText) -> PieceTable:
        edges = np.concatenate([np.zeros(1, np.int64), cut.ends])
        return PieceTable(self.data, edges, cut.ids, np.zeros(len(cut.ids), np.bool_))


class StackedLines(Canvas):
    """The rows of a `Stack`, wrapped together."""

    tokenAsked = Signal(str, int)  # a token was clicked: the name of the tokenizer, and the id
    stepAsked = Signal(int)  # the keys ask for another line: 1 for the next, -1 for the one before
    differenceAsked = Signal()  # the keys ask for the next line that differs most

    def __init__(self, theme: Theme) -> None:
        super().__init__("The same text in each tokenizer")
        self._theme = theme
        self.stack: Stack | None = None
        self._layout: LineLayout | None = None
        self._hovered: tuple[int, GraphemePlace] | None = None  # a wrapped line, and a grapheme of it
        theme.changed.connect(self._arrange)

    def show_stack(self, stack: Stack | None) -> None:
        """Shows another line, from its beginning."""
        self.stack, self._hovered = stack, None
        self.verticalScrollBar().setValue(0)
        self._arrange()
        rows = stack.rows if stack is not None else ()
        counts = [f"{row.name}: {several(len(row.cut.ids), 'token')}" for row in rows if row.cut is not None]
        self.setAccessibleDescription(". ".join(([stack.text] if stack is not None else []) + counts))

    # ---- places

    def place_of(self, row: int, byte: int) -> QRectF:
        """The rectangle, in the viewport, of the grapheme with a byte in the row of a tokenizer."""
        assert self._layout is not None
        for block in range(len(self._layout)):
            for place in self._layout.places(block):
                if place.begin <= byte < place.end:
                    top = self._top(block, row) - self.verticalScrollBar().value()
                    return QRectF(self._left + place.left, top, place.right - place.left, self._box_height(block))
        raise IndexError(byte)

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._arrange()

    def _arrange(self) -> None:
        theme, stack = self._theme, self.stack
        self._font, self._digits = theme.monospace_font(_FONT), theme.tabular_font()
        self._layout = None
        height = 0.0
        if stack is not None:
            metrics, width = QFontMetrics(self.font()), self.viewport().width()
            names = max((metrics.horizontalAdvance(row.name) for row in stack.rows), default=0) + 1
            self._name_room = min(names, round(width * _NAMES))
            bold = QFont(self._digits)
            bold.setBold(True)
            # A low pane has its room for the rows.
            has_head = self.viewport().height() >= theme.scaled(_LOW)
            self._head = metrics.height() + theme.scaled(_GAP) if has_head else 0
            counts = [f"{len(row.cut.ids):,}" if row.cut is not None else "–" for row in stack.rows]
            self._count_room = max((QFontMetrics(bold).horizontalAdvance(text) for text in counts), default=0)
            self._count_room = max(self._count_room, metrics.horizontalAdvance(_HEADING)) + 4
            beside = theme.scaled(_BESIDE)
            self._left = float(_MARGIN + self._name_room + beside)
            room = width - self._left - beside - self._count_room - _MARGIN
            self._layout = LineLayout(stack.text, self._font, max(room, 40.0))
            blocks = [
                len(stack.rows) * (self._box_height(block) + theme.scaled(_GAP)) + theme.scaled(_BLOCK_GAP)
                for block in range(len(self._layout))
            ]
            self._tops = [float(top) for top in accumulate(blocks, initial=_MARGIN + self._head)]
            height = self._tops[-1]
        self.scroll_through(round(height), theme.scaled(24))

    def _box_height(self, block: int) -> float:
        assert self._layout is not None
        return self._layout.heights[block] + 2 * _INSET

    def _top(self, block: int, row: int) -> float:
        return self._tops[block] + row * (self._box_height(block) + self._theme.scaled(_GAP))

    def _at(self, position: QPointF) -> tuple[int, int, GraphemePlace | None] | None:
        """The wrapped line, the row and the grapheme at a place of the viewport."""
        if self._layout is None or self.stack is None:
            return None
        y, x = position.y() + self.verticalScrollBar().value(), position.x() - self._left
        block = int(np.searchsorted(self._tops, y, side="right")) - 1
        if not 0 <= block < len(self._layout):
            return None
        row = int((y - self._tops[block]) // (self._box_height(block) + self._theme.scaled(_GAP)))
        if row >= len(self.stack.rows):
            return None
        place = next((each for each in self._layout.places(block) if each.left <= x < each.right), None)
        return block, row, place

    def paintEvent(self, event: QPaintEvent) -> None:
        with guarded_painter(self.viewport()) as painter:
            painter.fillRect(event.rect(), QColor(self._theme.palette.surface))
            if self.stack is None or self._layout is None:
                return
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            scrolled = self.verticalScrollBar().value()
            painter.translate(0, -scrolled)
            if self._head:
                self._paint_heading(painter)
            first = max(int(np.searchsorted(self._tops, scrolled, side="right")) - 1, 0)
            for block in range(first, len(self._layout)):
                if self._tops[block] > scrolled + self.viewport().height():
                    break
                for row in range(len(self.stack.rows)):
                    self._paint_row(painter, self.stack, block, row)

    def _paint_heading(self, painter: QPainter) -> None:
        """Says what the numbers at the right are."""
        painter.setFont(self.font())
        painter.setPen(QColor(self._theme.palette.muted))
        room = QRectF(self.viewport().width() - _MARGIN - self._count_room, _MARGIN, self._count_room, self._head)
        painter.drawText(room, Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignRight, _HEADING)

    def _paint_row(self, painter: QPainter, stack: Stack, block: int, row: int) -> None:
        assert self._layout is not None
        palette, height, top = self._theme.palette, self._box_height(block), self._top(block, row)
        line, cut = stack.rows[row], stack.rows[row].cut
        painter.setFont(self.font())
        painter.setPen(QColor(palette.muted if block or line.simple else palette.text))
        name = painter.fontMetrics().elidedText(line.name, Qt.TextElideMode.ElideMiddle, self._name_room)
        middle = Qt.AlignmentFlag.AlignVCenter
        room = QRectF(_MARGIN, top, self._name_room, height)
        painter.drawText(room, middle | Qt.AlignmentFlag.AlignLeft, isolated(name))
        if block == 0:
            digits = QFont(self._digits)
            digits.setBold(cut is not None and not line.simple and len(cut.ids) == stack.best)
            painter.setFont(digits)
            room = QRectF(self.viewport().width() - _MARGIN - self._count_room, top, self._count_room, height)
            painter.drawText(
                room, middle | Qt.AlignmentFlag.AlignRight, f"{len(cut.ids):,}" if cut is not None else "–"
            )
        painter.setFont(self._font)
        table = stack.pieces[row]
        places = self._layout.places(block)
        if table is not None:
            self._paint_boxes(painter, table, places, top, height)
        painter.setPen(QColor(palette.text if table is not None else palette.disabled))
        self._layout.draw(painter, block, self._left, top + _INSET)
        if table is not None:
            self._paint_borders(painter, stack, row, places, QRectF(self._left, top, 0, height))
            self._paint_hovered(painter, stack, row, block, top)

    def _paint_boxes(
        self, painter: QPainter, table: PieceTable, places: Sequence[GraphemePlace], top: float, height: float
    ) -> None:
        colours = [QColor(colour) for colour in self._theme.palette.tokens]
        starts = table.edges[table.first[:-1]]
        owners = np.searchsorted(starts, [place.begin for place in places], side="right") - 1
        spans: list[tuple[float, float, int]] = []  # what touches on screen and belongs together
        for place, owner in sorted(zip(places, owners.tolist(), strict=True), key=lambda each: each[0].left):
            if spans and spans[-1][2] == owner:
                spans[-1] = spans[-1][0], place.right, owner
            else:
                spans.append((place.left, place.right, owner))
        painter.setPen(Qt.PenStyle.NoPen)
        for left, right, owner in spans:
            painter.setBrush(colours[table.colours[owner]])
            box = QRectF(self._left + left + 0.75, top, max(right - left - 1.5, 1.0), height)
            painter.drawRoundedRect(box, _RADIUS, _RADIUS)
        painter.setBrush(Qt.BrushStyle.NoBrush)

    def _paint_borders(
        self, painter: QPainter, stack: Stack, row: int, places: Sequence[GraphemePlace], strip: QRectF
    ) -> None:
        """Draws borders that others have not over the whole height, and those within a character at its foot."""
        table, palette = stack.pieces[row], self._theme.palette
        assert table is not None
        apart = frozenset() if stack.rows[row].simple else stack.apart
        strong = QPen(QColor(palette.accent), 2.0)
        weak = QPen(QColor(palette.muted), 1.25)
        marks = _marks(table)
        for place in places:
            first, last = np.searchsorted(marks[0], (place.begin, place.end))
            for byte, border in zip(marks[0][first:last].tolist(), marks[1][first:last].tolist(), strict=True):
                inside, other = byte > place.begin, border in apart
                if not inside and not other:
                    continue
                x = strip.left() + place.at(byte)
                top = strip.bottom() - strip.height() * 0.35 if inside else strip.top() - 2
                painter.setPen(strong if other else weak)
                painter.drawLine(QPointF(x, top), QPointF(x, strip.bottom() + (2 if other else 0)))

    def _paint_hovered(self, painter: QPainter, stack: Stack, row: int, block: int, top: float) -> None:
        if self._hovered is None or self._hovered[0] != block:
            return
        place = self._hovered[1]
        painter.setPen(QPen(QColor(self._theme.palette.text), 1.25))
        box = QRectF(self._left + place.left, top, place.right - place.left, self._box_height(block))
        painter.drawRoundedRect(box, _RADIUS, _RADIUS)

    # ---- the pointer and the keys

    def viewportEvent(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            QToolTip.showText(event.globalPos(), plain(self.tip_at(event.pos())), self.viewport())
            return True
        if event.type() == QEvent.Type.Leave:
            self._hover(None)
        return super().viewportEvent(event)

    def tip_at(self, position: QPoint) -> str:
        """What is told of a place of the viewport."""
        hovered = self._at(QPointF(position))
        if hovered is None or self.stack is None:
            return ""
        _, number, place = hovered
        row = self.stack.rows[number]
        if place is None or row.cut is None:
            return f"{row.name}: {row.problem}" if row.problem else row.name
        character = self.stack.data[place.begin : place.end].decode()
        points = " ".join(f"U+{ord(point):04X}" for point in character)
        return "\n".join([f"{character}  {points}", *(self._told(each, place) for each in range(len(self.stack.rows)))])

    def _told(self, number: int, place: GraphemePlace) -> str:
        assert self.stack is not None
        row, table = self.stack.rows[number], self.stack.pieces[number]
        if row.cut is None or table is None:
            return f"{row.name}: –"
        words: list[str] = []
        tokens = self.stack.tokens_at(number, place)
        for token in tokens[:_TOLD]:
            raw = self.stack.data[table.edges[token] : table.edges[token + 1]]
            text = marked(shown(raw))
            bytes_told = f" ({hex_head(raw, _HEAD)})" if text != hex_head(raw, _HEAD) and raw else ""
            words.append(f"{isolated(text)}{bytes_told} id {int(row.cut.ids[token]):,}".strip())
        more = f" and {len(tokens) - _TOLD} more" if len(tokens) > _TOLD else ""
        return f"{row.name}: {', '.join(words)}{more}"

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        hovered = self._at(event.position())
        self._hover(None if hovered is None or hovered[2] is None else (hovered[0], hovered[2]))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        hovered = self._at(event.position())
        if event.button() != Qt.MouseButton.LeftButton or self.stack is None or hovered is None:
            return
        _, number, place = hovered
        if place is None:
            return
        tokens, row = self.stack.tokens_at(number, place), self.stack.rows[number]
        if row.cut is not None and tokens and not row.simple:
            share = (event.position().x() - self._left - place.lead) / ((place.trail - place.lead) or 1.0)
            chosen = tokens[min(max(int(share * len(tokens)), 0), len(tokens) - 1)]
            self.tokenAsked.emit(row.name, int(row.cut.ids[chosen]))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        steps = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}
        if event.key() in steps:
            self.stepAsked.emit(steps[Qt.Key(event.key())])
        elif event.key() == Qt.Key.Key_D and not event.modifiers():
            self.differenceAsked.emit()
        else:
            super().keyPressEvent(event)

    def _hover(self, hovered: tuple[int, GraphemePlace] | None) -> None:
        if hovered != self._hovered:
            self._hovered = hovered
            self.viewport().update()


def _marks(table: PieceTable) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Where to draw the borders of tokens, in bytes and ascending, and the byte of the text before which each is.

    They differ for tokens that have the same end, as libraries give them within a character: they are spread evenly.
    """
    edges = table.edges[1:-1]
    drawn = edges.astype(np.float64)
    for piece in np.flatnonzero(np.diff(table.first) > 1).tolist():
        first, after = int(table.first[piece]), int(table.first[piece + 1])
        inner = table.edges[first : after + 1]
        if (np.diff(inner) == 0).any():
            drawn[first : after - 1] = np.linspace(inner[0], inner[-1], after - first + 1)[1:-1]
    return drawn, edges
