"""What Numba lacks: bytes at memory addresses, eight bytes as one number, prefetching into the processor's cache.

Some loops take addresses instead of arrays: a compiled function counts references to each array argument, which costs
ten times as much as the work of a scanner.
"""

# SPDX-License-Identifier: MIT
# pyright: reportReturnType=false
# pyright: reportMissingTypeStubs=false, reportArgumentType=false, reportReturnType=false
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from tokstudio.core.kernels.compiled import njit
from tokstudio.core.kernels.tables import Int32, Int64
from tokstudio.core.text.unicode_classes import OTHER

if TYPE_CHECKING:
    # The types inside a compiled loop, which the signatures of the intrinsics do not give.
    def load_eight(array: NDArray[np.uint8], index: int) -> np.uint64:  # noqa: D103
        ...

    def store_eight(array: NDArray[np.uint8], index: int, number: np.uint64) -> None:  # noqa: D103
        ...

    def prefetch(array: NDArray[np.generic], index: int) -> None:  # noqa: D103
        ...

    def address_of(array: NDArray[np.generic]) -> int:  # noqa: D103
        ...

    def byte_at(address: int, index: int) -> int:  # noqa: D103
        ...

    def eight_at(address: int, index: int) -> np.uint64:  # noqa: D103
        ...

    def int32_at(address: int, index: int) -> int:  # noqa: D103
        ...

    def uint32_at(address: int, index: int) -> int:  # noqa: D103
        ...

    def set_int32(address: int, index: int, number: int) -> None:  # noqa: D103
        ...

    def set_eight(address: int, index: int, number: np.uint64) -> None:  # noqa: D103
        ...

    def int64_at(address: int, index: int) -> int:  # noqa: D103
        ...

    def bytes_between(address: int, index: int, bits: int, first: int, amount: int) -> np.uint64:  # noqa: D103
        ...

    def lowest_bit(number: np.uint64) -> int:  # noqa: D103
        ...

    def prefetch_at(address: int) -> None:  # noqa: D103
        ...

    def eight_keys(  # noqa: D103
        data: int, start: int, ends: int, mask: np.uint64, mixers: tuple[np.uint64, np.uint64], keys: int, row: int
    ) -> np.uint64: ...

    def highest_zeros(number: np.uint64) -> int:  # noqa: D103
        ...

    def bit_count(number: np.uint64) -> int:  # noqa: D103
        ...

