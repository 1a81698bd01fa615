"""The controls: what a closed choice shows, and how a typed number is read."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import pytest
from PySide6.QtCore import QLocale, Qt
from PySide6.QtWidgets import QStyleOptionComboBox

from tokstudio.gui.widgets.controls import Choice, ChoiceBox, Decimal, Percent


def shown(box: ChoiceBox) -> str:
    option = QStyleOptionComboBox()
    box.initStyleOption(option)
    return box.shown_name(option)


def test_a_narrow_choice_shows_what_tells_its_name_from_the_others(qtbot):
    names = ("Plain tokenizer of bytes", "SentencePiece BPE", "SentencePiece Unigram")
    box = ChoiceBox([Choice(name, name, "A meaning.") for name in names])
    qtbot.addWidget(box)
    metrics = box.fontMetrics()
    box.resize(600, 30)
    seen = []
    for number in range(3):
        box.setCurrentIndex(number)
        seen.append(shown(box))
    assert seen == list(names)
    box.resize(metrics.horizontalAdvance("SentencePiece") + 30, 30)
    seen = []
    for number in range(3):
        box.setCurrentIndex(number)
        seen.append(shown(box))
    assert seen[0].startswith("Plain")
    assert seen[1].startswith("…")
    assert seen[1].endswith(" BPE")
    assert seen[2].endswith("igram")


@pytest.fixture(params=["de_DE", "fr_FR", "en_US"])
def language(request):
    before = QLocale()
    QLocale.setDefault(QLocale(request.param))
    yield
    QLocale.setDefault(before)


@pytest.mark.usefixtures("language")
def test_a_comma_and_a_point_stand_before_decimals_in_every_language(qtbot):
    cases = {"0,5": 0.5, "0.5": 0.5, "12,25": 12.25, ",5": 0.5, "1,000": 1, "0,,5": 0.5, "0,5,": 0.5, "0,5.2": 0.52}
    for make in (Percent, lambda: Decimal(1000)):
        box = make()
        qtbot.addWidget(box)
        for typed, value in cases.items():
            box.setValue(7)
            box.selectAll()
            qtbot.keyClicks(box, typed)
            assert "," not in box.lineEdit().text(), "the comma is shown as it is read"
            qtbot.keyClick(box, Qt.Key.Key_Return)
            assert box.value() == value, typed
            assert box.cleanText() == f"{value:g}", typed
