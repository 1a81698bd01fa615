"""Find: the field, the index and the results.

May import `gui.token_table` and what that may import.
"""

# SPDX-License-Identifier: MIT
