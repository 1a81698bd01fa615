"""Memory: deleted runs and sources are released, and rounds of work leave no objects."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import gc
import weakref
from collections import Counter
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QObject
from PySide6.QtWidgets import QMenu

from tests.gui.person import TEXT, at_window, quiet, trained
from tokstudio import Corpus, Tokenizer, TrainingConfig, save, train
from tokstudio.core.corpus.source import Source
from tokstudio.core.model.run import MergeBatch, Run
from tokstudio.gui.session.common.jobs import Job
from tokstudio.gui.session.training.training import Training
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.window.main_window import MainWindow

pytestmark = pytest.mark.usefixtures("unstyled")

SENTENCE = "the cat sat on the mat"
#: Panes that show several runs.
SEVERAL = ("compression", "distribution", "compare", "runs", "text")


def visited(qtbot, window, *, every):
    """Shows a run in every pane, or in those that show several, and on every page, and then closes all of them."""
    session = window.session
    session.view.set_text(SENTENCE)
    run = session.runs.active
    uses = run.run.uses()
    session.view.look_at(next(token for token in range(run.base_size, len(uses)) if uses[token]))
    for pane in [pane for pane in window.panes if every or pane.objectName() in SEVERAL]:
        pane.show()
        pane.raise_()
        settled(qtbot, window)
        tabs = getattr(pane, "tabs", None)
        for index in range(tabs.count() if tabs is not None else 0):
            tabs.setCurrentIndex(index)
            settled(qtbot, window)
    assert window.text.steps.model.rowCount()
    if every:
        window.why.raise_()
        settled(qtbot, window)
        assert window.vocabulary.model.tokens.index is not None
        assert window.token.lines.model.rowCount()
        assert window.why.model.rowCount()
    window.compression.curves.aboutToShow.emit()
    window.actions_by_id["find"].trigger()
    qtbot.keyClicks(window.finder.box, "cat")
    settled(qtbot, window)
    for pane in window.panes:
        pane.hide()
    settled(qtbot, window)


def settled(qtbot, window):
    qtbot.wait(10)
    lines, why = window.token.lines, window.why
    qtbot.waitUntil(lambda: not (window.session.jobs.running or lines.searching or why.busy))


@at_window()
def test_a_deleted_run_and_a_cleared_corpus_are_released_beside_another_run_and_alone(qtbot, window):
    session = window.session
    # What is there once the engine is loaded is kept out of the search for garbage.
    settled(qtbot, window)
    for number in range(2):
        # Each has a corpus of its own.
        session.corpus.set_sources(())
        session.corpus.add_text(f"{TEXT} {number}")
        trained(qtbot, window, 290)
    for left in (1, 0):
        visited(qtbot, window, every=left == 0)
        kept = {
            "run": weakref.ref(session.runs.active),
            "merges": weakref.ref(session.runs.active.run),
            "corpus": weakref.ref(session.runs.active.corpus),
            "source": weakref.ref(session.runs.active.corpus.sources[0]),
        }
        window.actions_by_id["clear_corpus"].trigger()
        window.actions_by_id["delete_run"].trigger()
        settled(qtbot, window)
        assert session.history.undo_text
        session.history.clear()
        gc.collect()
        assert len(session.runs.all) == left
        assert [name for name, one in kept.items() if one() is not None] == [], left


KINDS = (Corpus, Job, MergeBatch, Run, Source, StudioRun, Tokenizer, Training)


def work_round(qtbot, window: MainWindow, text: Path, tokenizer: Path, *, saved: bool) -> None:
    """Adds a text, trains on it, opens a tokenizer and saves both if so wished; then all of it goes again."""
    session, actions = window.session, window.actions_by_id
    window.opening.open_paths([text])
    qtbot.waitUntil(lambda: len(session.corpus.sources) == 1)
    trained(qtbot, window, 280)
    window.opening.load_tokenizer(tokenizer)
    qtbot.waitUntil(lambda: len(session.runs.all) == 2)
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


@at_window()
def test_repeated_work_leaves_no_objects(qtbot, tmp_path, book, window, answers):
    save(train(Corpus.from_text(TEXT), TrainingConfig(vocabulary_size=270)), tmp_path / "opened", format="huggingface")
    answers.target = tmp_path / "project.tokstudio"
    quiet(qtbot, window)

    work_round(qtbot, window, book, tmp_path / "opened", saved=True)
    before = held(window)
    for saved in (False, True):
        work_round(qtbot, window, book, tmp_path / "opened", saved=saved)
    assert held(window) - before == Counter()
