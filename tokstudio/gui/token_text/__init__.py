"""Tokens as text on screen: pieces, rows, the token view, labels, chips, spelling, writing direction.

May import `gui.widgets`, `gui.state`, `gui.style` and the core.
"""

# SPDX-License-Identifier: MIT
