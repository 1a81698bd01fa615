"""Keys that a widget with rows handles itself while it has the focus."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from PySide6.QtCore import QEvent
from PySide6.QtGui import QKeyEvent, QKeySequence


def keeps_copy(event: QEvent) -> bool:
    """Accepts the override of the shortcuts Copy and Select All for a widget; returns whether it was one of them."""
    if event.type() != QEvent.Type.ShortcutOverride or not isinstance(event, QKeyEvent):
        return False
    kept = event.matches(QKeySequence.StandardKey.Copy) or event.matches(QKeySequence.StandardKey.SelectAll)
    if kept:
        event.accept()
    return kept
