"""The arrays of Picky BPE's training: the state, the columns, and how pairs and places of tokens are entered.

Every pair of neighbours has a row, and a list of places where it has stood; a place is valid while the two tokens stand
there. Each token has such a list too.
"""

# SPDX-License-Identifier: MIT
# numpy's stubs cannot tell an element from an array where the index came out of an array itself.
# pyright: reportArgumentType=false, reportReturnType=false, reportAssignmentType=false
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tokstudio.core.kernels.compiled import njit
from tokstudio.core.kernels.tables import HASH_LEFT, HASH_RIGHT, INDEX_SHIFT, NUMBER_BITS, Int32, Int64

# The stages: counting all pairs, filling the heap down to the floor, then an event after the other.
COUNT, FILL, CHOOSE, MERGE, REMOVE_LEFT, REMOVE_RIGHT, QUEUE = range(7)

# Indexes of the state (int64). Pair 0 and node 0 are unused.
(
    STAGE,
    CURSOR,
    FLOOR,
    TOKENS,  # in the corpus, weighted
    VOCABULARY,  # ids given: the id of the next merge
    BASE,  # ids before those of the merges
    PRESENT,  # tokens made by merges and not removed
    WANTED,  # as many of them as there shall be
    PAIRS,
    NODES,
    HEAP,
    TOUCHED,
    OUT,
    MAX_BYTES,
    ALLOWED,  # as in `tables`
    PAIR,  # the pair being merged
    # The lengths of arrays that the next stage needs.
    NODES_NEEDED,
    PAIRS_NEEDED,
    HEAP_NEEDED,
    PARTS_NEEDED,
    STATE_SIZE,
) = range(21)

# Columns of `pairs`. MARK: in `touched`, or never to be chosen.
PAIR_COUNT, KEY, HEAD, LISTED, QUEUED, MARK = range(6)
IS_TOUCHED, REFUSED = 1, 2
# Columns of `tokens`: positions and bytes; a place of its units; the parts; uses; its list; the newest token of the
# same bytes; its hash and the factor of what comes before it.
SPAN, BYTES, SPELT_AT, LEFT, RIGHT, USES, FIRST, PLACES, NEWEST, HASH, FACTOR, IS_PRESENT = range(12)
# Columns of `out`, and 4 + those of the rows of removals.
(OUT_LEFT, OUT_RIGHT, OUT_COUNT, OUT_TOKENS, OUT_RESULT, OUT_REPLACED, OUT_GONE_LEFT, OUT_GONE_RIGHT) = range(8)

HASH_BASE = 0x2545F4914F6CDD1D


class PickyTables(NamedTuple):
    """The arrays of a training."""

    symbols: Int32  # [n]
    weights: Int32  # [n], see `weights`; or [0] where every sequence occurs once
    heavy: Int64
    units: Int32  # [base + n], each base unit once, then the corpus, as numbers that sort like the units
    tokens: Int64  # [ids, 12]
    token_index: Int32  # [a power of two], from the bytes of a token to the newest; 0 is free
    pairs: Int64  # [pairs, 6]
    pair_index: Int32  # [a power of two]; 0 is free
    nodes: Int32  # [nodes, 2], a place and the next node
    heap: Int64  # [entries, 2], count and pair
    touched: Int32  # [pairs]
    parts: Int32  # scratch for the parts of a removed token
    out: Int64  # [batch, 8]


@njit(nogil=True, cache=True, inline="always")
def slot_of(key: int, mask: int) -> int:
    """The first place to look for a pair."""
    return (((key >> 32) * HASH_LEFT + (key & NUMBER_BITS) * HASH_RIGHT) >> INDEX_SHIFT) & mask


@njit(nogil=True, cache=True)
def index_pairs(pairs: Int64, pair_index: Int32, stop: int) -> None:
    """Fills an empty index with the pairs below `stop`."""
    mask = pair_index.size - 1
    for pair in range(1, stop):
        slot = slot_of(pairs[pair, KEY], mask)
        while pair_index[slot] != 0:
            slot = (slot + 1) & mask
        pair_index[slot] = pair


@njit(nogil=True, cache=True)
def index_tokens(tokens: Int64, index: Int32, base: int, stop: int) -> None:
    """Fills an empty index with the newest tokens of each bytes made by merges below `stop`."""
    mask = index.size - 1
    for token in range(base, stop):
        if tokens[token, NEWEST] == token:
            slot = (tokens[token, HASH] >> 20) & mask
            while index[slot] != 0:
                slot = (slot + 1) & mask
            index[slot] = token


@njit(nogil=True, cache=True)
def note(
    pairs: Int64, index: Int32, nodes: Int32, touched: Int32, state: Int64, key: int, change: int, place: int
) -> None:
    """Changes the count of a pair; one that rises stands at `place` now."""
    mask = index.size - 1
    slot = slot_of(key, mask)
    pair = np.int64(index[slot])
    while pair != 0 and pairs[pair, KEY] != key:
        slot = (slot + 1) & mask
        pair = np.int64(index[slot])
    if pair == 0:
        pair = state[PAIRS]
        state[PAIRS] += 1
        index[slot] = pair
        pairs[pair, KEY] = key
        pairs[pair, PAIR_COUNT] = pairs[pair, HEAD] = pairs[pair, LISTED] = pairs[pair, QUEUED] = 0
        pairs[pair, MARK] = 0
    pairs[pair, PAIR_COUNT] += change
    if change > 0:
        node = state[NODES]
        state[NODES] += 1
        nodes[node, 0], nodes[node, 1] = place, pairs[pair, HEAD]
        pairs[pair, HEAD] = node
        pairs[pair, LISTED] += 1
        if pairs[pair, MARK] == 0:
            pairs[pair, MARK] = IS_TOUCHED
            touched[state[TOUCHED]] = pair
            state[TOUCHED] += 1


@njit(nogil=True, cache=True)
def list_token(tokens: Int64, nodes: Int32, state: Int64, token: int, place: int) -> None:
    """Enters a place of a token that a merge makes."""
    if token < state[BASE]:
        return
    node = state[NODES]
    state[NODES] += 1
    nodes[node, 0], nodes[node, 1] = place, tokens[token, FIRST]
    tokens[token, FIRST] = node
    tokens[token, PLACES] += 1
