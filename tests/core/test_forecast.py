"""What is said of a training before it starts."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
import pytest

from tokstudio.core import forecast
from tokstudio.core.config import TrainingConfig
from tokstudio.core.corpus import Corpus
from tokstudio.core.forecast import forecast_work
from tokstudio.core.progress import finish
from tokstudio.core.trainer import Trainer

WORDS = [f"word{n * n % 997}" for n in range(3_000)]
LARGE = "".join(f"{WORDS[n % 2_999]} and {WORDS[n * 7 % 3_000]}, {n % 9973}\n" for n in range(150_000))


def forecast_of(corpus, **settings):
    return finish(forecast_work(corpus, TrainingConfig(**{"vocabulary_size": 400, **settings})))


@pytest.mark.parametrize("pattern", ["none", "gpt2"])
def test_the_work_of_a_large_corpus_is_judged_by_a_small_part_of_it(pattern, monkeypatch):
    corpus = Corpus.from_text(LARGE)
    sizes = []
    begin = Trainer.__init__

    def noted(self, corpus, config):
        sizes.append(corpus.bytes)
        begin(self, corpus, config)

    monkeypatch.setattr(Trainer, "__init__", noted)
    made = forecast_of(corpus, pattern=pattern)
    assert len(sizes) == 2
    assert max(sizes) < 1.2 * (1 << 20) < corpus.bytes
    assert made.seconds > 0
    assert made.fits
    assert made.sample == corpus.bytes


def test_memory_is_at_least_what_the_arrays_take_and_not_many_times_that():
    for pattern in ("none", "cl100k"):
        corpus = Corpus.from_text(LARGE)
        made = forecast_of(corpus, pattern=pattern)
        trainer = Trainer(corpus, TrainingConfig(vocabulary_size=400, pattern=pattern))
        while trainer.merges_made == 0:
            trainer.advance(1)
        tables = trainer._engine._tables
        least = tables.symbols.nbytes + tables.weights.nbytes
        assert least <= made.memory < 12 * least


def test_what_would_not_fit_says_so_and_names_a_sample(monkeypatch):
    monkeypatch.setattr(forecast, "free_memory", lambda: 20_000_000)
    corpus = Corpus.from_text(LARGE)
    made = forecast_of(corpus)
    assert not made.fits
    assert 0 < made.sample < corpus.bytes
    assert made.problem.startswith("This training would take about 0.")
    assert made.problem.endswith(f"train on a sample of {made.sample / 1e6:,.0f} MB.")


def test_what_goes_wrong_is_told_before_training():
    made = forecast_of(Corpus.from_text("some text\n" * 9), base="characters", base_vocabulary=list("some "))
    assert not made.fits
    assert 'The character "t"' in made.problem
    assert "drops" in forecast_of(Corpus.from_text("a b"), pattern=r"\w").problem


def test_a_sample_keeps_documents_and_given_counts():
    counts = {f"word{n}": n + 1 for n in range(200_000)}
    sample = forecast._sample(Corpus.from_counts(counts), 100_000)
    assert 50_000 < sum(len(source.data) for source in sample.sources) <= 100_000
    for source in sample.sources:
        starts = np.concatenate([[0], source.ends[:-1]])
        for start, end, count in zip(starts[:5], source.ends[:5], source.counts[:5], strict=True):
            assert counts[source.data[start:end].tobytes().decode()] == count
    lines = Corpus.from_texts([f"line {n}\n" for n in range(100_000)])
    for source in forecast._sample(lines, 50_000).sources:
        assert source.data[: source.ends[0]].tobytes().startswith(b"line ")
        assert source.data[source.ends[-2] : source.ends[-1]].tobytes().endswith(b"\n")


def test_an_empty_corpus_has_a_forecast_too():
    assert forecast_of(Corpus.from_text("")).fits
