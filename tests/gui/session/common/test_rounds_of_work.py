"""Memory after several rounds of adding texts, training and deleting runs."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import gc
from collections import Counter
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QObject
from PySide6.QtWidgets import QMenu

from tests.gui.person import PATIENCE, TEXT, Answers, at_the_window, quiet, trained
from tokstudio import Corpus, Tokenizer, TrainingConfig, save, train
from tokstudio.core.corpus.source import Source
from tokstudio.core.model.run import MergeBatch, Run
from tokstudio.gui.session.common.jobs import Job
from tokstudio.gui.session.training.training import Training
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.window.main_window import MainWindow

pytestmark = pytest.mark.usefixtures("unstyled")

KINDS = (Corpus, Job, MergeBatch, Run, Source, StudioRun, Tokenizer, Training)


def work_round(qtbot, window: MainWindow, text: Path, tokenizer: Path, *, saved: bool) -> None:
    """Adds a text, trains on it, opens a tokenizer and saves both if so wished; then all of it goes again."""
    session, actions = window.session, window.actions_by_id
    window.opening.open_paths([text])
    qtbot.waitUntil(lambda: len(session.corpus.sources) == 1, timeout=PATIENCE)
    trained(qtbot, window, 280)
    window.opening.load_tokenizer(tokenizer)
    qtbot.waitUntil(lambda: len(session.runs.all) == 2, timeout=PATIENCE)
    if saved:
        actions["save_project"].trigger()
        quiet(qtbot, window)
        assert not window.projects.unsaved
    for menu in window.menuBar().findChildren(QMenu):
        menu.aboutToShow.emit()
    while session.runs.all:
        actions["delete_run"].trigger()
        quiet(qtbot, window)
    session.corpus.remove_sources([0])
    quiet(qtbot, window)
    # What can be undone is kept.
    session.history.clear()


def held(window: MainWindow) -> Counter[str]:
    """How many objects of each kind there are, of Qt's below the session and the window, and of who listens."""
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    gc.collect()
    found: Counter[str] = Counter(type(one).__name__ for one in gc.get_objects() if isinstance(one, KINDS))
    session = window.session
    for top in (session, window):
        found.update(f"Qt's {one.metaObject().className()}" for one in top.findChildren(QObject))
    meta = session.metaObject()
    for index in range(meta.methodCount()):
        method = meta.method(index)
        signature = bytes(method.methodSignature().data()).decode()
        if method.methodType() == method.MethodType.Signal:
            found[f"listeners to {signature}"] = session.receivers(f"2{signature}")
    return found


@pytest.mark.parametrize("saved", [False, True], ids=["never saved", "saved"])
def test_repeated_work_leaves_no_objects(qtbot, monkeypatch, tmp_path: Path, saved: bool):
    text = tmp_path / "text.txt"
    text.write_text(TEXT)
    save(train(Corpus.from_text(TEXT), TrainingConfig(vocabulary_size=270)), tmp_path / "opened", format="huggingface")

    def act(window: MainWindow, answers: Answers) -> None:
        answers.target = tmp_path / "project.tokstudio"
        quiet(qtbot, window)
        for _ in range(2):
            work_round(qtbot, window, text, tmp_path / "opened", saved=saved)
        before = held(window)
        for _ in range(3):
            work_round(qtbot, window, text, tmp_path / "opened", saved=saved)
        assert held(window) - before == Counter()

    assert at_the_window(monkeypatch, act) == 0
