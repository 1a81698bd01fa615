"""The training loop of Picky BPE: merges, and tokens that fall apart, so that counts fall and rise.

Symbols are laid out as in `tables`, and positions never move. An event is a merge and the removals after it; room is
made between its stages.
"""

# SPDX-License-Identifier: MIT
# pyright: reportArgumentType=false, reportReturnType=false, reportAssignmentType=false
from __future__ import annotations

import numpy as np

from tokstudio.core.kernels.compiled import njit
from tokstudio.core.kernels.intrinsics import weight_at
from tokstudio.core.kernels.picky_tables import (
    ALLOWED,
    BASE,
    BYTES,
    CHOOSE,
    COUNT,
    CURSOR,
    FACTOR,
    FILL,
    FIRST,
    FLOOR,
    HASH,
    HEAD,
    HEAP,
    HEAP_NEEDED,
    IS_PRESENT,
    KEY,
    LEFT,
    LISTED,
    MARK,
    MAX_BYTES,
    MERGE,
    NEWEST,
    NODES,
    NODES_NEEDED,
    OUT,
    OUT_COUNT,
    OUT_GONE_LEFT,
    OUT_GONE_RIGHT,
    OUT_LEFT,
    OUT_REPLACED,
    OUT_RESULT,
    OUT_RIGHT,
    OUT_TOKENS,
    PAIR,
    PAIR_COUNT,
    PAIRS,
    PAIRS_NEEDED,
    PARTS_NEEDED,
    PLACES,
    PRESENT,
    QUEUED,
    REFUSED,
    REMOVE_LEFT,
    REMOVE_RIGHT,
    RIGHT,
    SPAN,
    SPELT_AT,
    STAGE,
    TOKENS,
    TOUCHED,
    USES,
    VOCABULARY,
    WANTED,
    PickyTables,
    list_token,
    note,
)
from tokstudio.core.kernels.tables import (
    ASKS,
    BATCH_FULL,
    BUDGET_SPENT,
    END,
    INSIDE,
    NEED_ROOM,
    NUMBER_BITS,
    ROUND_OVER,
    SEPARATOR,
    TOKEN,
    Int32,
    Int64,
)

# --- The heap of pairs of Picky BPE, in which counts may also rise ----------------------------------------------------
# It is lazy: `QUEUED` is the highest entry of a pair in it, entries above the count sink when they are met, and a pair
# that rises above its entry gets another one.

# numpy's stubs cannot tell an element from an array where the index came out of an array itself.


@njit(nogil=True, cache=True)
def compare(tokens: Int64, units: Int32, one: int, other: int) -> int:
    """Negative, zero or positive as the bytes of token `one` sort before, like or after those of `other`."""
    if one == other:
        return 0
    one_span, other_span = tokens[one, SPAN], tokens[other, SPAN]
    one_at, other_at = tokens[one, SPELT_AT], tokens[other, SPELT_AT]
    for n in range(min(one_span, other_span)):
        difference = units[one_at + n] - units[other_at + n]
        if difference != 0:
            return difference
    return one_span - other_span


@njit(nogil=True, cache=True)
def _before(pairs: Int64, tokens: Int64, units: Int32, count: int, pair: int, other_count: int, other: int) -> bool:
    """Whether an entry comes first: the higher count, then the smaller bytes of left, then of right."""
    if count != other_count:
        return count > other_count
    key, other_key = pairs[pair, KEY], pairs[other, KEY]
    order = compare(tokens, units, key >> 32, other_key >> 32)
    if order == 0:
        order = compare(tokens, units, key & NUMBER_BITS, other_key & NUMBER_BITS)
    return order < 0


@njit(nogil=True, cache=True)
def push(heap: Int64, pairs: Int64, tokens: Int64, units: Int32, state: Int64, pair: int) -> None:
    """Enters a pair with its count."""
    at, count = state[HEAP], pairs[pair, PAIR_COUNT]
    state[HEAP] += 1
    pairs[pair, QUEUED] = count
    while at > 0:
        parent = (at - 1) >> 1
        if not _before(pairs, tokens, units, count, pair, heap[parent, 0], heap[parent, 1]):
            break
        heap[at, 0], heap[at, 1] = heap[parent, 0], heap[parent, 1]
        at = parent
    heap[at, 0], heap[at, 1] = count, pair


