"""A table of lines with a token in the middle column."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile, zip_longest

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

from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.source import known_line, row_of
from tokstudio.core.exploration.search import Hit, Search
from tokstudio.core.exploration.token_finder import TokenFinder
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.token_text.rows import direction
from tokstudio.gui.token_text.spelling import CIRCLE, CUT, beginning, ending, hexadecimal, mark_of, standing
from tokstudio.gui.token_text.token_label import token_label
from tokstudio.gui.widgets.figures import Index, ReadOnlyTable, TableModel, keeps_copy
from tokstudio.gui.widgets.labels import guarded_painter, laid_out, utf16_offsets
from tokstudio.gui.widgets.layouts import Fitting

# --- Finds the lines of a corpus with a token, a few hundred at a time, in any thread ---------------------------------

_PIECE = 1 << 18
_LONGEST_TOKEN = 400  # characters
_WIDTH = 60  # characters on each side
_ENDS = ("Cc", "Zl", "Zp")  # characters that end a line
_PART = "\ufffd"  # part of a character


@dataclass(frozen=True, slots=True)
class Line:
    """One occurrence of a token, in its line."""

    left: str  # the text before it in its line
    token: str  # the token with marks for white space, or its bytes if it is not text
    right: str  # the text after it in its line
    source: str  # the name of the file or text
    number: int  # the number of the line or row in its file, from 1; the word number for word counts
    count: int  # the count of the word, for word counts; else 1
    unit: str  # what the number counts: "line", "row" of a data set, or "word" of word counts
    right_to_left: bool  # whether the line is read from right to left at the token


class LineSearch:
    """Finds the lines of one token, on request."""

    def __init__(self, corpus: Corpus, tokenizer: Tokenizer, token: int, held_out: float = 0.0) -> None:
        self.done = False  # whether all lines have been found
        self._made = corpus, tokenizer, token, held_out
        self._search: Search | None = None
        self._listed = 0  # hits
        self._source, self._at, self._number = -1, 0, 1

    @property
    def places(self) -> int | None:
        """How many lines there are; None until the whole corpus is searched."""
        return self._search.places if self._search is not None and self._search.done else None

    def more_work(self, most: int) -> Work[list[Line]]:
        """Finds at most a number of further lines.

        Raises:
            ConfigError: The token is not in the vocabulary.
            FormatError: The library that encodes for the tokenizer refuses the text.
        """
        if self._search is None:
            corpus, tokenizer, token, held_out = self._made
            finder = TokenFinder(tokenizer, [token])
            self._search = Search(corpus, finder, held_out=held_out, width=_WIDTH + 1)
        search, last = self._search, self._listed + most
        if len(search) < last:
            yield from search.find_work(last - len(search))
        hits = search.hits(self._listed, last)
        self._listed += len(hits)
        lines: list[Line] = []
        for hit in hits:
            yield from self._count_lines_work(hit)
            lines.append(self._line(hit))
        self.done = search.done and self._listed == len(search)
        return lines

    def _count_lines_work(self, hit: Hit) -> Work[None]:
        """Counts lines up to a hit; hits come in the order of the corpus."""
        source = self._made[0].sources[hit.source]
        if hit.source != self._source:
            self._source = hit.source
            self._at, self._number = known_line(source, 0)
        if source.counts is not None:
            self._number = hit.document + 1
            return
        if source.is_rows:
            return
        at, number = known_line(source, hit.position)
        if at > self._at:
            self._at, self._number = at, number
        while self._at < hit.position:
            end = min(self._at + _PIECE, hit.position)
            self._number += int(np.count_nonzero(source.data[self._at : end] == ord("\n")))
            if end - self._at == _PIECE:
                yield Progress("searching")
            self._at = end

    def _line(self, hit: Hit) -> Line:
        corpus, tokenizer, token, _ = self._made
        source = corpus.sources[hit.source]
        left = hit.left if len(hit.left) <= _WIDTH else CUT + ending(hit.left, _WIDTH)
        right = hit.right if len(hit.right) <= _WIDTH else beginning(hit.right, _WIDTH) + CUT
        if _PART in hit.text and token != tokenizer.alphabet.unknown:
            # A part of a character: its own bytes, and the bytes beside it.
            raw = tokenizer.tokens.prefix(token, _LONGEST_TOKEN)
            end = hit.position + tokenizer.tokens.length(token)
            left = _left_with_bytes(source.data[max(0, hit.position - 3) : hit.position].tobytes(), left)
            right = _right_with_bytes(source.data[end : end + 3].tobytes(), right)
        else:
            # If a library makes several tokens of a character, only one of them has the text.
            raw = hit.text.encode("utf-8", "replace") or tokenizer.tokens.prefix(token, _LONGEST_TOKEN)
        text = token_label(raw, _LONGEST_TOKEN)
        way = _is_right_to_left(hit.left, raw, hit.right)
        name, number, unit = source.name, self._number, "line" if source.counts is None else "word"
        if source.is_rows:
            # A token without text may be where its row ends and the next one begins.
            (name, number), unit = row_of(source, hit.position - (not hit.text and bool(hit.left))), "row"
        return Line(_plain(left), text, _plain(right), name, number, hit.count, unit, way)


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


# --- The lines with a token as rows: the text before it, the token, the text after it, and the line number ------------

LEFT, TOKEN, RIGHT, PLACE = range(4)


class ConcordanceModel(TableModel):
    """Lines in the order of the corpus, added at the end as they are found."""

    titles = ("Before", "Token", "After", "Line")  # for a screen reader
    numbers = (LEFT, PLACE)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._lines: list[Line] = []

    def clear(self) -> None:
        """Removes all lines."""
        self.beginResetModel()
        self._lines = []
        self.endResetModel()

    def append(self, lines: Sequence[Line]) -> None:
        """Adds lines at the end."""
        if lines:
            first = len(self._lines)
            self.beginInsertRows(QModelIndex(), first, first + len(lines) - 1)
            self._lines += lines
            self.endInsertRows()

    def line(self, row: int) -> Line:
        """The line of a row."""
        return self._lines[row]

    def count(self) -> int:
        return len(self._lines)

    def text(self, row: int, column: int) -> str:
        line = self._lines[row]
        return (line.left, line.token, line.right, f"{line.number:,}")[column]

    def tip(self, row: int, column: int) -> str:
        return f"{self._lines[row].source}, {place(self._lines[row])}"

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
_LARGEST_SHARE = 0.4  # of the width, for the token
_LOOKED_AT = 200  # rows that determine the width of the token's column
_MOST_COPIED = 20_000
_MARGIN = 6  # at the outer edges of a line; the texts touch the token


class _Cells(QStyledItemDelegate):
    """Draws lines in reading order: the text before the token on its left, or on its right in right-to-left lines.

    The texts beside the token are cut at their outer ends. The token has the accent
    colour; marks and numbers are muted.
    """

    def __init__(self, model: ConcordanceModel, theme: Theme, parent: QTableView) -> None:
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
        if index.column() != PLACE:
            option.text = ""  # pyright: ignore[reportAttributeAccessIssue] (`paint` draws it)
        option.font = self.figures  # pyright: ignore[reportAttributeAccessIssue]
        for role in (QPalette.ColorRole.Text, QPalette.ColorRole.HighlightedText):
            option.palette.setColor(role, QColor(self._theme.palette.muted))  # pyright: ignore[reportAttributeAccessIssue]

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        super().paint(painter, option, index)
        if index.column() == PLACE:
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


class ConcordanceTable(Fitting, ReadOnlyTable):
    """Shows a `ConcordanceModel`; asks for more lines near the end of the known ones."""

    moreWanted = Signal()  # the last lines are visible
    copied = Signal(int)  # the number of lines on the clipboard

    def __init__(self, model: ConcordanceModel, theme: Theme) -> None:
        super().__init__("Lines with the token")
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
        model.rowsInserted.connect(self.fit)
        theme.follow(self._apply_style)

    def fit(self) -> None:
        """Fits the columns: the token in the middle with its width, and equal room on both sides."""
        rows, room = self._model.rowCount(), self.viewport().width()
        texts = {self._model.line(row).token for row in range(min(rows, _LOOKED_AT))}
        # Long tokens in their cut form, so that the texts touch them too.
        shown = (self._cells.cut(text, _LARGEST_SHARE * room) for text in texts)
        token = math.ceil(max(map(self._cells.width_of, shown), default=0.0)) + 2
        last = max(self._model.line(rows - 1).number if rows else 0, 9_999)
        number = QFontMetricsF(self._cells.figures).horizontalAdvance(f"{last:,}")
        padding = 24  # of the cell, and of the frame that Qt reserves
        place = round(number) + padding if room >= _PLACE_FROM else 0
        self.setColumnHidden(PLACE, not place)
        side = max((room - token - place) // 2, 10)
        for column, width in ((LEFT, side), (TOKEN, token), (RIGHT, room - token - place - side), (PLACE, place)):
            if width:
                self.setColumnWidth(column, width)

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
        self.verticalHeader().setMinimumSectionSize(1)
        self.verticalHeader().setDefaultSectionSize(height)
        self.fit()
        self.viewport().update()
