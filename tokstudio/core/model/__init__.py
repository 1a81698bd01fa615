"""The immutable values of all layers: configuration, alphabet, tokens, merges, run.

Imports `core.pretokenization` and the folders below it.
"""

# SPDX-License-Identifier: MIT