else:

    def in_each(builder, one, lanes):  # noqa: ANN001, ANN201
        """A vector that has a value, or a pointer, in each of so many lanes."""
        first = builder.insert_element(ir.VectorType(one.type, lanes)(ir.Undefined), one, ir.IntType(32)(0))
        return builder.shuffle_vector(first, first, ir.VectorType(ir.IntType(32), lanes)([0] * lanes))

    @intrinsic
    def load_eight(context, array, index):  # noqa: ANN001, ANN201
        """The eight bytes from `array[index]` on as one number."""

        def generate(context, builder, signature, arguments):  # noqa: ANN001, ANN202
            array = context.make_array(signature.args[0])(context, builder, arguments[0])
            place = builder.gep(array.data, [arguments[1]])
            return builder.load(builder.bitcast(place, ir.IntType(64).as_pointer()), align=1)

        return types.uint64(array, types.intp), generate

    @intrinsic
    def store_eight(context, array, index, number):  # noqa: ANN001, ANN201
        """Writes a number as the eight bytes from `array[index]` on."""

        def generate(context, builder, signature, arguments):  # noqa: ANN001, ANN202
            array = context.make_array(signature.args[0])(context, builder, arguments[0])
            place = builder.gep(array.data, [arguments[1]])
            builder.store(arguments[2], builder.bitcast(place, ir.IntType(64).as_pointer()), align=1)
            return context.get_dummy_value()

        return types.void(array, types.intp, types.uint64), generate

    def _call_prefetch(builder, place, is_written):  # noqa: ANN001, ANN202
        number = ir.IntType(32)
        function = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, number, number, number])
        called = cgutils.get_or_insert_function(builder.module, function, "llvm.prefetch.p0")
        builder.call(called, [place, number(is_written), number(3), number(1)])

    @intrinsic
    def prefetch(context, array, index):  # noqa: ANN001, ANN201
        """Prefetches the cache line of `array[index]`; the index must be within the array."""

        def generate(context, builder, signature, arguments):  # noqa: ANN001, ANN202
            array = context.make_array(signature.args[0])(context, builder, arguments[0])
            place = builder.bitcast(builder.gep(array.data, [arguments[1]]), cgutils.voidptr_t)
            _call_prefetch(builder, place, is_written=1)
            return context.get_dummy_value()

        return types.void(array, types.intp), generate

    @intrinsic
    def prefetch_at(context, address):  # noqa: ANN001, ANN201
        """Prefetches the cache line of an address."""

        def generate(context, builder, signature, arguments):  # noqa: ANN001, ANN202
            _call_prefetch(builder, builder.inttoptr(arguments[0], cgutils.voidptr_t), is_written=0)
            return context.get_dummy_value()

        return types.void(types.int64), generate

    @intrinsic
    def eight_keys(context, data, start, ends, mask, mixers, keys, row):  # noqa: ANN001, ANN201, D417
        """The keys of eight words at once, and their first slots: does what `_key` and `_slot` of `known_words` do.

        Args:
            data: The address of the text; 16 bytes from the start of each word on can be read.
            start: The start of the first word; each other one begins at the end of the one before.
            ends: The address of the ends of the words, int64.
            mask: The slots of the table - 1.
            mixers: The factors of the hash.
            keys: The address where the first numbers of the keys are written, uint64.
            row: The bytes from there to the second numbers, and from these to the slots.

        Returns:
            A bit for each word of 16 bytes or more, whose key is not valid.
        """
        number, eight = ir.IntType(64), ir.VectorType(ir.IntType(64), 8)

        def generate(context, builder, signature, arguments):  # noqa: ANN001, ANN202
            data, start, ends, mask, mixers, keys, row = arguments
            multiplier, other = (in_each(builder, mixer, 8) for mixer in cgutils.unpack_tuple(builder, mixers))

            def of(constant):  # noqa: ANN001, ANN202
                return eight([number(constant)] * 8)

            def called(name, *values):  # noqa: ANN001, ANN002, ANN202
                function = ir.FunctionType(eight, [value.type for value in values])
                return builder.call(cgutils.get_or_insert_function(builder.module, function, name), values)

            def bytes_at(addresses):  # noqa: ANN001, ANN202
                places = builder.inttoptr(addresses, ir.VectorType(number.as_pointer(), 8))
                every = ir.VectorType(ir.IntType(1), 8)([1] * 8)
                return called("llvm.masked.gather.v8i64.v8p0", places, ir.IntType(32)(1), every, of(0))

            stops = builder.load(builder.inttoptr(ends, eight.as_pointer()), align=8)
            order = ir.VectorType(ir.IntType(32), 8)([8, *range(7)])
            starts = builder.shuffle_vector(stops, in_each(builder, start, 8), order)
            lengths, places = builder.sub(stops, starts), builder.add(starts, in_each(builder, data, 8))
            bits = builder.shl(lengths, of(3))
            # A shift by all bits of a number is not defined, so the bytes after the eighth are counted up to the 15th.
            in_head, after = called("llvm.umin.v8i64", bits, of(64)), called("llvm.usub.sat.v8i64", bits, of(64))
            in_tail = called("llvm.umin.v8i64", after, of(56))
            head = builder.and_(bytes_at(places), builder.lshr(of(-1), builder.sub(of(64), in_head)))
            # Eight bytes after the end of a word can be read, so a short one is read twice.
            behind = builder.select(builder.icmp_unsigned(">", lengths, of(8)), of(8), of(0))
            tail = builder.and_(bytes_at(builder.add(places, behind)), builder.sub(builder.shl(of(1), in_tail), of(1)))
            tail = builder.or_(tail, builder.shl(lengths, of(56)))
            mixed = builder.mul(builder.xor(head, builder.mul(tail, other)), multiplier)
            slots = builder.and_(builder.xor(mixed, builder.lshr(mixed, of(32))), in_each(builder, mask, 8))
            for values in (head, tail, slots):
                builder.store(values, builder.inttoptr(keys, eight.as_pointer()), align=8)
                keys = builder.add(keys, row)
            is_long = builder.icmp_unsigned(">", lengths, of(15))
            return builder.zext(builder.bitcast(is_long, ir.IntType(8)), number)

        pair = types.UniTuple(types.uint64, 2)
        return types.uint64(*(types.int64,) * 3, types.uint64, pair, types.int64, types.int64), generate

    @intrinsic
    def address_of(context, array):  # noqa: ANN001, ANN201
        """The address of the first element of an array; the caller must keep the array alive."""

        def generate(context, builder, signature, arguments):  # noqa: ANN001, ANN202
            array = context.make_array(signature.args[0])(context, builder, arguments[0])
            return builder.ptrtoint(array.data, ir.IntType(64))

        return types.int64(array), generate

    @intrinsic
    def byte_at(context, address, index):  # noqa: ANN001, ANN201
        """One byte of memory, from 0 to 255."""

        def generate(context, builder, signature, arguments):  # noqa: ANN001, ANN202
            place = builder.inttoptr(builder.add(*arguments), ir.IntType(8).as_pointer())
            return builder.zext(builder.load(place), ir.IntType(64))

        return types.int64(types.int64, types.int64), generate

    @intrinsic
    def eight_at(context, address, index):  # noqa: ANN001, ANN201
        """Eight bytes of memory as one number."""

        def generate(context, builder, signature, arguments):  # noqa: ANN001, ANN202
            place = builder.inttoptr(builder.add(*arguments), ir.IntType(64).as_pointer())
            return builder.load(place, align=1)

        return types.uint64(types.int64, types.int64), generate

    @intrinsic
    def int32_at(context, address, index):  # noqa: ANN001, ANN201
        """Element `index` of an int32 array at an address."""

        def generate(context, builder, signature, arguments):  # noqa: ANN001, ANN202
            start = builder.inttoptr(arguments[0], ir.IntType(32).as_pointer())
            return builder.sext(builder.load(builder.gep(start, [arguments[1]])), ir.IntType(64))

        return types.int64(types.int64, types.int64), generate

    @intrinsic
    def uint32_at(context, address, index):  # noqa: ANN001, ANN201
        """Element `index` of an uint32 array at an address."""

        def generate(context, builder, signature, arguments):  # noqa: ANN001, ANN202
            start = builder.inttoptr(arguments[0], ir.IntType(32).as_pointer())
            return builder.zext(builder.load(builder.gep(start, [arguments[1]])), ir.IntType(64))

        return types.int64(types.int64, types.int64), generate

    @intrinsic
    def set_int32(context, address, index, number):  # noqa: ANN001, ANN201
        """Writes the lowest 32 bits of a number to element `index` of an int32 or uint32 array at an address."""

        def generate(context, builder, signature, arguments):  # noqa: ANN001, ANN202
            start = builder.inttoptr(arguments[0], ir.IntType(32).as_pointer())
            builder.store(builder.trunc(arguments[2], ir.IntType(32)), builder.gep(start, [arguments[1]]))
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, types.int64), generate

    @intrinsic
    def set_eight(context, address, index, number):  # noqa: ANN001, ANN201
        """Writes a number to element `index` of an uint64 array at an address."""

        def generate(context, builder, signature, arguments):  # noqa: ANN001, ANN202
            start = builder.inttoptr(arguments[0], ir.IntType(64).as_pointer())
            builder.store(arguments[2], builder.gep(start, [arguments[1]]))
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, types.uint64), generate

    @intrinsic
    def int64_at(context, address, index):  # noqa: ANN001, ANN201
        """Element `index` of an int64 array at an address."""

        def generate(context, builder, signature, arguments):  # noqa: ANN001, ANN202
            start = builder.inttoptr(arguments[0], ir.IntType(64).as_pointer())
            return builder.load(builder.gep(start, [arguments[1]]))

        return types.int64(types.int64, types.int64), generate

    @intrinsic
    def bytes_between(context, address, index, bits, first, amount):  # noqa: ANN001, ANN201
        """A bit for each of the next 64 bytes that is in [first, first + amount), after setting `bits` in it."""

        def generate(context, builder, signature, arguments):  # noqa: ANN001, ANN202
            address, index, *limits = arguments
            byte, several = ir.IntType(8), ir.VectorType(ir.IntType(8), 64)
            load = builder.load(builder.inttoptr(builder.add(address, index), several.as_pointer()), align=1)
            bits, first, amount = (in_each(builder, builder.trunc(limit, byte), 64) for limit in limits)
            is_between = builder.icmp_unsigned("<", builder.sub(builder.or_(load, bits), first), amount)
            return builder.bitcast(is_between, ir.IntType(64))

        return types.uint64(*(types.int64,) * 5), generate

    @intrinsic
    def lowest_bit(context, number):  # noqa: ANN001, ANN201
        """The number of the lowest bit that is set; 64 for 0."""

        def generate(context, builder, signature, arguments):  # noqa: ANN001, ANN202
            return builder.cttz(arguments[0], ir.IntType(1)(0))

        return types.int64(types.uint64), generate

    @intrinsic
    def highest_zeros(context, number):  # noqa: ANN001, ANN201
        """How many bits above the highest that is set are not; 64 for 0."""

        def generate(context, builder, signature, arguments):  # noqa: ANN001, ANN202
            return builder.ctlz(arguments[0], ir.IntType(1)(0))

        return types.int64(types.uint64), generate

    @intrinsic
    def bit_count(context, number):  # noqa: ANN001, ANN201
        """How many bits are set."""

        def generate(context, builder, signature, arguments):  # noqa: ANN001, ANN202
            return builder.ctpop(arguments[0])

        return types.int64(types.uint64), generate


