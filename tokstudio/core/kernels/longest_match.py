"""Encoding of long sequences in linear time, from left to right by longest matches.

The tokens of a text are those of merging if and only if each pair of neighbours is what merging makes of their joint
text, and each token is what merging makes of its own. So a text is encoded by trying, after the tokens of a beginning,
the tokens that the rest begins with, longest first, and taking the first that may stand there; where none may, the last
token is replaced by a shorter one. The tokens of each beginning are unique, so no place is tried twice.

As any tokens that satisfy this are the right ones, the order is free. Of English and other texts, a token is nearly
always wrong if the longest match behind it may not follow it (in 99% of such cases), so shorter ones are tried before
those that may follow. Only where this finds no token, all are tried; such a place is `CAREFUL`, as those before it.

Whether two tokens may stand beside each other follows from their merges, undone one by one, latest first: at no time
may a merge join the two that meet, before another takes one of them away.
The facts are those of Berglund and van der Merwe (arXiv 2309.08715), and of the crate `bpe` of github/rust-gems.

Tokens have numbers: from 0 on those that no merge makes, here called base tokens, then `base` + rank for the results
of merges. So of two numbers, the higher was made later. `parts` is int32 [numbers, 2], the left and right of each.
Their spellings are a trie in a double array (Aoe 1989, doi:10.1109/32.31365): a node is a row of `nodes`, int64 [rows],
small enough for the processor's cache, in which most of the time goes. The row has three numbers. The next node by a
base token is row `before` ^ base token if its `above` is the first node. `kinds` has a bit for each next node, by the
lowest bits of its base token: most paths end without a look at a row that is rarely used. `ends`, int32 [2, rows], has
`TOKEN`, the token that ends there, or `NO_TOKEN`; and `LEAST`, the least token there or further on, so that no path is
followed to tokens that are all made later. The nodes of base tokens are the first rows. Nodes that are found first
stand at the beginning, as they belong to frequent tokens.

The inner loops take addresses: references to arrays would be counted with each call.
"""

# SPDX-License-Identifier: MIT
# numpy's stubs cannot tell an element from an array where the index came out of an array itself.
# pyright: reportArgumentType=false, reportReturnType=false, reportAssignmentType=false
from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.kernels.compiled import njit
from tokstudio.core.kernels.encode import Bytes, find_likely, set_bit, slot_of, slots_of
from tokstudio.core.kernels.intrinsics import address_of, byte_at, int32_at, int64_at
from tokstudio.core.kernels.tables import Int32, Int64

LEFT, RIGHT = range(2)
TOKEN, LEAST = range(2)
# Rows of the list of nodes.
NODE, SYMBOL, LISTED_TOKEN, LISTED_LEAST = range(4)

# A row of `nodes`, from its lowest bits on: `kinds`, `before` and `above`, which is `ROW` where there is no node.
BEFORE_AT, ABOVE_AT = 16, 40
ROW, _KIND = (1 << 24) - 1, 15
MOST_ROWS = ROW  # `ROW` is none
FREE = -1  # a row without a node

# Indexes of the state of an encoding (int64): the next place, the tokens so far, and how far places are careful.
PLACE, WRITTEN, CAREFUL, STATE_SIZE = range(4)

#: No token has as high a number.
NO_TOKEN = 0x7FFFFFFF

_NONE = -1
_MANY = 24  # a node with more next nodes is placed before others
_TRIES = 200  # places that are tried for the next nodes of one before they are left to others
_LOOKS = 8  # tokens of a place that are tried with the longest match behind them


@njit(nogil=True, cache=True, inline="always")
def _may_meet(
    pairs: int, mask: int, bits: int, bit_mask: int, parts: int, base: int, left: int, right: int, limit: int
) -> bool:
    """Whether no merge below rank `limit` joins the ends of two tokens while their own merges are made."""
    while True:
        if find_likely(pairs, mask, bits, bit_mask, left, right, limit) != _NONE:
            return False
        if max(left, right) < base:
            return True
        # The later merge is undone, without a branch. The end of the left was free until then; of equal merges, those
        # further left come first.
        is_left = left > right
        left_part, right_part = int32_at(parts, 2 * left + RIGHT), int32_at(parts, 2 * right + LEFT)
        limit = (left if is_left else right + 1) - base
        left = left_part if is_left else left
        right = right if is_left else right_part


