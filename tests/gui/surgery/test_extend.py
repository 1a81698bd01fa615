"""Extend on the Corpus and Fork at the Playhead: preview, bad input, and the training."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.gui.person import PATIENCE
from tests.gui.surgery.dialogs import GERMAN, settled, train_by
from tokstudio.gui.surgery.extend import ExtendDialog


@pytest.fixture
def extending(session, theme, make_run, opened):
    run = make_run(vocabulary_size=270, pattern="gpt2")
    session.corpus.set_sources(())
    session.corpus.add_text(GERMAN)
    return opened(ExtendDialog(session, run, theme, None))


def test_extending_shows_its_effect_and_trains_from_the_run(qtbot, session, extending):
    settled(qtbot, extending)
    run = session.runs.active
    assert extending.size_limit.value == 270 + 1000
    assert extending.apply_button.isEnabled()
    assert "Vocabulary; 270;" in extending.view.text
    assert extending.view.tokens.toPlainText().splitlines()[0].startswith("270  ")
    extending.size_limit.number.setValue(280)
    settled(qtbot, extending)
    before, after = (int(text.replace(",", "")) for text in tokens_of(extending))
    assert after < before
    train_by(qtbot, extending)
    made = session.runs.active
    assert made.name == f"Run 2 ({run.name}, extended)"
    assert made.start is run.tokenizer
    assert made.vocabulary_size == 280
    assert made.log.tokens_at(len(made)) == after


def test_a_run_that_is_extended_again_has_a_short_name(qtbot, session, extending, theme, opened):
    for vocabulary, name in ((280, "Run 2 (Run 1, extended)"), (290, "Run 3 (Run 2, extended)")):
        dialog = extending if vocabulary == 280 else opened(ExtendDialog(session, session.runs.active, theme, None))
        dialog.size_limit.number.setValue(vocabulary)
        settled(qtbot, dialog)
        train_by(qtbot, dialog)
        assert session.runs.active.name == name


def tokens_of(dialog):
    figures = {figure.name: figure for figure in dialog.effect.figures}["Tokens of the corpus"]
    return figures.before, figures.after.split(" ")[0]


def test_bad_sizes_and_rules_are_said_before_the_start(qtbot, extending):
    extending.size_limit.number.setValue(265)
    assert extending.size_limit.note.text() == "At least 271: the tokenizer has 270 already."
    assert not extending.apply_button.isEnabled()
    extending.size_limit.number.setValue(280)
    assert not extending.size_limit.is_invalid
    extending.rules.edit.setPlainText("(")
    assert extending.rules.note.text().startswith("Forbidden tokens: ")
    assert not extending.apply_button.isEnabled()
    assert extending.apply_button.toolTip() == extending.rules.note.text()
    extending.rules.edit.setPlainText("")
    settled(qtbot, extending)
    assert extending.apply_button.isEnabled()


def test_forbidden_tokens_are_not_learnt(qtbot, extending):
    settled(qtbot, extending)
    assert "·und" in extending.view.tokens.toPlainText()
    extending.rules.edit.setPlainText("und")
    settled(qtbot, extending)
    assert "·und" not in extending.view.tokens.toPlainText()


def test_a_corpus_of_which_nothing_can_be_learnt(qtbot, session, theme, make_run, opened):
    run = make_run(text="a", min_frequency=2)
    dialog = opened(ExtendDialog(session, run, theme, None))
    settled(qtbot, dialog)
    assert dialog.note.text() == "Nothing new can be learnt from this corpus with these settings."
    assert not dialog.apply_button.isEnabled()


def test_a_fork_keeps_the_merges_up_to_the_playhead_and_takes_another_pattern(qtbot, session, theme, make_run, opened):
    run = make_run(vocabulary_size=270, pattern="gpt2")
    dialog = opened(ExtendDialog(session, run, theme, 5))
    dialog.pattern.combo.setEditText("[")
    assert dialog.pattern.is_invalid
    assert not dialog.apply_button.isEnabled()
    dialog.pattern.combo.setEditText("none")
    dialog.size_limit.number.setValue(280)
    settled(qtbot, dialog)
    train_by(qtbot, dialog)
    made = session.runs.active
    assert made.name == f"Run 2 ({run.name}, from merge 5)"
    assert np.array_equal(made.merges[:5], run.merges[:5])
    assert (made.pattern, made.before, made.vocabulary_size) == ("none", 5, 280)


def test_the_share_of_configure_is_held_out(qtbot, session, theme, make_run, opened):
    run = make_run(vocabulary_size=270, pattern="gpt2")
    session.corpus.add_text(GERMAN.replace(". ", ".\n"))
    session.training.set_settings(replace(session.training.settings, held_out=0.2))
    dialog = opened(ExtendDialog(session, run, theme, None))
    settled(qtbot, dialog)
    train_by(qtbot, dialog)
    qtbot.waitUntil(lambda: session.training.current is None and not session.jobs.running, timeout=PATIENCE)
    assert session.runs.active.before == len(run)
    assert session.runs.active.config.held_out == 0.2
    assert session.runs.active.held_out.tokens is not None
