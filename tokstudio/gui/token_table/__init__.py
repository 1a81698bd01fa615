"""Tables with a token in each row: model, view, delegate, filter query and search.

May import `gui.token_text`, `gui.session`, `gui.state`, `gui.widgets` and `gui.style`.
"""

# SPDX-License-Identifier: MIT