@njit(nogil=True, cache=True)
def describe(pairs: Int64, bits: Bytes, base: int, parts: Int32, lengths: Int32, reachable: NDArray[np.bool_]) -> int:
    """Enters the results of merges into `lengths` and `reachable`, which have the base tokens.

    A token is reachable if merging makes it of its own text.

    Args:
        pairs: The hash table of the merges, by numbers; see `encode`.
        bits: Those of the pairs; see `encode.fill_pairs`.
        base: The number of base tokens.
        parts: int32 [numbers, 2].
        lengths: int32 [numbers], written: base tokens.
        reachable: bool [numbers], written.

    Returns:
        The most nodes that the merges can add to the trie.
    """
    slots, mask = slots_of(pairs)
    bits_at, bit_mask, parts_at = address_of(bits), 8 * bits.size - 1, address_of(parts)
    most = np.int64(0)
    for token in range(base, len(parts)):
        left, right = np.int64(parts[token, LEFT]), np.int64(parts[token, RIGHT])
        lengths[token] = min(np.int64(lengths[left]) + lengths[right], 0x7FFFFFFF)
        if reachable[left] and reachable[right]:
            reachable[token] = _may_meet(slots, mask, bits_at, bit_mask, parts_at, base, left, right, token - base)
            most += lengths[right] if reachable[token] else 0
    return most


@njit(nogil=True, cache=True)
def list_nodes(order: Int32, parts: Int32, base: int, listed: Int32, shorter: Int32) -> int:
    """Lists the nodes of the trie of the reachable tokens, each behind that before it, but for those of base tokens.

    Args:
        order: int32, the reachable tokens that merges make, ascending.
        parts: int32 [numbers, 2].
        base: The number of base tokens.
        listed: int32 [4, most nodes], `NO_TOKEN` at first; written: `NODE`, the node before, which is a base token or
            `base` + its place in this list; `SYMBOL`, the base token that leads here; its token and its least token.
        shorter: int32 [numbers], -1 at first; afterwards the longest token that each begins with, but for itself.

    Returns:
        The number of nodes.
    """
    above, symbols, tokens, leasts = listed[NODE], listed[SYMBOL], listed[LISTED_TOKEN], listed[LISTED_LEAST]
    most = len(above)
    size = 4
    while size < most + most // 2:
        size *= 2
    # A hash table: node << 32 | base token, and the next node.
    edges = np.full((size, 2), _NONE, np.int64)
    node_of, stack = np.empty(len(parts), np.int32), np.empty(most + 1, np.int32)
    nodes = 0
    for token in order:
        left, held = np.int64(parts[token, LEFT]), 1
        node = left if left < base else np.int64(node_of[left])
        stack[0] = parts[token, RIGHT]
        while held > 0:
            part = np.int64(stack[held - 1])
            if part >= base:
                stack[held - 1], stack[held] = parts[part, RIGHT], parts[part, LEFT]
                held += 1
                continue
            held -= 1
            edge = (node << 32) | part
            slot = slot_of(edge, size - 1)
            while edges[slot, 0] != edge and edges[slot, 0] != _NONE:
                slot = (slot + 1) & (size - 1)
            if edges[slot, 0] == _NONE:
                edges[slot, 0], edges[slot, 1] = edge, base + nodes
                above[nodes], symbols[nodes] = node, part
                nodes += 1
            node = edges[slot, 1]
        node_of[token], tokens[node - base] = node, token

    for k in range(nodes):
        leasts[k] = tokens[k]
    for k in range(nodes - 1, -1, -1):
        if above[k] >= base:
            leasts[above[k] - base] = min(leasts[above[k] - base], leasts[k])

    # The stack becomes the longest token that ends before each.
    for k in range(nodes):
        node = np.int64(above[k])
        if node < base:
            stack[k] = node
        else:
            stack[k] = stack[node - base] if tokens[node - base] == NO_TOKEN else tokens[node - base]
    for token in order:
        shorter[token] = stack[node_of[token] - base]
    return nodes


