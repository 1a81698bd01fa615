"""Buttons follow the actions of the window, at every change in the same time."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from PySide6.QtCore import SIGNAL
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QToolButton

from tests.gui.person import at_the_window
from tokstudio.gui.widgets.menus import connect_once


def test_changes_of_actions_do_not_add_up(qtbot, monkeypatch):
    def change(window, answers):
        grown = []
        for name, action in window.actions_by_id.items():
            followers = []
            for _ in range(4):
                for enabled in (not action.isEnabled(), action.isEnabled()):
                    action.setEnabled(enabled)
                followers.append(action.receivers(SIGNAL("changed()")))
            if followers[-1] > followers[0]:
                grown.append(name)
        assert not grown

    assert at_the_window(monkeypatch, change) == 0


def test_a_button_follows_its_action(qtbot):
    action, button = QAction("Train"), QToolButton()
    qtbot.addWidget(button)
    button.setDefaultAction(action)
    connect_once(button)
    for text, enabled in (("Pause", False), ("Resume", True)):
        action.setText(text)
        action.setEnabled(enabled)
        assert (button.text(), button.isEnabled()) == (text, enabled)
