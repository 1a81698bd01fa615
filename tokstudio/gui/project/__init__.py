"""The project as a document: open, save, autosave, restore.

May import `gui.session`, `gui.state` and `gui.widgets`.
"""

# SPDX-License-Identifier: MIT
