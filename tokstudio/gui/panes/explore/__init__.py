"""The Explore pane: the documents of the corpus, and what is found in them.

Imports `gui.token_table`, `gui.token_text`, `gui.session`, `gui.widgets` and `gui.style`, and `core`.
"""

# SPDX-License-Identifier: MIT
