"""The dialog that opens a tokenizer by its name, and its list of well-known names.

Imports `gui.session` and the folders below it, but no pane.
"""

# SPDX-License-Identifier: MIT
