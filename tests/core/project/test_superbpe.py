"""Runs of SuperBPE in projects and recordings."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import sqlite3
from contextlib import closing

import numpy as np
import pytest

from tests.core.project.projects import refuse_after
from tests.core.texts import config_by_name
from tests.core.training.test_superbpe import TEXT
from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.progress import finish
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.source import Source
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.project import (
    Project,
    ProjectRun,
    Recorder,
    keep_source_work,
    open_work,
    recoverable_work,
    save_work,
)
from tokstudio.core.training.trainer import Trainer, train

CORPUS = Corpus((Source.from_texts([TEXT], "en"),))
FIRST = 20  # merges of stage 1


def config_of(size=310, **more):
    settings = {"transition": 256 + FIRST, "pattern": "gpt2"}
    return config_by_name("superbpe", vocabulary_size=size, **settings | more)


def saved(path, run, corpus=CORPUS):
    kept = tuple(finish(keep_source_work(source)) for source in corpus.sources)
    finish(save_work(Project(kept, (ProjectRun("Run 1", run, (0,), {}),)), path))
    return path


def opened(path):
    (entry,) = finish(open_work(path)).runs
    return entry.run


def assert_equal(run, other):
    assert run.config == other.config
    for name in ("merges", "counts", "tokens_after", "base_counts", "second_counts"):
        assert np.array_equal(getattr(run, name), getattr(other, name))


@pytest.mark.parametrize("place", ["first", "last"])
@pytest.mark.parametrize("weight", [1, 2.5])
def test_a_run_is_the_same_when_opened(tmp_path, place, weight):
    corpus = CORPUS.with_weights({"en": weight})
    config = config_of(special_tokens=["<s>"], special_placement=place, second_pattern=r"\d", max_words=3)
    run = train(corpus, config).run
    again = opened(saved(tmp_path / "p.tokstudio", run, corpus))
    assert_equal(again, run)
    assert again.uses().tolist() == run.uses().tolist()


@pytest.mark.parametrize("merges", [0, 9, FIRST, FIRST + 1, 40])
def test_an_opened_run_goes_on(tmp_path, merges):
    trainer = Trainer(CORPUS, config_of())
    while trainer.prepared is None or trainer.merges_made < merges:
        trainer.advance(1)
    trainer.stop()
    again = opened(saved(tmp_path / "p.tokstudio", trainer.run))
    resumed = Trainer.resume(CORPUS, again, config_of(320))
    for _ in resumed:
        pass
    assert_equal(resumed.run, train(CORPUS, config_of(320)).run)


@pytest.mark.parametrize("begun", [0, 9, FIRST, 30])
@pytest.mark.parametrize("killed", [12, FIRST, FIRST + 3, 35])
def test_a_killed_training_is_recovered(tmp_path, begun, killed):
    """Recording begins with the merges of a resumed run, and goes on until the kill."""
    trainer, recorder = Trainer(CORPUS, config_of()), Recorder(tmp_path)
    while trainer.prepared is None or trainer.merges_made < min(begun, killed - 1):
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
    assert (entry.run.second_counts is not None) == (killed > FIRST)
    assert Trainer.resume(CORPUS, entry.run, config_of()) is not None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("UPDATE run SET second_counts = NULL", "they belong to runs past a transition"),
        ("UPDATE run SET second_counts = x'00'", "not a multiple of 8 bytes"),
        ("UPDATE run SET second_counts = x'0000000000000000'", "one for each id before the transition"),
        ("UPDATE run SET second_counts = zeroblob(2208)", "the falls in tokens do not match"),
        ("UPDATE run SET second_counts = 'text'", "CHECK"),
        ("UPDATE run SET config = replace(config, '\"transition\":276', '\"transition\":275')", "one for each id"),
        ("UPDATE run SET config = replace(config, '\"transition\":276', '\"transition\":310')", "below the vocabulary"),
        ("UPDATE run SET config = replace(config, '\"superbpe\"', '\"bpe\"')", "only be set for SuperBPE"),
        ("UPDATE merge SET count = count + 1 WHERE number = 22", "a pair occurs more often|do not match"),
    ],
)
def test_a_damaged_run_is_refused(tmp_path, change, message):
    path = saved(tmp_path / "p.tokstudio", train(CORPUS, config_of()).run)
    refuse_after(path, change, message)


def test_counts_of_other_text_are_refused(tmp_path):
    run = train(CORPUS, config_of()).run
    counts = run.second_counts.copy()
    left = next(token for token in range(256, len(counts)) if run.uses()[token] > 0)
    counts[[0, left]] += [1, -1]
    object.__setattr__(run, "second_counts", counts)
    with pytest.raises(FormatError, match="do not add up to the text"):
        opened(saved(tmp_path / "p.tokstudio", run))


def test_plain_runs_have_no_counts_of_a_second_stage(tmp_path):
    path = saved(tmp_path / "p.tokstudio", train(CORPUS, TrainingConfig(vocabulary_size=290)).run)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE run SET second_counts = zeroblob(8)")
        connection.commit()
    with pytest.raises(FormatError, match="they belong to runs past a transition"):
        opened(path)
