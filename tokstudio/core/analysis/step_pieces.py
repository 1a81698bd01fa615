"""The pieces of a text in the making: encodes pre-tokens merge by merge, and keeps every piece of any state."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.tokenizer.tokenizer import Tokenizer

if TYPE_CHECKING:
    from tokstudio.core.kernels.replay import Events

_IN_A_PIECE = 1 << 12
#: The number of a state after all others.
NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True, eq=False)
class State:
    """A text at one moment of its encoding, as pieces one after another."""

    starts: NDArray[np.int64]  # [n], the first byte of each piece
    stops: NDArray[np.int64]  # [n], the byte after each
    ids: NDArray[np.int32]  # [n], the token of each; -1 for a pre-token that is not encoded yet

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True, eq=False)
class StepPieces:
    """Every piece of any state: int64 arrays of one length, in the order in which the pieces were made."""

    starts: NDArray[np.int64]  # the first byte of each
    stops: NDArray[np.int64]  # the byte after it
    ids: NDArray[np.int64]  # its token; -1 for a pre-token
    first: NDArray[np.int64]  # the first state with it
    gone: NDArray[np.int64]  # the first later state without it; higher than all states where it stays
    parents: NDArray[np.int64]  # the piece that it became a part of; -1 for none
    merges: NDArray[np.int64]  # the number of the merge that made it, or removed what it is from; 0 for none
    lefts: NDArray[np.int64]  # the piece that is its left part; -1 for none
    rights: NDArray[np.int64]  # the piece that is its right part; -1 for none
    wholes: NDArray[np.int64]  # the removed piece that fell into it and others; -1 for none

    def state_of(self, chosen: NDArray[np.bool_]) -> State:
        """A state of the chosen pieces, bool [pieces], in the order of the text."""
        here = np.flatnonzero(chosen)
        here = here[np.argsort(self.starts[here])]
        return State(self.starts[here], self.stops[here], self.ids[here].astype(np.int32))


class Making:
    """Pieces in the making; a row each, with the columns of `StepPieces`."""

    def __init__(self, tokenizer: Tokenizer, begin: int) -> None:
        self._alphabet, self._dropout, self._begin = tokenizer.alphabet, tokenizer.dropout, begin
        supermerges = tokenizer.supermerges
        self._ranks = _Ranks(tokenizer, None if supermerges is None else ~supermerges)
        self._supermerges = None if supermerges is None else _Ranks(tokenizer, supermerges)
        self._letters = np.zeros(0, np.bool_) if supermerges is None else tokenizer.words_with_letters()
        self._run: list[int] = []  # the pieces of words that supermerges may join
        self._results: list[int] = tokenizer.merge_results.tolist()
        self._events = tokenizer.events
        self._whole_words = {
            tokenizer.tokens[token]: token for token in tokenizer.whole_words if tokenizer.tokens.in_use(token)
        }
        self._rows: list[list[int]] = []
        self._states = 2

    def add(self, start: int, stop: int, token: int, first: int, gone: int = NEVER) -> int:
        """Adds a piece without parts, and returns its number."""
        self._rows.append([start, stop, token, first, gone, -1, 0, -1, -1, -1])
        return len(self._rows) - 1

    def add_work(self, raw: bytes, start: int, stop: int) -> Work[None]:
        """Encodes a pre-token."""
        self.add(start, stop, -1, first=0, gone=1)
        word = raw[start:stop]
        if word in self._whole_words and self._dropout is None:
            self.add(start, stop, self._whole_words[word], first=1)
            return
        if self._alphabet.base == "bytes":
            ids, widths = self._alphabet.ids_of_bytes(np.frombuffer(word, np.uint8)).tolist(), [1] * len(word)
        else:
            characters = word.decode()
            ids, widths = self._alphabet.ids_of(characters).tolist(), [len(one.encode()) for one in characters]
        edges = [*accumulate(widths, initial=start)]
        current = [self.add(edges[i], edges[i + 1], token, first=1) for i, token in enumerate(ids)]
        if self._events is not None:
            yield from self._replay_work(ids, current, edges, self._events)
            return
        yield from self._merge_work(ids, current, start, self._ranks)
        if self._supermerges is None:
            return
        last = len(self._rows) - 1
        if self._rows[last][:2] == [start, stop] and self._letters[self._rows[last][2]]:
            self._run.append(last)
        else:
            yield from self.end_run_work()

    def end_run_work(self) -> Work[None]:
        """Joins the words of a run, which ends here, by supermerges."""
        run, self._run = self._run, []
        if self._supermerges is not None and len(run) > 1:
            ids = [self._rows[piece][2] for piece in run]
            yield from self._merge_work(ids, run, self._rows[run[0]][0], self._supermerges)

    def _merge_work(self, ids: list[int], current: list[int], start: int, ranks: _Ranks) -> Work[None]:
        """Merges one pre-token, or run, of which `ids` has the token and `current` the piece at each place.

        Lowest rank first, leftmost first among equals; where two are merged, the left place stays. With dropout, merges
        are passed over as in `kernels.dropout`.
        """
        passes = None if self._dropout is None else self._dropout.passes(self._begin + start)
        passed: list[tuple[int, int]] = []
        n, rank_of = len(ids), ranks.rank_of
        following, previous = list(range(1, n + 1)), list(range(-1, n - 1))
        heap = [(rank, i) for i in range(n - 1) if (rank := rank_of(ids[i], ids[i + 1])) >= 0]
        heapify(heap)
        done, last = 0, None
        while heap:
            rank, i = heappop(heap)
            done += 1
            if done % _IN_A_PIECE == 0:
                yield Progress("encoding")
            j = following[i]
            # Outdated entries are skipped.
            if current[i] < 0 or j == n or rank_of(ids[i], ids[j]) != rank or (rank, i) == last:
                continue
            last = None if passes is None else (rank, i)
            if passes is not None and next(passes):
                passed.append((rank, i))
                continue
            ids[i] = self._results[rank]
            current[i] = self._join(current[i], current[j], ids[i], rank + 1)
            current[j] = -1
            following[i] = j = following[j]
            if j < n:
                previous[j] = i
            for left, right in ((previous[i], i), (i, j)):
                if left >= 0 and right < n and (rank := rank_of(ids[left], ids[right])) >= 0:
                    heappush(heap, (rank, left))
            last = None
            while passed:
                heappush(heap, passed.pop())

    def _replay_work(self, ids: list[int], current: list[int], edges: list[int], events: Events) -> Work[None]:
        """Replays merges and removals on one pre-token, as `kernels.replay` does and with its numbers of events.

        `ids` has the token and `current` the piece at each place, `edges` the byte where it begins, and the last end.
        """
        n, limit, heap, done = len(ids), len(self._results), list[tuple[int, int]](), 0
        following, previous = list(range(1, n + 1)), list(range(-1, n - 1))

        def enter(left: int, after: int) -> None:
            if left >= 0 and following[left] < n:
                row = self._ranks.rank_of(ids[left], ids[following[left]], after // 3 + 1)
                if row >= 0:
                    heappush(heap, (3 * row, left))

        for i in range(n):
            enter(i, -1)
        while heap:
            event, i = heappop(heap)
            row, side = event // 3, event % 3 - 1
            done += 1
            if done % _IN_A_PIECE == 0:
                yield Progress("encoding")
            pair, after, places = events.merges[row].tolist(), following[i], [i]
            if current[i] < 0 or ids[i] != pair[max(side, 0)]:
                continue
            if side < 0:
                if after == n or ids[after] != pair[1]:
                    continue
                current[i] = self._join(current[i], current[after], self._results[row], row + 1)
                current[after], ids[i], following[i] = -1, self._results[row], following[after]
            else:
                parts = events.parts[events.part_starts[ids[i]] : events.part_starts[ids[i] + 1]].tolist()
                places = [*accumulate(events.spans[parts[:-1]].tolist(), initial=i)]
                ends = [*places[1:], after]
                starts = [edges[place] for place in (*places, after)]
                made = self._fall(current[i], parts, starts, row + 1)
                for place, end, part, piece in zip(places, ends, parts, made, strict=True):
                    ids[place], current[place], following[place] = part, piece, end
                for left, right in pairwise(places):
                    previous[right] = left
            last = places[-1]
            if following[last] < n:
                previous[following[last]] = last
            enter(previous[i], event)
            for place in places:
                enter(place, event)
                removed = int(events.removed[ids[place]])
                if event < removed < 3 * limit:
                    heappush(heap, (removed, place))

    def _fall(self, whole: int, parts: list[int], edges: list[int], merge: int) -> list[int]:
        """Adds the pieces that a removed one falls into, in one step."""
        made = [self.add(*span, part, self._states) for span, part in zip(pairwise(edges), parts, strict=True)]
        for piece in made:
            self._rows[piece][6], self._rows[piece][9] = merge, whole
        self._rows[whole][4] = self._states
        self._states += 1
        return made

    def _join(self, left: int, right: int, token: int, merge: int) -> int:
        piece = self.add(self._rows[left][0], self._rows[right][1], token, self._states)
        for part in (left, right):
            self._rows[part][4:6] = self._states, piece
        self._rows[piece][6:9] = merge, left, right
        self._states += 1
        return piece

    def pieces(self) -> StepPieces:
        """All pieces so far."""
        columns = np.array(self._rows, np.int64).reshape(-1, 10).T.copy()
        columns.setflags(write=False)
        return StepPieces(*columns)


class _Ranks:
    """The ranks of pairs, or of those that are chosen; where several merges join the same pair, the first counts."""

    def __init__(self, tokenizer: Tokenizer, chosen: NDArray[np.bool_] | None = None) -> None:
        pairs = tokenizer.merges.astype(np.int64)
        keys = (pairs[:, 0] << 32) | pairs[:, 1]
        if chosen is not None:
            keys[~chosen] = -1
        self._order = np.argsort(keys, kind="stable")
        self._keys = keys[self._order]
        self._known: dict[tuple[int, int], int] = {}

    def rank_of(self, left: int, right: int, least: int = 0) -> int:
        """The row of the merge, the first from `least` on, that joins two tokens; -1 if there is none."""
        at = self._known.get((left, right))
        key = (left << 32) | right
        if at is None:
            at = self._known[left, right] = int(np.searchsorted(self._keys, key))
        while at < len(self._keys) and self._keys[at] == key:
            if self._order[at] >= least:
                return int(self._order[at])
            at += 1
        return -1
