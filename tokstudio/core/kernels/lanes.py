"""Numbers in sixteen lanes: each operation works on all of them at once, as vector instructions of a processor do.

The loops of `many_words` are written with them. They are right on each processor, but fast only on those that gather
and scatter (`has_fast_lanes`): for others the compiler writes each lane by itself.

`Lanes` are 32 or, where it is said, 64 bits wide, and a `Mask` has one bit a lane. They know `+`, `-`, `*`, `&`, `|`,
`^`, `~`, `<<`, `>>` (which moves no sign) and `==`, also with one number on the right, for all lanes. Addresses and
indexes are as in `intrinsics`.
"""

# SPDX-License-Identifier: MIT
# pyright: reportMissingTypeStubs=false, reportUnknownVariableType=false, reportIncompatibleMethodOverride=false
from __future__ import annotations

import operator
from typing import TYPE_CHECKING

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils, datamodel
from numba.extending import intrinsic, lower_builtin, register_model, type_callable

LANES = 16

if TYPE_CHECKING:
    # The types inside a compiled loop, which the signatures of the intrinsics do not give.
    class Lanes:  # noqa: D101
        def __add__(self, other: Lanes | int) -> Lanes: ...
        def __sub__(self, other: Lanes | int) -> Lanes: ...
        def __mul__(self, other: Lanes | int | np.uint64) -> Lanes: ...
        def __and__(self, other: Lanes | int) -> Lanes: ...
        def __or__(self, other: Lanes | int) -> Lanes: ...
        def __xor__(self, other: Lanes | int) -> Lanes: ...
        def __lshift__(self, other: Lanes | int) -> Lanes: ...
        def __rshift__(self, other: Lanes | int) -> Lanes: ...
        def __invert__(self) -> Lanes: ...
        def __eq__(self, other: Lanes | int) -> Mask: ...

    class Mask:  # noqa: D101
        def __and__(self, other: Mask) -> Mask: ...
        def __or__(self, other: Mask) -> Mask: ...
        def __invert__(self) -> Mask: ...

    def has_fast_lanes() -> bool:  # noqa: D103
        ...

    def each(number: int) -> Lanes:  # noqa: D103
        ...

    def each_wide(number: int) -> Lanes:  # noqa: D103
        ...

    def lane_numbers() -> Lanes:  # noqa: D103
        ...

    def lanes_at(address: int) -> Lanes:  # noqa: D103
        ...

    def wide_lanes_at(address: int) -> Lanes:  # noqa: D103
        ...

    def set_lanes(address: int, lanes: Lanes) -> None:  # noqa: D103
        ...

    def gather(address: int, index: Lanes, mask: Mask) -> Lanes:  # noqa: D103
        ...

    def gather_wide(address: int, index: Lanes, mask: Mask) -> Lanes:  # noqa: D103
        ...

    def gather_bytes(addresses: Lanes, mask: Mask) -> Lanes:  # noqa: D103
        ...

    def scatter(address: int, index: Lanes, lanes: Lanes, mask: Mask) -> None:  # noqa: D103
        ...

    def wide(lanes: Lanes) -> Lanes:  # noqa: D103
        ...

    def narrow(lanes: Lanes) -> Lanes:  # noqa: D103
        ...

    def lowest_bits(lanes: Lanes) -> Lanes:  # noqa: D103
        ...

    def zeros_above(lanes: Lanes) -> Lanes:  # noqa: D103
        ...

    def least(one: Lanes, other: Lanes) -> Lanes:  # noqa: D103
        ...

    def below(one: Lanes, other: Lanes) -> Mask:  # noqa: D103
        ...

    def chosen(mask: Mask, one: Lanes, other: Lanes) -> Lanes:  # noqa: D103
        ...

    def is_any(mask: Mask) -> bool:  # noqa: D103
        ...

