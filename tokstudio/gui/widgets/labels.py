"""Labels: a name with remarks, paragraphs, words of the glossary, and text that is cut where it does not fit."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import html
import sys
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from PySide6.QtCore import QCoreApplication, QEvent, QRect, QSize, Qt
from PySide6.QtGui import (
    QColor,
    QFont,
    QMouseEvent,
    QPaintDevice,
    QPainter,
    QPaintEvent,
    QPalette,
    QPen,
    QResizeEvent,
    QTextCharFormat,
    QTextLayout,
    QTextOption,
)
from PySide6.QtWidgets import QApplication, QLabel, QMainWindow, QWidget

from tokstudio.core.guide.glossary import explained
from tokstudio.gui.widgets.layouts import Fitting

_Widget = TypeVar("_Widget", bound=QWidget)

# --- A guarded painter for overrides of `paintEvent` ------------------------------------------------------------------


@contextmanager
def guarded_painter(target: QPaintDevice | QPainter) -> Iterator[QPainter]:
    """Yields a painter and passes errors to the exception hook; leaving an override, they would end Qt's event loop.

    If the target is a painter of Qt's, its state is restored afterwards.
    """
    try:
        if isinstance(target, QPainter):
            target.save()
            try:
                yield target
            finally:
                target.restore()
        else:
            with QPainter(target) as painter:
                yield painter
    except Exception as error:
        sys.excepthook(type(error), error, error.__traceback__)


ISOLATE, END = "\u2068", "\u2069"  # characters around text with a direction of its own
_LEFT_TO_RIGHT = "\u200e"
_WORD = "glossary"  # the property with the key of a word
_FAINT = 128  # of 255
_WIDE = 100_000.0  # pixels; no line is this long
_RIGHT_TO_LEFT = ("R", "AL")


class Caption(Fitting, QLabel):
    """A name and some remarks; the name is shortened where the room is small. The tool tip has the whole text."""

    def __init__(self) -> None:
        super().__init__()
        self._name = ""
        self._remarks: tuple[str, ...] = ()
        self.setProperty("role", "muted")
        self.setWordWrap(True)
        self.setMinimumWidth(1)
        self.setTextFormat(Qt.TextFormat.PlainText)

    def say(self, name: str, remarks: Iterable[str] = ()) -> None:
        """Shows a name and the remarks that are not empty."""
        self._name, self._remarks = name, tuple(filter(None, remarks))
        self.setToolTip(plain(name))
        self.fit()

    def fit(self) -> None:
        metrics, room = self.fontMetrics(), self.contentsRect().width()
        behind = metrics.horizontalAdvance("".join(f" · {remark}" for remark in self._remarks))
        # Short remarks follow the name on its line; long ones get their own lines.
        room -= behind if behind < room / 2 else 0
        name = metrics.elidedText(self._name, Qt.TextElideMode.ElideMiddle, max(40, room))
        if is_right_to_left(name) and self._remarks:
            name = f"{ISOLATE}{name}{END}"
        self.setText(in_a_sentence(" · ".join(filter(None, (name, *self._remarks)))))


def in_a_sentence(text: str) -> str:
    """Isolates the direction of an English text that contains a right-to-left name."""
    return _LEFT_TO_RIGHT + text if is_right_to_left(text) else text


def is_right_to_left(text: str) -> bool:
    """Whether a text has letters that are written from right to left."""
    return not text.isascii() and any(unicodedata.bidirectional(character) in _RIGHT_TO_LEFT for character in text)


def plain(text: str) -> str:
    """Escapes a text for a tool tip, so that a file name that looks like HTML is shown as it is."""
    return html.escape(text).replace("\n", "<br>") if "<" in text else text


def named(widget: _Widget, name: str, tip: str = "") -> _Widget:
    """Gives a widget the name that a screen reader says, and perhaps a tool tip; returns it."""
    widget.setAccessibleName(name)
    if tip:
        widget.setToolTip(tip)
    return widget


def plain_label(role: str = "", text: str = "") -> QLabel:
    """A label for plain text on one line."""
    label = QLabel(text, textFormat=Qt.TextFormat.PlainText)
    label.setProperty("role", role)
    return label


def paragraph_label(role: str = "", text: str = "") -> QLabel:
    """A label for plain text of any length, wrapped at its width."""
    label = plain_label(role, text)
    label.setWordWrap(True)
    label.setMinimumWidth(1)
    return label


def laid_out(
    text: str, font: QFont, colours: Iterable[tuple[int, int, QColor]], right_to_left: bool = False
) -> QTextLayout:
    """Lays out a text on one line from the left; each colour has its first character and the one after its last.

    The offsets count UTF-16 units, as Qt does: see `utf16_offsets`.
    """
    layout = QTextLayout(text, font)
    option = QTextOption(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignAbsolute)
    option.setTextDirection(Qt.LayoutDirection.RightToLeft if right_to_left else Qt.LayoutDirection.LeftToRight)
    option.setWrapMode(QTextOption.WrapMode.NoWrap)
    layout.setTextOption(option)
    layout.setFormats([_format(first, end, colour) for first, end, colour in colours])
    layout.beginLayout()
    layout.createLine().setLineWidth(_WIDE)
    layout.endLayout()
    return layout


def isolated(text: str) -> str:
    """Isolates the direction of a text within left-to-right text."""
    return f"{ISOLATE}{text}{END}" if is_right_to_left(text) else text


def utf16_offsets(text: str) -> list[int]:
    """The UTF-16 offset of each character, and of the end."""
    offsets = [0]
    for character in text:
        offsets.append(offsets[-1] + (2 if ord(character) > 0xFFFF else 1))
    return offsets


def _format(first: int, end: int, colour: QColor) -> QTextLayout.FormatRange:
    run = QTextLayout.FormatRange()
    run.start, run.length = first, end - first  # pyright: ignore[reportAttributeAccessIssue]
    text_format = QTextCharFormat()
    text_format.setForeground(colour)
    run.format = text_format  # pyright: ignore[reportAttributeAccessIssue]
    return run


class ElidedLabel(QLabel):
    """Shows as much of its plain text as fits."""

    def __init__(self, role: str = "") -> None:
        super().__init__(textFormat=Qt.TextFormat.PlainText)
        self.setProperty("role", role)

    def setText(self, text: str) -> None:
        """Sets the text; `text()` returns it uncut."""
        super().setText(text)
        self._tell_rest()

    def minimumSizeHint(self) -> QSize:
        """Returns a width that does not depend on the text."""
        return QSize(1, super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Sets a tool tip while the text is cut."""
        super().resizeEvent(event)
        self._tell_rest()

    def paintEvent(self, event: QPaintEvent) -> None:
        with guarded_painter(self) as painter:
            room = self.contentsRect()
            words = painter.fontMetrics().elidedText(self.text(), Qt.TextElideMode.ElideRight, room.width())
            painter.drawText(room, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, words)

    def _tell_rest(self) -> None:
        cut = self.fontMetrics().horizontalAdvance(self.text()) > self.contentsRect().width()
        self.setToolTip(plain(self.text()) if cut else "")


