"""A field for a pattern: a name or a custom expression, with a preview of the pieces.

The core splits the text, in the background.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QSignalBlocker, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QDialog, QGraphicsOpacityEffect, QLineEdit, QWidget

from tokstudio.core.base.errors import ConfigError, FormatError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import several
from tokstudio.core.corpus.source import Source
from tokstudio.core.formats.common.spelling import written_regex
from tokstudio.core.libraries.client import check_split_work
from tokstudio.core.model.settings import PATTERNS
from tokstudio.core.pretokenization.patterns import NAMES, NONE, OWN, REGEX, check_pattern, splitter
from tokstudio.core.warm_up import prepare_work
from tokstudio.gui.session.common.jobs import LatestJob
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.training_settings import USUAL_PATTERN, WHY_SPLIT
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.token_text.blocks import EncodedText
from tokstudio.gui.token_text.token_view import MARGIN, TokenView
from tokstudio.gui.widgets.controls import Choice
from tokstudio.gui.widgets.fields import ChoiceField, Field
from tokstudio.gui.widgets.labels import named, paragraph_label, plain, plain_label
from tokstudio.gui.widgets.layouts import STRETCH, column, row
from tokstudio.gui.widgets.menus import link_button, push_button
from tokstudio.gui.widgets.pane import Dialog

if TYPE_CHECKING:
    from numpy.typing import NDArray

# --- The question how a tokenizer splits text -------------------------------------------------------------------------


@dataclass(frozen=True)
class PatternQuestion:
    """Asks how a tokenizer splits text."""

    name: str  # of the tokenizer
    pattern: str  # the initial pattern
    verb: str  # the text of the button that confirms


# --- Splits the beginning of a corpus by a pattern, and checks whether other libraries could; work for a job ----------

_MOST = 1200  # bytes in the preview
_EXPORT = "Export to Hugging Face"
_EXAMPLE = "The cat's hat, 1984:\n    it isn't mine — ça va?\n"


@dataclass(frozen=True, eq=False)
class Split:
    """Text in pieces."""

    data: bytes
    ends: NDArray[np.int64]  # int64, the end of each piece
    problem: str = ""  # why it cannot be split, in the core's words; "" if it can


def first_lines(sources: Sequence[Source]) -> tuple[bytes, list[int]]:
    """The beginning of the first source with text, and the ends of its documents; without one, an example."""
    for source in sources:
        if source.counts is None and len(source.data):
            size = min(_MOST, len(source.data))
            if size < len(source.data):
                # Whole lines if possible, as the end of a piece can depend on the text after it.
                feeds = np.flatnonzero(source.data[:size] == ord("\n"))
                size = int(feeds[-1]) + 1 if len(feeds) else size
            while size < len(source.data) and size > 1 and source.data[size] & 0xC0 == 0x80:
                size -= 1
            ends = source.ends[: np.searchsorted(source.ends, size)].tolist()
            return source.data[:size].tobytes(), [*ends, size]
    example = _EXAMPLE.encode()
    return example, [len(example)]


def dialect_work(pattern: str, sources: Sequence[Source]) -> Work[str]:
    """Says why Hugging Face's library, which uses Oniguruma, cannot split text by this expression, or ""."""
    if splitter(pattern).kind != OWN:
        return ""
    raw, _ = first_lines(sources)
    try:
        yield from check_split_work(_EXPORT, pattern, written_regex(pattern), (raw.decode("utf-8", "ignore"),))
    except FormatError as error:
        return str(error)
    return ""


def split_work(pattern: str, sources: Sequence[Source]) -> Work[Split]:
    """Splits the beginning of a corpus, document by document."""
    raw, documents = first_lines(sources)
    data = np.frombuffer(raw, np.uint8)
    ends_of_words: list[NDArray[np.int64]] = []
    start = 0
    problem = ""
    try:
        chosen = splitter(pattern)
        if chosen.kind not in (NONE, OWN):
            # Only scanners are compiled loops: without them, no compiler is loaded while the window opens.
            yield from prepare_work()
        for stop in documents:
            for ends in chosen.ends_work(data, start, stop):
                ends_of_words.append(ends)
                yield Progress("splitting", stop, len(raw))
            start = stop
    except ConfigError as error:
        problem = str(error)
    return Split(raw, np.concatenate(ends_of_words) if ends_of_words else np.empty(0, np.int64), problem)


_OWN = "own"
_CHOICES = (
    *(Choice(name, *texts) for name, texts in PATTERNS.items()),
    Choice(_OWN, "Expression", "Your own regular expression."),
)
_WHOLE = "The text is not split: one pre-token per document."
_LARGE = 1_000_000  # bytes of a text that is proposed to be split
_UNUSUAL = f"The text is not split. {WHY_SPLIT}"
_OWN_HELP = "Every character must be in a match."
_BEFORE = "Split by the last expression that worked."
_COUNTED = "Word counts are already split: the pattern is not applied."
_ROWS = 3
_FADED = 0.35


