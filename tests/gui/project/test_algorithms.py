"""Runs of every algorithm in the window: projects with the playhead, continuing, and recovery after a kill."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.core.algorithms import CASES, facts
from tests.gui.project.behind import at_a_session, killed
from tokstudio import train
from tokstudio.core.base.progress import Progress
from tokstudio.gui.state.training_settings import Settings

#: The sizes of the run that is saved and of the whole, and the merges before the kill: with removals, and in stage 2.
SIZES = {"boundless": (300, 320, 20), "superbpe": (310, 330, 36), "picky": (262, 265, 20), "parity": (270, 290, 5)}


@pytest.mark.parametrize("name", CASES)
def test_a_run_is_kept_by_a_project_and_restored_after_a_kill_and_continues(qtbot, monkeypatch, tmp_path, name):
    case, project = CASES[name], tmp_path / "p.tokstudio"
    short_size, size, merges = SIZES[name]
    whole = Settings.from_plain(case.config(size).by_name())
    shorter = replace(whole, vocabulary_size=short_size)
    expected = {settings: facts(train(case.corpus, settings.config()).run) for settings in (whole, shorter)}

    def begin(behind, settings):
        behind.session.corpus.set_sources(case.corpus.sources)
        behind.session.training.set_settings(settings)

    def save(behind):
        begin(behind, shorter)
        behind.session.training.start()
        behind.wait()
        behind.session.view.set_playhead(7)
        behind.save(project)
        assert not behind.session.runs.active.unsaved

    def go_on(behind):
        session, compiled = behind.session, []

        def prepare(every=False):
            compiled.append(every)
            yield Progress("compiling", 1, 2)

        monkeypatch.setattr("tokstudio.gui.project.document.prepare_work", prepare)
        behind.open(project)
        assert compiled == [True], "in the job, with the loops of this algorithm, and not when they are called"
        assert session.training.settings == shorter
        assert session.view.playhead == 7
        assert facts(session.runs.active.so_far()) == expected[shorter]
        session.training.set_settings(whole)
        behind.go_on()
        assert len(session.runs.all) == 2
        assert facts(session.runs.active.so_far()) == expected[whole]

    def train_some(behind):
        begin(behind, whole)
        behind.step(merges)

    def restore(behind):
        session = behind.session
        assert behind.look() == f"Training was interrupted: Run 1, {merges} merges."
        behind.restore()
        assert len(session.runs.all) == 1
        found = facts(session.runs.active.so_far())
        for column in ("merges", "counts", "removals", "chosen_by", "overtaken"):
            assert found.get(column) == (expected[whole][column][:merges] if column in found else None), column
        assert session.training.settings == whole
        behind.go_on()
        assert facts(session.runs.active.so_far()) == expected[whole]

    at_a_session(qtbot, save)
    at_a_session(qtbot, go_on)
    killed(qtbot, tmp_path / "image", train_some)
    at_a_session(qtbot, restore)
