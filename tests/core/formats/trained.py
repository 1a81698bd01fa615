"""Tokenizers that the tests of the formats write and read."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import random

import numpy as np
from hypothesis import strategies as st

from tokstudio.core.corpus import Corpus
from tokstudio.core.run import TrainingConfig
from tokstudio.core.tokenizer import Tokenizer
from tokstudio.core.trainer import train

TEXT = (
    'the cat in the "hat"\n\tsat\\on = the 😀😀 ĠĊ mat, a,b;c日本日本\r\n'
    "\x00\x00\x7f\x7f\u2028\u2028\ufeff#version #version"
)


def trained(text: str | bytes, merges: int, **more) -> Tokenizer:
    return train(Corpus.from_text(text), TrainingConfig(vocabulary_size=256 + merges, **more))


def banana() -> Tokenizer:
    return trained("banana", 1)


def everything() -> Tokenizer:
    """All that the text gives, merged to the end."""
    return trained(TEXT, 1000)


def shuffled(merges: int = 40, seed: int = 7) -> Tokenizer:
    """As a file may number its ids: in no order, with gaps, bytes included."""
    chance = random.Random(seed)
    ids = chance.sample(range(1000), 256 + merges)
    known = [ids[byte] for byte in b"ab \xf0\x9f"]
    pairs: list[tuple[int, int]] = []
    for made in ids[256:]:
        left, right = chance.choice(known), chance.choice(known)
        while (left, right) in pairs:
            left, right = chance.choice(known), chance.choice(known)
        pairs.append((left, right))
        known = [*known[-8:], made]
    return Tokenizer(np.array(pairs, np.int32), np.array(ids[256:], np.int32), byte_ids=np.array(ids[:256], np.int32))


def same(one: Tokenizer, other: Tokenizer) -> bool:
    """Whether all ids, merges and bytes are the same."""
    return (
        np.array_equal(one.merges, other.merges)
        and np.array_equal(one.merge_results, other.merge_results)
        and np.array_equal(one.byte_ids, other.byte_ids)
        and one.tokens == other.tokens
    )


texts_to_train_on = st.one_of(
    st.binary(max_size=40), st.text(max_size=30).map(str.encode), st.text('ab\n"\\', max_size=60).map(str.encode)
)
