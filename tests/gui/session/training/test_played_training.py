"""A played training: merges that one can watch, sentences about them, and the way to full speed."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import pytest

from tests.gui.person import TEXT, at_window, quiet
from tokstudio.gui.session.training import training as module
from tokstudio.gui.session.training.training import Settings, played_interval
from tokstudio.gui.token_text.spelling import merge_sentence, token_name

pytestmark = pytest.mark.usefixtures("unstyled")


@pytest.fixture
def stands_still(monkeypatch):
    """A played training that never goes on by itself."""
    monkeypatch.setattr(module, "played_interval", lambda made: 3600.0)


def play(session, size=270):
    session.corpus.add_text(TEXT)
    session.training.set_settings(Settings(size))
    session.training.start(played=True)


def test_the_pace_becomes_slowly_faster_and_stays_near_ten_merges_a_second():
    intervals = [played_interval(made) for made in range(1, 745)]
    assert intervals == sorted(intervals, reverse=True)
    assert intervals[0] == 2.0
    assert intervals[20:100] == [0.1] * 80
    assert 30 < sum(intervals) < 60


def test_skipping_makes_the_same_merges_at_full_speed(qtbot, session, stands_still):
    play(session)
    run = session.runs.active
    qtbot.waitUntil(lambda: len(run) == 1)
    assert session.training.played
    session.training.hurry()
    assert not session.training.played
    qtbot.waitUntil(lambda: session.training.current is None)
    session.training.start()
    qtbot.waitUntil(lambda: session.training.current is None)
    assert session.runs.active is not run
    assert run.merges.tolist() == session.runs.active.merges.tolist()


def test_it_waits_after_every_merge_and_shows_each_of_them(qtbot, session, monkeypatch):
    monkeypatch.setattr(module, "played_interval", lambda made: 0.08)
    monkeypatch.setattr(module, "_HELD", 0.0)
    seen = [0]
    session.training.merges_added.connect(lambda: seen.append(len(session.runs.active)))
    play(session, 261)
    qtbot.waitUntil(lambda: session.training.current is None)
    assert list(dict.fromkeys(seen)) == list(range(6))


def test_pause_step_and_stop_work_while_it_is_played(qtbot, session, stands_still):
    play(session)
    run, training = session.runs.active, session.training
    qtbot.waitUntil(lambda: len(run) == 1)
    training.pause()
    assert training.state == "paused"
    training.step()
    qtbot.waitUntil(lambda: len(run) == 2 and training.state == "paused")
    assert training.played
    training.resume()
    assert training.state == "running"
    training.stop()
    qtbot.waitUntil(lambda: training.current is None)
    assert run.ended == "stopped"
    assert len(run) in (2, 3)


def test_closing_while_it_is_played_leaves_nothing(qtbot, session, monkeypatch):
    monkeypatch.setattr(module, "played_interval", lambda made: 0.02)
    monkeypatch.setattr(module, "_HELD", 0.0)
    play(session)
    qtbot.waitUntil(lambda: len(session.runs.active) > 2)
    session.close()
    assert not session.jobs.running


@at_window("{book}")
def test_the_first_training_of_a_sample_is_played_and_its_sentences_are_held_and_durations_told(
    qtbot, monkeypatch, stands_still, window, answers
):
    session, actions = window.session, window.actions_by_id
    qtbot.waitUntil(lambda: bool(session.corpus.sources))
    assert not actions["hurry"].isEnabled()
    answers.yes = False
    actions["sample_train_article"].trigger()
    assert session.training.current is None
    answers.yes = True
    actions["sample_train_article"].trigger()
    assert session.training.played
    sentence = "“e” and space stand side by side 927 times, so they become one token."
    qtbot.waitUntil(lambda: window.status.label.text() == sentence)
    qtbot.waitUntil(lambda: window.status.figures.text() == "1 merge")
    # Not isVisible: the pointer of an earlier test may show a tip in place of the line.
    assert not window.status.skip.isHidden()
    window.status.skip.click()
    quiet(qtbot, window)
    assert window.status.skip.isHidden()
    assert len(session.runs.active) == 744
    assert not actions["hurry"].isEnabled()
    actions["sample_train_python"].trigger()
    assert not session.training.played
    session.training.stop()
    quiet(qtbot, window)

    # A sentence is held while merges are made fast, and both durations are told.
    session.corpus.set_sources(())
    monkeypatch.setattr(module, "played_interval", lambda made: 0.001)
    monkeypatch.setattr(module, "_HELD", 3600.0)
    model = window.merges.model
    play(session, 300)
    run, training = session.runs.active, session.training.current
    qtbot.waitUntil(lambda: len(training._unread) > 5)
    shown = len(run)
    assert shown > 0
    assert window.status.label.text() == merge_sentence(run, shown)
    assert session.view.playhead == shown
    assert model.cell(0, 0).marked
    assert model.number_at(0) == shown, "the newest row is that of the sentence"
    session.training.pause()
    qtbot.waitUntil(lambda: len(run) > shown)
    session.training.resume()
    window.status.skip.click()
    quiet(qtbot, window)
    assert run.ended is not None
    assert session.view.playhead == len(run)

    monkeypatch.setattr(module, "played_interval", lambda made: 0.05)
    session.training.set_settings(Settings(259))
    session.training.start(played=True)
    qtbot.waitUntil(lambda: session.training.current is None)
    run = session.runs.active
    assert run.played > run.run.seconds
    assert ", played for 0." in window.status.label.text()
    session.training.start()
    quiet(qtbot, window)
    assert session.runs.active.played == 0
    assert "played" not in window.status.label.text()


def test_a_sentence_names_the_tokens_and_how_often_they_were_there(make_run):
    run = make_run(TEXT, vocabulary_size=262)
    assert merge_sentence(run, 1) == "“a” and “t” stand side by side 240 times, so they become one token."
    names = {b" ": "space", b"\n": "line break", b" th": "“·th”", b"\xe2": "the byte E2", "日".encode(): "“日”"}
    for raw, name in (names | {b"\xe2\x80": "the bytes E2 80"}).items():
        assert token_name(raw) == name
