"""Widgets that would serve any application: labels, fields, cards, panes, file dialogs.

May import `gui.style` and the core.
"""

# SPDX-License-Identifier: MIT
