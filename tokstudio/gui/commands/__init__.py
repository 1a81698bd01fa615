"""The actions of menus and shortcuts: registry, menus and handlers.

May import `gui.project`, `gui.export`, `gui.find`, `gui.panes` and what those may import.
"""

# SPDX-License-Identifier: MIT
