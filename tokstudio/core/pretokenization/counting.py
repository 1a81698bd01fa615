"""Counts the pre-tokens of a corpus or of a part of it, for training later or elsewhere."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterable

from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.progress import Work, finish
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.source import CountedWith, Source
from tokstudio.core.pretokenization.count_words import count_work
from tokstudio.core.pretokenization.cut_specials import cut_sources_work
from tokstudio.core.pretokenization.patterns import check_pattern
from tokstudio.core.pretokenization.word_counts import WordCounts


def count(
    corpus: Corpus,
    pattern: str,
    special_tokens: Iterable[str] = (),
    documents: str = "file",
    threads: int | None = None,
) -> WordCounts:
    """Counts the distinct pre-tokens of each source of a corpus.

    The pattern is the name of one or a regular expression, but not "none"; special tokens are cut out before. The table
    keeps what a document of the corpus is, "file" or "line". It does not depend on the threads, None for one per core.

    Raises:
        ConfigError: The pattern is invalid or "none".
        CorpusError: A source cannot be read.
    """
    return finish(count_corpus_work(corpus, CountedWith(pattern, tuple(special_tokens), documents), threads))


def count_shard(
    source: Source,
    pattern: str,
    special_tokens: Iterable[str] = (),
    documents: str = "file",
    *,
    number: int = 0,
    file: int = 0,
    threads: int | None = None,
) -> WordCounts:
    """Counts one file of a larger corpus as `count`; `WordCounts.merge` joins such tables from anywhere, in any order.

    `number` is that of the source in the whole corpus, `file` that of this file in the order in which one pass would
    read all files; both count from 0.

    Raises:
        ConfigError: The pattern is invalid or "none".
        CorpusError: The source cannot be read.
    """
    return count(Corpus((source,)), pattern, special_tokens, documents, threads).moved(number, file)


def count_corpus_work(corpus: Corpus, settings: CountedWith, threads: int | None = None) -> Work[WordCounts]:
    """Does the same as `count` in bounded pieces."""
    check_pattern(settings.pattern)
    if settings.pattern == "none":
        raise ConfigError("Without a pattern, words cannot be counted: choose a pattern, such as gpt2.")
    cut, cut_out = yield from cut_sources_work(corpus.sources, settings.special_tokens)
    return (yield from count_work(cut, settings, threads, cut_out))