@njit(nogil=True, cache=True)
def _replace_top(heap: Int64, pairs: Int64, tokens: Int64, units: Int32, size: int, count: int, pair: int) -> None:
    """Puts an entry in the place of the first of `size` entries."""
    at, child = 0, 1
    while child < size:
        if child + 1 < size and _before(
            pairs, tokens, units, heap[child + 1, 0], heap[child + 1, 1], heap[child, 0], heap[child, 1]
        ):
            child += 1
        if not _before(pairs, tokens, units, heap[child, 0], heap[child, 1], count, pair):
            break
        heap[at, 0], heap[at, 1] = heap[child, 0], heap[child, 1]
        at, child = child, 2 * child + 1
    heap[at, 0], heap[at, 1] = count, pair


@njit(nogil=True, cache=True)
def _drop_top(heap: Int64, pairs: Int64, tokens: Int64, units: Int32, state: Int64) -> None:
    """Takes the first entry out."""
    state[HEAP] -= 1
    size = state[HEAP]
    _replace_top(heap, pairs, tokens, units, size, heap[size, 0], heap[size, 1])


@njit(nogil=True, cache=True)
def may_queue(pairs: Int64, tokens: Int64, state: Int64, pair: int) -> bool:
    """Whether a pair is missing in the heap, though it might be chosen in this round."""
    count, key = pairs[pair, PAIR_COUNT], pairs[pair, KEY]
    if count < state[FLOOR] or count <= pairs[pair, QUEUED] or pairs[pair, MARK] == REFUSED:
        return False
    return tokens[key >> 32, BYTES] + tokens[key & NUMBER_BITS, BYTES] <= state[MAX_BYTES]


@njit(nogil=True, cache=True)
def best(heap: Int64, pairs: Int64, tokens: Int64, units: Int32, state: Int64) -> int:
    """The pair that is merged next, at the top of the heap; 0 where none reaches the floor."""
    while state[HEAP] > 0:
        entry, pair = heap[0, 0], heap[0, 1]
        count = pairs[pair, PAIR_COUNT]
        if pairs[pair, MARK] != REFUSED and count == entry:
            return pair
        if pairs[pair, MARK] == REFUSED or pairs[pair, QUEUED] != entry:
            _drop_top(heap, pairs, tokens, units, state)
        elif count < state[FLOOR]:
            pairs[pair, QUEUED] = 0
            _drop_top(heap, pairs, tokens, units, state)
        else:
            pairs[pair, QUEUED] = count
            _replace_top(heap, pairs, tokens, units, state[HEAP], count, pair)
    return 0


# numpy's stubs cannot tell an element from an array where the index came out of an array itself.


@njit(nogil=True, cache=True)
def _make_token(t: PickyTables, state: Int64, left: int, right: int, place: int) -> int:
    """Enters the row of the next id; returns the id that the merge makes: another where those bytes are present."""
    tokens, units, token = t.tokens, t.units, state[VOCABULARY]
    tokens[token, SPAN] = tokens[left, SPAN] + tokens[right, SPAN]
    tokens[token, BYTES] = tokens[left, BYTES] + tokens[right, BYTES]
    tokens[token, SPELT_AT] = state[BASE] + place
    tokens[token, LEFT], tokens[token, RIGHT] = left, right
    tokens[token, USES] = tokens[token, FIRST] = tokens[token, PLACES] = 0
    tokens[token, HASH] = tokens[left, HASH] * tokens[right, FACTOR] + tokens[right, HASH]
    tokens[token, FACTOR] = tokens[left, FACTOR] * tokens[right, FACTOR]
    tokens[token, NEWEST] = token
    mask = t.token_index.size - 1
    slot = (tokens[token, HASH] >> 20) & mask
    same = np.int64(t.token_index[slot])
    while same != 0 and (tokens[same, HASH] != tokens[token, HASH] or compare(tokens, units, same, token) != 0):
        slot = (slot + 1) & mask
        same = np.int64(t.token_index[slot])
    if same != 0 and tokens[same, IS_PRESENT]:
        tokens[token, IS_PRESENT], tokens[token, NEWEST] = 0, same
        return same
    if same != 0:
        tokens[same, NEWEST] = token
    t.token_index[slot] = token
    tokens[token, IS_PRESENT] = 1
    state[PRESENT] += 1
    return token


