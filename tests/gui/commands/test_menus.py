"""The menus: every entry of the menu bar has a key of its own."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
from collections import Counter

import pytest

from tests.gui.person import at_the_window

pytestmark = pytest.mark.usefixtures("unstyled")


def test_no_two_entries_of_a_menu_have_the_same_letter(monkeypatch):
    def act(window, answers):
        for entry in window.menuBar().actions():
            texts = [action.text() for action in entry.menu().actions() if not action.isSeparator()]
            letters = [found.group(1).lower() for text in texts for found in re.finditer("&([^&])", text)]
            assert len(letters) == len(texts), "every entry has a letter"
            assert [letter for letter, times in Counter(letters).items() if times > 1] == []

    assert at_the_window(monkeypatch, act) == 0
