"""Filters and sorts the tokens of a run in a job, from arrays taken before it begins."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tokstudio.core.analysis.reachability import REACHED
from tokstudio.core.analysis.token_index import NOT_UTF8, WHITE_SPACE, TokenIndex
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass
from tokstudio.gui.panes.vocabulary.spread import Spread
from tokstudio.gui.state.run_tokens import KINDS, RunTokens
from tokstudio.gui.token_table.filters import LOOKS, MADE, SCRIPT, USES_STATES
from tokstudio.gui.token_table.query import Query
from tokstudio.gui.token_table.search import Matches
from tokstudio.gui.token_table.token_uses import UNCOUNTED, USED, TokenUses

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: The columns of the vocabulary.
ID, TOKEN, BYTES, LENGTH, PARTS, MERGE, USES, KIND, NOTES, RANGE, TOP, BUNCHED, DISPERSION, EMITTED = range(14)
#: Those that need the corpus, and are shown if they are chosen.
OF_CORPUS = (RANGE, TOP, BUNCHED, DISPERSION, EMITTED)

_NOTED = WHITE_SPACE | NOT_UTF8


@dataclass(frozen=True)
class VocabularyQuestion:
    """The filters and the order."""

    query: Query  # the typed filter
    # Names of `MADE`, `LOOKS` and `USES_STATES`, and scripts. A token needs one of each group.
    chosen: frozenset[str] = frozenset()
    lengths: tuple[int, int] | None = None  # the least and the most bytes; None for any
    column: int = ID  # the column to sort by; ties are in the order of making
    descending: bool = False  # whether the largest values come first

    @property
    def filters(self) -> bool:
        """Whether it excludes any tokens."""
        return bool(self.query or self.chosen or self.lengths)

    @property
    def needs_index(self) -> bool:
        """Whether it needs an index of the tokens."""
        looks = any(one in LOOKS or one.startswith(SCRIPT) for one in self.chosen)
        return looks or self.query.needs_heads or self.column in (TOKEN, BYTES, NOTES)


@dataclass(frozen=True, eq=False)
class ShownTokens:
    """The first tokens of a run at the start of a job."""

    size: int  # the number of tokens at the playhead
    first: int  # the number of tokens before any merge
    ids: NDArray[np.int32]  # int32, the id of each slot. All arrays are by slot, and may be longer than `size`.
    kinds: NDArray[np.int8]  # int8, indices into `KINDS`
    lengths: NDArray[np.int64]  # int64, their bytes
    parts: NDArray[np.int32]  # int32 [n, 2], the slots that each merge joins
    reach: NDArray[np.uint8] | None  # uint8, whether some text becomes them; None if not known
    uses: TokenUses  # their counts in the corpus
    index: TokenIndex | None  # an index of all of them; None if none is needed
    numbered: tuple[int, ...]  # the slots with the number of the query
    present: NDArray[np.bool_] | None = None  # bool [size], which of them are there; None where all are
    spread: Spread | None = None  # where in the corpus they are, by id; None if not known

    @classmethod
    def of(
        cls,
        tokens: RunTokens,
        size: int,
        uses: TokenUses,
        query: Query,
        present: NDArray[np.bool_] | None = None,
        spread: Spread | None = None,
    ) -> ShownTokens:
        """Takes the current tokens."""
        tables = tokens.ids, tokens.kinds(size), tokens.lengths()[:size], tokens.parts[: max(size - tokens.first, 0)]
        numbered = () if query.number is None else (tokens.slot_of(query.number), tokens.slot_of_merge(query.number))
        return cls(size, tokens.first, *tables, tokens.reach, uses, tokens.index, numbered, present, spread)


@dataclass(frozen=True, eq=False)
class Answer:
    """The rows of a question."""

    rows: NDArray[np.int32] | None  # int32, slots by row; None if the filter failed, which has the error then
    matches: Matches  # the search for the text, which can be continued


def rows_work(tokens: ShownTokens, question: VocabularyQuestion, matches: Matches) -> Work[Answer]:
    """Computes the rows of a question."""
    size, query = tokens.size, question.query
    passes = np.ones(size, np.bool_) if tokens.present is None else tokens.present.copy()
    if query:
        passes &= yield from matches.work(tokens.index, tokens.lengths, tokens.numbered)
        if query.error:
            return Answer(None, matches)
    passes &= yield from _chosen_work(tokens, question)
    order = yield from _order_work(tokens, question)
    return Answer(order[passes[order]], matches)


def _chosen_work(tokens: ShownTokens, question: VocabularyQuestion) -> Work[NDArray[np.bool_]]:
    """Finds the tokens of the chosen kinds, forms, scripts, uses and lengths."""
    size, chosen, index = tokens.size, question.chosen, tokens.index
    is_chosen = np.ones(size, np.bool_)
    kinds = [KINDS.index(kind) for one in chosen if one in MADE for kind in MADE[one]]
    if kinds:
        is_chosen &= np.isin(tokens.kinds, kinds)
        if "Unreachable" in chosen and tokens.reach is not None:
            is_chosen |= tokens.reach[:size] != REACHED
        yield Progress("searching tokens")
    states = [state for one in chosen if one in USES_STATES for state in USES_STATES[one]]
    if states:
        is_chosen &= np.isin(tokens.uses.states(size), states)
        yield Progress("searching tokens")
    looks = [LOOKS[one] for one in chosen if one in LOOKS]
    scripts = [one.removeprefix(SCRIPT) for one in chosen if one.startswith(SCRIPT)]
    if index is not None and (looks or scripts):
        of_look = (index.flags & sum(looks)) > 0
        if scripts:
            yield from index.scripts_work()
        for script in scripts:
            of_look |= index.of_script(script)
        is_chosen &= of_look[:size]
    in_places = tokens.spread.in_places(chosen) if tokens.spread is not None else None
    if in_places is not None:
        is_chosen &= _by_slot(tokens, in_places)
    if question.lengths is not None:
        is_chosen &= (tokens.lengths >= question.lengths[0]) & (tokens.lengths <= question.lengths[1])
    return is_chosen


def _order_work(tokens: ShownTokens, question: VocabularyQuestion) -> Work[NDArray[np.int32]]:
    size, index = tokens.size, tokens.index
    if index is not None and question.column in (TOKEN, BYTES):
        order = yield from index.order_work()
        order = order[order < size]
        return order[::-1] if question.descending else order
    if question.column in OF_CORPUS:
        yield Progress("sorting tokens")
        return _order_in_corpus(tokens, question)
    key = _key(tokens, question.column)[:size].astype(np.int64)
    yield Progress("sorting tokens")
    return np.argsort(-key if question.descending else key, kind="stable").astype(np.int32)


def _order_in_corpus(tokens: ShownTokens, question: VocabularyQuestion) -> NDArray[np.int32]:
    """Sorts by a figure of the corpus; tokens without one are the last in both directions."""
    if tokens.spread is None:
        return np.arange(tokens.size, dtype=np.int32)
    measured = tokens.spread.measured
    by_column = {
        RANGE: measured.range,
        TOP: measured.top_share,
        BUNCHED: measured.bunched,
        DISPERSION: measured.dp,
        EMITTED: measured.emitted,
    }
    key = _by_slot(tokens, by_column[question.column].astype(np.float64), np.nan)
    return np.argsort(-key if question.descending else key, kind="stable").astype(np.int32)


def _by_slot(tokens: ShownTokens, by_id: NDArray[Any], otherwise: float | bool = False) -> NDArray[Any]:
    """What tokens have by id, by slot; `otherwise` for an id that is not known."""
    return np.append(by_id, otherwise)[np.minimum(tokens.ids[: tokens.size], len(by_id))]


def _key(tokens: ShownTokens, column: int) -> NDArray:
    """The integer key of the order, by slot."""
    size = tokens.size
    if column == ID:
        return tokens.ids
    if column == LENGTH:
        return tokens.lengths
    if column == MERGE:
        # Base tokens keep their order in both directions.
        return np.maximum(np.arange(size) - tokens.first, -1)
    if column == PARTS:
        parts = tokens.parts.astype(np.int64)
        return np.concatenate([np.full(tokens.first, -1), (parts[:, 0] << 32) | parts[:, 1]])
    if column == USES and tokens.uses.known:
        counts = tokens.uses.counts[:size]
        return np.pad(counts, (0, size - len(counts)))
    if column == KIND:
        return tokens.kinds
    if column == NOTES and tokens.index is not None:
        states = tokens.uses.states(size)
        # Special tokens, which are not counted, have as short notes as used ones.
        states[states == UNCOUNTED] = USED
        reach = np.zeros(size, np.int64) if tokens.reach is None else tokens.reach[:size].astype(np.int64)
        return reach * 256 + (tokens.index.flags[:size] & _NOTED).astype(np.int64) * 4 + states
    return np.arange(size)