class PatternField(QWidget):
    """A named pattern or an expression, and a preview of how it splits `text`, or the corpus; "" for an example."""

    changed = Signal()  # the user changed it
    problem_changed = Signal()  # `problem`

    def __init__(self, session: Session, theme: Theme, text: str | None = None) -> None:
        super().__init__()
        self._corpus = session.corpus
        self._text = None if text is None else (Source.from_texts([text], ""),) if text else ()
        self._before = ""  # the earlier choice
        self._fault: str | None = None
        self._brief = False
        self.problem = ""  # why the first lines cannot be split; "" if they can
        self._shown: object = None
        self.choice = ChoiceField("Pre-tokens (patter&n)", _CHOICES, theme, word="pattern")
        self.own = _Expression(theme)
        self.own.explain("regular-expression")
        self.caption = paragraph_label("muted")
        self.preview = named(_SplitView(theme), "Preview of the split")
        self.usual = link_button("Use Pre-Tokens", self._use_usual, f"Split by {USUAL_PATTERN}, as many tokenizers do.")
        self.usual.hide()
        # Hidden until the first text is split, as it would be empty.
        self.preview.hide()
        self.caption.hide()
        column(
            self.choice,
            self.own,
            self.preview,
            self.caption,
            (self.usual, Qt.AlignmentFlag.AlignLeft),
            spacing=4,
            parent=self,
        )
        self._latest = LatestJob(session.jobs, self, quiet=True)
        self._latest.done.connect(self._show_split)
        self._dialect = LatestJob(session.jobs, self, quiet=True)
        self._dialect.done.connect(self._show_dialect)
        self._later = QTimer(self, singleShot=True, interval=session.jobs.pauses.changes)
        self._later.timeout.connect(self._split)
        self.choice.changed.connect(self._chosen)
        self.choice.combo.picked.connect(self._picked)
        self.own.changed.connect(self.changed)
        session.corpus.sources_changed.connect(self.renew)

    @property
    def value(self) -> str:
        """The name of a pattern or the expression."""
        return self.own.edit.text() if self.choice.value == _OWN else self.choice.value

    def set_value(self, pattern: str) -> None:
        """Sets the pattern without emitting `changed`."""
        if pattern != self.value:
            self.choice.set_value(pattern if pattern in NAMES else _OWN)
            if pattern not in NAMES:
                self.own.set_text(pattern)
        self._before = pattern
        self.own.setVisible(self.choice.value == _OWN)
        self.renew()

    def set_error(self, error: str | None) -> None:
        """Shows an error of the pattern that does not depend on the text."""
        self._fault = error
        self.own.set_error(error)
        if error is not None:
            self._hold()

    def set_brief(self, brief: bool) -> None:
        """Leaves the caption of the preview to its tool tip, unless it is an error."""
        self._brief = brief
        self._set_caption(self.caption.text())

    def renew(self) -> None:
        """Splits the first lines again, a moment after the last change."""
        self.usual.setVisible(self._is_unusual)
        wanted = (self.value, self._sources, self._fault)
        if wanted != self._shown:
            self._shown = wanted
            self._latest.cancel()
            self._dialect.cancel()
            self.own.set_help(_OWN_HELP)
            self._set_problem("")
            if self._fault is None:
                self.own.set_error(None)
            if self.caption.text() in (_WHOLE, _UNUSUAL) and self.value != "none":
                self._set_caption("")  # the split may wait for the first loops to be compiled
            self._later.start()

    @property
    def _sources(self) -> tuple[Source, ...]:
        return self._corpus.remaining if self._text is None else self._text

    @property
    def _is_unusual(self) -> bool:
        """Whether a large text of the corpus is not split."""
        texts = [source for source in self._sources if source.counts is None]
        return self._text is None and self.value == "none" and sum(source.bytes for source in texts) > _LARGE

    def _use_usual(self) -> None:
        self.choice.set_value(USUAL_PATTERN)
        self._chosen()

    def _chosen(self) -> None:
        # An earlier custom expression stays; without one, the field starts with the earlier choice.
        if self.choice.value == _OWN and self.own.edit.text() in ("", *REGEX.values()):
            self.own.set_text(REGEX.get(self._before, REGEX["whitespace"]))
        self._before = self.value
        self.own.setVisible(self.choice.value == _OWN)
        self.changed.emit()

    def _picked(self) -> None:
        # The arrow keys only browse, and must be able to continue from here.
        if self.choice.value == _OWN:
            self.own.edit.setFocus()

    def _split(self) -> None:
        pattern, sources = self.value, self._sources
        if self._fault is None:
            self._latest.run(lambda: split_work(pattern, sources))

    def _show_split(self, split: Split) -> None:
        if self._fault is not None:
            return
        self.own.set_error(split.problem or None)
        if split.problem and self.choice.value == _OWN:
            self._hold()
        else:
            end = int(split.ends[-1]) if len(split.ends) else 0
            self.preview.set_tokens(split.data[:end], split.ends, np.arange(len(split.ends), dtype=np.uint32))
            self.preview.set_faded(False)
            self.preview.setVisible(end > 0 and self.value != "none")
            self._set_problem(split.problem)
            self._set_caption(split.problem or self._caption(len(split.ends)))
        if not split.problem:
            self._ask_dialect()
        self._set_problem(split.problem)

    def _hold(self) -> None:
        """Keeps the pieces while the expression is invalid, so that nothing moves while typing."""
        self.preview.set_faded(True)
        self._set_caption("" if self.preview.isHidden() else _BEFORE)

    def _set_caption(self, text: str) -> None:
        self.caption.setText(text)
        self.caption.setVisible(bool(text) and (not self._brief or bool(self.problem)))
        self.preview.setAccessibleDescription(text)
        self.preview.setToolTip(plain(text))

    def _set_problem(self, problem: str) -> None:
        if problem != self.problem:
            self.problem = problem
            self.problem_changed.emit()

    def _caption(self, pieces: int) -> str:
        texts = [source for source in self._sources if source.counts is None]
        if self._sources and not texts:
            return _COUNTED
        if self.value == "none":
            return _UNUSUAL if self._is_unusual else _WHOLE
        place = "the corpus's first lines" if self._text is None else "the text of the Text pane"
        return f"{several(pieces, 'pre-token')} in {place if texts else 'an example'}."

    def _ask_dialect(self) -> None:
        pattern, sources = self.value, self._sources
        if self.choice.value == _OWN and self._text is None:
            self._dialect.run(lambda: dialect_work(pattern, sources))

    def _show_dialect(self, hint: str) -> None:
        self.own.set_help(hint or _OWN_HELP)


