"""Questions about a run, a tokenizer or a text: why this merge, why not one token, steps, reachability, counts.

May import `core.training` and what that may import; not `core.formats`.
"""

# SPDX-License-Identifier: MIT
