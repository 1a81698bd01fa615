"""A run of Picky BPE in the whole window: the token, the steps, Find, the sizes, exports, and what is refused."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import csv
import json
from dataclasses import replace

import pytest
from PySide6.QtWidgets import QWidget

from tests.gui.person import at_window, quiet
from tests.gui.picky import SETTINGS, TEXT, trained
from tokstudio import load, save
from tokstudio.core.formats.known_formats import FORMATS
from tokstudio.core.tokenizer.dropout import Dropout
from tokstudio.gui.panes.text.steps_page import StepsPage
from tokstudio.gui.state.training_plans import plans_of_algorithms

pytestmark = pytest.mark.usefixtures("unstyled")


def begin(qtbot, window, settings=SETTINGS):
    session = window.session
    session.corpus.add_text(TEXT, "en")
    quiet(qtbot, window)
    run = trained(qtbot, session, settings)
    quiet(qtbot, window)
    return session, run


def removed(run) -> list[int]:
    return [token for token in range(run.base_size, run.base_size + len(run)) if run.removals.removed_by(token)]


def of_type(window, kind: type[QWidget]):
    return window.findChildren(kind)[0]


def a_removed_token_is_shown_and_explained(qtbot, window, session, run):
    token = removed(run)[3]
    number = token - run.base_size + 1
    session.view.look_at(token)
    quiet(qtbot, window)
    pane = window.token
    assert f"removed after merge {run.removals.removed_by(token):,}" in pane.facts.text()
    assert f"merge {number:,}" in pane.origin.text()
    session.view.set_playhead(run.removals.removed_by(token) - 1)
    quiet(qtbot, window)
    assert "in the training text" in pane.facts.text()
    session.view.set_playhead(number - 1)
    quiet(qtbot, window)
    assert pane.facts.text().endswith(f"Not made yet: merge {number:,} makes it.")
    window.show_why()
    session.view.look_at(run.id_of_merge(run.removals.removed_by(token)))
    quiet(qtbot, window)
    qtbot.waitUntil(lambda: "was removed" in window.why.reason.text())


def text_and_steps_follow_the_playhead(qtbot, window, session, run):
    session.view.set_text("the tokenizer and the other tokens")
    window.show_steps()
    quiet(qtbot, window)
    page = of_type(window, StepsPage)
    kinds = [page.model.round(row).kind for row in range(page.model.rowCount())]
    assert kinds.count("removal") > 0
    row = kinds.index("removal")
    page.bar.slider.setValue(row)
    one = page.model.round(row)
    assert f"(removed after merge {one.merge:,})" in page.phase.text()
    assert page.model.index(row, 1).data() == f"{one.merge:,}"
    assert page.model.index(row, 3).data().count(" + ") == len(one.parts) - 1
    for merges in (0, one.merge, one.merge - 1, len(run)):
        session.view.set_playhead(merges)
        quiet(qtbot, window)
        tokens = page.rounds.state(len(page.rounds) - 1).ids.tolist()
        assert tokens == run.tokenizer.at(merges).encode(session.view.text)
    page.ask_why_not(0, 3, of_word=False)
    assert page.why_not.words.text()


def every_size_is_that_of_the_vocabulary(qtbot, window, session, run):
    assert run.vocabulary_size == SETTINGS.vocabulary_size == len(run.tokenizer)
    window.places.open(window.sizes)
    quiet(qtbot, window)
    assert "of all 400" in window.sizes.answer.text()
    session.view.set_playhead(60)
    quiet(qtbot, window)
    assert window.sizes.table.model().size_at(0).vocabulary == len(run.tokenizer.at(60))


def find_says_that_a_token_was_removed(qtbot, window, session, run):
    token = removed(run)[0]
    qtbot.keyClicks(window.finder.box, str(token))
    qtbot.waitUntil(lambda: window.finder.model.rowCount() > 0)
    row = window.finder.model.row_of_token(token)
    number = token - run.base_size + 1
    assert window.finder.model.index(row, 1).data() == f"merge {number:,}, removed"
    session.view.set_playhead(number)
    assert window.finder.model.index(row, 1).data() == f"merge {number:,}"


def the_tokenizer_cannot_be_changed_and_the_menu_says_why(qtbot, window, session, run):
    for name in ("extend_tokenizer", "fork_tokenizer", "prune_tokenizer", "change_specials"):
        action = window.actions_by_id[name]
        assert not action.isEnabled(), name
        assert "removes tokens again (Picky BPE)" in action.statusTip(), name


def dropout_is_refused_and_the_text_is_encoded_without_it(qtbot, window, session, run):
    action = window.actions_by_id["encode_with_dropout"]
    assert not action.isEnabled()
    assert action.statusTip() == "This tokenizer removes tokens again (Picky BPE): it encodes without dropout."
    session.view.set_text("the tokenizer")
    session.view.set_dropout(Dropout(0.5))
    window.show_steps()
    quiet(qtbot, window)
    assert of_type(window, StepsPage).model.rowCount() > 2


@at_window()
def test_the_window_shows_and_explains_removals(qtbot, window, tmp_path):
    session, run = begin(qtbot, window)
    for check in (
        a_removed_token_is_shown_and_explained,
        text_and_steps_follow_the_playhead,
        every_size_is_that_of_the_vocabulary,
        find_says_that_a_token_was_removed,
        the_tokenizer_cannot_be_changed_and_the_menu_says_why,
        dropout_is_refused_and_the_text_is_encoded_without_it,
    ):
        session.view.set_playhead(len(run))
        quiet(qtbot, window)
        check(qtbot, window, session, run)
    a_loader_that_was_exported_opens_with_its_removals(qtbot, window, tmp_path, run)


def a_loader_that_was_exported_opens_with_its_removals(qtbot, window, tmp_path, trained_run):
    session = window.session
    window.finder.box.clear()
    save(trained_run.tokenizer, tmp_path / "out", "loader")
    session.runs.add_tokenizer(load(tmp_path / "out"), "opened")
    run = session.runs.active
    assert run.name == "opened"
    assert run.base_size == trained_run.base_size
    assert run.vocabulary_sizes.tolist() == trained_run.vocabulary_sizes.tolist()
    assert removed(run) == removed(trained_run)
    for merges in (0, 30, len(run)):
        assert run.present(merges).sum() == trained_run.present(merges).sum()
        assert run.tokens.ids.tolist() == trained_run.tokens.ids.tolist()
    for check in (
        text_and_steps_follow_the_playhead,
        find_says_that_a_token_was_removed,
        the_tokenizer_cannot_be_changed_and_the_menu_says_why,
        dropout_is_refused_and_the_text_is_encoded_without_it,
    ):
        session.view.set_playhead(len(run))
        quiet(qtbot, window)
        check(qtbot, window, session, run)
    for pane in (window.merges, window.vocabulary, window.token, window.compression):
        window.places.open(pane)
        session.view.look_at(removed(run)[3])
        session.view.set_playhead(len(run) // 2)
        quiet(qtbot, window)


def test_formats_compare_algorithms_and_the_merge_log_know_removals(qtbot, session, tmp_path):
    run = trained(qtbot, session)
    tokenizer = run.tokenizer
    refused = {known.name for known in FORMATS.values() if known.problem(tokenizer)}
    for name in refused - {"sentencepiece"}:  # which holds no merges of bytes at all
        assert "also removes tokens" in FORMATS[name].problem(tokenizer)
    assert {"huggingface", "tiktoken", "gpt2", "minbpe"} <= refused
    assert "loader" not in refused
    assert refused.isdisjoint({"merges-csv", "merges-jsonl", "vocabulary-csv"})
    log = FORMATS["merges-jsonl"]
    for merges in (len(run), 30):
        content = b"".join(b"".join(parts) for parts in log.contents(tokenizer.at(merges)).values())
        rows = [json.loads(line) for line in content.decode().splitlines()]
        gone = [[-1 if row[side] is None else row[side] for side in ("left_removed", "right_removed")] for row in rows]
        assert gone == run.run.removals[:merges, 2:].tolist()
    table = FORMATS["vocabulary-csv"]
    content = b"".join(b"".join(parts) for parts in table.contents(tokenizer).values()).decode()
    assert len([*csv.reader(content.splitlines())]) == 1 + run.vocabulary_size
    plans, _ = plans_of_algorithms(SETTINGS, session.training.defaults, session.corpus.current)
    (plan,) = [plan for plan in plans if plan.settings.algorithm == "picky"]
    assert plan.settings.threshold == 0.4
    assert plan.problem is None


def test_held_out_text_has_its_curve(qtbot, session):
    session.corpus.add_text(TEXT.replace(". ", ".\n"), "en")
    run = trained(qtbot, session, replace(SETTINGS, vocabulary_size=350, held_out=0.2, documents="line"))
    qtbot.waitUntil(lambda: run.held_out.tokens is not None or bool(run.held_out.problem))
    assert run.held_out.problem == ""
    assert len(run.held_out.tokens) == len(run) + 1
