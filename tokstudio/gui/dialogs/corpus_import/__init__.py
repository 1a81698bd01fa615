"""The Import step: which column of a data set is the text, with a preview; `dialog.py` is the way in.

May import what `gui.panes` may import, and no pane.
"""

# SPDX-License-Identifier: MIT
