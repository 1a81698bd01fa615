"""Changing a tokenizer that exists: pruning, joining, renumbering, special tokens. Each makes a new tokenizer.

Imports `core.analysis`, `core.formats` and the folders below them. What stayed the same is proved by
`proof.py`, which saves a tokenizer with that proof.
"""

# SPDX-License-Identifier: MIT
