"""One line of a text in every compared tokenizer, one below another; goes through the lines of the text."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtWidgets import QBoxLayout, QWidget

from tokstudio.core.analysis.baselines import SimpleTokenizer
from tokstudio.core.analysis.token_store import TokenStore
from tokstudio.core.base.errors import TokStudioError
from tokstudio.core.base.progress import Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import several
from tokstudio.core.comparison.alignment import cut_work, difference, line_text, lines_work, tokens_of_lines_work
from tokstudio.core.comparison.texts import ComparedText
from tokstudio.core.corpus.source import Source
from tokstudio.core.warm_up import prepare_work
from tokstudio.gui.panes.compare.stacked_lines import Stack, StackedLines, StackedRow
from tokstudio.gui.session.common.jobs import LatestJob
from tokstudio.gui.session.measuring.compared import ComparedColumn
from tokstudio.gui.session.session import Session
from tokstudio.gui.style.icons import icon
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.controls import ChoiceBox, Number
from tokstudio.gui.widgets.labels import named, paragraph_label, plain_label
from tokstudio.gui.widgets.layouts import STRETCH, Fitting, column, give_way, row, stacked
from tokstudio.gui.widgets.menus import push_button, tool_button
from tokstudio.gui.widgets.pane import EmptyState

if TYPE_CHECKING:
    from numpy.typing import NDArray

LONGEST = 3_000  # characters of a line that are shown

_NARROWEST = 70  # pixels of the choice of a text
_NARROW, _NARROWER = 440, 350  # pixels of a view with one line of choices, and with all of the second of two
_READING = "The texts are being read…"
_NO_TEXT = "One line of text is shown here in each tokenizer. Open a text, or choose other texts."
_LEGEND = "A blue line is a border of tokens that not all of these tokenizers have."
_ONE = "Show a second tokenizer to see where they differ."
_EMPTY_LINE = "This line is empty."
_RANKED = "Line {:,} by difference: the most tokens are {:.2f} times the fewest."


@dataclass(frozen=True, eq=False)
class _Shown:
    """What a job has made of a line."""

    lines: NDArray[np.int64]  # of the text, int64 [lines, 2]
    stack: Stack
    shortened: bool


class SameTextView(Fitting, QWidget):
    """A line in every compared tokenizer."""

    tokenAsked = Signal(str, int)  # to show a token: the name of the tokenizer, and the id

    def __init__(self, session: Session, theme: Theme) -> None:
        super().__init__()
        self._state, self._store, self._theme = session.comparison, session.store, theme
        self._listed: list[tuple[str, str]] = []  # the hash and the name of each text
        self._lines: NDArray[np.int64] | None = None  # of the chosen text
        self._asked: object = None
        self._ordered: tuple[object, NDArray[np.int64]] | None = None  # texts and tokenizers, the lines by difference
        self._rank = -1  # of the line among those that differ, if it was reached in their order
        self.texts = named(ChoiceBox(()), "Text")
        self.texts.currentIndexChanged.connect(self._choose_text)
        self.line = named(Number(theme, 1), "Line")
        self.line.setKeyboardTracking(False)
        self.line.setMinimum(1)
        self.line.valueChanged.connect(self._choose_line)
        self.total = plain_label("muted")
        back, forth = (icon(name, theme) for name in ("previous", "next"))
        self.before = tool_button("Line before (Left)", back, name="Line before", clicked=lambda: self._step(-1))
        self.after = tool_button("Next line (Right)", forth, name="Next line", clicked=lambda: self._step(1))
        tip = "Go to the next of the lines that differ most: by most tokens to fewest (D)"
        self.differing = push_button("Differs &Most", self._go_to_difference, tip)
        self.lines = StackedLines(theme)
        self.lines.tokenAsked.connect(self.tokenAsked)
        self.lines.stepAsked.connect(self._step)
        self.lines.differenceAsked.connect(self.differing.click)
        self.note = paragraph_label("muted")
        give_way(self.note)
        self.empty = EmptyState(_NO_TEXT)
        self._of_line = plain_label("muted", "Line"), self.total
        lines = row(self._of_line[0], self.line, self.total, self.before, self.after, 8, self.differing, STRETCH)
        self._choices = row((self.texts, 1), lines, spacing=8)
        page = QWidget()
        column(self._choices, (self.lines, 1), self.note, spacing=8, parent=page)
        self._stack = stacked(self.empty, page)
        column(self._stack, parent=self)
        self._encoding = LatestJob(session.jobs, self, self._take, self._fail, quiet=True)
        self._counting = LatestJob(session.jobs, self, self._take_order, self._fail, asked=False)
        theme.follow(self.fit)

    def refresh(self) -> None:
        """Follows the texts and tokenizers that are compared; call it while the view is visible."""
        rows = self._state.rows
        if not rows:
            is_reading = rows is None and not self._state.problem and not self._state.cancelled
            self.empty.label.setText(_READING if is_reading else _NO_TEXT)
            self._stack.setCurrentIndex(0)
            return
        listed = [(each.sha256, each.name) for each in rows]
        if listed != self._listed:
            self._listed = listed
            self.texts.set_names([each.name for each in rows])
            self._forget_lines()
        self._stack.setCurrentIndex(1)
        self.differing.setEnabled(len(_counted(self._state.columns)) > 1)
        self._encode()

    def fit(self) -> None:
        """Puts the choice of the line below that of the text in a narrow view, and leaves out what has no room."""
        self.texts.setMinimumWidth(self._theme.scaled(_NARROWEST))
        narrow = self.width() < self._theme.scaled(_NARROW)
        direction = QBoxLayout.Direction.TopToBottom if narrow else QBoxLayout.Direction.LeftToRight
        self._choices.setDirection(direction)
        for label in self._of_line:
            label.setVisible(self.width() >= self._theme.scaled(_NARROWER))
        self.note.setVisible(self.height() > self._theme.scaled(150))

    # ---- the line

    @property
    def _text(self) -> ComparedText | None:
        """The chosen text; None while the texts are read."""
        rows, at = self._state.rows or (), self.texts.currentIndex()
        return rows[at] if 0 <= at < len(rows) else None

    def _choose_text(self) -> None:
        self._forget_lines()
        self._encode()

    def _forget_lines(self) -> None:
        self._lines, self._asked, self._rank = None, None, -1
        self._counting.cancel()

    def _choose_line(self) -> None:
        self._rank = -1
        self._encode()

    def _step(self, by: int) -> None:
        self.line.setValue(self.line.value() + by)

    def _encode(self) -> None:
        columns, text, number = self._state.columns, self._text, self.line.value() - 1
        if text is None:
            return
        asked = text.sha256, number, tuple((each.name, each.key) for each in columns)
        if asked != self._asked:
            self._asked = asked
            self._encoding.run(partial(_shown_work, text, self._lines, number, columns))

    def _take(self, shown: _Shown) -> None:
        self._lines = shown.lines
        most = max(len(shown.lines), 1)
        with QSignalBlocker(self.line):
            self.line.setMaximum(most)
        self.total.setText(f"of {most:,}")
        self.line.setToolTip(f"One of {several(most, 'line')}")
        at = self.line.value()
        self.before.setEnabled(at > 1)
        self.after.setEnabled(at < most)
        self.lines.show_stack(shown.stack)
        said = [] if shown.stack.text else [_EMPTY_LINE]
        if shown.shortened:
            said.append(f"The line is long: its first {LONGEST:,} characters are shown and counted.")
        compared = [each for each in shown.stack.rows if not each.simple]
        said.append(_LEGEND if len(compared) > 1 else _ONE)
        if self._rank >= 0:
            counts = [len(each.cut.ids) for each in compared if each.cut is not None]
            if min(counts, default=0):
                said.append(_RANKED.format(self._rank + 1, max(counts) / min(counts)))
        self.note.setText(" ".join(said))

    def _fail(self, error: Exception) -> None:
        self._asked = None
        self.note.setText(str(error))

    # ---- the lines that differ

    def _go_to_difference(self) -> None:
        text, columns = self._text, _counted(self._state.columns)
        if text is None or self._lines is None or self._counting.busy:
            return
        asked = text.sha256, tuple(each.key for each in columns)
        if self._ordered is None or self._ordered[0] != asked:
            self.note.setText("Counting the tokens of all lines…")
            self._counting.run(partial(_order_work, asked, text.source, self._lines, columns, self._store))
            return
        order = self._ordered[1]
        if not len(order):
            self.note.setText("Fewer than two tokenizers can encode all lines of this text.")
            return
        rank = (self._rank + 1) % len(order)
        with QSignalBlocker(self.line):
            self.line.setValue(int(order[rank]) + 1)
        self._rank = rank
        self._asked = None
        self._encode()

    def _take_order(self, ordered: tuple[object, NDArray[np.int64]]) -> None:
        self._ordered = ordered
        self._go_to_difference()


def _counted(columns: Sequence[ComparedColumn]) -> list[ComparedColumn]:
    """The tokenizers that say how much a line differs: simple ones only if there are no two others."""
    able = [each for each in columns if each.tokenizer is not None]
    trained = [each for each in able if not isinstance(each.tokenizer, SimpleTokenizer)]
    return trained if len(trained) > 1 else able


def _shown_work(
    text: ComparedText, lines: NDArray[np.int64] | None, number: int, columns: Sequence[ComparedColumn]
) -> Work[_Shown]:
    yield from prepare_work()
    if lines is None:
        lines = yield from lines_work(text.source)
    line = ""
    if len(lines):
        begin, end = lines[min(number, len(lines) - 1)].tolist()
        line = line_text(text.source, np.array([begin, min(end, begin + 4 * (LONGEST + 1))]))
    rows: list[StackedRow] = []
    for each in columns:
        simple = each.tokenizer is None or isinstance(each.tokenizer, SimpleTokenizer)
        try:
            cut = yield from cut_work(each.tokenizer, line[:LONGEST])
            rows.append(StackedRow(each.name, cut, simple=simple))
        except TokStudioError as error:
            rows.append(StackedRow(each.name, None, str(error), simple))
    return _Shown(lines, Stack(line[:LONGEST], rows), len(line) > LONGEST)


def _order_work(
    asked: object, source: Source, lines: NDArray[np.int64], columns: Sequence[ComparedColumn], store: TokenStore
) -> Work[tuple[object, NDArray[np.int64]]]:
    """The lines that differ most first, for what was asked; none where fewer than two tokenizers can encode all."""
    counts: list[NDArray[np.int64]] = []
    for each in columns:
        assert each.tokenizer is not None
        find = partial(tokens_of_lines_work, each.tokenizer, source, lines)
        with suppress(TokStudioError):
            counts.append((yield from store.answer_work("lines", each.tokenizer, (source,), find)))
    counts = [each for each in counts if len(each)]
    order = np.argsort(-difference(np.stack(counts)), kind="stable") if len(counts) > 1 else np.empty(0, np.int64)
    return asked, order
