"""Begins a round: compacts the corpus, counts its pairs, and keeps those that reach the floor.

Places of pairs are first counted in cells. While there are few symbols, each cell belongs to one pair: the cells form a
grid, and their counts are exact. With many symbols, several pairs share a cell. A pair can reach the floor only where
its cell does, so only the pairs of such cells are looked up and counted one by one. In both cases the places of each
pair are then written in order.
"""

# SPDX-License-Identifier: MIT
# numpy's stubs cannot tell an element from an array where the index came out of an array itself.
# pyright: reportArgumentType=false, reportAssignmentType=false
from __future__ import annotations

from tokstudio.core.kernels import tables as k
from tokstudio.core.kernels.compiled import njit
from tokstudio.core.kernels.intrinsics import prefetch, weight_at
from tokstudio.core.kernels.merge import build_heap, squeeze
from tokstudio.core.kernels.tables import Int32, Int64, Tables

_AHEAD = 16
_BLOCK = 2048


@njit(nogil=True, cache=True)
def compact(symbols: Int32, weights: Int32, origin: Int32, token_span: Int32, state: Int64, budget: int) -> int:
    """Moves every token to a single position, and drops sequences without pairs."""
    weighted, placed = weights.size > 0, origin.size > 0
    start, target = state[k.CURSOR], state[k.TARGET]
    end = min(state[k.LENGTH], start + 4 * budget)
    for at in range(start, end):
        symbol = symbols[at]
        if symbol == k.SEPARATOR and target > 0:
            if symbols[target - 1] == k.SEPARATOR:
                continue
            if symbols[target - 2] == k.SEPARATOR:
                target -= 1
                continue
        symbols[target] = symbol
        if weighted:
            weights[target] = weights[at]
        if placed:
            origin[target] = origin[at]
        # Branches would be mispredicted half of the time.
        target += (symbol >= k.SEPARATOR) & (symbol < k.END)
    state[k.CURSOR], state[k.TARGET] = end, target
    if end == state[k.LENGTH]:
        state[k.LENGTH] = target
        token_span[: state[k.VOCABULARY]] = 1
        state[k.STAGE], state[k.CURSOR] = k.COUNT_CELLS, 0
    return budget - (end - start) // 4 - 1


@njit(nogil=True, cache=True)
def count_cells(
    symbols: Int32, weights: Int32, heavy: Int64, cells: Int32, cell_weights: Int64, state: Int64, budget: int
) -> int:
    """Adds up the weights of pairs in cells; counts their places where a cell has a single pair, or without weights."""
    is_grid = state[k.WIDTH] > 0
    by_left, by_right, shift, mask = k.HASH_LEFT, k.HASH_RIGHT, k.CELL_SHIFT, max(cells.size, cell_weights.size) - 1
    if is_grid:
        by_left, by_right, shift, mask = state[k.WIDTH], 1, 0, -1
    start, last = state[k.CURSOR], state[k.LENGTH] - 1
    end = min(last, start + budget)
    left = symbols[start]
    if weights.size > 0:
        for i in range(start, end):
            right = symbols[i + 1]
            if (left | right) >= 0:
                cell = ((left * by_left + right * by_right) >> shift) & mask
                if is_grid:
                    cells[cell] += 1
                cell_weights[cell] += weight_at(weights, heavy, i)
            left = right
    else:
        for i in range(start, end):
            right = symbols[i + 1]
            if (left | right) >= 0:
                cells[((left * by_left + right * by_right) >> shift) & mask] += 1
            left = right
    state[k.CURSOR] = end
    if end == last:
        state[k.TARGET] = 0
        state[k.STAGE], state[k.CURSOR] = k.NUMBER_CELLS if state[k.WIDTH] > 0 else k.SIFT_CELLS, 0
    return budget - (end - start) - 1


