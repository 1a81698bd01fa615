"""The training text: sources, reading, word counts, statistics, sampling, the held-out split.

Imports `core.base`, `core.text` and `core.kernels`.
"""

# SPDX-License-Identifier: MIT
