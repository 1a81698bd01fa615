"""A run that started from a tokenizer, as the panes read it."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
import pytest

from tokstudio.core.base.progress import finish
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.model.alphabet import Alphabet
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.core.training.curves import held_out_work, source_curves_work
from tokstudio.core.training.trainer import Trainer
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.token_table.token_uses import NEVER, NO_LONGER, UNCOUNTED, USED, TokenUses

TEXT = "aabab abc abc bcd aab abcd " * 20


def start():
    """A tokenizer whose ids are in no order, with gaps; its last merge never applies to the text."""
    numbers = (np.arange(256) * 37 % 256) + 11
    a, b, x = (int(numbers[ord(letter)]) for letter in "abx")
    return Tokenizer(
        np.array([[a, b], [400, a], [x, x]]),
        np.array([400, 5, 300]),
        alphabet=Alphabet.of_bytes(numbers),
        special_tokens={"<s>": 500},
    )


@pytest.fixture(params=["reopened", "growing"])
def run(request):
    corpus, config = Corpus.from_text(TEXT), TrainingConfig(vocabulary_size=270)
    trainer = Trainer(corpus, config, start=start())
    grown = StudioRun(1, "Run 1", trainer.config, corpus, number=1, start=trainer.start)
    prepared = False
    while trainer.ended is None:
        batch = trainer.advance(2)
        if not prepared and trainer.prepared is not None:
            grown.prepare(trainer.prepared, trainer.run)
            prepared = True
        if len(batch):
            grown.append(batch)
    return grown if request.param == "growing" else StudioRun.reopened(1, "Run 1", trainer.run, corpus)


def test_its_merges_are_those_of_the_start_and_its_own(run):
    assert (run.before, len(run), run.vocabulary_size) == (3, 13, 270)
    assert run.merges[:3].tolist() == start().merges.tolist()
    assert [run.id_of_merge(number) for number in (1, 2, 3, 4, 13)] == [400, 5, 300, 501, 510]
    assert [run.merge_of(token) for token in (400, 5, 300, 501, 510, 500, 11, 511)] == [
        1,
        2,
        3,
        4,
        13,
        None,
        None,
        None,
    ]
    assert run.special_tokens == {"<s>": 500}
    assert len(run.tokenizer) == 270


def test_every_figure_at_any_playhead_is_that_of_the_tokenizer_there(run):
    for merges in (0, 1, 3, 4, 9, 13):
        ids = run.tokenizer.at(merges).encode(TEXT)
        assert run.log.tokens_at(merges) == len(ids)
        counts = np.bincount(ids, minlength=512)[: run.base_size]
        assert run.uses.at(merges)[: run.base_size].tolist() == counts.tolist()
        for token in set(ids):
            assert run.uses.of(token, merges) == ids.count(token)
    assert run.uses.highest == max(int(run.uses.at(merges).max()) for merges in range(14)) > run.uses.base.max()
    places, ratios = run.curve()
    assert places.tolist() == list(range(14))
    assert ratios[-1] == len(TEXT) / len(run.tokenizer.encode(TEXT))


def test_its_tokens_by_slot(run):
    tokens = run.tokens
    assert len(tokens) == 270
    assert tokens.ids.tolist() == [tokens.id_of(slot) for slot in range(270)]
    for slot in range(270):
        token = tokens.id_of(slot)
        assert tokens.slot_of(token) == slot
        assert tokens.head(slot, 100) == run.tokenizer.tokens[token]
        assert tokens.length(slot) == len(run.tokenizer.tokens[token])
        assert tokens.kind_of(slot) == run.tokenizer.kind(token)
        parts = tokens.parts_of(slot)
        assert (parts and tuple(map(tokens.id_of, parts))) == run.tokenizer.parts(token)
    assert [tokens.slot_of(token) for token in (-1, 0, 499, 511, 10_000)] == [-1] * 5


def test_the_states_of_its_tokens(run):
    tokens, last = run.tokens, len(run)
    uses = TokenUses(run, last, tokens.given_ids)
    states = {token: uses.state_of(tokens.slot_of(token)) for token in (500, 300, 400, int(run.alphabet.ids[ord("z")]))}
    assert states == {500: UNCOUNTED, 300: NEVER, 400: NO_LONGER, int(run.alphabet.ids[ord("z")]): NEVER}
    found = run.tokenizer.encode(TEXT)
    assert all(uses.state_of(tokens.slot_of(token)) == USED for token in found)
    assert uses.states(len(tokens)).tolist() == [uses.state_of(slot) for slot in range(len(tokens))]
    earlier = TokenUses(run, 5, tokens.given_ids)
    assert earlier.count_of(tokens.slot_of(510)) is None
    assert earlier.count_of(tokens.slot_of(502)) is not None


def test_it_is_as_it_would_be_stopped_now(run):
    stopped = run.so_far()
    assert len(stopped) == 10
    assert stopped.merges.tolist() == run.merges[3:].tolist()
    assert Tokenizer.from_run(stopped).encode(TEXT) == run.tokenizer.encode(TEXT)


def test_measured_texts_have_all_merges(run):
    made = run.so_far()
    sources = finish(source_curves_work(made, Corpus.from_text(TEXT)))
    held_out = finish(held_out_work(made, Corpus.from_text("abc aab bcd").sources))
    assert sources.tokens[:, 0].tolist() == [run.log.tokens_at(merges) for merges in range(14)]
    assert held_out.tokens.tolist() == [len(run.tokenizer.at(merges).encode("abc aab bcd")) for merges in range(14)]


def test_it_continues_with_a_larger_limit_only():
    corpus, config = Corpus.from_text(TEXT), TrainingConfig(vocabulary_size=265)
    trainer = Trainer(corpus, config, start=start())
    for _ in trainer:
        pass
    run = StudioRun.reopened(1, "Run 1", trainer.run, corpus)
    assert run.may_continue(TrainingConfig(vocabulary_size=268), corpus)
    assert not run.may_continue(config, corpus)
    assert not run.may_continue(TrainingConfig(vocabulary_size=268, pattern="gpt2"), corpus)
    assert not run.may_continue(TrainingConfig(vocabulary_size=268, special_tokens=["<x>"]), corpus)
