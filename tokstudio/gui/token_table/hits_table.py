"""A table of the hits of a search: each in its line, with the hit in the middle column."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Iterator
from itertools import takewhile, zip_longest
from time import monotonic
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QEvent, QModelIndex, QObject, QPointF, QRect, QRectF, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetricsF,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QPainter,
    QPalette,
    QTextLayout,
)
from PySide6.QtWidgets import QAbstractItemView, QStyledItemDelegate, QStyleOptionViewItem, QTableView

from tokstudio.core.base.progress import Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.source import row_of
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.token_text.rows import direction
from tokstudio.gui.token_text.spelling import CIRCLE, CUT, beginning, ending, hexadecimal, mark_of, standing
from tokstudio.gui.token_text.token_label import token_label
from tokstudio.gui.widgets.figures import Index, ReadOnlyTable, TableModel, keeps_copy
from tokstudio.gui.widgets.labels import guarded_painter, laid_out, utf16_offsets
from tokstudio.gui.widgets.layouts import Fitting

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tokstudio.core.exploration.search import Hit, Search

# --- Hits of a search as lines, in any thread -------------------------------------------------------------------------

_LONGEST_TOKEN = 400  # characters
_WIDTH = 60  # characters on each side
WIDTH = _WIDTH + 1  # that a `Search` gives, so that it is known what is cut
_ENDS = ("Cc", "Zl", "Zp")  # characters that end a line
_PART = "\ufffd"  # part of a character
_REST = 0.2  # seconds between two looks at what is found


@dataclass(frozen=True)
class Line:
    """One hit, in its line."""

    left: str  # the text before it in its line
    token: str  # the hit with marks for white space, or its bytes if it is not text
    right: str  # the text after it in its line
    source: str  # the name of the file or text
    number: int  # the number of the line or row in its file, from 1; the word number for word counts; 0 if not counted
    count: int  # the count of the word, for word counts; else 1
    unit: str  # what the number counts: "line", "row" of a data set, or "word" of word counts
    right_to_left: bool  # whether the line is read from right to left at the hit


@dataclass(frozen=True, eq=False)
class FoundHits:
    """The hits of a search as it stands, in an order."""

    corpus: Corpus
    search: Search  # see `Search.so_far`
    numbers: NDArray[np.int64] | None = None  # [hits], the line of each in its file; None until they are counted
    order: NDArray[np.int64] | None = None  # the hit in each row; None for the order of the corpus
    token: tuple[Tokenizer, int] | None = None  # what hits are, where that is one token

    def __len__(self) -> int:
        return len(self.search)

    def __iter__(self) -> Iterator[Line]:
        return map(self.line, range(len(self)))

    def hit_at(self, row: int) -> int:
        """The hit in a row."""
        return row if self.order is None else int(self.order[row])

    def row_of(self, hit: int) -> int:
        """The row of a hit."""
        return hit if self.order is None else int(np.flatnonzero(self.order == hit)[0])

    def line(self, row: int) -> Line:
        """The line of a row."""
        number = self.hit_at(row)
        hit = self.search.hit(number)
        source, token = self.corpus.sources[hit.source], self.token
        left = hit.left if len(hit.left) <= _WIDTH else CUT + ending(hit.left, _WIDTH)
        right = hit.right if len(hit.right) <= _WIDTH else beginning(hit.right, _WIDTH) + CUT
        raw = hit.text.encode("utf-8", "replace")
        if token is not None and _PART in hit.text and token[1] != token[0].alphabet.unknown:
            # A part of a character: its own bytes, and the bytes beside it.
            raw = token[0].tokens.prefix(token[1], _LONGEST_TOKEN)
            end = hit.position + token[0].tokens.length(token[1])
            left = _left_with_bytes(source.data[max(0, hit.position - 3) : hit.position].tobytes(), left)
            right = _right_with_bytes(source.data[end : end + 3].tobytes(), right)
        elif token is not None and not raw:
            # If a library makes several tokens of a character, only one of them has the text.
            raw = token[0].tokens.prefix(token[1], _LONGEST_TOKEN)
        text = token_label(raw, _LONGEST_TOKEN)
        way = _is_right_to_left(hit.left, raw, hit.right)
        unit = "row" if source.is_rows else "line" if source.counts is None else "word"
        line = int(self.numbers[number]) if self.numbers is not None else 0
        return Line(_plain(left), text, _plain(right), self._name(hit), line, hit.count, unit, way)

    def _name(self, hit: Hit) -> str:
        """The name of the source, or of the file of a data set."""
        return row_of(self.corpus.sources[hit.source], hit.document)[0]


class HitSearch:
    """A search that goes on from job to job; while one runs, `found` is what there is so far."""

    def __init__(self, corpus: Corpus, begin: Callable[[], Search], token: tuple[Tokenizer, int] | None = None) -> None:
        self.found: FoundHits | None = None
        self._corpus, self._begin, self._token = corpus, begin, token
        self._search: Search | None = None

    def more_work(self, most: int | None = None) -> Work[FoundHits]:
        """Goes on until about `most` more hits are found, or all, and counts the lines up to them.

        Raises:
            ConfigError, FormatError: As the search does.
        """
        if self._search is None:
            self._search = self._begin()
        search, look_at, before = self._search, 0.0, -1
        for progress in search.find_work(most):
            if len(search) > before and monotonic() >= look_at:
                before = len(search)
                self.found = FoundHits(self._corpus, search.so_far(), token=self._token)
                look_at = monotonic() + _REST
            yield progress
        found = search.so_far()
        numbers = yield from found.line_numbers_work()
        self.found = FoundHits(self._corpus, found, numbers, token=self._token)
        return self.found


def _right_with_bytes(behind: bytes, right: str) -> str:
    """Replaces the U+FFFD of a character that the token cuts at its end by the remaining bytes."""
    rest = bytes(takewhile(_continues, behind))
    return f" {hexadecimal(rest)} {right[1:]}" if rest and right.startswith(_PART) else right


def _left_with_bytes(before: bytes, left: str) -> str:
    """Replaces the U+FFFD of a character that the token cuts at its start by the preceding bytes."""
    inner = len(bytes(takewhile(_continues, reversed(before))))
    rest = before[max(0, len(before) - inner - 1) :]
    if left.endswith(_PART) and rest and rest[0] >= 0xC0:
        return f"{left.rstrip(_PART)} {hexadecimal(rest)} "
    return left


def _continues(byte: int) -> bool:
    """Whether a byte of UTF-8 is not the first of its character."""
    return byte & 0xC0 == 0x80


def _is_right_to_left(left: str, token: bytes, right: str) -> bool:
    """The direction of a line at a token: that of the token, or of the nearest text with letters."""
    if way := direction(token):
        return way > 0
    for before, behind in zip_longest(reversed(left), right, fillvalue=""):
        if way := direction(before.encode()) or direction(behind.encode()):
            return way > 0
    return False


def _plain(text: str) -> str:
    """A text on one line, with a sign for each control character and line end."""
    return "".join(mark_of(c) or _PART if unicodedata.category(c) in _ENDS else c for c in text)


# --- Hits as rows: the text before, the hit, the text after it, its source and the number of its line -----------------

LEFT, TOKEN, RIGHT, SOURCE, PLACE = range(5)
_MOST_CACHED = 1 << 13  # lines


class HitRows(TableModel):
    """The lines of hits, each made when it is shown."""

    titles = ("Before", "Hit", "After", "Source", "Line")  # for a screen reader
    numbers = (LEFT, PLACE)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.found: FoundHits | None = None
        self._count = 0
        self._lines: dict[int, Line] = {}

    def clear(self) -> None:
        """Removes all lines."""
        if self.found is not None:
            self.show(None)

    def show(self, found: FoundHits | None, *, grown: bool = False) -> None:
        """Shows hits; with `grown`, those that are shown already stay in their rows."""
        count = len(found) if found is not None else 0
        if not grown or count < self._count:
            with self.reset():
                self.found, self._count, self._lines = found, count, {}
            return
        before, are_counted = (
            self._count,
            self.found is None or found is None or found.numbers is not self.found.numbers,
        )
        if are_counted:
            self._lines = {}
        if count > before:
            self.beginInsertRows(QModelIndex(), before, count - 1)
            self.found, self._count = found, count
            self.endInsertRows()
        self.found = found
        if are_counted and before:
            self.tell(0, before - 1)

    def line(self, row: int) -> Line:
        """The line of a row."""
        assert self.found is not None
        line = self._lines.get(row)
        if line is None:
            if len(self._lines) >= _MOST_CACHED:
                self._lines.clear()
            line = self._lines[row] = self.found.line(row)
        return line

    def count(self) -> int:
        return self._count

    def text(self, row: int, column: int) -> str:
        line = self.line(row)
        return (line.left, line.token, line.right, line.source, f"{line.number:,}" if line.number else "…")[column]

    def tip(self, row: int, column: int) -> str:
        line = self.line(row)
        return f"{line.source}, {place(line)}" if line.number else line.source

    def alignment(self, column: int) -> int:
        return int(Qt.AlignmentFlag.AlignCenter) if column == TOKEN else super().alignment(column)


def place(line: Line) -> str:
    """Describes a line in its source: `"line 1,204"`, `"row 7"`, `"word 7, which occurs 31 times"`."""
    if line.unit != "word":
        return f"{line.unit} {line.number:,}"
    often = "once" if line.count == 1 else f"{line.count:,} times"
    return f"word {line.number:,}, which occurs {often}"


_FONT = 12
_NEAR = 40  # rows before the end at which more are requested
_PLACE_FROM = 340  # pixels of width from which line numbers are shown
_SOURCE, _SOURCE_FROM = 110, 620  # pixels of a source's name, and of width from which it is shown
_LARGEST_SHARE = 0.4  # of the width, for the token
_LOOKED_AT = 60  # rows that determine the width of the token's column
_MOST_COPIED = 1 << 12
_MARGIN = 6  # at the outer edges of a line; the texts touch the token


class _Cells(QStyledItemDelegate):
    """Draws lines in reading order: the text before the token on its left, or on its right in right-to-left lines.

    The texts beside the token are cut at their outer ends. The token has the accent
    colour; marks and numbers are muted.
    """

    def __init__(self, model: HitRows, theme: Theme, parent: QTableView) -> None:
        super().__init__(parent)
        self._model = model
        self._theme = theme
        self.apply_style()

    def apply_style(self) -> None:
        self.letters = self._theme.monospace_font(_FONT)
        self.bold = QFont(self.letters)
        self.bold.setWeight(QFont.Weight.DemiBold)
        self.figures = self._theme.tabular_font(_FONT)
        self.metrics, self.bold_metrics = QFontMetricsF(self.letters), QFontMetricsF(self.bold)

    def initStyleOption(self, option: QStyleOptionViewItem, index: Index) -> None:
        super().initStyleOption(option, index)
        if index.column() < SOURCE:
            option.text = ""  # pyright: ignore[reportAttributeAccessIssue] (`paint` draws it)
        option.font = self.figures  # pyright: ignore[reportAttributeAccessIssue]
        for role in (QPalette.ColorRole.Text, QPalette.ColorRole.HighlightedText):
            option.palette.setColor(role, QColor(self._theme.palette.muted))  # pyright: ignore[reportAttributeAccessIssue]

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        super().paint(painter, option, index)
        if index.column() >= SOURCE:
            return
        rect: QRect = option.rect  # pyright: ignore[reportAttributeAccessIssue]
        with guarded_painter(painter):
            painter.setClipRect(rect)
            self._paint(painter, QRectF(rect), index.row(), index.column())

    def _paint(self, painter: QPainter, area: QRectF, row: int, column: int) -> None:
        layout = self.laid_out(row, column, area.width())
        line = layout.lineAt(0)
        left = area.left() if column == RIGHT else area.right() - line.naturalTextWidth()
        if column == TOKEN:
            left = area.left() + (area.width() - self.width_of(layout.text())) / 2
        metrics = self.metrics
        base = area.top() + (area.height() - metrics.height()) / 2 + metrics.ascent()
        layout.draw(painter, QPointF(left - line.naturalTextRect().left(), base - line.ascent()))

    def width_of(self, token: str) -> float:
        """The width of a token in pixels."""
        metrics = self.bold_metrics
        # In many fonts, a combining mark extends beyond the measured width.
        beside = metrics.horizontalAdvance(CIRCLE) if token.startswith(CIRCLE) else 0.0
        return metrics.horizontalAdvance(token) + beside

    def cut(self, token: str, room: float) -> str:
        """The part of a token that fits into a width in pixels."""
        return self.bold_metrics.elidedText(token, Qt.TextElideMode.ElideMiddle, room)

    def laid_out(self, row: int, column: int, room: float) -> QTextLayout:
        """Lays out the text of a cell for a width in pixels: the text before or after the token, or the token."""
        line, palette = self._model.line(row), self._theme.palette
        if column == TOKEN:
            text = self.cut(line.token, room)
            accent = QColor(palette.accent)
            return laid_out(text, self.bold, [(0, utf16_offsets(text)[-1], accent)], _token_direction(line))
        is_before = (column == LEFT) != line.right_to_left
        # White space is marked only next to the token, as more marks would be distracting.
        whole, edge = (_end_marked if is_before else _beginning_marked)(line)
        cut = Qt.TextElideMode.ElideLeft if is_before else Qt.TextElideMode.ElideRight
        text = self.metrics.elidedText(whole, cut, room - _MARGIN)
        units, edge = utf16_offsets(text), min(edge, len(text))
        first, end = (units[-1 - edge], units[-1]) if is_before else (0, units[edge])
        colours = [(0, units[-1], QColor(palette.text)), (first, end, QColor(palette.muted))]
        return laid_out(text, self.letters, colours, line.right_to_left)


def _end_marked(line: Line) -> tuple[str, int]:
    """The text before a token with marks for the white space at its end, and the length of that."""
    letters = line.left.rstrip()
    return letters + "".join(map(mark_of, line.left[len(letters) :])), len(line.left) - len(letters)


def _beginning_marked(line: Line) -> tuple[str, int]:
    """The text after a token with marks for the white space at its beginning, and the length of that."""
    letters = standing(line.right.strip())
    edge = len(line.right) - len(line.right.lstrip())
    return "".join(map(mark_of, line.right[:edge])) + letters, edge


def _token_direction(line: Line) -> bool:
    """Whether the token is drawn from right to left, which bytes in hexadecimal are not."""
    return line.right_to_left and direction(line.token.encode()) >= 0


class HitsTable(Fitting, ReadOnlyTable):
    """Shows `HitRows`; asks for more lines near the end of the known ones. With `sources`, their names are shown."""

    moreWanted = Signal()  # the last lines are visible
    copied = Signal(int)  # the number of lines on the clipboard

    def __init__(self, model: HitRows, theme: Theme, name: str, *, sources: bool = False) -> None:
        super().__init__(name)
        self._sources = sources
        self._theme = theme
        self._model = model
        self._cells = _Cells(model, theme, self)
        self.setItemDelegate(self._cells)
        self.setModel(model)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.horizontalHeader().hide()
        self.horizontalHeader().setMinimumSectionSize(8)
        self.verticalScrollBar().valueChanged.connect(self._look_ahead)
        self.verticalScrollBar().rangeChanged.connect(self._look_ahead)
        model.modelReset.connect(self.fit)
        model.rowsInserted.connect(self._fit_more)
        theme.follow(self._apply_style)

    def fit(self) -> None:
        """Fits the columns: the token in the middle with its width, and equal room on both sides."""
        rows, room = self._model.rowCount(), self.viewport().width()
        texts = {self._model.line(row).token for row in range(min(rows, _LOOKED_AT))}
        # Long tokens in their cut form, so that the texts touch them too.
        shown = (self._cells.cut(text, _LARGEST_SHARE * room) for text in texts)
        token = math.ceil(max(map(self._cells.width_of, shown), default=0.0)) + 2
        found = self._model.found
        last = 9_999 if found is None or found.numbers is None else max(int(found.numbers.max(initial=0)), 9_999)
        number = QFontMetricsF(self._cells.figures).horizontalAdvance(f"{last:,}")
        padding = 24  # of the cell, and of the frame that Qt reserves
        place = round(number) + padding if room >= _PLACE_FROM else 0
        named = self._sources and found is not None and len(found.search.sources) > 1
        source = self._theme.scaled(_SOURCE) if named and room >= self._theme.scaled(_SOURCE_FROM) else 0
        self.setColumnHidden(PLACE, not place)
        self.setColumnHidden(SOURCE, not source)
        beside = place + source
        side = max((room - token - beside) // 2, 10)
        widths = (LEFT, side), (TOKEN, token), (RIGHT, room - token - beside - side), (SOURCE, source), (PLACE, place)
        for column, width in widths:
            if width:
                self.setColumnWidth(column, width)

    def _fit_more(self, _: QModelIndex, first: int) -> None:
        found = self._model.found
        if first < _LOOKED_AT or (found is not None and found.numbers is not None):
            self.fit()

    def copy(self) -> None:
        """Copies the selected lines: before, token, after, source and line, separated by tabs."""
        ranges = list(self.selectionModel().selection())  # pyright: ignore[reportArgumentType] (it can be gone through)
        rows = sorted({row for part in ranges for row in range(part.top(), part.bottom() + 1)})[:_MOST_COPIED]
        lines = map(self._model.line, rows)
        texts = ("\t".join((line.left, line.token, line.right, line.source, str(line.number))) for line in lines)
        if rows:
            QGuiApplication.clipboard().setText("\n".join(texts))
            self.copied.emit(len(rows))

    def event(self, event: QEvent) -> bool:
        return keeps_copy(event) or super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, rows = event.key(), self._model.rowCount()
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy()
        elif key in (Qt.Key.Key_Home, Qt.Key.Key_End) and rows:
            self.setCurrentIndex(self._model.index(0 if key == Qt.Key.Key_Home else rows - 1, TOKEN))
        else:
            super().keyPressEvent(event)

    def _look_ahead(self) -> None:
        bar = self.verticalScrollBar()
        if bar.maximum() - bar.value() <= _NEAR * self.verticalHeader().defaultSectionSize():
            self.moreWanted.emit()

    def _apply_style(self) -> None:
        self._cells.apply_style()
        height = round(self._cells.metrics.height()) + self._theme.scaled(6)
        self.set_row_height(height)
        self.fit()
        self.viewport().update()
