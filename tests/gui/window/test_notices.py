"""Notices about actions without a request, with a button that undoes them."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt

from tests.gui.person import PATIENCE, TEXT, at_the_window, quiet, trained
from tokstudio.gui.state.training_settings import Settings

pytestmark = pytest.mark.usefixtures("unstyled")


@pytest.fixture
def book(tmp_path: Path) -> Path:
    path = tmp_path / "book.txt"
    path.write_text(TEXT)
    return path


def names(window) -> list[str]:
    return [source.name for source in window.session.corpus.sources]


def test_a_text_added_to_a_sample_has_a_notice_and_can_replace_it(qtbot, monkeypatch, book):
    def act(window, answers):
        card = window.notices
        window.actions_by_id["sample_python"].trigger()
        assert not card.isVisible()
        answers.files = [book]
        window.actions_by_id["open_corpus"].trigger()
        quiet(qtbot, window)
        assert names(window) == ["A Python program", "book.txt"]
        qtbot.waitUntil(card.isVisible, timeout=PATIENCE)
        assert card.text.text() == "book.txt was added to the sample A Python program."
        assert card.act_button.text() == "Replace"
        qtbot.mouseClick(card.act_button, Qt.MouseButton.LeftButton)
        assert names(window) == ["book.txt"]
        assert card.text.text() == "Removed A Python program."
        # Two texts of one's own are nothing to be told.
        window.actions_by_id["open_corpus"].trigger()
        quiet(qtbot, window)
        assert names(window) == ["book.txt", "book.txt"]
        assert not card.isVisible()
        # Removing the sample by hand replaces the notice too.
        window.session.corpus.remove_sources([0, 1])
        window.actions_by_id["sample_python"].trigger()
        window.opening.open_paths([book])
        quiet(qtbot, window)
        qtbot.waitUntil(card.isVisible, timeout=PATIENCE)
        assert card.text.text() == "book.txt was added to the sample A Python program."
        window.session.corpus.remove_sources([0])
        assert card.text.text() == "Removed A Python program."
        # Escape closes it; Edit still undoes the removal.
        qtbot.keyClick(window, Qt.Key.Key_Escape)
        assert not card.isVisible()
        window.actions_by_id["undo"].trigger()
        assert names(window) == ["A Python program", "book.txt"]

    assert at_the_window(monkeypatch, act) == 0


def test_a_step_after_a_finished_run_has_a_notice_and_can_be_undone(qtbot, monkeypatch, book):
    def act(window, answers):
        session, card = window.session, window.notices
        finished = trained(qtbot, window)
        merges = len(finished)
        session.view.set_playhead(7)
        window.actions_by_id["step"].trigger()
        qtbot.waitUntil(lambda: session.training.state == "paused" and len(session.runs.active) == 1, timeout=PATIENCE)
        qtbot.waitUntil(card.isVisible, timeout=PATIENCE)
        assert card.text.text() == "Step started Run 2. Run 1 is still in Runs, unchanged."
        qtbot.mouseClick(card.act_button, Qt.MouseButton.LeftButton)
        quiet(qtbot, window)
        assert session.runs.all == [finished]
        assert session.runs.active is finished
        assert len(finished) == merges
        assert not card.isVisible()

    assert at_the_window(monkeypatch, act, [str(book)]) == 0


def test_a_first_step_has_no_notice_and_a_stop_hides_it(qtbot, monkeypatch, book):
    def act(window, answers):
        session, card = window.session, window.notices
        qtbot.waitUntil(lambda: session.training.obstacle is None, timeout=PATIENCE)
        window.actions_by_id["step"].trigger()
        qtbot.waitUntil(lambda: session.training.state == "paused", timeout=PATIENCE)
        assert not card.isVisible()
        window.actions_by_id["stop"].trigger()
        quiet(qtbot, window)
        window.actions_by_id["step"].trigger()
        qtbot.waitUntil(lambda: session.training.state == "paused", timeout=PATIENCE)
        qtbot.waitUntil(card.isVisible, timeout=PATIENCE)
        window.actions_by_id["stop"].trigger()
        quiet(qtbot, window)
        assert not card.isVisible()
        assert len(session.runs.all) == 2

    assert at_the_window(monkeypatch, act, [str(book)]) == 0


def test_a_sample_trains_with_settings_of_its_own_and_tells_of_others(qtbot, monkeypatch):
    def act(window, answers):
        session, card = window.session, window.notices
        window.actions_by_id["sample_train_article"].trigger()
        quiet(qtbot, window)
        qtbot.wait(120)
        assert not card.isVisible()
        for settings in (Settings(100_000, held_out=0.1), Settings(5_000, pattern="("), Settings(None)):
            session.training.set_settings(settings)
            window.actions_by_id["sample_train_article"].trigger()
            quiet(qtbot, window)
            assert session.runs.active.config == Settings().config(), settings
            assert len(session.runs.active) == 1_000 - 256
            qtbot.waitUntil(card.isVisible, timeout=PATIENCE)
            assert card.text.text() == "The sample trains with the default settings."
            assert card.act_button.text() == "Restore Settings"
            qtbot.mouseClick(card.act_button, Qt.MouseButton.LeftButton)
            assert session.training.settings == settings
            assert not card.isVisible()

    assert at_the_window(monkeypatch, act) == 0