@njit(nogil=True, cache=True)
def _merge_pair(t: PickyTables, state: Int64, pair: int) -> None:
    """Merges a pair everywhere; `_decide` says what is removed then."""
    symbols, weights, heavy, tokens, pairs, index = t.symbols, t.weights, t.heavy, t.tokens, t.pairs, t.pair_index
    nodes, touched = t.nodes, t.touched
    key = pairs[pair, KEY]
    left, right = key >> 32, key & NUMBER_BITS
    left_span, span = tokens[left, SPAN], tokens[left, SPAN] + tokens[right, SPAN]
    places, number_of_places = np.empty(pairs[pair, LISTED], np.int32), 0
    node = pairs[pair, HEAD]
    while node != 0:
        i = nodes[node, 0]
        if symbols[i] == left and symbols[i + left_span] == right:
            places[number_of_places] = i
            number_of_places += 1
        node = np.int64(nodes[node, 1])
    pairs[pair, HEAD] = pairs[pair, LISTED] = 0
    places = places[:number_of_places]
    if left == right:
        # From left to right: places overlap.
        places.sort()
    token = _make_token(t, state, left, right, np.int64(places[0]))
    replaced = 0
    for i in places:
        if symbols[i] != left or symbols[i + left_span] != right:
            continue
        weight = weight_at(weights, heavy, np.int64(i)) if weights.size else 1
        replaced += weight
        before_it, after_it = np.int64(symbols[i - 1] & TOKEN), np.int64(symbols[i + span])
        note(pairs, index, nodes, touched, state, key, -weight, 0)
        if before_it != TOKEN:
            note(pairs, index, nodes, touched, state, before_it << 32 | left, -weight, 0)
            at = i - tokens[before_it, SPAN]
            note(pairs, index, nodes, touched, state, before_it << 32 | token, weight, at)
        if after_it != SEPARATOR:
            note(pairs, index, nodes, touched, state, right << 32 | after_it, -weight, 0)
            note(pairs, index, nodes, touched, state, token << 32 | after_it, weight, np.int64(i))
        symbols[i + left_span] = INSIDE
        symbols[i] = token
        symbols[i + span - 1] = token | END
        list_token(tokens, nodes, state, token, np.int64(i))
    tokens[token, USES] += replaced
    tokens[left, USES] -= replaced
    tokens[right, USES] -= replaced
    state[TOKENS] -= replaced
    out = t.out[state[OUT]]
    out[OUT_LEFT], out[OUT_RIGHT], out[OUT_RESULT], out[OUT_REPLACED] = left, right, token, replaced
    out[OUT_GONE_LEFT] = out[OUT_GONE_RIGHT] = -1


@njit(nogil=True, cache=True)
def _decide(tokens: Int64, state: Int64, threshold: float, out: Int64) -> None:
    """Marks the parts of the last merge that are removed, both before either falls apart."""
    left, right, replaced = out[OUT_LEFT], out[OUT_RIGHT], out[OUT_REPLACED]
    for side in range(2):
        token = left if side == 0 else right
        if token < state[BASE] or (side == 1 and left == right):
            continue
        uses = tokens[token, USES]
        if replaced / (uses + replaced) > threshold:
            out[OUT_GONE_LEFT + side] = uses
            tokens[token, IS_PRESENT] = 0
            state[PRESENT] -= 1


@njit(nogil=True, cache=True)
def _fill_parts(tokens: Int64, base: int, token: int, parts: Int32) -> int:
    """Writes the nearest present parts of a removed token; returns their number, or more than fit."""
    waiting = np.empty(tokens[token, SPAN] + 1, np.int64)
    waiting[0], size, filled = tokens[token, RIGHT], 2, 0
    waiting[1] = tokens[token, LEFT]
    while size > 0:
        size -= 1
        part = waiting[size]
        while part >= base and tokens[part, NEWEST] != part:
            part = tokens[part, NEWEST]
        if part < base or tokens[part, IS_PRESENT]:
            if filled < parts.size:
                parts[filled] = part
            filled += 1
        else:
            waiting[size], waiting[size + 1] = tokens[part, RIGHT], tokens[part, LEFT]
            size += 2
    return filled


