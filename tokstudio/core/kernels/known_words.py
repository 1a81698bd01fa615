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

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.kernels.compiled import njit
from tokstudio.core.kernels.intrinsics import (
    address_of,
    eight_at,
    eight_keys,
    inner,
    int32_at,
    int64_at,
    load_eight,
    lowest_bit,
    prefetch,
    prefetch_at,
    set_eight,
    set_int32,
    store_eight,
    uint32_at,
)
from tokstudio.core.kernels.many_words import MANY, MANY_SCRATCH, encode_many, encodes_many
from tokstudio.core.kernels.short_words import DONE, NEED_ROOM, SHORT, WordMerges, encode_short, merging_of
from tokstudio.core.kernels.tables import Int32, Int64
from tokstudio.core.kernels.words import PADDING, is_at

Bytes = NDArray[np.uint8]
UInt64 = NDArray[np.uint64]

# The numbers of a slot.
HEAD, TAIL, NUMBER, PACKED, SLOT_SIZE = range(5)
_BYTES_OF_SLOT = 8 * SLOT_SIZE

# The most words for so many slots. Frequent words come first and have their first slot in a fuller table, too; of a
# smaller one more is in the processor's cache.
_WORDS, _SLOTS = 3, 5

# So many tokens are packed into one number.
FEW, _ID_BITS = 3, 20
_ID, _NUMBER_AT = (1 << _ID_BITS) - 1, FEW * _ID_BITS

_ID_MASK, _SECOND_AT, _THIRD_AT, _AMOUNT_AT = (
    np.uint64(number) for number in (_ID, _ID_BITS, 2 * _ID_BITS, _NUMBER_AT)
)

# Words whose keys are found together, and how many words ahead a slot is prefetched.
_BATCH, _AHEAD = 1 << 10, 1 << 5
_TAILS_AT = _BATCH + _AHEAD
_SLOTS_AT = 2 * _TAILS_AT
_ALL_KEYS = 3 * _TAILS_AT
_SHORT = 16  # the least bytes of a word that is not its own key
_LENGTH_AT = np.uint64(56)
_LONG = np.uint64(0xFF << 56)
_MULTIPLIER, _OTHER = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)
_HALF, _ONE = np.uint64(32), np.uint64(1)
# The bits of the first eight bytes and of the others that belong to a word, by its length.
_HEADS = np.array([(1 << 8 * min(8, length)) - 1 for length in range(_SHORT)], np.uint64)
_TAILS = np.array([(1 << 8 * max(0, length - 8)) - 1 for length in range(_SHORT)], np.uint64)


@njit(nogil=True, cache=True, inline="always")
def _key(data: int, at: int, end: int) -> tuple[np.uint64, np.uint64]:
    """The key of the word from `at` to `end`; `data` is an address."""
    length = end - at
    if length < _SHORT:
        # Eight bytes after the end of a word can be read, so a short one is read twice.
        tail = eight_at(data, at + 8 if length > 8 else at) & _TAILS[length]
        return eight_at(data, at) & _HEADS[length], tail | np.uint64(length) << _LENGTH_AT
    mixed = np.uint64(length) * _MULTIPLIER
    while end - at > 8:
        mixed = (mixed ^ eight_at(data, at)) * _MULTIPLIER
        mixed ^= mixed >> _HALF
        at += 8
    return (mixed ^ eight_at(data, at) & _HEADS[end - at]) * _MULTIPLIER, _LONG


@njit(nogil=True, cache=True, inline="always")
def _slot(head: np.uint64, tail: np.uint64, mask: np.uint64) -> np.uint64:
    """The first slot to try for a key in a table of `mask` + 1 slots."""
    mixed = (head ^ tail * _OTHER) * _MULTIPLIER
    return (mixed ^ mixed >> _HALF) & mask


@inner
def _write_key(data: int, at: int, end: int, mask: np.uint64, keys: int, word: int) -> None:
    """Writes the key of one word, and its first slot; see `_find_keys`."""
    head, tail = _key(data, at, end)
    set_eight(keys, word, head)
    set_eight(keys, _TAILS_AT + word, tail)
    set_eight(keys, _SLOTS_AT + word, _slot(head, tail, mask))


