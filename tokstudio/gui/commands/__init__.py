"""What menus and keys do: the registry of actions, menus and handlers.

May import `gui.project`, `gui.export`, `gui.find`, `gui.panes` and what those may import.
"""

# SPDX-License-Identifier: MIT