@njit(nogil=True, cache=True)
def _split(t: PickyTables, state: Int64, token: int, amount: int) -> None:
    """Lets a removed token fall into the first `amount` of `parts` at all its places."""
    symbols, weights, heavy, tokens, pairs, index = t.symbols, t.weights, t.heavy, t.tokens, t.pairs, t.pair_index
    nodes, touched, parts = t.nodes, t.touched, t.parts
    span, node = tokens[token, SPAN], tokens[token, FIRST]
    first, last = np.int64(parts[0]), np.int64(parts[amount - 1])
    while node != 0:
        i = np.int64(nodes[node, 0])
        node = np.int64(nodes[node, 1])
        if symbols[i] != token:
            continue
        weight = weight_at(weights, heavy, np.int64(i)) if weights.size else 1
        before_it, after_it = np.int64(symbols[i - 1] & TOKEN), np.int64(symbols[i + span])
        if before_it != TOKEN:
            note(pairs, index, nodes, touched, state, before_it << 32 | token, -weight, 0)
            at = i - tokens[before_it, SPAN]
            note(pairs, index, nodes, touched, state, before_it << 32 | first, weight, at)
        at = i
        for n in range(amount):
            part = np.int64(parts[n])
            symbols[at] = part
            if tokens[part, SPAN] > 1:
                symbols[at + tokens[part, SPAN] - 1] = part | END
            tokens[part, USES] += weight
            list_token(tokens, nodes, state, part, at)
            if n + 1 < amount:
                note(pairs, index, nodes, touched, state, part << 32 | np.int64(parts[n + 1]), weight, at)
                at += tokens[part, SPAN]
        if after_it != SEPARATOR:
            note(pairs, index, nodes, touched, state, token << 32 | after_it, -weight, 0)
            note(pairs, index, nodes, touched, state, last << 32 | after_it, weight, at)
        state[TOKENS] += (amount - 1) * weight
    tokens[token, USES] = tokens[token, FIRST] = tokens[token, PLACES] = 0


@njit(nogil=True, cache=True)
def _lacks_room(t: PickyTables, state: Int64, nodes: int, pairs: int) -> bool:
    """Whether so many further nodes and pairs may not fit."""
    state[NODES_NEEDED], state[PAIRS_NEEDED] = state[NODES] + nodes, state[PAIRS] + pairs
    return state[NODES_NEEDED] > len(t.nodes) or state[PAIRS_NEEDED] > len(t.pairs)


@njit(nogil=True, cache=True)
def _count(t: PickyTables, state: Int64, budget: int) -> int:
    """Counts the pairs of the corpus and the uses of base tokens, for `budget` positions."""
    symbols, at = t.symbols, state[CURSOR]
    end = min(len(symbols), at + budget)
    if _lacks_room(t, state, end - at, min(end - at, state[BASE] ** 2)):
        return NEED_ROOM
    for i in range(at, end):
        left = np.int64(symbols[i])
        if left == SEPARATOR:
            continue
        weight = weight_at(t.weights, t.heavy, i) if t.weights.size else 1
        t.tokens[left, USES] += weight
        right = np.int64(symbols[i + 1])
        if right != SEPARATOR and weight > 0:
            key = left << 32 | right
            note(t.pairs, t.pair_index, t.nodes, t.touched, state, key, weight, np.int64(i))
    state[CURSOR] = end
    if end == len(symbols):
        for n in range(state[TOUCHED]):
            t.pairs[t.touched[n], MARK] = 0
        state[TOUCHED] = 0
        state[STAGE], state[CURSOR] = FILL, 1
    return BUDGET_SPENT


@njit(nogil=True, cache=True)
def _fill(t: PickyTables, state: Int64, budget: int) -> int:
    """Enters the pairs that reach the floor, `budget` pairs a call."""
    state[HEAP_NEEDED] = state[HEAP] + min(budget, state[PAIRS])
    if state[HEAP_NEEDED] > len(t.heap):
        return NEED_ROOM
    end = min(state[PAIRS], state[CURSOR] + budget)
    for pair in range(state[CURSOR], end):
        if may_queue(t.pairs, t.tokens, state, pair):
            push(t.heap, t.pairs, t.tokens, t.units, state, pair)
    state[CURSOR] = end
    if end == state[PAIRS]:
        state[STAGE] = CHOOSE
    return BUDGET_SPENT


