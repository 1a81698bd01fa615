"""A run of SuperBPE in the window: its counts while it trains, and opened again."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np

from tests.core.algorithms import SUPERBPE_TEXT as TEXT
from tests.core.algorithms import superbpe
from tokstudio import Corpus, Trainer
from tokstudio.gui.state.run import StudioRun


def test_counts_are_those_of_the_text_at_every_merge():
    corpus = Corpus.from_text(TEXT)
    trainer, growing = Trainer(corpus, superbpe()), StudioRun(1, "Run 1", superbpe(), corpus)
    while trainer.prepared is None:
        trainer.advance()
    growing.prepare(trainer.prepared, trainer.run)
    for batch in trainer:
        growing.append(batch)
        assert growing.tokenizer.pattern == trainer.tokenizer().pattern
    so_far = growing.so_far()
    assert np.array_equal(so_far.columns["second_counts"], trainer.run.columns["second_counts"])
    assert so_far.uses().tolist() == trainer.run.uses().tolist()
    growing.complete(trainer.run)
    for run in (growing, StudioRun.reopened(2, "Run 2", trainer.run, corpus)):
        for merges in (0, 20, 34, 35, 74):
            ids = run.tokenizer.at(merges).encode(TEXT)
            counts = np.bincount(ids, minlength=256 + merges).tolist()
            assert run.uses.at(merges).tolist() == counts
            assert [run.uses.of(token, merges) for token in (32, 116, 255 + merges)] == [
                counts[token] for token in (32, 116, 255 + merges)
            ]
