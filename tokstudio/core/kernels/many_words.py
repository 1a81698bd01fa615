"""Encoding many words: the merges of several short ones are looked up at once, where one would wait for the memory.

Where the processor has fast lanes, sixteen words are merged at once, one in each lane, in the time of some seven one by
one. Elsewhere eight have a merge each in turn, and what it looks up is prefetched until the next turn.

For lanes, numbers of the words are in rows of `LANES`: number k of a row is that of lane k. As in `short_words`, the
token, the order and the result of the merge that begin at each place are kept, place 0 in row 1. The rows of tokens
before and after all places have a token that no pair has, so that the ends need no branches. One number a word has a
bit for each place where a token begins: the next and the one before are found in it.
"""

# SPDX-License-Identifier: MIT
# numpy's stubs cannot tell an element from an array where the index came out of an array itself.
# pyright: reportArgumentType=false, reportReturnType=false, reportAssignmentType=false
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.kernels.compiled import njit
from tokstudio.core.kernels.encode import MIX, find, prefetch_likely
from tokstudio.core.kernels.intrinsics import (
    address_of,
    inner,
    int32_at,
    int64_at,
    lowest_bit,
    set_eight,
    set_int32,
    uint32_at,
)
from tokstudio.core.kernels.lanes import (
    LANES,
    below,
    chosen,
    each,
    each_wide,
    gather,
    gather_bytes,
    gather_wide,
    has_fast_lanes,
    is_any,
    lane_numbers,
    lanes_at,
    least,
    lowest_bits,
    narrow,
    scatter,
    set_lanes,
    wide,
    wide_lanes_at,
    zeros_above,
)
from tokstudio.core.kernels.short_words import (
    DONE,
    EDGE,
    MOST_RANKS,
    NEED_ROOM,
    PLACE,
    PLACE_BITS,
    SCRATCH,
    SHORT,
    WordMerges,
    encode_short,
    enter_bytes,
    join,
    lowest_order,
    merging_of,
    set_pair,
    tokens_around,
    write_tokens,
)
from tokstudio.core.kernels.tables import Int32, Int64

if TYPE_CHECKING:
    from tokstudio.core.kernels.lanes import Lanes, Mask

Bytes = NDArray[np.uint8]

#: The most words of a call of `encode_many`: sorted by their lengths, few lanes wait for longer words.
MANY = 128
# The most base tokens of a word in a lane, which are the bits of a number there; and the fewest words for lanes.
_MOST, _FEWEST = 32, 8
# The highest order, of places where no pair begins; and the bits of a number that are all set.
_NO_ORDER, _ALL_BITS = -1, -1
# The highest rank, of pairs that no merge joins: in front of a place no more fit.
_NO_RANK = MOST_RANKS

# The bytes of a row, and where rows and numbers are in the scratch: the tokens of each sixteen words, as these are
# written when all are merged; orders and results of one sixteen, and its starts and sizes; a bit for each place where a
# token begins; the words by size, where each is among them, and the end of each size.
_ROW = 4 * LANES
_TOKENS_AT = 4 * SCRATCH
_TOKENS_SIZE = _ROW * (_MOST + 2)
_ORDERS_AT = _TOKENS_AT + MANY // LANES * _TOKENS_SIZE
_RESULTS_AT = _ORDERS_AT + _ROW * (_MOST + 1)
_STARTS_AT = _RESULTS_AT + _ROW * (_MOST + 1)
_SIZES_AT = _STARTS_AT + 2 * _ROW
_BEGINS_AT = _SIZES_AT + _ROW
_SORTED_AT = _BEGINS_AT + 4 * MANY
_PLACES_AT = _SORTED_AT + 4 * MANY
_COUNTS_AT = _PLACES_AT + 4 * MANY

# For turns: the scratch of each of so many words, as in `short_words`, and the numbers that are kept of it, int64:
# which word it is, its bytes (0 for none), the place of its last merge and the one before it, and whether a merge may
# join the pairs that begin there.
_TURNS = 8
_TURNS_AT, _BYTES_OF_TURN = 4 * SCRATCH, 4 * SCRATCH
_WORD, _BYTES, _PLACE, _BEFORE, _LIKELY, _LIKELY_BEFORE, _STATE_SIZE = range(7)
_STATES_AT, _BYTES_OF_STATE = _TURNS_AT + _TURNS * _BYTES_OF_TURN, 8 * _STATE_SIZE