@njit(nogil=True, cache=True)
def number_cells(pairs: Int64, cells: Int32, cell_weights: Int64, token_bytes: Int64, state: Int64, budget: int) -> int:
    """Gives a number and a run of the pool to every pair of the grid that reaches the floor.

    The cell then holds the position of the pair's next place in the pool; 0 where the pair is dropped.
    """
    width, pair, used = state[k.WIDTH], state[k.PAIRS], state[k.POOL]
    weighted = cell_weights.size > 0
    start = state[k.CURSOR]
    end = min(width * width, start + budget)
    at = start
    while at < end and pair < len(pairs):
        places = cells[at]
        if places > 0:
            left, right = at // width, at % width
            count = cell_weights[at] if weighted else places
            cells[at] = 0
            if count >= state[k.FLOOR] and token_bytes[left] + token_bytes[right] <= state[k.MAX_BYTES]:
                cells[at] = used
                pairs[pair, k.COUNT], pairs[pair, k.KEY] = count, (left << 32) | right
                pairs[pair, k.START], pairs[pair, k.STOP] = used, used + places
                used += places
                pair += 1
        at += 1
    state[k.CURSOR], state[k.PAIRS], state[k.POOL] = at, pair, used
    if at == width * width:
        state[k.STAGE], state[k.CURSOR] = k.PLACE_CELLS, 0
    return budget - (at - start) - 1


@njit(nogil=True, cache=True)
def place_cells(symbols: Int32, pool: Int32, cells: Int32, state: Int64, budget: int) -> int:
    """Writes the places of every pair of the grid; those of dropped pairs go to the first place of the pool."""
    width = state[k.WIDTH]
    start, last = state[k.CURSOR], state[k.LENGTH] - 1
    end = min(last, start + budget)
    left = symbols[start]
    for i in range(start, end):
        right = symbols[i + 1]
        if (left | right) >= 0:
            cell = left * width + right
            to = cells[cell]
            pool[to] = i
            cells[cell] = to + (to > 0)
        left = right
    state[k.CURSOR] = end
    if end == last:
        state[k.STAGE], state[k.CURSOR] = k.FILL_HEAP, 0
    return budget - (end - start) - 1


