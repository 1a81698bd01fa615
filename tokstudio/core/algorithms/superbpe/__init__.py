"""SuperBPE: `engine.py` drives its two stages, each by the loops of plain BPE.

`Tokenizer.at` has the pattern of each stage.
"""

# SPDX-License-Identifier: MIT
