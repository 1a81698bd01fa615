"""A field for a text of any length; of a text too long to be edited smoothly, it shows the beginning.

The field keeps the whole text, including carriage returns, which Qt's own field drops.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
from bisect import bisect_left

from PySide6.QtCore import QMimeData, QSize, Signal
from PySide6.QtGui import QDragEnterEvent, QDragMoveEvent, QDropEvent, QTextCursor
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from tokstudio.core.text.utf8 import to_utf8

_LONGEST_EDITED = 1_000_000
_LONGEST_LINE = 50_000  # a line is laid out again at every key: some 10 ms
# What can be undone: UTF-16 units removed and inserted, and Qt's own steps of 64 bytes, of which each line needs two.
_MOST_UNDONE, _MOST_STEPS = 1_000_000, 100_000
_SHOWN = 100_000
_SHOWN_OF_LONG_LINE = 10_000
_PARAGRAPH = "\u2029"


class TextInput(QPlainTextEdit):
    """A text to type, paste or drop. Dropped files go to the owner."""

    #: The user has changed the text.
    edited = Signal()
    #: `shortened` has changed.
    shortened_changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._text = ""
        self._shortened = False
        self._setting = False
        self.setTabChangesFocus(True)
        self._edited_at = 0
        self._undone = 0
        self.document().contentsChange.connect(self._note_edit)
        self.textChanged.connect(self._take)

    @property
    def shortened(self) -> bool:
        """Whether only the beginning is shown, which cannot be edited."""
        return self._shortened

    @property
    def shown(self) -> int:
        """The number of visible characters."""
        return len(_beginning(self._text)) if self._shortened else len(self._text)

    def text(self) -> str:
        """Returns the whole text, exactly as it was set, pasted and typed."""
        return self._text

    def bytes_at_cursor(self) -> tuple[int, int]:
        """Returns the bytes of the character before the cursor, or of the first one: `text[a:b]` in UTF-8."""
        behind = max(1, min(self._place(self.textCursor().position()), len(self._text)))
        end = len(to_utf8(self._text[:behind]))
        return end - len(to_utf8(self._text[behind - 1 : behind])), end

    def selected_bytes(self) -> tuple[int, int] | None:
        """Returns the bytes of the selection, as `bytes_at_cursor` does; None without a selection."""
        cursor = self.textCursor()
        if not cursor.hasSelection():
            return None
        places = map(self._place, (cursor.selectionStart(), cursor.selectionEnd()))
        start, stop = (len(to_utf8(self._text[:place])) for place in places)
        return start, stop

    def set_text(self, text: str) -> None:
        """Replaces the text; a short one as one step that can be undone.

        Earlier steps are forgotten once they hold too much, since Qt's field would keep all of them for ever.
        """
        if text == self._text:
            return
        self._text = text
        shortened = _too_long(text)
        self._setting = True
        try:
            if shortened or self._shortened:
                self.setPlainText(_beginning(text) if shortened else text)
                self._undone = 0
            else:
                self._replace_all(text)
        finally:
            self._setting = False
        if shortened != self._shortened:
            self._shortened = shortened
            self.setReadOnly(shortened)
            self.shortened_changed.emit()

    def take(self, text: str) -> None:
        """Replaces the text as if the user had entered it."""
        self.set_text(text)
        self.edited.emit()

    def sizeHint(self) -> QSize:
        """Makes room for about four lines."""
        return QSize(240, self.fontMetrics().lineSpacing() * 4 + 20)

    def minimumSizeHint(self) -> QSize:
        """Makes room for one line."""
        return QSize(80, self.fontMetrics().lineSpacing() + 20)

    def insertFromMimeData(self, source: QMimeData) -> None:
        """Inserts plain text; a text that is too long is kept outside the field."""
        pasted, cursor = source.text(), self.textCursor()
        short = len(pasted) < _LONGEST_LINE and len(self._text) + len(pasted) <= _LONGEST_EDITED
        if short and _as_shown(pasted) == pasted:
            cursor.insertText(pasted)
            self.ensureCursorVisible()
            return
        begin, end = map(self._place, (cursor.selectionStart(), cursor.selectionEnd()))
        behind = cursor.selectionStart() + _units(_as_shown(pasted))
        self.set_text(self._text[:begin] + pasted + self._text[end:])
        if not self._shortened:
            cursor.setPosition(min(behind, self.document().characterCount() - 1))
            self.setTextCursor(cursor)
            self.ensureCursorVisible()
        self.edited.emit()

    def canInsertFromMimeData(self, source: QMimeData) -> bool:
        """Accepts only text: files go to the owner."""
        return source.hasText() and not source.hasUrls()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Passes files to the owner."""
        if event.mimeData().hasUrls():
            event.ignore()
        else:
            super().dragEnterEvent(event)

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        """Passes files to the owner."""
        if event.mimeData().hasUrls():
            event.ignore()
        else:
            super().dragMoveEvent(event)

    def dropEvent(self, event: QDropEvent) -> None:
        """Passes files to the owner."""
        if event.mimeData().hasUrls():
            event.ignore()
        else:
            super().dropEvent(event)

    def _replace_all(self, text: str) -> None:
        if self._undone > _MOST_UNDONE or self.document().availableUndoSteps() > _MOST_STEPS:
            # Only without undo does Qt release the removed text.
            self.setUndoRedoEnabled(False)
            self.setUndoRedoEnabled(True)
            self._undone = 0
        cursor = QTextCursor(self.document())
        cursor.select(QTextCursor.SelectionType.Document)
        cursor.insertText(text)
        self.moveCursor(QTextCursor.MoveOperation.Start)

    def _note_edit(self, position: int, removed: int, added: int) -> None:
        self._edited_at = position
        self._undone += removed + added

    def _take(self) -> None:
        if not self._setting:
            self._text = _edited(self._text, self._raw(), self._edited_at)
            self.edited.emit()

    def _place(self, units: int) -> int:
        """The character of the text at a position of the document, which counts UTF-16 units."""
        return _place(self._text, _characters(self._raw(), units))

    def _raw(self) -> str:
        # `toPlainText` would turn every non-breaking space into a space.
        return self.document().toRawText().replace(_PARAGRAPH, "\n")