@inner
def _find_keys(data: int, start: int, ends: int, count: int, mask: np.uint64, keys: int) -> None:
    """Writes the keys of words, and their first slots.

    Args:
        data: The address of the text.
        start: The start of the first word.
        ends: The address of the ends of the words.
        count: The number of words, at most `_BATCH`.
        mask: The slots of the table - 1.
        keys: The address of uint64 [_ALL_KEYS], written: the first numbers of the keys, from `_TAILS_AT` on the second
            ones, and from `_SLOTS_AT` on the slots.
    """
    done = 0
    while done + 8 <= count:
        left = eight_keys(data, start, ends + 8 * done, mask, (_MULTIPLIER, _OTHER), keys + 8 * done, 8 * _TAILS_AT)
        while left:
            word = done + lowest_bit(left)
            _write_key(data, int64_at(ends, word - 1) if word > 0 else start, int64_at(ends, word), mask, keys, word)
            left &= left - _ONE
        done += 8
        start = int64_at(ends, done - 1)
    for word in range(done, count):
        end = int64_at(ends, word)
        _write_key(data, start, end, mask, keys, word)
        start = end


@njit(nogil=True, cache=True, inline="always")
def _copy(data: Bytes, start: int, length: int, arena: Bytes, into: int) -> None:
    """Copies a word, and up to seven bytes after it: both arrays have `PADDING`."""
    for i in range(0, length, 8):
        store_eight(arena, into + i, load_eight(data, start + i))


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
    keys = np.zeros(_ALL_KEYS, np.uint64)
    for first in range(0, ends.size, _BATCH):
        count = min(_BATCH, ends.size - first)
        _find_keys(address_of(data), start, address_of(ends) + 8 * first, count, mask, address_of(keys))
        for k in range(count):
            prefetch(slots, np.int64(keys[_SLOTS_AT + k + _AHEAD]) * SLOT_SIZE)
            head, tail, slot, end = keys[k], keys[_TAILS_AT + k], keys[_SLOTS_AT + k], ends[first + k]
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
                    _copy(data, start, length, arena, into)
                    slots[slot, HEAD], slots[slot, TAIL], slots[slot, NUMBER] = head, tail, used
                    used += 1
                    offsets[used] = into + length
                value = slots[slot, NUMBER]
                few = packed[value]
                if not numbered and few != 0:
                    slots[slot, PACKED] = value = few
            values[first + k] = value
            start = end
    # Numba frees an array after its last use, and takes its address for none of the uses.
    keys[0] = 0
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
def _packed(ids: int, start: int, end: int) -> np.uint64:
    """The tokens of a word as one number; see `pack`. `ids` is an address."""
    number = np.uint64(end - start) << np.uint64(_NUMBER_AT) if end - start <= FEW else np.uint64(0)
    for k in range(end - 1, start - 1, -1):
        token = uint32_at(ids, k)
        if number == 0 or token >> _ID_BITS != 0:
            number = np.uint64(0)
            break
        number |= np.uint64(token) << np.uint64(_ID_BITS * (k - start))
    return number


@njit(nogil=True, cache=True)
def pack(ids: NDArray[np.uint32], id_offsets: Int64, first: int, last: int, packed: UInt64) -> None:
    """Writes the tokens of the words `first` to `last`, in `ids` from `id_offsets` on, to one number a word.

    That of up to `FEW` tokens below 2 ** `_ID_BITS` has them from the lowest bits on, and how many they are in the
    highest; that of others is 0.
    """
    for word in range(first, last):
        packed[word] = _packed(address_of(ids), id_offsets[word], id_offsets[word + 1])


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


class KnownTokens(NamedTuple):
    """The table of words, and what tokens are written with: addresses of arrays that the caller keeps, and a number."""

    keys: int
    slots: int
    mask: int
    words: int
    offsets: int
    packed: int
    ids: int
    id_offsets: int
    out: int
    waiting: int  # uint64 [_WAITING]


