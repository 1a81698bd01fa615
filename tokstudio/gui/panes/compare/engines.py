"""The ids of other libraries beside ours: a row for each text, and the first line that differs with its cause."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
from PySide6.QtCore import QModelIndex, QObject, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QWidget

from tokstudio.core.base.progress import Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import several
from tokstudio.core.comparison.alignment import CutText
from tokstudio.core.comparison.engine_table import OURS, TOKENS_OF_LINES, DifferentLine, EngineTable
from tokstudio.core.comparison.engines import OpenedFiles, engines_work
from tokstudio.core.corpus.source import Source
from tokstudio.core.formats.known_formats import FORMATS
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.core.warm_up import prepare_work
from tokstudio.gui.panes.compare.stacked_lines import Stack, StackedLines, StackedRow
from tokstudio.gui.session.measuring.compared import ComparedColumn
from tokstudio.gui.session.measuring.exploring import Inquiry
from tokstudio.gui.session.session import Session
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.controls import ChoiceBox, WholeLines
from tokstudio.gui.widgets.figures import FigureModel, ReadOnlyTable
from tokstudio.gui.widgets.labels import in_a_sentence, named, paragraph_label, plain_label
from tokstudio.gui.widgets.layouts import STRETCH, column, row, stacked
from tokstudio.gui.widgets.menus import push_button
from tokstudio.gui.widgets.pane import EmptyState
from tokstudio.gui.widgets.work_line import WorkLine

_WILL_SHOW = (
    "tokenizers, transformers, tiktoken, sentencepiece and llama.cpp encode the texts here beside TokStudio: how many "
    "lines get other ids, the first of them, and why. Run starts them."
)
_NO_TOKENIZER = "Only tokenizers with tokens can be compared: train one, or open one."
_READING = "The texts are being read…"
_NO_TEXT = "There is no text in this set: choose other texts."
_CHANGED = "The tokenizer or the texts have changed since: Run compares again."
_PHASES = {
    "comparing libraries": "Asking the libraries",
    "finding lines": "Finding lines",
    "encoding": "Encoding",
    "looking for causes": "Looking for causes",
}
_CELLS = f"Lines with other ids, and tokens more or less. {TOKENS_OF_LINES}"
_LONGEST = 3_000  # characters of a line that are shown
_NARROWEST, _WIDEST = 70, 360  # pixels of the choice of a tokenizer


class EngineRows(FigureModel):
    """A row for each text and one for all, a column for each library."""

    def __init__(self, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(theme, parent)
        self.table: EngineTable | None = None

    def show(self, table: EngineTable | None) -> None:
        """Shows another table."""
        with self.reset():
            self.table = table
            columns = () if table is None else table.shown
            self.titles = [] if table is None else ["Text", OURS, *(each.name for each in columns)]
            self.tips = ["", "Tokens of the text", *(f"{each.name} {each.version}\n{_CELLS}" for each in columns)]
            self.numbers = range(1, len(self.titles))

    @property
    def _shown(self) -> EngineTable:
        assert self.table is not None
        return self.table

    def count(self) -> int:
        return 0 if self.table is None else len(self.table.rows) + (len(self.table.rows) > 1)

    def text(self, row: int, column: int) -> str:
        table = self._shown
        whole = row == len(table.rows)
        if column == 0:
            return "All texts" if whole else in_a_sentence(table.rows[row].name)
        if column == 1:
            tokens = sum(each.tokens for each in table.rows) if whole else table.rows[row].tokens
            return "–" if not whole and table.rows[row].problem else several(tokens, "token")
        engine = table.shown[column - 2]
        return table.total_text(engine) if whole else table.cell_text(row, engine)

    def tip(self, row: int, column: int) -> str:
        return "" if column < 2 else self._shown.column_text(self._shown.shown[column - 2])

    def colour(self, row: int, column: int) -> str | None:
        if column < 2:
            return None
        engine, palette = self._shown.shown[column - 2], self._theme.palette
        if engine.problem:
            return palette.error if engine.failed else palette.muted
        whole = row == len(self._shown.rows)
        differing = engine.differing if whole else engine.cells[row].differing
        return palette.error if differing else None


@dataclass(frozen=True, eq=False)
class _Answer:
    """What a job has found: the table, and the first line that differs of each cell, by its row and column."""

    table: EngineTable
    stacks: Mapping[tuple[int, int], Stack]
    asked: object


class EnginesView(QWidget):
    """Follows the tokenizers and the texts of the comparison; asks the libraries when Run is pressed."""

    tokenAsked = Signal(str, int)  # to show a token: the name of the tokenizer, and the id

    def __init__(self, session: Session, theme: Theme, save: QAction) -> None:
        super().__init__()
        self._session, self._state = session, session.comparison
        self._answer: _Answer | None = None
        self.asked = Inquiry(session.jobs, self)
        self.asked.changed.connect(self._take)
        self.tokenizer = named(ChoiceBox(()), "Tokenizer")
        self.tokenizer.setMinimumWidth(theme.scaled(_NARROWEST))
        self.tokenizer.setMaximumWidth(_WIDEST)
        self.tokenizer.currentIndexChanged.connect(self._say)
        self.run = push_button("&Run", self._run, "Let the other libraries encode the texts")
        self.save = named(push_button("CS&V…", save.trigger, save.statusTip()), "Save as CSV")
        self.rows = EngineRows(theme, self)
        self.table = ReadOnlyTable("Ids of other libraries", self.rows, self._about)
        self.table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectItems)
        self.table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.table.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        self.table.selectionModel().currentChanged.connect(self._show_cell)
        self.told = named(WholeLines(readOnly=True), "What was found")
        self.told.setTabChangesFocus(True)
        self.lines = StackedLines(theme)
        self.lines.tokenAsked.connect(self._ask_token)
        self.note = paragraph_label("muted")
        self.work = WorkLine("Libraries", theme, _PHASES, lambda: self.asked.progress, self.asked.cancel, self._run)
        self.empty = EmptyState(_WILL_SHOW)
        self.empty.setMinimumWidth(1)
        found = QWidget()
        column((self.table, 3), (self.told, 1), (self.lines, 2), spacing=6, parent=found)
        self._stack = stacked(self.empty, found)
        bar = row(plain_label("muted", "Tokenizer"), (self.tokenizer, 20), 8, self.run, self.save, STRETCH)
        column(bar, (self._stack, 1), self.note, self.work, spacing=8, parent=self)
        theme.follow(lambda: self.table.set_row_height(theme.scaled(24)))

    def refresh(self) -> None:
        """Follows what is compared; call it while the view is visible."""
        if self._answer is not None and self._answer.table is not self._state.engines:
            self._answer = None  # another project was opened
            self.rows.show(None)
        active = self._session.runs.active
        names = [each.name for each in self._columns]
        if names != [choice.name for choice in self.tokenizer.choices]:
            at = names.index(active.name) if active is not None and active.name in names else 0
            self.tokenizer.set_names(names, at)
        self._say()

    # ---- asking

    @property
    def _columns(self) -> list[ComparedColumn]:
        """What is compared and has a file; not kept, so that a deleted run is released."""
        return [each for each in self._state.columns if isinstance(each.tokenizer, Tokenizer)]

    @property
    def _chosen(self) -> ComparedColumn | None:
        at, columns = self.tokenizer.currentIndex(), self._columns
        return columns[at] if 0 <= at < len(columns) else None

    @property
    def _question(self) -> object:
        """What Run would ask now."""
        chosen = self._chosen
        return None if chosen is None else (chosen.name, chosen.key, tuple(t.sha256 for t in self._state.rows or ()))

    def _run(self) -> None:
        chosen, texts = self._chosen, self._state.rows
        if chosen is None or not texts:
            return
        assert isinstance(chosen.tokenizer, Tokenizer)
        sources = {text.name: text.source for text in texts}
        opened = self._opened(chosen)
        self.asked.ask(object(), partial(_answer_work, chosen.tokenizer, sources, chosen.name, opened, self._question))
        self._say()

    def _opened(self, chosen: ComparedColumn) -> OpenedFiles | None:
        """The files that a tokenizer was opened from, if they are those of it as it is."""
        run = next((run for run in self._session.runs.shown if run.name == chosen.name), None)
        if run is None or run.origin is None or run.origin.change:
            return None
        whole = isinstance(chosen.tokenizer, Tokenizer) and len(chosen.tokenizer.merges) == len(run)
        is_there = bool(run.origin.files) and all(file.is_file() for file in run.origin.files)
        names = [name for name, each in FORMATS.items() if each.title == run.origin.format]
        return OpenedFiles(names[0], run.origin.files) if whole and is_there and names else None

    def _take(self) -> None:
        answer: _Answer | None = self.asked.answer
        if answer is not None and answer is not self._answer:
            self._answer = answer
            self.rows.show(answer.table)
            self._state.keep_engines(answer.table)
            first = next(iter(answer.stacks), None)
            self.lines.show_stack(None)
            if first is not None:
                self.table.setCurrentIndex(self.rows.index(first[0], first[1] + 2))
            self._show_cell()
        self._say()

    def _say(self) -> None:
        """Shows what is there, and says what is going on, or missing."""
        chosen, rows, asked = self._chosen, self._state.rows, self.asked
        said = _NO_TOKENIZER if chosen is None else _READING if rows is None else "" if rows else _NO_TEXT
        self.run.setEnabled(not said and not asked.busy)
        if not said and self._answer is not None and self._answer.asked != self._question:
            said = _CHANGED
        self.save.setEnabled(self._state.engines is not None)
        self._stack.setCurrentIndex(0 if self._answer is None else 1)
        self.note.setText(said)
        self.note.setVisible(bool(said))
        self.work.show_state(asked.busy, asked.problem)

    # ---- what was found

    def _show_cell(self, current: QModelIndex | None = None, _: QModelIndex | None = None) -> None:
        """Shows what was found in a cell: the first line that differs, stacked, and the library."""
        if self._answer is None:
            return
        table, index = self._answer.table, self.table.currentIndex() if current is None else current
        at, number = index.row(), index.column() - 2
        engine = table.shown[number] if 0 <= number < len(table.shown) else None
        said = [] if engine is None else [table.column_text(engine)]
        first = engine.cells[at].first if engine is not None and 0 <= at < len(engine.cells) else None
        if engine is not None and first is not None:
            said.insert(0, f"{in_a_sentence(table.rows[at].name)}, {first.place}: {first.cause}.")
        if engine is None:
            said = [*map(table.column_text, table.columns), *table.notes]
        self.told.setPlainText("\n".join(said))
        stack = self._answer.stacks.get((at, number))
        self.lines.show_stack(stack)
        self.lines.setVisible(stack is not None)

    def _about(self) -> Sequence[str]:
        table = self.rows.table
        return [] if table is None else [f"{table.tokenizer}: {_CELLS}", table.versions]

    def _ask_token(self, _: str, token: int) -> None:
        if self._answer is not None:
            self.tokenAsked.emit(self._answer.table.tokenizer, token)


def _answer_work(
    tokenizer: Tokenizer, texts: dict[str, Source], name: str, opened: OpenedFiles | None, asked: object
) -> Work[_Answer]:
    yield from prepare_work()
    table = yield from engines_work(tokenizer, texts, name, opened)
    stacks: dict[tuple[int, int], Stack] = {}
    for number, engine in enumerate(table.shown):
        for at, cell in enumerate(engine.cells):
            if cell.first is not None:
                stacks[at, number] = _stack(tokenizer, engine.name, cell.first)
    return _Answer(table, dict(sorted(stacks.items())), asked)


def _stack(tokenizer: Tokenizer, name: str, line: DifferentLine) -> Stack:
    text = line.text[:_LONGEST]
    rows = [_row(tokenizer, each, text, ids) for each, ids in ((OURS, line.ours), (name, line.theirs))]
    return Stack(text, rows)


def _row(tokenizer: Tokenizer, name: str, text: str, ids: Sequence[int]) -> StackedRow:
    """The tokens of a line where they spell it; else their ids. Tokens around it are empty at its ends."""
    raw, specials, tokens = text.encode(), frozenset(tokenizer.special_tokens.values()), tokenizer.tokens
    spelled = [tokens[token] or b"" if token < len(tokens) else b"" for token in ids]
    if b"".join(spelled) != raw:
        around = [number for number, token in enumerate(ids) if token not in specials]
        first, last = (around[0], around[-1]) if around else (0, -1)
        spelled = [token if first <= number <= last else b"" for number, token in enumerate(spelled)]
    if not b"".join(spelled).startswith(raw):
        return StackedRow(name, None, f"These ids do not spell the line: {' '.join(map(str, ids[:40]))}")
    ends = np.cumsum([len(token) for token in spelled], dtype=np.int64)
    return StackedRow(name, CutText(np.array(ids, np.uint32), np.minimum(ends, len(raw))))
