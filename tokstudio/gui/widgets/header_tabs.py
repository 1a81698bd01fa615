"""Tabs in the header of a pane."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtWidgets import QTabBar

# The room of the header is dear: smaller than the tabs of a page.
_STYLE = "QTabBar::tab { padding: 2px 7px 3px 7px; }"


class HeaderTabs(QTabBar):
    """One tab for each view of a pane.

    Args:
        name: What a screen reader calls them.
        tips: Each tab's words, with its tip.
    """

    def __init__(self, name: str, tips: Mapping[str, str]) -> None:
        super().__init__()
        self.setStyleSheet(_STYLE)
        self.setExpanding(False)
        self.setAccessibleName(name)
        for tab, (words, tip) in enumerate(tips.items()):
            self.addTab(words)
            self.setTabToolTip(tab, tip)
