"""What a changed tokenizer keeps: which of its tokens are reachable, the map of its embedding, the nine points.

Imports `core.tokenizer` and the folders below it.
"""

# SPDX-License-Identifier: MIT
