"""The page Clean Up: what a tokenizer should perhaps not learn from, a row for each rule, and a training without it."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np
from PySide6.QtCore import QModelIndex, QObject, Qt, Signal
from PySide6.QtGui import QFont, QKeyEvent
from PySide6.QtWidgets import QHeaderView, QWidget

from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.wording import percent_text, several, size_text
from tokstudio.core.corpus.rules import RULES
from tokstudio.core.corpus.source import Source
from tokstudio.core.exploration.exploration import Exploration
from tokstudio.core.exploration.findings import OWNED, OWNERS, Finding
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.gui.panes.explore.page import ExplorePage
from tokstudio.gui.session.measuring.exploring import Inquiry, WrittenTable, table_work
from tokstudio.gui.session.session import Session
from tokstudio.gui.session.training.cleaning import outcome_note, outcome_text
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.token_text.spelling import marked, shown
from tokstudio.gui.token_text.token_chips import Chip, TokenChips
from tokstudio.gui.widgets.figures import FigureModel, Index, ReadOnlyTable
from tokstudio.gui.widgets.labels import in_a_sentence, isolated, named, paragraph_label, plain_label
from tokstudio.gui.widgets.layouts import Fitting, column, row, stacked
from tokstudio.gui.widgets.menus import link_button, push_button
from tokstudio.gui.widgets.pane import EmptyState

# --- What is found, and the sum of what is ticked ---------------------------------------------------------------------

RULE, FOUND, BYTES, SHARE, TOKENS = range(5)
_TITLES = ("Rule", "Finds", "Bytes", "Share", "Tokens")
_TIPS = (
    "Tick what is to be left out",
    "The documents or lines that the rule finds by itself",
    "Their bytes",
    "Their share of the text",
    "Tokens that live from it: 90 % of their uses lie there",
)
_OWNERS_TEST = f"documents that have 90 % of the uses of more than {OWNED} tokens, bytes and special tokens apart"


# What a rule would find, where it found none of that and its name alone does not say it.
_NONE_OF = {"control": "control characters", "rare-script": "rare scripts", OWNERS: "documents that own many tokens"}


def test_of(rule: str) -> str:
    """What a rule finds, as a phrase."""
    if rule == OWNERS:
        return _OWNERS_TEST
    known = RULES[rule]
    return known.test if known.threshold is None else known.test.format(f"{known.threshold:g}")


def amount_text(documents: int, lines: int) -> str:
    """Documents and lines, of which there is at least one: "12 documents and 3 lines"."""
    amounts = [several(documents, "document")] if documents else []
    return " and ".join([*amounts, *([several(lines, "line")] if lines else [])])


class Sum(NamedTuple):
    """What some rules find together, each document and line once."""

    documents: int
    lines: int
    bytes: int


def sum_work(findings: Sequence[Finding], sizes: Sequence[int]) -> Work[Sum]:
    """Adds what some rules find in sources of these sizes; lines in documents that go do not count again."""
    yield Progress("adding")
    firsts = np.cumsum([0, *sizes])
    marks = [each.marked for each in findings]
    source = np.concatenate([each.source for each in marks])
    start, stop = (
        np.concatenate([array for array in arrays]) + firsts[source]
        for arrays in ([each.start for each in marks], [each.stop for each in marks])
    )
    is_line = np.concatenate([each.line for each in marks]) >= 0
    order = np.lexsort((is_line, -stop, start))
    start, stop, is_line = start[order], stop[order], is_line[order]
    yield Progress("adding")
    # Spans are equal, one within another, or apart.
    before = np.concatenate([np.zeros(1, np.int64), np.maximum.accumulate(stop)[:-1]])
    counts = stop > before
    lines = int(np.count_nonzero(counts & is_line))
    return Sum(int(np.count_nonzero(counts)) - lines, lines, int((stop - start)[counts].sum()))


class FindingRows(FigureModel):
    """A row for each rule that finds something, with a box to tick."""

    titles = _TITLES
    tips = _TIPS
    numbers = range(FOUND, TOKENS + 1)
    ticked = Signal()  # a box

    def __init__(self, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(theme, parent)
        self.findings: tuple[Finding, ...] = ()
        self.chosen: set[str] = set()  # names of rules
        self._size = 0
        self._has_tokens = False

    def show(self, findings: tuple[Finding, ...], size: int, has_tokens: bool) -> None:
        """Lists what was found in a text of `size` bytes."""
        with self.reset():
            self.findings, self._size, self._has_tokens = findings, size, has_tokens
            self.chosen &= {each.rule for each in findings}

    @property
    def chosen_findings(self) -> tuple[Finding, ...]:
        """What the ticked rules find."""
        return tuple(each for each in self.findings if each.rule in self.chosen)

    def toggle(self, row: int) -> None:
        """Ticks a row, or takes its tick away."""
        self.chosen ^= {self.findings[row].rule}
        self.tell(row, row)
        self.ticked.emit()

    def untick(self) -> None:
        """Takes all ticks away."""
        if self.chosen:
            self.chosen = set()
            self.tell()
            self.ticked.emit()

    def count(self) -> int:
        return len(self.findings)

    def text(self, row: int, column: int) -> str:
        finding = self.findings[row]
        if column == FOUND:
            return amount_text(0 if finding.lines else finding.documents, finding.lines)
        if column == TOKENS:
            return f"{len(finding.tokens):,}" if self._has_tokens else "–"
        share = percent_text(finding.bytes / self._size, 2) if self._size else "–"
        return finding.rule if column == RULE else f"{finding.bytes:,}" if column == BYTES else share

    def tip(self, row: int, column: int) -> str:
        finding = self.findings[row]
        where = f" in {several(finding.documents, 'document')}" if finding.lines else ""
        return f"{in_a_sentence(test_of(finding.rule))}\n{self.text(row, FOUND)}{where}"

    def more(self, row: int, column: int, role: int) -> object:
        if column == RULE and role == Qt.ItemDataRole.CheckStateRole:
            ticked = self.findings[row].rule in self.chosen
            return Qt.CheckState.Checked if ticked else Qt.CheckState.Unchecked
        return None

    def flags(self, index: Index) -> Qt.ItemFlag:
        usual = super().flags(index)
        return usual | Qt.ItemFlag.ItemIsUserCheckable if index.isValid() and index.column() == RULE else usual

    def setData(self, index: Index, value: object, role: int = Qt.ItemDataRole.EditRole) -> bool:
        if role != Qt.ItemDataRole.CheckStateRole or index.column() != RULE or not index.isValid():
            return False
        if (value == Qt.CheckState.Checked.value) != (self.findings[index.row()].rule in self.chosen):
            self.toggle(index.row())
        return True


class FindingTable(Fitting, ReadOnlyTable):
    """The table of findings; Space ticks."""

    least_rows = 3

    def __init__(self, model: FindingRows, theme: Theme) -> None:
        super().__init__("Findings")
        self._rows, self._theme = model, theme
        self._needed: list[int] = []  # pixels of each column
        self.setModel(model)
        self.setSelectionMode(ReadOnlyTable.SelectionMode.SingleSelection)
        model.modelReset.connect(self._measure)
        theme.follow(self._apply_style)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        at = self.currentIndex()
        if event.key() == Qt.Key.Key_Space and at.isValid():
            self._rows.toggle(at.row())
        else:
            super().keyPressEvent(event)

    def fit(self) -> None:
        """Gives each column a comfortable width, and less where there is little room."""
        around, room = self._theme.scaled(40), self.viewport().width()
        missing = min(0, room - sum(self._needed))
        spare = min(max(0, room - sum(self._needed)) // len(_TITLES), around)
        widths = [width + spare for width in self._needed]
        widths[RULE] = max(self._theme.scaled(60), widths[RULE] + missing)
        for at, width in enumerate(widths):
            self.setColumnWidth(at, width)

    def _measure(self) -> None:
        # Asks for every cell; a table is resized several times while it is laid out.
        header = self.horizontalHeader()
        self._needed = [max(self.sizeHintForColumn(at), header.sectionSizeHint(at)) for at in range(len(_TITLES))]
        self.fit()

    def _apply_style(self) -> None:
        self.set_row_height(self._theme.scaled(26))
        self._measure()


# --- Examples of a finding --------------------------------------------------------------------------------------------


_SHOWN = 200  # bytes of an example


class ExampleRows(FigureModel):
    """Where a rule finds something, and the text there."""

    titles = ("Place", "Text")

    def __init__(self, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(theme, parent)
        self.finding: Finding | None = None

    def show(self, finding: Finding | None) -> None:
        """Shows the examples of a finding."""
        with self.reset():
            self.finding = finding

    def count(self) -> int:
        return len(self.finding.examples) if self.finding is not None else 0

    def text(self, row: int, column: int) -> str:
        assert self.finding is not None
        example = self.finding.examples[row]
        return isolated(marked(shown(example.text.encode(), _SHOWN)) if column else example.place)

    def tip(self, row: int, column: int) -> str:
        return f"{self.text(row, 0)}\nEnter, or a double click, opens it in the Text pane."

    def font(self, row: int, column: int) -> QFont | None:
        return self._theme.monospace_font() if column else None

    def place(self, row: int) -> tuple[int, int, int, int]:
        """The source of an example, its document there, and its first byte and the one after its last."""
        assert self.finding is not None
        example, found = self.finding.examples[row], self.finding.marked
        at = int(np.flatnonzero((found.source == example.source) & (found.start == example.start))[0])
        return example.source, example.document, example.start, int(found.stop[at])


# --- The page ---------------------------------------------------------------------------------------------------------

_CHIPS = 50  # that are added at once
_LABEL = 16  # bytes of a token
_EXAMPLES = 3
_TICK_ROWS = "Tick what a tokenizer should not learn from."
_NOT_COMPARED = "{} is not compared: no run before it was trained on these texts with these weights."
_NOTHING = "Nothing was found: no {}."
_LIMITED = "Rules compare with all sources; only what is found here is listed, and left out."
_NO_TOKENIZER = "Train a tokenizer to see which tokens live from it."


class CleanUpPage(ExplorePage):
    """What the rules find, and a training without what is ticked."""

    titled = "Clean Up"
    tip = "What a tokenizer should perhaps not learn from, and a training without it"
    will_show = "Duplicates, blobs and other text that a tokenizer should perhaps not learn from will be listed here."
    phases: ClassVar = {"encoding": "Encoding documents", "counting uses": "Looking where tokens live"}

    def __init__(self, session: Session, theme: Theme) -> None:
        super().__init__(session, theme)
        self._cleaning = session.cleaning
        self.rows = FindingRows(theme, self)
        self.findings = FindingTable(self.rows, theme)
        self.findings.selectionModel().currentRowChanged.connect(self._show_finding)
        self.rows.ticked.connect(self._add)
        self.rows.ticked.connect(self.update_state)
        self.meaning = paragraph_label("muted")
        self.example_rows = ExampleRows(theme, self)
        self.examples = ReadOnlyTable("Examples", self.example_rows)
        self.examples.horizontalHeader().hide()
        self.examples.horizontalHeader().setSectionResizeMode(0, QHeaderView.ResizeMode.ResizeToContents)
        self.examples.horizontalHeader().setStretchLastSection(True)
        self.examples.activated.connect(self._open)
        self.living = plain_label("muted")
        self.chips = named(TokenChips(theme, rows=1), "Tokens that live from it")
        self.chips.clicked.connect(session.view.look_at)
        self.chips.moreWanted.connect(self._more_chips)
        self.sum = named(paragraph_label(), "Sum of what is ticked")
        self.train = push_button("Train Without These", self._train)
        self.train.setProperty("primary", True)
        self._adding = Inquiry(session.jobs, self)
        self._adding.changed.connect(self._show_sum)
        self.show_them = link_button("Show Them", self._show_vocabularies, "Show both vocabularies in Compare")
        self.nothing = EmptyState("")
        listed = QWidget()
        living = row(self.living, (self.chips, 1), spacing=8)
        column((self.findings, 1), self.meaning, self.examples, living, spacing=6, parent=listed)
        self._list_or_none = stacked(listed, self.nothing)
        beside = row((self.sum, 1), self.show_them, self.train, spacing=8)
        column((self._list_or_none, 1), beside, spacing=6, parent=self.content)
        self._stage = ""
        session.cleaning.changed.connect(self._follow_cleaning)
        session.training.state_changed.connect(self._show_sum)
        theme.follow(self._apply_style)
        self._show_finding()
        self._show_sum()

    @property
    def table(self) -> WrittenTable | None:
        if not self.rows.count():
            return None
        return WrittenTable("Findings as CSV", "findings.csv", partial(_write_work, self.rows.findings, self._size))

    def look(self, exploration: Exploration) -> None:
        if not self._cleaning.stage:
            limits = self.exploring.limits
            only = None if limits is None else sorted(limits)
            self.asked.ask((exploration, limits), partial(exploration.findings_work, sources=only))

    def show_answer(self) -> None:
        """Shows the findings; while the rest is trained on, those of before stay."""
        answer, exploration = self.asked.answer, self.exploring.exploration
        findings: tuple[Finding, ...] = answer or ()
        if findings is not self.rows.findings and (answer is not None or not self.asked.busy):
            self._size = sum(len(source.data) for source in self._looked_at)
            has_tokens = exploration is not None and exploration.tokenizer is not None
            self.rows.show(findings, self._size, has_tokens)
            if findings:
                self.findings.setCurrentIndex(self.rows.index(0, RULE))
            self._show_finding()
            self._add()
        shows = answer is not None or self._cleaning.outcome is not None or bool(self._cleaning.stage)
        self.stack.setCurrentWidget(self.content if shows else self.empty)
        self._list_or_none.setCurrentIndex(int(answer is not None and not findings))
        asked = [*RULES, *([OWNERS] if exploration is not None and exploration.tokenizer is not None else [])]
        missing = [rule for rule in asked if rule not in {each.rule for each in findings}]
        words = [_NONE_OF.get(rule, rule.replace("-", " ")) for rule in missing]
        self.nothing.label.setText(_NOTHING.format(", ".join(words)))
        notes = ["" if self.rows.chosen else outcome_note(self._cleaning)]
        notes += [f"Found nothing: {', '.join(words)}."] if findings and missing else []
        notes += [_LIMITED] if self.exploring.limit_names and answer is not None else []
        self.note.setText(" ".join(filter(None, notes)))
        self._show_sum()

    @property
    def _looked_at(self) -> tuple[Source, ...]:
        """The sources that findings are listed of."""
        limits, sources = self.exploring.limits, self.exploring.sources
        return sources if limits is None else tuple(sources[number] for number in sorted(limits))

    def forget(self) -> None:
        if self._cleaning.stage:
            return
        super().forget()
        self._adding.forget()

    @property
    def busy(self) -> bool:
        return self.asked.busy or bool(self._cleaning.stage)

    @property
    def progress(self) -> Progress:
        if not self._cleaning.stage:
            return self.asked.progress
        now, run = self._cleaning.progress, self._cleaning.after
        stage = (
            f"{self._cleaning.stage} {run.name}" if run is not None and not self._comparing else self._cleaning.stage
        )
        return Progress(stage, now.done, now.total)

    @property
    def trouble(self) -> str:
        return self.asked.problem or self._cleaning.problem

    def cancel_work(self) -> None:
        self._cleaning.cancel() if self._cleaning.stage else self.asked.cancel()

    # ---- the chosen finding

    def _show_finding(self, current: QModelIndex | None = None) -> None:
        at = self.findings.currentIndex().row() if current is None else current.row()
        finding = self.rows.findings[at] if 0 <= at < self.rows.count() else None
        self.example_rows.show(finding)
        self.meaning.setText("" if finding is None else f"{finding.rule}: {test_of(finding.rule)}.")
        exploration = self.exploring.exploration
        tokenizer = exploration.tokenizer if exploration is not None else None
        if finding is None or not isinstance(tokenizer, Tokenizer):
            self.chips.set_chips(())
            self.living.setText("" if finding is None else _NO_TOKENIZER)
        else:
            self.chips.set_chips(self._chips_of(tokenizer, finding, 0))
            verb = "lives" if len(finding.tokens) == 1 else "live"
            living = f"{several(len(finding.tokens), 'token')} {verb} from it:"
            self.living.setText(living if len(finding.tokens) else "No token lives from it.")

    def _chips_of(self, tokenizer: Tokenizer, finding: Finding, first: int) -> list[Chip]:
        ids = finding.tokens[first : first + _CHIPS].tolist()
        texts = (isolated(marked(shown(tokenizer.tokens.prefix(each, 2 * _LABEL), _LABEL))) for each in ids)
        return list(map(Chip, ids, texts))

    def _more_chips(self) -> None:
        finding, exploration = self.example_rows.finding, self.exploring.exploration
        tokenizer = exploration.tokenizer if exploration is not None else None
        if finding is not None and isinstance(tokenizer, Tokenizer) and len(self.chips.chips) < len(finding.tokens):
            self.chips.add_chips(self._chips_of(tokenizer, finding, len(self.chips.chips)))

    def _open(self, index: QModelIndex) -> None:
        self.exploring.open(*self.example_rows.place(index.row()))

    # ---- what is ticked, and the training

    def _add(self) -> None:
        chosen = self.rows.chosen_findings
        if chosen:
            sizes = [len(source.data) for source in self.exploring.sources]
            self._adding.ask(tuple(map(id, chosen)), partial(sum_work, chosen, sizes))
        else:
            self._adding.forget()

    def _show_sum(self) -> None:
        total: Sum | None = self._adding.answer
        outcome = None if self.rows.chosen else self._cleaning.outcome
        self.show_them.setVisible(outcome is not None)
        if not self.rows.chosen:
            after = None if self._cleaning.stage or self._cleaning.problem else self._cleaning.after
            other = _TICK_ROWS if after is None else _NOT_COMPARED.format(after.name)
            self.sum.setText(other if outcome is None else outcome_text(outcome))
        elif total is not None and not self._adding.busy:
            share = percent_text(total.bytes / max(self._size, 1), 2)
            self.sum.setText(f"{amount_text(total.documents, total.lines)}, {size_text(total.bytes)} ({share})")
        why_not = "Tick a row first." if not self.rows.chosen else self._cleaning.obstacle
        self.train.setEnabled(why_not is None and not self._cleaning.stage)
        self.train.setToolTip(
            why_not or "Leave this text out of the corpus, and train a new run with the same settings"
        )

    def _train(self) -> None:
        chosen, sources = self.rows.chosen_findings, self.exploring.sources
        owners = [each.marked for each in chosen if each.rule == OWNERS]
        documents = [(sources[number], own.document[own.source == number].tolist())
                     for own in owners for number in map(int, np.unique(own.source))]  # fmt: skip
        rules = [each.rule for each in chosen if each.rule != OWNERS]
        self._cleaning.train_without(rules, documents, self._looked_at if self.exploring.limits is not None else None)

    @property
    def _comparing(self) -> bool:
        return self._cleaning.stage == "Comparing the two runs"

    def _follow_cleaning(self) -> None:
        before, self._stage = self._stage, self._cleaning.stage
        if before and not self._stage:
            if not self._cleaning.problem:
                self.rows.untick()
            if self.isVisible():
                self.refresh()
                return
            super().forget()
        self.update_state()

    def _show_vocabularies(self) -> None:
        before, after = self._cleaning.before, self._cleaning.after
        if before is not None and after is not None:
            self.session.comparison.show_vocabularies(before, after)

    def _apply_style(self) -> None:
        # Nothing moves when another row is chosen.
        self.meaning.setFixedHeight(2 * self.meaning.fontMetrics().lineSpacing())
        self.chips.setFixedHeight(self.chips.minimumSizeHint().height())
        height, frame = self.theme.scaled(24), 2 * self.examples.frameWidth()
        self.examples.set_row_height(height)
        # They scroll in a low window.
        self.examples.setMinimumHeight(height + frame)
        self.examples.setMaximumHeight(_EXAMPLES * height + frame)


def _write_work(findings: tuple[Finding, ...], size: int, path: Path) -> Work[Path]:
    titles = ("rule", "documents", "lines", "bytes", "share", "tokens")
    rows = ((each.rule, each.documents, each.lines, each.bytes, each.bytes / max(size, 1), len(each.tokens))
            for each in findings)  # fmt: skip
    return (yield from table_work(path, titles, rows))
