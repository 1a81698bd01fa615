"""Runs of Picky BPE in projects and recordings."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tests.core.project.projects import refuse_after
from tests.core.project.test_superbpe import opened, saved
from tests.core.texts import config_by_name
from tokstudio.core.base.progress import finish
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.source import Source
from tokstudio.core.model.algorithms import Picky
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.project import ProjectRun, Recorder, keep_source_work, recoverable_work
from tokstudio.core.training.trainer import Trainer, train

TEXT = "abc " * 10 + "abd " * 9 + "ab " + "the cat and the dog and the bird, then the other cat " * 6
CORPUS = Corpus((Source.from_texts([TEXT], "en"),))


def config_of(size=290, **more):
    return config_by_name("picky", **{"vocabulary_size": size, "threshold": 0.4} | more)


def assert_equal(run, other):
    assert run.config == other.config
    for name in ("merges", "counts", "tokens_after", "base_counts", "removals"):
        assert np.array_equal(getattr(run, name), getattr(other, name))


@pytest.mark.parametrize("place", ["first", "last"])
@pytest.mark.parametrize("weight", [1, 2.5])
def test_a_run_is_the_same_when_opened(tmp_path, place, weight):
    corpus = CORPUS.with_weights({"en": weight})
    run = train(corpus, config_of(special_tokens=["<s>"], special_placement=place)).run
    assert (run.removals[:, 2:] >= 0).any()
    again = opened(saved(tmp_path / "p.tokstudio", run, corpus))
    assert_equal(again, run)
    assert again.uses().tolist() == run.uses().tolist()
    assert again.vocabulary_size == run.vocabulary_size


@pytest.mark.parametrize("threshold", [np.float32(0.5), Fraction(1, 2), 1])
def test_a_threshold_of_any_type_can_be_saved(tmp_path, threshold):
    run = train(CORPUS, TrainingConfig(vocabulary_size=290, algorithm=Picky(threshold=threshold))).run
    assert_equal(opened(saved(tmp_path / "p.tokstudio", run, CORPUS)), run)


@pytest.mark.parametrize("begun", [0, 9])
@pytest.mark.parametrize("killed", [12, 25])
def test_a_killed_training_is_recovered(tmp_path, begun, killed):
    trainer, recorder = Trainer(CORPUS, config_of()), Recorder(tmp_path)
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
    resumed = Trainer.resume(CORPUS, entry.run, config_of())
    for _ in resumed:
        pass
    assert_equal(resumed.run, train(CORPUS, config_of()).run)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("UPDATE merge SET result = NULL WHERE number = 3", "what a merge made or removed is missing"),
        ("UPDATE merge SET result = 256 WHERE number = 3", "makes another token than it should"),
        ("UPDATE merge SET left_gone = 5 WHERE number = 1", "removes a token that is not there"),
        ("UPDATE merge SET replaced = replaced - 1 WHERE number = 1", "do not match"),
        ("UPDATE merge SET left_gone = left_gone + 1 WHERE left_gone >= 0", "do not match the uses"),
        ("UPDATE merge SET left_gone = -1 WHERE left_gone >= 0", "do not match|another token"),
        ("UPDATE merge SET tokens_after = tokens_after + 1 WHERE number = 9", "do not match the counts"),
        ("UPDATE run SET config = replace(config, '\"picky\"', '\"bpe\"')", "only"),
        ("UPDATE run SET config = replace(config, '0.4', '4.0')", "from 0 to 1"),
    ],
)
def test_a_damaged_run_is_refused(tmp_path, change, message):
    refuse_after(saved(tmp_path / "p.tokstudio", train(CORPUS, config_of()).run), change, message)


def test_plain_runs_have_no_removals(tmp_path):
    path = saved(tmp_path / "p.tokstudio", train(CORPUS, TrainingConfig(vocabulary_size=290)).run)
    refuse_after(path, "UPDATE merge SET result = 256", "only Picky BPE removes tokens|same two tokens")
