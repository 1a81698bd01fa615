"""A run of Picky BPE in the window: its tokens, counts and sizes at every merge, while it trains and opened again."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.gui.picky import SETTINGS, TEXT
from tokstudio import Corpus, Trainer
from tokstudio.core.model.algorithms import Picky
from tokstudio.core.model.config import TrainingConfig
from tokstudio.gui.state.run import StudioRun


def runs(config: TrainingConfig, text: str = TEXT):
    """One that has grown, the same after its end, and the same from a project."""
    corpus = Corpus.from_text(text)
    trainer, growing = Trainer(corpus, config), StudioRun(1, "Run 1", config, corpus)
    while trainer.prepared is None:
        trainer.advance()
    growing.prepare(trainer.prepared, trainer.run)
    for batch in trainer:
        growing.append(batch)
    yield growing, trainer.run
    growing.complete(trainer.run)
    yield growing, trainer.run
    yield StudioRun.reopened(2, "Run 2", trainer.run, corpus), trainer.run


def test_tokens_and_counts_are_those_of_the_core_at_every_merge():
    for run, made in runs(replace(SETTINGS, special_tokens=("<s>",)).config()):
        assert len(run) == len(made)
        assert run.vocabulary_sizes.tolist() == [len(run.tokenizer.at(merges)) for merges in range(len(run) + 1)]
        assert run.vocabulary_size == made.vocabulary_size == 400
        for merges in range(len(run) + 1):
            tokenizer = run.tokenizer.at(merges)
            ids = tokenizer.encode(TEXT)
            counts = np.bincount(ids, minlength=run.base_size + merges)
            assert run.uses.at(merges).tolist() == counts[: run.base_size + merges].tolist()
            slots = np.flatnonzero(run.present(merges)).tolist()
            assert sorted(run.tokens.id_of(slot) for slot in slots) == tokenizer.tokens.ids().tolist()
            assert run.log.tokens_at(merges) == len(ids)
            for token in (32, 97, run.base_size, run.base_size + 7):
                if token < run.base_size + merges:
                    assert run.uses.of(token, merges) == counts[token]
        assert run.uses.rank_of(int(np.argmax(run.uses.at(len(run)))), len(run)) == 1


def test_what_a_merge_removed_is_known():
    *_, (run, made) = runs(SETTINGS.config())
    gone = {
        int(made.merges[row, side]): row + 1 for row, side in zip(*np.nonzero(made.removals[:, 2:] >= 0), strict=True)
    }
    assert len(gone) > 5
    for token in range(run.base_size + len(run)):
        assert run.removals.removed_by(token) == gone.get(token)
        if token >= run.base_size:
            number = token - run.base_size + 1
            for merges in range(number, len(run) + 1):
                assert run.removals.is_absent(number, merges) == (not run.present(merges)[run.tokens.slot_of(token)])


def test_a_merge_that_makes_a_known_token_has_the_id_of_that():
    config = TrainingConfig(vocabulary_size=275, algorithm=Picky(threshold=0.4))
    *_, (run, made) = runs(config, "bababbbbbba")
    own = run.base_size + np.arange(len(run))
    repeated = np.flatnonzero(made.removals[:, 0] != own).tolist()
    assert repeated == [3]
    assert [run.id_of_merge(number) for number in range(1, len(run) + 1)] == made.removals[:, 0].tolist()
    assert run.removals.is_absent(4, len(run))
    assert run.removals.removed_by(int(own[3])) is None
    assert run.vocabulary_sizes.tolist() == [len(run.tokenizer.at(merges)) for merges in range(len(run) + 1)]