@inner
def _write_known(of: KnownTokens, k: int, count: int, total: int) -> tuple[int, int]:
    """Writes the tokens of words, by their keys, from word `k` on, up to one that is long, new or not yet packed.

    Returns the number of that word, or `count`, and the end of the tokens. It is a loop of its own, as it needs few of
    the registers of the processor: together with the rest it takes half as long again.
    """
    while k < count:
        prefetch_at(of.slots + _BYTES_OF_SLOT * int64_at(of.keys, _SLOTS_AT + k + _AHEAD))
        head, tail = eight_at(of.keys, 8 * k), eight_at(of.keys, 8 * (_TAILS_AT + k))
        slot = int64_at(of.keys, _SLOTS_AT + k)
        at = of.slots + _BYTES_OF_SLOT * slot
        while eight_at(at, 8 * HEAD) != head or eight_at(at, 8 * TAIL) != tail:
            if eight_at(at, 8 * TAIL) == 0:
                return k, total
            slot = (slot + 1) & of.mask
            at = of.slots + _BYTES_OF_SLOT * slot
        if tail >= _LONG:
            return k, total
        few = eight_at(at, 8 * PACKED)
        amount = np.int64(few >> _AMOUNT_AT)
        if amount != 0:
            # Always all of them; see `emit`.
            set_int32(of.out, total, np.int64(few & _ID_MASK))
            set_int32(of.out, total + 1, np.int64((few >> _SECOND_AT) & _ID_MASK))
            set_int32(of.out, total + 2, np.int64((few >> _THIRD_AT) & _ID_MASK))
        else:
            number = int64_at(at, NUMBER)
            first = int64_at(of.id_offsets, number)
            amount = int64_at(of.id_offsets, number + 1) - first
            if amount <= FEW:
                return k, total
            for i in range(amount):
                set_int32(of.out, total + i, int32_at(of.ids, first + i))
        total += amount
        k += 1
    return k, total


# New words wait until several are encoded at once. Until then a word has no tokens: its start in `id_offsets` is its
# end, too, so that `_write_known` stops there. Kept are the slot of each such word; and for each of its places in the
# text, where a gap in the tokens begins, which has room for one a byte, and the number of the word.
_MOST_GAPS = 2 * MANY
_WAITING = MANY + 2 * _MOST_GAPS


