"""The arrays of the training loops, and the layout of their state.

A corpus of `n` positions (base units and separators) is trained in *rounds*. Each round has a floor: pairs that occur
less often are not stored at all. When no stored pair reaches the floor, the next round begins on the rest of the corpus
with a lower floor. Invariants:

* `symbols[i]` is `SEPARATOR` at both ends and between sequences. A token that covers the positions i..j has its id at
  i and, where j is another position, its id with the bit `END` at j. Values in between are stale; but where the right
  part of a token once started, that start is overwritten, at least by `INSIDE`. So `symbols[i]` is an id exactly where
  a token starts, and the token to the left of a start i is `symbols[i - 1]` without the bit.
* So `symbols` alone tells whether the pair (left, right) is still at an old place i: `symbols[i]` is left and
  `symbols[i + span of left]` is right.
* A pair can arise only while the newer of its two tokens is being made. So all its places are written at once, in
  order, into one run of `pool`, and from then on its count only decreases.
* A merge of (left, right) at a place takes one from the count of (x, left) for the token x before it, and gives one to
  (x, the new token). So the counts of the new pairs, gathered by neighbour, are also the losses of the old pairs: one
  look-up in `pair_index` for each neighbour of a merge, however many places there are.
* The heap is lazy: as counts only decrease, its top is either up to date, or is updated and sifted down.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]

# Values of `symbols` where no token starts. Ids are below `END`.
SEPARATOR, INSIDE, END = -1, -2, 1 << 30
TOKEN = END - 1  # the bits of an id; `SEPARATOR & TOKEN` is `TOKEN`, which is never an id
# The rules for equal counts: by position, by the order of two ids, or by bytes.
BY_PLACE, BY_ORDER, BY_BYTES = 0, 1, 2

# The stages of the loops: up to BUILD_HEAP they begin a round, SQUEEZE makes room, the others merge.
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

# The results of a call.
BUDGET_SPENT, NEED_ROOM, COMPACTED, ROUND_OVER, BATCH_FULL, ASKS = range(6)

# Indexes of the state vector (int64).
(
    STAGE,
    CURSOR,  # where the stage continues
    TARGET,  # where it writes next
    LENGTH,  # positions in use
    FLOOR,
    TOKENS,  # tokens in the corpus, weighted
    VOCABULARY,  # ids in use: the next new token's id
    PAIRS,  # pairs in use; pair 0 is unused
    INDEXED,  # pairs in the index, from 1 on
    POOL,  # pool in use; its first place is written but never read
    HEAP,  # heap in use
    PAIR,  # the pair being merged
    MERGED,  # end of its merged places in the pool
    CHOSEN,  # its count when it was chosen
    SCRATCH,  # start of the neighbours of its places in the pool
    TOUCHED,  # neighbours in `touched`
    OUT,  # merges written in this call
    TIE_RULE,
    MAX_BYTES,  # longest token allowed
    UNIT_BITS,  # bits of a base unit in a prefix
    WIDTH,  # side of the grid, where `cells` is one; else 0
    ALLOWED,  # the key of the one pair that may be merged; `ANY` for all
    STATE_SIZE,
) = range(23)

ANY, NONE = -1, -2  # instead of the key of a pair

# Columns of `pairs`.
COUNT, KEY, START, STOP = range(4)
# Columns of `heap`: a pair, its count at the last look, and the key for equal counts.
HEAP_COUNT, HEAP_TIE, HEAP_PAIR = range(3)
# Columns of `spelling`: length in base units, an occurrence in `units`, and the first units as a number.
SPELT, SPELT_AT, PREFIX = range(3)

# A pair's hash is left * HASH_LEFT + right * HASH_RIGHT, modulo 2 ** 64.
HASH_LEFT, HASH_RIGHT = -7046029254386353131, -4417276706812531889
# An entry of the index: the upper half of a pair's hash, and its number, at hash >> INDEX_SHIFT or after it.
HASH_BITS, NUMBER_BITS = -1 << 32, (1 << 32) - 1
INDEX_SHIFT, CELL_SHIFT = 32, 38


class Tables(NamedTuple):
    """All arrays of a training; see the module."""

    symbols: Int32  # [n]
    weights: Int32  # [n] how often a position's sequence occurs: see `weights`; [0] where every sequence occurs once
    heavy: Int64  # the weights that do not fit into 31 bits
    origin: Int32  # [n] a position's place in `units`; [0] unless ties go by bytes
    units: Int32  # [base + n] each base unit once, then the original corpus; [0] unless ties go by bytes
    pool: Int32  # places of pairs, one run per pair
    # A pair's count; left << 32 | right; its run in the pool, whose start skips places that are no longer valid.
    pairs: Int64  # [pairs, 4]
    pair_index: Int64  # [a power of two] from a pair to its number; 0 is free
    heap: Int64  # [pairs, 3]

    token_span: Int32  # positions covered in this round
    token_bytes: Int64
    token_order: Int32  # for ties by the order of ids
    spelling: Int64  # [tokens, 3] for ties by bytes; else [0, 3]
    # [tokens] for whole characters, else [0]: the bytes that a character lacks at the end of a token; below 0, so many
    # bytes continue a character and do not begin it; 0 for whole characters. That of a merge is the sum of its parts'.
    token_lacking: Int64

    # For counting the pairs of a round: the places and weights in each cell, a cell for every pair or for several.
    cells: Int32  # [0] for shared cells with weights
    cell_weights: Int64  # [0] without weights
    frequent: Int32  # [cells / 32] for shared cells: a bit for each that reaches the floor
    numbers: Int32  # [n] for shared cells: the number of the pair at each position

    # Indexed by a neighbour's id while a merge's new pairs are gathered: places, then pair numbers.
    left_slot: Int32
    right_slot: Int32
    left_count: Int64  # [0] without weights
    right_count: Int64
    touched: Int32

    out: Int64  # [batch, 4] left, right, count, tokens afterwards
