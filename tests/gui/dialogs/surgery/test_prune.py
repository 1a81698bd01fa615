"""Prune: preview, bad input, and what it makes."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import Qt

from tests.gui.dialogs.surgery.dialogs import made_by, settled
from tests.gui.person import PATIENCE, TEXT
from tokstudio.gui.dialogs.surgery.prune import SCRIPT, SIZE, TOKENS, USES, PruneDialog


@pytest.fixture
def pruning(session, theme, make_run, opened):
    run = make_run(TEXT + "кот и кот и кот", vocabulary_size=300, pattern="gpt2")
    return opened(PruneDialog(session, run, theme))


def test_pruning_to_a_size(qtbot, session, pruning):
    run = session.runs.active
    pruning.size_limit.setValue(len(run.tokenizer) - 3)
    settled(qtbot, pruning)
    assert pruning.view.heading.text() == "3 tokens go, the first:"
    assert len(pruning.view.tokens.toPlainText().splitlines()) == 3
    changed = made_by(qtbot, pruning)
    assert len(changed.tokenizer) == len(run.tokenizer) - 3
    assert changed.name == f"{run.name}, pruned to {len(changed.tokenizer)}"
    assert changed.tokenizer.origin.old is run.tokenizer


def test_another_size_takes_the_beginning_of_the_same_order(qtbot, session, pruning):
    size = len(session.runs.active.tokenizer)
    pruning.size_limit.setValue(size - 5)
    settled(qtbot, pruning)
    five = pruning.view.tokens.toPlainText().splitlines()
    pruning.size_limit.setValue(size - 3)
    settled(qtbot, pruning)
    assert [line.split()[0] for line in pruning.view.tokens.toPlainText().splitlines()] == [
        line.split()[0] for line in five[:3]
    ]
    pruning.uses.combo.setCurrentIndex(2)
    settled(qtbot, pruning)
    assert "×" not in pruning.view.tokens.toPlainText()


def test_sizes_that_cannot_be_reached_are_said(qtbot, pruning):
    settled(qtbot, pruning)
    assert pruning.view.tokens.isVisible()
    pruning.size_limit.setValue(100)
    assert not pruning.view.tokens.isVisible(), "no empty box"
    assert pruning.fields[SIZE].is_invalid
    assert pruning.size_limit.property("invalid") == "true"
    assert pruning.fields[SIZE].note.text() == "At least 256: the 256 bytes and 0 special tokens stay."
    assert not pruning.apply_button.isEnabled()
    pruning.size_limit.setValue(5000)
    assert pruning.fields[SIZE].note.text().startswith("At most ")
    pruning.least.setValue(0)
    assert not pruning.fields[SIZE].is_invalid
    assert pruning.fields[USES].note.text() == "At least 1: no token is used fewer times than 0."
    assert not pruning.apply_button.isEnabled()
    assert pruning.apply_button.toolTip() == pruning.fields[USES].note.text()


def test_pruning_need_not_wait_for_the_preview(qtbot, session, pruning):
    pruning.size_limit.setValue(len(session.runs.active.tokenizer) - 3)
    assert pruning.effect is None
    with qtbot.waitSignal(pruning.made, timeout=PATIENCE) as signal:
        qtbot.keyClick(pruning.size_limit, Qt.Key.Key_Return)
    assert len(signal.args[0].tokenizer) == len(session.runs.active.tokenizer) - 3


def test_pruning_that_would_remove_nothing_is_refused_and_can_be_changed(qtbot, pruning):
    names = [choice.value for choice in pruning.script.choices]
    pruning.script.setCurrentIndex(names.index("Thai"))
    qtbot.mouseClick(pruning.apply_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: pruning.note.text() == "Nothing would be removed.", timeout=PATIENCE)
    assert not pruning.apply_button.isEnabled()
    pruning.ways.button(SIZE).setChecked(True)
    assert pruning.apply_button.isEnabled()


def test_pruning_by_use_and_by_script_with_ids_that_stay(qtbot, session, pruning):
    run = session.runs.active
    pruning.least.setValue(10)
    assert pruning.ways.checkedId() == USES
    pruning.ids.combo.setCurrentIndex(1)
    settled(qtbot, pruning)
    uses = run.uses.at(len(run))
    gone = np.setdiff1d(run.tokenizer.tokens.ids(), made_by(qtbot, pruning).tokenizer.tokens.ids())
    assert len(gone)
    assert (uses[gone] < 10).all()
    names = [choice.value for choice in pruning.script.choices]
    pruning.script.setCurrentIndex(names.index("Cyrillic"))
    assert pruning.ways.checkedId() == SCRIPT
    settled(qtbot, pruning)
    left = [token.decode("utf-8", "replace") for token in made_by(qtbot, pruning).tokenizer.tokens if token]
    assert not any("кот" in token for token in left)


def test_selected_tokens_alone_go(qtbot, session, theme, make_run, opened):
    run = make_run(vocabulary_size=280, pattern="gpt2")
    last = int(run.tokenizer.merge_results[-1])
    dialog = opened(PruneDialog(session, run, theme, (last,), these=True))
    assert dialog.ways.checkedId() == TOKENS
    settled(qtbot, dialog)
    assert not made_by(qtbot, dialog).tokenizer.tokens.in_use(last)


def test_without_a_selection_only_three_ways_can_be_chosen(pruning):
    assert not pruning.ways.button(TOKENS).isEnabled()
    assert pruning.ways.checkedId() == SIZE
