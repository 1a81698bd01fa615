"""The loops that Numba compiles, and their cache: arrays in, arrays out. Nothing else in TokStudio is compiled.

May import `core.text` and `core.base`.

Every loop here is `njit(nogil=True, cache=True)` of `compiled`: it holds no lock while it runs, and is compiled once an
installation.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from tokstudio.core.kernels.cache import choose_folder

# Before any loop loads Numba, which asks for it once.
choose_folder()
