"""The corpus as lines, which is what the libraries train on."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.base.errors import ConfigError, CorpusError
from tokstudio.core.base.progress import Work, part_of
from tokstudio.core.corpus.corpus import Corpus, refuse_overflow
from tokstudio.core.corpus.held_out_split import hold_out_work
from tokstudio.core.corpus.source import Source, document_ends, entries, groups, in_text_order, texts_of
from tokstudio.core.training.prepare_corpus import valid_work

_PIECE = 1 << 20


@dataclass(frozen=True, eq=False)
class Lines:
    """The lines of a corpus.

    Attributes:
        sources: Each source with the ends of its lines, and how often it is given.
        held_out: The text that is kept out of training.
        replaced: Places that were not UTF-8 and became U+FFFD.
    """

    sources: Sequence[tuple[Source, NDArray[np.int64], int]]
    held_out: tuple[Source, ...]
    replaced: int

    @property
    def bytes(self) -> int:
        """Bytes of text, as often as it is given."""
        return sum(len(source.data) * times for source, _, times in self.sources)

    @property
    def count(self) -> int:
        """The number of lines."""
        return sum(len(ends) * times for _, ends, times in self.sources)

    def pieces(self) -> Iterator[tuple[bytes, int]]:
        """Yields some lines with a line feed after each, and how many bytes of the corpus they are.

        They are in the order of the text, which is given as often as its largest part, each time without the parts
        that were given often enough.
        """
        for text in texts_of([source for source, _, _ in self.sources]):
            parts = [self.sources[number] for number in text]
            for time in range(max(times for _, _, times in parts)):
                yield from _pieces([(source, ends) for source, ends, times in parts if times > time])


def _pieces(parts: Sequence[tuple[Source, NDArray[np.int64]]]) -> Iterator[tuple[bytes, int]]:
    """The lines of the parts of a text; each part has the ends of its lines."""
    held, size = list[bytes](), 0
    for number, first, last in in_text_order([source for source, _ in parts]):
        source, ends = parts[number]
        start = int(source.ends[first - 1]) if first else 0
        stop = int(source.ends[last - 1]) if last else 0
        here = ends[np.searchsorted(ends, start, side="right") : np.searchsorted(ends, stop, side="right")]
        for one, other, begin, end in groups(here - start, _PIECE):
            if held and size + end - begin > _PIECE:
                yield b"".join(held), size
                held, size = [], 0
            raw = source.data[start + begin : start + end].tobytes()
            bounds = pairwise([0, *(here[one:other] - (start + begin)).tolist()])
            held.append(b"".join(raw[a:b].removesuffix(b"\n") + b"\n" for a, b in bounds))
            size += end - begin
    if held:
        yield b"".join(held), size


def check_corpus(corpus: Corpus) -> None:
    """Raises ConfigError where there are word counts, or a weight is no whole number."""
    if counted := next((source for source in corpus.sources if source.counts is not None), None):
        raise ConfigError(
            f"{counted.name} has word counts, and the library counts in lines of text, which it splits itself: give "
            "texts."
        )
    if corpus.weight_scale != 1:
        raise ConfigError("The library takes each text a whole number of times: choose whole numbers as weights.")


def lines_work(corpus: Corpus, held_out: float) -> Work[Lines]:
    """The lines of a corpus: documents end lines too, and a source of weight 3 is given three times.

    Raises:
        ConfigError: There are word counts, or a weight is no whole number.
        CorpusError: There is no text, or nothing of it has a weight, or too little to hold some out.
    """
    check_corpus(corpus)
    refuse_overflow(corpus)
    sources, held = corpus.sources, tuple[Source, ...]()
    if held_out:
        sources, held = yield from hold_out_work(sources, held_out, corpus.weights)
    multipliers = corpus.multipliers
    made: list[tuple[Source, NDArray[np.int64], int]] = []
    replaced, total, done = 0, 2 * sum(len(source.data) for source in sources), 0
    for source, (_, number) in zip(sources, entries(corpus.sources), strict=True):
        size = len(source.data)
        if times := multipliers[number]:
            valid, places = yield from part_of(valid_work(source), "splitting", done, size, total)
            lines = yield from part_of(document_ends(valid.data, "line"), "splitting", done + size, size, total)
            ends = np.union1d(lines, valid.ends)
            made.append((valid, ends[ends > 0], times))
            replaced += places
        done += 2 * size
    found = Lines(made, held, replaced)
    if not found.bytes:
        raise CorpusError("The corpus has no text to train on: add some.")
    return found
