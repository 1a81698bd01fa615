"""The session without a window: corpus, runs and playhead."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.gui.person import TEXT
from tokstudio.core.base.progress import Progress
from tokstudio.core.base.resources import sample_text
from tokstudio.gui.session.session import Session
from tokstudio.gui.session.training.training import Settings


def trained(qtbot, session: Session, text: str = TEXT, **limits) -> None:
    session.corpus.set_sources(())
    session.corpus.add_text(text)
    session.training.set_settings(Settings(**limits))
    session.training.start()
    qtbot.waitUntil(lambda: session.training.current is None)


def test_the_playhead_follows_the_newest_merge_until_it_is_dragged_away(session, step_to):
    session.corpus.add_text(TEXT)
    session.training.set_settings(Settings(vocabulary_size=2000))
    for made in (1, 2):
        step_to(made)
        assert session.view.playhead == made
    session.view.set_playhead(1)
    step_to(3)
    assert session.view.playhead == 1
    session.view.set_playhead(3)
    step_to(4)
    assert session.view.playhead == 4


def test_each_run_keeps_its_playhead(qtbot, session):
    trained(qtbot, session, vocabulary_size=280)
    first = session.runs.active
    session.view.set_playhead(5)
    trained(qtbot, session, vocabulary_size=290)
    second = session.runs.active
    assert session.view.playhead == len(second)
    session.runs.activate(first)
    assert session.view.playhead == 5
    session.view.set_playhead(len(first))
    session.runs.activate(second)
    assert session.view.playhead == len(second)
    session.view.set_playhead(9)
    session.runs.activate(first)
    assert session.view.playhead == len(first)
    session.runs.activate(second)
    assert session.view.playhead == 9


def test_stopping_a_continued_run_early_loses_no_merge(qtbot, session):
    trained(qtbot, session, sample_text("article"), vocabulary_size=2000)
    earlier = session.runs.active
    session.training.set_settings(Settings(vocabulary_size=3000))
    session.training.continue_run(earlier)
    session.view.set_playhead(7)
    session.training.stop()
    qtbot.waitUntil(lambda: session.training.current is None)
    assert session.runs.active is not earlier
    assert session.runs.active.ended == "stopped"
    assert np.array_equal(session.runs.active.merges[:1744], earlier.merges)
    assert len(session.runs.active) >= 1744
    assert session.view.playhead == 7


def test_without_a_text_or_with_invalid_settings_there_is_nothing_to_train(session):
    assert session.training.obstacle == "Open a text first."
    session.corpus.add_text(TEXT)
    for settings, words in (
        (Settings(256, None), "Vocabulary size must be greater than 256."),
        (Settings(None, 1), "Minimum frequency must be at least 2."),
        (Settings(None, None), "Set a vocabulary size, a minimum frequency, or both."),
    ):
        session.training.set_settings(settings)
        assert session.training.obstacle == words
        session.training.start()
        assert session.runs.all == []


def test_a_tiny_corpus_ends_cleanly_and_says_why(session, make_run):
    session.corpus.add_text("")
    assert session.training.obstacle == "The corpus has no text."
    for text in ("x", "ab"):
        session.corpus.set_sources(())
        run = make_run(text, vocabulary_size=1000)
        assert (run.ended, len(run)) == ("nothing left to merge", len(text) - 1)


def test_a_finished_run_says_why_and_continues_only_to_a_larger_limit_on_the_same_corpus(qtbot, session):
    trained(qtbot, session, vocabulary_size=None, min_frequency=50)
    assert session.runs.active.ended == "no pair occurs 50 times"
    trained(qtbot, session, vocabulary_size=270)
    run = session.runs.active
    assert not session.training.can_continue(run)
    session.training.set_settings(Settings(vocabulary_size=280))
    assert session.training.can_continue(run)
    session.training.set_settings(Settings(vocabulary_size=265))
    assert not session.training.can_continue(run)
    session.training.set_settings(Settings(vocabulary_size=280))
    session.corpus.add_text("more")
    assert not session.training.can_continue(run)


def test_statistics_are_those_of_the_sources_that_are_there(qtbot, session):
    session.corpus.add_text("aé")
    session.corpus.add_text("b\n")
    qtbot.waitUntil(lambda: session.corpus.statistics is not None)
    assert session.corpus.statistics.characters == 4
    session.corpus.remove_sources([0])
    assert session.corpus.statistics is None
    qtbot.waitUntil(lambda: session.corpus.statistics is not None)
    assert session.corpus.statistics.bytes == 2


@pytest.mark.parametrize("paused", [False, True])
def test_closing_in_the_middle_of_a_training_ends_its_thread(session, step_to, paused):
    session.corpus.add_text(sample_text("article"))
    session.training.set_settings(Settings(vocabulary_size=100_000))
    step_to(1)
    if not paused:
        session.training.resume()
    job = session.training.current.job
    session.close()
    # What other jobs found may still wait to be delivered.
    assert not any(each._thread.isRunning() for each in (job, *session.jobs.running))


def test_unchanged_settings_emit_no_signal(qtbot, session):
    with qtbot.assertNotEmitted(session.training.settings_changed):
        session.training.set_settings(replace(session.training.settings))


def test_a_cancelled_division_restores_the_setting(qtbot, session, monkeypatch):
    def endless(sources, documents, before):
        while True:
            yield Progress("dividing")

    session.corpus.add_text("one\ntwo\n")
    before = session.corpus.sources
    monkeypatch.setattr("tokstudio.gui.session.common.source_jobs.split_all", endless)
    session.training.set_settings(replace(session.training.settings, documents="line"))
    assert session.corpus.splitting
    for job in session.jobs.running:
        job.cancel()
    qtbot.waitUntil(lambda: not session.corpus.splitting)
    assert session.corpus.sources == before
    assert session.training.settings.documents == "file"
    monkeypatch.undo()
    session.training.set_settings(replace(session.training.settings, documents="line"))
    qtbot.waitUntil(lambda: not session.corpus.splitting)
    assert [source.documents for source in session.corpus.sources] == [2]
    assert session.training.settings.documents == "line"


def test_the_begin_of_a_training_is_told_once_for_a_new_run_and_for_a_continued_one(qtbot, session):
    session.corpus.add_text(TEXT)
    told = list[object]()
    for size in (270, 290):
        earlier = session.runs.active
        session.training.set_settings(Settings(size))
        note = session.runs.changed.connect(lambda: told.append(session.runs.active))
        if earlier is None:
            session.training.start()
        else:
            session.training.continue_run(earlier)
        session.runs.changed.disconnect(note)
        assert session.training.current is not None
        assert told == [session.training.current.run]
        told.clear()
        qtbot.waitUntil(lambda: session.training.current is None)
    assert [len(run) for run in session.runs.all] == [14, 34]
