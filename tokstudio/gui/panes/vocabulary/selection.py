"""Which tokens of a run pass the filters, and in what order: found in a job, from arrays taken before it begins."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.analysis.reachability import REACHED
from tokstudio.core.base.progress import Progress, Work
from tokstudio.gui.panes.vocabulary.kinds import LOOKS, MADE, SCRIPT, USES_STATES
from tokstudio.gui.state.run_tokens import KINDS, RunTokens
from tokstudio.gui.state.token_flags import NOT_UTF8, WHITE_SPACE
from tokstudio.gui.state.token_index import TokenIndex
from tokstudio.gui.state.token_uses import UNCOUNTED, USED, TokenUses
from tokstudio.gui.token_table.query import Query
from tokstudio.gui.token_table.search import Matches

#: The columns of the vocabulary.
ID, TOKEN, BYTES, LENGTH, PARTS, MERGE, USES, KIND, NOTES = range(9)

_NOTED = WHITE_SPACE | NOT_UTF8


@dataclass(frozen=True)
class Question:
    """What a person asks for.

    Attributes:
        query: What is typed.
        chosen: Names of `MADE`, `LOOKS` and `USES_STATES`, and scripts. Of one group any will do; each group must hold.
        lengths: The fewest and the most bytes; None for any.
        column: The column that is sorted by; ties stay in the order of making.
        descending: Whether the largest come first.
    """

    query: Query
    chosen: frozenset[str] = frozenset()
    lengths: tuple[int, int] | None = None
    column: int = ID
    descending: bool = False

    @property
    def filters(self) -> bool:
        """Whether it asks for less than all tokens."""
        return bool(self.query or self.chosen or self.lengths)

    @property
    def needs_index(self) -> bool:
        """Whether an index of the tokens must be made before it can be answered."""
        looks = any(one in LOOKS or one.startswith(SCRIPT) for one in self.chosen)
        return looks or self.query.needs_heads or self.column in (TOKEN, BYTES, NOTES)


@dataclass(frozen=True, eq=False)
class Tokens:
    """The first tokens of a run as they were when a job began.

    Attributes:
        size: How many there are at the playhead.
        first: How many there are before any merge.
        ids: int32, the id of each; so are all arrays by slot, and may be longer than `size`.
        kinds: int8, places in `KINDS`.
        lengths: int64, how many bytes they have.
        parts: int32 [n, 2], the slots that each merge joins.
        reach: uint8, whether some text becomes them; None where that is not known.
        uses: How often they stand in the corpus.
        index: The index, which has all of them; None where none is needed.
        numbered: The slots that the query means if it is a number.
    """

    size: int
    first: int
    ids: NDArray[np.int32]
    kinds: NDArray[np.int8]
    lengths: NDArray[np.int64]
    parts: NDArray[np.int32]
    reach: NDArray[np.uint8] | None
    uses: TokenUses
    index: TokenIndex | None
    numbered: tuple[int, ...]

    @classmethod
    def of(cls, tokens: RunTokens, size: int, uses: TokenUses, query: Query) -> Tokens:
        """Takes the tokens as they are now."""
        known = tokens.ids, tokens.kinds(size), tokens.lengths()[:size], tokens.parts[: max(size - tokens.first, 0)]
        numbered = () if query.number is None else (tokens.slot_of(query.number), tokens.slot_of_merge(query.number))
        return cls(size, tokens.first, *known, tokens.reach, uses, tokens.index, numbered)


@dataclass(frozen=True, eq=False)
class Answer:
    """The rows that were asked for.

    Attributes:
        rows: int32, slots by row; None where the filter could not be answered, and says so.
        matches: The search for the text, which may be gone on with.
    """

    rows: NDArray[np.int32] | None
    matches: Matches


def rows_work(tokens: Tokens, question: Question, matches: Matches) -> Work[Answer]:
    """Finds the tokens that are asked for, in the order that is asked for."""
    size, query = tokens.size, question.query
    passes = np.ones(size, np.bool_)
    if query:
        passes &= yield from matches.work(tokens.index, tokens.lengths, tokens.numbered)
        if query.error:
            return Answer(None, matches)
    passes &= yield from _chosen_work(tokens, question)
    order = yield from _order_work(tokens, question)
    return Answer(order[passes[order]], matches)


def _chosen_work(tokens: Tokens, question: Question) -> Work[NDArray[np.bool_]]:
    """Finds the tokens of the kinds, looks, scripts, uses and lengths that are asked for."""
    size, chosen, index = tokens.size, question.chosen, tokens.index
    found = np.ones(size, np.bool_)
    made = [KINDS.index(kind) for one in chosen if one in MADE for kind in MADE[one]]
    if made:
        found &= np.isin(tokens.kinds, made)
        if "Unreachable" in chosen and tokens.reach is not None:
            found |= tokens.reach[:size] != REACHED
        yield Progress("searching tokens")
    states = [state for one in chosen if one in USES_STATES for state in USES_STATES[one]]
    if states:
        found &= np.isin(tokens.uses.states(size), states)
        yield Progress("searching tokens")
    looks = [LOOKS[one] for one in chosen if one in LOOKS]
    scripts = [one.removeprefix(SCRIPT) for one in chosen if one.startswith(SCRIPT)]
    if index is not None and (looks or scripts):
        of_look = (index.flags & sum(looks)) > 0
        if scripts:
            yield from index.scripts_work()
        for script in scripts:
            of_look |= index.of_script(script)
        found &= of_look[:size]
    if question.lengths is not None:
        found &= (tokens.lengths >= question.lengths[0]) & (tokens.lengths <= question.lengths[1])
    return found


def _order_work(tokens: Tokens, question: Question) -> Work[NDArray[np.int32]]:
    """Sorts the tokens by a column."""
    size, index = tokens.size, tokens.index
    if index is not None and question.column in (TOKEN, BYTES):
        order = yield from index.order_work()
        order = order[order < size]
        return order[::-1] if question.descending else order
    key = _key(tokens, question.column)[:size].astype(np.int64)
    yield Progress("sorting tokens")
    return np.argsort(-key if question.descending else key, kind="stable").astype(np.int32)


def _key(tokens: Tokens, column: int) -> NDArray:
    """The whole number that decides the order, by slot."""
    size = tokens.size
    if column == ID:
        return tokens.ids
    if column == LENGTH:
        return tokens.lengths
    if column == MERGE:
        # What no merge made stays in its order, whichever way is sorted.
        return np.maximum(np.arange(size) - tokens.first, -1)
    if column == PARTS:
        parts = tokens.parts.astype(np.int64)
        return np.concatenate([np.full(tokens.first, -1), (parts[:, 0] << 32) | parts[:, 1]])
    if column == USES and tokens.uses.known:
        return _padded(tokens.uses.counts, size)
    if column == KIND:
        return tokens.kinds
    if column == NOTES and tokens.index is not None:
        states = tokens.uses.states(size)
        # Of what is not counted as little is said as of what is used.
        states[states == UNCOUNTED] = USED
        reach = np.zeros(size, np.int64) if tokens.reach is None else tokens.reach[:size].astype(np.int64)
        return reach * 256 + (tokens.index.flags[:size] & _NOTED).astype(np.int64) * 4 + states
    return np.arange(size)


def _padded(values: NDArray, length: int) -> NDArray:
    """The first `length` values, with zeros where there are fewer."""
    return np.pad(values[:length], (0, max(length - len(values), 0)))
