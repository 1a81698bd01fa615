"""Encoding by a list of merges and removals, as Picky BPE: a heap of the events that a sequence still meets.

The merge of row k is event 3 k, the removal of its left part 3 k + 1, that of its right part 3 k + 2. A token stands at
the place of its first base token. When two neighbours meet, the next event that merges them is entered with their
place; when a token is made that is removed later, so is that. Entries whose tokens have changed are skipped. A pair
that is met again, after a removal, may have a later merge: those of one pair are chained.
"""

# SPDX-License-Identifier: MIT
# pyright: reportArgumentType=false, reportReturnType=false, reportAssignmentType=false
# pyright: reportArgumentType=false, reportAssignmentType=false, reportReturnType=false
from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.kernels.compiled import njit
from tokstudio.core.kernels.encode import replace_top, sift_in, slot_of
from tokstudio.core.kernels.tables import HASH_LEFT, Int32, Int64

# numpy's stubs cannot tell an element from an array where the index came out of an array itself.


_NONE = -1
_LOW = 0xFFFFFFFF
# Indexes of the state of a replay (int64).
STARTED, HEAP_SIZE, STATE_SIZE = range(3)


class Events(NamedTuple):
    """The events of a tokenizer."""

    pairs: Int64  # [2 s] as in `encode`, with the first row that merges a pair in place of its rank
    following: Int32  # [n] the next row that merges the same pair, -1 for none
    merges: Int32  # [n, 2]
    results: Int32  # [n]
    removed: Int64  # [ids] the event that removes a token, -1 for none
    part_starts: Int64  # [ids + 1] where the parts of each token begin in `parts`
    parts: Int32
    spans: Int64  # [ids] base tokens of each token


@njit(nogil=True, cache=True)
def fill_events(t: Events) -> None:
    """Fills the empty `pairs` and `following`."""
    mask = (t.pairs.size >> 1) - 1
    for row in range(len(t.merges) - 1, -1, -1):
        pair = (np.int64(t.merges[row, 0]) << 32) | t.merges[row, 1]
        slot = slot_of(pair, mask)
        while t.pairs[2 * slot] != pair and t.pairs[2 * slot] != _NONE:
            slot = (slot + 1) & mask
        t.following[row] = t.pairs[2 * slot + 1] if t.pairs[2 * slot] == pair else _NONE
        t.pairs[2 * slot] = pair
        t.pairs[2 * slot + 1] = row


@njit(nogil=True, cache=True)
def _next_merge(t: Events, left: int, right: int, event: int) -> int:
    """The first event after `event` that merges two tokens; -1 for none."""
    pair = (np.int64(left) << 32) | right
    mask = (t.pairs.size >> 1) - 1
    slot = slot_of(pair, mask)
    while t.pairs[2 * slot] != pair:
        if t.pairs[2 * slot] == _NONE:
            return _NONE
        slot = (slot + 1) & mask
    row = t.pairs[2 * slot + 1]
    while row != _NONE and 3 * row <= event:
        row = np.int64(t.following[row])
    return _NONE if row == _NONE else 3 * row


