"""Long text that is encoded in threads: the same ids as in one."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import itertools
import re
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from tokstudio import ConfigError, Corpus, TrainingConfig, train
from tokstudio.core.pretokenization.patterns import NAMES
from tokstudio.core.tokenizer import encoder, known_words

PART = 64
TEXT = "".join(
    f"Line {n}: it's {n**3} trees,\n\n  some\t漢字 and <s>naïve {n % 5} words  <s><s> \r\n" for n in range(60)
)


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(encoder, "PART", PART)
    monkeypatch.setattr("tokstudio.core.tokenizer.tokenizer.LONGEST", 256)  # longer texts are divided


def trained(pattern, **settings):
    config = TrainingConfig(vocabulary_size=320, pattern=pattern, special_tokens=["<s>"], **settings)
    return train(Corpus.from_text(TEXT), config)


@pytest.mark.parametrize("pattern", [*NAMES, r"\w+|\W"])
@pytest.mark.parametrize("specials", [(), "all"])
def test_threads_change_no_id(pattern, specials):
    tokenizer = trained(pattern)
    assert np.array_equal(tokenizer.encode_array(TEXT, specials, 3), tokenizer.encode_array(TEXT, specials, 1))


@pytest.mark.parametrize("pattern", ["none", "o200k", r"\w+|\W"])
def test_one_tokenizer_encodes_in_several_threads_at_once(pattern, monkeypatch):
    """Its caches are filled, and the trie for text that is not split is made, while others encode."""
    monkeypatch.setattr(known_words, "MOST_KNOWN", 50)
    trained_one = trained(pattern)
    texts = [TEXT[at : at + size] for size in (1, 30, 200, 900) for at in range(0, 1_200, 299)]
    alone = trained_one.changed()
    expected = [alone.encode_array(text, "all").tolist() for text in texts]
    plain = [alone.encode(text) for text in texts]
    begin = threading.Barrier(4)

    def encoded(first: int) -> bool:
        begin.wait()
        order = [*range(first, len(texts)), *range(first)]
        return all(
            trained_one.encode(texts[n]) == plain[n]
            and trained_one.encode_array(texts[n], "all", 2).tolist() == expected[n]
            for n in order
        )

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(4) as pool:
            assert all(pool.map(encoded, range(0, 20, 5)))
    finally:
        sys.setswitchinterval(interval)


def test_text_is_divided_and_its_order_kept(monkeypatch):
    seen = []
    tokenizer = trained("gpt2")
    whole = tokenizer.encode_array(TEXT, threads=1)
    inner = encoder.Encoder.encode_work

    def noted(self, data, pieces, special_ids, threads=None):
        seen.append((int(pieces.starts[0]), int(pieces.stops[-1])))
        return inner(self, data, pieces, special_ids, threads)

    monkeypatch.setattr(encoder.Encoder, "encode_work", noted)
    assert np.array_equal(tokenizer.encode_array(TEXT, threads=2), whole)
    parts = sorted(set(seen) - {(0, len(TEXT.encode()))})
    assert len(parts) > 10
    assert all(end == start for (_, end), (start, _) in itertools.pairwise(parts))


def test_texts_that_are_not_split_are_divided_among_threads(monkeypatch):
    tokenizer, texts = trained("none"), [TEXT[at : at + 7 + at % 50] for at in range(0, 3_000, 20)]
    expected = [tokenizer.encode(text) for text in texts]
    used, work = [], encoder.in_threads

    def noted(phase, works, *rest):
        used.append(len(works))
        return work(phase, works, *rest)

    monkeypatch.setattr(encoder, "in_threads", noted)
    assert tokenizer.encode_batch(texts, threads=2).ids == expected
    assert used
    assert used[0] > 10
    used.clear()
    # A text that is longer than a part is divided by itself, as all of it is one sequence.
    assert tokenizer.encode_batch([*texts, TEXT], threads=2).ids == [*expected, tokenizer.encode(TEXT)]
    assert not used


def test_the_first_error_of_the_text_is_raised():
    tokenizer = train(Corpus.from_text("ab " * 9), TrainingConfig(vocabulary_size=5, base="characters", pattern="gpt2"))
    text = "ab " * 300 + "x " + "ab " * 300 + "y "
    for threads in (1, 3):
        with pytest.raises(ConfigError, match=re.escape('The character "x"')):
            tokenizer.encode_array(text, threads=threads)


def test_progress_counts_bytes_and_never_falls():
    shown = [(each.done, each.total) for each in trained("gpt2").encode_work(TEXT, threads=2) if each.total]
    assert {total for _, total in shown} == {len(TEXT.encode())}
    assert [done for done, _ in shown] == sorted(done for done, _ in shown)