@njit(nogil=True, cache=True)
def place_nodes(base: int, listed: Int32, count: int, nodes: Int64, ends: Int32) -> bool:
    """Places the nodes of the trie in its rows; returns whether these are enough.

    Args:
        base: The number of base tokens.
        listed: int32 [4, at least `count`]; see `list_nodes`.
        count: The number of nodes that are listed.
        nodes: int64 [rows], `FREE` at first; see the module. Rows are a multiple of a power of two from `base` on.
        ends: int32 [2, rows], written.
    """
    above, symbols, size = listed[NODE, :count], listed[SYMBOL], len(nodes)
    # The nodes after each, one list behind another.
    starts = np.zeros(base + count + 1, np.int32)
    for node in above:
        starts[node + 1] += 1
    for node in range(base + count):
        starts[node + 1] += starts[node]
    after, filled = np.empty(count, np.int32), starts[:-1].copy()
    for k in range(count):
        after[filled[above[k]]] = k
        filled[above[k]] += 1
    row_of, before_of = np.arange(base + count).astype(np.int32), np.zeros(base + count, np.int32)
    # The free rows are a list that is linked in both directions.
    following, previous = np.arange(1, size + 1).astype(np.int32), np.arange(-1, size - 1).astype(np.int32)
    is_free = np.ones(size, np.bool_)
    is_free[:base] = False
    begin = top = np.int64(base)
    for many in (True, False):
        for child in range(count):
            node = above[child]
            first, end = np.int64(starts[node]), np.int64(starts[node + 1])
            # A node takes its turn at the first of those after it.
            if after[first] != child or (end - first > _MANY) != many:
                continue
            # One that is alone fits anywhere.
            row = top if end - first == 1 else begin
            before, tries, fits = np.int64(0), 0, False
            while row < size:
                before, fits = row ^ symbols[child], True
                for k in range(first, end):
                    if not is_free[before ^ symbols[after[k]]]:
                        fits = False
                        break
                if fits:
                    break
                row = np.int64(following[row])
                tries += 1
                if tries == _TRIES:
                    begin, tries = row, 0
            if not fits:
                return False
            before_of[node] = before
            for k in range(first, end):
                row = before ^ symbols[after[k]]
                row_of[base + after[k]], is_free[row] = row, False
                behind, ahead = np.int64(following[row]), np.int64(previous[row])
                begin = behind if row == begin else begin
                top = behind if row == top else top
                if behind < size:
                    previous[behind] = ahead
                if ahead >= base:
                    following[ahead] = behind
    for symbol in range(base):
        nodes[symbol] = (ROW << ABOVE_AT) | (np.int64(before_of[symbol]) << BEFORE_AT)
        ends[TOKEN, symbol] = symbol
    for k in range(count):
        row, node = row_of[base + k], np.int64(row_of[above[k]])
        nodes[row] = (node << ABOVE_AT) | (np.int64(before_of[base + k]) << BEFORE_AT)
        ends[TOKEN, row], ends[LEAST, row] = listed[LISTED_TOKEN, k], listed[LISTED_LEAST, k]
    for k in range(count):
        nodes[row_of[above[k]]] |= 1 << (symbols[k] & _KIND)
    return True


@njit(nogil=True, cache=True, inline="always")
def _longest(nodes: int, tokens: int, leasts: int, symbols: int, at: int, n: int, bound: int) -> tuple[int, int]:
    """The longest token below `bound` that begins at a place, and its end; `leasts` is 0 if all tokens are below."""
    node = token = int32_at(symbols, at)
    row = int64_at(nodes, node)
    at += 1
    end = at
    while at < n:
        symbol = int32_at(symbols, at)
        if (row >> (symbol & _KIND)) & 1 == 0:
            break
        place = ((row >> BEFORE_AT) & ROW) ^ symbol
        row, here = int64_at(nodes, place), int32_at(tokens, place)
        if (row >> ABOVE_AT) & ROW != node or (leasts != 0 and int32_at(leasts, place) >= bound):
            break
        node = place
        at += 1
        token = here if here < bound else token
        end = at if here < bound else end
    return token, end


