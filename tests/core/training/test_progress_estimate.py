"""The estimated progress of merging, compared with its work: replaced places and rounds."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from itertools import groupby

import numpy as np
import pytest

from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.source import Source
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.training.trainer import Trainer


def zipf_text(words):
    """Text with Zipf's spread of words, as languages have, of many lengths and with no two alike."""
    random = np.random.default_rng(3)
    vocabulary = ["".join(random.choice(list("etaoinshrdlu"), random.integers(1, 9))) for _ in range(3_000)]
    ranks = np.minimum(random.zipf(1.3, words) - 1, len(vocabulary) - 1)
    return " ".join(vocabulary[rank] for rank in ranks)


TEXT = zipf_text(200_000)


def followed(**limits):
    """Each share that was said while merging, with the tokens that the merges took until then."""
    trainer = Trainer(Corpus.from_text(TEXT), TrainingConfig(**limits))
    shares, removed, tokens = [], [], 0
    while trainer.ended is None:
        batch = trainer.advance(20)
        if len(batch):
            tokens = int(batch.tokens_after[-1])
        progress = trainer.progress
        if trainer.merges_made and trainer.ended is None:
            assert progress.phase == "merging"
            shares.append(progress.done / progress.total)
            removed.append(trainer.tokens_before - tokens)
    return np.array(shares), np.array(removed) / (trainer.tokens_before - tokens)


@pytest.mark.parametrize(
    "limits",
    [
        {"vocabulary_size": 1_500},
        {"vocabulary_size": 5_000},
        {"min_frequency": 20},
        {"vocabulary_size": 1_500, "min_frequency": 2},
        {"vocabulary_size": 5_000, "pattern": "gpt2"},
    ],
)
def test_the_share_only_grows_from_little_to_nearly_all(limits):
    shares, _ = followed(**limits)
    assert shares.tolist() == sorted(shares.tolist())
    assert shares[0] < 0.3
    assert 0.9 < shares[-1] <= 1


@pytest.mark.parametrize("size", [1_500, 5_000])
def test_half_of_the_tokens_taken_is_not_a_few_percent(size):
    """By merges it would be 1 to 3 %."""
    shares, removed = followed(vocabulary_size=size)
    half = shares[np.searchsorted(removed, 0.5)]
    assert 0.1 < half < 0.8


@pytest.mark.parametrize("pattern", ["none", "cl100k", r"\s*\S+|\s+"])
@pytest.mark.parametrize("others", [{}, {"base": "characters", "held_out": 0.1, "special_tokens": ["<e>"]}])
def test_before_merging_each_phase_comes_once_and_goes_forward_over_all_sources(pattern, others):
    sources = [Source.from_texts([TEXT[at : at + 700_000].replace(" o", "\no")]) for at in (0, 20_000, 50_000)]
    trainer = Trainer(Corpus(tuple(sources)), TrainingConfig(vocabulary_size=400, pattern=pattern, **others))
    seen = []
    trainer.advance()
    while trainer.prepared is None:
        seen.append(trainer.progress)
        trainer.advance()
    phases = [phase for phase, _ in groupby(progress.phase for progress in seen)]
    assert len(phases) == len(set(phases)), "no phase comes back"
    for phase in phases:
        done = [progress.done for progress in seen if progress.phase == phase]
        assert done == sorted(done)
        assert len({progress.total for progress in seen if progress.phase == phase}) == 1
