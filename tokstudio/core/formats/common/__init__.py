"""What several file formats share: the `Format` class, readers, merge lists, spelling, proof, renumbering.

May import `core.tokenizer` and what that may import.
"""

# SPDX-License-Identifier: MIT
