"""A run of every algorithm in the window: its tokens, counts and sizes while it trains, and opened again."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from tests.core.algorithms import CASES, facts, picky
from tokstudio import Corpus, Trainer
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.model.run import Run
from tokstudio.gui.state.run import StudioRun


def runs(corpus: Corpus, config: TrainingConfig) -> Iterator[tuple[StudioRun, Run]]:
    """One that has grown, the same after its end, and the same from a project."""
    trainer, growing = Trainer(corpus, config), StudioRun(1, "Run 1", config, corpus)
    while trainer.prepared is None:
        trainer.advance()
    growing.prepare(trainer.prepared, trainer.run)
    for batch in trainer:
        growing.append(batch)
        assert growing.tokenizer.pattern == trainer.tokenizer().pattern
    so_far = growing.so_far()
    assert facts(so_far) == facts(trainer.run)
    assert so_far.uses().tolist() == trainer.run.uses().tolist()
    yield growing, trainer.run
    growing.complete(trainer.run)
    yield growing, trainer.run
    yield StudioRun.reopened(2, "Run 2", trainer.run, corpus), trainer.run


@pytest.mark.parametrize("name", CASES)
def test_tokens_and_counts_are_those_of_the_core_at_every_merge(name):
    case = CASES[name]
    texts = [bytes(source.data).decode() for source in case.corpus.sources]
    for run, made in runs(case.corpus, case.config(case.size, special_tokens=["<s>"])):
        assert len(run) == len(made)
        assert run.vocabulary_sizes.tolist() == [len(run.tokenizer.at(merges)) for merges in range(len(run) + 1)]
        assert run.vocabulary_size == made.vocabulary_size
        for merges in range(len(run) + 1):
            tokenizer, known = run.tokenizer.at(merges), run.base_size + merges
            ids = [token for text in texts for token in tokenizer.encode(text)]
            counts = np.bincount(ids, minlength=known)
            assert run.uses.at(merges).tolist() == counts[:known].tolist()
            if run.log.removals is not None:
                slots = np.flatnonzero(run.present(merges)).tolist()
                assert sorted(run.tokens.id_of(slot) for slot in slots) == tokenizer.tokens.ids().tolist()
            assert run.log.tokens_at(merges) == len(ids)
            for token in {32, 97, run.base_size, run.base_size + 7, known - 1} & {*range(known)}:
                assert run.uses.of(token, merges) == counts[token]
        assert run.uses.rank_of(int(np.argmax(run.uses.at(len(run)))), len(run)) == 1


def test_what_a_merge_of_picky_bpe_removed_is_known():
    case = CASES["picky"]
    *_, (run, made) = runs(case.corpus, case.config(320))
    gone = {
        int(made.merges[row, side]): row + 1 for row, side in zip(*np.nonzero(made.removals[:, 2:] >= 0), strict=True)
    }
    assert len(gone) > 5
    present = [run.present(merges) for merges in range(len(run) + 1)]
    for token in range(run.base_size + len(run)):
        assert run.removals.removed_by(token) == gone.get(token)
        if token >= run.base_size:
            number = token - run.base_size + 1
            for merges in range(number, len(run) + 1):
                assert run.removals.is_absent(number, merges) == (not present[merges][run.tokens.slot_of(token)])


def test_a_merge_of_picky_bpe_that_makes_a_known_token_has_the_id_of_that():
    *_, (run, made) = runs(Corpus.from_text("bababbbbbba"), picky(275))
    own = run.base_size + np.arange(len(run))
    repeated = np.flatnonzero(made.removals[:, 0] != own).tolist()
    assert repeated == [3]
    assert [run.id_of_merge(number) for number in range(1, len(run) + 1)] == made.removals[:, 0].tolist()
    assert run.removals.is_absent(4, len(run))
    assert run.removals.removed_by(int(own[3])) is None
    assert run.vocabulary_sizes.tolist() == [len(run.tokenizer.at(merges)) for merges in range(len(run) + 1)]
