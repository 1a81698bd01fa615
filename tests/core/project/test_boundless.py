"""Runs of BoundlessBPE in projects and recordings."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
import pytest

from tests.core.project.projects import refuse_after
from tests.core.training.test_boundless import TEXT, boundless
from tokstudio.core.base.progress import finish
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.source import Source
from tokstudio.core.project import (
    Project,
    ProjectRun,
    Recorder,
    keep_source_work,
    open_work,
    recoverable_work,
    save_work,
)
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.core.training.trainer import Trainer, train

CORPUS = Corpus((Source.from_texts([TEXT], "en"),))


def saved(path, run, corpus=CORPUS):
    kept = tuple(finish(keep_source_work(source)) for source in corpus.sources)
    finish(save_work(Project(kept, (ProjectRun("Run 1", run, (0,), {}),)), path))
    return path


def opened(path):
    (entry,) = finish(open_work(path)).runs
    return entry.run


def assert_equal(run, other):
    assert run.config == other.config
    for name in ("merges", "counts", "tokens_after", "base_counts", "overtaken"):
        assert np.array_equal(getattr(run, name), getattr(other, name))


@pytest.mark.parametrize("place", ["first", "last"])
@pytest.mark.parametrize("weight", [1, 2.5])
def test_a_run_is_the_same_when_opened(tmp_path, place, weight):
    corpus = CORPUS.with_weights({"en": weight})
    run = train(corpus, boundless(320, special_tokens=["<s>"], special_placement=place)).run
    again = opened(saved(tmp_path / "p.tokstudio", run, corpus))
    assert_equal(again, run)
    assert again.supermerges.any()
    assert again.uses().tolist() == run.uses().tolist()
    assert Tokenizer.from_run(again).encode(TEXT) == Tokenizer.from_run(run).encode(TEXT)


@pytest.mark.parametrize("merges", [0, 9, 50])
def test_an_opened_run_goes_on(tmp_path, merges):
    trainer = Trainer(CORPUS, boundless(320))
    while trainer.prepared is None or trainer.merges_made < merges:
        trainer.advance(1)
    trainer.stop()
    again = opened(saved(tmp_path / "p.tokstudio", trainer.run))
    resumed = Trainer.resume(CORPUS, again, boundless(330))
    for _ in resumed:
        pass
    assert_equal(resumed.run, train(CORPUS, boundless(330)).run)


@pytest.mark.parametrize("begun", [0, 9])
@pytest.mark.parametrize("killed", [12, 45])
def test_a_killed_training_is_recovered(tmp_path, begun, killed):
    """Recording begins with the merges of a resumed run, and goes on until the kill."""
    trainer, recorder = Trainer(CORPUS, boundless(320)), Recorder(tmp_path)
    while trainer.prepared is None or trainer.merges_made < begun:
        trainer.advance(1)
    kept = tuple(finish(keep_source_work(source)) for source in CORPUS.sources)
    finish(recorder.begin_work(ProjectRun("Run 1", trainer.run, (0,), {}), kept))
    while trainer.merges_made < killed:
        recorder.append(trainer.advance(1), trainer.seconds)
    assert recorder.problem is None
    recorder.leave()
    (left,) = finish(recoverable_work(tmp_path))
    (entry,) = left.recording.runs
    assert_equal(entry.run, trainer.run)
    assert Trainer.resume(CORPUS, entry.run, boundless(320)) is not None


def test_a_training_killed_in_phase_1_has_nothing_to_recover(tmp_path):
    trainer, recorder = Trainer(CORPUS, boundless(320)), Recorder(tmp_path)
    while trainer.prepared is None:
        trainer.advance(1)
    finish(recorder.begin_work(ProjectRun("Run 1", trainer.run, (), {}), ()))
    recorder.append(trainer.advance(1), trainer.seconds)
    recorder.leave()
    assert finish(recoverable_work(tmp_path)) == ()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("UPDATE merge SET overtaken = NULL WHERE number = 3", "supermerges belong to BoundlessBPE"),
        ("UPDATE merge SET overtaken = -7 WHERE number = 3", "supermerges belong to BoundlessBPE"),
        ("UPDATE run SET config = replace(config, '\"boundless\"', '\"bpe\"')", "supermerges belong to BoundlessBPE"),
        ("UPDATE merge SET overtaken = 0 WHERE number = 1", "is a part of a word"),
        ("UPDATE merge SET overtaken = count WHERE overtaken >= 0", "one that is as frequent"),
        ("UPDATE merge SET overtaken = 'text' WHERE number = 1", "CHECK"),
    ],
)
def test_a_damaged_run_is_refused(tmp_path, change, message):
    refuse_after(saved(tmp_path / "p.tokstudio", train(CORPUS, boundless(320)).run), change, message)
