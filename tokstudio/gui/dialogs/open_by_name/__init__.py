"""The dialogs that open a tokenizer or a text by its name; the network is used only when they open.

May import `gui.session`, `gui.state`, `gui.widgets`, `gui.style` and the core.
"""

# SPDX-License-Identifier: MIT
