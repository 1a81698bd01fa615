"""The export dialog, its plan and its queue.

May import `gui.session`, `gui.state`, `gui.widgets` and `gui.style`.
"""

# SPDX-License-Identifier: MIT
