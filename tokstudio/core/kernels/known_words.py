"""A hash table of pre-tokens whose tokens are known, and the writing of tokens.

It uses open addressing. A slot is four numbers, uint64, half of a line of the processor's cache: two of a key; the
number of the word; its tokens, if these are packed into one number, else 0. The key of a word of up to 15 bytes is
these bytes and, in the highest byte, its length: so most words need this one line. That of a longer one is a hash, and
the highest byte 0xFF. A slot with 0 as the second number of its key is free. Words are read as those of `words` are.
"""

# SPDX-License-Identifier: MIT
# numpy's stubs cannot tell an element from an array where the index came out of an array itself.
# pyright: reportArgumentType=false, reportAssignmentType=false
from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.kernels.compiled import njit
from tokstudio.core.kernels.intrinsics import address_of, load_eight, prefetch
from tokstudio.core.kernels.short_words import DONE, NEED_ROOM, SCRATCH, encode_short, merging_of
from tokstudio.core.kernels.tables import Int32, Int64
from tokstudio.core.kernels.words import PADDING, is_at

Bytes = NDArray[np.uint8]
UInt64 = NDArray[np.uint64]

# The numbers of a slot.
HEAD, TAIL, NUMBER, PACKED, SLOT_SIZE = range(5)

# The most words for so many slots. Frequent words come first and have their first slot in a fuller table, too; of a
# smaller one more is in the processor's cache.
_WORDS, _SLOTS = 3, 5

# So many tokens are packed into one number.
FEW, _ID_BITS = 3, 20
_ID, _NUMBER_AT = (1 << _ID_BITS) - 1, FEW * _ID_BITS

_ID_MASK, _SECOND_AT, _THIRD_AT, _AMOUNT_AT = (
    np.uint64(number) for number in (_ID, _ID_BITS, 2 * _ID_BITS, _NUMBER_AT)
)

# Words whose slots are prefetched: a batch, or those that come next.
_BATCH, _AHEAD = 1 << 8, 1 << 4
_LAST_AHEAD = np.uint64(_AHEAD - 1)
_SHORT = 16  # the least bytes of a word that is not its own key
_LENGTH_AT = np.uint64(56)
_LONG = np.uint64(0xFF << 56)
_MULTIPLIER, _OTHER = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)
_HALF, _ONE = np.uint64(32), np.uint64(1)
# The bits of the first eight bytes and of the others that belong to a word, by its length.
_HEADS = np.array([(1 << 8 * min(8, length)) - 1 for length in range(_SHORT)], np.uint64)
_TAILS = np.array([(1 << 8 * max(0, length - 8)) - 1 for length in range(_SHORT)], np.uint64)


@njit(nogil=True, cache=True, inline="always")
def _key(data: Bytes, at: int, end: int) -> tuple[np.uint64, np.uint64]:
    """The key of the word from `at` to `end`."""
    length = end - at
    if length < _SHORT:
        # Eight bytes after the end of a word can be read, so a short one is read twice.
        tail = load_eight(data, at + 8 if length > 8 else at) & _TAILS[length]
        return load_eight(data, at) & _HEADS[length], tail | np.uint64(length) << _LENGTH_AT
    mixed = np.uint64(length) * _MULTIPLIER
    while end - at > 8:
        mixed = (mixed ^ load_eight(data, at)) * _MULTIPLIER
        mixed ^= mixed >> _HALF
        at += 8
    return (mixed ^ load_eight(data, at) & _HEADS[end - at]) * _MULTIPLIER, _LONG


@njit(nogil=True, cache=True, inline="always")
def _slot(head: np.uint64, tail: np.uint64, mask: np.uint64) -> np.uint64:
    """The first slot to try for a key in a table of `mask` + 1 slots."""
    mixed = (head ^ tail * _OTHER) * _MULTIPLIER
    return (mixed ^ mixed >> _HALF) & mask


