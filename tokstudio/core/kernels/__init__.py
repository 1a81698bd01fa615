"""The loops that Numba compiles, and their cache: arrays in, arrays out. Nothing else in TokStudio is compiled.

Imports `core.text` and `core.base`.

Every loop here is `njit(nogil=True, cache=True)` of `compiled`: it runs without the interpreter's lock, and is compiled
once for each user.
"""

# SPDX-License-Identifier: MIT
