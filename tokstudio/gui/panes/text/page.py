"""The base of the pages Encode and Decode: an input field, the tokens below it, and their updates.

A short text is processed at once, at every move of the playhead, if the tokenizer has encoded before; a long one in
the background, a few times a second.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QSize, Qt, QTimer, Signal
from PySide6.QtGui import QAction, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QSplitter, QWidget

from tokstudio.core.base.errors import TokStudioError
from tokstudio.core.base.progress import Work, finish
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.core.warm_up import prepare_work
from tokstudio.gui.panes.text.encoding_job import LONGEST
from tokstudio.gui.panes.text.text_input import TextInput
from tokstudio.gui.session.jobs import LatestJob
from tokstudio.gui.session.session import Session
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.token_text.blocks import EncodedText
from tokstudio.gui.token_text.token_view import TokenView
from tokstudio.gui.widgets.buttons import link_button
from tokstudio.gui.widgets.fields import set_role
from tokstudio.gui.widgets.figures import FigureName, Figures
from tokstudio.gui.widgets.labels import paragraph_label
from tokstudio.gui.widgets.layouts import column, row

_DIRECT = 20_000  # characters that are processed at once
_PAUSE = 250  # milliseconds between two background runs on the same text
_PATIENCE = 150  # milliseconds of background work before a message is shown
_HOVER = 150  # milliseconds that the pointer rests on a piece before its token is shown
_NO_TOKENIZER = "Train or open a tokenizer to see this text in tokens."
_NOT_READY = "The tokens appear here once the corpus is read."
_SHARE = 0.2  # of the height, for the field: some lines of it
_MOST_LINES = 4
_SMALLEST = (220, 190)  # pixels, for any content

#: The inputs of a result: the tokenizer, by run and playhead, the text, and the options.
_Key = tuple[int, int, str, object, bool]


class TextPage(QWidget):
    """One page: `input` above, `view` and `figures` below. Subclasses process the text and show the result."""

    #: The state of the text, "" (no message), "busy", "good" or "bad", with its message.
    state_changed = Signal(str, str)

    def __init__(
        self,
        session: Session,
        theme: Theme,
        actions: Mapping[str, QAction],
        figures: tuple[FigureName, ...],
        placeholder: str,
    ) -> None:
        super().__init__()
        self.session = session
        self.state = ("", "")
        self.byte_level = False  # whether results are drawn in the byte-level alphabet
        self._asked: _Key | None = None
        self._shown: _Key | None = None
        self._stale = True
        self._prepared = False
        self.latest = LatestJob(session.jobs, self, asked=False)
        self.latest.done.connect(self._finished)
        self.latest.failed.connect(self._failed)
        self._pause = QTimer(self, singleShot=True, interval=_PAUSE)
        self._pause.timeout.connect(self.refresh)
        self._patience = QTimer(self, singleShot=True, interval=_PATIENCE)
        self._patience.timeout.connect(self._say_busy)
        self._hover = QTimer(self, singleShot=True, interval=_HOVER)
        self._hover.timeout.connect(self._look_at_hovered)
        self._hovered = -1
        self._theme = theme
        self._shared_by_hand = False
        self._build(theme, figures, placeholder)
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
        return self.input.text()

    def variant(self) -> object:
        """Returns the other inputs of a result."""
        return None

    def token_at(self, index: int) -> int:
        """Returns the id of the token with this number."""
        raise NotImplementedError

    def _in_characters(self) -> bool:
        """Returns whether the text is drawn in the byte-level alphabet."""
        run = self.session.runs.active
        return self._characters.isChecked() and run is not None and run.byte_level

    # Shared by both pages

    def take_text(self, text: str) -> None:
        """Sets the text of the field, as if the user had pasted it."""
        self.input.take(text)

    def tell(self, text: str, role: str = "muted") -> None:
        """Shows a message below the field; "" for none."""
        self._note.setText(text)
        set_role(self._note, role)
        self._clear.setVisible(self.input.shortened)
        self._note_row.setVisible(bool(text))

    def note(self) -> str:
        """Returns the message below the field."""
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
        """Shows changes that were made while it was hidden."""
        super().showEvent(event)
        if self._stale:
            self.refresh()
        self._tell_occurrences()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Shares the height between the field and the part below it, until the user changes that."""
        super().resizeEvent(event)
        if not self._shared_by_hand:
            spacing, edges = self.input.fontMetrics().lineSpacing(), 20
            lines = min(max(round((_SHARE * self.height() - edges) / spacing), 1), _MOST_LINES)
            field = lines * spacing + edges
            self.splitter.setSizes([field, max(self.height() - field - self.splitter.handleWidth(), 1)])

    def minimumSizeHint(self) -> QSize:
        """Returns a size that does not depend on the content: parts that do not fit are hidden."""
        return QSize(*map(self._theme.scaled, _SMALLEST))

    def look_at_selected(self, first: int, last: int) -> None:
        """Shows the selected token in the Token pane; of several, none."""
        self._hover.stop()
        if first == last and first >= 0:
            self._look_at(first)

    def _begin(self, key: _Key) -> None:
        tokenizer = self.session.view.tokenizer
        assert tokenizer is not None
        tokenizer, text = self.session.view.dropped(tokenizer), key[2]
        if self._prepared and len(text) <= _DIRECT and tokenizer.library is None and tokenizer.ready:
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
        # It is for the same text at another playhead; or any text, if a library would have to start again.
        return key[2] == asked[2] or (tokenizer.library is not None and self.latest.busy)

    def _finished(self, made: tuple[object, EncodedText]) -> None:
        self._prepared = True
        self._shown = self._asked
        self.tell_shortened()
        self.display(*made)
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

    def tell_shortened(self) -> None:
        """Says whether the field shows only the beginning of the text."""
        shown, whole = self.input.shown, len(self.input.text())
        self.tell(f"The first {shown:,} of {whole:,} characters; all are used." if self.input.shortened else "")

    def _say_busy(self) -> None:
        if self.latest.busy:
            self.set_state("busy", "encoding…")

    def _build(self, theme: Theme, figures: tuple[FigureName, ...], placeholder: str) -> None:
        self.input = TextInput()
        self.input.setPlaceholderText(placeholder)
        self.input.setAccessibleName("Text")
        self.input.shortened_changed.connect(self.tell_shortened)
        self._note = paragraph_label("muted")
        self._clear = link_button("Clear", self._clear_text)
        self._clear.setAccessibleName("Clear the text")
        self._note_row = QWidget()
        row((self._note, 1), (self._clear, Qt.AlignmentFlag.AlignTop), parent=self._note_row)
        self._note_row.hide()

        self.view = TokenView(theme)
        self.view.setMinimumHeight(46)
        self.view.tokenHovered.connect(self._wait_on_hovered)
        self.figures = Figures(figures)
        lower = QWidget()
        self.column = column(self._note_row, (self.view, 1), self.figures, spacing=8, parent=lower)
        self.splitter = QSplitter(Qt.Orientation.Vertical, childrenCollapsible=False)
        self.splitter.addWidget(self.input)
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

    def _clear_text(self) -> None:
        self.take_text("")
        self.input.setFocus()

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


def _prepared_work(page: TextPage, tokenizer: Tokenizer, text: str, prepared: bool) -> Work[tuple[object, EncodedText]]:
    # An opened tokenizer may be the first to need the compiled loops.
    if not prepared:
        yield from prepare_work()
    return (yield from page.make(tokenizer, text))
