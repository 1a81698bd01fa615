"""From the menu Tokenizer to Runs, and back from a project; tokens that are forbidden or pruned from the Vocabulary."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QItemSelectionModel, Qt
from PySide6.QtWidgets import QMenu

from tests.gui.dialogs.surgery.dialogs import settled
from tests.gui.person import TEXT, at_window, quiet
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.pretokenization.preparation import Preparation
from tokstudio.gui.dialogs.surgery.extend import ExtendDialog
from tokstudio.gui.dialogs.surgery.proof import ProofDialog
from tokstudio.gui.dialogs.surgery.prune import TOKENS, PruneDialog
from tokstudio.gui.dialogs.surgery.specials import TOKEN, SpecialsDialog
from tokstudio.gui.session.availability import why_no_counts
from tokstudio.gui.state.training_settings import Settings
from tokstudio.gui.widgets.menus import Menu

pytestmark = pytest.mark.usefixtures("unstyled")

MENU = ("extend_tokenizer", "fork_tokenizer", "prune_tokenizer", "change_specials")
OF_TOKENS = ("forbid_tokens", "prune_tokens")


def begun(qtbot, window, settings):
    """Trains on a text."""
    session = window.session
    session.corpus.add_text(TEXT)
    session.training.set_settings(settings)
    qtbot.waitUntil(lambda: session.training.obstacle is None)
    session.training.start()
    quiet(qtbot, window)
    return session.runs.active


def emptied(window):
    window.session.runs.replace_all([])
    window.session.corpus.set_sources(())


def asked(qtbot, window, action, kind):
    """Triggers an action, and gives its dialog when it knows its effect."""
    window.actions_by_id[action].trigger()
    dialog = next(each for each in window.findChildren(kind) if each.isVisible())
    settled(qtbot, dialog)
    return dialog


def proved(qtbot, window):
    """Waits for the proof that is shown, and gives its dialog."""

    def known():
        found[:] = [each for each in window.findChildren(ProofDialog) if each.isVisible() and each.proof is not None]
        return bool(found)

    found = []
    qtbot.waitUntil(known)
    return found[0]


def tokens_of_the_vocabulary_are_forbidden_and_pruned(qtbot, window):
    by_id = window.actions_by_id
    for name in (*MENU, *OF_TOKENS, "show_proof"):
        assert not by_id[name].isEnabled()
        assert by_id[name].toolTip() == by_id[name].statusTip() == "Train a tokenizer first, or open one."
    menus = window.findChildren(QMenu)  # that of the bar without a title is Qt's own
    assert all(isinstance(menu, Menu) for menu in menus if menu.title() or menu.parent() is not window.menuBar())
    begun(qtbot, window, Settings(270, pattern="gpt2"))
    quiet(qtbot, window)
    assert all(by_id[name].isEnabled() for name in MENU)
    assert by_id["prune_tokenizer"].statusTip().startswith("Remove ")
    assert by_id["show_proof"].toolTip() == "This tokenizer was not made from another."
    window.session.view.look_at(5)
    assert by_id["forbid_tokens"].toolTip().startswith("Select a token that a merge makes")
    window.session.corpus.set_sources(())
    assert by_id["extend_tokenizer"].toolTip() == "Open a text first."
    assert by_id["prune_tokenizer"].isEnabled()
    begun(qtbot, window, Settings(30, base="characters"))
    assert "made of characters" in by_id["extend_tokenizer"].toolTip()
    session = window.session
    run = begun(qtbot, window, Settings(270, pattern="gpt2"))
    window.places.open(window.vocabulary)
    quiet(qtbot, window)
    table = window.vocabulary.table
    flags = QItemSelectionModel.SelectionFlag
    table.setCurrentIndex(table.model().index(0, 0))
    table.selectionModel().select(table.model().index(1, 0), flags.Select | flags.Rows)
    ids = window.vocabulary.selected_tokens()
    assert len(ids) == 2
    dialog = asked(qtbot, window, "prune_tokens", PruneDialog)
    assert dialog.ways.checkedId() == TOKENS
    assert dialog.effect.heading.startswith("2 tokens go")
    dialog.reject()
    texts = [run.tokenizer.tokens[each] for each in ids]
    window.actions_by_id["forbid_tokens"].trigger()
    quiet(qtbot, window)
    assert len(session.training.settings.forbidden) == 2
    assert session.runs.active is not run
    assert not set(texts) & set(session.runs.active.tokenizer.tokens)
    assert window.configure.more.named["forbidden"].value == session.training.settings.forbidden
    window.actions_by_id["undo"].trigger()
    assert session.training.settings.forbidden == ()


def a_pruned_tokenizer_is_kept_by_a_project_and_gets_other_special_tokens(qtbot, tmp_path, window, answers):
    session, by_id, notices = window.session, window.actions_by_id, []
    runs, state = session.runs, session.comparison
    begun(qtbot, window, Settings(260, pattern="gpt2"))
    run = begun(qtbot, window, Settings(270, pattern="gpt2", special_tokens=("<|a|>",)))
    begun(qtbot, window, Settings(265, pattern="gpt2"))
    runs.show_curve(run, False)
    state.show_simple("Bytes", True)
    runs.activate(run)
    dialog = asked(qtbot, window, "prune_tokenizer", PruneDialog)
    dialog.size_limit.setValue(265)
    qtbot.waitUntil(lambda: dialog.effect is not None)
    qtbot.mouseClick(dialog.apply_button, Qt.MouseButton.LeftButton)
    proof = proved(qtbot, window)
    assert proof.verdict.text().startswith("All 9 points hold.")
    session.jobs.noticed.connect(notices.append)
    qtbot.mouseClick(proof.compare_button, Qt.MouseButton.LeftButton)
    assert window.compare.isVisible()
    assert [each.name for each in state.columns] == ["Run 2", "Run 2, pruned to 265"]
    assert notices[-1].text == "Compare shows only the tokenizers before and after."
    assert notices[-1].verb == "Undo"
    notices[-1].act()
    assert [each.name for each in state.columns] == ["Run 1", "Run 3", "Run 2, pruned to 265", "Bytes"]
    by_id["redo"].trigger()
    assert len(state.columns) == 2
    quiet(qtbot, window)
    assert [each.name for each in runs.all] == ["Run 1", "Run 2", "Run 3", "Run 2, pruned to 265"]
    pruned = session.runs.active
    assert pruned.unsaved
    assert by_id["show_proof"].isEnabled()
    before = pruned.tokenizer
    answers.target = tmp_path / "with.tokstudio"
    window.projects.save()
    quiet(qtbot, window)
    assert not pruned.unsaved
    session.runs.delete(pruned)
    answers.files = [answers.target]
    window.projects.ask_and_open()
    qtbot.waitUntil(lambda: len(runs.all) == 4)
    quiet(qtbot, window)
    again = runs.all[3]
    assert again.name == f"{run.name}, pruned to 265"
    assert again.was_changed
    assert again.how_made == f"it was pruned from {run.name}"
    assert set(again.origin.trained_on) == set(runs.all[1].run.corpus.texts)
    assert len(again.origin.trained_on) == 1
    assert np.array_equal(again.tokenizer.merges, before.merges)
    assert again.tokenizer.special_tokens == before.special_tokens
    assert again.tokenizer.encode("the cat") == before.encode("the cat")
    session.runs.activate(again)
    made_of = f": it was pruned from {run.name}."
    assert why_no_counts(session) == f"How often each token is used is not known{made_of}"
    assert by_id["export_merges_csv"].toolTip() == f"This tokenizer has no counts{made_of}"
    assert by_id["change_pattern"].toolTip() == f"The pattern of this tokenizer stays{made_of}"
    window.sizes.show()
    window.sizes.raise_()
    quiet(qtbot, window)
    assert window.sizes.empty.label.text().startswith(f"How many tokens each merge saves is not known{made_of}")
    by_id["show_proof"].trigger()
    proof = proved(qtbot, window)
    neutral = [point.number for point in proof.proof.points if point.neutral]
    assert {1, 2, 8} <= set(neutral)
    told = f" • marks {len(neutral)} that tell a change, or what was not checked."
    assert proof.verdict.text() == f"All 9 points hold.{told}"
    marks = [label.text().split(".")[0] for label in proof.labels[::2]]
    assert marks == [f"{'•' if number in neutral else '✓'} {number}" for number in range(1, 10)]
    proof.accept()
    dialog = asked(qtbot, window, "change_specials", SpecialsDialog)
    dialog.model.setData(dialog.model.index(0, TOKEN), "<|b|>")
    qtbot.waitUntil(lambda: dialog.effect is not None and not dialog.effect.problem)
    qtbot.mouseClick(dialog.apply_button, Qt.MouseButton.LeftButton)
    assert proved(qtbot, window).verdict.text().startswith("All 9 points hold.")
    assert [*window.session.runs.active.special_tokens] == ["<|b|>"]


def an_extension_is_left_alone_by_a_forbidden_token_and_fills_reserved_ids(qtbot, window, answers):
    session = window.session
    start = begun(qtbot, window, Settings(262, pattern="gpt2")).tokenizer
    config = TrainingConfig(vocabulary_size=270, pattern="gpt2")
    session.training.start_from(start, config, session.corpus.current, ", extended")
    quiet(qtbot, window)
    run = session.runs.active
    own, old = (run.tokenizer.tokens[run.id_of_merge(number)] for number in (8, 2))
    session.view.look_at(run.id_of_merge(2))
    refused = []
    session.jobs.refused.connect(refused.append)
    window.actions_by_id["forbid_tokens"].trigger()
    assert refused == ["Tokens of the tokenizer that training started from stay: prune them instead."]
    assert session.runs.active is run
    session.view.look_at(run.id_of_merge(8))
    window.actions_by_id["forbid_tokens"].trigger()
    quiet(qtbot, window)
    again = session.runs.active
    assert again.name == "Run 3, extended"
    assert (again.before, again.vocabulary_size) == (6, 270)
    assert own not in list(again.tokenizer.tokens)
    assert old in list(again.tokenizer.tokens)
    assert session.training.settings.forbidden == ()

    trained = Settings(vocabulary_size=290, pattern="cl100k_right", special_tokens=("<s>",), special_placement="first")
    run = begun(qtbot, window, trained)
    session.training.set_settings(Settings())
    window.actions_by_id["train_like"].trigger()
    assert session.training.settings == trained
    answers.yes = False
    prepared = Preparation(nfc=True)
    session.runs.add_tokenizer(run.tokenizer.changed(preparation=prepared), "opened")
    session.training.set_settings(Settings(min_frequency=7, max_token_bytes=9))
    window.actions_by_id["train_like"].trigger()
    assert "Text is not normalized to NFC: a training has no normalizer." in answers.asked[-1]
    assert session.training.settings == Settings(min_frequency=7, max_token_bytes=9)
    answers.yes = True
    window.actions_by_id["train_like"].trigger()
    assert session.training.settings == replace(trained, vocabulary_size=len(run.tokenizer), max_token_bytes=9)

    # Reserved ids are filled, or the proof is offered when an extension has ended.
    emptied(window)
    notices = []
    run = begun(qtbot, window, Settings(270, pattern="gpt2", special_tokens=("<|endoftext|>", "<|reserved_0|>")))
    session.corpus.add_text("und der Hund und die Katze " * 30)
    quiet(qtbot, window)
    dialog = asked(qtbot, window, "extend_tokenizer", ExtendDialog)
    dialog.reserved.list.item(0).setCheckState(Qt.CheckState.Checked)
    dialog.size_limit.number.setValue(272)
    qtbot.mouseClick(dialog.apply_button, Qt.MouseButton.LeftButton)
    proof = proved(qtbot, window)
    assert proof.verdict.text().startswith("All 9 points hold.")
    proof.accept()
    filled = session.runs.active
    names = [each.name for each in session.runs.all]
    assert names == ["Run 1", "Run 2 (Run 1, extended)", "Run 2, reserved ids filled"]
    assert [*filled.special_tokens] == ["<|endoftext|>"]
    assert filled.vocabulary_size == 272
    assert filled.tokenizer.merge_results[run.tokenizer.merges.shape[0]] == run.special_tokens["<|reserved_0|>"]
    session.runs.activate(run)
    dialog = asked(qtbot, window, "extend_tokenizer", ExtendDialog)
    session.jobs.noticed.connect(notices.append)
    qtbot.mouseClick(dialog.apply_button, Qt.MouseButton.LeftButton)
    quiet(qtbot, window)
    (notice,) = [each for each in notices if each.verb == "What Stayed the Same"]
    assert notice.holds()
    notice.act()
    proof = proved(qtbot, window)
    assert proof.verdict.text().startswith("All 9 points hold.")
    proof.accept()
    session.view.set_playhead(4)
    dialog = asked(qtbot, window, "fork_tokenizer", ExtendDialog)
    assert "Merge 4" in dialog.windowTitle()
    dialog.reject()


@at_window()
def test_actions_say_why_they_are_grey_and_change_the_tokens_of_a_run_or_an_extension_and_a_project_keeps_it(
    qtbot, tmp_path, window, answers
):
    tokens_of_the_vocabulary_are_forbidden_and_pruned(qtbot, window)
    emptied(window)
    an_extension_is_left_alone_by_a_forbidden_token_and_fills_reserved_ids(qtbot, window, answers)
    emptied(window)
    a_pruned_tokenizer_is_kept_by_a_project_and_gets_other_special_tokens(qtbot, tmp_path, window, answers)
