"""Searches all bytes of tokens without spelling out the long ones: a token contains all that its parts contain.

A token contains a text if its left or its right part does, or if the text crosses the border of the two; for that, the
last bytes of the one and the first of the other are enough. Regular expressions need long tokens in full; they are
spelled out as far as memory allows.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from PySide6.QtCore import QObject, Signal

from tokstudio.core.analysis.token_index import HEAD, TokenIndex, pairs
from tokstudio.core.base.errors import TokStudioError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.gui.session.common.jobs import LatestJob
from tokstudio.gui.session.measuring.token_facts import TokenIndexing
from tokstudio.gui.state.run_tokens import RunTokens
from tokstudio.gui.token_table.query import Query

if TYPE_CHECKING:
    from numpy.typing import NDArray

# --- Computes the rows of a table in the background, after the index of the tokens if that is needed ------------------


class RowsJob(QObject):
    """Handles one request at a time: a new one replaces the current one. Until it is answered, the old rows stay."""

    done = Signal(object)  # the result of the newest request
    failed = Signal(object)  # the request failed or was cancelled (Exception)

    def __init__(self, indexing: TokenIndexing, parent: QObject, *, quiet: bool = False) -> None:
        super().__init__(parent)
        self._indexing = indexing
        self._waiting: tuple[RunTokens, int, Callable[[], Work[Any]]] | None = None
        self._latest = LatestJob(indexing.jobs, self, quiet=quiet, asked=False)
        self._latest.done.connect(self.done)
        self._latest.failed.connect(self.failed)
        indexing.changed.connect(self._go_on)
        indexing.failed.connect(self._give_up)

    @property
    def busy(self) -> bool:
        """Whether a request has no answer yet."""
        return self._waiting is not None or self._latest.busy

    @property
    def waiting(self) -> bool:
        """Whether the index is not ready yet."""
        return self._waiting is not None

    def run(self, tokens: RunTokens, work: Callable[[], Work[Any]], *, indexed: bool) -> None:
        """Starts a request; if it is `indexed`, only when `tokens.index` has all current tokens.

        `work` is called in the GUI thread then, and returns the work that computes the result.
        """
        self.cancel()
        self._waiting = tokens, len(tokens) if indexed else 0, work
        self._go_on()

    def cancel(self) -> None:
        """Cancels the request."""
        self._waiting = None
        self._latest.cancel()

    def _go_on(self) -> None:
        if self._waiting is None:
            return
        tokens, wanted, work = self._waiting
        if wanted and (tokens.index is None or len(tokens.index) < wanted):
            self._indexing.ask(tokens)
        else:
            self._waiting = None
            steps = work()
            self._latest.run(lambda: steps)

    def _give_up(self) -> None:
        if self._waiting is not None:
            self._waiting = None
            self.failed.emit(TokStudioError("There is no index of the tokens."))


_STEP = 512
ROOM = 64 << 20  # the most bytes of long tokens that are spelled out for a regular expression, in all and of one
_LONGEST = 1 << 20
_SMALL = 1 << 14  # bytes that are searched without reading the clock


class TokenSearch:
    """Finds the tokens that contain something, in the order of making; continues when there are more.

    Args:
        accepts: Whether bytes contain it. Bytes that contain such bytes must be accepted too.
        reach: The most bytes of a match on either side of a border.
        alone: A token that is accepted itself, without the tokens that contain it.
    """

    def __init__(
        self, accepts: Callable[[bytes], bool], reach: int, index: TokenIndex, alone: bytes | None = None
    ) -> None:
        self.found = bytearray()  # whether each searched token contains it, by slot
        self._accepts, self._reach = accepts, max(reach, 2)
        self._index = index
        self._heads, self._base = index.heads, index.made.base
        self._alone = alone
        self._begins: dict[int, bytes] = {}
        self._ends: dict[int, bytes] = {}

    def go_on_from(self, passed: NDArray[np.bool_]) -> Iterator[None]:
        """Searches the long tokens, in short steps, given the results for the first bytes of all tokens, by slot."""
        passing, long = bytearray(passed.tobytes()), self._index.long
        for start in range(0, len(long), _STEP):
            yield from self._settle(passing, 0, long[start : start + _STEP].tolist())
            yield
        self.found = passing

    def go_on_long(self) -> Iterator[None]:
        """The same for the long tokens alone, of which there may be few; then `found` has only those."""
        passing, long = bytearray(len(self._heads)), self._index.long
        for start in range(0, len(long), _STEP):
            some = long[start : start + _STEP].tolist()
            for slot, *parts in self._with_parts(some):
                for one in (slot, *parts):
                    if one == slot or len(self._heads[one]) < HEAD:
                        passing[one] = self._accepts(self._heads[one])
            yield from self._settle(passing, 0, some)
            yield
        self.found = passing

    def beginning(self, slot: int) -> bytes:
        """The first bytes of a searched token: `HEAD`, or as many as the reach if that is more."""
        return self._begins[slot] if slot in self._begins else self._heads[slot]

    def _settle(self, passing: bytearray, first: int, long: list[int]) -> Iterator[None]:
        """Decides long tokens; `found` begins with the token `first`, and all before have been decided."""
        before, reach, base = self.found, self._reach, len(self._base)
        for slot, left, right in self._with_parts(long):
            if slot < base:
                whole = self._base[slot]
                self._begins[slot], self._ends[slot] = whole[: max(reach, HEAD)], whole[-reach:]
                passing[slot - first] |= self._accepts(whole)
                continue
            if reach > HEAD:
                begin = self.beginning(left)
                self._begins[slot] = begin if len(begin) >= reach else (begin + self.beginning(right))[:reach]
            for part in (left, right):
                has = before[part] if part < first else passing[part - first]
                if has and self._heads[part] != self._alone:
                    passing[slot - first] = True
            if passing[slot - first]:
                # The ends of these are not needed: all tokens made of them contain it too.
                continue
            end, behind = self._end(left), self._end(right)
            if self._accepts(end + self.beginning(right)[:reach]):
                passing[slot - first] = True
            else:
                self._ends[slot] = behind if len(behind) == reach else (end + behind)[-reach:]
        yield from ()

    def _with_parts(self, long: list[int]) -> Iterator[tuple[int, int, int]]:
        base = len(self._base)
        if not long:
            return
        first = max(long[0] - base, 0)
        rows = self._index.made.parts_from(first, max(long[-1] + 1 - base, 0))
        merged = [slot for slot in long if slot >= base]
        yield from ((slot, 0, 0) for slot in long[: len(long) - len(merged)])
        wanted = rows[np.array(merged, np.int64) - base - first]
        for slot, (left, right) in zip(merged, pairs(wanted), strict=True):
            yield slot, left, right

    def _end(self, slot: int) -> bytes:
        return self._ends[slot] if slot in self._ends else self._heads[slot][-self._reach :]


class ExpressionSearch(TokenSearch):
    """The same for a regular expression; the query counts the tokens of which only the first bytes were read."""

    def __init__(self, query: Query, index: TokenIndex) -> None:
        super().__init__(query.accepts, 0, index)
        self._query = query
        query.by_beginning = 0
        self._whole: dict[int, bytes] = {}
        self._begun = set[int]()  # slots of those of which only the first bytes were read
        self._room = ROOM
        self._limit = _limit(index.made.lengths[len(index.made.base) :])

    def follow(self, index: TokenIndex) -> None:
        """Switches to an index of the same run with more tokens."""
        self._index, self._heads = index, index.heads

    def go_on(self) -> Iterator[None]:
        """Searches all remaining tokens, in short steps."""
        accepts = self._query.accepts
        while len(self.found) < len(self._heads):
            first = len(self.found)
            some = self._heads[first : first + _STEP]
            passing = bytearray(len(head) < HEAD and accepts(head) for head in some)
            long = [slot for slot, head in enumerate(some, first) if len(head) == HEAD]
            yield from self._settle(passing, first, long)
            self.found += passing
            yield

    def _settle(self, passing: bytearray, first: int, long: list[int]) -> Iterator[None]:
        for slot, left, right in self._with_parts(long):
            whole = self._base[slot] if slot < len(self._base) else self._spell(slot, left, right)
            accepted = None if whole is None else self._query.accepts_long(whole)
            if accepted is None:
                self._begun.add(slot)
                self._query.by_beginning = len(self._begun)
                accepted = self._query.accepts(self._heads[slot])
            passing[slot - first] = accepted
            if whole is not None and len(whole) > _SMALL:
                yield

    def _spell(self, slot: int, left: int, right: int) -> bytes | None:
        """All bytes of a token; None if there is no room for them."""
        if slot in self._whole:
            return self._whole[slot]
        pieces = self._spelled(left), self._spelled(right)
        if pieces[0] is None or pieces[1] is None:
            return None
        size = len(pieces[0]) + len(pieces[1])
        if size > min(self._limit, self._room):
            return None
        self._room -= size
        whole = self._whole[slot] = pieces[0] + pieces[1]
        return whole

    def _spelled(self, slot: int) -> bytes | None:
        if slot < len(self._base):
            return self._base[slot]
        return self._heads[slot] if len(self._heads[slot]) < HEAD else self._whole.get(slot)


class Matches:
    """Finds the tokens that pass a filter; continues when a run has grown. Only one job at a time may use it."""

    def __init__(self, query: Query) -> None:
        self.query = query
        self._expression: ExpressionSearch | None = None

    def work(
        self, index: TokenIndex | None, lengths: NDArray[np.int64], numbered: Iterable[int]
    ) -> Work[NDArray[np.bool_]]:
        """Finds the tokens that pass, by slot; if an expression takes too long, the query gets an error.

        Args:
            index: All tokens or more; None only for a query that needs no heads.
            lengths: int64 [n], the bytes of each token.
            numbered: The slots with the query's number, if it has one; others are ignored.
        """
        query = self.query
        if index is None or not query.needs_heads:
            return query.within(lengths)
        if query.is_expression:
            if self._expression is None:
                self._expression = ExpressionSearch(query, index)
            search = self._expression
            search.follow(index)
            steps = search.go_on()
        else:
            search = TokenSearch(query.accepts, query.reach, index, query.byte)
            steps = search.go_on_from((yield from matching_work(index, query)))
        for _ in steps:
            if query.error:
                break
            yield Progress("searching tokens", len(search.found), len(index))
        passes = np.zeros(len(lengths), np.bool_)
        passing = np.frombuffer(bytes(search.found[: len(lengths)]), np.bool_)
        passes[: len(passing)] = passing
        if query.number is not None:
            passes[[slot for slot in numbered if 0 <= slot < len(passes)]] = True
        return passes & query.within(lengths)


def matching_work(index: TokenIndex, query: Query) -> Work[NDArray[np.bool_]]:
    """Finds the tokens with a match in their first bytes; not for regular expressions or lengths."""
    passing = np.zeros(len(index), np.bool_)
    for wanted in query.small:
        passing |= index.small.holding(wanted)
        yield Progress("searching tokens")
    for wanted in query.folded:
        passing |= (yield from index.folded_work()).holding(wanted)
        yield Progress("searching tokens")
    if query.raw is not None:
        passing |= index.raw.holding(query.raw)
    if query.byte is not None:
        passing |= index.raw.holding(query.byte) & (index.raw.ends - index.raw.starts == 1)
    return passing


def _limit(lengths: NDArray[np.int64]) -> int:
    """The most bytes of a long token so that there is room for all up to that length."""
    long = lengths[(lengths >= HEAD) & (lengths <= _LONGEST)]
    if int(long.sum()) <= ROOM:
        return _LONGEST
    counts = np.bincount(long)
    return int(np.searchsorted(np.cumsum(counts * np.arange(len(counts))), ROOM, side="right")) - 1