else:
    from tokstudio.core.kernels.intrinsics import in_each

    _NEEDED = ("+avx512f", "+avx512cd", "+avx512dq")

    class _Lanes(types.Type):
        """Numbers of so many bits in lanes."""

        def __init__(self, bits):  # noqa: ANN001, ANN204
            self.bits = bits
            super().__init__(name=f"Lanes({bits})")

    @register_model(_Lanes)
    class _LanesModel(datamodel.models.PrimitiveModel):
        def __init__(self, manager, kind):  # noqa: ANN001, ANN204
            super().__init__(manager, kind, _vector(kind.bits))

    _MASK, _LANES, _WIDE = map(_Lanes, (1, 32, 64))
    _INDEX = types.int64

    def _vector(bits):  # noqa: ANN001, ANN202
        return ir.VectorType(ir.IntType(bits), LANES)

    def _call(builder, name, result, *values):  # noqa: ANN001, ANN002, ANN202
        kind = ir.FunctionType(result, [value.type for value in values])
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), values)

    def _places(builder, address, index, bits):  # noqa: ANN001, ANN202
        """Pointers to elements of an array; the form that LLVM knows as one address with an index in each lane."""
        start = in_each(builder, builder.inttoptr(address, ir.IntType(bits).as_pointer()), LANES)
        return builder.gep(start, [builder.sext(index, _vector(64))], source_etype=ir.IntType(bits))

    def _gathered(builder, places, mask, bits, align):  # noqa: ANN001, ANN202
        name = f"llvm.masked.gather.v{LANES}i{bits}.v{LANES}p0"
        return _call(builder, name, _vector(bits), places, ir.IntType(32)(align), mask, _vector(bits)(None))

    @intrinsic
    def has_fast_lanes(context):  # noqa: ANN001, ANN201
        """Whether the processor that is compiled for gathers and scatters; known to the compiler."""

        def generate(context, builder, signature, arguments):  # noqa: ANN001, ANN202
            features = context.codegen().magic_tuple()[2].split(",")
            return ir.IntType(1)(all(feature in features for feature in _NEEDED))

        return types.boolean(), generate

    @intrinsic
    def each(context, number):  # noqa: ANN001, ANN201
        """The lowest 32 bits of a number in each lane."""

        def generate(context, builder, signature, arguments):  # noqa: ANN001, ANN202
            return in_each(builder, builder.trunc(arguments[0], ir.IntType(32)), LANES)

        return _LANES(types.int64), generate

    @intrinsic
    def each_wide(context, number):  # noqa: ANN001, ANN201
        """A number in each lane, of 64 bits."""
        return _WIDE(types.int64), lambda _, builder, signature, arguments: in_each(builder, arguments[0], LANES)

    @intrinsic
    def lane_numbers(context):  # noqa: ANN001, ANN201
        """The number of each lane, from 0 on."""
        return _LANES(), lambda _, builder, signature, arguments: _vector(32)(list(range(LANES)))

    def _loading(kind):  # noqa: ANN001, ANN202
        """The signature of a load of such lanes, and what generates it."""

        def generate(context, builder, signature, arguments):  # noqa: ANN001, ANN202
            place = builder.inttoptr(arguments[0], _vector(kind.bits).as_pointer())
            return builder.load(place, align=kind.bits // 8)

        return kind(_INDEX), generate

    @intrinsic
    def lanes_at(context, address):  # noqa: ANN001, ANN201
        """The elements of an int32 array at an address, one in each lane."""
        return _loading(_LANES)

    @intrinsic
    def wide_lanes_at(context, address):  # noqa: ANN001, ANN201
        """Those of an int64 array."""
        return _loading(_WIDE)

    @intrinsic
    def set_lanes(context, address, lanes):  # noqa: ANN001, ANN201
        """Writes all lanes to an int32 array at an address."""

        def generate(context, builder, signature, arguments):  # noqa: ANN001, ANN202
            builder.store(arguments[1], builder.inttoptr(arguments[0], _vector(32).as_pointer()), align=4)
            return context.get_dummy_value()

        return types.void(_INDEX, _LANES), generate

    def _gathering(kind):  # noqa: ANN001, ANN202
        """The signature of a gather of such lanes, and what generates it."""

        def generate(context, builder, signature, arguments):  # noqa: ANN001, ANN202
            address, index, mask = arguments
            return _gathered(builder, _places(builder, address, index, kind.bits), mask, kind.bits, kind.bits // 8)

        return kind(_INDEX, _LANES, _MASK), generate

    @intrinsic
    def gather(context, address, index, mask):  # noqa: ANN001, ANN201
        """The elements of an int32 array with the indexes in the lanes; 0 in those that the mask does not have."""
        return _gathering(_LANES)

    @intrinsic
    def gather_wide(context, address, index, mask):  # noqa: ANN001, ANN201
        """Those of an int64 array."""
        return _gathering(_WIDE)

    @intrinsic
    def gather_bytes(context, addresses, mask):  # noqa: ANN001, ANN201
        """The byte at the address in each lane; the three bytes behind it are read, too."""

        def generate(context, builder, signature, arguments):  # noqa: ANN001, ANN202
            places = builder.inttoptr(arguments[0], ir.VectorType(ir.IntType(32).as_pointer(), LANES))
            return builder.and_(_gathered(builder, places, arguments[1], 32, align=1), _vector(32)([0xFF] * LANES))

        return _LANES(_WIDE, _MASK), generate

    @intrinsic
    def scatter(context, address, index, lanes, mask):  # noqa: ANN001, ANN201
        """Writes the lanes that the mask has to an int32 array, each at its index."""

        def generate(context, builder, signature, arguments):  # noqa: ANN001, ANN202
            address, index, lanes, mask = arguments
            places = _places(builder, address, index, 32)
            name = f"llvm.masked.scatter.v{LANES}i32.v{LANES}p0"
            _call(builder, name, ir.VoidType(), lanes, places, ir.IntType(32)(4), mask)
            return context.get_dummy_value()

        return types.void(_INDEX, _LANES, _LANES, _MASK), generate

    @intrinsic
    def wide(context, lanes):  # noqa: ANN001, ANN201
        """The same numbers with 64 bits, and with their signs."""
        return _WIDE(_LANES), lambda _, builder, signature, arguments: builder.sext(arguments[0], _vector(64))

    @intrinsic
    def narrow(context, lanes):  # noqa: ANN001, ANN201
        """The lowest 32 bits of numbers of 64."""
        return _LANES(_WIDE), lambda _, builder, signature, arguments: builder.trunc(arguments[0], _vector(32))

    @intrinsic
    def lowest_bits(context, lanes):  # noqa: ANN001, ANN201
        """The number of the lowest bit that is set in each; 32 for 0."""

        def generate(context, builder, signature, arguments):  # noqa: ANN001, ANN202
            return _call(builder, f"llvm.cttz.v{LANES}i32", _vector(32), arguments[0], ir.IntType(1)(0))

        return _LANES(_LANES), generate

    @intrinsic
    def zeros_above(context, lanes):  # noqa: ANN001, ANN201
        """How many bits above the highest that is set in each are not; 32 for 0."""

        def generate(context, builder, signature, arguments):  # noqa: ANN001, ANN202
            return _call(builder, f"llvm.ctlz.v{LANES}i32", _vector(32), arguments[0], ir.IntType(1)(0))

        return _LANES(_LANES), generate

    @intrinsic
    def least(context, one, other):  # noqa: ANN001, ANN201
        """The lower of two numbers in each lane, without signs."""

        def generate(context, builder, signature, arguments):  # noqa: ANN001, ANN202
            return _call(builder, f"llvm.umin.v{LANES}i32", _vector(32), *arguments)

        return _LANES(_LANES, _LANES), generate

    @intrinsic
    def below(context, one, other):  # noqa: ANN001, ANN201
        """Whether the first number is lower, without signs."""

        def generate(context, builder, signature, arguments):  # noqa: ANN001, ANN202
            return builder.icmp_unsigned("<", *arguments)

        return _MASK(_LANES, _LANES), generate

    @intrinsic
    def chosen(context, mask, one, other):  # noqa: ANN001, ANN201
        """The first number in the lanes that the mask has, else the second."""
        return one(_MASK, one, one), lambda _, builder, signature, arguments: builder.select(*arguments)

    @intrinsic
    def is_any(context, mask):  # noqa: ANN001, ANN201
        """Whether the mask has a lane."""

        def generate(context, builder, signature, arguments):  # noqa: ANN001, ANN202
            lanes = ir.IntType(LANES)
            return builder.icmp_unsigned("!=", builder.bitcast(arguments[0], lanes), lanes(0))

        return types.boolean(_MASK), generate

    # As functions of Numba, operations would be compiled one by one, for each kind of number.
    def _define(operation, build, result=None):  # noqa: ANN001, ANN202
        """Lets lanes have an operation of Python; `build` is the method of LLVM's builder."""

        @type_callable(operation)
        def type_operation(context):  # noqa: ANN001, ANN202
            def typed(one, other):  # noqa: ANN001, ANN202
                has_lanes = isinstance(one, _Lanes) and (one == other or isinstance(other, types.Integer))
                return (result or one) if has_lanes else None

            return typed

        @lower_builtin(operation, _Lanes, _Lanes)
        def operate(context, builder, signature, arguments):  # noqa: ANN001, ANN202
            return build(builder, *arguments)

        @lower_builtin(operation, _Lanes, types.Integer)
        def operate_with_number(context, builder, signature, arguments):  # noqa: ANN001, ANN202
            one, number = arguments
            number = context.cast(builder, number, signature.args[1], types.int64)
            bits = one.type.element
            number = builder.trunc(number, bits) if bits.width < 64 else number
            return build(builder, one, in_each(builder, number, LANES))

    for _operation, _method in (
        (operator.add, ir.IRBuilder.add),
        (operator.sub, ir.IRBuilder.sub),
        (operator.mul, ir.IRBuilder.mul),
        (operator.and_, ir.IRBuilder.and_),
        (operator.or_, ir.IRBuilder.or_),
        (operator.xor, ir.IRBuilder.xor),
        (operator.lshift, ir.IRBuilder.shl),
        (operator.rshift, ir.IRBuilder.lshr),
    ):
        _define(_operation, _method)
    _define(operator.eq, lambda builder, one, other: builder.icmp_unsigned("==", one, other), _MASK)

    @type_callable(operator.invert)
    def _type_inversion(context):  # noqa: ANN001, ANN202
        return lambda lanes: lanes if isinstance(lanes, _Lanes) else None

    @lower_builtin(operator.invert, _Lanes)
    def _invert(context, builder, signature, arguments):  # noqa: ANN001, ANN202
        return builder.not_(arguments[0])