@njit(nogil=True, cache=True)
def replay(
    t: Events,
    limit: int,
    symbols: Int32,
    following: Int32,
    previous: Int32,
    heap: Int64,
    state: Int64,
    changes: Int64,
    weight: int,
    budget: int,
) -> Int64:
    """Encodes one sequence with the events of the first `limit` rows, for about `budget` steps per call.

    Args:
        t: The events.
        limit: The number of rows.
        symbols: int32 [n], base tokens; afterwards the tokens, at the places that `following` links from 0 on.
        following: int32 [n], scratch; afterwards the place of the next token, n after the last.
        previous: int32 [n], scratch.
        heap: int64, scratch.
        state: int64 [STATE_SIZE], zeros at first; afterwards `STARTED` is n and `HEAP_SIZE` 0.
        changes: int64 [rows], to which the further tokens that each row leaves are added; or [0].
        weight: How often the sequence counts there.
        budget: Steps.

    Returns:
        The heap, or a longer one to go on with.
    """
    n, end = len(symbols), 3 * limit
    size = state[HEAP_SIZE]
    while state[STARTED] < n and budget > 0:
        i = state[STARTED]
        following[i], previous[i] = i + 1, i - 1
        if i + 1 < n:
            event = _next_merge(t, symbols[i], symbols[i + 1], -1)
            if event != _NONE and event < end:
                if size == len(heap):
                    heap = np.concatenate((heap, np.empty(size, np.int64)))
                sift_in(heap, size, (event << 32) | i)
                size += 1
        state[STARTED] += 1
        budget -= 1
    while size > 0 and budget > 0:
        event, place = heap[0] >> 32, heap[0] & _LOW
        budget -= 1
        row, kind = event // 3, event % 3
        size -= 1
        replace_top(heap, size, heap[size])
        amount = 1
        if kind == 0:
            gone = np.int64(following[place])
            if symbols[place] != t.merges[row, 0] or gone >= n or symbols[gone] != t.merges[row, 1]:
                continue
            after = np.int64(following[gone])
            symbols[place], symbols[gone] = t.results[row], _NONE
            following[place] = after
            if after < n:
                previous[after] = place
            if changes.size:
                changes[row] -= weight
        else:
            token = np.int64(t.merges[row, kind - 1])
            if symbols[place] != token:
                continue
            after = np.int64(following[place])
            start = t.part_starts[token]
            amount = t.part_starts[token + 1] - start
            at = place
            for number in range(amount):
                part = np.int64(t.parts[start + number])
                symbols[at] = part
                behind = at + t.spans[part] if number + 1 < amount else after
                following[at] = behind
                if behind < n:
                    previous[behind] = at
                at = behind
            if changes.size:
                changes[row] += (amount - 1) * weight
        # The new tokens, the pairs that begin at them, and the pair that ends at the first.
        if size + 2 * amount + 1 > len(heap):
            heap = np.concatenate((heap, np.empty(len(heap) + 2 * amount + 1, np.int64)))
        at = place
        for number in range(-1, amount):
            if number < 0:
                left = np.int64(previous[place])
                if left < 0:
                    continue
            else:
                left = at
                at = np.int64(following[at])
                removed = t.removed[symbols[left]]
                if removed > event and removed < end:
                    sift_in(heap, size, (removed << 32) | left)
                    size += 1
            right = np.int64(following[left])
            if right < n:
                merged = _next_merge(t, symbols[left], symbols[right], event)
                if merged != _NONE and merged < end:
                    sift_in(heap, size, (merged << 32) | left)
                    size += 1
    state[HEAP_SIZE] = size
    return heap


@njit(nogil=True, cache=True)
def replay_words(
    t: Events,
    limit: int,
    ids: NDArray[np.uint32],
    id_offsets: Int64,
    first: int,
    last: int,
) -> None:
    """Encodes the words from `first` up to `last`, whose base tokens are in `ids`, and moves them together.

    Args:
        t: The events.
        limit: The number of rows.
        ids: uint32, the tokens of all words.
        id_offsets: int64 [words + 1], the start of the tokens of each word, and the end of the last.
        first: The first word.
        last: The word after the last.
    """
    longest = 0
    for word in range(first, last):
        longest = max(longest, id_offsets[word + 1] - id_offsets[word])
    symbols, following, previous = np.empty(longest, np.int32), np.empty(longest, np.int32), np.empty(longest, np.int32)
    heap, state, to = np.empty(64, np.int64), np.zeros(STATE_SIZE, np.int64), id_offsets[first]
    nothing = np.empty(0, np.int64)
    begin = to
    for word in range(first, last):
        end = id_offsets[word + 1]
        n = end - begin
        for i in range(n):
            symbols[i] = ids[begin + i]
        state[:] = 0
        while state[STARTED] < n or state[HEAP_SIZE] > 0:
            heap = replay(t, limit, symbols[:n], following, previous, heap, state, nothing, 0, 1 << 30)
        at = 0
        while at < n:
            ids[to] = symbols[at]
            to += 1
            at = np.int64(following[at])
        id_offsets[word + 1] = to
        begin = end


@njit(nogil=True, cache=True)
def count_changes(
    t: Events,
    ids: NDArray[np.uint32],
    id_offsets: Int64,
    numbers: Int32,
    sources: Int32,
    counts: Int64,
    changes: Int64,
) -> None:
    """Adds the tokens that each event takes or makes in words to those of their sources.

    Args:
        t: The events.
        ids: uint32, the base tokens of all words.
        id_offsets: int64 [words + 1], the start of those of each word, and the end of the last.
        numbers: int32 [n], a word.
        sources: int32 [n], a source with that word.
        counts: int64 [n], how often it has it.
        changes: int64 [sources, rows], afterwards also the further tokens that each row leaves.
    """
    heap, state = np.empty(64, np.int64), np.zeros(STATE_SIZE, np.int64)
    for each in range(len(numbers)):
        begin = id_offsets[numbers[each]]
        n = id_offsets[numbers[each] + 1] - begin
        symbols = np.empty(n, np.int32)
        for i in range(n):
            symbols[i] = ids[begin + i]
        following, previous, own = np.empty(n, np.int32), np.empty(n, np.int32), changes[sources[each]]
        state[:] = 0
        while state[STARTED] < n or state[HEAP_SIZE] > 0:
            heap = replay(t, len(t.merges), symbols, following, previous, heap, state, own, counts[each], 1 << 30)