@njit(nogil=True, cache=True)
def find_tokens(
    data: Bytes,
    start: int,
    ends: Int64,
    values: Int64,
    slots: UInt64,
    offsets: Int64,
    arena: Bytes,
    used: int,
    packed: UInt64,
    numbered: bool,
) -> tuple[int, int]:
    """Writes the value of each word of `data` to `values`, and adds new words.

    Args:
        data: uint8, the words one after another, from `start` on.
        start: The start of the first word.
        ends: int64 [n], the end of each word; no word is empty.
        values: int64 [n], written: the tokens of each word, packed; its number where they are not.
        slots: uint64 [a power of two, SLOT_SIZE], zeros at first.
        offsets: int64, the start of each word of the table in `arena`, and the end of the last.
        arena: uint8, the words of the table.
        used: The number of words in the table.
        packed: uint64 by number; see `pack`; 0 for words that have no tokens yet.
        numbered: Whether all values are numbers.

    Returns:
        How many words of `data` were looked up (fewer than n where the table is full), and how many are in the table.
    """
    mask = np.uint64(len(slots) - 1)
    heads, tails, places = np.empty(_BATCH, np.uint64), np.empty(_BATCH, np.uint64), np.empty(_BATCH, np.uint64)
    for first in range(0, ends.size, _BATCH):
        count, at = min(_BATCH, ends.size - first), start
        for k in range(count):
            end = ends[first + k]
            head, tail = _key(data, at, end)
            slot = _slot(head, tail, mask)
            heads[k], tails[k], places[k] = head, tail, slot
            prefetch(slots, np.int64(slot) * SLOT_SIZE)
            at = end
        for k in range(count):
            head, tail, slot, end = heads[k], tails[k], places[k], ends[first + k]
            if tail < _LONG:
                while slots[slot, TAIL] != 0 and (slots[slot, TAIL] != tail or slots[slot, HEAD] != head):
                    slot = (slot + _ONE) & mask
            else:
                while slots[slot, TAIL] != 0:
                    number = slots[slot, NUMBER]
                    if slots[slot, HEAD] == head and slots[slot, TAIL] == tail:
                        place, length = offsets[number], end - start
                        if offsets[number + _ONE] - place == length and is_at(data, start, length, arena, place):
                            break
                    slot = (slot + _ONE) & mask
            value = slots[slot, PACKED]
            if numbered or value == 0:
                if slots[slot, TAIL] == 0:
                    into, length = offsets[used], end - start
                    if (
                        _SLOTS * (used + 1) > _WORDS * len(slots)
                        or used + 2 > offsets.size
                        or into + length + PADDING > arena.size
                    ):
                        return first + k, used
                    for i in range(length):
                        arena[into + i] = data[start + i]
                    slots[slot, HEAD], slots[slot, TAIL], slots[slot, NUMBER] = head, tail, used
                    used += 1
                    offsets[used] = into + length
                value = slots[slot, NUMBER]
                few = packed[value]
                if not numbered and few != 0:
                    slots[slot, PACKED] = value = few
            values[first + k] = value
            start = end
    return ends.size, used


@njit(nogil=True, cache=True)
def spread_slots(slots: UInt64, larger: UInt64) -> None:
    """Enters the slots of a table into a larger, empty array of slots."""
    mask = np.uint64(len(larger) - 1)
    for held in range(len(slots)):
        if slots[held, TAIL] != 0:
            slot = _slot(slots[held, HEAD], slots[held, TAIL], mask)
            while larger[slot, TAIL] != 0:
                slot = (slot + _ONE) & mask
            for k in range(SLOT_SIZE):
                larger[slot, k] = slots[held, k]


@njit(nogil=True, cache=True, inline="always")
def _packed(ids: NDArray[np.uint32], start: int, end: int) -> np.uint64:
    """The tokens of a word as one number; see `pack`."""
    number = np.uint64(end - start) << np.uint64(_NUMBER_AT) if end - start <= FEW else np.uint64(0)
    for k in range(end - 1, start - 1, -1):
        if number == 0 or ids[k] >> _ID_BITS != 0:
            number = np.uint64(0)
            break
        number |= np.uint64(ids[k]) << np.uint64(_ID_BITS * (k - start))
    return number


@njit(nogil=True, cache=True)
def pack(ids: NDArray[np.uint32], id_offsets: Int64, first: int, last: int, packed: UInt64) -> None:
    """Writes the tokens of the words `first` to `last`, in `ids` from `id_offsets` on, to one number a word.

    That of up to `FEW` tokens below 2 ** `_ID_BITS` has them from the lowest bits on, and how many they are in the
    highest; that of others is 0.
    """
    for word in range(first, last):
        packed[word] = _packed(ids, id_offsets[word], id_offsets[word + 1])


@njit(nogil=True, cache=True)
def emit(
    values: Int64,
    packed: UInt64,
    ids: NDArray[np.uint32],
    id_offsets: Int64,
    out: NDArray[np.uint32],
    total: int,
) -> int:
    """Writes the tokens of words, given by value, to `out` from `total` on; -1 - id stands for that id itself.

    `packed` is written by `pack`; `out` has room for all tokens and `FEW` more. Returns the end of the tokens.
    """
    for value in values:
        few = value
        if value >> _NUMBER_AT <= 0:
            # A word that was new has had no tokens when it was looked up.
            few = np.int64(packed[value]) if value >= 0 else np.int64(0)
        if few != 0:
            # Always all of them, as a fixed number takes no branch: what is too much is overwritten.
            out[total] = few & _ID
            out[total + 1] = (few >> _ID_BITS) & _ID
            out[total + 2] = (few >> (2 * _ID_BITS)) & _ID
            total += few >> _NUMBER_AT
        elif value < 0:
            out[total] = -1 - value
            total += 1
        else:
            for k in range(id_offsets[value], id_offsets[value + 1]):
                out[total] = ids[k]
                total += 1
    return total


