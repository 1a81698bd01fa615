"""What panes say before there is a tokenizer."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import pytest
from PySide6.QtWidgets import QLabel

from tokstudio.gui.panes.compare.pane import ComparePane
from tokstudio.gui.panes.distribution import DistributionPane
from tokstudio.gui.panes.merges import MergesPane
from tokstudio.gui.panes.runs.pane import RunsPane
from tokstudio.gui.panes.sizes.pane import SizesPane
from tokstudio.gui.panes.token.pane import TokenPane
from tokstudio.gui.panes.vocabulary.pane import VocabularyPane
from tokstudio.gui.panes.why.pane import WhyPane


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (ComparePane, "train or open your own"),
        (DistributionPane, "The lengths and the uses of the tokens"),
        (MergesPane, "Merges appear here"),
        (RunsPane, "Every run is kept here. You can compare, rename or delete it."),
        (SizesPane, "Train"),
        (TokenPane, "Point at a token"),
        (VocabularyPane, "vocabulary"),
        (WhyPane, "Train a tokenizer, and choose a merge"),
    ],
)
def test_an_empty_pane_explains_itself(session, theme, actions, show, kind, words):
    pane = kind(session, theme, actions)
    show(pane, 700, 400)
    assert any(words in label.text() for label in pane.findChildren(QLabel) if label.isVisible())
