"""A token as text on one line: marks for white space, names of control characters, bytes if it is not text.

See also `token_view.py`, which draws whole texts.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import unicodedata

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPaintEvent, QPen, QTextCharFormat, QTextLayout
from PySide6.QtWidgets import QSizePolicy, QWidget

from tokstudio.core.text.byte_level import to_characters
from tokstudio.gui.style.theme import Palette, Theme
from tokstudio.gui.token_text.spelling import MARKS, OTHER_SPACE, beginning, describe, hexadecimal, standing
from tokstudio.gui.widgets.labels import guarded_painter

_SHORT_NAMES = (
    *("NUL", "SOH", "STX", "ETX", "EOT", "ENQ", "ACK", "BEL", "BS", "TAB", "LF", "VT", "FF", "CR", "SO", "SI"),
    *("DLE", "DC1", "DC2", "DC3", "DC4", "NAK", "SYN", "ETB", "CAN", "EM", "SUB", "ESC", "FS", "GS", "RS", "US"),
)
_LONG_NAMES = (
    *("null", "start of heading", "start of text", "end of text", "end of transmission", "enquiry", "acknowledge"),
    *("bell", "backspace", "tab", "line feed", "vertical tab", "form feed", "carriage return", "shift out"),
    *("shift in", "data link escape", "device control one", "device control two", "device control three"),
    *("device control four", "negative acknowledge", "synchronous idle", "end of transmission block", "cancel"),
    *("end of medium", "substitute", "escape", "file separator", "group separator", "record separator"),
    "unit separator",
)
_ELLIPSIS = "…"
_FRAME = 6.0  # between the frame of a special token and its text


def segments(raw: bytes) -> list[tuple[str, bool]]:
    r"""Splits a token into parts to show, each with whether it is a sign and not text.

    `b" a\n"` -> `[("·", True), ("a", False), ("↵", True)]`; `b"\x1b"` -> `[("ESC", True)]`; `b"\xe2\x80"` ->
    `[("E2 80", False)]`.
    """
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        return [(hexadecimal(raw), False)]
    signs = [_sign(character) for character in text]
    if not any(signs) and describe(raw)[1] == "bytes":
        return [(hexadecimal(raw), False)]  # nothing in it is visible
    result: list[tuple[str, bool]] = []
    for character, sign in zip(text, signs, strict=True):
        if result and result[-1][1] == bool(sign):
            result[-1] = (result[-1][0] + (sign or character), bool(sign))
        else:
            result.append((sign or character, bool(sign)))
    if result and not result[0][1]:
        result[0] = standing(result[0][0]), False
    return result


def token_label(raw: bytes, longest: int | None = None) -> str:
    r"""Returns a token as one plain line: `b" a\n"` -> `"·a↵"`. Longer ones than `longest` end in "…"."""
    text = "".join(part for part, _ in segments(raw))
    return text if longest is None or len(text) <= longest else beginning(text, longest - 1) + _ELLIPSIS


def in_characters(raw: bytes, longest: int | None = None) -> str:
    """Returns a token in the byte-level alphabet, cut like `token_label`: `b" a"` -> `"Ġa"`."""
    text = to_characters(raw)
    return text if longest is None or len(text) <= longest else text[: longest - 1] + _ELLIPSIS


def meaning(raw: bytes) -> str:
    r"""Describes a token of one byte or one character; "" for others.

    `b" "` -> `"byte 20: space"`, `b"\xe2"` -> `"byte E2: the first of a 3-byte character"`, `b"\xe2\x80"` ->
    `"not UTF-8 alone: it cuts a character"`.
    """
    if len(raw) == 1:
        return f"byte {raw.hex().upper()}: {_meaning_of_byte(raw[0])}"
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        return "not UTF-8 alone: it cuts a character"
    return f"U+{ord(text):04X} {unicodedata.name(text, '').lower()}".strip() if len(text) == 1 else ""


def _meaning_of_byte(byte: int) -> str:
    if byte < 0x20:
        return _LONG_NAMES[byte]
    if byte < 0x80:
        return unicodedata.name(chr(byte), "delete").lower()
    if byte < 0xC0:
        return "inside a character, never its first byte"
    for first, after, size in ((0xC2, 0xE0, 2), (0xE0, 0xF0, 3), (0xF0, 0xF5, 4)):
        if first <= byte < after:
            return f"the first of a {size}-byte character"
    return "never in UTF-8"


def _sign(character: str) -> str:
    if character in MARKS:
        return MARKS[character]
    if ord(character) < 0x20:
        return _SHORT_NAMES[ord(character)]
    if 0x7F <= ord(character) < 0xA0:
        return "DEL" if character == "\x7f" else f"{ord(character):02X}"
    return OTHER_SPACE if character.isspace() else ""


class TokenLabel(QWidget):
    """One token in large type, its signs muted, cut with "…" if it does not fit; its `size` is for body text of 13."""

    def __init__(self, theme: Theme, size: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme, self._size = theme, size
        self._segments: list[tuple[str, bool]] = []
        self._special = False
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self._follow_theme)

    def set_token(self, raw: bytes, special: bool = False, characters: bool = False) -> None:
        """Shows a token, a special one in its frame, with `characters` in the byte-level alphabet."""
        self._segments = [(in_characters(raw), False)] if characters else segments(raw)
        self._special = special
        self.setAccessibleName(self.text())
        self.setToolTip("")
        self.updateGeometry()
        self.update()

    def text(self) -> str:
        """Returns the text, uncut."""
        return "".join(part for part, _ in self._segments)

    def sizeHint(self) -> QSize:
        metrics = QFontMetricsF(self._font())
        width = metrics.horizontalAdvance(self.text()) + 2 * self._edge
        return QSize(round(width) + 2, round(metrics.height()))

    def minimumSizeHint(self) -> QSize:
        return QSize(60, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        with guarded_painter(self) as painter:
            layout = self._layout()
            size = layout.boundingRect()
            if self._special:
                frame = QRectF(0, 0, layout.lineAt(0).naturalTextWidth() + 2 * self._edge, self.height())
                paint_special(painter, frame, self._theme.palette)
            painter.setPen(QColor(self._theme.palette.text))
            layout.draw(painter, QPointF(self._edge, (self.height() - size.height()) / 2))

    @property
    def _edge(self) -> float:
        return _FRAME if self._special else 0.0

    def _layout(self) -> QTextLayout:
        font, text = self._font(), self.text()
        room = self.width() - 2 * self._edge
        shown = QFontMetricsF(font).elidedText(text, Qt.TextElideMode.ElideRight, room)
        layout = QTextLayout(shown, font)
        layout.setFormats(self._signs(_units(shown)))
        layout.beginLayout()
        line = layout.createLine()
        if line.isValid():
            line.setLineWidth(100_000)
        layout.endLayout()
        return layout

    def _signs(self, limit: int) -> list[QTextLayout.FormatRange]:
        muted = QTextCharFormat()
        muted.setForeground(QColor(self._theme.palette.muted))
        ranges: list[QTextLayout.FormatRange] = []
        place = 0
        for part, is_sign in self._segments:
            size = _units(part)
            if is_sign and place < limit:
                one = QTextLayout.FormatRange()
                one.start, one.length, one.format = place, min(size, limit - place), muted
                ranges.append(one)
            place += size
        return ranges

    def _font(self) -> QFont:
        font = self._theme.monospace_font(self._size)
        font.setWeight(QFont.Weight.DemiBold)
        return font

    def _follow_theme(self) -> None:
        self.updateGeometry()
        self.update()


def _units(text: str) -> int:
    """Returns the length in UTF-16 units, as Qt counts."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def paint_special(painter: QPainter, rectangle: QRectF, palette: Palette) -> None:
    """Paints the background of a special token; changes pen and brush of the painter."""
    painter.setPen(QPen(QColor(palette.muted), 1))
    painter.setBrush(QColor(palette.special))
    painter.drawRect(rectangle.adjusted(0.5, 0.5, -0.5, -0.5))
