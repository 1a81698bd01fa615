"""Encoding of long sequences in linear time, from left to right by longest matches.

The tokens of a text are those of merging if and only if each pair of neighbours is what merging makes of their joint
text, and each token is what merging makes of its own. So a text is encoded by trying, after the tokens of a beginning,
the tokens that the rest begins with, longest first, and taking the first that may stand there; where none may, the last
token is replaced by a shorter one. The tokens of each beginning are unique, so no place is tried twice.

Whether two tokens may stand beside each other follows from their merges, undone one by one, latest first: at no time
may a merge join the two that meet, before another takes one of them away.
The facts are those of Berglund and van der Merwe (arXiv 2309.08715), and of the crate `bpe` of github/rust-gems.

Tokens are rows of an int32 [ids, 4] array: `LEFT` and `RIGHT`, the parts; `RANK`, that of the merge, -1 for base
tokens; `LENGTH`, in base tokens. Their spellings are a trie, whose node for the spelling of a token has its id as
number; other nodes have the numbers from `FIRST_NODE` on. An edge from a node by a base token is a row of a hash table:
node << 32 | base token; the rank + 1 of the token of the next node, or `NO_TOKEN`, << 32 | that node; the least rank +
1 of a token there or further on, so that no path is followed to tokens that are all made later. -1 if it is free.
"""

# SPDX-License-Identifier: MIT
# numpy's stubs cannot tell an element from an array where the index came out of an array itself.
# pyright: reportArgumentType=false, reportReturnType=false, reportAssignmentType=false
from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.kernels.compiled import njit
from tokstudio.core.kernels.encode import Bytes, find_likely, is_set, set_bit, slot_of
from tokstudio.core.kernels.tables import Int32, Int64

LEFT, RIGHT, RANK, LENGTH = range(4)

# Indexes of the state of an encoding (int64): the next place, and the tokens so far.
PLACE, WRITTEN, STATE_SIZE = range(3)

#: The rank of a node where no token ends, and the number of the first of them: no id is as large.
NO_TOKEN, FIRST_NODE = 0x7FFFFFFF, 1 << 31

_NONE = -1
_LOW = 0xFFFFFFFF


@njit(nogil=True, cache=True, inline="always")
def _may_meet(pairs: Int64, bits: Bytes, tokens: Int32, left: int, right: int, limit: int) -> bool:
    """Whether no merge below rank `limit` joins the ends of two tokens while their own merges are made."""
    while True:
        if find_likely(pairs, bits, left, right, limit) != _NONE:
            return False
        of_left, of_right = tokens[left, RANK], tokens[right, RANK]
        if of_left > of_right:
            # Its end was free until this merge. Of equal merges, those further left come first.
            left, limit = np.int64(tokens[left, RIGHT]), of_left
        elif of_right >= 0:
            right, limit = np.int64(tokens[right, LEFT]), of_right + 1
        else:
            return True


@njit(nogil=True, cache=True)
def describe(
    merges: Int32, results: Int32, pairs: Int64, bits: Bytes, tokens: Int32, reachable: NDArray[np.bool_]
) -> int:
    """Enters merges into `tokens` and `reachable`, which have the base tokens.

    A token is reachable if merging makes it of its own text.

    Args:
        merges: int32 [n, 2], ids of left and right in rank order.
        results: int32 [n], the id that each merge makes.
        pairs: The hash table of the merges; see `encode`.
        bits: Those of the pairs; see `encode.fill_pairs`.
        tokens: int32 [ids, 4], written.
        reachable: bool [ids], written.

    Returns:
        The most nodes that the merges can add to the trie.
    """
    most = np.int64(0)
    for rank in range(len(merges)):
        left, right, token = merges[rank, 0], merges[rank, 1], results[rank]
        tokens[token, LEFT], tokens[token, RIGHT], tokens[token, RANK] = left, right, rank
        tokens[token, LENGTH] = min(np.int64(tokens[left, LENGTH]) + tokens[right, LENGTH], 0x7FFFFFFF)
        if reachable[left] and reachable[right] and _may_meet(pairs, bits, tokens, left, right, rank):
            reachable[token] = True
            most += tokens[right, LENGTH]
    return most


@njit(nogil=True, cache=True, inline="always")
def _slot(edges: Int64, node: int, symbol: int) -> int:
    """The row of an edge in its hash table, or the free row for it."""
    edge, mask = (np.int64(node) << 32) | symbol, len(edges) - 1
    slot = slot_of(edge, mask)
    while edges[slot, 0] != edge and edges[slot, 0] != _NONE:
        slot = (slot + 1) & mask
    return slot


