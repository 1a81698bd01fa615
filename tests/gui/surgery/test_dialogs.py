"""The dialogs of the Tokenizer menu: their previews, bad input, what they make, and the proof."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import Qt

from tests.gui.person import PATIENCE, TEXT, Answers
from tokstudio import Corpus, TrainingConfig, embedding_map, extend, train
from tokstudio.gui.session.preferences import Preferences
from tokstudio.gui.surgery.extend import ExtendDialog
from tokstudio.gui.surgery.proof import OF_CORPUS, OF_FILE, OF_TEXT, ProofDialog
from tokstudio.gui.surgery.prune import SCRIPT, SIZE, TOKENS, USES, PruneDialog
from tokstudio.gui.surgery.specials import ID, TOKEN, SpecialsDialog
from tokstudio.gui.surgery.works import Changed, at_merge

GERMAN = "der Hund und die Katze und der Vogel sind im Garten und der Hund bellt. " * 40


@pytest.fixture
def opened(qtbot):
    shown = []

    def opened(dialog):
        qtbot.addWidget(dialog)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
        shown.append(dialog)
        dialog.show()
        qtbot.waitExposed(dialog)
        return dialog

    yield opened
    for dialog in shown:
        dialog.close()


def settled(qtbot, dialog):
    def is_settled():
        assert not dialog._job.busy
        assert not dialog._later.isActive()

    qtbot.waitUntil(is_settled, timeout=PATIENCE)


def made_by(qtbot, dialog):
    """Presses the main button, and gives what the dialog hands over."""
    with qtbot.waitSignal(dialog.made, timeout=PATIENCE) as signal:
        qtbot.mouseClick(dialog.apply_button, Qt.MouseButton.LeftButton)
    (changed,) = signal.args
    assert isinstance(changed, Changed)
    return changed


# ---- extend and fork


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
    qtbot.mouseClick(extending.apply_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: session.training.current is None, timeout=PATIENCE)
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
        qtbot.mouseClick(dialog.apply_button, Qt.MouseButton.LeftButton)
        qtbot.waitUntil(lambda: session.training.current is None, timeout=PATIENCE)
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
    qtbot.mouseClick(dialog.apply_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: session.training.current is None, timeout=PATIENCE)
    made = session.runs.active
    assert made.name == f"Run 2 ({run.name}, from merge 5)"
    assert np.array_equal(made.merges[:5], run.merges[:5])
    assert (made.pattern, made.before, made.vocabulary_size) == ("none", 5, 280)


# ---- prune


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


def test_sizes_that_cannot_be_reached_are_said(pruning):
    pruning.size_limit.setValue(100)
    assert pruning.note.text() == "At least 256: the 256 bytes and 0 special tokens stay."
    assert not pruning.apply_button.isEnabled()
    pruning.size_limit.setValue(5000)
    assert pruning.note.text().startswith("At most ")


def test_pruning_by_use_and_by_script_with_ids_that_stay(qtbot, session, pruning):
    run = session.runs.active
    pruning.least.setValue(10)
    assert pruning.ways.checkedId() == USES
    pruning.ids.combo.setCurrentIndex(1)
    settled(qtbot, pruning)
    uses = run.uses(len(run))
    gone = np.setdiff1d(run.tokenizer.tokens.ids(), pruning.effect.made.tokenizer.tokens.ids())
    assert len(gone)
    assert (uses[gone] < 10).all()
    names = [choice.value for choice in pruning.script.choices]
    pruning.script.setCurrentIndex(names.index("Cyrillic"))
    assert pruning.ways.checkedId() == SCRIPT
    settled(qtbot, pruning)
    left = [token.decode("utf-8", "replace") for token in pruning.effect.made.tokenizer.tokens if token]
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


# ---- special tokens


@pytest.fixture
def specials(session, theme, make_run, opened):
    run = make_run(vocabulary_size=280, pattern="gpt2", special_tokens=("<|end|>", "<|reserved_0|>"))
    return opened(SpecialsDialog(session, run, theme))


def edit(dialog, row, column, text):
    dialog.model.setData(dialog.model.index(row, column), text)


def test_special_tokens_are_renamed_added_and_get_roles(qtbot, session, specials):
    run = session.runs.active
    assert not specials.apply_button.isEnabled()
    settled(qtbot, specials)
    assert specials.note.text().startswith("Nothing is changed yet")
    edit(specials, 1, TOKEN, "<|user|>")
    qtbot.mouseClick(specials.add_button, Qt.MouseButton.LeftButton)
    assert specials.model.rows[2].id == len(run.tokenizer)
    specials.table.setFocus()
    edit(specials, 2, TOKEN, "<|pad|>")
    edit(specials, 2, ID, "290")
    specials.role.setCurrentIndex(specials.role.findData("pad_token"))
    specials._set_role()
    settled(qtbot, specials)
    assert specials.note.text() == ""
    assert specials.view.tokens.toPlainText().splitlines() == [
        "<|reserved_0|> becomes <|user|>",
        "<|pad|> is added with the id 290",
        "<|pad|> is pad",
    ]
    made = made_by(qtbot, specials).tokenizer
    ids = run.special_tokens
    assert made.special_tokens == {"<|end|>": ids["<|end|>"], "<|user|>": ids["<|reserved_0|>"], "<|pad|>": 290}
    assert made.roles["pad_token"] == "<|pad|>"
    assert made.origin.old is run.tokenizer


def test_special_tokens_that_cannot_be_are_said(qtbot, specials):
    edit(specials, 1, TOKEN, "<|end|>")
    settled(qtbot, specials)
    assert specials.note.text() == 'Two special tokens cannot both be "<|end|>".'
    assert not specials.apply_button.isEnabled()
    edit(specials, 1, TOKEN, "<|reserved_0|>")
    qtbot.mouseClick(specials.add_button, Qt.MouseButton.LeftButton)
    edit(specials, 2, ID, "5")
    settled(qtbot, specials)
    assert "is not free" in specials.note.text()
    specials.table.setCurrentIndex(specials.model.index(2, 0))
    qtbot.mouseClick(specials.remove_button, Qt.MouseButton.LeftButton)
    assert len(specials.model.rows) == 2


# ---- the proof


@pytest.fixture
def proving(qtbot, session, theme, make_run, opened, tmp_path):
    run = make_run(vocabulary_size=280, pattern="gpt2")
    dialog = opened(PruneDialog(session, run, theme))
    dialog.size_limit.setValue(270)
    settled(qtbot, dialog)
    session.runs.add_tokenizer(made_by(qtbot, dialog).tokenizer, "pruned")
    session.view.set_text("the cat sat\nx y z\nthe rat")
    answers = Answers()
    proof = opened(ProofDialog(session, session.runs.active, theme, Preferences(tmp_path / "p.ini"), answers))
    qtbot.waitUntil(lambda: proof.proof is not None and not proof._proofs.busy, timeout=PATIENCE)
    return proof, answers


def test_the_nine_points_hold_and_changed_lines_stand_side_by_side(qtbot, proving):
    proof, _ = proving
    assert proof.verdict.text() == "All 9 points hold."
    assert len(proof.labels) == 18
    changed = [line.number for line in proof.model.lines]
    assert changed
    assert 2 not in changed
    assert proof.model.lines[0].before != proof.model.lines[0].after
    assert "·" in proof.model.lines[0].before + proof.model.lines[-1].before
    choose(qtbot, proof, 1)
    assert proof.verdict.text() == "All 9 points hold."


def choose(qtbot, proof, row):
    """Chooses a reference text as a person does."""
    proof.reference.setCurrentIndex(row)
    proof.reference.activated.emit(row)
    qtbot.waitUntil(lambda: not proof._proofs.busy, timeout=PATIENCE)


def test_the_lines_of_a_file_are_compared(qtbot, proving, tmp_path):
    proof, answers = proving
    book = tmp_path / "book.txt"
    book.write_text("x y z\n" * 9 + "the cat sat\nthe rat\n")
    before = len(proof.model.lines)
    answers.files = []
    choose(qtbot, proof, 2)
    assert proof.reference.currentIndex() == 0  # nothing was chosen: the last text stays
    answers.files = [book]
    choose(qtbot, proof, 2)
    assert [proof.reference.itemText(row) for row in range(4)] == [OF_TEXT, OF_CORPUS, "book.txt", OF_FILE]
    assert proof.reference.currentText() == "book.txt"
    assert f"{before} of 11 lines" in proof.proof.points[5].sentence
    assert {line.number for line in proof.model.lines} <= {10, 11}
    assert len(proof.model.lines) == before > 0


def test_the_embedding_map_is_written_and_its_lines_are_copied(qtbot, qapp, proving, tmp_path):
    proof, answers = proving
    answers.target = tmp_path / "map"
    qtbot.mouseClick(proof.map_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: proof.note.text() == "Wrote map.npz.", timeout=PATIENCE)
    with np.load(tmp_path / "map.npz") as table:
        assert int(table["size"]) == 270
    qtbot.mouseClick(proof.python_button, Qt.MouseButton.LeftButton)
    assert "resize_token_embeddings" in qapp.clipboard().text()
    assert str(tmp_path / "map.npz") in qapp.clipboard().text()


def test_before_and_after_are_asked_to_be_compared(qtbot, session, proving):
    proof, _ = proving
    with qtbot.waitSignal(proof.compareAsked) as signal:
        qtbot.mouseClick(proof.compare_button, Qt.MouseButton.LeftButton)
    old, run = signal.args
    assert old is session.runs.all[0].tokenizer
    assert run.name == "pruned"


def test_the_share_of_configure_is_held_out(qtbot, session, theme, make_run, opened):
    run = make_run(vocabulary_size=270, pattern="gpt2")
    session.corpus.add_text(GERMAN.replace(". ", ".\n"))
    session.training.set_settings(replace(session.training.settings, held_out=0.2))
    dialog = opened(ExtendDialog(session, run, theme, None))
    settled(qtbot, dialog)
    qtbot.mouseClick(dialog.apply_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: session.training.current is None and not session.jobs.running, timeout=PATIENCE)
    assert session.runs.active.before == len(run)
    assert session.runs.active.config.held_out == 0.2
    assert session.runs.active.held_out.tokens is not None


def test_the_map_of_a_fork_is_of_the_whole_tokenizer():
    whole = train(Corpus.from_text(GERMAN * 9), TrainingConfig(vocabulary_size=280, special_tokens=["<|a|>"]))
    start = at_merge(whole, 5, "gpt2")
    forked = extend(start, Corpus.from_text("x y x y x y"), TrainingConfig(vocabulary_size=264, pattern="gpt2"))
    assert forked.special_tokens == {"<|a|>": 261}
    table = embedding_map(forked)
    assert table.before == 280
    row = table.old_ids.tolist().index(whole.special_tokens["<|a|>"])
    assert table.new_ids[row] == 261
