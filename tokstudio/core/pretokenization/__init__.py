"""Splitting of text before merging: patterns, custom regular expressions, special tokens, counts of pre-tokens.

Imports `core.corpus`, `core.kernels`, `core.text` and `core.base`.
"""

# SPDX-License-Identifier: MIT