@njit(nogil=True, cache=True)
def sift_cells(cells: Int32, cell_weights: Int64, frequent: Int32, state: Int64, budget: int) -> int:
    """Sets a bit for every cell that reaches the floor: bits fit in the processor's cache. Counts them in `TARGET`."""
    floor, weighted, met = state[k.FLOOR], cell_weights.size > 0, state[k.TARGET]
    start = state[k.CURSOR]
    end = min(frequent.size, start + 1 + budget // 8)
    for word in range(start, end):
        bits = 0
        for bit in range(32):
            cell = 32 * word + bit
            reached = cell_weights[cell] >= floor if weighted else cells[cell] >= floor
            bits |= reached << bit
            met += reached
        frequent[word] = bits
    state[k.CURSOR], state[k.TARGET] = end, met
    if end == frequent.size:
        state[k.STAGE], state[k.CURSOR] = k.NUMBER_PAIRS, 0
    return budget - 8 * (end - start) - 1


@njit(nogil=True, cache=True)
def number_pairs(
    symbols: Int32,
    weights: Int32,
    heavy: Int64,
    pairs: Int64,
    index: Int64,
    frequent: Int32,
    numbers: Int32,
    candidates: Int32,
    token_bytes: Int64,
    state: Int64,
    budget: int,
) -> int:
    """Counts the pairs of cells that reach the floor one by one: their count in `COUNT`, their places in `STOP`.

    Writes the number of the pair at every position to `numbers`.
    """
    weighted, pair = weights.size > 0, state[k.PAIRS]
    mask, cell_mask = index.size - 1, 32 * frequent.size - 1
    at, last = state[k.CURSOR], state[k.LENGTH] - 1
    start, end = at, min(last, at + budget)
    weight = 1
    if at == 0:
        index[:] = 0
    while at < end and pair < len(pairs):
        # In two steps, because a branch on the cell would be mispredicted half of the time.
        stop, met = min(end, at + _BLOCK), 0
        left = symbols[at]
        for i in range(at, stop):
            right = symbols[i + 1]
            cell = ((left * k.HASH_LEFT + right * k.HASH_RIGHT) >> k.CELL_SHIFT) & cell_mask
            numbers[i] = 0
            candidates[met] = i
            met += (frequent[cell >> 5] >> (cell & 31)) & ((left | right) >= 0)
            left = right
        at = stop
        for n in range(met):
            ahead = candidates[min(n + _AHEAD, met - 1)]
            hashed = symbols[ahead] * k.HASH_LEFT + symbols[ahead + 1] * k.HASH_RIGHT
            prefetch(index, (hashed >> k.INDEX_SHIFT) & mask)
            i = candidates[n]
            left, right = symbols[i], symbols[i + 1]
            key, hashed = (left << 32) | right, left * k.HASH_LEFT + right * k.HASH_RIGHT
            slot = (hashed >> k.INDEX_SHIFT) & mask
            number = index[slot] & k.NUMBER_BITS
            while number > 0 and (((index[slot] ^ hashed) >> 32) != 0 or pairs[number, k.KEY] != key):
                slot = (slot + 1) & mask
                number = index[slot] & k.NUMBER_BITS
            if number == 0:
                if token_bytes[left] + token_bytes[right] > state[k.MAX_BYTES]:
                    continue
                if pair == len(pairs):
                    at = i
                    break
                number = pair
                index[slot] = (hashed & k.HASH_BITS) | pair
                pairs[pair, k.COUNT], pairs[pair, k.KEY], pairs[pair, k.STOP] = 0, key, 0
                pair += 1
            if weighted:
                weight = weight_at(weights, heavy, i)
            numbers[i] = number
            pairs[number, k.COUNT] += weight
            pairs[number, k.STOP] += 1
    state[k.CURSOR], state[k.PAIRS], state[k.INDEXED] = at, pair, pair
    if at == last:
        state[k.STAGE], state[k.CURSOR] = k.ALLOT, 1
    return budget - 2 * (at - start) - 1


@njit(nogil=True, cache=True)
def allot(pairs: Int64, state: Int64, budget: int) -> int:
    """Gives a run of the pool to every pair that reaches the floor; places of other pairs go to index 0."""
    floor, used = state[k.FLOOR], state[k.POOL]
    start = state[k.CURSOR]
    end = min(state[k.PAIRS], start + budget)
    for pair in range(start, end):
        places = pairs[pair, k.STOP]
        if pairs[pair, k.COUNT] >= floor:
            pairs[pair, k.START] = pairs[pair, k.STOP] = used
            used += places
        else:
            pairs[pair, k.COUNT] = pairs[pair, k.START] = pairs[pair, k.STOP] = 0
    state[k.CURSOR], state[k.POOL] = end, used
    if end == state[k.PAIRS]:
        state[k.STAGE], state[k.CURSOR] = k.PLACE_PAIRS, 0
    return budget - (end - start) - 1


@njit(nogil=True, cache=True)
def place_pairs(numbers: Int32, pool: Int32, pairs: Int64, state: Int64, budget: int) -> int:
    """Writes the places of every pair with a run."""
    start, last = state[k.CURSOR], state[k.LENGTH] - 1
    end = min(last, start + budget)
    for i in range(start, end):
        prefetch(pairs, 4 * numbers[min(i + _AHEAD, last - 1)])
        number = numbers[i]
        to = pairs[number, k.STOP]
        pool[to] = i
        pairs[number, k.STOP] = to + (to > 0)
    state[k.CURSOR] = end
    if end == last:
        state[k.STAGE], state[k.CURSOR] = k.FILL_HEAP, 0
    return budget - (end - start) - 1


@njit(nogil=True, cache=True)
def index_pairs(pairs: Int64, index: Int64, state: Int64, budget: int) -> int:
    """Enters new pairs into the index; none of them may be there already."""
    mask = index.size - 1
    start = state[k.INDEXED]
    if start == 1:
        index[:] = 0
    end = min(state[k.PAIRS], start + budget)
    for pair in range(start, end):
        key = pairs[pair, k.KEY]
        hashed = (key >> 32) * k.HASH_LEFT + (key & k.NUMBER_BITS) * k.HASH_RIGHT
        slot = (hashed >> k.INDEX_SHIFT) & mask
        while index[slot] != 0:
            slot = (slot + 1) & mask
        index[slot] = (hashed & k.HASH_BITS) | pair
    state[k.INDEXED] = end
    return budget - (end - start) - 1


@njit(nogil=True, cache=True)
def eligible_pair(symbols: Int32, token_span: Int32, token_bytes: Int64, state: Int64, at: int) -> tuple[int, int, int]:
    """The first two neighbours from `at` on, where a token starts, that are short enough to be merged.

    Returns:
        Their ids, or -1 twice, and the start of the second.
    """
    left = -1
    while at < state[k.LENGTH]:
        symbol = symbols[at]
        if symbol >= 0 and left >= 0 and token_bytes[left] + token_bytes[symbol] <= state[k.MAX_BYTES]:
            return left, symbol, at
        at += 1 if symbol < 0 else token_span[symbol]
        left = symbol
    return -1, -1, at


def count_pairs(t: Tables, state: Int64, budget: int) -> int:
    """Continues counting, or making room, for about `budget` steps.

    It is not compiled: that would compile all called loops a second time.

    Returns:
        `ROUND_OVER` when merging can begin, `NEED_ROOM` when the tables of pairs are full, `COMPACTED` when the engine
        must allocate cells for the compacted corpus, else `BUDGET_SPENT`.
    """
    while budget > 0:
        stage = state[k.STAGE]
        if state[k.INDEXED] < state[k.PAIRS]:
            budget = index_pairs(t.pairs, t.pair_index, state, budget)
        elif stage == k.COMPACT:
            budget = compact(t.symbols, t.weights, t.origin, t.token_span, state, budget)
            if state[k.STAGE] == k.COUNT_CELLS:
                return k.COMPACTED
        elif stage == k.COUNT_CELLS:
            budget = count_cells(t.symbols, t.weights, t.heavy, t.cells, t.cell_weights, state, budget)
        elif stage == k.NUMBER_CELLS:
            budget = number_cells(t.pairs, t.cells, t.cell_weights, t.token_bytes, state, budget)
            if state[k.STAGE] == k.NUMBER_CELLS and state[k.PAIRS] == len(t.pairs):
                return k.NEED_ROOM
        elif stage == k.PLACE_CELLS:
            budget = place_cells(t.symbols, t.pool, t.cells, state, budget)
        elif stage == k.SIFT_CELLS:
            budget = sift_cells(t.cells, t.cell_weights, t.frequent, state, budget)
            if state[k.STAGE] == k.NUMBER_PAIRS and state[k.TARGET] > len(t.pairs):
                return k.NEED_ROOM
        elif stage == k.NUMBER_PAIRS:
            corpus, by_position = (t.symbols, t.weights, t.heavy), (t.numbers, t.touched, t.token_bytes)
            budget = number_pairs(*corpus, t.pairs, t.pair_index, t.frequent, *by_position, state, budget)
            if state[k.STAGE] == k.NUMBER_PAIRS and state[k.PAIRS] == len(t.pairs):
                return k.NEED_ROOM
        elif stage == k.ALLOT:
            budget = allot(t.pairs, state, budget)
        elif stage == k.PLACE_PAIRS:
            budget = place_pairs(t.numbers, t.pool, t.pairs, state, budget)
        elif stage == k.SQUEEZE:
            budget = squeeze(t.symbols, t.pool, t.pairs, t.token_span, state, budget)
        elif stage in (k.FILL_HEAP, k.BUILD_HEAP):
            budget = build_heap(t.pairs, t.heap, t.pool, t.token_order, t.spelling, t.units, state, budget)
        else:
            return k.ROUND_OVER
    return k.BUDGET_SPENT
