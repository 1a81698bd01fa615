"""The controls: what a closed choice shows."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from PySide6.QtWidgets import QStyleOptionComboBox

from tokstudio.gui.widgets.controls import Choice, ChoiceBox


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
