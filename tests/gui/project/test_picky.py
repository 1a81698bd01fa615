"""Runs of Picky BPE in the window: projects, continuing, and recovery after a kill."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import shutil
from dataclasses import replace

import pytest

from tests.gui.person import PATIENCE, at_the_window, quiet
from tests.gui.picky import SETTINGS, TEXT
from tests.gui.project.behind import at_a_session, recovery_folder
from tokstudio import Corpus, train

pytestmark = pytest.mark.usefixtures("unstyled")

LONGER = replace(SETTINGS, vocabulary_size=450)


@pytest.fixture
def file(tmp_path):
    (tmp_path / "text.txt").write_text(TEXT, encoding="utf-8", newline="\n")
    return tmp_path / "text.txt"


@pytest.fixture
def recovery():
    return recovery_folder()


def expected(settings):
    return train(Corpus.from_text(TEXT), settings.config()).run


def test_a_project_keeps_the_run_and_the_settings_and_the_run_continues(qtbot, monkeypatch, tmp_path, file):
    project = tmp_path / "picky.tokstudio"

    def save(behind):
        session = behind.session
        session.training.set_settings(SETTINGS)
        session.training.start()
        behind.wait()
        session.view.set_playhead(7)
        behind.save(project)
        assert not session.runs.active.unsaved

    def go_on(window, answers):
        session = window.session
        qtbot.waitUntil(lambda: window.projects.path == project, timeout=PATIENCE)
        quiet(qtbot, window)
        assert session.training.settings == SETTINGS
        assert session.view.playhead == 7
        run, whole = session.runs.active, expected(SETTINGS)
        assert run.log.removals.tolist() == whole.removals.tolist()
        assert run.uses.at(len(run)).tolist() == whole.uses().tolist()
        assert run.vocabulary_size == whole.vocabulary_size
        session.training.set_settings(LONGER)
        window.actions_by_id["continue_run"].trigger()
        quiet(qtbot, window)
        longer = expected(LONGER)
        assert len(session.runs.active) == len(longer) > len(whole)
        assert session.runs.active.log.removals.tolist() == longer.removals.tolist()
        assert session.runs.active.uses.at(len(longer)).tolist() == longer.uses().tolist()

    at_a_session(qtbot, save, [file])
    assert at_the_window(monkeypatch, go_on, [str(project)]) == 0


def test_a_run_is_restored_after_a_kill_and_continues(qtbot, tmp_path, file, recovery):
    def train_some(behind):
        behind.session.training.set_settings(SETTINGS)
        behind.step(20)
        shutil.copytree(recovery, tmp_path / "image")

    def restore(behind):
        session = behind.session
        behind.restore()
        assert len(session.runs.all) == 1
        whole = expected(SETTINGS)
        assert session.runs.active.log.removals.tolist() == whole.removals[:20].tolist()
        assert (whole.removals[:20, 2:] >= 0).any()
        assert session.training.settings.config() == SETTINGS.config()
        behind.go_on()
        assert session.runs.active.run.removals.tolist() == whole.removals.tolist()

    at_a_session(qtbot, train_some, [file])
    shutil.copytree(tmp_path / "image", recovery, dirs_exist_ok=True)
    at_a_session(qtbot, restore)
