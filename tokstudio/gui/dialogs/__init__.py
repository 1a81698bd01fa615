"""The dialogs, a folder each with everything that only it needs; dialogs never import each other.

May import `gui.token_table`, `gui.plot` and what those may import.
"""

# SPDX-License-Identifier: MIT
