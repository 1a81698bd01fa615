"""Questions about a run, a tokenizer or a text: why this merge, why not one token, steps, reachability, counts.

Imports `core.training` and the folders below it, but not `core.formats`.
"""

# SPDX-License-Identifier: MIT
