"""The base of the pages Encode, Decode and Chat: what is written, the tokens below it, and their updates.

A short text is processed at once, at every move of the playhead, if the tokenizer has encoded before; a long one in
the background, a few times a second.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping

from PySide6.QtCore import QMimeData, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QAction, QGuiApplication, QResizeEvent, QShowEvent, QTextCursor
from PySide6.QtWidgets import QSplitter, QWidget

from tokstudio.core.base.errors import TokStudioError
from tokstudio.core.base.progress import Work, finish
from tokstudio.core.text.utf8 import to_utf8
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.core.warm_up import prepare_work
from tokstudio.gui.panes.text.encoding_job import LONGEST, TokensOfText
from tokstudio.gui.session.common.jobs import LatestJob
from tokstudio.gui.session.session import Session
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.token_text.blocks import EncodedText
from tokstudio.gui.token_text.token_view import TokenView
from tokstudio.gui.widgets.controls import WholeLines
from tokstudio.gui.widgets.fields import set_role
from tokstudio.gui.widgets.figures import FigureName, Figures
from tokstudio.gui.widgets.labels import named, paragraph_label
from tokstudio.gui.widgets.layouts import column, row
from tokstudio.gui.widgets.menus import link_button

# --- A field for a text of any length; of a text too long to be edited smoothly, it shows the beginning ---------------
# The field keeps the whole text, including carriage returns, which Qt's own field drops.

_LONGEST_EDITED = 1_000_000
_LONGEST_LINE = 50_000  # a line is laid out again at every key: some 10 ms
# What can be undone: UTF-16 units removed and inserted, and Qt's own steps of 64 bytes, of which each line needs two.
_MOST_UNDONE, _MOST_STEPS = 1_000_000, 100_000
_SHOWN = 100_000
_SHOWN_OF_LONG_LINE = 10_000
_PARAGRAPH = "\u2029"


class TextInput(WholeLines):
    """A text to type, paste or drop. Dropped files go to the owner."""

    #: The user has changed the text.
    edited = Signal()
    #: `shortened` has changed.
    shortened_changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._text = ""
        self.shortened = False  # whether only the beginning is shown, which cannot be edited
        self._setting = False
        self.setTabChangesFocus(True)
        self._edited_at = 0
        self._undone = 0
        self.document().contentsChange.connect(self._note_edit)
        self.textChanged.connect(self._take)

    @property
    def shown(self) -> int:
        """The number of visible characters."""
        return len(_beginning(self._text)) if self.shortened else len(self._text)

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
            if shortened or self.shortened:
                self.setPlainText(_beginning(text) if shortened else text)
                self._undone = 0
            else:
                self._replace_all(text)
        finally:
            self._setting = False
        if shortened != self.shortened:
            self.shortened = shortened
            self.setReadOnly(shortened)
            self.shortened_changed.emit()

    def take(self, text: str) -> None:
        """Replaces the text as if the user had entered it."""
        self.set_text(text)
        self.edited.emit()

    def sizeHint(self) -> QSize:
        return QSize(240, self.fontMetrics().lineSpacing() * 4 + 20)

    def minimumSizeHint(self) -> QSize:
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
        if not self.shortened:
            cursor.setPosition(min(behind, self.document().characterCount() - 1))
            self.setTextCursor(cursor)
            self.ensureCursorVisible()
        self.edited.emit()

    def canInsertFromMimeData(self, source: QMimeData) -> bool:
        """Accepts only text: files go to the owner."""
        return source.hasText() and not source.hasUrls()

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
    places = [match.start() - before for before, match in enumerate(re.finditer("\r\n", text))]
    return shown + bisect_left(places, shown)


def _edited(text: str, shown: str, at: int) -> str:
    """The text after an edit from `at` (UTF-16 units) that made it look like `shown`; other line ends stay."""
    before = _as_shown(text)
    if before == text:
        return shown
    # Among equal characters, not after the start of the edit.
    head = min(_same(before, shown), _characters(shown, at))
    tail = min(_same(before[::-1], shown[::-1]), len(before) - head, len(shown) - head)
    edited = text[: _place(text, head)] + shown[head : len(shown) - tail] + text[_place(text, len(before) - tail) :]
    # A carriage return directly before a new line feed would form one line end with it, but is shown as two.
    return edited if _as_shown(edited) == shown else shown


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


_DIRECT = 20_000  # characters that are processed at once
_PATIENCE = 150  # milliseconds of background work before a message is shown
_HOVER = 150  # milliseconds that the pointer rests on a piece before its token is shown
_NO_TOKENIZER = "Train or open a tokenizer to see this text in tokens."
_NOT_READY = "The tokens appear here once the corpus is read."
_SHARE = 0.2  # of the height, for the field: some lines of it
_MOST_LINES = 4
_SMALLEST = (220, 190)  # pixels, for any content
_HIGHEST = 262  # pixels; a low screen has no more for large text

#: The inputs of a result: the tokenizer, by run and playhead, the text, and the options.
_Key = tuple[int, int, str, object, bool]


def smallest_page(theme: Theme) -> QSize:
    """The least size of a page of the Text pane."""
    width, height = map(theme.scaled, _SMALLEST)
    return QSize(width, min(height, _HIGHEST))


class TokensPage(QWidget):
    """One page: what is written `above`, `view` and `figures` below. Subclasses process it and show the result."""

    in_background = False  # whether even a short text is processed in a job, because a process is asked

    #: The state of the text, "" (no message), "busy", "good" or "bad", with its message.
    state_changed = Signal(str, str)

    def __init__(
        self,
        session: Session,
        theme: Theme,
        actions: Mapping[str, QAction],
        figures: tuple[FigureName, ...],
        above: QWidget,
    ) -> None:
        super().__init__()
        self.session = session
        self.state = ("", "")
        self.encoded: TokensOfText | None = None  # what is shown
        self.byte_level = False  # whether results are drawn in the byte-level alphabet
        self._asked: _Key | None = None
        self._shown: _Key | None = None
        self._stale = True
        self._prepared = False
        self.latest = LatestJob(session.jobs, self, self._finished, self._failed, asked=False)
        self._pause = QTimer(self, singleShot=True, interval=session.jobs.pauses.updates)
        self._pause.timeout.connect(self.refresh)
        self._patience = QTimer(self, singleShot=True, interval=_PATIENCE)
        self._patience.timeout.connect(self._say_busy)
        self._hover = QTimer(self, singleShot=True, interval=_HOVER)
        self._hover.timeout.connect(self._look_at_hovered)
        self._hovered = -1
        self._theme = theme
        self._shared_by_hand = False
        self._build(theme, figures, above)
        self.view.set_show_white_space(actions["show_white_space"].isChecked())
        actions["show_white_space"].toggled.connect(self.view.set_show_white_space)
        self._characters = actions["byte_level_characters"]
        self._characters.toggled.connect(self.refresh)
        session.runs.changed.connect(self._forget_other_run)
        session.view.playhead_changed.connect(self.refresh)
        session.view.target_changed.connect(self._follow_target)
        session.view.occurrence_asked.connect(self._go_to_occurrence)
        self.view.occurrencesChanged.connect(self._tell_occurrences)

    # For subclasses

    def make(self, tokenizer: Tokenizer, text: str) -> Work[tuple[object, EncodedText]]:
        """Computes the result, with its tokens as they are drawn; in any thread."""
        raise NotImplementedError

    def display(self, result: object, table: EncodedText) -> None:
        """Shows the result, and sets the state of the text."""
        raise NotImplementedError

    def display_nothing(self, text: str) -> None:
        """Shows an empty page: there is no text, or no tokenizer for it."""
        raise NotImplementedError

    def text(self) -> str:
        """Returns the text to process."""
        raise NotImplementedError

    def variant(self) -> object:
        """Returns the other inputs of a result."""
        return None

    def _in_characters(self) -> bool:
        """Returns whether the text is drawn in the byte-level alphabet."""
        run = self.session.runs.active
        return self._characters.isChecked() and run is not None and run.byte_level

    # Shared by both pages

    def token_at(self, index: int) -> int:
        """Returns the id of the token with this number."""
        assert self.encoded is not None
        return int(self.encoded.ids[index])

    def copy_ids(self) -> None:
        """Copies the ids of the selected tokens, or of all."""
        if self.encoded is not None:
            self.view.copy_ids()

    def copy(self) -> None:
        """Copies the text of the selected tokens, or all of it without a selection."""
        if self.view.selection() is not None:
            self.view.copy()
        elif self.encoded is not None:
            QGuiApplication.clipboard().setText(self.encoded.text)

    def tell(self, text: str, role: str = "muted") -> None:
        """Shows a message below what is written; "" for none."""
        self._note.setText(text)
        set_role(self._note, role)
        self._note_row.setVisible(bool(text))

    def tell_shortened(self) -> None:
        """Says whether only a part of the text is shown; else nothing."""
        self.tell("")

    def note(self) -> str:
        """Returns the message below what is written."""
        return self._note.text() if not self._note_row.isHidden() else ""

    def refresh(self) -> None:
        """Updates the tokens, or notes that they are outdated while the page is hidden."""
        if not self.isVisible():
            self._stale = True
            return
        self._stale = False
        text, run = self.text(), self.session.runs.active
        if not text or run is None or not run.ready or len(text) > LONGEST:
            self.latest.cancel()
            self._shown = self._asked = None
            reason = _NO_TOKENIZER if run is None else "" if run.ready else _NOT_READY
            self.view.set_placeholder(reason if text else "")
            self.display_nothing(text)
            self.set_state("", "")
            return
        key = (run.key, min(self.session.view.playhead, len(run)), text, self.variant(), self._in_characters())
        if key != (self._asked if self.latest.busy else self._shown):
            self._begin(key)

    def set_state(self, kind: str, text: str) -> None:
        """Sets the state of the text; figures of an earlier text are dimmed until there are new ones."""
        self._patience.stop()
        self.figures.setEnabled(kind != "busy")
        if (kind, text) != self.state:
            self.state = (kind, text)
            self.state_changed.emit(kind, text)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._stale:
            self.refresh()
        self._tell_occurrences()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Shares the height between what is written and the part below it, until the user changes that."""
        super().resizeEvent(event)
        if not self._shared_by_hand:
            above = self.height_above()
            self.splitter.setSizes([above, max(self.height() - above - self.splitter.handleWidth(), 1)])

    def height_above(self) -> int:
        """Returns the height of what is written: some lines."""
        spacing, edges = self.fontMetrics().lineSpacing(), 20
        return min(max(round((_SHARE * self.height() - edges) / spacing), 1), _MOST_LINES) * spacing + edges

    def minimumSizeHint(self) -> QSize:
        """Returns a size that does not depend on the content: parts that do not fit are hidden."""
        return smallest_page(self._theme)

    def look_at_selected(self, first: int, last: int) -> None:
        """Shows the selected token in the Token pane; of several, none."""
        self._hover.stop()
        if first == last and first >= 0:
            self._look_at(first)

    def _begin(self, key: _Key) -> None:
        tokenizer = self.session.view.tokenizer
        assert tokenizer is not None
        tokenizer, text = self.session.view.dropped(tokenizer), key[2]
        asks = self.in_background or tokenizer.library is not None
        if self._prepared and len(text) <= _DIRECT and not asks and tokenizer.ready:
            self.latest.cancel()
            self._asked, self.byte_level = key, key[4]
            try:
                self._finished(finish(self.make(tokenizer, text)))
            except TokStudioError as error:
                self._failed(error)
            return
        if self._may_wait(key, tokenizer):
            self._stale = True
            return
        self._asked, self.byte_level = key, key[4]
        self._patience.start()
        prepared = self._prepared
        self.latest.run(lambda: _prepared_work(self, tokenizer, text, prepared))

    def _may_wait(self, key: _Key, tokenizer: Tokenizer) -> bool:
        """Whether the current work is worth finishing before this request."""
        asked = self._asked
        if asked is None or key[0] != asked[0] or not (self.latest.busy or self._pause.isActive()):
            return False
        # It is for the same text at another playhead; or any text, if a process would have to start again.
        return key[2] == asked[2] or ((self.in_background or tokenizer.library is not None) and self.latest.busy)

    def _finished(self, result: tuple[object, EncodedText]) -> None:
        self._prepared = True
        self._shown = self._asked
        self.tell_shortened()
        self.display(*result)
        if self._shown is not None and len(self._shown[2]) > _DIRECT:
            self._pause.start()
        elif self._stale:
            self.refresh()

    def _failed(self, error: Exception) -> None:
        self._shown = self._asked
        self.set_state("", "")
        self.display_nothing(self.text())
        self.tell(str(error), "error")
        if not isinstance(error, TokStudioError):
            self.session.jobs.report(error)
        if self._stale:
            self.refresh()

    def _say_busy(self) -> None:
        if self.latest.busy:
            self.set_state("busy", "encoding…")

    def _build(self, theme: Theme, figures: tuple[FigureName, ...], above: QWidget) -> None:
        self._note = paragraph_label("muted")
        self._note_row = QWidget()
        self._note_parts = row((self._note, 1), parent=self._note_row)
        self._note_row.hide()

        self.view = TokenView(theme)
        self.view.setMinimumHeight(46)
        self.view.tokenHovered.connect(self._wait_on_hovered)
        self.figures = Figures(figures)
        lower = QWidget()
        self.column = column(self._note_row, (self.view, 1), self.figures, spacing=8, parent=lower)
        self.splitter = QSplitter(Qt.Orientation.Vertical, childrenCollapsible=False)
        self.splitter.addWidget(above)
        self.splitter.addWidget(lower)
        self.splitter.splitterMoved.connect(self._keep_share)
        self.splitter.setStretchFactor(0, 0)
        self.splitter.setStretchFactor(1, 1)
        column(self.splitter, parent=self)

    def _follow_target(self) -> None:
        target = self.session.view.target
        self.view.set_target(-1 if target is None else target)
        self._tell_occurrences()

    def _go_to_occurrence(self, step: int) -> None:
        if self.isVisible():
            self.view.go_to_occurrence(step)

    def _tell_occurrences(self) -> None:
        if self.isVisible() and self.session.view.target is not None:
            self.session.view.set_occurrences(*self.view.occurrence())

    def _wait_on_hovered(self, index: int) -> None:
        self._hovered = index
        if index >= 0:
            self._hover.start()
        else:
            self._hover.stop()

    def _look_at_hovered(self) -> None:
        if self._hovered >= 0:
            self._look_at(self._hovered, hover=True)

    def _look_at(self, index: int, *, hover: bool = False) -> None:
        # Until the active run's tokens are ready, those of the earlier run are shown: their ids mean nothing in it.
        run = self.session.runs.active
        if self._shown is not None and run is not None and self._shown[0] == run.key:
            self.session.view.look_at(self.token_at(index), hover=hover)

    def _forget_other_run(self) -> None:
        """Clears the selection in a run that is not active any more; later activation computes its tokens again."""
        active = self.session.runs.active
        if self._shown is not None and (active is None or self._shown[0] != active.key):
            self._hover.stop()
            self.view.select(-1, -1)
            self._shown = None  # a run of another project may have the same key

    def _keep_share(self) -> None:
        self._shared_by_hand = True


