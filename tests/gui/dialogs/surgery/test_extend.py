"""Extend on the Corpus and Fork at the Playhead: preview, bad input, and the training."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel

from tests.gui.dialogs.surgery.dialogs import GERMAN, settled, train_by
from tokstudio.core.surgery.proof import verify
from tokstudio.gui.dialogs.surgery.extend import ExtendDialog
from tokstudio.gui.dialogs.surgery.works import at_merge


@pytest.fixture
def extending(session, theme, make_run, opened):
    run = make_run(vocabulary_size=270, pattern="gpt2")
    session.corpus.set_sources(())
    session.corpus.add_text(GERMAN)
    return opened(ExtendDialog(session, run, theme, None))


def test_extending_shows_its_effect_and_trains_from_the_run(qtbot, session, extending, theme, opened):
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
    train_by(qtbot, session, extending)
    made = session.runs.active
    assert made.name == f"Run 2 ({run.name}, extended)"
    assert made.start is run.tokenizer
    assert made.vocabulary_size == 280
    assert made.log.tokens_at(len(made)) == after
    dialog = opened(ExtendDialog(session, made, theme, None))
    dialog.size_limit.number.setValue(290)
    train_by(qtbot, session, dialog)
    assert session.runs.active.name == "Run 3 (Run 2, extended)", "a short name of a run that is extended again"


def tokens_of(dialog):
    figures = {figure.name: figure for figure in dialog.effect.figures}["Tokens of the corpus"]
    return figures.before, figures.after.split(" ")[0]


def test_reserved_ids_are_filled_and_shown_before(qtbot, session, theme, make_run, opened):
    specials = ("<|endoftext|>", "<|reserved_0|>", "<|reserved_1|>")
    run = make_run(vocabulary_size=270, pattern="gpt2", special_tokens=specials)
    session.corpus.set_sources(())
    session.corpus.add_text(GERMAN)
    dialog = opened(ExtendDialog(session, run, theme, None))
    listed = [dialog.reserved.list.item(row) for row in range(dialog.reserved.list.count())]
    assert [item.text() for item in listed] == ["268  <|reserved_0|>", "269  <|reserved_1|>"]
    assert dialog.reserved.value == ()
    dialog.size_limit.number.setValue(268)
    assert dialog.size_limit.note.text() == "At least 271: the tokenizer has 270 already."
    listed[1].setCheckState(Qt.CheckState.Checked)
    assert dialog.reserved.value == ("<|reserved_1|>",)
    assert dialog.size_limit.note.text() == "At least 270: the tokenizer has 269 besides those to fill."
    dialog.size_limit.number.setValue(272)
    settled(qtbot, dialog)
    assert "Vocabulary; 270; 272;" in dialog.view.text
    ids = [line.split()[0] for line in dialog.view.tokens.toPlainText().splitlines()]
    assert ids == ["269", "270", "271"]
    begun = []
    dialog.begun.connect(lambda run, reserved: begun.append(reserved))
    train_by(qtbot, session, dialog)
    assert begun == [("<|reserved_1|>",)]
    assert session.runs.active.vocabulary_size == 273


def test_a_fork_shows_the_reserved_ids_that_it_begins_with(session, theme, make_run, opened):
    run = make_run(vocabulary_size=270, pattern="gpt2", special_tokens=("<|endoftext|>", "<|reserved_0|>"))
    dialog = opened(ExtendDialog(session, run, theme, 5))
    assert dialog.reserved.list.item(0).text() == "262  <|reserved_0|>"
    assert at_merge(run.tokenizer, 5, "gpt2").special_tokens["<|reserved_0|>"] == 262


def test_the_preview_says_what_it_counts_and_bad_sizes_and_rules_before_the_start(
    extending, qtbot, session, monkeypatch
):
    assert not extending.reserved.isVisible()
    settled(qtbot, extending)
    assert "·und" in extending.view.tokens.toPlainText()
    extending.rules.edit.setPlainText("und")
    settled(qtbot, extending)
    assert "·und" not in extending.view.tokens.toPlainText()
    extending.rules.edit.setPlainText("")
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
    assert "Tokens of the corpus; " in extending.view.text
    monkeypatch.setattr("tokstudio.gui.dialogs.surgery.works.SAMPLE", 1000)
    extending.size_limit.number.setValue(285)
    settled(qtbot, extending)
    assert "Tokens of a sample of 1.0 kB; " in extending.view.text
    extending.caption.resize(300, 40)
    extending.caption.say("x" * 400, ["270 tokens"])
    assert "x…x" in extending.caption.text()
    assert extending.caption.toolTip() == "x" * 400
    extending.result_work = extending.effect_work  # trains nothing
    for control in (extending.ties.combo, extending.longest.check, extending.reserved.list):
        with qtbot.waitSignal(extending.apply_button.clicked):
            qtbot.keyClick(control, Qt.Key.Key_Return)
        settled(qtbot, extending)


def test_the_training_need_not_wait_for_the_preview(qtbot, session, extending):
    extending.size_limit.number.setValue(280)
    assert extending.effect is None
    assert extending.apply_button.isEnabled()
    with qtbot.waitSignal(extending.begun):
        qtbot.keyClick(extending.size_limit.number, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: session.training.current is None)
    assert session.runs.active.vocabulary_size == 280


def test_a_corpus_of_which_nothing_can_be_learnt(qtbot, session, theme, make_run, opened):
    run = make_run(text="a", min_frequency=2)
    dialog = opened(ExtendDialog(session, run, theme, None))
    settled(qtbot, dialog)
    assert dialog.note.text() == "Nothing new can be learned from this corpus with these settings."
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
    train_by(qtbot, session, dialog)
    made = session.runs.active
    assert made.name == f"Run 2 ({run.name}, from merge 5)"
    assert np.array_equal(made.merges[:5], run.merges[:5])
    assert (made.pattern, made.before, made.vocabulary_size) == ("none", 5, 280)


def test_the_share_and_the_tie_rule_of_configure_are_taken_over(qtbot, session, theme, make_run, opened):
    run = make_run(vocabulary_size=270, pattern="gpt2")
    session.corpus.add_text(GERMAN.replace(". ", ".\n"))
    session.training.set_settings(replace(session.training.settings, held_out=0.2, tie_break="mapped-strings"))
    dialog = opened(ExtendDialog(session, run, theme, None))
    assert dialog.ties.value == "mapped-strings"
    settled(qtbot, dialog)
    train_by(qtbot, session, dialog)
    qtbot.waitUntil(lambda: session.training.current is None and not session.jobs.running)
    assert session.runs.active.before == len(run)
    assert session.runs.active.config.held_out == 0.2
    assert session.runs.active.held_out.tokens is not None


def test_a_fork_of_a_tokenizer_from_a_file_moves_no_id(qtbot, session, theme, make_run, opened):
    run = make_run(vocabulary_size=275, pattern="gpt2", special_tokens=("<|end|>",))
    session.runs.add_tokenizer(run.tokenizer.changed(), "opened")
    session.corpus.add_text(GERMAN)
    entry = session.runs.all[-1]
    session.runs.activate(entry)
    dialog = opened(ExtendDialog(session, entry, theme, 5))
    assert any("All ids stay" in label.text() for label in dialog.findChildren(QLabel))
    dialog.size_limit.number.setValue(270)
    settled(qtbot, dialog)
    train_by(qtbot, session, dialog)
    made = session.runs.active.tokenizer
    assert made.special_tokens == entry.tokenizer.special_tokens
    first = len(entry.tokenizer.tokens)
    assert made.merge_results.tolist() == [*range(256, 261), *range(first, first + 8)]
    assert verify(made).holds


def test_the_last_new_token_in_sight_is_whole(qtbot, extending):
    settled(qtbot, extending)
    tokens = extending.view.tokens
    tokens.setPlainText("\n".join(f"{number}  漢字 bbbb" for number in range(60)))
    for height in range(100, 124, 3):
        tokens.setFixedHeight(height)
        room = tokens.viewport().height

        def ends_whole(height=height, room=room) -> bool:
            seen = [each for each in tokens._lines() if each[0] < room()]
            return tokens.height() == height and len(seen) > 2 and seen[-1][1] <= room()

        qtbot.waitUntil(ends_whole)