# --- How often the sequence of each position occurs, in four bytes a position -----------------------------------------
# A number below 0 stands for a weight that does not fit: -1 for the first of the array `heavy`, -2 for the second.

# numpy's stubs cannot tell an element from an array where the index came out of an array itself.


@njit(nogil=True, cache=True, inline="always")
def weight_at(weights: Int32, heavy: Int64, at: int) -> int:
    """The weight of a position."""
    weight = weights[at]
    return weight if weight >= 0 else heavy[-1 - weight]


@njit(nogil=True, cache=True)
def count_tokens(symbols: Int32, weights: Int32, heavy: Int64) -> int:
    """The number of tokens of a corpus in which each token has one position, weighted."""
    total = 0
    for at in range(symbols.size):
        if symbols[at] >= 0:
            total += weight_at(weights, heavy, at) if weights.size > 0 else 1
    return total


# --- The class and the length of one character of UTF-8, and the decorator of loops that only other loops call --------

# numpy's stubs do not accept its numbers as Python's.


_OTHER, _ONE_BYTE = np.int64(OTHER), np.int64(1 << 8)

if TYPE_CHECKING:
    inner = njit(nogil=True, cache=True)
else:
    # Loops that only other loops call need no wrappers for Python, which would take as long to compile.
    inner = njit(nogil=True, cache=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)


