"""What a tokenizer was trained on: the shares of candidate texts, from the order of its merges.

May import what `core/analysis` may.
"""

# SPDX-License-Identifier: MIT