#: The elements of the scratch of `encode_many`, int32.
MANY_SCRATCH = max((_COUNTS_AT >> 2) + _MOST + 2, _STATES_AT + _TURNS * _BYTES_OF_STATE >> 2)


@njit(nogil=True, cache=True, inline="always")
def encodes_many(of: WordMerges, unit_ids: Int32) -> bool:
    """Whether `encode_many` can be used, which is faster: each byte has an id, as it cannot tell of one without."""
    lowest = np.int64(0)
    for token in unit_ids[:256]:
        lowest |= token
    return of.byte_pairs != 0 and of.limit <= MOST_RANKS and lowest >= 0


@njit(nogil=True, cache=True, inline="always")
def _are_likely(of: WordMerges, hashes: Lanes, mask: Mask) -> Mask:
    """The lanes whose pair a merge may join; see `encode.find_likely`. A table without merges has too few bits."""
    place = hashes & of.bit_mask
    return mask & (gather(of.bits, place >> 5, mask) >> (place & 31) & 1 == each(1))


@njit(nogil=True, cache=True, inline="always")
def _look_up(of: WordMerges, slot: Lanes, pair: Lanes, value: Lanes, searched: Mask) -> tuple[Lanes, Mask]:
    """Looks at one slot in each lane; the values of pairs that are there, and the lanes to search on."""
    held = gather_wide(of.slots, slot + slot, searched)
    found = searched & (held == pair)
    value = chosen(found, gather_wide(of.slots, slot + slot + 1, found), value)
    return value, searched & ~(found | (held == each_wide(-1)))


@njit(nogil=True, cache=True, inline="always")
def _find_two(of: WordMerges, left: Lanes, token: Lanes, right: Lanes, mask: Mask) -> tuple[Lanes, Lanes]:
    """What `encode.find` gives for the pair of the token with the one on its right, and with the one on its left.

    The two do not wait for each other's memory. A pair with `EDGE` has another key here; neither is in a table.
    """
    pair, other = wide(token) << 32 | wide(right) & 0xFFFFFFFF, wide(left) << 32 | wide(token) & 0xFFFFFFFF
    slot, other_slot = narrow(pair * MIX >> 32), narrow(other * MIX >> 32)
    searched, other_searched = _are_likely(of, slot, mask), _are_likely(of, other_slot, mask)
    value = other_value = each_wide(-1)
    while is_any(searched | other_searched):
        slot, other_slot = slot & of.mask, other_slot & of.mask
        value, searched = _look_up(of, slot, pair, value, searched)
        other_value, other_searched = _look_up(of, other_slot, other, other_value, other_searched)
        slot, other_slot = slot + 1, other_slot + 1
    return value, other_value


@njit(nogil=True, cache=True, inline="always")
def _orders(values: Lanes, places: Lanes) -> Lanes:
    """The orders of pairs that begin at some places, by their values as of `find`."""
    return least(narrow(values >> 32), each(_NO_RANK)) << 8 | places


@njit(nogil=True, cache=True, inline="always")
def _enter(of: WordMerges, tokens: int, longest: int) -> None:
    """Writes the base tokens of the words in the lanes, and their pairs."""
    orders, results = of.scratch + _ORDERS_AT, of.scratch + _RESULTS_AT
    starts, sizes = wide_lanes_at(of.scratch + _STARTS_AT), lanes_at(of.scratch + _SIZES_AT)
    set_lanes(tokens, each(EDGE))
    set_lanes(tokens + _ROW * (_MOST + 1), each(EDGE))
    mask = below(each(0), sizes)
    byte = gather_bytes(starts, mask)
    for place in range(longest):
        row = _ROW * (place + 1)
        set_lanes(tokens + row, gather(of.unit_ids, byte, mask))
        mask = below(each(place + 1), sizes)
        following = gather_bytes(starts + (place + 1), mask)
        values = gather_wide(of.byte_pairs, byte << 8 | following, mask)
        set_lanes(orders + row, chosen(mask, _orders(values, each(place)), each(_NO_ORDER)))
        set_lanes(results + row, narrow(values))
        byte = following


