"""Runs of parity-aware BPE in the window: the playhead, projects, continuing, and recovery after a kill."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import shutil
from dataclasses import replace

import numpy as np
import pytest

from tests.gui.languages import NAMES, PARALLEL, TEXTS
from tests.gui.person import PATIENCE, at_the_window, quiet
from tests.gui.project.behind import at_a_session, recovery_folder
from tokstudio import Corpus, TrainingConfig, train
from tokstudio.core.corpus.source import Source
from tokstudio.core.model.algorithms import ParityAware
from tokstudio.gui.state.training_settings import Settings

pytestmark = pytest.mark.usefixtures("unstyled")

SETTINGS = Settings(
    280,
    algorithm="parity",
    tie_break="mapped-strings",
    parallel=tuple(zip(NAMES, PARALLEL.values(), strict=True)),
    global_merges=3,
    window=6,
    alpha=1.5,
)
LONGER = replace(SETTINGS, vocabulary_size=300)


@pytest.fixture
def files(tmp_path):
    for name, text in zip(NAMES, TEXTS.values(), strict=True):
        (tmp_path / name).write_text(text, encoding="utf-8")
    return [tmp_path / name for name in NAMES]


@pytest.fixture
def recovery():
    return recovery_folder()


def expected():
    sources = tuple(Source.from_texts([text], name) for name, text in zip(NAMES, TEXTS.values(), strict=True))
    config = TrainingConfig(
        vocabulary_size=300, algorithm=ParityAware(parallel=PARALLEL, global_merges=3, window=6, alpha=1.5)
    )
    return train(Corpus(sources), config).run


def is_whole(run) -> bool:
    whole = expected()
    same = np.array_equal(run.run.merges, whole.merges) and np.array_equal(run.run.counts, whole.counts)
    return same and run.run.columns["chosen_by"].tolist() == whole.columns["chosen_by"].tolist()


def test_a_project_keeps_the_run_and_the_settings_and_the_run_continues(qtbot, monkeypatch, tmp_path, files):
    project = tmp_path / "turns.tokstudio"

    def save(behind):
        session = behind.session
        session.training.set_settings(SETTINGS)
        session.training.start()
        behind.wait()
        session.view.set_playhead(7)
        behind.save(project)

    def go_on(window, answers):
        session = window.session
        qtbot.waitUntil(lambda: window.projects.path == project, timeout=PATIENCE)
        quiet(qtbot, window)
        assert session.training.settings == SETTINGS
        assert session.view.playhead == 7
        whole = expected()
        assert session.runs.active.log.columns["chosen_by"].tolist() == whole.columns["chosen_by"][:24].tolist()
        session.training.set_settings(LONGER)
        window.actions_by_id["continue_run"].trigger()
        quiet(qtbot, window)
        assert len(session.runs.all) == 2
        assert is_whole(session.runs.active)
        session.view.set_playhead(12)
        assert session.runs.active.tokenizer.at(12).encode("der fuchs") == train_to(12).encode("der fuchs")

    at_a_session(qtbot, save, files)
    assert at_the_window(monkeypatch, go_on, [str(project)]) == 0


def train_to(merges):
    sources = tuple(Source.from_texts([text], name) for name, text in zip(NAMES, TEXTS.values(), strict=True))
    config = replace(SETTINGS, vocabulary_size=256 + merges).config()
    return train(Corpus(sources), config)


def test_a_run_is_restored_after_a_kill_and_continues(qtbot, tmp_path, files, recovery):
    def train_some(behind):
        behind.session.training.set_settings(SETTINGS)
        behind.step(5)
        shutil.copytree(recovery, tmp_path / "image")

    def restore(behind):
        session = behind.session
        assert behind.look() == "Training was interrupted: Run 1, 5 merges."
        behind.restore()
        assert len(session.runs.all) == 1
        assert session.runs.active.log.columns["chosen_by"].tolist() == expected().columns["chosen_by"][:5].tolist()
        assert session.training.settings.config() == SETTINGS.config()
        session.training.set_settings(replace(session.training.settings, vocabulary_size=300))
        behind.go_on()
        assert is_whole(session.runs.active)

    at_a_session(qtbot, train_some, files)
    shutil.copytree(tmp_path / "image", recovery, dirs_exist_ok=True)
    at_a_session(qtbot, restore)