class _SplitView(TokenView):
    """The first rows of pieces. The wheel scrolls the pane."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self._fading = QGraphicsOpacityEffect(self.viewport())
        self._fading.setOpacity(_FADED)
        self._fading.setEnabled(False)
        self.viewport().setGraphicsEffect(self._fading)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._fit()

    def show_table(self, table: EncodedText) -> None:
        super().show_table(table)
        self._fit()

    def set_faded(self, faded: bool) -> None:
        """Makes the pieces pale while they belong to an earlier pattern."""
        self._fading.setEnabled(faded)

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()

    def _follow_theme(self) -> None:
        super()._follow_theme()
        self._fit()

    def _fit(self) -> None:
        self.setFixedHeight(round(_ROWS * self._row_height()) + MARGIN)


class _Expression(Field):
    """A field for a custom regular expression."""

    def __init__(self, theme: Theme) -> None:
        self.edit = QLineEdit()
        super().__init__(_OWN_HELP, self.edit)
        self._theme = theme
        self.edit.setAccessibleName("Own expression")
        self.edit.setPlaceholderText("Regular expression")
        self.row.addWidget(self.edit)
        self.edit.textChanged.connect(self.changed)
        theme.follow(self._apply_theme)

    def set_text(self, text: str) -> None:
        """Sets the expression without emitting signals."""
        with QSignalBlocker(self.edit):
            self.edit.setText(text)
            self.edit.setCursorPosition(0)

    def _apply_theme(self) -> None:
        self.edit.setFont(self._theme.monospace_font(12))


# --- A dialog that asks how a tokenizer splits text if its files do not say so ----------------------------------------

_WHY = "The file does not say how text is split into pre-tokens. Another pattern gives other tokens."
_SIZE = QSize(480, 400)  # room for the preview, which is empty at first
_SHOWN = 2000  # characters of the sample text


class PatternDialog(Dialog):
    """Asks for a named pattern or an expression, and shows how it splits the current text."""

    answered = Signal(object)  # the pattern (str), or None if cancelled; emitted exactly once

    def __init__(
        self, question: PatternQuestion, session: Session, theme: Theme, parent: QWidget | None = None
    ) -> None:
        super().__init__(question.verb, parent)
        headline = plain_label("headline", f"How does {question.name} split text?")
        headline.setWordWrap(True)
        why = paragraph_label("muted", _WHY)
        self.field = PatternField(session, theme, session.view.text[:_SHOWN])
        self.field.set_value(question.pattern)
        self.field.changed.connect(self._check)
        self.field.problem_changed.connect(self._allow)
        self.cancel = push_button("Cancel", self.reject)
        self.accept_button = push_button(question.verb, self.accept, is_main=True)
        self.finished.connect(self._answer)
        buttons = row(STRETCH, self.cancel, self.accept_button)
        column(headline, why, self.field, STRETCH, buttons, spacing=10, margins=(24, 20, 24, 16), parent=self)
        room = QSize(theme.scaled(_SIZE.width()), theme.scaled(_SIZE.height()))
        self.setMinimumSize(room.boundedTo(self.screen().availableSize() * 0.9))
        self.field.choice.combo.setFocus()
        self._check()

    def _check(self) -> None:
        """Shows the error of the pattern, and lets the field split the text."""
        self._fault = ""
        try:
            check_pattern(self.field.value)
        except ConfigError as error:
            self._fault = str(error)
        self.field.set_error(self._fault or None)
        self.field.renew()
        self._allow()

    def _allow(self) -> None:
        """Enables the button for valid patterns only."""
        problem = self._fault or self.field.problem
        self.accept_button.setEnabled(not problem)
        self.accept_button.setToolTip(plain(problem))

    def _answer(self, result: int) -> None:
        self.answered.emit(self.field.value if result == QDialog.DialogCode.Accepted else None)
