"""The text that all rows of Runs are measured on: the corpus of the window, a part of it, or any other text."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import dataclass

from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.source import Source, entries
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.state.source_records import is_missing


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
        if own is None or own.sources != self.corpus.sources:
            return False
        return own.weighted(own.weights or ()).weights == self.corpus.weights

    def is_of(self, run: StudioRun) -> bool:
        """Whether a run was trained on all of this text and nothing else, so that its training knows the tokens."""
        if not self.has_text_of(run) or not run.log.tokens_before:
            return False
        # The bytes differ if a share was held out, or special tokens were cut out.
        return not run.replaced and run.corpus_bytes == self.bytes
