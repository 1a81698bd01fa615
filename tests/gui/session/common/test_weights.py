"""Weights of the sources in the session: what they follow, Undo and Redo, and the run that follows them."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import replace

import pytest

from tokstudio import Trainer
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.source import Source
from tokstudio.core.model.run import STOPPED
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.state.training_settings import Settings

TEXTS = ("the cat sat on the mat.\n" * 40, "día de días, noche de noches\n" * 30, "日本語の本、本の日\n" * 30)
SETTINGS = Settings(vocabulary_size=290, pattern="gpt2")
MIXED = (1000, 3000, 500)


def idle(qtbot, session: Session) -> None:
    qtbot.waitUntil(lambda: session.training.current is None and not session.jobs.running)


def weigh(qtbot, session: Session, weights: tuple[int, ...], *, moving: bool = False) -> None:
    session.corpus.set_weights(weights, moving=moving)
    idle(qtbot, session)


def train(qtbot, session: Session) -> None:
    session.training.start()
    idle(qtbot, session)


def undo(qtbot, session: Session) -> None:
    session.history.undo()
    idle(qtbot, session)


@pytest.fixture
def mixed(qtbot, session) -> Session:
    """Three sources of pasted text, not trained yet."""
    for number, text in enumerate(TEXTS):
        session.corpus.add_text(text, f"text {number}")
    session.training.set_settings(SETTINGS)
    idle(qtbot, session)
    return session


@pytest.fixture
def counted(qtbot, mixed) -> Session:
    """The same after a training."""
    train(qtbot, mixed)
    return mixed


def expected(session: Session, weights: tuple[int, ...]) -> list[list[int]]:
    trainer = Trainer(Corpus(session.corpus.sources, weights), SETTINGS.config())
    for _ in trainer:
        pass
    return trainer.run.merges.tolist()


def names(session: Session) -> list[str]:
    return [run.name for run in session.runs.all]


def active(session: Session) -> StudioRun:
    assert session.runs.active is not None
    return session.runs.active


# ---- what weights follow


def test_weights_are_one_at_first_and_stay_with_their_sources(mixed, qtbot):
    assert mixed.corpus.weights == (1000, 1000, 1000)
    assert mixed.corpus.current.weights is None
    mixed.corpus.set_weights(MIXED)
    assert mixed.corpus.current.weights == MIXED
    assert mixed.history.undo_text == "Weights"
    mixed.training.set_settings(replace(SETTINGS, documents="line"))
    idle(qtbot, mixed)
    assert mixed.corpus.sources[0].documents == 40
    assert mixed.corpus.weights == MIXED
    mixed.corpus.remove_sources([1])
    mixed.history.undo()
    assert mixed.corpus.weights == MIXED
    mixed.corpus.remove_sources([0])
    assert mixed.corpus.weights == MIXED[1:]
    mixed.corpus.add_text("one more")
    assert mixed.corpus.weights == (*MIXED[1:], 1000)


def test_a_file_that_is_read_again_keeps_its_weight(qtbot, session, tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("before")
    session.corpus.open_paths([path])
    idle(qtbot, session)
    session.corpus.add_text("beside")
    session.corpus.set_weights((2500, 1000))
    path.write_text("afterwards")
    session.corpus.reread(0, None)
    idle(qtbot, session)
    assert session.corpus.sources[0].bytes == len("afterwards")
    assert session.corpus.weights == (2500, 1000)


def test_sources_of_one_entry_count_alike(session):
    first, between, last = (Source.from_texts([text], f"text {number}") for number, text in enumerate(TEXTS))
    sources = (replace(first, group="books"), between, replace(last, group="books"))
    session.corpus.set_sources(sources)
    session.corpus.set_weights(MIXED)
    session.corpus.remove_sources([1])
    assert session.corpus.weights == (MIXED[0], MIXED[0])


# ---- undo and redo


def test_changed_weights_are_undone_by_name_a_drag_is_one_entry_and_none_if_it_goes_back(mixed):
    mixed.corpus.set_weights((1000, 3000, 1000))
    assert mixed.history.undo_text == "Weight of text 1"
    mixed.history.undo()
    assert mixed.corpus.weights == (1000, 1000, 1000)
    mixed.history.redo()
    assert mixed.corpus.weights == (1000, 3000, 1000)
    mixed.history.undo()
    for weight in (1100, 1500, 2000):
        mixed.corpus.set_weights((weight, 1000, 1000), moving=True)
    mixed.corpus.settle_weights()
    for weight in (3000, 4000):
        mixed.corpus.set_weights((weight, 1000, 1000), moving=True)
    mixed.corpus.settle_weights()
    mixed.history.undo()
    assert mixed.corpus.weights == (2000, 1000, 1000)
    mixed.history.undo()
    assert mixed.corpus.weights == (1000, 1000, 1000)
    before = mixed.history.undo_text
    for weight in (1100, 1500, 1000):
        mixed.corpus.set_weights((weight, 1000, 1000), moving=True)
    mixed.corpus.settle_weights()
    assert mixed.history.undo_text == before


# ---- conditions of a training


def test_a_training_uses_the_weights(qtbot, mixed):
    mixed.corpus.set_weights(MIXED)
    train(qtbot, mixed)
    run = active(mixed)
    assert run.merges.tolist() == expected(mixed, MIXED)
    assert run.run is not None
    assert run.run.corpus.weights == MIXED


def test_a_run_of_other_weights_cannot_be_continued(qtbot, counted):
    longer = replace(SETTINGS, vocabulary_size=300)
    counted.training.set_settings(longer)
    assert counted.training.can_continue(active(counted))
    counted.corpus.set_weights(MIXED)
    assert not counted.training.can_continue(active(counted))


# ---- the live run


def test_the_run_follows_a_slider_and_enters_the_list_when_it_is_released(qtbot, counted):
    first, entries, seen = active(counted), counted.history.undo_text, list[StudioRun | None]()
    counted.runs.changed.connect(lambda: seen.append(counted.runs.active))
    weigh(qtbot, counted, (1000, 3000, 1000), moving=True)
    live = active(counted)
    assert live is counted.runs.live
    assert live.name == "Run 2, live"
    assert live.merges.tolist() == expected(counted, (1000, 3000, 1000))
    assert counted.runs.all == [first]
    assert counted.runs.shown == [first, live]
    counted.corpus.set_weights((2000, 3000, 1000), moving=True)
    assert counted.live.busy
    assert active(counted) is live, "the last one stays on screen while another is trained"
    idle(qtbot, counted)
    live = active(counted)
    counted.corpus.settle_weights()
    assert counted.runs.live is None
    assert counted.runs.all == [first, live]
    assert live.name == "Run 2"
    assert entries != counted.history.undo_text == "Weights"
    assert all(run is not None for run in seen)


def test_only_the_last_weights_are_trained_when_the_slider_is_released(qtbot, counted):
    for weight in range(1100, 5100, 100):
        counted.corpus.set_weights((weight, 1000, 1000), moving=True)
    counted.corpus.settle_weights()
    idle(qtbot, counted)
    assert names(counted) == ["Run 1", "Run 2"]
    assert active(counted).corpus.weights == counted.corpus.weights == (5000, 1000, 1000)


@pytest.mark.parametrize("how", ["renamed", "exported", "saved"])
def test_a_run_that_was_taken_care_of_is_not_replaced(qtbot, counted, how):
    weigh(qtbot, counted, (2000, 1000, 1000))
    kept = active(counted)
    if how == "renamed":
        counted.history.rename_run(kept, "much English")
    elif how == "exported":
        counted.runs.mark_exported(kept)
    else:
        kept.note(saved=len(kept))
    weigh(qtbot, counted, (3000, 1000, 1000))
    assert len(counted.runs.all) == 3
    assert kept in counted.runs.all
    assert active(counted).name == "Run 3"


@pytest.mark.parametrize("change", ["another training", "other settings", "another run shown"])
def test_a_run_of_an_earlier_change_is_not_replaced_by_a_later_one(qtbot, counted, change):
    weigh(qtbot, counted, MIXED)
    followed = active(counted)
    if change == "another run shown":
        counted.runs.activate(counted.runs.all[0])
    else:
        counted.training.set_settings(replace(SETTINGS, vocabulary_size=280))
    if change == "another training":
        train(qtbot, counted)
    weigh(qtbot, counted, (1000, 1000, 2000))
    assert followed in counted.runs.all
    assert active(counted) is counted.runs.all[-1]
    assert len(counted.runs.all) == (4 if change == "another training" else 3)


def test_a_token_of_an_opened_tokenizer_is_not_taken_over_by_a_live_run(qtbot, counted):
    counted.runs.add_tokenizer(active(counted).tokenizer.at(3), "opened")
    counted.view.look_at(280)
    weigh(qtbot, counted, MIXED)
    assert counted.view.token is None
    assert active(counted).name.startswith("Run 2")


def test_undo_of_a_weight_trains_the_run_of_the_weights_before(qtbot, counted):
    weigh(qtbot, counted, (2000, 1000, 1000))
    weigh(qtbot, counted, (3000, 1000, 1000))
    undo(qtbot, counted)
    assert active(counted).corpus.weights == (2000, 1000, 1000)
    assert names(counted) == ["Run 1", "Run 2"]


def test_undo_of_a_weight_shows_the_run_before_and_deletes_the_one_that_followed(qtbot, counted):
    first = active(counted)
    counted.view.set_playhead(7)
    weigh(qtbot, counted, (2000, 1000, 1000))
    counted.history.undo()
    assert counted.runs.all == [first]
    assert active(counted) is first
    assert counted.view.playhead == 7
    assert not counted.live.busy
    idle(qtbot, counted)
    assert counted.runs.all == [first]
    counted.history.redo()
    idle(qtbot, counted)
    assert names(counted) == ["Run 1", "Run 2"]
    assert active(counted).corpus.weights == (2000, 1000, 1000)


@pytest.mark.parametrize("moving", [True, False])
def test_a_slider_that_comes_back_in_one_move_or_in_a_second_shows_the_first_run(qtbot, counted, moving):
    first = active(counted)
    weigh(qtbot, counted, (2000, 1000, 1000), moving=moving)
    for weight in (1500, 1000):
        weigh(qtbot, counted, (weight, 1000, 1000), moving=True)
    assert counted.runs.live is active(counted)
    counted.corpus.settle_weights()
    assert counted.runs.all == [first]
    assert active(counted) is first
    assert counted.runs.live is None


def test_undo_of_a_weight_keeps_a_run_that_was_renamed(qtbot, counted):
    first = active(counted)
    weigh(qtbot, counted, (2000, 1000, 1000))
    kept = active(counted)
    counted.history.rename_run(kept, "much English")
    weigh(qtbot, counted, (1000, 1000, 1000))
    assert counted.runs.all == [first, kept]
    assert active(counted) is first
    weigh(qtbot, counted, (2000, 1000, 1000))
    assert counted.runs.all == [first, kept]
    assert active(counted) is kept


def test_a_name_that_was_taken_back_comes_again_for_the_run_that_follows_the_weights_since(qtbot, counted):
    weigh(qtbot, counted, (2000, 1000, 1000))
    counted.history.rename_run(active(counted), "much English")
    counted.history.rename_run(active(counted), "Run 2")
    weigh(qtbot, counted, (3000, 1000, 1000))
    assert names(counted) == ["Run 1", "Run 2"]
    undo(qtbot, counted)
    undo(qtbot, counted)
    assert names(counted) == ["Run 1", "much English"]


def test_weights_of_a_run_with_other_settings_are_trained_again(qtbot, counted):
    counted.training.set_settings(replace(SETTINGS, vocabulary_size=280))
    weigh(qtbot, counted, (2000, 1000, 1000))
    weigh(qtbot, counted, (1000, 1000, 1000))
    assert names(counted) == ["Run 1", "Run 2"]
    assert active(counted).name == "Run 2"
    assert len(active(counted)) == 280 - 256


def test_a_run_that_was_stopped_is_not_shown_for_its_weights(qtbot, counted):
    active(counted).ended = STOPPED
    weigh(qtbot, counted, (2000, 1000, 1000))
    undo(qtbot, counted)
    assert names(counted) == ["Run 1", "Run 2"]
    assert active(counted).name == "Run 2"
    assert active(counted).corpus.weights is None


def test_the_playhead_stays_where_it_was_while_the_run_follows(qtbot, counted):
    counted.view.set_playhead(7)
    weigh(qtbot, counted, MIXED)
    assert counted.view.playhead == 7
    counted.view.set_playhead(len(active(counted)))
    weigh(qtbot, counted, (1000, 1000, 3000))
    assert counted.view.playhead == len(active(counted))


@pytest.mark.parametrize(("text", "stays"), [(b" cat", True), (b" mat", False)])
def test_the_token_stays_by_its_text_while_the_run_follows(qtbot, counted, text, stays):
    (before,) = active(counted).tokenizer.tokens.spelling(text)
    counted.view.look_at(before)
    weigh(qtbot, counted, (1, 1000, 1000), moving=True)
    after = active(counted).tokenizer.tokens.spelling(text)
    assert [before] != after == ([counted.view.chosen] if stays else [])
    assert counted.view.token == counted.view.chosen


def test_without_a_pattern_the_weights_wait_for_the_next_training(qtbot, session):
    for text in TEXTS:
        session.corpus.add_text(text)
    session.training.set_settings(Settings(vocabulary_size=290))
    idle(qtbot, session)
    train(qtbot, session)
    weigh(qtbot, session, MIXED)
    assert names(session) == ["Run 1"]
    assert session.live.obstacle is not None
    assert session.live.obstacle.startswith("The weights apply at the next Train.")


def test_no_run_follows_before_the_first_training_or_where_nothing_counts(qtbot, mixed):
    assert mixed.live.obstacle == "The weights apply at the next Train. After it, the run follows them."
    weigh(qtbot, mixed, MIXED)
    assert names(mixed) == []
    mixed.corpus.set_weights((0, 0, 0))
    assert mixed.training.obstacle == "All sources have the weight 0: give one a larger weight."


@pytest.mark.parametrize("change", [{"pattern": "cl100k"}, {"special_tokens": ("cat",)}, {"held_out": 0.5}])
def test_a_count_with_other_settings_is_not_used(qtbot, counted, change):
    counted.training.set_settings(replace(SETTINGS, documents="line", **change))
    idle(qtbot, counted)
    assert counted.live.obstacle is not None


def test_with_a_held_out_share_a_count_is_not_used_for_other_weights_of_0(qtbot, counted):
    counted.training.set_settings(replace(SETTINGS, held_out=0.25))
    train(qtbot, counted)
    counted.corpus.set_weights((1000, 2000, 1000))
    assert counted.live.obstacle is None
    idle(qtbot, counted)
    counted.corpus.set_weights((1000, 2000, 0))
    assert counted.live.obstacle is not None
    train(qtbot, counted)
    run = active(counted)
    counted.corpus.remove_sources([2])
    train(qtbot, counted)
    assert run.merges.tolist() == active(counted).merges.tolist()
    assert run.held_out.tokens.tolist() == active(counted).held_out.tokens.tolist()


def test_the_count_is_released_with_its_sources(qtbot, counted):
    config = SETTINGS.config()
    assert counted.corpus.counts.find(counted.corpus.current, config) is not None
    before = counted.corpus.sources
    counted.corpus.remove_sources([0])
    idle(qtbot, counted)
    assert counted.corpus.counts.find(Corpus(before), config) is None
    assert counted.corpus.counts.find(counted.corpus.current, config) is None


def test_a_changed_corpus_ends_the_live_run(qtbot, counted):
    first = active(counted)
    counted.corpus.set_weights((2000, 1000, 1000), moving=True)
    qtbot.waitUntil(lambda: counted.runs.live is not None)
    counted.corpus.set_weights((3000, 1000, 1000), moving=True)
    counted.corpus.add_text("one more")
    idle(qtbot, counted)
    assert counted.runs.live is None
    assert counted.live.busy is False
    assert all(run.corpus is not None and len(run.corpus.sources) == 3 for run in counted.runs.all)
    assert active(counted) in counted.runs.all
    assert first in counted.runs.all


def test_the_live_run_can_be_neither_deleted_nor_continued_and_an_ordinary_training_takes_its_place(qtbot, counted):
    weigh(qtbot, counted, (2000, 1000, 1000), moving=True)
    live = active(counted)
    counted.runs.delete(live)
    assert counted.runs.live is live
    counted.training.continue_run(live)
    assert counted.training.current is None
    train(qtbot, counted)
    assert counted.runs.live is None
    assert active(counted).corpus.weights == (2000, 1000, 1000)
    assert active(counted) in counted.runs.all
    assert not active(counted).name.endswith("live")
