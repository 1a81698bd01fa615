"""The vocabulary of Picky BPE at the playhead: removed tokens are not listed, in any order and with any filter."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from PySide6.QtCore import Qt

from tests.gui.person import PATIENCE
from tests.gui.picky import trained
from tokstudio.gui.panes.vocabulary.pane import VocabularyPane
from tokstudio.gui.panes.vocabulary.selection import ID, MERGE, TOKEN, USES


@pytest.fixture
def pane(session, theme, actions, dock) -> VocabularyPane:
    pane = VocabularyPane(session, theme, actions)
    dock(pane, 760, 320)
    return pane


@pytest.fixture
def run(qtbot, session, pane):
    return trained(qtbot, session)


def ids(qtbot, pane) -> list[int]:
    # Orders other than that of making follow a little later.
    qtbot.waitUntil(lambda: not pane.model._later.isActive() and not pane.model.searching, timeout=PATIENCE)
    return [pane.model.token_at(row) for row in range(pane.model.rowCount())]


@pytest.mark.parametrize("order", [Qt.SortOrder.AscendingOrder, Qt.SortOrder.DescendingOrder])
def test_only_tokens_that_are_there_are_listed_in_the_order_of_any_column(qtbot, pane, session, run, order):
    for column, merges in product((ID, MERGE, TOKEN, USES), (len(run), 3, 40, 41, 39, 0, len(run))):
        if merges == len(run):
            pane.table.sortByColumn(column, order)
        session.view.set_playhead(merges)
        expected = run.tokenizer.at(merges).tokens.ids().tolist()
        listed = ids(qtbot, pane)
        assert sorted(listed) == expected, (column, merges)
        if column in (ID, MERGE):
            descending = order == Qt.SortOrder.DescendingOrder
            made = sorted((each for each in listed if each >= run.base_size), reverse=descending)
            assert [each for each in listed if each >= run.base_size] == made, (column, merges)
        assert pane.total() == len(expected)


def test_a_filter_finds_no_removed_token(qtbot, pane, session, run):
    gone = next(token for token in range(run.base_size, run.base_size + len(run)) if run.removals.removed_by(token))
    pane.filter.setText(str(gone))
    assert gone not in ids(qtbot, pane)
    session.view.set_playhead(run.removals.removed_by(gone) - 1)
    assert gone in ids(qtbot, pane)
    session.view.set_playhead(run.removals.removed_by(gone))
    assert gone not in ids(qtbot, pane)


def test_uses_are_those_of_the_corpus(qtbot, pane, session, run):
    session.view.set_playhead(60)
    text = bytes(session.corpus.sources[0].data).decode()
    counts = np.bincount(run.tokenizer.at(60).encode(text), minlength=run.base_size + 60)
    listed = ids(qtbot, pane)
    shown = [int(pane.model.index(row, USES).data().replace(",", "")) for row in range(len(listed))]
    assert shown == counts[listed].tolist()


def test_it_follows_a_growing_run(qtbot, pane, session):
    run = trained(qtbot, session)
    assert sorted(ids(qtbot, pane)) == run.tokenizer.tokens.ids().tolist()
    assert session.view.playhead == len(run)
