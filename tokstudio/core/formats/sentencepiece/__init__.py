"""SentencePiece models of byte pairs.

May import `core.formats.common` and what that may import.
"""

# SPDX-License-Identifier: MIT
