"""The session in any order of actions: whatever a person does, the state stays consistent."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import settings as how
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from numpy.typing import NDArray
from PySide6.QtCore import QCoreApplication, QEvent

from tests.gui.person import PATIENCE, PAUSES
from tests.times import TIMES
from tokstudio import train
from tokstudio.core.base.progress import finish
from tokstudio.gui.project.snapshot import adopt, project_work, reopen_work, snapshot
from tokstudio.gui.session.session import Session
from tokstudio.gui.session.training.training import Settings
from tokstudio.gui.state.run import StudioRun

# Of enough lines that a share can be held out.
TEXTS = st.sampled_from(
    [
        "the cat sat on the mat.\n" * 30,
        "día de días, noche de noches\n" * 25,
        "日本語の本、本の日\n" * 24,
        "aaaa\n" * 40,
    ]
)
SIZES = st.integers(257, 290)
#: Numbers from which a rule chooses one of what there is.
CHOICES = st.integers(0, 50)


class Studio(RuleBasedStateMachine):
    """Does what a person can do in a window, and waits for the background work of each action."""

    def __init__(self) -> None:
        super().__init__()
        self.session = Session(pauses=PAUSES)
        self.refused: list[str] = []
        self.failed: list[object] = []
        self.made: dict[StudioRun, NDArray[np.int32]] = {}  # what the core makes
        self.session.jobs.refused.connect(self.refused.append)
        self.session.jobs.failed.connect(self.failed.append)

    def teardown(self) -> None:
        """Ends the jobs, and fails where one has failed."""
        self.session.close()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        assert not self.failed

    def wait(self) -> None:
        """Lets the event loop run until nothing goes on but a paused training."""
        until = time.monotonic() + PATIENCE / 1000
        while self.session.training.state == "running" or self.others:
            assert time.monotonic() < until, "an action did not end"
            QCoreApplication.processEvents()
        self.session.training.pause()  # takes over the merges that were made before the pause
        QCoreApplication.processEvents()

    @property
    def others(self) -> bool:
        """Whether any job but the training goes on."""
        training = self.session.training.current
        return any(training is None or job is not training.job for job in self.session.jobs.running)

    def run_at(self, choice: int) -> StudioRun:
        """One of the runs."""
        return self.session.runs.all[choice % len(self.session.runs.all)]

    @initialize(text=TEXTS, size=SIZES)
    def begin(self, text: str, size: int) -> None:
        self.session.corpus.add_text(text)
        self.set_settings(size, "none", 0.0)
        for _ in range(2):
            self.train()

    # ---- corpus and settings

    @rule(text=TEXTS)
    def add_text(self, text: str) -> None:
        self.session.corpus.add_text(text)
        self.wait()

    @precondition(lambda self: self.session.corpus.sources)
    @rule(choice=CHOICES)
    def remove_source(self, choice: int) -> None:
        before = self.session.corpus.sources
        at, state = choice % len(before), self.undoable
        self.session.corpus.remove_sources([at])
        self.wait()
        assert self.session.corpus.sources == (*before[:at], *before[at + 1 :])
        self.go_back_to(state)

    @precondition(lambda self: self.session.corpus.sources)
    @rule(choice=CHOICES, weights=st.lists(st.sampled_from([500, 1000, 3000]), min_size=1, max_size=3))
    def drag_a_weight(self, choice: int, weights: list[int]) -> None:
        corpus, before = self.session.corpus, self.undoable
        at = choice % len(corpus.sources)
        for weight in weights:
            corpus.set_weights((*corpus.weights[:at], weight, *corpus.weights[at + 1 :]), moving=True)
        corpus.settle_weights()
        self.wait()
        assert corpus.weights[at] == weights[-1]
        self.go_back_to(before)

    @rule(size=SIZES, pattern=st.sampled_from(["none", "gpt2"]), held_out=st.sampled_from([0.0, 0.5]))
    def set_settings(self, size: int, pattern: str, held_out: float) -> None:
        self.session.training.set_settings(Settings(vocabulary_size=size, pattern=pattern, held_out=held_out))
        self.wait()

    # ---- training

    @rule()
    def train(self) -> None:
        obstacle, before = self.session.training.obstacle, len(self.session.runs.all)
        self.session.training.start()
        began = self.session.training.current is not None
        assert began == (obstacle is None) or obstacle == "Training is in progress."
        self.wait()
        assert len(self.session.runs.all) >= before

    @rule()
    def step(self) -> None:
        training = self.session.training.current
        before = len(training.run) if training is not None else 0
        self.session.training.step()
        self.wait()
        if training is not None:
            assert len(training.run) <= before + 1

    @rule()
    def resume(self) -> None:
        self.session.training.resume()
        self.wait()
        assert self.session.training.state == "idle"

    @rule()
    def stop(self) -> None:
        self.session.training.stop()
        self.session.training.resume()
        self.wait()
        assert self.session.training.state == "idle"

    @precondition(lambda self: self.session.runs.active is not None)
    @rule()
    def continue_run(self) -> None:
        run = self.session.runs.active
        assert run is not None
        can, before = self.session.training.can_continue(run), run.merges.tolist()
        self.session.training.continue_run(run)
        self.wait()
        active = self.session.runs.active
        assert active is not None
        assert (active is not run) == can
        assert active.merges.tolist()[: len(before)] == before

    # ---- runs

    @precondition(lambda self: self.session.runs.all)
    @rule(choice=CHOICES)
    def activate(self, choice: int) -> None:
        self.session.runs.activate(self.run_at(choice))

    @precondition(lambda self: self.session.runs.all)
    @rule(choice=CHOICES)
    def delete(self, choice: int) -> None:
        run, training, before = self.run_at(choice), self.session.training.current, self.undoable
        self.session.history.delete_run(run)
        self.go_back_to(before)
        assert (run in self.session.runs.all) == (training is not None and training.run is run)

    @precondition(lambda self: self.session.runs.all)
    @rule(choice=CHOICES, name=st.sampled_from(["mine", "  ", "yours "]))
    def rename(self, choice: int, name: str) -> None:
        before = self.undoable
        self.session.history.rename_run(self.run_at(choice), name)
        self.go_back_to(before)

    # ---- undo

    @property
    def undoable(self) -> tuple[object, ...]:
        """What Undo and Redo bring back: sources, weights, settings, and the runs with their names.

        The run that follows the weights is trained again.
        """
        corpus, following = self.session.corpus, self.session.live.following
        texts = [bytes(source.data) for source in corpus.sources]
        runs = [(run.key, run.name) for run in self.session.runs.all if run is not following]
        return texts, corpus.weights, self.session.training.settings, runs

    def move(self, back: bool) -> bool:
        """Undoes or repeats one change; returns False where that is refused."""
        history, refused = self.session.history, len(self.refused)
        changed = history.undo_text if back else history.redo_text
        (history.undo if back else history.redo)()
        self.wait()
        if len(self.refused) > refused:
            return False
        assert changed == (history.redo_text if back else history.undo_text)
        return True

    def go_back_to(self, before: tuple[object, ...]) -> None:
        """Undoes the last change, which must bring back a state, and repeats it."""
        after = self.undoable
        if after != before and self.move(back=True):
            assert self.undoable == before
            assert self.move(back=False)
            assert self.undoable == after

    def move_and(self, back: bool, stays: bool) -> None:
        """Undoes or repeats one change, and then the reverse unless it `stays`, which must bring the state back."""
        before = self.undoable
        if self.move(back) and not stays:
            assert self.move(not back)
            assert self.undoable == before

    @precondition(lambda self: self.session.history.undo_text)
    @rule(stays=st.booleans())
    def undo(self, stays: bool) -> None:
        self.move_and(back=True, stays=stays)

    @precondition(lambda self: self.session.history.redo_text)
    @rule(stays=st.booleans())
    def redo(self, stays: bool) -> None:
        self.move_and(back=False, stays=stays)

    # ---- what is looked at

    @rule(merges=st.integers(-3, 60))
    def move_playhead(self, merges: int) -> None:
        self.session.view.set_playhead(merges)

    @precondition(lambda self: self.session.view.tokenizer is not None)
    @rule(choice=st.integers(0, 400), hover=st.booleans(), mark=st.booleans())
    def look_at(self, choice: int, hover: bool, mark: bool) -> None:
        tokenizer = self.session.view.tokenizer
        assert tokenizer is not None
        token = choice % len(tokenizer)
        if mark:
            self.session.view.set_target(token)
        else:
            self.session.view.look_at(token, hover=hover)
        assert self.session.view.token == token

    @rule(text=TEXTS)
    def show_text(self, text: str) -> None:
        self.session.view.set_text(text)

    # ---- the project

    @precondition(lambda self: self.session.training.current is None)
    @rule()
    def save_and_open(self) -> None:
        session = self.session
        runs = [(run.name, run.merges.tolist(), run.bytes_per_token(len(run))) for run in session.runs.all]
        texts, weights = [bytes(source.data) for source in session.corpus.sources], session.corpus.weights
        at = session.runs.all.index(session.runs.active) if session.runs.active is not None else None
        playhead, settings, text = session.view.playhead, session.training.settings, session.view.text
        project = finish(project_work(snapshot(session, ""), session.corpus.kept))
        adopt(session, finish(reopen_work(project)))
        self.wait()
        assert [(run.name, run.merges.tolist(), run.bytes_per_token(len(run))) for run in session.runs.all] == runs
        assert [bytes(source.data) for source in session.corpus.sources] == texts
        assert session.corpus.weights == weights
        assert session.runs.active is (None if at is None else session.runs.all[at])
        assert (session.view.playhead, session.training.settings, session.view.text) == (playhead, settings, text)

    # ---- what always holds

    @invariant()
    def the_active_run_is_listed(self) -> None:
        runs = self.session.runs
        assert (runs.active is None) == (not runs.all)
        assert runs.active is None or runs.active in runs.all
        assert runs.live is None
        assert len({run.key for run in runs.all}) == len(runs.all)
        assert all(run.name.strip() for run in runs.all)

    @invariant()
    def the_playhead_is_within_the_active_run(self) -> None:
        view = self.session.view
        assert view.run is self.session.runs.active
        assert 0 <= view.playhead <= (len(view.run) if view.run is not None else 0)

    @invariant()
    def tokens_that_are_looked_at_exist(self) -> None:
        view = self.session.view
        for token in (view.token, view.chosen, view.target):
            assert token is None or (view.run is not None and view.run.tokens.slot_of(token) >= 0)

    @invariant()
    def the_run_in_training_is_active(self) -> None:
        training = self.session.training.current
        assert training is None or training.run is self.session.runs.active

    @invariant()
    def runs_are_what_the_core_makes(self) -> None:
        run = self.session.runs.active
        if run is not None and run.run is not None and run.corpus is not None and run.config is not None:
            if run not in self.made:
                self.made[run] = train(run.corpus, run.config).merges
            assert np.array_equal(run.merges, self.made[run][: len(run)])


@pytest.mark.usefixtures("qapp")
def test_any_order_of_actions_leaves_a_consistent_state():
    run_state_machine_as_test(Studio, settings=how(max_examples=15 * TIMES, stateful_step_count=25, deadline=None))
