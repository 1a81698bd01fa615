"""Which keys a widget of rows keeps for itself while it has the focus."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from PySide6.QtCore import QEvent
from PySide6.QtGui import QKeyEvent, QKeySequence


def keeps_copy(event: QEvent) -> bool:
    """Whether the window is about to take Copy or Select All away; then it is accepted for the widget."""
    if event.type() != QEvent.Type.ShortcutOverride or not isinstance(event, QKeyEvent):
        return False
    kept = event.matches(QKeySequence.StandardKey.Copy) or event.matches(QKeySequence.StandardKey.SelectAll)
    if kept:
        event.accept()
    return kept
