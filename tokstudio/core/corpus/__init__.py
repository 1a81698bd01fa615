"""The training text: sources, reading, word counts, statistics, sampling, the held-out split.

Imports `core.base` and `core.text`.
"""

# SPDX-License-Identifier: MIT
