"""Training, from a corpus to a run.

Imports `core.tokenizer` and the folders below it, but neither `core.formats` nor `core.analysis`.
"""

# SPDX-License-Identifier: MIT
