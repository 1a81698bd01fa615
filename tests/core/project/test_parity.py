"""Runs of parity-aware BPE in projects and recordings."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import pytest

from tests.core.project.projects import refuse_after
from tokstudio.core.base.progress import finish
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.source import Source
from tokstudio.core.model.algorithms import ParityAware
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

CORPUS = Corpus(
    (Source.from_texts(["der dachs und der fuchs " * 5], "de"), Source.from_texts(["mäyrä ja kettu " * 5], "fi"))
)
PARALLEL = {"de": "dachs \U0001f98a", "fi": "mäyrä"}
CONFIG = TrainingConfig(
    vocabulary_size=290,
    algorithm=ParityAware(parallel=PARALLEL, global_merges=3, window=5),
)


def saved(path, run):
    kept = tuple(finish(keep_source_work(source)) for source in CORPUS.sources)
    finish(save_work(Project(kept, (ProjectRun("Run 1", run, (0, 1), {}),)), path))
    return path


def opened(path):
    (entry,) = finish(open_work(path)).runs
    return entry.run


@pytest.mark.parametrize("config", [CONFIG, TrainingConfig(min_frequency=2, algorithm=ParityAware(ratios={"fi": 2}))])
def test_a_run_is_the_same_when_opened(tmp_path, config):
    run = train(CORPUS, config).run
    again = opened(saved(tmp_path / "p.tokstudio", run))
    assert again.config == config
    assert again.merges.tolist() == run.merges.tolist()
    assert again.chosen.numbers.tolist() == run.chosen.numbers.tolist()
    assert again.chosen.languages == ("de", "fi")


def test_an_opened_run_goes_on(tmp_path):
    run = train(CORPUS, CONFIG).run
    again = opened(saved(tmp_path / "p.tokstudio", run))
    longer = TrainingConfig(
        vocabulary_size=300,
        algorithm=ParityAware(parallel=PARALLEL, global_merges=3, window=5),
    )
    trainer = Trainer.resume(CORPUS, again, longer)
    for _ in trainer:
        pass
    assert trainer.run.merges.tolist() == train(CORPUS, longer).run.merges.tolist()


def test_a_killed_training_is_recovered(tmp_path):
    trainer, recorder = Trainer(CORPUS, CONFIG), Recorder(tmp_path)
    while trainer.prepared is None:
        trainer.advance()
    kept = tuple(finish(keep_source_work(source)) for source in CORPUS.sources)
    finish(recorder.begin_work(ProjectRun("Run 1", trainer.run, (0, 1), {}), kept))
    while trainer.merges_made < 12:
        recorder.append(trainer.advance(4), trainer.seconds)
    assert recorder.problem is None
    recorder.leave()
    (left,) = finish(recoverable_work(tmp_path))
    (entry,) = left.recording.runs
    assert entry.run.merges.tolist() == trainer.run.merges.tolist()
    assert entry.run.chosen.numbers.tolist() == trainer.run.chosen.numbers.tolist()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("UPDATE merge SET chosen_by = 2 WHERE number = 9", "was chosen by no language"),
        ("UPDATE merge SET chosen_by = 0 WHERE number = 1", "was chosen by no language"),
        ("UPDATE merge SET chosen_by = NULL WHERE number = 9", "was chosen by no language"),
        ("UPDATE run SET languages = NULL", "languages: a text is missing"),
        ("UPDATE run SET languages = '[1, 2]'", "names of at least two languages"),
        ("UPDATE run SET languages = '[\"de\"]'", "names of at least two languages"),
        ("UPDATE run SET parallel = x'41'", "do not have the sizes"),
        ("UPDATE run SET parallel = NULL", "do not have the sizes"),
        ("UPDATE run SET parallel = 'text'", "CHECK"),
        ("UPDATE run SET config = replace(config, '[\"de\",10]', '[\"de\",9]')", "a text is not UTF-8"),
        ("UPDATE run SET config = replace(config, '[\"de\",10]', '7')", "names and sizes"),
        ("UPDATE run SET config = replace(config, '\"parity\"', '\"bpe\"')", "only be set for Parity-aware BPE"),
    ],
)
def test_a_damaged_run_is_refused(tmp_path, change, message):
    path = saved(tmp_path / "p.tokstudio", train(CORPUS, CONFIG).run)
    refuse_after(path, change, message)
