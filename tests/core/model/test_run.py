"""The contents of a run."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import dataclasses
import hashlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tokstudio import ConfigError, Corpus, MergeBatch, Run, Trainer, TrainingConfig, __version__, train
from tokstudio.core.base.arrays import read_only
from tokstudio.core.model import tokens
from tokstudio.core.model.algorithms import TIE_BREAKS
from tokstudio.core.model.config import BASES
from tokstudio.core.model.run import TrainedOn
from tokstudio.core.model.tokens import NEAR, TokenParts


@pytest.fixture(scope="module")
def run() -> Run:
    return train(Corpus.from_texts(["abcabcabc", "abcd"]), TrainingConfig(vocabulary_size=259)).run


def test_a_run_knows_what_it_was_trained_on_and_the_versions_that_matter(run):
    digest = hashlib.sha256(b"\t" + b"\0" * 7 + b"abcabcabc" + b"\4" + b"\0" * 7 + b"abcd").hexdigest()
    assert run.corpus == TrainedOn(13, 2, digest)
    assert run.config == TrainingConfig(vocabulary_size=259)
    assert (run.versions["tokstudio"], run.versions["numpy"]) == (__version__, np.__version__)
    assert "python" in run.versions


def test_a_run_by_hand(run):
    assert run.merges.tolist() == [[97, 98], [256, 99], [257, 257]]
    assert run.counts.tolist() == [4, 4, 2]
    assert run.tokens_before == 13
    assert run.tokens_after.tolist() == [9, 5, 4]
    assert run.merged.tolist() == [4, 4, 1]
    assert [run.bytes_per_token(merges) for merges in (0, 1, 2, None)] == [1.0, 13 / 9, 13 / 5, 13 / 4]
    assert len(run) == 3
    assert run.seconds > 0
    assert (run.merges.dtype, run.base_counts.shape) == (np.int32, (256,))
    assert [array.dtype for array in (run.counts, run.tokens_after, run.base_counts, run.uses())] == [np.int64] * 4


def test_uses_are_replacements_minus_later_merges(run):
    assert {token: count for token, count in enumerate(run.uses().tolist()) if count} == {100: 1, 257: 2, 258: 1}
    assert {token: count for token, count in enumerate(run.uses(1).tolist()) if count} == {99: 4, 100: 1, 256: 4}
    assert run.uses(0).tolist() == run.base_counts.tolist()


@pytest.mark.parametrize("merges", [-1, 4, 999])
def test_a_number_of_merges_that_a_run_does_not_have_is_refused(run, merges):
    for figure in (run.uses, run.bytes_per_token):
        with pytest.raises(ConfigError, match=f"^There is no merge {merges}: this run has 3.$"):
            figure(merges)


def test_a_run_cannot_be_changed(run):
    for array in (run.merges, run.counts, run.tokens_after, run.base_counts):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    with pytest.raises(dataclasses.FrozenInstanceError):
        run.ended = "otherwise"


def test_a_batch_cannot_be_changed():
    batch = next(iter(Trainer(Corpus.from_text("abab"), TrainingConfig(vocabulary_size=257))))
    assert isinstance(batch, MergeBatch)
    assert (batch.first, batch.left.tolist(), batch.right.tolist()) == (1, [97], [98])
    assert (batch.count.tolist(), batch.tokens_after.tolist()) == ([2], [2])
    for array in (batch.left, batch.right, batch.count, batch.tokens_after):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_the_batches_of_a_training_join_to_its_run():
    text = "the cat in the hat sat on the mat" * 3
    trainer = Trainer(Corpus.from_text(text), TrainingConfig(min_frequency=2))
    assert trainer.prepared is None
    batches = []
    while trainer.ended is None:
        batches.append(trainer.advance(7))
    assert np.concatenate([batch.count for batch in batches]).tolist() == trainer.run.counts.tolist()
    assert np.concatenate([batch.tokens_after for batch in batches]).tolist() == trainer.run.tokens_after.tolist()
    numbers = [batch.first for batch in batches if len(batch)]
    assert numbers == [1 + 7 * i for i in range(len(numbers))]
    assert trainer.prepared is not None
    assert trainer.prepared.base_counts[ord("a")] == text.count("a")
    assert (trainer.prepared.bytes, trainer.prepared.tokens) == (len(text), len(text))


@settings(max_examples=30)
@given(
    texts=st.lists(st.text("aab\u00e9 ", min_size=1, max_size=60), min_size=1, max_size=4),
    base=st.sampled_from(BASES),
    tie_break=st.sampled_from(TIE_BREAKS),
    pattern=st.sampled_from(["none", "gpt2"]),
    longest=st.none() | st.integers(2, 6),
)
def test_counts_never_rise_and_are_the_fall_in_tokens_but_for_overlaps(texts, base, tie_break, pattern, longest):
    config = TrainingConfig(min_frequency=2, base=base, tie_break=tie_break, pattern=pattern, max_token_bytes=longest)
    run = train(Corpus.from_texts(texts), config).run
    assert np.all(np.diff(run.counts) <= 0)
    is_double = run.merges[:, 0] == run.merges[:, 1]
    assert np.array_equal(run.counts[~is_double], run.merged[~is_double])
    assert np.all(run.merged[is_double] <= run.counts[is_double])
    assert np.all(run.counts[is_double] <= 2 * run.merged[is_double])


# --- The tokens of a vocabulary as bytes ------------------------------------------------------------------------------


class Counting(dict[int, bytes]):
    """Counts how often it is asked."""

    asked = 0

    def get(self, key: int, default: bytes | None = None) -> bytes | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        self.asked += 1
        return super().get(key, default)


def grown(n: int) -> TokenParts:
    """Tokens that grow by a byte at a time, and one that has the last as its right part."""
    merges = np.array([(97, 98), *((256 + at, 97 + at % 26) for at in range(n - 1)), (99, 256 + n - 1)], np.int32)
    results = np.arange(256, 256 + len(merges), dtype=np.int32)
    return TokenParts({byte: bytes([byte]) for byte in range(256)}, read_only(merges), read_only(results))


def test_the_beginning_of_a_token_that_grew_by_a_byte_at_a_time_is_found_in_few_steps() -> None:
    n = 3000
    parts = grown(n)
    for token in (256, 700, 256 + n - 1, 256 + n):
        whole = parts[token]
        for limit in (1, 68, NEAR):
            parts._known = known = Counting({byte: bytes([byte]) for byte in range(256)})
            assert parts.prefix(token, limit) == whole[:limit]
            assert known.asked < 2000


@pytest.mark.parametrize("kept", [tokens.LONG_KEPT, 100_000, 1000])
def test_tokens_that_grow_are_made_of_one_another_and_few_long_ones_are_kept(monkeypatch, kept: int) -> None:
    monkeypatch.setattr(tokens, "LONG_KEPT", kept)
    parts = grown(1500)
    parts._known = known = Counting(parts._known)
    expected = b"a"
    for token in range(256, parts.size - 1):
        expected += b"b" if token == 256 else bytes([97 + (token - 257) % 26])
        assert parts[token] == expected
    assert parts[parts.size - 1] == b"c" + expected
    assert sum(len(token) for token in known.values() if len(token) > 512) <= kept
    if kept >= 100_000:
        assert known.asked < 50_000
