"""The Merges pane: the live log of merges with a filter."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
from PySide6.QtCore import QModelIndex, QTimer
from PySide6.QtGui import QAction

from tokstudio.core.base.progress import Work
from tokstudio.core.base.wording import in_units
from tokstudio.core.model.columns import TOGETHER, Columns, LogColumn
from tokstudio.core.model.picky import LEFT_GONE
from tokstudio.gui.session.measuring.token_facts import TokenIndexing
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.token_table.model import TokenCell, TokenColumn, TokenTable
from tokstudio.gui.token_table.query import FILTER_HINT, FilterQuery, Query
from tokstudio.gui.token_table.search import Matches, RowsJob
from tokstudio.gui.token_table.token_table_pane import TablePane
from tokstudio.gui.token_text.spelling import figure, marked
from tokstudio.gui.widgets.labels import plain_label

if TYPE_CHECKING:
    from numpy.typing import NDArray

# --- Merge query ------------------------------------------------------------------------------------------------------
# The filter of the merge log: a `FilterQuery` that also finds who chose a merge, and what was removed after it.

CHOOSER_HINT = f"by:de lists the merges that the language de chose, and by:{TOGETHER} those that all chose together."
REMOVAL_HINT = "removed: lists the merges that removed a token, and removed:ab those that removed one with ab."

_CHOOSER = re.compile(r"(?:^|\s+)by:(\S*)(?=\s|$)", re.IGNORECASE)
_REMOVAL = re.compile(r"(?:^|\s+)removed:(\S*)(?=\s|$)", re.IGNORECASE)


class MergeQuery(FilterQuery):
    """`by:de` or `removed:ab` before or after the other text.

    Attributes:
        chooser: How the name of the language begins that chose a merge, in small letters; None for any merges.
        removed: What a token has that was removed after a merge, in small letters; None for any merges.
    """

    def __init__(self, text: str) -> None:
        rest, self.chooser = _taken(_CHOOSER, text)
        rest, self.removed = _taken(_REMOVAL, rest)
        super().__init__(rest)
        self.text = text

    def chosen(self, languages: Sequence[str], columns: Columns, size: int) -> NDArray[np.bool_] | None:
        """Which of the first merges such a language chose, as bool [size]; None where all pass."""
        if self.chooser is None:
            return None
        if "chosen_by" not in columns:
            return np.zeros(size, np.bool_)
        names = (TOGETHER, *languages)
        wanted = [number - 1 for number, name in enumerate(names) if name.casefold().startswith(self.chooser)]
        return np.isin(columns["chosen_by"][:size], wanted)

    def removing(
        self, removals: NDArray[np.int64] | None, parts: NDArray[np.int32], heads: Sequence[bytes]
    ) -> NDArray[np.bool_] | None:
        """After which merges such a token was removed, as bool [n]; None where all pass.

        `parts` has the slots of left and right of each merge, int32 [n, 2], and `heads` the bytes of each slot.
        """
        if self.removed is None:
            return None
        if removals is None:
            return np.zeros(len(parts), np.bool_)
        gone = removals[: len(parts), LEFT_GONE:] >= 0
        if self.removed:
            slots = parts[gone].tolist()
            gone[gone] = [self.removed in heads[slot].decode("utf-8", "replace").casefold() for slot in slots]
        return gone[:, 0] | gone[:, 1]


def _taken(pattern: re.Pattern[str], text: str) -> tuple[str, str | None]:
    """A text without a word, and what follows the colon of that in small letters; None where it is not there."""
    match = pattern.search(text)
    if match is None:
        return text, None
    return f"{text[: match.start()]} {text[match.end() :]}".strip(), match[1].casefold()


# --- The merges of a run as rows, the newest first; it grows during training ------------------------------------------
# A job finds the rows of a filter.

_NUMBER, _TOKEN, _LEFT, _RIGHT, _COUNT, _AFTER, _RATIO, _OWN = range(8)
#: Kind, share, least and yields of the columns that only one algorithm has, by the kind of their values.
_LAYOUTS: Mapping[str, tuple[Literal["number", "token", "words"], int, int, int]] = {
    "text": ("words", 2, 6, 0),
    "parts": ("token", 5, 8, 0),
    "number": ("number", 0, 6, 0),
    "count": ("number", 0, 6, 3),
}


def _column_of(own: LogColumn) -> TokenColumn:
    kind, share, least, yields = _LAYOUTS[own.kind]
    return TokenColumn(own.title, kind, own.tip, share, least, yields, own.muted, own.word)


class MergesModel(TokenTable):
    """Row 0 is the newest merge. Merges are numbered from 1.

    Merges after the playhead are dimmed, and the one at the playhead is marked.
    """

    plain_columns = (
        TokenColumn("#", "number", "Number of the merge", word="merge"),
        TokenColumn("Token", "token", "The token that was made", 5, 8, word="token"),
        TokenColumn("Left", "token", "Its left part", 3, 5, muted=True),
        TokenColumn("Right", "token", "Its right part", 3, 5, muted=True),
        TokenColumn("Count", "number", "", word="count"),
        TokenColumn("Tokens after", "number", "Tokens in the corpus after this merge", yields=1, muted=True),
        TokenColumn(
            *("Bytes/token", "number", "Bytes per token of the corpus after this merge"),
            yields=2,
            muted=True,
            word="bytes-per-token",
        ),
    )
    columns = plain_columns

    def __init__(self, indexing: TokenIndexing) -> None:
        super().__init__()
        self.playhead = 0
        self._own: tuple[LogColumn, ...] = ()  # what the last columns show
        self._size = 0
        self._found: NDArray[np.int64] | None = None  # ranks of the visible merges, ascending; None for all
        self._searched = 0  # merges that the filter has searched
        self._matches = Matches(Query(""))
        self._job = RowsJob(indexing, self)
        self._job.done.connect(self._take)
        self._job.failed.connect(self.fail)
        self._later = QTimer(self, singleShot=True, interval=indexing.jobs.pauses.updates)
        self._later.timeout.connect(self._search)

    def set_run(self, run: StudioRun | None, playhead: int = 0) -> None:
        """Shows the merges of a run."""
        with self.reset():
            self.hold(run)
            shown = () if run is None or run.config is None else run.config.algorithm.shown
            self._own = tuple(each for each in shown if each.title)
            self.set_columns((*self.plain_columns, *map(_column_of, self._own)))
            self.playhead = playhead
            self._job.cancel()
            self._matches = Matches(self._matches.query)
            self._found = None
            self._size = len(self.run) if self.run is not None else 0
        self._search()

    def set_query(self, query: Query) -> None:
        """Shows the rows of a query when they are known; an empty query shows all."""
        self._job.cancel()
        self._matches = Matches(query)
        self._search()

    def grow(self) -> None:
        """Adds the new merges of the run."""
        if self.run is None or len(self.run) <= self._size:
            return
        with self.changes():
            if self._found is None:
                self.beginInsertRows(QModelIndex(), 0, len(self.run) - self._size - 1)
            self._size = len(self.run)
            if self._found is None:
                self.endInsertRows()
        if self._matches.query:
            self._search_later()

    def set_playhead(self, merges: int) -> None:
        """Moves the border between normal and dimmed rows."""
        before, self.playhead = self.playhead, merges
        rows = self.rowCount()
        if before == merges or not rows:
            return
        first = self._first_row_up_to(max(before, merges))
        last = min(self._first_row_up_to(min(before, merges)), rows - 1)
        if first <= last:
            self.dataChanged.emit(self.index(first, 0), self.index(last, len(self.columns) - 1))

    @property
    def searching(self) -> bool:
        return self._job.busy

    def number_at(self, row: int) -> int:
        """The number of the merge in a row."""
        return int(self._found[-1 - row]) + 1 if self._found is not None else self._size - row

    def row_of_number(self, number: int) -> int:
        """The row of a merge; -1 if it is not shown."""
        row = self._first_row_up_to(number)
        return row if number > 0 and row < self.rowCount() and self.number_at(row) == number else -1

    def slot_at(self, row: int) -> int:
        return self._first + self.number_at(row) - 1

    def slots_between(self, top: int, bottom: int) -> list[int]:
        if self._found is not None:
            return super().slots_between(top, bottom)
        return list(range(self.slot_at(top), self.slot_at(bottom) - 1, -1))

    def row_of(self, slot: int) -> int:
        return self.row_of_number(slot - self._first + 1)

    def may_list(self, slot: int) -> bool:
        return self._first <= slot < self._first + self._size

    def cell(self, row: int, column: int) -> TokenCell:
        number, tokens = self.number_at(row), ()
        if column in (_TOKEN, _LEFT, _RIGHT):
            tokens = (self.shown(self._slot(number, column)),)
            text = marked(tokens[0])
        elif column >= _OWN and self._own[column - _OWN].kind == "parts":
            tokens = tuple(map(self.shown, self._own_slots(number, self._own[column - _OWN])))
            text = " + ".join(map(marked, tokens))
        elif column >= _OWN:
            text = self._own_figure(number, self._own[column - _OWN])
        else:
            text = f"{number:,}" if column == _NUMBER else self._figure(number, column)
        return TokenCell(text, tokens, number > self.playhead, number == self.playhead)

    def copied_slot(self, slot: int) -> str:
        assert self.run is not None
        number = slot - self._first + 1
        slots = [self._slot(number, column) for column in (_TOKEN, _LEFT, _RIGHT)]
        texts = list(map(self.copied_token, slots))
        figures = ["", "", ""]
        if self.run.has_counts:
            count, after = int(self.run.log.count[number - 1]), self.run.log.tokens_at(number)
            counts = (str(in_units(number, self.run.weight_scale)) for number in (count, after))
            figures = [*counts, f"{self.run.bytes_per_token(number):.4f}"]
        for own in self._own:
            if own.kind == "parts":
                figures.append(" + ".join(map(self.copied_token, self._own_slots(number, own))))
            else:
                figures.append(self._own_figure(number, own, plain=True))
        return "\t".join([str(number), *texts, *figures])

    def widest(self, column: int) -> str:
        run = self.run
        if run is None or not len(run):
            return "0,000"
        if column == _NUMBER:
            return figure(len(run))
        if not run.has_counts:
            return "–"
        if column == _RATIO:
            return f"{run.bytes_per_token(len(run)):,.3f}"
        # Tokens never increase.
        most = run.log.tokens_at(0) if column == _AFTER else int(run.log.count.max())
        return figure(most, run.weight_scale)

    def count(self) -> int:
        return len(self._found) if self._found is not None else self._size

    @property
    def _first(self) -> int:
        return self.tokens.first if self.tokens is not None else 0

    def _slot(self, number: int, column: int) -> int:
        slot = self._first + number - 1
        if column == _TOKEN:
            return slot
        assert self.tokens is not None
        parts = self.tokens.parts_of(slot)
        assert parts is not None
        return parts[column - _LEFT]

    def _figure(self, number: int, column: int) -> str:
        run = self.run
        if run is None or not run.has_counts:
            return "–"
        if column == _COUNT:
            return figure(int(run.log.count[number - 1]), run.weight_scale)
        if column == _AFTER:
            return figure(run.log.tokens_at(number), run.weight_scale)
        return f"{run.bytes_per_token(number):,.3f}"

    def token_at(self, row: int) -> int | None:
        if self.run is None or not 0 <= row < self.rowCount():
            return None
        return self.run.id_of_merge(self.number_at(row))

    def _own_slots(self, number: int, own: LogColumn) -> list[int]:
        """The slots of the parts of a merge that a column of its algorithm is about."""
        assert self.run is not None
        are_shown = own.value(self.run.log, number - 1)
        return [self._slot(number, part) for part, is_shown in zip((_LEFT, _RIGHT), are_shown, strict=True) if is_shown]

    def _own_figure(self, number: int, own: LogColumn, *, plain: bool = False) -> str:
        """What a column of its algorithm says of a merge."""
        assert self.run is not None
        value, scale = own.value(self.run.log, number - 1), self.run.weight_scale
        if value is None:
            return own.nothing
        if own.kind != "count":
            return str(value)
        return str(in_units(value, scale)) if plain else figure(value, scale)

    def _first_row_up_to(self, number: int) -> int:
        """The first row with a merge up to this number."""
        if self._found is not None:
            return len(self._found) - int(np.searchsorted(self._found, number))
        return min(max(self._size - number, 0), self._size)

    def _search(self) -> None:
        self._later.stop()
        tokens, matches = self.tokens, self._matches
        if tokens is None:
            return
        if not matches.query:
            self._show(None)
        else:
            self._searched = size = self._size = len(tokens.run)
            query = matches.query
            assert self.run is not None
            log, parts = self.run.log, tokens.parts
            chosen = query.chosen(log.languages, log.columns, size) if isinstance(query, MergeQuery) else None
            removals = log.removals

            def work() -> Work[NDArray[np.bool_]]:
                number = query.number
                numbered = () if number is None else (tokens.slot_of(number), tokens.slot_of_merge(number))
                passes = yield from matches.work(tokens.index, tokens.lengths(), numbered)
                passing = passes[tokens.first : tokens.first + size]
                if chosen is not None:
                    passing &= chosen
                if isinstance(query, MergeQuery):
                    heads = tokens.index.heads if tokens.index is not None else ()
                    removing = query.removing(removals, parts, heads)
                    passing &= True if removing is None else removing
                return passes

            needs_bytes = query.needs_heads or (isinstance(query, MergeQuery) and bool(query.removed))
            self._job.run(tokens, work, indexed=needs_bytes)
        self.matches_changed.emit()

    def _search_later(self) -> None:
        if not self._job.busy and not self._later.isActive():
            self._later.start()

    def _take(self, passes: NDArray[np.bool_]) -> None:
        # The pane reports an expression that took too long; the rows stay.
        if not self._matches.query.error:
            self._show(np.flatnonzero(passes[self._first :]))
            if self._searched < self._size:
                self._search_later()
        self.matches_changed.emit()

    def _show(self, passing: NDArray[np.int64] | None) -> None:
        """Replaces the rows; while the run grows, rows are only added at the top."""
        before = self._found
        if before is None and passing is None:
            return
        with self.changes():
            if before is None or passing is None or not np.array_equal(before, passing[: len(before)]):
                with self.reset():
                    self._found = passing
            elif len(passing) > len(before):
                self.beginInsertRows(QModelIndex(), 0, len(passing) - len(before) - 1)
                self._found = passing
                self.endInsertRows()


# --- The Merges pane: the live log of merges, the newest first --------------------------------------------------------
# See also `model`.

_EMPTY = "Merges appear here as they are made, each with its two tokens and their count."
# For what another library trains.
_AT_THE_END = "Merges appear here when the {} library has trained: it makes them all at once."
_NONE = "{} has no merges: its tokens appear in Vocabulary when the {} library has trained."
_HINTS = {"chosen_by": CHOOSER_HINT, "removals": REMOVAL_HINT}  # by column
_MOST_DIGITS = 18  # of the number of a merge; Python refuses thousands
_DERIVED = "Merges derived from the file's {}."


class MergesPane(TablePane):
    """All merges of the active run; Enter or a double click moves the playhead there."""

    def __init__(self, session: Session, theme: Theme, actions: Mapping[str, QAction]) -> None:
        self._merges = MergesModel(session.indexing)
        super().__init__("merges", "Merges", session, theme, self._merges, _EMPTY)
        self._merges.setParent(self)
        self.derived = plain_label("muted")
        self.derived.setContentsMargins(8, 0, 8, 0)
        self.derived.hide()
        self.body.insertWidget(0, self.derived)
        self.follow(actions["byte_level_characters"])
        self.table.rowActivated.connect(self._go_to)
        self.offer(actions["why_merge"], actions["copy"])
        session.training.settings_changed.connect(self._settings_changed)
        session.training.merges_added.connect(self._merges_added)
        session.view.playhead_changed.connect(self._playhead_changed)
        self.catch_up()

    def catch_up(self) -> None:
        run, playhead = self._session.runs.active, self._session.view.playhead
        if run is not self._merges.run:
            self._merges.set_run(run, playhead)
            self.table.verticalScrollBar().setValue(0)
            self.table.refit()
            added = () if run is None or run.config is None else run.config.algorithm.columns
            hints = (_HINTS[column.name] for column in added if column.name in _HINTS)
            self.filter.setToolTip(" ".join((FILTER_HINT, *hints)))
            source = run.merges_derived_from if run is not None else ""
            self.derived.setText(_DERIVED.format(source))
            self.derived.setVisible(bool(source))
        else:
            self._merges.grow()
            self._merges.set_playhead(playhead)
        self.empty.label.setText((run.why_no_merges if run is not None else "") or self._before_training())
        self.choose_page()
        self._show_token(scroll=False)

    def _before_training(self) -> str:
        """What will be shown here after a training with the settings of Configure."""
        config = self._session.training.settings.library_config
        if config is None:
            return _EMPTY
        if config.algorithm == "sentencepiece-bpe":
            return _AT_THE_END.format(config.library)
        return _NONE.format(config.title, config.library)

    def total(self) -> int:
        return len(self._session.runs.active) if self._session.runs.active is not None else 0

    def make_query(self, text: str) -> Query:
        return MergeQuery(text)

    def apply_filter(self, query: Query) -> None:
        self._merges.set_query(query)

    def arrive(self, part: str) -> None:
        self.catch_up()
        row = self._merges.row_of_number(int(part)) if part.isdecimal() and len(part) <= _MOST_DIGITS else -1
        if row >= 0:
            self.table.show_row(row)
            self.table.reveal(row)

    # ---- the session

    def _settings_changed(self) -> None:
        if self.seen and self._session.runs.active is None:
            self.catch_up()

    def _merges_added(self) -> None:
        if self.seen:
            self._merges.grow()
            self._merges.set_playhead(self._session.view.playhead)
            self.choose_page()

    def current_row(self) -> int:
        view = self._session.view
        at_playhead = view.chosen is None or view.moved_since
        return self._merges.row_of_number(view.playhead) if at_playhead else super().current_row()

    def _playhead_changed(self) -> None:
        session = self._session
        # At the end of a growing run, the playhead moves by itself: then the rows stay still.
        follows = session.training.state == "idle" or session.view.playhead < self.total()
        if not self.seen:
            self._to_follow |= follows
        elif session.runs.active is self._merges.run:
            self._merges.set_playhead(session.view.playhead)
            if follows:
                self.table.reveal(self._merges.row_of_number(session.view.playhead))

    def _go_to(self, row: int) -> None:
        self._session.view.set_playhead(self._merges.number_at(row))
