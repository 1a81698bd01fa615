"""Plain BPE: `engine.py` merges the most frequent pair. Its loops are in `core/kernels`: `count_pairs.py`, `merge.py`.

BPE of whole characters is the same on other units.
"""

# SPDX-License-Identifier: MIT
