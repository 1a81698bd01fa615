"""Comparisons of tokenizers: what they make of the same texts, in figures, vocabularies and sizes.

May import every other folder of the core.
"""

# SPDX-License-Identifier: MIT
