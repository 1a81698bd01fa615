"""Prefetches memory into the processor's cache."""

# SPDX-License-Identifier: MIT
# pyright: reportMissingTypeStubs=false
from __future__ import annotations

from typing import TYPE_CHECKING

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from tokstudio.core.kernels.tables import Int32

if TYPE_CHECKING:
    # The types inside a compiled loop, which the signature of the intrinsic does not give.
    def prefetch(array: Int32, index: int) -> None:  # noqa: D103
        ...

else:

    @intrinsic
    def prefetch(context, array, index):  # noqa: ANN001, ANN201
        """Prefetches the cache line of `array[index]`; the index must be within the array."""

        def generate(context, builder, signature, arguments):  # noqa: ANN001, ANN202
            kind = signature.args[0]
            made = context.make_array(kind)(context, builder, arguments[0])
            place = builder.bitcast(builder.gep(made.data, [arguments[1]]), cgutils.voidptr_t)
            number = ir.IntType(32)
            function = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, number, number, number])
            called = cgutils.get_or_insert_function(builder.module, function, "llvm.prefetch.p0")
            builder.call(called, [place, number(1), number(3), number(1)])
            return context.get_dummy_value()

        return types.void(array, types.intp), generate
