"""The Why pane: why a merge was made, its candidates, and the choices of other rules.

The core counts the pairs again, in the background. The merge is that of the current token.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QSize, Qt, QTimer
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QSizePolicy, QWidget

from tokstudio.core.analysis.why_this_merge import PairCount, WhyMerge, why_work
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import quoted_bytes
from tokstudio.core.guide.glossary import explained
from tokstudio.core.model.algorithms import TieBreak
from tokstudio.core.model.run import Run
from tokstudio.core.model.settings import TIE_RULES
from tokstudio.gui.panes.why.answer import BusyLine, MergeLine, RuleChoice, RuleGrid, RunnersModel
from tokstudio.gui.session.common.jobs import LatestJob
from tokstudio.gui.session.common.view_state import ViewState
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.token_table.view import FollowTable
from tokstudio.gui.token_text.spelling import whole_characters
from tokstudio.gui.token_text.token_chips import Chip
from tokstudio.gui.token_text.token_label import in_characters, token_label
from tokstudio.gui.widgets.labels import isolated, named, paragraph_label, plain_label
from tokstudio.gui.widgets.layouts import STRETCH, Fitting, TallBody, column, row, set_tab_order, stacked
from tokstudio.gui.widgets.menus import link_button, push_button
from tokstudio.gui.widgets.pane import EmptyState, HeaderTabs, Pane

# --- Determines the merge that the Why pane explains, or why there is none --------------------------------------------

_ASK = "to see the candidate pairs and the rule that decided."
_NO_RUN = f"Train a tokenizer, and choose a merge {_ASK}"
_NO_TOKEN = f"Choose a merge, or a token that a merge made, {_ASK}"
_OF_THE_START = "The tokenizer that training started from has this merge: it was not chosen here."
_NOT_BEGUN = "The corpus is being read. Its pairs can be counted once merging has begun."
_NO_CORPUS = "The corpus of this run is no longer available, so its pairs cannot be counted."


@dataclass(frozen=True, eq=False)
class Asked:
    """A merge of a run."""

    run: StudioRun
    number: int  # the merge, from 1
    made: Run | None  # the run so far; None if its training text is not available
    problem: str = ""  # why its pairs cannot be counted, in a sentence; "" if they can

    def same_as(self, other: Asked) -> bool:
        """Whether another question is about the same merge, with the same availability."""
        return (self.run, self.number, self.problem) == (other.run, other.number, other.problem)

    @property
    def token(self) -> int:
        """The id of the token of the merge."""
        return self.run.id_of_merge(self.number)


def asked(view: ViewState) -> Asked | str:
    """Returns the merge of the token that was chosen last, or a sentence why there is none."""
    run, token = view.run, view.chosen
    if run is None:
        return _NO_RUN
    if not run.has_counts:
        return run.why_no_merges or run.why_no_counts(" of candidate pairs")
    if token is None:
        return _NOT_BEGUN if not run.ready else _NO_TOKEN
    number = run.merge_of(token)
    if number is None:
        return _no_merge(run, token)
    if number <= run.before:
        return _OF_THE_START
    if run.corpus_problem is not None:
        return Asked(run, number, None, f"{run.corpus_problem}, and its pairs cannot be counted.")
    if run.corpus is None:
        return Asked(run, number, None, _NO_CORPUS)
    run_so_far = run.so_far()
    return Asked(run, number, run_so_far, "" if run_so_far is not None else _NOT_BEGUN)


def _no_merge(run: StudioRun, token: int) -> str:
    for text, number in run.special_tokens.items():
        if number == token:
            return f"{quoted_bytes(text.encode())} is a special token: no merge made it."
    tokens = run.tokenizer.tokens
    if not tokens.in_use(token):
        return _NO_TOKEN
    text = quoted_bytes(tokens[token] or b"")
    return f"{text if text[0] in _QUOTES else f'The byte {text}'} is a base token: no merge made it."


_RUNNERS_UP = 20
_PATIENCE = 150  # milliseconds of work before a message is shown
_QUOTES = "'\""
_KEPT = 64  # cached answers
_LABEL = 200  # characters of a token
_ROWS = 3  # rows of the table that are always visible
_TABS = {
    "Runners-up": "The pairs that the merge was chosen from",
    "Other rules": explained("The pair that each other rule would have chosen", "tie-rule"),
}
_HINT = "Choose a pair to see whether it was merged later."
_BUSY = "Merges are repeated to count all pairs as they were before this one."
_PHASES = {
    "compiling": "Compiling the engine",
    "loading": "Loading the engine",
    "hashing": "Checking that the corpus is the same",
    "reading": "Reading the text",
    "cutting": "Looking for special tokens",
    "holding out": "Holding out text",
    "splitting": "Splitting the text",
    "joining": "Combining the counts",
    "counting": "Counting pairs",
    "laying out": "Preparing the tokens",
    "repeating": "Making the merges again",
    "comparing": "Comparing tied pairs",
}


class WhyPane(Fitting, Pane):
    """One merge and its candidates."""

    def __init__(self, session: Session, theme: Theme, actions: Mapping[str, QAction]) -> None:
        super().__init__("why", "Why")
        self._runs, self._view = session.runs, session.view
        self._asked: Asked | None = None
        self._answer: WhyMerge | None = None
        self._known: dict[tuple[StudioRun, int], WhyMerge] = {}
        self._characters = actions["byte_level_characters"]
        self._latest = LatestJob(session.jobs, self, self._take, self._fail, quiet=True)
        self._settled = QTimer(self, singleShot=True, interval=session.jobs.pauses.merge)
        self._settled.timeout.connect(self._begin)
        self._patience = QTimer(self, singleShot=True, interval=_PATIENCE)
        self._patience.timeout.connect(self._say_busy)
        self._build(theme)
        self._characters.toggled.connect(self._rewrite)
        session.view.token_changed.connect(self.catch_up)
        session.runs.changed.connect(self._runs_changed)
        session.training.state_changed.connect(self.catch_up)
        theme.follow(self._apply_style)
        self.catch_up()

    def sizeHint(self) -> QSize:
        """Returns the size of the Token pane, which shares its place."""
        return QSize(380, 320)

    @property
    def busy(self) -> bool:
        """Whether an answer is being computed."""
        return self._settled.isActive() or self._latest.busy

    def catch_up(self) -> None:
        """Shows the merge of the current token; does nothing while hidden."""
        if not self.seen:
            return
        now = asked(self._view)
        if isinstance(now, str):
            self._clear_answer()
            self.empty.label.setText(now)
            self.number.setText("")
            self.tabs.hide()
            self.pages.setCurrentWidget(self.empty)
            return
        before, self._asked = self._asked, now
        if before is not None and before.same_as(now):
            return
        self._stop()
        self.tabs.show()
        self.pages.setCurrentWidget(self.page)
        self._show_merge(now)
        answer = self._known.get((now.run, now.number))
        if answer is not None:
            self._show(answer)
        elif now.problem:
            self._say(now.problem, again=False)
        else:
            self.parts.setCurrentWidget(self._blank)
            self._settled.start()

    def copy(self) -> None:
        """Copies the chosen pairs, or all of them."""
        if self.table.current_row < 0:
            self.table.selectAll()
        self.table.copy()

    # ---- the answer

    def _begin(self) -> None:
        question = self._asked
        if question is None or question.made is None or question.run.corpus is None:
            return
        corpus, run_so_far, number = question.run.corpus, question.made, question.number
        self._patience.start()
        self._latest.run(lambda: why_work(corpus, run_so_far, number, _RUNNERS_UP))

    def _take(self, answer: WhyMerge) -> None:
        if self._asked is not None:
            if len(self._known) >= _KEPT:
                del self._known[next(iter(self._known))]
            self._known[self._asked.run, self._asked.number] = answer
            self._show(answer)

    def _fail(self, error: Exception) -> None:
        self._say(str(error) or type(error).__name__, again=True)

    def _say_busy(self) -> None:
        if self._latest.busy:
            self.parts.setCurrentWidget(self.busy_line)

    def _say(self, problem: str, *, again: bool) -> None:
        self._patience.stop()
        self.problem.setText(problem)
        self.again.setVisible(again)
        self.parts.setCurrentWidget(self._problem_page)

    def _show_merge(self, question: Asked) -> None:
        """Shows the part that needs no counting."""
        run, number = question.run, question.number
        left, right = run.merges[number - 1].tolist()
        self.line.set_merge(*(Chip(token, self._label(run, token)) for token in (left, right, question.token)))
        self.number.setText(f"merge {number:,}")
        self.fit()

    def _show(self, answer: WhyMerge) -> None:
        question = self._asked
        assert question is not None
        self._patience.stop()
        self._answer = answer
        self.reason.setText(answer.reason)
        tied = answer.tied > 1
        others: list[TieBreak] = [rule for rule in TIE_RULES if tied and rule != answer.rule]
        self.caption.setVisible(not tied)
        self.rules.set_choices([self._choice(question.run, answer, rule) for rule in others])
        self.rules.setVisible(tied)
        self.model.set_answer(question.run, answer)
        self.table.refit()
        self.page.fit_inner()
        self.table.show_row(-1)
        self.table.verticalScrollBar().setValue(0)
        self._show_later(-1)
        self.parts.setCurrentWidget(self.answer_page)

    def _choice(self, run: StudioRun, answer: WhyMerge, rule: TieBreak) -> RuleChoice:
        pair = answer.choices[rule]
        return RuleChoice(TIE_RULES[rule][0], self._pair(run, pair), pair == answer.chosen)

    def _show_later(self, row: int) -> None:
        """Says what became of the pair in a row."""
        number = self.model.merge_at(row) if row > 0 else 0
        if row <= 0:
            text = _HINT if row else "This is the pair that was merged."
        elif number:
            text = "Merged later."
        else:
            text = "Not merged in this run." if self.model.run is None or self.model.run.ended else "Not merged so far."
        self.later.setText(text)
        self.go.setText(f"Go to merge {number:,}")
        self.go.setVisible(bool(number))

    def _go_to(self) -> None:
        token = self.model.token_at(self.table.current_row)
        if token is not None:
            self._view.look_at(token)

    def leave(self) -> None:
        self._clear_answer()

    def _runs_changed(self) -> None:
        runs = self._runs.shown
        self._known = {key: answer for key, answer in self._known.items() if key[0] in runs}
        if self.model.run in runs:
            self.model.grow()
        else:
            self.model.set_answer(None, None)
        self.catch_up()

    def _rewrite(self) -> None:
        self.model.set_in_characters(self._characters.isChecked())
        if self._asked is not None and self._answer is not None:
            self._show_merge(self._asked)
            self._show(self._answer)

    def _stop(self) -> None:
        self._settled.stop()
        self._patience.stop()
        self._latest.cancel()
        self._answer = None

    def _clear_answer(self) -> None:
        self._stop()
        self._asked = None
        self.model.set_answer(None, None)

    def _ask_again(self) -> None:
        self._asked = None
        self.catch_up()

    def _cancel(self) -> None:
        self._latest.cancel()
        self._say("Cancelled.", again=True)

    # ---- texts

    def _label(self, run: StudioRun, token: int) -> str:
        tokens = run.tokenizer.tokens
        raw = whole_characters(tokens.prefix(token, 4 * _LABEL + 4), 4 * _LABEL)
        label = in_characters if self._characters.isChecked() and run.byte_level else token_label
        return label(raw, _LABEL)

    def _pair(self, run: StudioRun, pair: PairCount) -> str:
        return " + ".join(isolated(self._label(run, token)) for token in (pair.left, pair.right))

    def _build(self, theme: Theme) -> None:
        self.empty = EmptyState("")
        self.empty.setMinimumWidth(1)
        self.line = named(MergeLine(theme), "Merge")
        self.line.clicked.connect(self._view.look_at)
        self.number = plain_label("muted")
        self.number.setMinimumWidth(1)
        self.tabs = HeaderTabs("Runners-up or other rules", _TABS)
        self.header.insertWidget(1, self.tabs)
        self.header.addWidget(self.number)
        self._blank = QWidget()
        self.busy_line = BusyLine(_BUSY, lambda: self._latest.progress, _PHASES)
        self.busy_line.cancelAsked.connect(self._cancel)
        self.parts = stacked(self._blank, self.busy_line, self._build_answer(theme), self._build_problem())
        content = QWidget()
        column(self.line, (self.parts, 1), spacing=8, parent=content)
        self.page = TallBody(content, self.table)
        self.pages = stacked(self.empty, self.page)
        self.body.addWidget(self.pages)
        set_tab_order(self.tabs, *self.line.buttons, self.busy_line.cancel, self.table, self.go, self.again)

    def _build_answer(self, theme: Theme) -> QWidget:
        self.reason, self.later = paragraph_label(), paragraph_label("muted")
        self.caption = paragraph_label("muted", "There was no tie: every rule would have chosen the same pair.")
        self.reason.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.rules = RuleGrid(theme, len(TIE_RULES))
        self.rules.hide()
        self.model = RunnersModel(self)
        self.model.set_in_characters(self._characters.isChecked())
        self.table = FollowTable(self.model, theme, "Pairs that could have been merged")
        self.table.rowChosen.connect(self._show_later)
        self.table.rowActivated.connect(self._go_to)
        self.go = link_button("Go to merge", self._go_to)
        self.go.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.answer_page, runners, rules = QWidget(), QWidget(), QWidget()
        column((self.table, 1), row((self.later, 1), self.go), spacing=6, parent=runners)
        column(self.caption, self.rules, STRETCH, parent=rules)
        self.views = stacked(runners, rules)
        self.tabs.currentChanged.connect(self.views.setCurrentIndex)
        column(self.reason, (self.views, 1), spacing=6, parent=self.answer_page)
        return self.answer_page

    def _build_problem(self) -> QWidget:
        self.problem = paragraph_label()
        self.again = push_button("Try Again", self._ask_again)
        self._problem_page = QWidget()
        content = (self.problem, (self.again, Qt.AlignmentFlag.AlignLeft), STRETCH)
        column(*content, margins=(0, 4, 0, 0), parent=self._problem_page)
        return self._problem_page

    def fit(self) -> None:
        """Hides the number if the tabs leave no room for it: the Token pane shows it too."""
        shown = [part for part in (self.title, self.tabs, self.number) if part is self.number or not part.isHidden()]
        needed = sum(part.sizeHint().width() + self.header.spacing() for part in shown)
        margins = self.header.contentsMargins()
        self.number.setVisible(needed + margins.left() + margins.right() <= self.width())

    def _apply_style(self) -> None:
        rows = _ROWS * self.table.verticalHeader().defaultSectionSize()
        self.page.set_least(self.table, rows + self.table.horizontalHeader().height())
        # As high with the link as without it, so that the table does not move below the pointer.
        self.later.setMinimumHeight(self.go.sizeHint().height())
        self.fit()
