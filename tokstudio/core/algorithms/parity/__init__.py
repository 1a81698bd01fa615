"""Parity-aware BPE: in `engine.py` the languages choose by turns. Its loops are in `core/kernels/parity.py`.

`common/languages.py` has its texts by language, since the corpus is prepared with them.
"""

# SPDX-License-Identifier: MIT