@njit(nogil=True, cache=True)
def write_words(
    data: Bytes,
    start: int,
    ends: Int64,
    slots: UInt64,
    offsets: Int64,
    arena: Bytes,
    used: int,
    packed: UInt64,
    adds: bool,
    unit_ids: Int32,
    unknown: int,
    byte_pairs: Int64,
    pairs: Int64,
    bits: Bytes,
    limit: int,
    ids: NDArray[np.uint32],
    id_offsets: Int64,
    out: NDArray[np.uint32],
    total: int,
) -> tuple[int, int, int, int]:
    """Writes the tokens of words in one pass; does what `find_tokens`, `encode_words` and `emit` do, but faster.

    All words of the table have tokens. With `adds`, new short words are encoded and added. The other arguments are
    those of the three loops.

    Returns:
        `NEED_ROOM` where the table is full, else `DONE`: at the end, or at a word that is not to be added here; how
        many words were written, how many are in the table, and the end of the tokens.
    """
    mask, n, at, ahead = np.uint64(len(slots) - 1), ends.size, start, 0
    heads, tails, places = np.empty(_AHEAD, np.uint64), np.empty(_AHEAD, np.uint64), np.empty(_AHEAD, np.uint64)
    scratch = np.empty(SCRATCH, np.int32)
    merging = merging_of(unit_ids, unknown, byte_pairs, pairs, bits, limit, scratch)
    data_at, ids_at = address_of(data), address_of(ids)
    # Of so many words ahead, the keys are known and the slots are prefetched.
    while ahead < min(n, _AHEAD):
        end = ends[ahead]
        head, tail = _key(data, at, end)
        slot = _slot(head, tail, mask)
        heads[ahead], tails[ahead], places[ahead] = head, tail, slot
        prefetch(slots, np.int64(slot) * SLOT_SIZE)
        at = end
        ahead += 1
    for k in range(n):
        place, end = np.uint64(k) & _LAST_AHEAD, ends[k]
        head, tail, slot = heads[place], tails[place], places[place]
        if ahead < n:
            next_end = ends[ahead]
            next_head, next_tail = _key(data, at, next_end)
            next_slot = _slot(next_head, next_tail, mask)
            heads[place], tails[place], places[place] = next_head, next_tail, next_slot
            prefetch(slots, np.int64(next_slot) * SLOT_SIZE)
            at = next_end
            ahead += 1
        if tail < _LONG:
            while (slots[slot, TAIL] != tail or slots[slot, HEAD] != head) and slots[slot, TAIL] != 0:
                slot = (slot + _ONE) & mask
        else:
            while slots[slot, TAIL] != 0:
                number = slots[slot, NUMBER]
                if slots[slot, HEAD] == head and slots[slot, TAIL] == tail:
                    first, length = offsets[number], end - start
                    if offsets[number + _ONE] - first == length and is_at(data, start, length, arena, first):
                        break
                slot = (slot + _ONE) & mask
        few = slots[slot, PACKED]
        if few == 0:
            if slots[slot, TAIL] == 0:
                into, length, to = offsets[used], end - start, id_offsets[used]
                if not adds:
                    return DONE, k, used, total
                if (
                    _SLOTS * (used + 1) > _WORDS * len(slots)
                    or used + 2 > min(offsets.size, id_offsets.size)
                    or into + length + PADDING > arena.size
                    or to + length > ids.size
                ):
                    return NEED_ROOM, k, used, total
                amount = encode_short(data_at + start, merging, length, ids_at + 4 * to)
                if amount < 0:
                    return DONE, k, used, total
                for i in range(length):
                    arena[into + i] = data[start + i]
                slots[slot, HEAD], slots[slot, TAIL], slots[slot, NUMBER] = head, tail, used
                packed[used] = _packed(ids, to, to + amount)
                used += 1
                offsets[used], id_offsets[used] = into + length, to + amount
            number = slots[slot, NUMBER]
            few = packed[number]
            slots[slot, PACKED] = few
            if few == 0:
                for i in range(id_offsets[number], id_offsets[number + _ONE]):
                    out[total] = ids[i]
                    total += 1
        if few != 0:
            # Always all of them; see `emit`.
            out[total] = few & _ID_MASK
            out[total + 1] = (few >> _SECOND_AT) & _ID_MASK
            out[total + 2] = (few >> _THIRD_AT) & _ID_MASK
            total += np.int64(few >> _AMOUNT_AT)
        start = end
    # Numba frees an array after its last use, and takes its address for none of the uses.
    scratch[0] = 0
    return DONE, n, used, total
