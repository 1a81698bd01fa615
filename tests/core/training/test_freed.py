"""The memory after a training."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import gc
import tracemalloc

import pytest

from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.training.trainer import Trainer

TEXT = "".join(f"word{n * n % 997} and {n % 991} ünd {n * 7 % 89}\n" for n in range(6_000))


def ended(corpus, config, *, stopped):
    trainer = Trainer(corpus, config)
    while trainer.ended is None:
        trainer.advance()
        if stopped and trainer.merges_made:
            trainer.stop()
    return trainer


@pytest.mark.parametrize("stopped", [False, True])
@pytest.mark.parametrize("base", ["bytes", "characters"])
@pytest.mark.parametrize("pattern", ["none", "cl100k", r"\S+|\s+"])
def test_the_memory_of_merging_is_freed_at_the_end(pattern, base, stopped):
    corpus = Corpus.from_text(TEXT)
    config = TrainingConfig(vocabulary_size=400, pattern=pattern, base=base)
    # What is kept for every later training (loops, classes of characters) is loaded by then.
    assert ended(corpus, config, stopped=stopped).merges_made
    gc.collect()
    tracemalloc.start()
    try:
        trainer = ended(corpus, config, stopped=stopped)
        gc.collect()
        kept, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert trainer.run.tokens_before > 0
    assert peak > len(TEXT), "there was something to free"
    assert kept < 100_000
