"""The Train Several dialog: a table of settings, each of which becomes a training.

May import `gui.session`, `gui.widgets` and what these may import.
"""

# SPDX-License-Identifier: MIT
