"""Tokenizer files: `saving.py`, `loading.py`, and a folder or file for each format, in the list of `known_formats.py`.

Imports `core.tokenizer` and the folders below it, but neither `core.training` nor `core.analysis`.
"""

# SPDX-License-Identifier: MIT
