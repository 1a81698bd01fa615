"""Words of the window: each has its explanation from the glossary, and a click or F1 opens it there."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QApplication

from tests.gui.person import PATIENCE, at_the_window
from tokstudio.core.guide import glossary
from tokstudio.core.guide.glossary import meaning, read_words
from tokstudio.gui.widgets.fields import Field
from tokstudio.gui.widgets.labels import TermLabel, word_of


def test_every_field_of_configure_and_every_marked_word_is_in_the_glossary(monkeypatch):
    def act(window, answers):
        fields = window.configure.findChildren(Field)
        assert len(fields) == 14
        for field in fields:
            assert word_of(field) in read_words(), field
            assert field._control.toolTip().startswith(meaning(word_of(field))[:40])
        labels = window.findChildren(TermLabel)
        assert len(labels) > len(fields)
        for label in labels:
            assert word_of(label) in read_words(), label.text()
            assert label.toolTip()

    assert at_the_window(monkeypatch, act) == 0


@pytest.mark.parametrize("floating", [False, True])
def test_a_click_on_a_word_opens_it_also_where_the_guide_is_closed(qtbot, monkeypatch, floating):
    def act(window, answers):
        assert window.guide.isHidden()
        if floating:
            window.configure.setFloating(True)
        field = window.configure.size_field
        was = field.check.isChecked()
        qtbot.mouseClick(field.mark, Qt.MouseButton.LeftButton, pos=QPoint(2, 2))
        assert not window.guide.visibleRegion().isEmpty()
        assert window.guide.page == "glossary"
        at = window.guide.browser.verticalScrollBar().value()
        assert at > 0
        assert field.check.isChecked() == was
        label = window.text.findChildren(TermLabel)[0]
        qtbot.mouseClick(label, Qt.MouseButton.LeftButton)
        assert window.guide.browser.verticalScrollBar().value() != at

    assert at_the_window(monkeypatch, act) == 0


def test_f1_in_a_field_opens_its_word(qtbot, monkeypatch):
    def act(window, answers):
        window.activateWindow()
        qtbot.waitUntil(lambda: QApplication.focusWidget() is not None, timeout=PATIENCE)
        window.configure.pattern.choice.combo.setFocus()
        qtbot.keyClick(window.configure.pattern.choice.combo, Qt.Key.Key_F1)
        assert window.guide._been[-1][:2] == ("glossary", "pattern")
        window.actions_by_id["glossary"].trigger()
        assert window.guide._been[-1][:2] == ("glossary", "")

    assert at_the_window(monkeypatch, act) == 0


def test_without_the_glossary_the_window_still_opens(monkeypatch, tmp_path):
    monkeypatch.setattr(glossary, "resource", lambda name: tmp_path / "none")
    read_words.cache_clear()
    try:
        assert meaning("token") == ""
    finally:
        read_words.cache_clear()
