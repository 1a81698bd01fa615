"""Holding a share of the corpus out of training."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from itertools import pairwise
from math import floor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.texts import patient
from tokstudio.core.base.errors import ConfigError, CorpusError
from tokstudio.core.base.progress import finish
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.sampling import hold_out_work
from tokstudio.core.corpus.source import Source
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.training.forecast import forecast_work
from tokstudio.core.training.trainer import Trainer, train


def texts_of(source: Source) -> list[bytes]:
    starts = [0, *source.ends.tolist()]
    return [source.data[start:end].tobytes() for start, end in zip(starts, source.ends.tolist(), strict=False)]


def held(texts, share):
    parts = finish(hold_out_work([Source.from_texts(texts)], share))
    return [[text for source in part for text in texts_of(source)] for part in parts]


@given(st.lists(st.text("ab\n", min_size=1, max_size=9), min_size=25, max_size=60), st.floats(0, 0.99))
def test_small_documents_are_the_blocks(texts, share):
    trained_on, held_out = held(texts, share)
    blocks = [text.encode() for text in texts]
    chosen = [floor((i + 1) * share) > floor(i * share) for i in range(len(blocks))]
    assert held_out == [block for block, out in zip(blocks, chosen, strict=True) if out]
    assert trained_on == [block for block, out in zip(blocks, chosen, strict=True) if not out]


@patient
@given(st.lists(st.integers(0, 40), min_size=20, max_size=80), st.sampled_from([0.1, 0.25, 0.5]))
def test_a_document_is_cut_at_lines_and_nothing_is_lost(lengths, share):
    lines = [bytes([97 + i % 26]) * length + b"\n" for i, length in enumerate(lengths)]
    trained_on, held_out = held([b"".join(lines)], share)
    assert all(block.endswith(b"\n") for block in trained_on + held_out)
    assert sorted(b"".join(trained_on + held_out).split(b"\n")) == sorted(b"".join(lines).split(b"\n"))
    blocks = len(trained_on) + len(held_out)
    assert blocks >= 20
    assert len(held_out) == floor(blocks * share)


def test_blocks_are_of_64_kib_at_most():
    trained_on, held_out = held([b"some words of a line\n" * 200_000], 0.1)
    assert max(map(len, trained_on + held_out)) <= 1 << 16
    assert min(map(len, (trained_on + held_out)[:-1])) > 0


def test_fewer_than_twenty_lines_are_refused():
    with pytest.raises(CorpusError, match="The corpus has 2 lines, and holding out a share needs at least 20"):
        train(Corpus.from_text("one\ntwo"), TrainingConfig(vocabulary_size=300, held_out=0.1))


def test_given_counts_cannot_be_held_out():
    with pytest.raises(ConfigError, match="Word counts have no lines"):
        train(Corpus.from_counts({"a": 2}), TrainingConfig(vocabulary_size=300, held_out=0.1))


@pytest.mark.parametrize("pattern", ["none", "gpt2"])
def test_training_sees_nothing_of_what_is_held_out(pattern):
    lines = [f"line {n} of {n * 7 % 5}\n" for n in range(40)]
    corpus = Corpus.from_text("".join(lines))
    trainer = Trainer(corpus, TrainingConfig(vocabulary_size=300, held_out=0.25, pattern=pattern))
    for _ in trainer:
        pass
    trained_on, held_out = finish(hold_out_work(corpus.sources, 0.25))
    by_hand = train(Corpus(trained_on), TrainingConfig(vocabulary_size=300, pattern=pattern)).run
    assert trainer.run.merges.tolist() == by_hand.merges.tolist()
    assert trainer.run.tokens_after.tolist() == by_hand.tokens_after.tolist()
    assert trainer.run.corpus.bytes == by_hand.corpus.bytes
    assert trainer.run.corpus.sha256 == corpus.sha256
    assert [texts_of(source) for source in trainer.prepared.held_out] == [texts_of(source) for source in held_out]


@pytest.mark.parametrize("pattern", ["none", "gpt2"])
@pytest.mark.parametrize("unused", [Source.from_texts(["x y\n" * 33]), *Corpus.from_counts({"x": 2, "y": 1}).sources])
def test_a_source_of_weight_0_is_left_out(pattern, unused):
    texts = [Source.from_texts(["".join(f"{word} {n * 7 % 5}\n" for n in range(30))]) for word in ("line", "row")]
    config = TrainingConfig(vocabulary_size=300, held_out=0.25, pattern=pattern)
    found = []
    for corpus in (Corpus((texts[0], unused, texts[1]), (1000, 0, 1000)), Corpus(tuple(texts))):
        trainer = Trainer(corpus, config)
        for _ in trainer:
            pass
        held_out = [texts_of(source) for source in trainer.prepared.held_out if source.documents]
        found.append((trainer.run.merges.tolist(), trainer.run.tokens_after.tolist(), held_out))
        assert forecast_problem(corpus, config) == ""
    assert found[0] == found[1]


def forecast_problem(corpus, config):
    return finish(forecast_work(corpus, config)).problem


def test_a_long_line_before_many_short_ones_is_cut_in_bounded_pieces():
    source = Source.from_texts([b"x" * 2_000_000 + b"\n" * 50_000])
    steps = []
    work = hold_out_work([source], 0.1)
    try:
        while True:
            steps.append(next(work))
    except StopIteration as end:
        trained_on, held_out = end.value
    splitting = [step.done for step in steps if step.phase == "splitting" and 2_000_000 < step.done < 2_050_000]
    assert max(b - a for a, b in pairwise([2_000_000, *splitting])) < 10_000
    assert trained_on[0].documents + held_out[0].documents == 50_000
