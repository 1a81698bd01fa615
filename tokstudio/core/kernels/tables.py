"""The arrays that the training loops work on, and the layout of their state.

A corpus of `n` positions (base units and separators) is trained in *rounds*. Each round has a floor: a pair that occurs
less often than the floor is not stored at all. When no stored pair reaches the floor, the next round begins on what is
left of the corpus with a lower floor. What holds throughout:

* `symbols[i]` is -1 at a separator (one at both ends, one between sequences). A token that covers the positions i..j
  has its id at i and at j; what stands between is stale. So the token to the left of a start i has the id
  `symbols[i - 1]`, and starts at i less its span.
* `pairs_at[i]` is, at the start of a token, the number of the pair it makes with the next token, or 0 for a pair that
  is not stored. "Does this old place still stand?" is therefore one comparison, and a neighbour's count falls without
  any look-up. Pair 0 takes the counts that nobody needs.
* A pair can only come into being while the newer of its two tokens is being made. So all its places are written at
  once, in order, into one run of `pool`, and from then on its count only falls.
* The heap is lazy: as counts only fall, its top is either up to date, or is re-keyed and sifted down.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]

# How equal counts are decided: by position, by the order of two ids, or by bytes.
BY_PLACE, BY_ORDER, BY_BYTES = 0, 1, 2

# What the loops are at: up to BUILD_HEAP they begin a round, SQUEEZE makes room, the others merge.
(
    COMPACT,
    COUNT_PAIRS,
    NUMBER_PAIRS,
    PLACE_PAIRS,
    COUNT_SYMBOLS,
    SORT_BY_RIGHT,
    SORT_BY_LEFT,
    STORE_PAIRS,
    BUILD_HEAP,
    CHOOSE,
    REPLACE,
    GATHER,
    WRITE,
    SQUEEZE,
    EXHAUSTED,
) = range(15)

# What a call came back for.
BUDGET_SPENT, NEED_ROOM, ROUND_OVER, BATCH_FULL = range(4)

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
    POOL,  # pool in use
    HEAP,  # heap in use
    PAIR,  # the pair being merged
    MERGED,  # end of its places that were merged, in the pool
    COUNT,  # its count when it was chosen
    TOUCHED,  # neighbours met, in `touched`
    OUT,  # merges written in this call
    TIE_RULE,
    MAX_BYTES,  # longest token allowed
    UNIT_BITS,  # bits of a base unit in `token_prefix`
    PLACES,  # adjacent places in the round, before the floor
    STATE_SIZE,
) = range(20)


class Heap(NamedTuple):
    """The heap's entries: a pair, its count when it was last looked at, and what decides between equal counts."""

    counts: Int64
    ties: Int64
    pairs: Int32


class Spellings(NamedTuple):
    """What it takes to compare two pairs by their bytes: how each token is spelt in base units."""

    pair_left: Int32
    pair_right: Int32
    token_units: Int64  # length in base units
    token_place: Int32  # where one stands in `units`
    units: Int32  # [base + n] each base unit once, then the corpus as it began; [0] unless ties go by bytes


class Tables(NamedTuple):
    """All arrays of a training; see the module's head for what they mean."""

    symbols: Int32  # [n]
    pairs_at: Int32  # [n]
    weights: Int64  # [n] how often a position's sequence occurs; [0] where every sequence occurs once
    origin: Int32  # [n] a position's place in `units`; [0] unless ties go by bytes
    units: Int32  # [base + n] each base unit once, then the corpus as it began; [0] unless ties go by bytes
    pool: Int32  # places of pairs, a run a pair

    pair_left: Int32
    pair_right: Int32
    pair_count: Int64
    pair_start: Int64  # its places in the pool; the start moves on past places that no longer stand
    pair_end: Int64

    heap_count: Int64
    heap_tie: Int64
    heap_pair: Int32

    token_span: Int32  # positions covered in this round
    token_bytes: Int64
    token_units: Int64
    token_order: Int32  # for ties by the order of ids
    token_prefix: Int64  # for ties by bytes: the first units, as a number
    token_place: Int32  # for ties by bytes: where one stands in `units`

    grid: Int64  # [v * v] counts, then numbers, of the pairs of v symbols while few symbols begin a round; else [0]

    # Direct-indexed by a neighbour's id while a merge's new pairs are gathered: places, then pair numbers.
    left_slot: Int32
    right_slot: Int32
    left_count: Int64
    right_count: Int64
    touched: Int32

    out_left: Int32
    out_right: Int32
    out_count: Int64
    out_tokens: Int64
