"""The texts that compression is measured on: one for all rows of Runs, and one for the sizes of a run."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.source import Source, entries
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.state.source_records import is_missing

_LONGEST_COMPARED = 1 << 20  # bytes of a text


@dataclass(frozen=True, eq=False)
class ChosenText:
    """A named text of parts, each with how often it counts in units of 1 / the weight scale of `corpus`."""

    name: str
    corpus: Corpus
    parts: tuple[tuple[Corpus, int], ...]

    @classmethod
    def of_corpus(cls, corpus: Corpus, before: ChosenText | None = None) -> ChosenText:
        """The corpus of the window, each entry a part; what was computed of the parts of `before` is not lost."""
        known = {} if before is None else {part.sources: part for part, _ in before.parts}
        of_entry: dict[int, list[Source]] = {}
        found = entries(corpus.sources)
        for source, (_, number) in zip(corpus.sources, found, strict=True):
            of_entry.setdefault(number, []).append(source)
        groups = map(tuple, of_entry.values())
        parts = [known.get(sources) or Corpus(sources) for sources in groups]
        names = list(dict(zip((number for _, number in found), (name for name, _ in found), strict=True)).values())
        name = f"{names[0]} and {len(names) - 1:,} more" if len(names) > 1 else names[0]
        return cls(name, corpus, tuple(zip(parts, corpus.multipliers, strict=True)))

    @classmethod
    def of_sources(cls, name: str, sources: tuple[Source, ...]) -> ChosenText:
        """Some sources as one part that counts once."""
        corpus = Corpus(sources)
        return cls(name, corpus, ((corpus, 1),))

    @property
    def bytes(self) -> int:
        """Bytes of the text, in units of 1 / the weight scale of `corpus`."""
        return sum(times * part.bytes for part, times in self.parts)

    @property
    def problem(self) -> str:
        """Why nothing can be measured on it, as a sentence; "" if it can."""
        missing = next((source.name for source in self.corpus.sources if is_missing(source)), None)
        if missing is not None:
            return f"The text of {missing} is missing."
        return "" if self.bytes else "The text is empty."

    def has_text_of(self, run: StudioRun) -> bool:
        """Whether a run was trained on exactly these sources with these weights, or on a share of them."""
        own = run.corpus
        if own is None or len(own.sources) != len(self.corpus.sources):
            return False
        if not all(map(_is_same_source, own.sources, self.corpus.sources)):
            return False
        return own.weighted(own.weights or ()).weights == self.corpus.weights

    def is_of(self, run: StudioRun) -> bool:
        """Whether a run was trained on all of this text and nothing else, so that its training knows the tokens."""
        if not self.has_text_of(run) or not run.log.tokens_before:
            return False
        # The bytes differ if a share was held out, or special tokens were cut out.
        return not run.replaced and run.corpus_bytes == self.bytes


@dataclass(frozen=True, eq=False)
class MeasuredText:
    """The tokens and the bytes of a text that the sizes of a run are judged by, in units of 1 / `scale`."""

    tokens: NDArray[np.int64]  # [n + 1], after 0, 1, ... n merges
    bytes: int
    scale: int
    held_out: bool  # whether it was kept out of training


def measured_text(run: StudioRun) -> MeasuredText | None:
    """The held-out text of a run if it was measured, else the training text; None if there are no tokens."""
    held_out = run.held_out.tokens
    if held_out is not None and held_out[-1]:
        return MeasuredText(held_out, run.held_out.bytes, 1, held_out=True)
    if not run.has_counts or not run.log.tokens_before:
        return None
    tokens = np.concatenate([np.array([run.log.tokens_before], np.int64), run.log.tokens_after])
    return MeasuredText(tokens, run.corpus_bytes, run.weight_scale, held_out=False)


def is_same_text(one: Source, other: Source) -> bool:
    """Whether two sources are the same text; a long one only if it is one object, as comparing would take too long."""
    if one.data is other.data:
        return True
    plain = one.counts is None and other.counts is None
    return plain and len(one.data) == len(other.data) <= _LONGEST_COMPARED and np.array_equal(one.data, other.data)


def _is_same_source(one: Source, other: Source) -> bool:
    """Whether two sources are the same text in the same documents."""
    return one is other or (is_same_text(one, other) and np.array_equal(one.ends, other.ends))