@inner
def _merge_lanes(of: WordMerges, tokens: int, begins: int, longest: int) -> None:
    """Merges sixteen words at once, where lanes are fast; does nothing elsewhere.

    What begins before the first token of a word is written to row 0 of orders and results, which nothing reads.

    Args:
        of: The merges. Its scratch has the address and the size of each word; 0 bytes for a lane without one.
        tokens: The address of int32 [_MOST + 2, LANES], written: the rows of the places where a token begins.
        begins: That of uint32 [LANES], written: a bit for each place where a token begins.
        longest: The most bytes of a word, at most `_MOST`.
    """
    if not has_fast_lanes():
        return
    _enter(of, tokens, longest)
    orders, results = of.scratch + _ORDERS_AT, of.scratch + _RESULTS_AT
    sizes, lane = lanes_at(of.scratch + _SIZES_AT), lane_numbers()
    # A shift by all bits of a number is not defined.
    begin = chosen(below(sizes, each(_MOST)), (each(1) << (sizes & (_MOST - 1))) - 1, each(_ALL_BITS))
    while True:
        best = lanes_at(orders + _ROW)
        for row in range(2, longest):
            best = least(best, lanes_at(orders + _ROW * row))
        mask = below(best >> 8, each(of.limit))
        if not is_any(mask):
            break
        place = best & (_MOST - 1)
        bit = each(1) << place
        behind = begin & ~(bit | bit - 1)
        further = behind & behind - 1  # without the token that is joined
        gone, after, before = lowest_bits(behind), lowest_bits(further), each(31) - zeros_above(begin & bit - 1)
        begin = chosen(mask, begin & ~(behind ^ further), begin)
        at, at_before = (place + 1) * LANES | lane, (before + 1) * LANES | lane
        token = gather(results, at, mask)
        left, right = gather(tokens, at_before, mask), gather(tokens, (after + 1) * LANES | lane, mask)
        scatter(tokens, at, token, mask)
        scatter(orders, (gone + 1) * LANES | lane, each(_NO_ORDER), mask)
        value, other = _find_two(of, left, token, right, mask)
        scatter(orders, at, _orders(value, place), mask)
        scatter(results, at, narrow(value), mask)
        scatter(orders, at_before, _orders(other, before), mask)
        scatter(results, at_before, narrow(other), mask)
    set_lanes(begins, begin)


@inner
def _sort(of: WordMerges, offsets: int, first: int, last: int) -> int:
    """Sorts words by their sizes, longer than `_MOST` last; returns how many are not longer.

    Writes which word is at each place, and the place of each word, both from 0 on.
    """
    by_size, places, ends = of.scratch + _SORTED_AT, of.scratch + _PLACES_AT, of.scratch + _COUNTS_AT
    for size in range(_MOST + 2):
        set_int32(ends, size, 0)
    for word in range(first, last):
        size = min(int64_at(offsets, word + 1) - int64_at(offsets, word), _MOST + 1)
        set_int32(ends, size, int32_at(ends, size) + 1)
    start = total = np.int64(0)
    for size in range(_MOST + 2):
        start, total = total, total + int32_at(ends, size)
        set_int32(ends, size, start)
    for word in range(first, last):
        size = min(int64_at(offsets, word + 1) - int64_at(offsets, word), _MOST + 1)
        place = int32_at(ends, size)
        set_int32(ends, size, place + 1)
        set_int32(by_size, place, word - first)
        set_int32(places, word - first, place)
    # The last size stands for all that are longer.
    return start


@njit(nogil=True, cache=True, inline="always")
def _in_turn(of: WordMerges, turn: int) -> WordMerges:
    """The merges, with the scratch of one of the words that are merged in turns."""
    scratch = of.scratch + _TURNS_AT + _BYTES_OF_TURN * turn
    return WordMerges(
        of.unit_ids, of.byte_pairs, of.unknown, of.slots, of.mask, of.bits, of.bit_mask, of.limit, scratch
    )