def _as_shown(text: str) -> str:
    """The text as in Qt's field: every line end is a line feed."""
    return text.replace("\r\n", "\n").replace("\r", "\n").replace(_PARAGRAPH, "\n")


def _place(text: str, shown: int) -> int:
    """The character of `text` at a character of `_as_shown(text)`."""
    places = [found.start() - before for before, found in enumerate(re.finditer("\r\n", text))]
    return shown + bisect_left(places, shown)


def _edited(text: str, shown: str, at: int) -> str:
    """The text after an edit from `at` (UTF-16 units) that made it look like `shown`; other line ends stay."""
    before = _as_shown(text)
    if before == text:
        return shown
    # Among equal characters, not after the start of the edit.
    head = min(_same(before, shown), _characters(shown, at))
    tail = min(_same(before[::-1], shown[::-1]), len(before) - head, len(shown) - head)
    made = text[: _place(text, head)] + shown[head : len(shown) - tail] + text[_place(text, len(before) - tail) :]
    # A carriage return directly before a new line feed would form one line end with it, but is shown as two.
    return made if _as_shown(made) == shown else shown


def _same(one: str, other: str) -> int:
    """The number of equal characters at the beginning of both."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _too_long(text: str) -> bool:
    if len(text) > _LONGEST_EDITED:
        return True
    return len(text) > _LONGEST_LINE and max(map(len, text.split("\n"))) > _LONGEST_LINE


def _beginning(text: str) -> str:
    shown = text[:_SHOWN]
    return shown[:_SHOWN_OF_LONG_LINE] if max(map(len, shown.split("\n"))) > _SHOWN_OF_LONG_LINE else shown


def _units(text: str) -> int:
    """The number of UTF-16 units of a text."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _characters(text: str, units: int) -> int:
    """Returns how many characters the first `units` UTF-16 units of `text` are."""
    return len(text.encode("utf-16-le", "surrogatepass")[: 2 * units].decode("utf-16-le", "surrogatepass"))
