"""Picky BPE: `engine.py` merges and removes, `counts.py` counts other text after each merge.

Its loops are in `core/kernels`: `picky.py`, `replay.py`. What follows from its rows is in `core/model/picky.py`, and
encoding in `core/tokenizer/picky_encoder.py`, since a tokenizer needs them.
"""

# SPDX-License-Identifier: MIT
