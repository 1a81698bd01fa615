"""Words of the window: each has its explanation from the glossary, and a click or F1 opens it there."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QHelpEvent
from PySide6.QtWidgets import QApplication, QTabBar, QToolTip, QWidget

from tests.gui.person import TEXT, at_window, trained
from tokstudio.core.guide import glossary
from tokstudio.core.guide.glossary import explained, meaning, read_words
from tokstudio.core.model.settings import ALGORITHM_TITLES
from tokstudio.gui.widgets.fields import Field
from tokstudio.gui.widgets.labels import TermLabel, word_of

pytestmark = pytest.mark.usefixtures("unstyled")


def a_click_on_a_word_opens_it_where_the_guide_is_closed(qtbot, window, *, floating):
    window.guide.close()
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


@at_window()
def test_words_and_the_chosen_figure_are_marked_and_lead_to_their_explanation(qtbot, window):
    assert window.guide.isHidden()
    algorithm = window.configure.algorithm
    for name in ALGORITHM_TITLES:
        algorithm.group(name)  # makes its fields
    fields = window.configure.findChildren(Field)
    assert len(fields) == 26
    for field in fields:
        assert word_of(field) in read_words(), field
        tips = [part.toolTip() for part in field.findChildren(QWidget)]
        assert any(tip.startswith(meaning(word_of(field))[:40]) for tip in tips), field
    labels = window.findChildren(TermLabel)
    assert len(labels) > len(fields)
    for label in labels:
        assert word_of(label) in read_words(), label.text()
        assert label.toolTip()
    tip, across = Qt.ItemDataRole.ToolTipRole, Qt.Orientation.Horizontal
    tables = (
        (
            window.merges.model,
            {"#": "merge", "Token": "token", "Count": "count", "Bytes/token": "bytes-per-token"},
        ),
        (window.vocabulary.model, {"Id": "id", "Bytes": "byte", "Merge": "merge", "Uses": "uses"}),
        (
            window.runs.table.model(),
            {"Corpus": "corpus", "Tie rule": "tie-rule", "Own held-out": "held-out-text", "Base": "base-units"},
        ),
        (window.sizes.table.model(), {"Size (tokens)": "vocabulary", "Embedding parameters": "embedding"}),
        (window.why.model, {"Pair": "pair", "Count": "count"}),
    )
    for model, words in tables:
        heads = {model.headerData(at, across): model.headerData(at, across, tip) for at in range(model.columnCount())}
        for title, word in words.items():
            assert explained("", word) in heads[title], title
    assert explained("", "tie-rule") in window.why.tabs.tabToolTip(1)
    assert explained("", "uses") in window.distribution.tabs.tabToolTip(1)
    assert explained("", "playhead") in window.compression.bar.slider.toolTip()
    assert explained("", "bytes-per-token") in window.compression.view_button.toolTip()
    bar, at = next(
        (bar, at)
        for bar in window.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly)
        for at in range(bar.count())
        if bar.tabText(at) == "Vocabulary"
    )
    place = bar.tabRect(at).center()
    QApplication.sendEvent(bar, QHelpEvent(QEvent.Type.ToolTip, place, bar.mapToGlobal(place)))
    assert QToolTip.text() == explained("", "vocabulary")
    QToolTip.hideText()
    window.activateWindow()
    qtbot.waitUntil(lambda: QApplication.focusWidget() is not None)
    window.configure.pattern.choice.combo.setFocus()
    qtbot.keyClick(window.configure.pattern.choice.combo, Qt.Key.Key_F1)
    assert window.guide.been[-1][:2] == ("glossary", "pattern")
    window.actions_by_id["glossary"].trigger()
    assert window.guide.been[-1][:2] == ("glossary", "")
    for floating in (False, True):
        a_click_on_a_word_opens_it_where_the_guide_is_closed(qtbot, window, floating=floating)
    window.configure.setFloating(False)

    # The chosen figure, and words and marks.
    window.session.view.set_text("a b")
    window.session.corpus.add_text(TEXT)
    trained(qtbot, window)
    window.places.open(window.compare)
    label = next(label for label in window.compare.findChildren(TermLabel) if label.text() == "Figure")
    for name, word in (("fertility", "fertility"), ("bytes_per_token", "bytes-per-token"), ("renyi", "figure")):
        window.session.comparison.choose_figure(name)
        qtbot.waitUntil(lambda word=word: word_of(label) == word)
        assert label.toolTip() == explained("", word)
    window.actions_by_id["workspace_train"].trigger()
    others = window.text.encode.others
    qtbot.waitUntil(lambda: "Words and marks" in dict(others.counts))
    qtbot.waitUntil(others.isVisible)
    place = others.place_of([name for name, _ in others.counts].index("Words and marks")).center()
    assert explained("", "words-and-marks") in others.tip_at(place)
    qtbot.mouseMove(others, place)
    qtbot.mouseClick(others, Qt.MouseButton.LeftButton, pos=place)
    assert window.guide.been[-1][:2] == ("glossary", "words-and-marks")


def test_without_the_glossary_the_window_still_opens(monkeypatch, tmp_path):
    monkeypatch.setattr(glossary, "resource", lambda name: tmp_path / "none")
    read_words.cache_clear()
    try:
        assert meaning("token") == ""
    finally:
        read_words.cache_clear()