class WordAsked(QEvent):
    """Sent to the main window: a word of the glossary is asked for."""

    kind = QEvent.Type(QEvent.registerEventType())

    def __init__(self, key: str) -> None:
        super().__init__(self.kind)
        self.key = key


def set_word(widget: QWidget, key: str) -> None:
    """Says which word a widget and all in it are about."""
    widget.setProperty(_WORD, key)


def word_of(widget: QWidget | None) -> str:
    """The word that a widget is about, by its key; "" for none."""
    while widget is not None:
        if key := widget.property(_WORD):
            return str(key)
        widget = widget.parentWidget()
    return ""


def ask_word(widget: QWidget, key: str) -> None:
    """Opens a word in the glossary; not while a dialog waits, as the guide could not be reached."""
    window: QWidget | None = widget
    while window is not None and not isinstance(window, QMainWindow):
        window = window.parentWidget()
    if window is not None and QApplication.activeModalWidget() is None:
        QCoreApplication.sendEvent(window, WordAsked(key))


def mark_word(painter: QPainter, words: QRect, widget: QWidget) -> None:
    """Draws a dotted line below a text in a widget."""
    colour = QColor(widget.palette().color(QPalette.ColorRole.PlaceholderText))
    colour.setAlpha(_FAINT)
    painter.setPen(QPen(colour, 1, Qt.PenStyle.DotLine))
    low = min(words.bottom() + 1, widget.height() - 1)
    painter.drawLine(words.left(), low, min(words.right(), widget.width()), low)


class TermLabel(QLabel):
    """A word with a dotted line below it; a click opens it in the glossary. With a buddy, `&` marks the mnemonic."""

    def __init__(self, text: str, key: str) -> None:
        super().__init__(text)
        self.set_word(key)
        self.setCursor(Qt.CursorShape.WhatsThisCursor)

    def set_word(self, key: str) -> None:
        """Sets the word that it is about."""
        set_word(self, key)
        self.setToolTip(plain(explained("", key)))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            ask_word(self, word_of(self))

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        with guarded_painter(self) as painter:
            words = self.fontMetrics().boundingRect(
                self.contentsRect(), int(self.alignment()) | Qt.TextFlag.TextShowMnemonic, self.text()
            )
            mark_word(painter, words, self)
