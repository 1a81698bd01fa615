"""Long tokens in the window: Find, filters and tables use all of their bytes."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import random

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication

from tests.gui.person import PATIENCE, at_window
from tokstudio.gui.find.finder import MOST
from tokstudio.gui.session.training.training import Settings
from tokstudio.gui.token_table import search as token_search

pytestmark = pytest.mark.usefixtures("unstyled")

KEYS = Qt.KeyboardModifier
LINE = "".join(random.Random(5).choices("abcdefghijklmnopqrstuvwxyz", k=1300))
PIECE = LINE[900:930]


@pytest.fixture
def twice(tmp_path):
    path = tmp_path / "twice.txt"
    path.write_text(f"{LINE}\n{LINE}\n")
    return path


def train(qtbot, window):
    session = window.session
    qtbot.waitUntil(lambda: bool(session.corpus.sources), timeout=PATIENCE)
    session.training.set_settings(Settings(vocabulary_size=None, min_frequency=2, pattern="none"))
    window.actions_by_id["train"].trigger()
    qtbot.waitUntil(lambda: session.training.current is None and session.runs.active is not None, timeout=PATIENCE)
    qtbot.waitUntil(window.isActiveWindow)
    return session.runs.active.tokenizer.tokens


def listed(pane):
    return {pane.model.token_at(row) for row in range(pane.model.rowCount())}


def holding(tokens, piece):
    return {token for token in range(len(tokens)) if piece in tokens[token]}


def look_at_vocabulary(qtbot, window):
    pane = window.vocabulary
    pane.raise_()
    qtbot.waitUntil(lambda: pane.seen and pane.model.tokens.index is not None, timeout=PATIENCE)
    return pane


@at_window("{twice}")
def test_find_and_filters_find_text_deep_in_a_token_and_the_token_of_a_byte(qtbot, twice, window, monkeypatch):
    tokens = train(qtbot, window)
    qtbot.keyClick(window, Qt.Key.Key_F, KEYS.ControlModifier)
    box, model = window.finder.box, window.finder.model
    qtbot.keyClicks(box, PIECE)
    wanted = holding(tokens, PIECE.encode())
    assert len(wanted) > 20
    assert max(len(tokens[token]) for token in wanted) >= 1000
    qtbot.waitUntil(lambda: model.rowCount() == min(len(wanted), MOST), timeout=PATIENCE)
    found = [model.token_at(row) for row in range(model.rowCount())]
    assert set(found) <= wanted
    box.selectAll()
    qtbot.keyClicks(box, LINE[:250])
    begun = [token for token in range(len(tokens)) if tokens[token].startswith(LINE[:250].encode())][:MOST]
    assert begun
    qtbot.waitUntil(
        lambda: [model.token_at(row) for row in range(model.rowCount())][: len(begun)] == begun, timeout=PATIENCE
    )
    box.selectAll()
    qtbot.keyClicks(box, "c3")
    byte = next(token for token in range(len(tokens)) if tokens[token] == b"\xc3")
    qtbot.waitUntil(lambda: model.rowCount() == 1 and model.token_at(0) == byte, timeout=PATIENCE)
    merges = window.merges
    qtbot.keyClick(QApplication.focusWidget() or window, Qt.Key.Key_F, KEYS.ControlModifier | KEYS.ShiftModifier)
    assert merges.filter.hasFocus()
    for typed in (PIECE, f"/{PIECE}/"):
        merges.filter.clear()
        qtbot.waitUntil(lambda: not merges.busy() and merges.model.rowCount() > len(wanted), timeout=PATIENCE)
        qtbot.keyClicks(merges.filter, typed)
        qtbot.waitUntil(lambda: not merges.busy() and merges.model.rowCount() == len(wanted), timeout=PATIENCE)
        assert listed(merges) == wanted, typed
    pane = look_at_vocabulary(qtbot, window)
    for typed in (PIECE, PIECE.encode().hex(" "), f"/{PIECE[:20]}[a-z]{{3}}{PIECE[23:]}/"):
        pane.filter.clear()
        qtbot.waitUntil(lambda: pane.model.rowCount() == len(tokens), timeout=PATIENCE)
        qtbot.keyClicks(pane.filter, typed)
        qtbot.waitUntil(lambda: pane.note.text() == f"{len(wanted):,} of {len(tokens):,}", timeout=PATIENCE)
        assert listed(pane) == wanted, typed
        assert not pane.limit.isVisible()
    pane.filter.clear()
    qtbot.keyClicks(pane.filter, "C3")
    qtbot.waitUntil(lambda: listed(pane) == {byte}, timeout=PATIENCE)
    monkeypatch.setattr(token_search, "ROOM", 0)
    long = sum(len(tokens[token]) >= 256 for token in range(len(tokens)))
    assert long > 1
    said = f"For {long:,} very long tokens, only the first 256 bytes were searched."
    for pane in (look_at_vocabulary(qtbot, window), window.merges):
        pane.raise_()
        qtbot.waitUntil(lambda pane=pane: pane.seen)
        pane.filter.clear()
        qtbot.keyClicks(pane.filter, "/q/")
        qtbot.waitUntil(lambda pane=pane: pane.limit.text() == said, timeout=PATIENCE)
        assert pane.limit.isVisible()
        pane.filter.clear()
        qtbot.waitUntil(lambda pane=pane: not pane.limit.isVisible(), timeout=PATIENCE)
