"""Unsaved work is copied while the window is open, and offered at the next start after a crash."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
import signal
import threading
import time
from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication

from tests.gui.person import Answers, at_the_window, quiet, trained
from tests.gui.project.behind import BOOK, Behind, at_a_session, killed, recovery_folder
from tokstudio import Corpus, TrainingConfig, train
from tokstudio.cli import main
from tokstudio.core.base.progress import Progress, finish
from tokstudio.core.project import open_work, recoverable_work
from tokstudio.gui.app.app import Studio
from tokstudio.gui.app.crash_report import left_reports, reports_folder
from tokstudio.gui.session import availability
from tokstudio.gui.session.preferences import Preferences, settings_file
from tokstudio.gui.state.training_settings import Settings
from tokstudio.gui.window.main_window import MainWindow

pytestmark = pytest.mark.usefixtures("unstyled")


@pytest.fixture
def book(tmp_path):
    path = tmp_path / book.name
    path.write_text(BOOK)
    return path


@pytest.fixture
def folder():
    return recovery_folder()


def slow_copies(monkeypatch, behind):
    """Lets copies wait; gives events: the first was begun, and they may go on."""
    begun, goes_on, copy_work = threading.Event(), threading.Event(), behind.session.recorder.autosave_work

    def slow_work(project):
        begun.set()
        while not goes_on.wait(0.001):
            yield Progress("copying")
        yield from copy_work(project)

    monkeypatch.setattr(behind.session.recorder, "autosave_work", slow_work)
    return begun, goes_on


def offered(qtbot, window):
    qtbot.waitUntil(window.unsaved_work.isVisible)
    return window.unsaved_work.text.text()


def test_an_interrupted_training_is_offered_restored_and_continued(qtbot, monkeypatch, book, tmp_path, folder):
    def begin(behind):
        behind.session.training.set_settings(Settings(320))
        behind.step(5)

    def restore(window, answers):
        session = window.session
        assert offered(qtbot, window) == "Training was interrupted: Run 1, 5 merges."
        assert session.runs.all == []
        window.unsaved_work.restore_button.click()
        qtbot.waitUntil(lambda: len(session.runs.all) == 1)
        quiet(qtbot, window)
        assert not window.unsaved_work.isVisible()
        assert (session.runs.active.name, session.runs.active.ended) == ("Run 1", "stopped")
        assert session.training.settings.vocabulary_size == 320
        assert [source.name for source in session.corpus.sources] == [book.name]
        window.actions_by_id["continue_run"].trigger()
        quiet(qtbot, window)
        expected = train(Corpus.from_text(BOOK), TrainingConfig(vocabulary_size=320)).run
        assert np.array_equal(session.runs.active.merges, expected.merges)
        answers.yes = False
        assert not window.close()
        assert answers.asked == ["Run 1 and Run 2 have not been saved or exported."]

    killed(qtbot, tmp_path / "image", begin, [book])
    assert at_the_window(monkeypatch, restore) == 0
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("opened", ["project", "text"])
def test_a_restored_run_continues_with_the_open_text(qtbot, tmp_path, book, opened):
    project = tmp_path / "cats.tokstudio"

    def begin(behind):
        behind.session.training.set_settings(Settings(320))
        if opened == "project":
            behind.save(project)
        behind.step(5)
        behind.rest()

    def restore(behind):
        session = behind.session
        if opened == "project":
            behind.open(project)
        session.training.set_settings(Settings(320))
        before = session.corpus.sources
        behind.restore()
        assert session.runs.active.corpus.sources == session.corpus.sources
        # A project comes back as it was, with its text.
        assert (session.corpus.sources == before) is (opened == "text")
        behind.go_on()
        expected = train(Corpus.from_text(BOOK), TrainingConfig(vocabulary_size=320)).run
        assert np.array_equal(session.runs.active.merges, expected.merges)
        behind.save(project)
        assert [source.name for source in finish(open_work(project)).sources] == [book.name]

    killed(qtbot, tmp_path / "image", begin, [book])
    at_a_session(qtbot, restore, [] if opened == "project" else [book])


def test_a_restored_run_ignores_a_similar_text(qtbot, tmp_path, book):
    other = tmp_path / "other.txt"
    other.write_text(BOOK.replace("cat", "dog"))

    def begin(behind):
        behind.session.training.set_settings(Settings(320))
        behind.step(5)

    def restore(behind):
        session = behind.session
        session.training.set_settings(Settings(320))
        behind.restore()
        assert [source.path for source in session.corpus.sources] == [other]
        assert [source.path for source in session.runs.active.corpus.sources] == [book]
        assert availability.cannot_continue(session) is not None

    killed(qtbot, tmp_path / "image", begin, [book])
    at_a_session(qtbot, restore, [other])


def test_ended_runs_are_kept_with_the_one_in_training_and_the_name_of_the_project(qtbot, tmp_path, book):
    project = tmp_path / "mine.tokstudio"

    def begin(behind):
        behind.train(270)
        behind.save(project)
        behind.train(280)
        behind.session.view.set_text("typed since")
        behind.recovery.copy()
        behind.wait()
        behind.step(4)

    def restore(behind):
        session = behind.session
        assert behind.look() == "Training was interrupted: Run 3, 4 merges. With it: mine (2 runs)."
        behind.restore()
        assert [(run.name, len(run)) for run in session.runs.all] == [("Run 1", 14), ("Run 2", 24), ("Run 3", 4)]
        assert session.view.text == "typed since"
        assert behind.projects.path == project
        assert behind.projects.modified
        assert [run.unsaved for run in session.runs.all] == [False, True, True]
        assert len(finish(open_work(project)).runs) == 1, "the person's file is changed by the person only"
        behind.save(project)
        assert len(finish(open_work(project)).runs) == 3

    killed(qtbot, tmp_path / "image", begin, [book])
    at_a_session(qtbot, restore)


def test_a_run_that_trains_in_an_unchanged_project_brings_the_project_back_with_it(qtbot, tmp_path, book):
    project = tmp_path / "mine.tokstudio"

    def begin(behind):
        behind.train(270)
        behind.session.view.set_text("typed before")
        behind.save(project)
        behind.step(4)
        assert len(behind.session.runs.all) == 2
        behind.rest()

    def restore(behind):
        session = behind.session
        assert behind.look() == "Training was interrupted: Run 2, 4 merges. With it: mine (Run 1)."
        behind.restore()
        assert [(run.name, len(run), run.unsaved) for run in session.runs.all] == [
            ("Run 1", 14, False),
            ("Run 2", 4, True),
        ]
        assert (behind.projects.path, session.view.text) == (project, "typed before")

    killed(qtbot, tmp_path / "image", begin, [book])
    at_a_session(qtbot, restore)


@pytest.mark.parametrize("there", [True, False])
def test_a_restored_run_counts_as_saved_only_while_it_is_in_the_project_file(qtbot, tmp_path, book, there):
    project = tmp_path / "mine.tokstudio"

    def begin(behind):
        behind.train(270)
        behind.save(project)
        behind.session.view.set_text("typed since")
        behind.recovery.copy()
        behind.wait()

    def restore(behind):
        behind.restore()
        assert behind.session.runs.active.unsaved is not there

    killed(qtbot, tmp_path / "image", begin, [book])
    if not there:
        project.unlink()
    at_a_session(qtbot, restore)


def test_saved_work_is_not_offered(behind, tmp_path, book, folder):
    behind.read(book)
    behind.train(300)
    assert any(file.name.endswith(".tokstudio") for file in folder.iterdir())
    behind.save(tmp_path / "mine.tokstudio")
    assert list(folder.iterdir()) == []


def test_postponed_work_is_offered_again_and_restoring_asks_if_other_work_would_be_lost(
    qtbot, monkeypatch, book, tmp_path
):
    def begin(behind):
        behind.train(300)

    def put_off(window, answers):
        offered(qtbot, window)
        window.unsaved_work.close_button.click()
        assert not window.unsaved_work.isVisible()

    def restore(window, answers):
        session = window.session
        said = offered(qtbot, window)
        assert said == "TokStudio did not close properly. Not saved: Run 1."
        session.corpus.add_text(BOOK[:5000])
        mine = trained(qtbot, window, 262)
        answers.yes = False
        window.unsaved_work.restore_button.click()
        assert answers.asked == ["Run 1 has not been saved or exported."]
        quiet(qtbot, window)
        assert session.runs.all == [mine]
        answers.yes = True
        window.unsaved_work.restore_button.click()
        qtbot.waitUntil(lambda: mine not in session.runs.all)
        assert len(session.runs.active) == 44

    killed(qtbot, tmp_path / "image", begin, [book])
    assert at_the_window(monkeypatch, put_off) == 0
    assert at_the_window(monkeypatch, restore) == 0


def test_an_unwritable_data_folder_is_one_message_and_training_continues(qtbot, monkeypatch, book, folder):
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.write_text("in the way")

    def act(window, answers):
        run = trained(qtbot, window)
        assert len(run) == 44
        assert "copies for recovery after a crash (" in window.messages.text.text()
        window.messages.clear()
        trained(qtbot, window, 310)
        assert not window.messages.isVisible()

    assert at_the_window(monkeypatch, act, [str(book)]) == 0


def test_a_text_that_was_added_during_a_training_is_restored_with_it(qtbot, book, tmp_path, folder):
    def begin(behind):
        behind.step(5)
        behind.session.corpus.add_text(BOOK[:5000], "Another text")
        qtbot.waitUntil(lambda: any(folder.glob("*.project.tokstudio")))

    def restore(behind):
        assert behind.look().startswith("Training was interrupted: Run 1, 5 merges.")
        behind.restore()
        assert [source.name for source in behind.session.corpus.sources] == [book.name, "Another text"]

    killed(qtbot, tmp_path / "image", begin, [book], copy=0)
    at_a_session(qtbot, restore)


def test_the_restored_weights_are_those_of_the_run_in_training(qtbot, book, tmp_path):
    def begin(behind):
        session = behind.session
        session.corpus.add_text(BOOK.upper(), "Another text")
        behind.train(270)
        session.corpus.set_weights((2000, 500))
        behind.wait()
        behind.step(3)
        behind.rest()

    def restore(behind):
        session = behind.session
        behind.restore()
        assert len(session.runs.all) == 2
        assert session.runs.active.corpus.weights == (2000, 500)
        assert session.corpus.weights == (2000, 500)

    killed(qtbot, tmp_path / "image", begin, [book])
    at_a_session(qtbot, restore)


def test_a_training_that_starts_during_a_copy_has_another_one(qtbot, monkeypatch, book, tmp_path):
    def begin(behind):
        behind.train(270)
        _, goes_on = slow_copies(monkeypatch, behind)
        behind.session.view.set_text("typed during the copy")
        behind.recovery.copy()
        behind.session.view.set_text("typed before the training")
        behind.step(3)
        goes_on.set()
        behind.rest()

    def restore(behind):
        behind.restore()
        assert len(behind.session.runs.all) == 2
        assert behind.session.view.text == "typed before the training"

    killed(qtbot, tmp_path / "image", begin, [book])
    at_a_session(qtbot, restore)


@pytest.mark.skipif(os.name != "posix", reason="no such signals here")
def test_unsaved_work_at_the_end_of_the_session_is_offered_and_removed_if_it_is_discarded(
    qtbot, monkeypatch, tmp_path, book, folder
):
    log = tmp_path / "log"

    def end():
        try:
            trained(qtbot, next(each for each in QApplication.topLevelWidgets() if isinstance(each, MainWindow)))
        finally:
            os.kill(os.getpid(), signal.SIGTERM)

    QTimer.singleShot(0, end)
    assert main([str(book), "--log-file", str(log)]) == 128 + signal.SIGTERM
    assert log.read_text().splitlines()[-1].endswith("Ended with 143.")
    assert settings_file().exists()
    assert left_reports(reports_folder()) == []

    def discard(window, answers):
        said = offered(qtbot, window)
        assert said == "The session ended before everything was saved. Not saved: Run 1."
        answers.yes = False
        window.unsaved_work.discard_button.click()
        assert window.unsaved_work.isVisible()
        assert answers.asked == [f"{said} What is discarded cannot be restored later."]
        answers.yes = True
        window.unsaved_work.discard_button.click()
        assert not window.unsaved_work.isVisible()
        quiet(qtbot, window)

    assert at_the_window(monkeypatch, discard) == 0
    assert list(folder.iterdir()) == []


def test_losing_the_display_loses_no_work(qtbot, qapp, tmp_path):
    """Qt then ends the event loop, and nobody has closed the window."""
    studio = Studio(qapp, Preferences(tmp_path / "settings.ini"), Answers(), tmp_path / "recovery")
    studio.show()
    studio.session.corpus.add_text(BOOK)
    trained(qtbot, studio.window)
    studio.close()
    assert [one.ended for one in finish(recoverable_work(tmp_path / "recovery"))] == [True]


@pytest.mark.parametrize("busy", ["opening", "splitting"])
def test_the_last_input_is_kept_if_the_session_ends_during_a_job(qtbot, monkeypatch, book, folder, busy):
    behind = Behind(qtbot, [book])
    session, may_go_on, ended = behind.session, threading.Event(), []
    behind.train(300)
    session.view.set_text("typed since")

    def slow_work(*_):
        while not may_go_on.wait(0.01):
            yield Progress(busy)

    if busy == "opening":
        behind.projects.begin_opening(slow_work, lambda found: None)
    else:
        monkeypatch.setattr("tokstudio.gui.session.common.source_jobs.split_all", slow_work)
        session.training.set_settings(replace(session.training.settings, documents="line"))
    behind.recovery.keep(lambda: ended.append(True))
    qtbot.waitUntil(lambda: bool(ended))
    assert session.training.opening if busy == "opening" else session.corpus.splitting
    behind.close(leave=True)
    (left,) = finish(recoverable_work(folder))
    assert left.project.state["text"] == "typed since"
    assert left.project.state["settings"]["documents"] == ("line" if busy == "splitting" else "file")
    assert left.project.state.get("splitting", False) == (busy == "splitting")
    assert [source.documents for source in left.project.sources] == ["file"]


@pytest.mark.parametrize("mixed", [False, True])
def test_an_unfinished_division_is_completed_when_restored(qtbot, monkeypatch, tmp_path, book, mixed):
    """What is restored must not be trained on otherwise than its settings say."""

    def slow_work(*_):
        while True:
            yield Progress("splitting")
            time.sleep(0.01)

    behind, ended, lines = Behind(qtbot, [book]), [], BOOK.count("\n")
    session, line, file = behind.session, Settings(documents="line"), Settings(documents="file")
    behind.train(300)
    session.training.set_settings(line if mixed else file)
    qtbot.waitUntil(lambda: not session.corpus.splitting)
    with monkeypatch.context() as patch:
        patch.setattr("tokstudio.gui.session.common.source_jobs.split_all", slow_work)
        if mixed:
            other = tmp_path / "other.txt"
            other.write_text(BOOK.upper())
            session.training.set_settings(file)
            session.corpus.open_paths([other])
        session.training.set_settings(line)
        qtbot.waitUntil(lambda: len(session.corpus.sources) == 1 + mixed)
        assert [source.documents for source in session.corpus.sources] == ([lines, 1] if mixed else [1])
        behind.recovery.keep(lambda: ended.append(True))
        qtbot.waitUntil(lambda: bool(ended))
        assert session.corpus.splitting
        behind.close(leave=True)
    left = {file.name for file in recovery_folder().iterdir()}
    behind = Behind(qtbot)
    session = behind.session
    behind.restore()
    assert session.training.settings.documents == "line"
    assert [source.documents for source in session.corpus.sources] == [lines] * (1 + mixed)
    kept = {file.name for file in recovery_folder().iterdir()}
    assert kept.isdisjoint(left), "what was restored is copied anew at once, and let go"
    assert any(name.endswith(".project.tokstudio") for name in kept)
    behind.close()