@inner
def _write_waiting(of: KnownTokens, merging: WordMerges, first: int, last: int, gaps: int, total: int) -> int:
    """Encodes the words that have waited, and closes the gaps.

    Args:
        of: The table.
        merging: The merges.
        first: The first word that has waited.
        last: The end of these words, and of the table.
        gaps: How many gaps there are, one at least for each of the words.
        total: The end of the tokens, with the gaps.

    Returns:
        Their end without the gaps.
    """
    if gaps == 0:
        return total
    encode_many(merging, of.words, of.offsets, first, last, of.ids, of.id_offsets)
    for number in range(first, last):
        few = _packed(of.ids, int64_at(of.id_offsets, number), int64_at(of.id_offsets, number + 1))
        set_eight(of.packed, number, few)
        set_eight(of.slots, SLOT_SIZE * int64_at(of.waiting, number - first) + PACKED, few)
    gap = of.waiting + 8 * MANY
    to = int64_at(gap, 0)
    for k in range(gaps):
        at, number = int64_at(gap, 2 * k), int64_at(gap, 2 * k + 1)
        for i in range(int64_at(of.id_offsets, number), int64_at(of.id_offsets, number + 1)):
            set_int32(of.out, to, int32_at(of.ids, i))
            to += 1
        behind = at + int64_at(of.offsets, number + 1) - int64_at(of.offsets, number)
        for i in range(behind, int64_at(gap, 2 * k + 2) if k + 1 < gaps else total):
            set_int32(of.out, to, int32_at(of.out, i))
            to += 1
    return to


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

    All words of the table have tokens. With `adds`, new short words are encoded and added, many at once. The other
    arguments are those of the three loops.

    Returns:
        `NEED_ROOM` where the table is full, else `DONE`: at the end, or at a word that is not to be added here; how
        many words were written, how many are in the table, and the end of the tokens.
    """
    mask, n = np.uint64(len(slots) - 1), ends.size
    keys, scratch = np.zeros(_ALL_KEYS + _WAITING, np.uint64), np.empty(MANY_SCRATCH, np.int32)
    merging = merging_of(unit_ids, unknown, byte_pairs, pairs, bits, limit, scratch)
    known = KnownTokens(
        address_of(keys),
        address_of(slots),
        np.int64(mask),
        address_of(arena),
        address_of(offsets),
        address_of(packed),
        address_of(ids),
        address_of(id_offsets),
        address_of(out),
        address_of(keys) + 8 * _ALL_KEYS,
    )
    data_at = address_of(data)
    can_wait, encoded, gaps = adds and encodes_many(merging, unit_ids), used, np.int64(0)
    for first in range(0, n, _BATCH):
        count, k = min(_BATCH, n - first), np.int64(0)
        _find_keys(data_at, start, address_of(ends) + 8 * first, count, mask, known.keys)
        while True:
            k, total = _write_known(known, k, count, total)
            if k == count:
                break
            head, tail, slot = keys[k], keys[_TAILS_AT + k], keys[_SLOTS_AT + k]
            begin, end = ends[first + k - 1] if k > 0 else start, ends[first + k]
            length = end - begin
            while slots[slot, TAIL] != 0:
                number = slots[slot, NUMBER]
                if slots[slot, HEAD] == head and slots[slot, TAIL] == tail:
                    if tail < _LONG:
                        break
                    place = offsets[number]
                    if offsets[number + _ONE] - place == length and is_at(data, begin, length, arena, place):
                        break
                slot = (slot + _ONE) & mask
            is_new, waits = slots[slot, TAIL] == 0, can_wait and length <= SHORT
            # A word that waits has one token a byte at most.
            into, most = offsets[used], id_offsets[encoded] + offsets[used] - offsets[encoded] + length
            is_full = is_new and (
                _SLOTS * (used + 1) > _WORDS * len(slots)
                or used + 2 > min(offsets.size, id_offsets.size)
                or into + length + PADDING > arena.size
                or most > ids.size
            )
            if gaps == _MOST_GAPS or (is_new and (is_full or not waits or used - encoded == MANY)):
                total = _write_waiting(known, merging, encoded, used, gaps, total)
                encoded, gaps = used, np.int64(0)
            if is_new:
                if not adds:
                    return DONE, first + k, used, total
                if is_full:
                    return NEED_ROOM, first + k, used, total
                to = id_offsets[used]
                if waits:
                    set_eight(known.waiting, used - encoded, slot)
                else:
                    amount = encode_short(data_at + begin, merging, length, known.ids + 4 * to)
                    if amount < 0:
                        return DONE, first + k, used, total
                    to += amount
                    packed[used] = _packed(known.ids, to - amount, to)
                _copy(data, begin, length, arena, into)
                slots[slot, HEAD], slots[slot, TAIL], slots[slot, NUMBER] = head, tail, used
                used += 1
                offsets[used], id_offsets[used] = into + length, to
                encoded += not waits
            number = slots[slot, NUMBER]
            if number >= encoded:
                set_eight(known.waiting, MANY + 2 * gaps, np.uint64(total))
                set_eight(known.waiting, MANY + 2 * gaps + 1, number)
                gaps += 1
                total += length
            else:
                slots[slot, PACKED] = packed[number]
                for i in range(id_offsets[number], id_offsets[number + _ONE]):
                    out[total] = ids[i]
                    total += 1
            k += 1
        start = ends[first + count - 1]
    total = _write_waiting(known, merging, encoded, used, gaps, total)
    # Numba frees an array after its last use, and takes its address for none of the uses.
    scratch[0] = 0
    keys[0] = 0
    return DONE, n, used, total
