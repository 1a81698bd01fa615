"""SentencePiece models of byte pairs.

Imports `core.formats.common` and the folders below it.
"""

# SPDX-License-Identifier: MIT