# --- What tokens that Picky BPE removes fall into: the nearest of their parts that are present ------------------------

# numpy's stubs cannot tell an element from an array where the index came out of an array itself.


@njit(nogil=True, cache=True)
def _first_spelled_so(units: NDArray[Any], starts: Int64, index: Int32, row: int) -> int:
    """The first row whose base tokens are those of `row`, which is entered where there is none."""
    begin, length, mask = starts[row], starts[row + 1] - starts[row], index.size - 1
    key = np.int64(length)
    for n in range(length):
        key = (key ^ np.int64(units[begin + n])) * HASH_LEFT
    slot = (key >> 32) & mask
    while index[slot] >= 0:
        other = np.int64(index[slot])
        at, n = starts[other], 0
        if starts[other + 1] - at == length:
            while n < length and units[at + n] == units[begin + n]:
                n += 1
            if n == length:
                return other
        slot = (slot + 1) & mask
    index[slot] = row
    return row


@njit(nogil=True, cache=True)
def list_falls(
    merges: Int32, results: Int64, gone: NDArray[np.bool_], base: int, narrow: NDArray[Any]
) -> tuple[Int64, Int64, Int32]:
    """What each removal of a run does, in their order.

    Args:
        merges: int32 [n, 2].
        results: int64 [n], the id that each makes: its own, base + its row, or that of a token that is present.
        gone: bool [n, 2], which parts are removed after it; never a base token.
        base: Ids before those of the merges.
        narrow: An array of the narrowest type that has room for them: the base tokens of all merges may be many.

    Returns:
        int64 [n], the base tokens of each merge; int64 [removals + 1], where the parts of each removed token begin, and
        the end of the last; int32, these parts.
    """
    n = len(merges)
    starts = np.zeros(n + 1, np.int64)
    for row in range(n):
        starts[row + 1] = starts[row]
        for side in range(2):
            part = np.int64(merges[row, side]) - base
            starts[row + 1] += 1 if part < 0 else starts[part + 1] - starts[part]
    units, size = np.empty(starts[n], narrow.dtype), 16
    while size < 2 * n:
        size *= 2
    index = np.full(size, -1, np.int32)
    # By row: the first row of the same base tokens; there, the newest token made of them. And what is there.
    alike, newest, present = np.empty(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.bool_)
    ends, parts, removals, parts_listed = np.zeros(gone.sum() + 1, np.int64), np.empty(64, np.int32), 0, 0
    for row in range(n):
        to = starts[row]
        for side in range(2):
            part = np.int64(merges[row, side]) - base
            if part < 0:
                units[to] = merges[row, side]
                to += 1
            else:
                for at in range(starts[part], starts[part + 1]):
                    units[to] = units[at]
                    to += 1
        alike[row] = _first_spelled_so(units, starts, index, row)
        if results[row] == base + row:
            newest[alike[row]] = row
            present[row] = True
        for side in range(2):
            if gone[row, side]:
                present[merges[row, side] - base] = False
        for side in range(2):
            if not gone[row, side]:
                continue
            token = np.int64(merges[row, side]) - base
            span = starts[token + 1] - starts[token]
            waiting = np.empty(span + 1, np.int64)
            waiting[0], waiting[1], left = merges[token, 1], merges[token, 0], 2
            if parts_listed + span > parts.size:
                parts = np.concatenate((parts, np.empty(parts.size + span, np.int32)))
            while left > 0:
                left -= 1
                part = waiting[left] - base
                if part >= 0:
                    part = newest[alike[part]]
                if part < 0 or present[part]:
                    parts[parts_listed] = base + part
                    parts_listed += 1
                else:
                    waiting[left], waiting[left + 1] = merges[part, 1], merges[part, 0]
                    left += 2
            removals += 1
            ends[removals] = parts_listed
    return np.diff(starts), ends, parts[:parts_listed].copy()
