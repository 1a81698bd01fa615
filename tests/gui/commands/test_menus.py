"""The menus: every entry of the menu bar has a key of its own, and says what it does or why it is grey."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
from collections import Counter

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QKeySequence
from PySide6.QtWidgets import QAbstractButton, QApplication

from tests.gui.person import PATIENCE, TEXT, at_the_window

pytestmark = pytest.mark.usefixtures("unstyled")


def test_no_two_entries_of_a_menu_have_the_same_letter(monkeypatch):
    def act(window, answers):
        for entry in window.menuBar().actions():
            texts = [action.text() for action in entry.menu().actions() if not action.isSeparator()]
            letters = [found.group(1).lower() for text in texts for found in re.finditer("&([^&])", text)]
            assert len(letters) == len(texts), "every entry has a letter"
            assert [letter for letter, times in Counter(letters).items() if times > 1] == []

    assert at_the_window(monkeypatch, act) == 0


def test_copying_does_nothing_where_a_button_has_the_focus(qtbot, monkeypatch):
    def act(window, answers):
        QGuiApplication.clipboard().setText("as before")
        qtbot.waitUntil(window.isActiveWindow, timeout=PATIENCE)
        tried = 0
        for pane in window.panes:
            window.places.open(pane)
            for button in pane.findChildren(QAbstractButton):
                if button.isVisible() and button.focusPolicy() & Qt.FocusPolicy.StrongFocus:
                    button.setFocus()
                    tried += QApplication.focusWidget() is button
                    qtbot.keyClick(button, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
                    window.actions_by_id["copy"].trigger()
        assert tried > 10
        assert QGuiApplication.clipboard().text() == "as before"

    assert at_the_window(monkeypatch, act) == 0


def test_an_action_says_why_it_is_not_available_or_what_its_keys_are(qtbot, monkeypatch):
    def act(window, answers):
        corpus, training, train = window.session.corpus, window.session.training, window.actions_by_id["train"]
        keys = train.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
        for _ in range(2):
            assert not train.isEnabled()
            assert train.toolTip() == train.statusTip() == training.obstacle
            corpus.add_text(TEXT)
            qtbot.waitUntil(lambda: training.obstacle is None, timeout=PATIENCE)
            assert train.isEnabled()
            assert train.toolTip() == f"Train ({keys})"
            assert train.statusTip() == "Train a tokenizer on the corpus."
            corpus.set_sources(())
        available = window.actions_by_id["open_corpus"]
        keys = available.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
        assert available.isEnabled()
        assert available.toolTip() == f"Open Corpus ({keys})"
        assert available.statusTip() not in ("", available.toolTip())

    assert at_the_window(monkeypatch, act) == 0
