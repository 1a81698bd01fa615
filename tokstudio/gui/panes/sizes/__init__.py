"""The How Large? pane, with all that it alone needs; `pane.py` is the way in.

May import what `gui.panes` may import, and no other pane.
"""

# SPDX-License-Identifier: MIT