@njit(nogil=True, cache=True)
def fill_trie(order: Int32, tokens: Int32, most: int, edges: Int64, shorter: Int32) -> None:
    """Builds the trie of the reachable tokens.

    Args:
        order: int32, the reachable tokens that merges make, by rank.
        tokens: int32 [ids, 4]; see the module.
        most: The most nodes besides those of the base tokens.
        edges: int64 [rows, 3], a free hash table; rows a power of two, more than `most`.
        shorter: int32 [ids], -1 at first; afterwards the longest token that each begins with, but for itself.
    """
    # Until it is known where tokens end, the nodes after those of the base tokens are numbered as they come.
    node_of = np.empty(len(tokens), np.int64)
    above, symbol, token_at = np.empty(most, np.int64), np.empty(most, np.int32), np.full(most, _NONE, np.int32)
    drafts, stack = np.full(edges.shape, _NONE, np.int64), np.empty(most + 1, np.int32)
    nodes = 0
    for token in order:
        left, size = tokens[token, LEFT], 1
        node = np.int64(left) if tokens[left, RANK] == _NONE else node_of[left]
        stack[0] = tokens[token, RIGHT]
        while size > 0:
            part = stack[size - 1]
            if tokens[part, RANK] != _NONE:
                stack[size - 1], stack[size] = tokens[part, RIGHT], tokens[part, LEFT]
                size += 1
                continue
            size -= 1
            slot = _slot(drafts, node, part)
            if drafts[slot, 0] == _NONE:
                drafts[slot, 0], drafts[slot, 1] = (node << 32) | part, FIRST_NODE + nodes
                above[nodes], symbol[nodes] = node, part
                nodes += 1
            node = drafts[slot, 1]
        node_of[token], token_at[node - FIRST_NODE] = node, token

    # The nodes before a node are above it.
    least = np.empty(nodes, np.int64)
    for k in range(nodes):
        least[k] = NO_TOKEN if token_at[k] == _NONE else tokens[token_at[k], RANK] + 1
    for k in range(nodes - 1, -1, -1):
        if above[k] >= FIRST_NODE:
            least[above[k] - FIRST_NODE] = min(least[above[k] - FIRST_NODE], least[k])

    # The stack becomes the longest token that ends above each.
    for k in range(nodes):
        node = above[k]
        token = node
        if node >= FIRST_NODE:
            token = token_at[node - FIRST_NODE]
            stack[k] = stack[node - FIRST_NODE] if token == _NONE else token
            node = node if token == _NONE else token
        else:
            stack[k] = node
        token = token_at[k]
        rank, number = (NO_TOKEN, FIRST_NODE + k) if token == _NONE else (tokens[token, RANK] + 1, token)
        slot = _slot(edges, node, symbol[k])
        edges[slot, 0], edges[slot, 1] = (node << 32) | symbol[k], (np.int64(rank) << 32) | number
        edges[slot, 2] = least[k]
    for token in order:
        shorter[token] = stack[node_of[token] - FIRST_NODE]


@njit(nogil=True, cache=True, inline="always")
def _longest(edges: Int64, symbols: Int32, at: int, limit: int) -> int:
    """The longest token below rank `limit` that begins at a place."""
    node = token = np.int64(symbols[at])
    for k in range(at + 1, len(symbols)):
        slot = _slot(edges, node, symbols[k])
        if edges[slot, 0] == _NONE or edges[slot, 2] > limit:
            break
        node = edges[slot, 1] & _LOW
        if edges[slot, 1] >> 32 <= limit:
            token = node
    return token


@njit(nogil=True, cache=True)
def encode_by_longest(
    pairs: Int64,
    bits: Bytes,
    limit: int,
    tokens: Int32,
    shorter: Int32,
    edges: Int64,
    symbols: Int32,
    ids: NDArray[np.uint32],
    dead: Bytes,
    state: Int64,
    budget: int,
) -> bool:
    """Encodes one sequence with the merges below rank `limit`, for `budget` tokens per call.

    Args:
        pairs: The hash table of merges; see `encode`.
        bits: Those of the pairs; see `encode.fill_pairs`.
        limit: The number of merges to apply.
        tokens: int32 [ids, 4]; see the module.
        shorter: int32 [ids]; see `fill_trie`.
        edges: The hash table of the trie.
        symbols: int32 [n], base tokens, n > 0.
        ids: uint32 [n], written.
        dead: uint8 [n // 8 + 1], zeros at first: a bit for each place where no token may follow.
        state: int64 [STATE_SIZE], zeros at first.
        budget: Tokens.

    Returns:
        Whether the sequence is encoded.
    """
    at, written = state[PLACE], state[WRITTEN]
    token = _longest(edges, symbols, at, limit)
    while budget > 0:
        budget -= 1
        while token != _NONE:
            if tokens[token, RANK] < limit:
                end = at + tokens[token, LENGTH]
                if not is_set(dead, end) and (
                    written == 0 or _may_meet(pairs, bits, tokens, ids[written - 1], token, limit)
                ):
                    break
            token = np.int64(shorter[token])
        if token == _NONE:
            set_bit(dead, at)
            written -= 1
            token = np.int64(ids[written])
            at -= tokens[token, LENGTH]
            token = np.int64(shorter[token])
            continue
        ids[written] = token
        written += 1
        at += tokens[token, LENGTH]
        if at == len(symbols):
            break
        token = _longest(edges, symbols, at, limit)
    state[PLACE], state[WRITTEN] = at, written
    return at == len(symbols)
