"""The distinct words of a text, beside a dictionary."""

from __future__ import annotations

from collections import Counter

from tokstudio.core.base.progress import finish
from tokstudio.core.comparison.texts import NO_WORDS, word_types_work
from tokstudio.core.corpus.source import Source


def test_more_words_than_are_counted_at_once_keep_their_order_and_counts():
    words = [f"word{number}" for number in range(10_000)] + ["often"] * 3 + [f"word{number}" for number in range(5_000)]
    types, units = finish(word_types_work(Source.from_texts([" ".join(words)], "text")))
    expected = Counter(f" {word}".encode() for word in words)
    assert units == "words"
    assert list(types) == list(expected)
    assert types.counts.tolist() == list(expected.values())
    assert (len(types), types.total()) == (10_001, 15_003)
    # Of words with equal counts, the first come first.
    assert types.most_common(5_100) == [word for word, _ in expected.most_common(5_100)]


def test_a_run_with_more_words_than_a_table_looks_up_at_once():
    """Without white space, all of them are found in one run."""
    latin = [f"w{number}" for number in range(70_000)]
    types, units = finish(word_types_work(Source.from_texts(["我".join(latin)], "text")))
    assert units == "words"
    expected = Counter([b" w0"] + [part for word in latin[1:] for part in ("我".encode(), word.encode())])
    assert list(types) == list(expected)
    assert types.counts.tolist() == list(expected.values())


def test_without_words_there_is_nothing():
    assert (list(NO_WORDS), len(NO_WORDS), NO_WORDS.total(), NO_WORDS.most_common(3)) == ([], 0, 0, [])
