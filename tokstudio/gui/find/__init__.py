"""Find: the field, the search and the results.

May import `gui.token_table` and what that may import.
"""

# SPDX-License-Identifier: MIT