@njit(nogil=True, cache=True, inline="always")
def _join_in_turn(of: WordMerges, state: int, place: int) -> None:
    """Joins two tokens of a word, prefetches what the pairs of the new one are looked up in, and keeps its place."""
    before = join(of, place)
    left, token, right = tokens_around(of, place, before)
    set_eight(state, _PLACE, np.uint64(place))
    set_eight(state, _BEFORE, np.uint64(before))
    is_likely = prefetch_likely(of.slots, of.mask, of.bits, of.bit_mask, token, right)
    set_eight(state, _LIKELY, np.uint64(is_likely))
    is_likely = prefetch_likely(of.slots, of.mask, of.bits, of.bit_mask, left, token)
    set_eight(state, _LIKELY_BEFORE, np.uint64(is_likely))


@njit(nogil=True, cache=True, inline="always")
def _look_up_in_turn(of: WordMerges, state: int) -> None:
    """Looks up the pairs of the token that was made last."""
    place, before = int64_at(state, _PLACE), int64_at(state, _BEFORE)
    left, token, right = tokens_around(of, place, before)
    value = other = np.int64(-1)
    if int64_at(state, _LIKELY) != 0:
        value = find(of.slots, of.mask, token, right, of.limit)
    if int64_at(state, _LIKELY_BEFORE) != 0:
        other = find(of.slots, of.mask, left, token, of.limit)
    set_pair(of, place, value)
    set_pair(of, before, other)


@inner
def encode_in_turns(of: WordMerges, words: int, offsets: int, first: int, last: int, ids: int, id_offsets: int) -> None:
    """Does the same as `encode_many`: several words have a merge each in turn."""
    states, word = of.scratch + _STATES_AT, first
    for turn in range(_TURNS):
        set_eight(states + _BYTES_OF_STATE * turn, _BYTES, np.uint64(0))
    # Until all are encoded, the tokens of each are where they are if all have one a byte, and its end is their number.
    start = int64_at(id_offsets, first) - int64_at(offsets, first)
    is_any_left = True
    while is_any_left:
        is_any_left = False
        for turn in range(_TURNS):
            here, state = _in_turn(of, turn), states + _BYTES_OF_STATE * turn
            size, best = int64_at(state, _BYTES), np.int64(_NO_RANK) << PLACE_BITS
            if size > 0:
                best = lowest_order(here, size)
            while best >> PLACE_BITS >= of.limit and (size > 0 or word < last):
                if size > 0:
                    done = int64_at(state, _WORD)
                    amount = write_tokens(here, size, ids + 4 * (start + int64_at(offsets, done)))
                    set_eight(id_offsets, done + 1, np.uint64(amount))
                    size = np.int64(0)
                if word < last:
                    begin = int64_at(offsets, word)
                    size = int64_at(offsets, word + 1) - begin
                    enter_bytes(here, words + begin, size)
                    best = lowest_order(here, size)
                    set_eight(state, _WORD, np.uint64(word))
                    word += 1
            set_eight(state, _BYTES, np.uint64(size))
            if size > 0:
                is_any_left = True
                _join_in_turn(here, state, best & PLACE)
        for turn in range(_TURNS):
            state = states + _BYTES_OF_STATE * turn
            if int64_at(state, _BYTES) > 0:
                _look_up_in_turn(_in_turn(of, turn), state)
    to = int64_at(id_offsets, first)
    for word in range(first, last):
        at, amount = start + int64_at(offsets, word), int64_at(id_offsets, word + 1)
        for k in range(amount):
            set_int32(ids, to + k, int32_at(ids, at + k))
        to += amount
        set_eight(id_offsets, word + 1, np.uint64(to))


