"""How text is split before merging: patterns, custom regular expressions, special tokens, counting pre-tokens.

May import `core.corpus`, `core.kernels`, `core.text` and `core.base`.
"""

# SPDX-License-Identifier: MIT
