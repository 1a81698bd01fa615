"""Counts the pre-tokens of a corpus or of a part of it, for training later or elsewhere."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np

from tokstudio.core.base.errors import ConfigError, CorpusError
from tokstudio.core.base.progress import Work, finish, part_of
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.open_sources import read_work
from tokstudio.core.corpus.readers.folders import Entry, expand_work
from tokstudio.core.corpus.readers.reading import Reading
from tokstudio.core.corpus.source import CountedWith, Source, entries
from tokstudio.core.pretokenization.count_words import WordCounter, count_work
from tokstudio.core.pretokenization.cut_specials import cut_sources_work
from tokstudio.core.pretokenization.patterns import check_pattern
from tokstudio.core.pretokenization.word_counts import WordCounts
from tokstudio.core.text.utf8 import AnyPath

_NOTHING, _NO_ENDS = np.empty(0, np.uint8), np.empty(0, np.int64)


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
    return finish(_count_corpus_work(corpus, CountedWith(pattern, tuple(special_tokens), documents), threads))


def count_shard(
    source: Source | AnyPath,
    pattern: str,
    special_tokens: Iterable[str] = (),
    documents: str = "file",
    *,
    reading: Reading | None = None,
    number: int = 0,
    file: int = 0,
    threads: int | None = None,
) -> WordCounts:
    """Counts one file of a larger corpus as `count`; `WordCounts.merge` joins such tables from anywhere, in any order.

    `number` is that of the source in the whole corpus, `file` that of this file in the order in which one pass would
    read all files; both count from 0. The text of a file is not kept.

    Raises:
        ConfigError: The pattern is invalid or "none".
        CorpusError: The source cannot be read.
    """
    if isinstance(source, Source):
        counts = count(Corpus((source,)), pattern, special_tokens, documents, threads)
    else:
        job = Counting(CountedWith(pattern, tuple(special_tokens), documents), reading or Reading())
        counts = finish(job.count_work([source], threads)).counts
    return counts.moved(number, file)


@dataclass(frozen=True, eq=False)
class CountedPart:
    """The table of adjacent files of a corpus."""

    counts: WordCounts
    sources: tuple[Source, ...]  # without their texts

    def joined_work(self, later: CountedPart) -> Work[CountedPart]:
        """Joins the table of the files after these; the result equals that of one pass over both."""
        # The files of one large folder are one source, and so are parts that are joined by value.
        sources = self.sources + later.sources
        whole = entries(sources)[len(self.sources) :]
        numbers = {part: number for (_, part), (_, number) in zip(entries(later.sources), whole, strict=True)}
        moved = later.counts.renumbered([numbers[part] for part in range(len(numbers))], self.counts.files)
        return CountedPart((yield from WordCounts.merge_work([self.counts, moved])), sources)


@dataclass(frozen=True)
class Counting:
    """How files are read and counted; raises ConfigError where the pattern is invalid or "none"."""

    settings: CountedWith
    reading: Reading = field(default_factory=Reading)
    encoding: str | None = None

    def __post_init__(self) -> None:
        _check_pattern(self.settings.pattern)

    def count_work(self, files: Sequence[AnyPath | Entry], threads: int | None = None) -> Work[CountedPart]:
        """Counts files and folders one after another in bounded pieces, and keeps no text.

        Args:
            files: At least one.
            threads: As of `count`.

        Raises:
            CorpusError: There are none, or one cannot be read.
        """
        entries: list[Entry] = []
        for file in files:
            entries += [file] if isinstance(file, Entry) else (yield from expand_work([file]))
        if not entries:
            raise CorpusError("No files given: name at least one.")
        sizes, done = list(map(stored_bytes, entries)), 0
        cut_out, sources = Counter[str](), list[Source]()
        with WordCounter(self.settings, sum(sizes), threads) as counter:
            for entry, size in zip(entries, sizes, strict=True):
                work = self._count_entry_work(entry, counter, cut_out, sources)
                yield from part_of(work, "counting", done, size, sum(sizes))
                done += size
            return CountedPart((yield from counter.made_work(cut_out)), tuple(sources))

    def _count_entry_work(
        self, entry: Entry, counter: WordCounter, cut_out: Counter[str], sources: list[Source]
    ) -> Work[None]:
        for source in (yield from read_work(entry, self.settings.documents, self.encoding, self.reading)):
            sources.append(replace(source, data=_NOTHING, ends=_NO_ENDS, places=None, counts=None, rows=None))
            [(text, pieces)], cut = yield from cut_sources_work([source], self.settings.special_tokens)
            cut_out.update(cut)
            yield from counter.add_work(text, pieces)


def _count_corpus_work(corpus: Corpus, settings: CountedWith, threads: int | None = None) -> Work[WordCounts]:
    _check_pattern(settings.pattern)
    cut, cut_out = yield from cut_sources_work(corpus.sources, settings.special_tokens)
    return (yield from count_work(cut, settings, threads, cut_out))


def _check_pattern(pattern: str) -> None:
    check_pattern(pattern)
    if pattern == "none":
        raise ConfigError("Without a pattern, words cannot be counted: choose a pattern, such as gpt2.")


def stored_bytes(entry: Entry) -> int:
    """The size of the files of an entry; at least 1."""
    size = 1
    for path in entry.shards or (entry.path,):
        with suppress(OSError, ValueError):
            size += os.path.getsize(path)
    return size
