"""What a tokenizer is trained on: sources, reading, word counts, statistics, sampling, the held-out split.

May import `core.base` and `core.text`.
"""

# SPDX-License-Identifier: MIT
