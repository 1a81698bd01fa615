"""Training by other libraries: Unigram, WordPiece and SentencePiece, as their own programs train them.

Imports `core.formats`, `core.training` and the folders below them.
"""

# SPDX-License-Identifier: MIT
