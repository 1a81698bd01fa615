"""Sentences in panes."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel


def words(role: str = "") -> QLabel:
    """A label for sentences of any length: plain text, broken into lines at whatever width there is."""
    label = QLabel()
    label.setProperty("role", role)
    label.setWordWrap(True)
    label.setMinimumWidth(1)
    label.setTextFormat(Qt.TextFormat.PlainText)
    return label
