"""Runs of every algorithm in projects and recordings."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from tests.core.algorithms import CASES, LANGUAGES, facts
from tests.core.project.projects import refuse_after
from tests.core.texts import config_by_name
from tokstudio import FormatError, Tokenizer, Trainer, TrainingConfig, train
from tokstudio.core.base.progress import finish
from tokstudio.core.project import (
    Project,
    ProjectRun,
    Recorder,
    keep_source_work,
    open_work,
    recoverable_work,
    save_work,
)

FIRST = 34  # merges of stage 1 of SuperBPE


def kept(corpus):
    return tuple(finish(keep_source_work(source)) for source in corpus.sources)


def saved(path, run, corpus):
    numbers = tuple(range(len(corpus.sources)))
    finish(save_work(Project(kept(corpus), (ProjectRun("Run 1", run, numbers, {}),)), path))
    return path


def opened(path):
    (entry,) = finish(open_work(path)).runs
    return entry.run


def stopped(case, merges):
    trainer = Trainer(case.corpus, case.config(case.size))
    while trainer.prepared is None or trainer.merges_made < merges:
        trainer.advance(1)
    return trainer


@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("boundless", {}),
        ("superbpe", {"second_pattern": r"\d", "max_words": 3}),
        ("picky", {}),
        ("parity", {}),
        ("parity", {"parallel": (), "global_merges": 0, "window": None, "ratios": {"fi": 2}}),
    ],
)
@pytest.mark.parametrize("place", ["first", "last"])
@pytest.mark.parametrize("weight", [1, 2.5])
def test_a_run_is_the_same_when_opened(tmp_path, name, own, place, weight):
    case = CASES[name]
    corpus = case.corpus.with_weights({case.corpus.sources[0].name: weight})
    run = train(corpus, case.config(case.size, special_tokens=["<s>"], special_placement=place, **own)).run
    again = opened(saved(tmp_path / "p.tokstudio", run, corpus))
    assert facts(again) == facts(run)
    assert again.uses().tolist() == run.uses().tolist()
    assert again.vocabulary_size == run.vocabulary_size
    text = corpus.sources[0].data.tobytes()
    assert Tokenizer.from_run(again).encode(text) == Tokenizer.from_run(run).encode(text)
    # It is of that algorithm.
    assert name != "boundless" or again.supermerges.any()
    assert name != "superbpe" or "second_counts" in again.columns
    assert name != "picky" or (again.removals[:, 2:] >= 0).any()
    assert name != "parity" or again.languages == tuple(LANGUAGES)


@pytest.fixture(scope="module")
def runs():
    return {name: train(case.corpus, case.config(case.size)).run for name, case in CASES.items()}


@pytest.mark.parametrize("threshold", [np.float32(0.5), Fraction(1, 2), 1])
def test_a_threshold_of_any_type_can_be_saved(tmp_path, threshold):
    corpus, config = CASES["picky"].corpus, CASES["picky"].config(threshold=threshold)
    run = train(corpus, config).run
    assert facts(opened(saved(tmp_path / "p.tokstudio", run, corpus))) == facts(run)


MERGES = {"boundless": (0, 9, 50), "superbpe": (0, 9, FIRST, FIRST + 1, 60), "picky": (0, 9, 30), "parity": (3, 34)}


@pytest.mark.parametrize(("name", "merges"), [(name, each) for name, several in MERGES.items() for each in several])
def test_an_opened_run_goes_on(tmp_path, name, merges):
    case = CASES[name]
    trainer = stopped(case, merges)
    trainer.stop()
    again = opened(saved(tmp_path / "p.tokstudio", trainer.run, case.corpus))
    longer = case.config(case.size + 10)
    resumed = Trainer.resume(case.corpus, again, longer)
    list(resumed)
    assert facts(resumed.run) == facts(train(case.corpus, longer).run)


KILLED = {
    "boundless": ((0, 9), (12, 45)),
    "superbpe": ((0, FIRST, FIRST + 10), (12, FIRST, FIRST + 3, FIRST + 15)),
    "picky": ((0, 9), (12, 25)),
    "parity": ((0, 5), (12,)),
}


@pytest.mark.parametrize(
    ("name", "begun", "killed"),
    sorted(
        {(name, min(begun, k - 1), k) for name, (begins, kills) in KILLED.items() for begun in begins for k in kills}
    ),
)
def test_a_killed_training_is_recovered(tmp_path, runs, name, begun, killed):
    """Recording begins with the merges of a resumed run, and goes on until the kill."""
    case, recorder = CASES[name], Recorder(tmp_path)
    trainer = stopped(case, begun)
    finish(
        recorder.begin_work(
            ProjectRun("Run 1", trainer.run, tuple(range(len(case.corpus.sources))), {}), kept(case.corpus)
        )
    )
    while trainer.merges_made < killed:
        recorder.append(trainer.advance(1), trainer.seconds)
    assert recorder.problem is None
    recorder.leave()
    (left,) = finish(recoverable_work(tmp_path))
    (entry,) = left.recording.runs
    assert facts(entry.run) == facts(trainer.run)
    assert ("second_counts" in entry.run.columns) == (name == "superbpe" and killed > FIRST)
    resumed = Trainer.resume(case.corpus, entry.run, case.config(case.size))
    list(resumed)
    assert facts(resumed.run) == facts(runs[name])


def test_a_training_killed_in_phase_1_has_nothing_to_recover(tmp_path):
    trainer, recorder = stopped(CASES["boundless"], 0), Recorder(tmp_path)
    finish(recorder.begin_work(ProjectRun("Run 1", trainer.run, (), {}), ()))
    recorder.append(trainer.advance(1), trainer.seconds)
    recorder.leave()
    assert finish(recoverable_work(tmp_path)) == ()


CONFIG = "UPDATE run SET config = replace(config, "
NO_LANGUAGE, NAMES, SIZES = "was chosen by no language", "names of at least two languages", "do not have the sizes"
ACROSS, FALLS = "supermerges belong to BoundlessBPE", "do not match"


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("boundless", "UPDATE merge SET overtaken = NULL WHERE number = 3", ACROSS),
        ("boundless", "UPDATE merge SET overtaken = -7 WHERE number = 3", ACROSS),
        ("boundless", CONFIG + "'\"boundless\"', '\"bpe\"')", ACROSS),
        ("boundless", "UPDATE merge SET overtaken = 0 WHERE number = 1", "is a part of a word"),
        ("boundless", "UPDATE merge SET overtaken = count WHERE overtaken >= 0", "one that is as frequent"),
        ("boundless", "UPDATE merge SET overtaken = 'text' WHERE number = 1", "CHECK"),
        ("parity", "UPDATE merge SET chosen_by = 2 WHERE number = 9", NO_LANGUAGE),
        ("parity", "UPDATE merge SET chosen_by = 0 WHERE number = 1", NO_LANGUAGE),
        ("parity", "UPDATE merge SET chosen_by = NULL WHERE number = 9", NO_LANGUAGE),
        ("parity", "UPDATE run SET languages = NULL", "languages: a text is missing"),
        ("parity", "UPDATE run SET languages = '[1, 2]'", NAMES),
        ("parity", "UPDATE run SET languages = '[\"de\"]'", NAMES),
        ("parity", "UPDATE run SET parallel = x'41'", SIZES),
        ("parity", "UPDATE run SET parallel = NULL", SIZES),
        ("parity", "UPDATE run SET parallel = 'text'", "CHECK"),
        ("parity", CONFIG + "'[\"de\",10]', '[\"de\",9]')", "a text is not UTF-8"),
        ("parity", CONFIG + "'[\"de\",10]', '7')", "names and sizes"),
        ("parity", CONFIG + "'\"parity\"', '\"bpe\"')", "only be set for Parity-aware"),
        ("picky", "UPDATE merge SET result = NULL WHERE number = 3", "what a merge made or removed is missing"),
        ("picky", "UPDATE merge SET result = 256 WHERE number = 3", "makes another token than it should"),
        ("picky", "UPDATE merge SET left_gone = 5 WHERE number = 1", "removes a token that is not there"),
        ("picky", "UPDATE merge SET replaced = replaced - 1 WHERE number = 1", FALLS),
        ("picky", "UPDATE merge SET left_gone = left_gone + 1 WHERE left_gone >= 0", "do not match the uses"),
        ("picky", "UPDATE merge SET left_gone = -1 WHERE left_gone >= 0", "do not match|another token"),
        ("picky", "UPDATE merge SET tokens_after = tokens_after + 1 WHERE number = 9", "do not match the counts"),
        ("picky", CONFIG + "'\"picky\"', '\"bpe\"')", "only"),
        ("picky", CONFIG + "'0.4', '4.0')", "from 0 to 1"),
        ("superbpe", "UPDATE run SET second_counts = NULL", "they belong to runs past a transition"),
        ("superbpe", "UPDATE run SET second_counts = x'00'", "not a multiple of 8 bytes"),
        ("superbpe", "UPDATE run SET second_counts = x'0000000000000000'", "one for each id before the transition"),
        ("superbpe", "UPDATE run SET second_counts = zeroblob(2320)", "the falls in tokens do not match"),
        ("superbpe", "UPDATE run SET second_counts = 'text'", "CHECK"),
        ("superbpe", CONFIG + "'\"transition\":290', '\"transition\":289')", "one for each"),
        ("superbpe", CONFIG + "'\"transition\":290', '\"transition\":330')", "below the"),
        ("superbpe", CONFIG + "'\"superbpe\"', '\"bpe\"')", "only be set for SuperBPE"),
        ("superbpe", "UPDATE merge SET count = count + 1 WHERE number = 36", "a pair occurs more often|do not match"),
    ],
)
def test_a_damaged_run_is_refused(tmp_path, runs, name, change, message):
    refuse_after(saved(tmp_path / "p.tokstudio", runs[name], CASES[name].corpus), change, message)


def test_counts_of_other_text_are_refused(tmp_path, runs):
    run = runs["superbpe"]
    counts = run.columns["second_counts"].copy()
    left = next(token for token in range(256, len(counts)) if run.uses()[token] > 0)
    counts[[0, left]] += [1, -1]
    run = replace(run, columns={"second_counts": counts})
    with pytest.raises(FormatError, match="do not add up to the text"):
        opened(saved(tmp_path / "p.tokstudio", run, CASES["superbpe"].corpus))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("UPDATE run SET second_counts = zeroblob(8)", "they belong to runs past a transition"),
        ("UPDATE merge SET result = 256", "only Picky BPE removes tokens|same two tokens"),
    ],
)
def test_a_plain_run_has_nothing_of_the_others(tmp_path, change, message):
    corpus = CASES["superbpe"].corpus
    path = saved(tmp_path / "p.tokstudio", train(corpus, TrainingConfig(vocabulary_size=290)).run, corpus)
    refuse_after(path, change, message)


def test_every_algorithm_is_kept_in_one_project(tmp_path, runs):
    from tokstudio import load_project, save_project

    corpus, place = CASES["picky"].corpus, tmp_path / "all.tokstudio"
    tokenizers = {name: Tokenizer.from_run(run) for name, run in runs.items()}
    tokenizers["bpe"] = train(corpus, TrainingConfig(vocabulary_size=290))
    tokenizers["whole-characters"] = train(corpus, config_by_name("whole-characters", vocabulary_size=290))
    assert save_project(tokenizers, place) == place
    again = load_project(str(place))
    assert list(again) == list(tokenizers)
    text = corpus.sources[0].data.tobytes()
    for name, tokenizer in tokenizers.items():
        assert again[name].run.config == tokenizer.run.config
        for merges in (3, len(tokenizer.merges)):
            assert again[name].at(merges).encode(text) == tokenizer.at(merges).encode(text)