class TextPage(TokensPage):
    """A page with a field for a text: `input`."""

    def __init__(
        self,
        session: Session,
        theme: Theme,
        actions: Mapping[str, QAction],
        figures: tuple[FigureName, ...],
        placeholder: str,
    ) -> None:
        self.input = named(TextInput(), "Text")
        self.input.setPlaceholderText(placeholder)
        super().__init__(session, theme, actions, figures, self.input)
        self.input.shortened_changed.connect(self.tell_shortened)
        self._clear = named(link_button("Clear", self._clear_text), "Clear the text")
        self._note_parts.addWidget(self._clear, 0, Qt.AlignmentFlag.AlignTop)

    def text(self) -> str:
        """Returns the text of the field."""
        return self.input.text()

    def take_text(self, text: str) -> None:
        """Sets the text of the field, as if the user had pasted it."""
        self.input.take(text)

    def tell(self, text: str, role: str = "muted") -> None:
        self._clear.setVisible(self.input.shortened)
        super().tell(text, role)

    def tell_shortened(self) -> None:
        """Says whether the field shows only the beginning of the text."""
        shown, whole = self.input.shown, len(self.input.text())
        self.tell(f"The first {shown:,} of {whole:,} characters; all are used." if self.input.shortened else "")

    def _clear_text(self) -> None:
        self.take_text("")
        self.input.setFocus()


def _prepared_work(
    page: TokensPage, tokenizer: Tokenizer, text: str, prepared: bool
) -> Work[tuple[object, EncodedText]]:
    # An opened tokenizer may be the first to need the compiled loops.
    if not prepared:
        yield from prepare_work()
    return (yield from page.make(tokenizer, text))
