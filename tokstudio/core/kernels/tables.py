"""The arrays that the training loops work on, and the layout of their state.

A corpus of `n` positions (base units and separators) is trained in *rounds*. Each round has a floor: a pair that occurs
less often than the floor is not stored at all. When no stored pair reaches the floor, the next round begins on what is
left of the corpus with a lower floor. What holds throughout:

* `symbols[i]` is `SEPARATOR` at both ends and between sequences. A token that covers the positions i..j has its id at
  i and, where j is another position, its id with the bit `END` at j. What stands between is stale; but where the right
  part of a token once started, that start is overwritten, by `INSIDE` if by nothing else. So `symbols[i]` is an id just
  where a token starts, and the token to the left of a start i is `symbols[i - 1]` less the bit.
* So "does the pair (left, right) still stand at this old place i?" is answered by `symbols` alone: `symbols[i]` is left
  and `symbols[i + span of left]` is right.
* A pair can only come into being while the newer of its two tokens is being made. So all its places are written at
  once, in order, into one run of `pool`, and from then on its count only falls.
* A merge of (left, right) at a place takes one from the count of (x, left) for the token x before it, and gives one to
  (x, the new token). So the new pairs' counts, gathered by neighbour, are also what the old pairs lose: one look-up in
  `pair_index` for each neighbour that a merge meets, however many the places are.
* The heap is lazy: as counts only fall, its top is either up to date, or is re-keyed and sifted down.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]

# What stands in `symbols` where no token starts. Ids are below `END`.
SEPARATOR, INSIDE, END = -1, -2, 1 << 30
TOKEN = END - 1  # the bits of an id; `SEPARATOR & TOKEN` is `TOKEN`, which no id is

# How equal counts are decided: by position, by the order of two ids, or by bytes.
BY_PLACE, BY_ORDER, BY_BYTES = 0, 1, 2

# What the loops are at: up to BUILD_HEAP they begin a round, SQUEEZE makes room, the others merge.
(
    COMPACT,
    COUNT_CELLS,
    NUMBER_CELLS,
    PLACE_CELLS,
    SIFT_CELLS,
    NUMBER_PAIRS,
    ALLOT,
    PLACE_PAIRS,
    FILL_HEAP,
    BUILD_HEAP,
    CHOOSE,
    REPLACE,
    WRITE,
    SQUEEZE,
    EXHAUSTED,
) = range(15)

# What a call came back for.
BUDGET_SPENT, NEED_ROOM, COMPACTED, ROUND_OVER, BATCH_FULL = range(5)

# Places in the state vector (int64).
(
    STAGE,
    CURSOR,  # where the stage goes on
    TARGET,  # where it writes next
    LENGTH,  # positions in use
    FLOOR,
    TOKENS,  # tokens left in the corpus, weighted
    VOCABULARY,  # ids in use: the next new token's id
    PAIRS,  # pairs in use; pair 0 is nobody's
    INDEXED,  # pairs that stand in the index, from 1 on
    POOL,  # pool in use; what is written to its first place is read by nobody
    HEAP,  # heap in use
    PAIR,  # the pair being merged
    MERGED,  # end of its places that were merged, in the pool
    CHOSEN,  # its count when it was chosen
    SCRATCH,  # where the pool holds the neighbours of its places
    TOUCHED,  # neighbours met, in `touched`
    OUT,  # merges written in this call
    TIE_RULE,
    MAX_BYTES,  # longest token allowed
    UNIT_BITS,  # bits of a base unit in a prefix
    WIDTH,  # symbols a side of the grid, where `cells` is one; else 0
    STATE_SIZE,
) = range(22)

# Columns of `pairs`.
COUNT, KEY, START, STOP = range(4)
# Columns of `heap`: a pair, its count when it was last looked at, and what decides between equal counts.
HEAP_COUNT, HEAP_TIE, HEAP_PAIR = range(3)
# Columns of `spelling`: length in base units, where one stands in `units`, and the first units as a number.
SPELT, SPELT_AT, PREFIX = range(3)

# A pair's hash is left * HASH_LEFT + right * HASH_RIGHT, modulo 2 ** 64.
HASH_LEFT, HASH_RIGHT = -7046029254386353131, -4417276706812531889
# An entry of the index: the upper half of a pair's hash, and its number. It stands at hash >> INDEX_SHIFT or behind.
HASH_BITS, NUMBER_BITS = -1 << 32, (1 << 32) - 1
INDEX_SHIFT, CELL_SHIFT = 32, 38


class Tables(NamedTuple):
    """All arrays of a training; see the module's head for what they mean."""

    symbols: Int32  # [n]
    weights: Int64  # [n] how often a position's sequence occurs; [0] where every sequence occurs once
    origin: Int32  # [n] a position's place in `units`; [0] unless ties go by bytes
    units: Int32  # [base + n] each base unit once, then the corpus as it began; [0] unless ties go by bytes
    pool: Int32  # places of pairs, a run a pair

    # A pair's count; left << 32 | right; its run in the pool, whose start moves on past places that no longer stand.
    pairs: Int64  # [pairs, 4]
    pair_index: Int64  # [a power of two] from a pair to its number; 0 is free
    heap: Int64  # [pairs, 3]

    token_span: Int32  # positions covered in this round
    token_bytes: Int64
    token_order: Int32  # for ties by the order of ids
    spelling: Int64  # [tokens, 3] for ties by bytes; else [0, 3]

    # While a round's pairs are found: the places and weights in each cell, a cell for every pair or for several.
    cells: Int32
    cell_weights: Int64  # [0] without weights
    frequent: Int32  # [cells / 32] where several share a cell: a bit for each that reaches the floor
    numbers: Int32  # [n] where several share a cell: the number of the pair at each position

    # Direct-indexed by a neighbour's id while a merge's new pairs are gathered: places, then pair numbers.
    left_slot: Int32
    right_slot: Int32
    left_count: Int64  # [0] without weights
    right_count: Int64
    touched: Int32

    out: Int64  # [batch, 4] left, right, count, tokens left
