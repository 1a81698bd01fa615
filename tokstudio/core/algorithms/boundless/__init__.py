"""BoundlessBPE: `engine.py` drives its two phases and joins their merges in one list.

Its loops are those of plain BPE; `core/kernels/encode.py` joins words in encoding, which training needs too.
"""

# SPDX-License-Identifier: MIT
