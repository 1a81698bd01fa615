"""A line of text laid out once, for the rows of all tokenizers: the place of each character in wrapped lines."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple, cast

import numpy as np
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QFont, QFontMetricsF, QPainter, QTextLayout, QTextLine, QTextOption

from tokstudio.gui.token_text.bidi import direction
from tokstudio.gui.token_text.pieces import grapheme_edges

_GAP = 1.0  # pixels
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
    """A text in wrapped lines; letters are joined and ordered as in any text, whatever its tokens are.

    Args:
        text: The text, without line feeds.
        font: Its font.
        width: The width of a line.

    Attributes:
        heights: The height of each wrapped line.
    """

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
        self.heights = [line.height() for line in lines]

    def __len__(self) -> int:
        """The number of wrapped lines."""
        return len(self._lines)

    def places(self, number: int) -> Sequence[GraphemePlace]:
        """The graphemes of a wrapped line, in the order of the text."""
        if number not in self._places:
            line, units, edges = self._lines[number], self._units, self._bytes_at
            made: list[GraphemePlace] = []
            for at in range(self._firsts[number], self._firsts[number + 1]):
                lead, trail = _x(line, units[at]), _x(line, units[at], QTextLine.Edge.Trailing)
                following = _x(line, units[at + 1])
                # The next grapheme begins inside a ligature, or where this one ends.
                if min(lead, trail) < following < max(lead, trail):
                    trail = following
                made.append(GraphemePlace(edges[at], edges[at + 1], lead, trail))
            self._fill_gaps(line, made, self._shown[self._firsts[number] : self._firsts[number + 1]])
            self._places[number] = made
        return self._places[number]

    def _fill_gaps(self, line: QTextLine, places: list[GraphemePlace], shown: Sequence[str]) -> None:
        """Places the first character of a run of the other direction, whose edges Qt does not tell."""
        lost = [at for at, place in enumerate(places) if place.right - place.left < _GAP]
        lost = [at for at in lost if self._metrics.horizontalAdvance(shown[at]) > _GAP]
        covered = [(place.left, place.right) for place in places if place.right - place.left >= _GAP]
        whole = line.naturalTextRect()
        covered = sorted([*covered, (whole.left(), whole.left()), (whole.right(), whole.right())])
        gaps = [(one[1], other[0]) for one, other in pairwise(covered) if other[0] - one[1] > _GAP]
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
