"""The session without a window: corpus, runs and playhead."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.gui.person import PATIENCE, TEXT
from tokstudio import Corpus, TrainingConfig, train
from tokstudio.core.base.progress import Progress
from tokstudio.core.base.resources import sample_text
from tokstudio.gui.session.session import Session
from tokstudio.gui.session.training.training import Settings


def trained(qtbot, session: Session, text: str = TEXT, **limits) -> None:
    session.corpus.set_sources(())
    session.corpus.add_text(text)
    session.training.set_settings(Settings(**limits))
    session.training.start()
    qtbot.waitUntil(lambda: session.training.current is None, timeout=PATIENCE)


def test_a_training_gives_what_the_core_gives(qtbot, session):
    text = sample_text("article")
    trained(qtbot, session, text, vocabulary_size=600)
    expected = train(Corpus.from_text(text), TrainingConfig(vocabulary_size=600))
    run = session.runs.active
    assert run is not None
    assert np.array_equal(run.merges, expected.merges)
    assert np.array_equal(run.log.count, expected.run.counts)
    assert np.array_equal(run.log.tokens_after, expected.run.tokens_after)
    assert run.ended == "reached vocabulary size"
    assert session.view.playhead == 344
    assert np.array_equal(run.uses.at(100), expected.run.uses(100))


def test_the_playhead_follows_the_newest_merge_until_it_is_dragged_away(qtbot, session):
    session.corpus.add_text(TEXT)
    session.training.set_settings(Settings(vocabulary_size=2000))
    session.training.step()
    qtbot.waitUntil(lambda: session.training.state == "paused" and session.view.playhead == 1, timeout=PATIENCE)
    session.training.step()
    qtbot.waitUntil(lambda: session.view.playhead == 2)
    session.view.set_playhead(1)
    session.training.step()
    qtbot.waitUntil(lambda: len(session.runs.active) == 3)
    assert session.view.playhead == 1
    session.view.set_playhead(3)
    session.training.step()
    qtbot.waitUntil(lambda: session.view.playhead == 4)


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


def test_a_quick_step_ends_paused(qtbot, session):
    session.corpus.add_text(TEXT)
    session.training.set_settings(Settings(vocabulary_size=2000))
    session.training.step()
    qtbot.waitUntil(lambda: session.training.state == "paused", timeout=PATIENCE)
    session.view.set_playhead(0)
    told = []
    session.training.state_changed.connect(lambda: told.append(session.training.state))
    session.training.step()
    qtbot.waitUntil(lambda: len(session.runs.active) == 2)
    qtbot.waitUntil(lambda: told[-1:] == ["paused"])


def test_stepping_pausing_and_resuming_change_no_merge(qtbot, session):
    session.corpus.add_text(TEXT)
    session.training.set_settings(Settings(vocabulary_size=300))
    for steps in range(1, 4):
        session.training.step()
        qtbot.waitUntil(
            lambda steps=steps: session.runs.active is not None and len(session.runs.active) == steps, timeout=PATIENCE
        )
        qtbot.waitUntil(lambda: session.training.state == "paused")
    session.training.resume()
    session.training.pause()
    session.training.resume()
    qtbot.waitUntil(lambda: session.training.current is None, timeout=PATIENCE)
    expected = train(Corpus.from_text(TEXT), TrainingConfig(vocabulary_size=300))
    assert np.array_equal(session.runs.active.merges, expected.merges)


def test_a_stopped_run_is_kept_and_continues_like_an_uninterrupted_one(qtbot, session):
    session.corpus.add_text(TEXT)
    session.training.set_settings(Settings(vocabulary_size=400))
    session.training.step()
    qtbot.waitUntil(lambda: session.training.state == "paused", timeout=PATIENCE)
    session.training.stop()
    qtbot.waitUntil(lambda: session.training.current is None)
    stopped = session.runs.active
    assert stopped.ended == "stopped"
    assert len(stopped) == 1
    assert session.training.can_continue(stopped)
    session.training.continue_run(stopped)
    qtbot.waitUntil(lambda: session.training.current is None, timeout=PATIENCE)
    expected = train(Corpus.from_text(TEXT), TrainingConfig(vocabulary_size=400))
    assert session.runs.active is not stopped
    assert np.array_equal(session.runs.active.merges, expected.merges)
    assert len(stopped) == 1


def test_stopping_a_continued_run_early_loses_no_merge(qtbot, session):
    trained(qtbot, session, sample_text("article"), vocabulary_size=2000)
    earlier = session.runs.active
    session.training.set_settings(Settings(vocabulary_size=3000))
    session.training.continue_run(earlier)
    session.view.set_playhead(7)
    session.training.stop()
    qtbot.waitUntil(lambda: session.training.current is None, timeout=PATIENCE)
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


@pytest.mark.parametrize("text", ["x", "", "ab"])
def test_a_tiny_corpus_ends_cleanly_and_says_why(qtbot, session, text, make_run):
    session.corpus.add_text(text)
    if not text:
        assert session.training.obstacle == "The corpus has no text."
        return
    make_run(vocabulary_size=1000)
    assert session.runs.active.ended == "nothing left to merge"
    assert len(session.runs.active) == len(text) - 1


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


def test_an_unreadable_file_does_not_affect_the_others(qtbot, session, tmp_path):
    (tmp_path / "good.txt").write_text("good")
    (tmp_path / "empty.txt").write_text("")
    problems = []
    session.corpus.problem.connect(problems.append)
    session.corpus.open_paths([tmp_path / "empty.txt", tmp_path / "missing.txt", tmp_path / "good.txt"])
    qtbot.waitUntil(lambda: len(session.corpus.sources) == 1 and len(problems) == 2)
    assert session.corpus.sources[0].name == "good.txt"
    assert [problem.text.split(":")[0] for problem in problems] == ["empty.txt", "missing.txt"]


def test_statistics_are_those_of_the_sources_that_are_there(qtbot, session):
    session.corpus.add_text("aé")
    session.corpus.add_text("b\n")
    qtbot.waitUntil(lambda: session.corpus.statistics is not None)
    assert session.corpus.statistics.characters == 4
    session.corpus.remove_sources([0])
    assert session.corpus.statistics is None
    qtbot.waitUntil(lambda: session.corpus.statistics is not None)
    assert session.corpus.statistics.bytes == 2


def test_runs_can_be_renamed_deleted_and_made_active(qtbot, session):
    trained(qtbot, session, vocabulary_size=260)
    trained(qtbot, session, vocabulary_size=262)
    first, second = session.runs.all
    assert session.runs.active is second
    session.runs.activate(first)
    assert session.view.playhead == 4
    session.runs.rename(first, "  small ")
    session.runs.rename(first, " ")
    assert first.name == "small"
    session.runs.delete(first)
    assert session.runs.all == [second]
    assert session.runs.active is second
    session.runs.delete(second)
    assert session.runs.active is None
    assert session.view.tokenizer is None


@pytest.mark.parametrize("paused", [False, True])
def test_closing_in_the_middle_of_a_training_ends_its_thread(qtbot, session, paused):
    session.corpus.add_text(sample_text("article"))
    session.training.set_settings(Settings(vocabulary_size=100_000))
    session.training.step()
    qtbot.waitUntil(lambda: session.training.state == "paused", timeout=PATIENCE)
    job = session.training.current.job
    if not paused:
        session.training.resume()
    session.close()
    assert not job._thread.isRunning()


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
    qtbot.waitUntil(lambda: not session.corpus.splitting, timeout=PATIENCE)
    assert session.corpus.sources == before
    assert session.training.settings.documents == "file"
    monkeypatch.undo()
    session.training.set_settings(replace(session.training.settings, documents="line"))
    qtbot.waitUntil(lambda: not session.corpus.splitting, timeout=PATIENCE)
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
        qtbot.waitUntil(lambda: session.training.current is None, timeout=PATIENCE)
    assert [len(run) for run in session.runs.all] == [14, 34]
