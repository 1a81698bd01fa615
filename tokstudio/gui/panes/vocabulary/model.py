"""The vocabulary at the playhead as rows: sorted by any column, filtered by text, length, kinds and uses.

A job (`selection.py`) sorts and filters; until it ends, the rows stay.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QModelIndex, Qt, QTimer

from tokstudio.core.base.progress import Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import in_units, share_text
from tokstudio.gui.panes.vocabulary import selection
from tokstudio.gui.panes.vocabulary.spread import Spread
from tokstudio.gui.session.measuring.token_facts import TokenIndexing
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.state.run_tokens import KINDS
from tokstudio.gui.token_table.filters import PLACES, notes
from tokstudio.gui.token_table.model import COPIED_BYTES, TokenCell, TokenColumn, TokenTable
from tokstudio.gui.token_table.query import Query
from tokstudio.gui.token_table.search import Matches, RowsJob
from tokstudio.gui.token_table.token_uses import TokenUses
from tokstudio.gui.token_text.spelling import figure, hex_head, marked

if TYPE_CHECKING:
    from numpy.typing import NDArray

# --- Maps rows of the vocabulary table to tokens ----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class OrderedTokens:
    """Tokens in the order of creation, or with the newest merges first, or in any other order."""

    first: int = 0  # without `slots`: the number of tokens before any merge
    size: int = 0  # without `slots`: the number of tokens
    newest_first: bool = False  # without `slots`: the merges come from the last to the first, then the rest
    slots: NDArray[np.int32] | None = None  # int32, slots by row; None for the order of creation

    def __len__(self) -> int:
        return self.size if self.slots is None else len(self.slots)

    def slot_at(self, row: int) -> int:
        """The slot of the token in a row."""
        if self.slots is not None:
            return int(self.slots[row])
        if not self.newest_first:
            return row
        merges = self.size - self.first
        return self.size - 1 - row if row < merges else row - merges

    def row_of(self, slot: int) -> int:
        """The row of a token; -1 if it is not shown."""
        if self.slots is not None:
            return int(self._places[slot]) if slot < len(self._places) else -1
        if slot >= self.size:
            return -1
        if not self.newest_first:
            return slot
        return slot + self.size - self.first if slot < self.first else self.size - 1 - slot

    def array(self) -> NDArray[np.int32]:
        """int32, slots by row."""
        if self.slots is not None:
            return self.slots
        slots = np.arange(self.size, dtype=np.int32)
        return np.concatenate([slots[self.first :][::-1], slots[: self.first]]) if self.newest_first else slots

    @cached_property
    def _places(self) -> NDArray[np.int32]:
        assert self.slots is not None
        places = np.full(int(self.slots.max(initial=0)) + 1, -1, np.int32)
        places[self.slots] = np.arange(len(self.slots), dtype=np.int32)
        return places


_HEX_BYTES = 24
_WIDEST = {selection.BUNCHED: "000.0", selection.DISPERSION: "0.00", selection.EMITTED: share_text(0.999)}
_MOST_AT_ONCE = 200_000  # tokens that are counted at every move of the playhead


class VocabularyModel(TokenTable):
    """The tokens before any merge, and those of the merges up to the playhead.

    Without a filter and in the order of ids or merges, a move of the playhead adds or removes rows at the end, or at
    the top if the newest merges come first, and counts uses again. Other orders or filters are computed at most four
    times a second. With Picky BPE, tokens that a merge up to there removed are not listed.
    """

    columns = (
        TokenColumn("Id", "number", "Number of the token in the tokenizer's output", word="id"),
        TokenColumn("Token", "token", "The token as text, or as bytes if it is not text", 5, 13, word="token"),
        TokenColumn("Bytes", "bytes", "Its bytes in hexadecimal", 4, 11, yields=4, muted=True, word="byte"),
        TokenColumn("Length", "number", "How many bytes it has", yields=2),
        TokenColumn("Made by", "token", "The two tokens that were merged into it", 4, 11, yields=3, muted=True),
        TokenColumn("Merge", "number", "Number of the merge that made it", yields=6, muted=True, word="merge"),
        TokenColumn("Uses", "number", "", word="uses"),
        TokenColumn(
            "Kind", "words", "Byte, character, merge, special, whole word or unreachable", yields=1, muted=True
        ),
        TokenColumn("Notes", "words", "Not UTF-8, white space, or why it is not used", 2, 14, yields=5, muted=True),
        TokenColumn(
            "Documents", "number", "How many documents of the corpus have it, or pieces", word="range", optional=True
        ),
        TokenColumn(
            "Top document", "words", "The document with most of its uses, and their share", 4, 12, optional=True
        ),
        TokenColumn(
            "Bunched",
            "number",
            "Expected documents with it, if strewn at random, by actual ones",
            word="bunched",
            optional=True,
        ),
        TokenColumn("Dispersion", "number", "Gries' DP over pieces", word="dispersion", optional=True),
        TokenColumn(
            "Emitted",
            "number",
            "Its uses by how often it is made while the text is encoded; a dash where another library encodes",
            word="emitted",
            optional=True,
        ),
    )

    def __init__(self, indexing: TokenIndexing) -> None:
        super().__init__()
        self.question = selection.VocabularyQuestion(Query(""))
        self.playhead = 0
        self.size = 0  # slots of the tokens made up to the playhead
        self.present: NDArray[np.bool_] | None = None  # which of them are there; None where all are
        self._rows = OrderedTokens()
        self._uses = TokenUses()
        self._spread: Spread | None = None
        self._spread_of: tuple[StudioRun, int] | None = None  # the run and the playhead of the spread
        self._matches: Matches | None = None  # of the last answered filter
        self._job = RowsJob(indexing, self)
        self._job.done.connect(self._take)
        self._job.failed.connect(self.fail)
        indexing.changed.connect(self.tell)  # it knows more about long tokens
        self._later = QTimer(self, singleShot=True, interval=indexing.jobs.pauses.updates)
        self._later.timeout.connect(self._refresh_when_free)

    def set_run(self, run: StudioRun | None, playhead: int = 0) -> None:
        """Shows the vocabulary of a run after a number of merges."""
        with self.reset():
            self._job.cancel()
            self._later.stop()
            self.hold(run)
            self.playhead = playhead
            # In the order of making, until the wanted order is ready.
            self._measure(playhead)
            self._rows = self._in_order_of_making()
            self._uses = self._uses_at(playhead) if self.size <= _MOST_AT_ONCE else TokenUses()
            self._matches = None
        self._refresh()

    def set_playhead(self, merges: int) -> None:
        """Shows the tokens that exist after a number of merges, and their counts."""
        run = self.run
        if run is None or (merges == self.playhead and self._uses.known == (run.uses.at(merges) is not None)):
            return
        self.playhead = merges
        in_order = self._is_order_of_making and (self._rows.slots is None or self.present is not None)
        if in_order and self.present is None:
            self._resize(self._first + merges)
        elif self._rows.slots is None:
            self._rows = OrderedTokens(slots=self._rows.array())
        self._measure(merges)
        if in_order and self.present is not None:
            self._replace(self._rows.array(), self._in_order_of_making().array())
        elif self._rows.slots is not None:
            self._schedule()
        if self.size <= _MOST_AT_ONCE:
            self._uses = self._uses_at(merges)
            self.tell()
        else:
            self._schedule()

    @property
    def spread(self) -> Spread | None:
        """Where in the corpus the tokens are, if that is known at the playhead."""
        return self._spread if self._spread_of == (self.run, self.playhead) else None

    @property
    def needs_spread(self) -> bool:
        """Whether a chosen column or filter needs it."""
        return bool(self.chosen) or not self.question.chosen.isdisjoint(PLACES)

    def show_spread(self, spread: Spread | None, run: StudioRun | None = None, playhead: int = 0) -> None:
        """Shows where in the corpus the tokens of a run are after a number of merges, after that is known."""
        if spread is self._spread:
            return
        self._spread, self._spread_of = spread, None if run is None else (run, playhead)
        self._name_units(spread is None or spread.of_documents)
        if self.question.column in selection.OF_CORPUS or not self.question.chosen.isdisjoint(PLACES):
            self._refresh()
        self.tell()

    def _name_units(self, of_documents: bool) -> None:
        """Names two columns after what is counted: documents, or pieces of few documents."""
        titles = ("Documents", "Top document") if of_documents else ("Pieces", "Top piece")
        if self.titles[selection.RANGE] != titles[0]:
            named = dict(zip((selection.RANGE, selection.TOP), titles, strict=True))
            columns = (replace(one, title=named.get(at, one.title)) for at, one in enumerate(self.columns))
            self.set_columns(tuple(columns))
            self.headerDataChanged.emit(Qt.Orientation.Horizontal, selection.RANGE, selection.TOP)

    def show_reach(self) -> None:
        """Shows which tokens no text becomes, after that is known."""
        self._refresh()

    def set_query(self, query: Query) -> None:
        """Shows the tokens of a query; an empty query shows all."""
        self._ask(replace(self.question, query=query))

    def set_choice(self, chosen: Collection[str], lengths: tuple[int, int] | None = None) -> None:
        """Shows tokens by kind and by length in bytes, the least and the most; None for any length."""
        self._ask(replace(self.question, chosen=frozenset(chosen), lengths=lengths))

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Sorts by a column; ties are in the order of making."""
        if 0 <= column < len(self.columns):
            self._ask(replace(self.question, column=column, descending=order == Qt.SortOrder.DescendingOrder))

    @property
    def filtered(self) -> bool:
        """Whether any filter is set."""
        return self.question.filters

    @property
    def searching(self) -> bool:
        return self._job.busy

    def slot_at(self, row: int) -> int:
        return self._rows.slot_at(row)

    def row_of(self, slot: int) -> int:
        return self._rows.row_of(slot)

    @property
    def total(self) -> int:
        """The tokens that exist at the playhead, visible or not."""
        return self.size if self.present is None else int(np.count_nonzero(self.present))

    def may_list(self, slot: int) -> bool:
        """Whether the token exists at the playhead."""
        return slot < self.size and (self.present is None or bool(self.present[slot]))

    def listed_ids(self) -> NDArray[np.int32]:
        """int32, the ids of the tokens in the rows."""
        return np.zeros(0, np.int32) if self.tokens is None else self.tokens.ids[self._rows.array()]

    def cell(self, row: int, column: int) -> TokenCell:
        slot = self.slot_at(row)
        assert self.tokens is not None
        if column == selection.TOKEN:
            token = self.shown(slot)
            return TokenCell(marked(token), (token,), special=self.tokens.kind_of(slot) == "special")
        if column == selection.PARTS:
            parts = self.tokens.parts_of(slot)
            tokens = tuple(self.shown(part) for part in parts) if parts else ()
            return TokenCell(" + ".join(marked(token) for token in tokens), tokens)
        return TokenCell(self._words(slot, column))

    def _merges_listed(self) -> int:
        return self.playhead

    def copied_slot(self, slot: int) -> str:
        tokens = self.tokens
        assert tokens is not None
        parts = tokens.parts_of(slot)
        made_by = " + ".join(self.copied_token(part) for part in parts) if parts else ""
        uses = self._uses.count_of(slot)
        merge = str(slot - self._first + 1) if parts else ""
        hexadecimal = hex_head(tokens.head(slot, COPIED_BYTES), COPIED_BYTES)
        fields = (tokens.id_of(slot), self.copied_token(slot), hexadecimal, tokens.length(slot), made_by, merge)
        more = (
            "" if uses is None else str(in_units(uses, self._uses.scale)),
            tokens.kind_of(slot),
            notes(slot, tokens, self._uses),
        )
        of_corpus = (self._in_corpus(slot, column) for column in sorted(self.chosen))
        return "\t".join([*map(str, fields), *more, *of_corpus])

    def widest(self, column: int) -> str:
        if self.run is None or self.tokens is None:
            return "0,000"
        if column == selection.ID:
            return figure(max(len(self.tokens), int(self.tokens.ids.max(initial=0))))
        if column == selection.MERGE:
            return figure(len(self.run))
        if column == selection.USES:
            highest = self.run.uses.highest
            return "–" if highest is None else figure(highest, self.run.weight_scale)
        if column == selection.LENGTH:
            return max("00,000", figure(int(self.tokens.lengths().max(initial=0))), key=len)
        if column == selection.RANGE and self.spread is not None:
            return max("00,000", figure(int(self.spread.measured.range.max(initial=0))), key=len)
        if column in _WIDEST:
            return _WIDEST[column]
        return max(KINDS, key=len) if column == selection.KIND else "00,000"

    def count(self) -> int:
        return len(self._rows)

    # ---- cells

    def _words(self, slot: int, column: int) -> str:
        assert self.tokens is not None
        if column == selection.ID:
            return f"{self.tokens.id_of(slot):,}"
        if column == selection.BYTES:
            return hex_head(self.tokens.head(slot, _HEX_BYTES + 1), _HEX_BYTES)
        if column == selection.LENGTH:
            return f"{self.tokens.length(slot):,}"
        if column == selection.MERGE:
            return figure(slot - self._first + 1 if slot >= self._first else None)
        if column == selection.USES:
            return figure(self._uses.count_of(slot), self._uses.scale)
        if column in selection.OF_CORPUS:
            return self._in_corpus(slot, column)
        return self.tokens.kind_of(slot) if column == selection.KIND else notes(slot, self.tokens, self._uses)

    def _in_corpus(self, slot: int, column: int) -> str:
        """A figure of the corpus; a dash where it is not known or there is none."""
        assert self.tokens is not None
        spread, token = self.spread, self.tokens.id_of(slot)
        if spread is None or token >= len(spread.measured.uses):
            return "–"
        measured = spread.measured
        if column == selection.RANGE:
            return f"{int(measured.range[token]):,}"
        by_column = {
            selection.TOP: measured.top_share,
            selection.BUNCHED: measured.bunched,
            selection.DISPERSION: measured.dp,
            selection.EMITTED: measured.emitted,
        }
        value = float(by_column[column][token])
        if np.isnan(value):
            return "–"
        if column == selection.TOP:
            return spread.top_text(token)
        return share_text(value) if column == selection.EMITTED else f"{value:,.{2 - (column == selection.BUNCHED)}f}"

    # ---- rows

    @property
    def _first(self) -> int:
        return self.tokens.first if self.tokens is not None else 0

    def _measure(self, merges: int) -> None:
        """Finds the tokens that exist after a number of merges."""
        self.size = self._first + merges
        self.present = None if self.run is None else self.run.present(merges)

    def _in_order_of_making(self) -> OrderedTokens:
        """The tokens in the order of making, or with the newest merges first."""
        rows = OrderedTokens(self._first, self.size, self._wants_newest_first)
        if self.present is None:
            return rows
        slots = rows.array()
        return OrderedTokens(slots=slots[self.present[slots]])

    @property
    def _is_order_of_making(self) -> bool:
        """Whether all tokens are shown in the order of making, possibly with the newest merges first."""
        question = self.question
        if question.filters or self.tokens is None:
            return False
        by_id = question.column == selection.ID and not question.descending and self.tokens.ids_ascend
        return by_id or question.column == selection.MERGE

    @property
    def _wants_newest_first(self) -> bool:
        return self.question.column == selection.MERGE and self.question.descending

    def _resize(self, size: int) -> None:
        """Adds or removes rows at the end of the order of making."""
        before = self._rows.size
        top = 0 if self._rows.newest_first else min(size, before)
        resized = OrderedTokens(self._first, size, self._rows.newest_first)
        with self.changes():
            if size > before:
                self.beginInsertRows(QModelIndex(), top, top + size - before - 1)
                self._rows = resized
                self.endInsertRows()
            elif size < before:
                self.beginRemoveRows(QModelIndex(), top, top + before - size - 1)
                self._rows = resized
                self.endRemoveRows()

    def _schedule(self) -> None:
        if not self._later.isActive():
            self._later.start()

    def _refresh_when_free(self) -> None:
        # A sort would never end if every merge restarted it.
        if self._job.busy:
            self._schedule()
        else:
            self._refresh()

    def _ask(self, question: selection.VocabularyQuestion) -> None:
        self.question = question
        self._refresh()

    def _refresh(self) -> None:
        self._job.cancel()
        tokens, question = self.tokens, self.question
        if tokens is not None:
            if self.size > _MOST_AT_ONCE:
                self._uses = self._uses_at(self.playhead)
            if self._is_order_of_making:
                self._show(self._in_order_of_making())
            else:
                # A search belongs to one job: after a cancel it is not continued.
                matches, self._matches = self._matches, None
                if matches is None or matches.query is not question.query:
                    matches = Matches(question.query)
                size, uses, present, spread = self.size, self._uses, self.present, self.spread

                def work() -> Work[selection.Answer]:
                    return selection.rows_work(
                        selection.ShownTokens.of(tokens, size, uses, question.query, present, spread), question, matches
                    )

                self._job.run(tokens, work, indexed=question.needs_index)
        self.matches_changed.emit()

    def _take(self, answer: selection.Answer) -> None:
        self._matches = answer.matches
        # The pane reports an expression that took too long; the rows stay.
        if answer.rows is not None:
            self._show(OrderedTokens(slots=answer.rows))
        self.matches_changed.emit()

    def _show(self, rows: OrderedTokens) -> None:
        """Replaces the rows; the selection stays on tokens that still exist."""
        old, new = self._rows.array(), rows.array()
        if not np.array_equal(old, new):
            self._replace(old, new)
        self._rows = rows
        self.tell()

    def _uses_at(self, merges: int) -> TokenUses:
        return TokenUses(self.run, merges, self.tokens.given_ids if self.tokens is not None else None)

    def _replace(self, old: NDArray[np.int32], new: NDArray[np.int32]) -> None:
        size = int(max(old.max(initial=-1), new.max(initial=-1))) + 1
        wanted, held = np.zeros(size, np.bool_), np.zeros(size, np.bool_)
        wanted[new], held[old] = True, True
        with self.changes():
            kept = old[wanted[old]]
            if len(kept) < len(old):
                self._permute(np.concatenate([kept, old[~wanted[old]]]))
                self.beginRemoveRows(QModelIndex(), len(kept), len(old) - 1)
                self._hold(kept)
                self.endRemoveRows()
            if len(kept) < len(new):
                self.beginInsertRows(QModelIndex(), len(kept), len(new) - 1)
                self._hold(np.concatenate([kept, new[~held[new]]]))
                self.endInsertRows()
            self._permute(new)

    def _permute(self, slots: NDArray[np.int32]) -> None:
        self.reordering.emit()
        self.layoutAboutToBeChanged.emit()
        before = self.persistentIndexList()
        moved = [self.slot_at(index.row()) for index in before]
        self._hold(slots)
        after = [self.index(self.row_of(slot), index.column()) for slot, index in zip(moved, before, strict=True)]
        self.changePersistentIndexList(before, after)
        self.layoutChanged.emit()

    def _hold(self, slots: NDArray[np.int32]) -> None:
        self._rows = OrderedTokens(slots=slots)