@inner
def encode_many(of: WordMerges, words: int, offsets: int, first: int, last: int, ids: int, id_offsets: int) -> None:
    """Encodes words of bytes that have an id each: in lanes where these are fast, else in turns.

    Args:
        of: The merges, with a scratch of `MANY_SCRATCH` elements; at most `MOST_RANKS` are applied.
        words: The address of the words, uint8; three bytes after the last can be read.
        offsets: That of the start of each word, int64, and the end of the last.
        first: The first word to encode.
        last: The end of these words, which are at most `MANY`, of `SHORT` bytes at most.
        ids: The address of the tokens, uint32, written; they have room for one a byte.
        id_offsets: That of the start of the tokens of each word, int64, and of their end: written after the first.
    """
    if not has_fast_lanes():
        encode_in_turns(of, words, offsets, first, last, ids, id_offsets)
        return
    # The words to merge in lanes.
    short = _sort(of, offsets, first, last) if last - first >= _FEWEST else np.int64(0)
    for begin in range(0, short, LANES):
        size = np.int64(0)
        for lane in range(LANES):
            start = np.int64(0)
            if begin + lane < short:
                word = first + int32_at(of.scratch + _SORTED_AT, begin + lane)
                start = int64_at(offsets, word)
                size = int64_at(offsets, word + 1) - start
            set_eight(of.scratch + _STARTS_AT, lane, np.uint64(words + start))
            set_int32(of.scratch + _SIZES_AT, lane, size if begin + lane < short else 0)
        tokens = of.scratch + _TOKENS_AT + begin // LANES * _TOKENS_SIZE
        # The last is the longest of them.
        _merge_lanes(of, tokens, of.scratch + _BEGINS_AT + 4 * begin, size)
    total = int64_at(id_offsets, first)
    for word in range(first, last):
        place = int32_at(of.scratch + _PLACES_AT, word - first) if short > 0 else short
        if place < short:
            tokens = of.scratch + _TOKENS_AT + place // LANES * _TOKENS_SIZE + 4 * (place % LANES)
            left = np.uint64(uint32_at(of.scratch + _BEGINS_AT, place))
            while left != 0:
                set_int32(ids, total, int32_at(tokens, (lowest_bit(left) + 1) * LANES))
                total += 1
                left &= left - np.uint64(1)
        else:
            start = int64_at(offsets, word)
            total += encode_short(words + start, of, int64_at(offsets, word + 1) - start, ids + 4 * total)
        set_eight(id_offsets, word + 1, np.uint64(total))


@njit(nogil=True, cache=True)
def encode_words(
    words: Bytes,
    offsets: Int64,
    first: int,
    unit_ids: Int32,
    unknown: int,
    byte_pairs: Int64,
    pairs: Int64,
    bits: Bytes,
    limit: int,
    ids: NDArray[np.uint32],
    id_offsets: Int64,
) -> tuple[int, int]:
    """Encodes the words from number `first` on.

    Args:
        words: uint8, the words one after another, and three bytes after the last; valid UTF-8 for characters.
        offsets: int64 [n + 1], the start of each, and the end of the last; no word is empty.
        first: The first word to encode.
        unit_ids: int32 [256] for bytes or [0x110000] for characters: their ids, -1 for none.
        unknown: The id for a character that has none; -1 to return at it. Bytes without an id end the loop.
        byte_pairs: That of `fill_byte_pairs`; int64 [0] for characters.
        pairs: The hash table of merges; see `kernels.encode`.
        bits: Those of `fill_pairs`.
        limit: The number of merges to apply.
        ids: uint32, written: the tokens of all words.
        id_offsets: int64 [n + 1], written: the start of the tokens of each word, and the end of the last.

    Returns:
        The reason to return, and the word.
    """
    scratch = np.empty(MANY_SCRATCH, np.int32)
    of = merging_of(unit_ids, unknown, byte_pairs, pairs, bits, limit, scratch)
    words_at, ids_at = address_of(words), address_of(ids)
    at_once = MANY if encodes_many(of, unit_ids) else 1
    word = first
    while word < offsets.size - 1:
        last, start = word, offsets[word] - id_offsets[word]
        while (
            last < min(word + at_once, offsets.size - 1)
            and offsets[last + 1] - offsets[last] <= SHORT
            and offsets[last + 1] - start <= ids.size
        ):
            last += 1
        if last > word + 1:
            encode_many(of, words_at, address_of(offsets), word, last, ids_at, address_of(id_offsets))
            word = last
            continue
        at, to = offsets[word], id_offsets[word]
        size = offsets[word + 1] - at
        if to + size > ids.size:
            return NEED_ROOM, word
        amount = encode_short(words_at + at, of, size, ids_at + 4 * to)
        if amount < 0:
            return -amount, word
        id_offsets[word + 1] = to + amount
        word += 1
    # Numba frees an array after its last use, and takes its address for none of the uses.
    scratch[0] = 0
    return DONE, offsets.size - 1