@inner
def wide(data: int, at: int, stop: int, classes: int) -> int:
    """The non-ASCII character at `at`: its class, and its length from bit 8 on; one byte where it is invalid."""
    lead, left = byte_at(data, at), stop - at
    if 0xC2 <= lead < 0xE0:
        if left >= 2:
            second = byte_at(data, at + 1)
            if second & 0xC0 == 0x80:
                return byte_at(classes, (lead & 0x1F) << 6 | (second & 0x3F)) | 2 << 8
    elif 0xE0 <= lead < 0xF0:
        if left >= 3:
            second, third = byte_at(data, at + 1), byte_at(data, at + 2)
            code = (lead & 0x0F) << 12 | (second & 0x3F) << 6 | (third & 0x3F)
            if (second & third) & 0x80 and not (second | third) & 0x40 and code >= 0x800 and code >> 11 != 0x1B:
                return byte_at(classes, code) | 3 << 8
    elif 0xF0 <= lead < 0xF5 and left >= 4:
        second, third, fourth = byte_at(data, at + 1), byte_at(data, at + 2), byte_at(data, at + 3)
        code = (lead & 0x07) << 18 | (second & 0x3F) << 12 | (third & 0x3F) << 6 | (fourth & 0x3F)
        if (second & third & fourth) & 0x80 and not (second | third | fourth) & 0x40 and 0x10000 <= code < 0x110000:
            return byte_at(classes, code) | 4 << 8
    return _OTHER | _ONE_BYTE
