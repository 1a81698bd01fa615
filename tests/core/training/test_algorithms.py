"""What holds for every algorithm: going on, its playhead and curves, its progress, and what is refused."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest

from tests.core.algorithms import CASES, PARALLEL, facts
from tests.core.texts import config_by_name
from tokstudio import ConfigError, Corpus, CorpusError, Tokenizer, Trainer, TrainingConfig, train
from tokstudio.core.corpus.source import Source

every = pytest.mark.parametrize("name", CASES)
MERGES = {"boundless": (1, 20, 50), "superbpe": (0, 10, 34, 35, 60), "picky": (0, 9, 25), "parity": (3, 20, 34)}


@pytest.fixture(scope="module")
def tokenizers():
    return {name: train(case.corpus, case.config(case.size)) for name, case in CASES.items()}


@pytest.mark.parametrize(("name", "merges"), [(name, each) for name, several in MERGES.items() for each in several])
def test_a_run_goes_on_as_if_it_had_not_ended(name, merges):
    case = CASES[name]
    trainer = Trainer(case.corpus, case.config(case.size))
    while trainer.merges_made < merges:
        trainer.advance(merges - trainer.merges_made)
    trainer.stop()
    for size in (case.size, case.size + 10):
        whole = train(case.corpus, case.config(size)).run
        assert trainer.run.merges.tolist() == whole.merges[:merges].tolist()
        resumed = Trainer.resume(case.corpus, trainer.run, case.config(size))
        batch = next(iter(resumed), None)
        assert batch is None if len(whole) == merges else batch.first == merges + 1
        list(resumed)
        assert facts(resumed.run) == facts(whole)
        assert (resumed.run.ended, resumed.run.vocabulary_size) == (whole.ended, whole.vocabulary_size)


@every
def test_a_run_stopped_early_has_the_tokenizer_of_the_playhead(name, tokenizers):
    case = CASES[name]
    trainer, text = Trainer(case.corpus, case.config(case.size)), case.corpus.sources[0].data.tobytes()
    while trainer.merges_made < 20:
        trainer.advance(3)
    trainer.stop()
    earlier = tokenizers[name].at(len(trainer.run))
    assert trainer.tokenizer().encode(text) == earlier.encode(text)
    assert pickle.loads(pickle.dumps(earlier)).encode(text) == earlier.encode(text)


#: What a run of each algorithm says beside its merges, and one of the places to change in it.
PLACES = {"boundless": ("overtaken", None), "superbpe": ("second_counts", 0), "picky": ("removals", (5, 1))}


def damaged(name, run):
    """A run that says something else, whether or not it can be."""
    column, place = PLACES.get(name, ("chosen_by", 7))
    values = run.columns[column].copy()
    if name == "boundless":
        place = np.flatnonzero(values > 0)[0]
    values[place] += -1 if column == "chosen_by" and values[place] else 1
    return replace(run, columns={column: values})


@every
def test_a_run_that_says_something_else_does_not_go_on(name, tokenizers):
    case = CASES[name]
    with pytest.raises(CorpusError, match="do not match"):
        list(Trainer.resume(case.corpus, damaged(name, tokenizers[name].run), case.config(case.size + 10)))


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("boundless", {"pattern": "cl100k"}),
        ("superbpe", {"transition": 280}),
        ("superbpe", {"max_words": 3}),
        ("superbpe", {"second_pattern": "none"}),
        ("picky", {"threshold": 0.5}),
        ("parity", {"window": 8}),
    ],
)
def test_only_the_limits_of_a_run_may_change(name, other, tokenizers):
    case = CASES[name]
    with pytest.raises(ConfigError, match="Only the limits"):
        Trainer.resume(case.corpus, tokenizers[name].run, case.config(case.size + 10, **other))


@pytest.mark.parametrize("name", ["boundless", "superbpe"])
def test_uses_and_bytes_per_token_are_those_of_the_text_at_that_time(name, tokenizers):
    tokenizer, text = tokenizers[name], CASES[name].corpus.sources[0].data.tobytes()
    for merges in (0, 1, 30, 33, 34, 35, 45, 50, len(tokenizer.merges)):
        ids = tokenizer.at(merges).encode(text)
        uses = tokenizer.run.uses(merges)
        assert uses.tolist() == np.bincount(ids, minlength=len(uses)).tolist()
        assert tokenizer.run.bytes_per_token(merges) == len(text) / len(ids)


@every
def test_held_out_text_is_left_out_in_every_part_of_a_training(name):
    case = CASES[name]
    texts = [(source.name, [source.data.tobytes()] * 30) for source in case.corpus.sources]
    corpus = Corpus(tuple(Source.from_texts(several, name) for name, several in texts))
    trainer = Trainer(corpus, case.config(case.size, held_out=0.3))
    list(trainer)
    run, lengths = trainer.run, trainer.tokenizer().tokens.lengths()
    kept = corpus.bytes - sum(len(source.data) for source in trainer.prepared.held_out)
    assert int((run.uses() * lengths[: len(run.uses())]).sum()) == run.corpus.bytes == kept < corpus.bytes
    if name == "superbpe":
        counts = run.columns["second_counts"]
        assert int((counts * lengths[: len(counts)]).sum()) == kept


@every
def test_progress_never_leaves_its_bounds(name):
    trainer, phases = Trainer(CASES[name].corpus, CASES[name].config(CASES[name].size)), []
    while trainer.ended is None:
        trainer.advance(1)
        progress = trainer.progress
        assert 0 <= progress.done <= max(progress.total, progress.done * (progress.total == 0))
        phases.append(progress.phase)
    assert name != "boundless" or "merging words" in phases
    assert name != "superbpe" or phases.index("encoding") > phases.index("merging")


@every
def test_none_starts_from_a_tokenizer(name):
    case = CASES[name]
    pattern = case.config(case.size).pattern
    start = train(case.corpus, TrainingConfig(vocabulary_size=270, pattern=pattern))
    with pytest.raises(ConfigError, match="cannot start from a tokenizer"):
        Trainer(case.corpus, case.config(case.size + 10), start=start)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("boundless", "has word counts, but BoundlessBPE joins adjacent words"),
        ("superbpe", "has word counts, but SuperBPE splits text in two ways"),
    ],
)
def test_word_counts_are_refused_where_the_text_is_needed(name, message):
    with pytest.raises(ConfigError, match=message):
        Trainer(Corpus.from_counts({"the": 3}), CASES[name].config(CASES[name].size))


def test_what_needs_the_merges_alone_is_refused(tokenizers):
    with pytest.raises(ConfigError, match="dropout is not defined"):
        tokenizers["boundless"].with_dropout(0.1)
    assert tokenizers["boundless"].at(2).with_dropout(0.1).dropout is not None
    for refuse in (lambda tokenizer: tokenizer.with_dropout(0.1), Tokenizer.compact):
        with pytest.raises(ConfigError, match="removes tokens again"):
            refuse(tokenizers["picky"])


PARITY, SUPERBPE, PICKY = ("only be set for " + name for name in ("Parity-aware BPE", "SuperBPE", "Picky BPE"))
STAGES = {"transition": 290, "pattern": "gpt2"}
SECOND = "second pattern cannot be used. "


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("none", {}, 'Algorithm "none" is unknown'),
        ("boundless", {"pattern": "none"}, "BoundlessBPE needs a pattern"),
        ("boundless", {"pattern": "gpt2", "transition": 280}, SUPERBPE),
        ("boundless", {"pattern": "gpt2", "window": 3}, PARITY),
        ("parity", {"ratios": {"de": 0}}, 'ratio of "de" must be a number above 0'),
        ("parity", {"ratios": {"de": float("nan")}}, 'ratio of "de" must be a number above 0'),
        ("parity", {"ratios": {"de": 2.0}, "parallel": PARALLEL}, "Ratios are for training without parallel texts"),
        ("parity", {"window": 0}, "window must be at least 1"),
        ("parity", {"window": 9, "alpha": 0}, "Alpha must be a number above 0"),
        ("parity", {"alpha": 3}, "Alpha needs a window"),
        ("parity", {"global_merges": -1}, "Global merges must be at least 0"),
        ("parity", {"parallel": {"de": 3}}, "must be a string or a path"),
        ("parity", {"parallel": [("de", "a"), ("de", "b")]}, 'must not contain "de" twice'),
        ("parity", {"parallel": "de"}, "must be given by name"),
        ("bpe", {"window": 100}, f'"window" can {PARITY}'),
        ("bpe", {"parallel": PARALLEL}, PARITY),
        *(
            ("picky", {"threshold": threshold}, "threshold must be a number from 0 to 1")
            for threshold in (-0.1, 1.1, float("nan"), "0.9", True, None)
        ),
        ("bpe", {"threshold": 0.5}, f'"threshold" can {PICKY}'),
        ("picky", {"tie_break": "first"}, "has its own tie rule"),
        ("bpe", {"tie_break": "smallest-bytes"}, "is only for Picky BPE"),
        ("superbpe", STAGES | {"transition": None}, "needs a transition"),
        ("superbpe", STAGES | {"transition": 255}, "at least 256, not 255"),
        ("superbpe", STAGES | {"transition": 256, "special_tokens": ["<s>"]}, "at least 257, not 256"),
        ("superbpe", STAGES | {"transition": 330}, "below the vocabulary size, 330, not 330"),
        ("superbpe", STAGES | {"transition": 2.5}, "must be a whole number"),
        ("superbpe", STAGES | {"max_words": 0}, "must be at least 1"),
        ("superbpe", STAGES | {"pattern": "none"}, "needs a pattern for its first stage"),
        ("superbpe", STAGES | {"second_pattern": "gpt3"}, SECOND + 'Pattern "gpt3" is unknown'),
        ("superbpe", STAGES | {"second_pattern": "("}, SECOND + "The pattern does not compile"),
        ("superbpe", STAGES | {"second_pattern": r"(a)\1"}, "cannot refer to its own groups"),
        ("superbpe", STAGES | {"second_pattern": "x*"}, SECOND + "The pattern matches empty"),
        ("superbpe", STAGES | {"second_pattern": 3}, "second pattern must be a string"),
        ("superbpe", STAGES | {"base": "characters"}, "needs bytes"),
        ("superbpe", STAGES | {"window": 100}, f'"window" can {PARITY}'),
        ("bpe", STAGES, f'"transition" can {SUPERBPE}'),
        ("parity", STAGES, f'"transition" can {SUPERBPE}'),
        ("bpe", {"max_words": 3}, f'"max_words" can {SUPERBPE}'),
        ("bpe", {"second_pattern": "none"}, f'"second_pattern" can {SUPERBPE}'),
    ],
)
def test_invalid_settings(name, settings, message):
    with pytest.raises(ConfigError, match=message):
        config_by_name(name, **{"vocabulary_size": 330, **settings})