@njit(nogil=True, cache=True)
def train_picky(t: PickyTables, state: Int64, threshold: float, budget: int, batch: int) -> int:
    """Works for about `budget` visits of places, or until `batch` events are written to `out`. An event is made whole.

    Returns:
        `BUDGET_SPENT`; `BATCH_FULL`, also where all wanted tokens are present; `NEED_ROOM`; `ASKS` when the pair
        `state[PAIR]` may not be allowed (allow it or refuse it, then call again); `ROUND_OVER` when no pair reaches the
        floor.
    """
    if state[STAGE] == COUNT:
        return _count(t, state, budget)
    pairs, tokens = t.pairs, t.tokens
    # An event is finished in the call that began it, where its row is.
    while budget > 0 or state[STAGE] > CHOOSE:
        stage = state[STAGE]
        if stage == FILL:
            return _fill(t, state, budget)
        if stage == CHOOSE:
            if state[OUT] == batch or state[PRESENT] >= state[WANTED]:
                return BATCH_FULL
            pair = best(t.heap, pairs, tokens, t.units, state)
            if pair == 0:
                return ROUND_OVER
            state[PAIR] = pair
            if state[ALLOWED] != -1 and state[ALLOWED] != pairs[pair, KEY]:
                return ASKS
            state[STAGE] = MERGE
        elif stage == MERGE:
            pair = state[PAIR]
            places = pairs[pair, LISTED]
            # Each place makes two new places of pairs and one of the token; each token may be a new neighbour.
            pairs_made = 2 * min(places, state[VOCABULARY] + 1) + 2
            if _lacks_room(t, state, 3 * places, pairs_made) or state[VOCABULARY] == len(tokens):
                return NEED_ROOM
            t.out[state[OUT], OUT_COUNT] = pairs[pair, PAIR_COUNT]
            _merge_pair(t, state, pair)
            _decide(tokens, state, threshold, t.out[state[OUT]])
            budget -= places + 1
            state[STAGE] = REMOVE_LEFT
        elif stage in (REMOVE_LEFT, REMOVE_RIGHT):
            side = stage - REMOVE_LEFT
            if t.out[state[OUT], OUT_GONE_LEFT + side] >= 0:
                token = t.out[state[OUT], OUT_LEFT + side]
                amount = _fill_parts(tokens, state[BASE], token, t.parts)
                places = tokens[token, PLACES]
                state[PARTS_NEEDED] = amount
                pairs_made = 2 * min(places, state[VOCABULARY] + 1) + amount
                if _lacks_room(t, state, places * (2 * amount + 1), pairs_made) or amount > t.parts.size:
                    return NEED_ROOM
                _split(t, state, token, amount)
                budget -= places * amount
            state[STAGE] += 1
        else:
            state[HEAP_NEEDED] = state[HEAP] + state[TOUCHED]
            if state[HEAP_NEEDED] > len(t.heap):
                return NEED_ROOM
            for n in range(state[TOUCHED]):
                pair = np.int64(t.touched[n])
                pairs[pair, MARK] = 0
                if may_queue(pairs, tokens, state, pair):
                    push(t.heap, pairs, tokens, t.units, state, pair)
            state[TOUCHED] = 0
            t.out[state[OUT], OUT_TOKENS] = state[TOKENS]
            state[OUT] += 1
            state[VOCABULARY] += 1
            state[STAGE] = CHOOSE
    return BUDGET_SPENT


@njit(nogil=True, cache=True)
def first_places(t: PickyTables, state: Int64, places: Int32) -> None:
    """Writes the first place of each pair that stands anywhere, int32 [pairs]."""
    for pair in range(1, state[PAIRS]):
        left, right = t.pairs[pair, KEY] >> 32, t.pairs[pair, KEY] & NUMBER_BITS
        span, node, first = t.tokens[left, SPAN], t.pairs[pair, HEAD], len(t.symbols)
        while node != 0:
            i = np.int64(t.nodes[node, 0])
            if i < first and t.symbols[i] == left and t.symbols[i + span] == right:
                first = i
            node = np.int64(t.nodes[node, 1])
        places[pair] = first
