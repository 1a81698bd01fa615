"""The vocabularies of two tokenizers: the tokens that only one of them has, and those of both; and all differences."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QModelIndex, QObject, QSignalBlocker, Qt, QTimer, Signal
from PySide6.QtGui import QFont, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableWidget, QTableWidgetItem, QWidget

from tokstudio.core.analysis.reachability import REACHED
from tokstudio.core.analysis.token_index import describe_token
from tokstudio.core.analysis.token_store import TokenStore
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import percent_text, several
from tokstudio.core.comparison.vocabularies import NO_SCRIPT, Vocabularies, vocabularies_work
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.gui.panes.compare.differences import DifferencesView
from tokstudio.gui.session.common.jobs import LatestJob
from tokstudio.gui.session.measuring.compared import ComparedColumn
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.run_tokens import KINDS
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.token_table.filters import LOOKS, MADE, FilterButton, FilterEdit
from tokstudio.gui.token_table.query import FILTER_HINT, FilterQuery, Query
from tokstudio.gui.token_text.spelling import figure, marked, shown
from tokstudio.gui.widgets.controls import Choice, ChoiceBox
from tokstudio.gui.widgets.figures import FigureModel, ReadOnlyTable
from tokstudio.gui.widgets.labels import in_a_sentence, isolated, named, paragraph_label, plain, plain_label
from tokstudio.gui.widgets.layouts import column, row, stacked
from tokstudio.gui.widgets.pane import EmptyState, HeaderTabs

if TYPE_CHECKING:
    from numpy.typing import NDArray

# --- The rows of two compared vocabularies: which part of them, filtered and sorted in a job --------------------------

_ROWS_STEP = 1 << 11
_MERGE = KINDS.index("merge")

#: The filters beside the text, as those of the Vocabulary pane; special tokens are not compared.
KINDS_SHOWN = tuple(name for name in MADE if name != "Special")
IN_TEXTS, NOT_IN_TEXTS = "In the texts", "Not in the texts"

LONGEST = 16  # lengths from which all share a row of the summary

#: The parts of two vocabularies.
ONLY_FIRST, BOTH, ONLY_SECOND, MOVED = range(4)
TOKEN, LENGTH, ID, RANK, USES, SECOND_ID, SECOND_RANK, SECOND_USES, SCRIPT = range(9)
_TITLES = ("Id", "Merge", "Uses")  # of each tokenizer
_TIPS = ("Its id", "Number of the merge that makes it; a dash for none", "How often it occurs in the texts")


@dataclass(frozen=True, eq=False)
class Pair:
    """Two vocabularies with what is known of their tokens."""

    names: tuple[str, str]
    vocabularies: Vocabularies
    lengths: NDArray[np.int64]  # [n], bytes of each token
    uses: tuple[NDArray[np.int64] | None, NDArray[np.int64] | None]  # [n] each; None until they are known
    tokenizers: tuple[Tokenizer, Tokenizer]
    kinds: NDArray[np.int8]  # [n, 2], the kind of each token in each tokenizer, an index into `KINDS`; -1: missing
    flags: NDArray[np.uint8]  # [n], as `describe_token` gives them

    def part(self, part: int) -> NDArray[np.bool_]:
        """Bool [n], which tokens belong to a part."""
        first, second = self.vocabularies.is_in.T
        if part == MOVED:
            return first & second & (self.vocabularies.ids[:, 0] != self.vocabularies.ids[:, 1])
        return (first & ~second, first & second, second & ~first)[part]


@dataclass(frozen=True)
class ListQuestion:
    """Which tokens are listed."""

    part: int
    query: Query
    script: str | None = None
    length: int | None = None  # `LONGEST` and all above it are one
    chosen: frozenset[str] = frozenset()  # names of `KINDS_SHOWN`, `LOOKS`, `IN_TEXTS` and `NOT_IN_TEXTS`
    lengths: tuple[int, int] | None = None  # the least and the most bytes; None for any
    column: int = RANK
    descending: bool = False


def rows_work(pair: Pair, question: ListQuestion, store: TokenStore) -> Work[NDArray[np.int64]]:
    """int64, the numbers of the tokens to list."""
    part_rows = pair.part(question.part)
    if question.script is not None:
        part_rows &= pair.vocabularies.scripts == pair.vocabularies.script_names.index(question.script)
    if question.length is not None:
        part_rows &= np.minimum(pair.lengths, LONGEST) == question.length
    if question.lengths is not None:
        part_rows &= (pair.lengths >= question.lengths[0]) & (pair.lengths <= question.lengths[1])
    part_rows &= yield from _chosen_work(pair, question.chosen, store)
    query = question.query
    part_rows &= query.within(pair.lengths)
    rows = np.flatnonzero(part_rows)
    if query.needs_heads or query.byte is not None or query.number is not None:
        kept: list[int] = []
        for number, row in enumerate(rows.tolist()):
            ids = pair.vocabularies.ids[row].tolist()
            if query.accepts(pair.vocabularies.tokens[row]) or (query.number is not None and query.number in ids):
                kept.append(row)
            if number % _ROWS_STEP == 0:
                yield Progress("searching tokens", number, len(rows))
        rows = np.array(kept, np.int64)
    yield Progress("sorting tokens")
    key = _key(pair, question)[rows]
    return rows[np.argsort(-key if question.descending else key, kind="stable")]


def _chosen_work(pair: Pair, chosen: frozenset[str], store: TokenStore) -> Work[NDArray[np.bool_]]:
    """Which tokens have one of the chosen kinds in one of the tokenizers, one of the forms, and of the uses."""
    is_chosen = np.ones(len(pair.lengths), np.bool_)
    kinds = [KINDS.index(kind) for name in chosen if name in MADE for kind in MADE[name]]
    if kinds:
        is_chosen &= np.isin(pair.kinds, kinds).any(axis=1)
        if "Unreachable" in chosen:
            for ids, tokenizer in zip(pair.vocabularies.ids.T, pair.tokenizers, strict=True):
                reach = yield from store.reach_work(tokenizer)
                is_chosen |= (ids >= 0) & (reach[ids] != REACHED)
    looks = sum(LOOKS[name] for name in chosen if name in LOOKS)
    if looks:
        is_chosen &= pair.flags & looks > 0
    used = np.zeros(len(pair.lengths), np.bool_)
    for uses in pair.uses:
        used |= uses > 0 if uses is not None else False
    if (IN_TEXTS in chosen) != (NOT_IN_TEXTS in chosen):
        is_chosen &= used == (IN_TEXTS in chosen)
    return is_chosen


def kinds_work(vocabularies: Vocabularies, tokenizers: tuple[Tokenizer, Tokenizer]) -> Work[NDArray[np.int8]]:
    """The kinds of the tokens, as `Pair` has them."""
    kinds = np.where(vocabularies.ranks > 0, _MERGE, -1).astype(np.int8)
    for which, tokenizer in enumerate(tokenizers):
        ids = vocabularies.ids[:, which]
        for number, place in enumerate(np.flatnonzero((ids >= 0) & (vocabularies.ranks[:, which] == 0)).tolist()):
            kinds[place, which] = KINDS.index(tokenizer.kind(int(ids[place])))
            if number % _ROWS_STEP == 0:
                yield Progress("comparing vocabularies", number)
    return kinds


def _key(pair: Pair, question: ListQuestion) -> NDArray[np.int64]:
    vocabularies, column = pair.vocabularies, question.column
    if column == TOKEN:
        order = sorted(range(len(vocabularies.tokens)), key=vocabularies.tokens.__getitem__)
        return np.argsort(np.array(order, np.int64))
    if column == LENGTH:
        return pair.lengths
    if column == SCRIPT:
        return vocabularies.scripts
    which, column = divmod(column - ID, 3)
    if column == USES - ID:
        uses = pair.uses[which]
        return np.zeros(len(pair.lengths), np.int64) if uses is None else uses
    return (vocabularies.ids, vocabularies.ranks)[column][:, which]


class VocabularyRows(FigureModel):
    """The listed tokens."""

    titles = ("Token", "Length", *_TITLES, *_TITLES, "Script")
    numbers = range(LENGTH, SCRIPT)

    def __init__(self, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(theme, parent)
        self.pair: Pair | None = None
        self._rows: NDArray[np.int64] = np.zeros(0, np.int64)

    def show(self, pair: Pair | None, rows: NDArray[np.int64], *, numbered: bool = False) -> None:
        """Lists some tokens of a pair. If `numbered`, titles say which of the tokenizers a column is of, 1 or 2."""
        with self.reset():
            self.pair, self._rows = pair, rows
            heads = [[f"{title} {number}" if numbered else title for title in _TITLES] for number in (1, 2)]
            self.titles = ("Token", "Length", *heads[0], *heads[1], "Script")
            if pair is not None:
                tips = (f"{name}, {tip}" for name in pair.names for tip in _TIPS)
                self.tips = ("", "How many bytes it has", *tips, "The script of its first letter")

    def ids_at(self, row: int) -> tuple[int, int]:
        """The ids of the token in a row; -1 where a tokenizer lacks it."""
        assert self.pair is not None
        first, second = self.pair.vocabularies.ids[self._rows[row]].tolist()
        return first, second

    def count(self) -> int:
        return len(self._rows)

    def font(self, row: int, column: int) -> QFont:
        return self._theme.monospace_font() if column == TOKEN else self._theme.tabular_font()

    def text(self, row: int, column: int) -> str:
        pair, row = self.pair, int(self._rows[row])
        assert pair is not None
        vocabularies = pair.vocabularies
        if column == TOKEN:
            return isolated(marked(shown(vocabularies.tokens[row])))
        if column == LENGTH:
            return f"{pair.lengths[row]:,}"
        if column == SCRIPT:
            return vocabularies.script_names[vocabularies.scripts[row]].replace("None", "–")
        which, column = divmod(column - ID, 3)
        if column == USES - ID:
            uses = pair.uses[which]
            return figure(None if uses is None or vocabularies.ids[row, which] < 0 else int(uses[row]))
        value = int((vocabularies.ids, vocabularies.ranks)[column][row, which])
        return figure(value if value > 0 or (value == 0 and column == 0) else None)


_EMPTY = "The vocabularies of two tokenizers are compared here. Train or open a second one."
_TABS = {
    "Tokens": "The tokens that only one of them has, and those of both",
    "Differences": "Ids, merges, special tokens, settings, and lines that become other tokens",
}
_DIFFERENCES = 1
_SUMMARY, _TOKENS = 310, 110  # pixels
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_HEADS = "First", "Both", "Second"
_STEP = 1 << 12
_OF_FIRST, _OF_SECOND = (ID, RANK, USES), (SECOND_ID, SECOND_RANK, SECOND_USES)
_YIELDING = (SCRIPT, LENGTH, SECOND_RANK, RANK, SECOND_ID, ID)  # columns that are hidden for want of room
_WIDEST = {LENGTH: "Length", SCRIPT: "Devanagari"}


class VocabulariesView(QWidget):
    """Lists one part of two vocabularies, and the summary beside it filters by script or length; or all differences."""

    tokenAsked = Signal(str, int)  # to show a token: the name of the tokenizer, and the id

    def __init__(self, session: Session, theme: Theme) -> None:
        super().__init__()
        self._state, self._runs, self._store = session.comparison, session.runs, session.store
        self._theme = theme
        self._columns: tuple[ComparedColumn, ...] = ()
        self._pair: Pair | None = None
        self._made_of: tuple[object, object] | None = None
        self._shown_of: tuple[object, object] | None = None  # the names and the texts of what is shown
        self._picked: tuple[str | None, int | None] = (None, None)
        self._told = ""  # of the pair
        self._sorting = (USES, True)
        self.first, self.second = ChoiceBox(()), ChoiceBox(())
        for box, name in ((self.first, "First tokenizer"), (self.second, "Second tokenizer")):
            box.setAccessibleName(name)
            box.currentIndexChanged.connect(self._compare)
        self.parts = named(
            ChoiceBox([Choice(name, name, "") for name in map(str, range(4))]), "Part of the vocabularies"
        )
        self.parts.currentIndexChanged.connect(self._list)
        self.filter = FilterEdit(theme, "Filter of the compared tokens", FILTER_HINT)
        self._typed = QTimer(self, singleShot=True, interval=session.jobs.pauses.filtered)
        self._typed.timeout.connect(self._list)
        self.filter.textChanged.connect(self._typed.start)
        self.kinds = FilterButton(theme, KINDS_SHOWN, (IN_TEXTS, NOT_IN_TEXTS), has_scripts=False)
        self.kinds.panel.changed.connect(self._list)
        self.rows = VocabularyRows(theme, self)
        self.table = self._make_table()
        self.filter.left.connect(self.table.setFocus)
        self.by = ChoiceBox(
            [
                Choice("script", "By script", "How many tokens have letters of each script."),
                Choice("length", "By length", "How many tokens have each length in bytes."),
            ]
        )
        self.by.setAccessibleName("Summary")
        self.by.currentIndexChanged.connect(self._summarise)
        self.summary = self._make_summary()
        self.note = paragraph_label("muted")
        self.empty = EmptyState(_EMPTY)
        page, beside = QWidget(), QWidget()
        beside.setFixedWidth(theme.scaled(_SUMMARY))
        column(self.by, (self.summary, 1), spacing=6, parent=beside)
        self.tabs = HeaderTabs("Tokens or differences", _TABS)
        self.tabs.currentChanged.connect(self._show_tab)
        self.differences = DifferencesView(session, theme)
        self.differences.tokenAsked.connect(self.tokenAsked)
        heads = row((self.first, 1), plain_label("muted", "and"), (self.second, 1), 8, self.tabs)
        listed, tokens = row((self.parts, 1), 8, self.filter, self.kinds), QWidget()
        column(listed, (row((self.table, 1), beside, spacing=10), 1), self.note, spacing=6, parent=tokens)
        self._pages = stacked(tokens, self.differences)
        column(heads, (self._pages, 1), spacing=6, parent=page)
        self._stack = stacked(self.empty, page)
        column(self._stack, parent=self)
        self._comparing = LatestJob(session.jobs, self, self._take_pair, self._fail, asked=False)
        self._listing = LatestJob(session.jobs, self, self._take_rows, self._fail, quiet=True)
        theme.follow(self._apply_style)

    def _make_table(self) -> ReadOnlyTable:
        table = ReadOnlyTable("Compared tokens", self.rows)
        header = table.horizontalHeader()
        header.setSortIndicator(USES, Qt.SortOrder.DescendingOrder)
        header.setSortIndicatorShown(True)
        header.setSectionsClickable(True)
        header.sectionClicked.connect(self._sort)
        # The scroll bar takes width from the columns when it appears.
        table.verticalScrollBar().rangeChanged.connect(lambda: QTimer.singleShot(0, self, self._spread))
        table.clicked.connect(self._show_token)
        table.activated.connect(self._show_token)
        return table

    def _make_summary(self) -> QTableWidget:
        summary = named(QTableWidget(0, 4), "Tokens by script or length; a row filters")
        summary.verticalHeader().hide()
        summary.setShowGrid(False)
        summary.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        summary.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        summary.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        summary.itemSelectionChanged.connect(self._pick)
        return summary

    def refresh(self) -> None:
        """Follows the tokenizers that are compared; call it while the view is visible."""
        columns = tuple(each for each in self._state.columns if isinstance(each.tokenizer, Tokenizer))
        names = [each.name for each in columns]
        if [each.key for each in columns] != [each.key for each in self._columns] or names != [
            each.name for each in self._columns
        ]:
            self._columns = columns
            self.first.set_names(names)
            self.second.set_names(names, 1)
        self._stack.setCurrentIndex(len(columns) > 1)
        if len(columns) > 1:
            self._compare()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        # The table gets its width after this.
        QTimer.singleShot(0, self, self._spread)

    def choose(self, first: str, second: str) -> None:
        """Compares two tokenizers by their names, those that both are compared now."""
        self.refresh()
        names = [each.name for each in self._columns]
        if first in names and second in names:
            with QSignalBlocker(self.first):
                self.first.setCurrentIndex(names.index(first))
            with QSignalBlocker(self.second):
                self.second.setCurrentIndex(names.index(second))
            self._compare()

    def forget_missing(self) -> None:
        """Releases tokenizers that are not compared any more."""
        if self._columns and not {each.key for each in self._columns} <= {each.key for each in self._state.columns}:
            self._columns, self._pair, self._made_of = (), None, None
            self.differences.forget()
            self._comparing.cancel()
            self._listing.cancel()
            self.rows.show(None, np.zeros(0, np.int64))

    def _compare(self) -> None:
        first, second = (self._columns[box.currentIndex()] for box in (self.first, self.second))
        if self.tabs.currentIndex() == _DIFFERENCES:
            self.differences.show_pair(first, second)
            return
        keys = first.key, second.key
        if keys == self._made_of:
            pair, is_same = self._pair, self._shown_of == self._to_show(first, second)
            if pair is not None and not (is_same and all(uses is not None for uses in pair.uses)):
                self._use_counts(pair, first, second)
            return
        self._made_of, self._pair = keys, None
        self.note.setText("")
        self._comparing.run(partial(_pair_work, first, second))

    def _show_tab(self) -> None:
        self._pages.setCurrentIndex(self.tabs.currentIndex())
        self._compare()

    def _take_pair(self, pair: Pair) -> None:
        if not pair.part(self.parts.currentIndex()).any():
            with QSignalBlocker(self.parts):
                self.parts.setCurrentIndex(int(np.argmax([np.count_nonzero(pair.part(part)) for part in range(3)])))
        first, second = (self._columns[box.currentIndex()] for box in (self.first, self.second))
        self._use_counts(pair, first, second)

    def _to_show(self, first: ComparedColumn, second: ComparedColumn) -> tuple[object, object]:
        """What the words and the counts of a pair depend on."""
        return (first.name, second.name), tuple(text.sha256 for text in self._state.rows or ())

    def _use_counts(self, pair: Pair, first: ComparedColumn, second: ComparedColumn) -> None:
        counts_of_both = [self._state.uses(each) for each in (first, second)]
        uses_of_both = [
            None if counts is None else pair.vocabularies.uses(counts, which)
            for which, counts in enumerate(counts_of_both)
        ]
        asked = self._to_show(first, second)
        if self._pair is not None and asked == self._shown_of and all(uses is None for uses in uses_of_both):
            return
        self._shown_of = asked
        self._pair = pair = replace(pair, names=(first.name, second.name), uses=(uses_of_both[0], uses_of_both[1]))
        titles = f"Only in {pair.names[0]}", "In both", f"Only in {pair.names[1]}", "In both, with another id"
        sizes = [f"{title}: {np.count_nonzero(pair.part(part)):,}" for part, title in enumerate(titles)]
        chosen = self.parts.currentIndex()
        with QSignalBlocker(self.parts):
            self.parts.set_choices([Choice(size, size, "") for size in sizes])
            self.parts.setCurrentIndex(chosen)
        share = f"Jaccard index {percent_text(pair.vocabularies.jaccard, 1)}: shared tokens / tokens of either."
        counts = counts_of_both[1]
        uses = float("nan") if counts is None else pair.vocabularies.shared_uses(counts)
        more = (
            ""
            if np.isnan(uses)
            else f" {percent_text(uses, 1)} of {pair.names[1]}'s tokens in these texts are in {pair.names[0]}'s "
            "vocabulary, too."
        )
        self._told = in_a_sentence(share + more)
        self._summarise()
        self._list()

    def _list(self) -> None:
        pair, panel = self._pair, self.kinds.panel
        query = FilterQuery(self.filter.text(), panel.expression.isChecked())
        if pair is None:
            return
        self.note.setText(query.error or self._told)
        if query.error:
            return
        part, (script, length), (column, descending) = self.parts.currentIndex(), self._picked, self._sorting
        if part == ONLY_SECOND and column in _OF_FIRST:
            column = _OF_SECOND[_OF_FIRST.index(column)]
        elif part == ONLY_FIRST and column in _OF_SECOND:
            column = _OF_FIRST[_OF_SECOND.index(column)]
        self._sorting = column, descending
        question = ListQuestion(part, query, script, length, panel.chosen(), panel.lengths(), column, descending)
        self._listing.run(partial(rows_work, pair, question, self._store))

    def _take_rows(self, rows: NDArray[np.int64]) -> None:
        part, (column, descending) = self.parts.currentIndex(), self._sorting
        self.rows.show(self._pair, rows, numbered=part in (BOTH, MOVED))
        self.table.scrollToTop()
        order = Qt.SortOrder.DescendingOrder if descending else Qt.SortOrder.AscendingOrder
        self.table.horizontalHeader().setSortIndicator(column, order)
        self._spread()
        self.filter.setToolTip(f"{several(len(rows), 'token')}. {FILTER_HINT}")
        self.kinds.panel.matches.setText(several(len(rows), "token"))

    def _sort(self, at: int) -> None:
        before, descending = self._sorting
        self._sorting = at, not descending if at == before else at in (USES, SECOND_USES)
        self._list()

    def _summarise(self) -> None:
        """Counts the parts by script or length."""
        pair, by_length = self._pair, self.by.currentIndex() == 1
        if pair is None:
            return
        keys = np.minimum(pair.lengths, LONGEST) if by_length else pair.vocabularies.scripts
        counts = [np.bincount(keys[pair.part(part)], minlength=int(keys.max(initial=0)) + 1) for part in range(3)]
        totals = np.sum(counts, axis=0)
        shown = np.flatnonzero(totals)
        if not by_length:
            shown = shown[np.argsort(-totals[shown], kind="stable")]
        with QSignalBlocker(self.summary):
            self.summary.setRowCount(len(shown))
            self.summary.setHorizontalHeaderLabels(["Bytes" if by_length else "Script", *_HEADS])
            heads = self.summary.model()
            for at in range(4):
                side = _RIGHT if at else _LEFT
                heads.setHeaderData(at, Qt.Orientation.Horizontal, side, Qt.ItemDataRole.TextAlignmentRole)
            tips = f"Only in {pair.names[0]}", "In both", f"Only in {pair.names[1]}"
            for part, tip in enumerate(tips, 1):
                heads.setHeaderData(part, Qt.Orientation.Horizontal, plain(tip), Qt.ItemDataRole.ToolTipRole)
            for at, key in enumerate(shown.tolist()):
                name = pair.vocabularies.script_names[key] if not by_length else ""
                more = "+" if key == LONGEST else ""
                title = f"{key}{more}" if by_length else "No letter" if name == NO_SCRIPT else name
                head = QTableWidgetItem(title)
                head.setData(Qt.ItemDataRole.UserRole, key)
                self.summary.setItem(at, 0, head)
                for part in range(3):
                    item = QTableWidgetItem(f"{counts[part][key]:,}")
                    item.setTextAlignment(_RIGHT)
                    item.setFont(self._theme.tabular_font())
                    item.setToolTip(f"{percent_text(counts[part][key] / max(1, counts[part].sum()), 1)} of this part")
                    self.summary.setItem(at, 1 + part, item)
            self.summary.clearSelection()
        self._picked = None, None

    def _pick(self) -> None:
        items = self.summary.selectedItems()
        self._picked = None, None
        if items and self._pair is not None:
            key = int(items[0].data(Qt.ItemDataRole.UserRole))
            by_length = self.by.currentIndex() == 1
            self._picked = (None, key) if by_length else (self._pair.vocabularies.script_names[key], None)
        self._list()

    def _show_token(self, index: QModelIndex) -> None:
        if self.rows.pair is None or not index.isValid():
            return
        ids = zip(self.rows.pair.names, self.rows.ids_at(index.row()), strict=True)
        names = [(name, token) for name, token in ids if token >= 0]
        active = self._runs.active
        # A token of both is shown in the active run.
        names.sort(key=lambda each: active is None or each[0] != active.name)
        if names:
            self.tokenAsked.emit(*names[0])

    def _fail(self, error: Exception) -> None:
        self._made_of = None
        self.note.setText(str(error))

    def _spread(self) -> None:
        """Shows the columns of the part that fit, and gives the tokens the width that they leave, but always some."""
        header, part, least = self.table.horizontalHeader(), self.parts.currentIndex(), self._theme.scaled(_TOKENS)
        absent = _OF_FIRST if part == ONLY_SECOND else _OF_SECOND if part == ONLY_FIRST else ()
        for at in range(self.rows.columnCount()):
            self.table.setColumnHidden(at, at in absent)
        header.resizeSection(TOKEN, least)
        for at in _YIELDING:
            if header.length() > self.table.viewport().width() and at != self._sorting[0]:
                self.table.setColumnHidden(at, True)
        header.resizeSection(TOKEN, max(least, least + self.table.viewport().width() - header.length()))

    def _apply_style(self) -> None:
        metrics, header = self.table.fontMetrics(), self.table.horizontalHeader()
        for at in range(self.rows.columnCount()):
            header.resizeSection(at, metrics.horizontalAdvance(_WIDEST.get(at, "000,000")) + 24)
        for table in (self.table, self.summary):
            table.verticalHeader().setDefaultSectionSize(self._theme.scaled(26))
        heads = self.summary.horizontalHeader()
        heads.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        for at in (1, 2, 3):
            heads.resizeSection(at, metrics.horizontalAdvance("000,000") + 14)
        self._spread()


def _pair_work(first: ComparedColumn, second: ComparedColumn) -> Work[Pair]:
    assert isinstance(first.tokenizer, Tokenizer)
    assert isinstance(second.tokenizer, Tokenizer)
    vocabularies = yield from vocabularies_work(first.tokenizer, second.tokenizer)
    lengths, flags = np.fromiter(map(len, vocabularies.tokens), np.int64, len(vocabularies.tokens)), bytearray()
    for start in range(0, len(vocabularies.tokens), _STEP):
        flags += bytes(map(describe_token, vocabularies.tokens[start : start + _STEP]))
        yield Progress("comparing vocabularies", start, len(vocabularies.tokens))
    both = first.tokenizer, second.tokenizer
    kinds = yield from kinds_work(vocabularies, both)
    return Pair(
        (first.name, second.name), vocabularies, lengths, (None, None), both, kinds, np.frombuffer(flags, np.uint8)
    )
