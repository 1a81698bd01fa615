"""The loops that Numba compiles, and their cache: arrays in, arrays out. Nothing else in TokStudio is compiled.

Imports `core.text` and `core.base`.

Every loop here is `njit(nogil=True, cache=True)` of `compiled`: it runs without the interpreter's lock, and is compiled
once per installation.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from tokstudio.core.kernels.cache import choose_folder

# Numba reads the folder of its cache once, when it is loaded.
choose_folder()
