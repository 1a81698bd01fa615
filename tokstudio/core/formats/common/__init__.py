"""The common parts of file formats: the `Format` class, readers, merge lists, spelling, proof, renumbering.

Imports `core.tokenizer` and the folders below it.
"""

# SPDX-License-Identifier: MIT
