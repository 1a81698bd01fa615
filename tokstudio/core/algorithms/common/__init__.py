"""What several algorithms need: the corpus laid out for merging, and what an engine is made from and gives.

Imports `core.tokenizer` and the folders below it, and no algorithm.
"""

# SPDX-License-Identifier: MIT
