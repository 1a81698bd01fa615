"""Deleted runs and sources do not stay in memory because a pane has shown them."""

from __future__ import annotations

import gc
import weakref

import pytest

from tests.gui.person import PATIENCE, TEXT, at_the_window
from tokstudio.gui.state.training_settings import Settings

pytestmark = pytest.mark.usefixtures("unstyled")

SENTENCE = "the cat sat on the mat"


def visited(qtbot, window):
    """Shows a run in every pane and on every page, and then closes all of them."""
    session = window.session
    session.view.set_text(SENTENCE)
    run = session.runs.active
    uses = run.run.uses()
    session.view.look_at(next(token for token in range(run.base_size, len(uses)) if uses[token]))
    for pane in window.panes:
        pane.show()
        pane.raise_()
        settled(qtbot, window)
        tabs = getattr(pane, "tabs", None)
        for index in range(tabs.count() if tabs is not None else 0):
            tabs.setCurrentIndex(index)
            settled(qtbot, window)
    window.why.raise_()
    settled(qtbot, window)
    assert window.vocabulary.model.tokens.index is not None
    assert window.token.lines.model.rowCount()
    assert window.text.steps.model.rowCount()
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
    qtbot.waitUntil(lambda: not (window.session.jobs.running or lines.searching or why.busy), timeout=PATIENCE)


@pytest.mark.parametrize("runs", [1, 2], ids=["alone", "beside another"])
def test_a_deleted_run_and_a_cleared_corpus_are_released(qtbot, monkeypatch, runs):
    def act(window, answers):
        session = window.session
        # What is there once the engine is loaded is kept out of the search for garbage.
        settled(qtbot, window)
        for number in range(runs):
            # Each has a corpus of its own.
            session.corpus.set_sources(())
            session.corpus.add_text(f"{TEXT} {number}")
            session.training.set_settings(Settings(vocabulary_size=290))
            session.training.start()
            qtbot.waitUntil(
                lambda: session.training.current is None and session.runs.active is not None, timeout=PATIENCE
            )
        visited(qtbot, window)
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
        assert len(session.runs.all) == runs - 1
        assert [name for name, one in kept.items() if one() is not None] == []

    assert at_the_window(monkeypatch, act) == 0
