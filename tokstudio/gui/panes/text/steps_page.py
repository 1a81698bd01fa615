"""The page Steps of the Text pane: an encoding from pre-tokens to tokens, merge by merge in both directions.

It also explains why some text is not one token.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from PySide6.QtCore import QSize, Qt, QTimer, Signal
from PySide6.QtGui import QAction, QGuiApplication, QHideEvent, QShowEvent
from PySide6.QtWidgets import QSizePolicy, QSplitter, QWidget

from tokstudio.core.analysis.encoding_steps import Rounds, State
from tokstudio.core.analysis.why_not_one_token import cause_work
from tokstudio.core.base.errors import TokStudioError
from tokstudio.core.base.progress import finish
from tokstudio.core.tokenizer.dropout import Dropout
from tokstudio.gui.panes.text import steps
from tokstudio.gui.panes.text.encoding_job import byte_level_work
from tokstudio.gui.panes.text.page import smallest_page
from tokstudio.gui.session.common.jobs import LatestJob
from tokstudio.gui.session.common.view_state import TextSelection
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.token_table.view import FollowTable
from tokstudio.gui.token_text.token_view import TokenView
from tokstudio.gui.widgets.labels import named, paragraph_label
from tokstudio.gui.widgets.layouts import TallBody, column, row, stacked
from tokstudio.gui.widgets.menus import link_button
from tokstudio.gui.widgets.pane import EmptyState
from tokstudio.gui.widgets.step_bar import StepBar, StepWords

_NO_TEXT = "Enter a text under Encode to step through its encoding."
_NO_TOKENIZER = "Train or open a tokenizer to step through this text."
_NOT_READY = "The steps appear here once the corpus is read."
_TOO_LONG = f"At most {steps.LONGEST:,} bytes can be stepped through: select less text to see why it is not one token."
_DROPPED = "Merges are passed over at random here: switch Dropout off to see why it is not one token."
#: Keys for a step forwards or back from elsewhere in the pane, with the buttons that they press.
STEP_KEYS = {"previous": "Alt+Left", "next": "Alt+Right"}
_WORDS = StepWords(
    "Step",
    "Steps: Left and Right go back and forth, Home and End to the first and last step",
    {name: (f"{name.capitalize()} step", STEP_KEYS.get(name, "")) for name in ("first", "previous", "next", "last")},
)
_LEAST_ROWS = 2  # of the table
_LEAST_PIECES = 64  # pixels of height

#: Run, its merges, text, selection, whether special tokens are recognised, and dropout.
_Key = tuple[StudioRun, int, str, tuple[int, int] | None, bool, Dropout | None]


class StepsPage(QWidget):
    """Steps through the selection of the page Encode, in whole pre-tokens, or through the text."""

    #: As on the other pages.
    state_changed = Signal(str, str)

    def __init__(self, session: Session, theme: Theme, actions: Mapping[str, QAction]) -> None:
        super().__init__()
        self._jobs, self._runs, self._view = session.jobs, session.runs, session.view
        self.state = ("", "")
        self._theme = theme
        self._actions = actions
        self._own = False  # whether this page itself is selecting
        self._selected: tuple[int, int] | None = None  # the encoded bytes; None: all
        self._chosen: tuple[int, int] | None = None  # the bytes selected on this page
        self.question: tuple[int, int] | None = None
        self._of_run: StudioRun | None = None  # the run of the question
        self._of_word = False  # whether the question is about a whole pre-token
        self._asked: _Key | None = None
        self._shown: _Key | None = None
        self.stepping: steps.Stepping | None = None
        self.rounds: Rounds | None = None
        self.here: State | None = None
        self._playhead = -1
        self._keyboard_wanted = False  # whether to move the focus to the slider
        self.latest = LatestJob(session.jobs, self, self._take, self._fail, quiet=True)
        self._cause: tuple[tuple[StudioRun, int, bytes], str] | None = None  # what is asked of the corpus; the answer
        self.causes = LatestJob(session.jobs, self, self._take_cause, quiet=True, asked=False)
        self._pause = QTimer(self, singleShot=True, interval=session.jobs.pauses.updates)
        self._pause.timeout.connect(self.refresh)
        self._build(theme)
        self.view.set_show_white_space(actions["show_white_space"].isChecked())
        actions["show_white_space"].toggled.connect(self.view.set_show_white_space)
        actions["show_ids"].toggled.connect(self._show_again)
        actions["recognise_specials"].toggled.connect(self.refresh)
        self.model.set_in_characters(actions["byte_level_characters"].isChecked())
        actions["byte_level_characters"].toggled.connect(self._rewrite)
        session.view.text_changed.connect(self._close_answer)
        session.view.selection_changed.connect(self._follow_selection)
        view = session.view
        for signal in (view.text_changed, view.playhead_changed, view.dropout_changed, session.runs.changed):
            signal.connect(self.refresh)
        # While the playhead is held back, ids of special tokens still move.
        session.training.merges_added.connect(self.refresh)

    # ---- the interface of the pages

    def copy(self) -> None:
        """Copies the text of the selected pieces, or all of it."""
        if self.view.selection() is not None:
            self.view.copy()
        elif self.stepping is not None:
            QGuiApplication.clipboard().setText(self.stepping.steps.data.decode("utf-8", "replace"))

    def copy_ids(self) -> None:
        """Copies the ids of the selected tokens, or of all."""
        if self.here is not None and self.number > 0:
            self.view.copy_ids()

    # ---- requests

    @property
    def number(self) -> int:
        """The number of the current state, from 0."""
        return self.bar.slider.value()

    def ask_why_not(self, start: int, stop: int, *, of_word: bool) -> None:
        """Explains why some bytes of the text, or the whole pre-token with the first of them, are not one token."""
        self.question, self._of_word, self._of_run = (start, stop), of_word, self._runs.active
        if not self._holds(*self.question):
            self._selected = self.question
        self.refresh()
        self._answer()

    def take_keyboard(self) -> None:
        """Moves the focus to the slider, as soon as there is a step."""
        self._keyboard_wanted = True
        self._give_keyboard()

    def order(self) -> list[QWidget]:
        """The widgets that take the focus, in the order of reading."""
        buttons, answer = self.bar.buttons, self.why_not
        bar = [buttons["first"], buttons["previous"], self.bar.slider, buttons["next"], buttons["last"]]
        return [self.whole, *bar, answer.close_button, *answer.links, self.view, self.table]

    def refresh(self) -> None:
        """Updates the steps; while hidden, it only releases those of a deleted run."""
        if not self.isVisible():
            if any(key is not None and key[0] not in self._runs.shown for key in (self._asked, self._shown)):
                self._show_nothing("")
            return
        run = self._runs.active
        reason = _NO_TEXT if not self._view.text else _NO_TOKENIZER if run is None else "" if run.ready else _NOT_READY
        if reason or run is None:
            self._show_nothing(reason)
            return
        if run is not self._of_run:
            self.question = None  # it was about another run
        recognised = self._actions["recognise_specials"].isChecked()
        key = (run, len(run), self._view.text, self._selected, recognised, self._view.dropout)
        if key == self._shown:
            self._follow_playhead()
        elif _same_but_length(key, self._asked) and (self.latest.busy or self._pause.isActive()):
            pass  # refreshed after this
        elif key != self._asked:
            self._asked = key
            tokenizer, text, selected = self._view.dropped(run.tokenizer), self._view.text, self._selected
            self.latest.run(lambda: steps.stepping_work(tokenizer, text, selected, "all" if recognised else ()))

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._follow_selection()
        self.refresh()

    def hideEvent(self, event: QHideEvent) -> None:
        """Cancels a pending move of the focus."""
        super().hideEvent(event)
        self._keyboard_wanted = False

    def minimumSizeHint(self) -> QSize:
        """Returns a size that does not depend on the content."""
        return smallest_page(self._theme)

    def _take(self, stepping: steps.Stepping) -> None:
        asked, before = self._asked, self._shown
        self._shown, self.stepping, self._playhead = asked, stepping, -1
        anew = before is None or asked is None or before[2:4] != asked[2:4]
        self.note.setText(stepping.note)
        self.whole.setVisible(self._selected is not None)
        self._top.setVisible(bool(stepping.note))
        self.pages.setCurrentWidget(self.page)
        asked_now = self.question == self._selected
        if anew and self.question is not None and not (asked_now or self._holds(*self.question)):
            self.question = None
        self._follow_playhead(begin=anew and self.question is None, end=anew and self.question is not None)
        self._give_keyboard()
        self._pause.start()

    def _give_keyboard(self) -> None:
        if self._keyboard_wanted and self.bar.slider.isEnabled():
            self._keyboard_wanted = False
            self.bar.slider.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def _fail(self, error: Exception) -> None:
        self._shown = self._asked
        self._show_nothing(str(error), keep=True)
        if not isinstance(error, TokStudioError):
            self._jobs.report(error)

    def _show_nothing(self, reason: str, *, keep: bool = False) -> None:
        if not keep:
            self.latest.cancel()
            self._asked = self._shown = None
        self.stepping = self.rounds = self.here = None
        self._playhead, self.question, self._cause = -1, None, None
        self.causes.cancel()
        self.model.set_rounds(None, None)
        self.view.clear()
        self.why_not.hide()
        self.bar.set_range(0)
        self.empty.label.setText(reason)
        self.pages.setCurrentWidget(self.empty)

    def _follow_playhead(self, *, begin: bool = False, end: bool = False) -> None:
        """Shows the steps with the merges at the playhead; at the last step, it stays there."""
        stepping, run = self.stepping, self._runs.active
        if stepping is None or run is None:
            return
        playhead = min(self._view.playhead, stepping.steps.merges)
        if playhead == self._playhead:
            return
        last = end or self.rounds is None or self.number >= len(self.rounds) - 1
        self._playhead = playhead
        self.rounds = rounds = Rounds(stepping.steps.at(playhead))
        self.model.set_rounds(run, rounds)
        self.table.refit()
        number = 0 if begin else len(rounds) - 1 if last else min(self.number, len(rounds) - 1)
        self.bar.set_range(len(rounds) - 1)
        self.bar.set_value(number)
        self._show(number)
        self._answer()

    def _show(self, number: int) -> None:
        rounds = self.rounds
        if rounds is None:
            return
        state, step, data = rounds.state(number), rounds.round(number), rounds.steps.data
        self.here = state
        specials = np.isin(state.ids, [*rounds.steps.tokenizer.special_tokens.values()])
        # Pieces that are not tokens yet are coloured by position.
        ids = np.where(state.ids < 0, np.arange(len(state)), state.ids).astype(np.uint32)
        characters = self.model.in_characters
        drawn = finish(byte_level_work(data, state.stops, specials)) if characters else (data, state.stops)
        self._own = True
        self.view.set_tokens(*drawn, ids, specials)
        self._own = False
        self.view.set_ids_known(number > 0)
        self.view.set_show_ids(self._actions["show_ids"].isChecked() and number > 0)
        merged = np.searchsorted(state.starts, step.starts) if step.merge else np.zeros(0, np.int64)
        self.view.mark(merged.tolist())
        self.phase.setText(steps.step_words(rounds, number, len(state), in_characters=characters))
        self.model.set_current(number)
        self.table.show_row(number)

    def _rewrite(self, characters: bool) -> None:
        self.model.set_in_characters(characters)
        self._show_again()

    def _show_again(self) -> None:
        if self.rounds is not None:
            self._show(self.number)

    # ---- why not one token

    def _answer(self) -> None:
        stepping, rounds, asked = self.stepping, self.rounds, self.question
        if asked is not None and asked[1] - asked[0] > steps.LONGEST:
            self.why_not.show_answer(_TOO_LONG, {})
        elif asked is not None and stepping is not None and stepping.steps.tokenizer.dropout is not None:
            self.why_not.show_answer(_DROPPED, {})
        elif stepping is not None and rounds is not None and asked is not None and self._holds(*asked):
            words, merges = steps.answer_words(stepping, rounds.steps, asked, self._playhead, of_word=self._of_word)
            self.why_not.show_answer(" ".join(filter(None, (words, self._cause_of(stepping, asked)))), merges)
        else:
            self.why_not.hide()
            return
        self.why_not.show()

    def _cause_of(self, stepping: steps.Stepping, asked: tuple[int, int]) -> str:
        """What the corpus of the run says about it; "" until that is counted, and where the corpus is not there."""
        run = self._runs.active
        made = run.run if run is not None else None
        if run is None or made is None or run.corpus is None or run.corpus_problem or not run.has_counts:
            return ""
        start, stop = stepping.span_of(asked, of_word=self._of_word)
        key, corpus, full = (run, len(made), stepping.steps.data[start:stop]), run.corpus, stepping.steps
        if self._cause is None or self._cause[0] != key:
            self._cause = key, ""
            self.causes.run(lambda: cause_work(corpus, made, full, start, stop))
        return self._cause[1]

    def _take_cause(self, words: str) -> None:
        if self._cause is not None and words:
            self._cause = self._cause[0], words
            self._answer()

    def _holds(self, start: int, stop: int) -> bool:
        """Whether these bytes of the text are encoded here."""
        stepping = self.stepping
        if stepping is None:
            return False
        first, last = stepping.here(start, stop)
        return first >= 0 and last <= len(stepping.steps.data)

    def _close_answer(self) -> None:
        self.question, self._cause = None, None
        self.causes.cancel()
        self.why_not.hide()

    # ---- selecting

    def _follow_selection(self) -> None:
        if self._own or not self.isVisible():
            return
        selection = self._view.selection
        selected = (selection.start, selection.stop) if selection is not None else None
        if selected != self._selected and (selected is None or selected != self._chosen):
            self._selected, self._chosen = selected, None
            self.refresh()

    def _tell_selected(self, first: int, last: int) -> None:
        stepping, here = self.stepping, self.here
        if self._own or stepping is None or here is None:
            return
        self._own, self._chosen = True, None
        if first >= 0:
            begin, end = stepping.in_text(int(here.starts[first]), int(here.stops[last]))
            self._chosen = (begin, end) if begin < end else None
        self._view.select(TextSelection(*self._chosen, last - first + 1) if self._chosen is not None else None)
        self._own = False
        if first == last >= 0 and here.ids[first] >= 0:
            self._view.look_at(int(here.ids[first]))

    def _show_whole(self) -> None:
        self._selected = None
        self.refresh()
        self.bar.slider.setFocus()

    def _look_at_row(self, row: int) -> None:
        token = self.model.token_at(row)
        if token is not None:
            self._view.look_at(token)

    def _build(self, theme: Theme) -> None:
        self.note = paragraph_label("muted")
        self.whole = link_button("Whole Text", self._show_whole)
        self._top = QWidget()
        row((self.note, 1), self.whole, parent=self._top)
        self.bar = StepBar(theme, _WORDS, first=1)
        self.bar.moved.connect(self._show)
        self.phase = paragraph_label()
        self.view = named(TokenView(theme), "Pieces of this step")
        self.view.selectionChanged.connect(self._tell_selected)
        self.why_not = steps.WhyNotLine(theme)
        self.why_not.linkClicked.connect(self._view.look_at)
        self.why_not.closed.connect(self._close_answer)
        self.why_not.hide()
        self.model = steps.RoundsModel(self)
        self.table = FollowTable(self.model, theme, "Steps")
        for number in range(2):
            # The text of a row without tokens spans both columns of tokens.
            self.table.setSpan(number, steps.PARTS, 1, 2)
        self.table.rowChosen.connect(self.bar.slider.setValue)
        self.table.rowActivated.connect(self._look_at_row)
        self.splitter = QSplitter(Qt.Orientation.Vertical, childrenCollapsible=False)
        # Not higher than needed: it gets the remaining height anyway.
        self.splitter.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Ignored)
        self.splitter.addWidget(self.view)
        self.splitter.addWidget(self.table)
        content = QWidget()
        column(self._top, self.bar, self.phase, self.why_not, (self.splitter, 1), spacing=6, parent=content)
        self.page = TallBody(content, self.view, self.table)
        self.empty = EmptyState("")
        self.empty.setMinimumWidth(1)
        self.pages = stacked(self.empty, self.page)
        column(self.pages, parent=self)
        theme.follow(self._apply_style)

    def _apply_style(self) -> None:
        rows = _LEAST_ROWS * self.table.verticalHeader().defaultSectionSize()
        self.page.set_least(self.table, self.table.horizontalHeader().sizeHint().height() + rows)
        self.page.set_least(self.view, self._theme.scaled(_LEAST_PIECES))


def _same_but_length(one: _Key, other: _Key | None) -> bool:
    """Whether only the run has grown since; then the current work is worth finishing."""
    return other is not None and (one[0], *one[2:]) == (other[0], *other[2:])
