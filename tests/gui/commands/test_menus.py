"""The menus: every entry has a key of its own, and says what it does or why it is grey; Measure On."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
from collections import Counter

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QKeySequence
from PySide6.QtWidgets import QAbstractButton, QApplication

from tests.gui.person import TEXT, at_window, trained
from tokstudio.core.comparison.alignment import TextTokens

pytestmark = pytest.mark.usefixtures("unstyled")


@at_window()
def test_every_entry_has_a_letter_says_what_it_does_and_copying_needs_no_button(qtbot, window):
    corpus, training, train = window.session.corpus, window.session.training, window.actions_by_id["train"]
    keys = train.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
    for _ in range(2):
        assert not train.isEnabled()
        assert train.toolTip() == train.statusTip() == training.obstacle
        corpus.add_text(TEXT)
        qtbot.waitUntil(lambda: training.obstacle is None)
        assert train.isEnabled()
        assert train.toolTip() == f"Train ({keys})"
        assert train.statusTip() == "Train a tokenizer on the corpus."
        corpus.set_sources(())
    available = window.actions_by_id["open_corpus"]
    keys = available.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
    assert available.isEnabled()
    assert available.toolTip() == f"Open Corpus ({keys})"
    assert available.statusTip() not in ("", available.toolTip())
    for entry in window.menuBar().actions():
        texts = [action.text() for action in entry.menu().actions() if not action.isSeparator()]
        letters = [found.group(1).lower() for text in texts for found in re.finditer("&([^&])", text)]
        assert len(letters) == len(texts), "every entry has a letter"
        assert [letter for letter, times in Counter(letters).items() if times > 1] == []
    QGuiApplication.clipboard().setText("as before")
    qtbot.waitUntil(window.isActiveWindow)
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


@at_window()
def test_every_row_is_measured_on_the_chosen_text(qtbot, tmp_path, window, answers):
    other = tmp_path / "shakespeare.txt"
    other.write_text("To be, or not to be: that is the question.\n" * 9, encoding="utf-8")
    broken = tmp_path / "missing.txt"
    session, on_text = window.session, window.session.on_text
    session.corpus.add_text("the cat sat on the mat. " * 40)
    run = trained(qtbot, window)
    actions = window.actions_by_id

    def chosen(action, name):
        actions[action].trigger()
        qtbot.waitUntil(lambda: on_text.text is not None and on_text.text.name == name)
        qtbot.waitUntil(lambda: isinstance(on_text.found(run), TextTokens))
        return on_text.found(run)

    window.runs.show()
    window.runs.raise_()
    sources = session.corpus.sources
    before = on_text.text.name
    answers.files = [other]
    found = chosen("measure_on_file", "shakespeare.txt")
    assert found.tokens == len(run.tokenizer.encode(other.read_text(encoding="utf-8")))
    assert session.corpus.sources == sources, "it is measured on, not trained on"
    assert window.runs.text_button.text() == "Measured on shakespeare.txt"

    answers.files = [broken]
    actions["measure_on_file"].trigger()
    qtbot.waitUntil(lambda: not session.jobs.running)
    assert on_text.text.name == "shakespeare.txt", "the last text stays"
    answers.files = []
    actions["measure_on_file"].trigger()
    assert on_text.text.name == "shakespeare.txt"

    session.view.set_text("")
    assert not actions["measure_on_text"].isEnabled()
    session.view.set_text("the question")
    assert chosen("measure_on_text", "the text “the question”").tokens == len(run.tokenizer.encode("the question"))

    assert not actions["measure_on_held_out"].isEnabled()
    assert chosen("measure_on_corpus", before).tokens == run.log.tokens_at(len(run))
