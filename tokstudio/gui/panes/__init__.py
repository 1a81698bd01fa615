"""The panes, one folder each; panes never import each other.

May import `gui.token_table`, `gui.plot` and what those may import.
"""

# SPDX-License-Identifier: MIT
