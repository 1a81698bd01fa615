"""Check Tokenizer: rules that look for faults of a tokenizer and of its files before a model is trained.

Imports `core.formats`, `core.analysis` and the folders below them.
"""

# SPDX-License-Identifier: MIT