@njit(nogil=True, cache=True)
def encode_by_longest(
    pairs: Int64,
    bits: Bytes,
    base: int,
    limit: int,
    parts: Int32,
    lengths: Int32,
    shorter: Int32,
    nodes: Int64,
    ends: Int32,
    symbols: Int32,
    tokens: NDArray[np.uint32],
    dead: Bytes,
    state: Int64,
    budget: int,
) -> bool:
    """Encodes one sequence with the merges below rank `limit`, for `budget` tokens per call.

    Args:
        pairs: The hash table of merges, by numbers; see `encode`.
        bits: Those of the pairs; see `encode.fill_pairs`.
        base: The number of base tokens.
        limit: The number of merges to apply.
        parts: int32 [numbers, 2]; see the module.
        lengths: int32 [numbers], base tokens.
        shorter: int32 [numbers]; see `list_nodes`.
        nodes: int64 [rows]; see the module.
        ends: int32 [2, rows]; see the module.
        symbols: int32 [n], numbers of base tokens, n > 0.
        tokens: uint32 [n], written: numbers.
        dead: uint8 [n // 8 + 1], zeros at first: a bit for each place where no token may follow.
        state: int64 [STATE_SIZE], zeros at first.
        budget: Tokens.

    Returns:
        Whether the sequence is encoded.
    """
    slots, mask = slots_of(pairs)
    bits_at, bit_mask, parts_at = address_of(bits), 8 * bits.size - 1, address_of(parts)
    nodes_at, tokens_at, text, n, bound = (
        address_of(nodes),
        address_of(ends),
        address_of(symbols),
        len(symbols),
        base + limit,
    )
    leasts_at = tokens_at + 4 * LEAST * nodes.size if bound < len(parts) else 0
    lengths_at, shorter_at, dead_at = address_of(lengths), address_of(shorter), address_of(dead)

    at, written, careful = state[PLACE], state[WRITTEN], state[CAREFUL]
    last = np.int64(tokens[written - 1]) if written > 0 else np.int64(_NONE)
    token, end = _longest(nodes_at, tokens_at, leasts_at, text, at, n, bound)
    ahead, ahead_end = token, end
    fits = written == 0  # whether it is known that the token may follow the last
    while budget > 0 and at < n:
        budget -= 1
        looks = 0
        while token != _NONE:
            is_dead = (byte_at(dead_at, end >> 3) >> (end & 7)) & 1 != 0
            if not is_dead and (fits or _may_meet(slots, mask, bits_at, bit_mask, parts_at, base, last, token, limit)):
                if at < careful or end == n:
                    break
                ahead, ahead_end = _longest(nodes_at, tokens_at, leasts_at, text, end, n, bound)
                if _may_meet(slots, mask, bits_at, bit_mask, parts_at, base, token, ahead, limit):
                    break
                looks += 1
                if looks == _LOOKS:
                    careful = at + 1
                    break
            fits = written == 0
            token = int32_at(shorter_at, token)
            while token >= bound:
                token = int32_at(shorter_at, token)
            end = at + int32_at(lengths_at, max(token, 0))
        if token != _NONE:
            tokens[written] = last = token
            written += 1
            fits, at = at >= careful, end
            token, end = ahead, ahead_end
            if fits or at == n:
                continue
        elif at >= careful:
            careful = at + 1
        else:
            set_bit(dead, at)
            written -= 1
            at -= int32_at(lengths_at, last)
            last = np.int64(tokens[written - 1]) if written > 0 else np.int64(_NONE)
        fits = written == 0
        token, end = _longest(nodes_at, tokens_at, leasts_at, text, at, n, bound)
    state[PLACE], state[WRITTEN], state[CAREFUL] = at, written, careful
    return at == n
