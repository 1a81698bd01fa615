"""Numba's `njit` for the loops, with a cache whose failing costs time and nothing else.

Numba's own cache lets a call fail whose loop cannot be written: on a full disk, or where no folder can be written to.
"""

# SPDX-License-Identifier: MIT
# pyright: reportMissingTypeStubs=false
from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tokstudio.core.kernels.cache import note_problem

if TYPE_CHECKING:
    from numba import njit as njit
else:
    import numba
    from numba.core.caching import FunctionCache

    class _Cache(FunctionCache):
        def save_overload(self, sig: object, data: object) -> None:
            """Keeps a compiled loop, if it can be kept."""
            try:
                super().save_overload(sig, data)
            except OSError as error:
                note_problem(error)

    def njit(*, cache: bool, **options: object) -> Callable[[Callable[..., Any]], Any]:
        """As `numba.njit`, with the cache of this module."""

        def compile_lazily(loop: Callable[..., Any]) -> Any:  # noqa: ANN401
            compiled = numba.njit(**options)(loop)
            if cache:
                try:
                    compiled._cache = _Cache(loop)
                except RuntimeError as error:  # there is no folder for it
                    note_problem(error)
            return compiled

        return compile_lazily
