"""Merges that are found again are those that a slow search over every pair of parts finds."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.formats.trained import TEXT, everything, trained, with_specials
from tokstudio.core.base.progress import finish
from tokstudio.core.formats.common import recover_merges as ranks
from tokstudio.core.formats.common.recover_merges import recover_merges_work
from tokstudio.core.tokenizer.self_encoding import pieces_work
from tokstudio.core.tokenizer.tokenizer import Tokenizer

BYTES = [bytes([byte]) for byte in range(256)]
tokens = st.lists(st.text("ab", min_size=2, max_size=9).map(str.encode), max_size=25, unique=True)


def encode_slowly(token, rank_of, limit):
    """As tiktoken does it, with the ranks below `limit`."""
    parts = [bytes([byte]) for byte in token]
    while True:
        found = [(rank_of.get(parts[i] + parts[i + 1], limit), i) for i in range(len(parts) - 1)]
        rank, i = min(found, default=(limit, 0))
        if rank >= limit:
            return parts
        parts[i : i + 2] = [parts[i] + parts[i + 1]]


@settings(deadline=None)
@given(tokens, st.randoms())
def test_every_merge_is_that_of_the_slow_search(words, chance):
    # Each behind what it may be made of, as in files of programs.
    chance.shuffle(words)
    ranked = BYTES + sorted(words, key=len)
    rank_of = {token: rank for rank, token in enumerate(ranked)}
    parts = finish(recover_merges_work(ranked)).tolist()
    for rank, token in enumerate(ranked):
        slow = encode_slowly(token, rank_of, rank)
        assert parts[rank] == ([rank_of[part] for part in slow] if len(slow) == 2 else [-1, -1])


@pytest.mark.parametrize("budget", [1, 7, 1000])
def test_it_goes_on_where_it_stopped(monkeypatch, budget):
    tokenizer = trained(TEXT * 20, 300)
    monkeypatch.setattr(ranks, "_BUDGET", budget)
    parts = finish(recover_merges_work(list(tokenizer.tokens)))
    assert np.array_equal(parts[256:], tokenizer.merges)


def test_tokens_of_a_run_are_all_made_of_their_own_bytes():
    for tokenizer in (everything(), with_specials("cl100k", "first"), trained("ab" * 5000, 14)):
        tokens = [tokenizer.tokens[token] for token in tokenizer.merge_results]
        assert set(finish(pieces_work(tokenizer, tokens)).tolist()) == {1}


def test_how_many_tokens_are_made_of_the_bytes_of_each_is_counted():
    tokenizer = Tokenizer(np.array([[97, 98], [98, 99], [97, 257]]))
    counts = finish(pieces_work(tokenizer, [b"abc", b"a", b"bc", b"xyz", b"abcabc"]))
    assert counts.tolist() == [2, 1, 1, 3, 4]
    assert finish(pieces_work(tokenizer, [])).tolist() == []
    assert finish(pieces_work(tokenizer, [b"abc"])).tolist() == [2]
