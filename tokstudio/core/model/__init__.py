"""The immutable values that all layers exchange: configuration, alphabet, tokens, merges, run.

May import `core.pretokenization` and what that may import.
"""

# SPDX-License-Identifier: MIT
