"""Widgets that would serve any application: labels, fields, cards, panes, file dialogs.

May import `gui.style`, and of the core `core.base` and the glossary.
"""

# SPDX-License-Identifier: MIT
