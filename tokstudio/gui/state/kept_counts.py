"""The counts of the corpus, kept for trainings with other weights or limits."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import dataclass

from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.source import Source
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.training.prepare_corpus import CountedText
from tokstudio.gui.state.mixture import has_mixture


@dataclass(frozen=True, eq=False)
class KeptCount:
    """A corpus that was counted; its weights do not matter."""

    corpus: Corpus
    settings: tuple[object, ...]
    counted: CountedText


class KeptCounts:
    """Keeps the newest count of the sources that are open; a worker may store one at any time."""

    def __init__(self) -> None:
        self._sources: tuple[Source, ...] = ()
        self._kept: KeptCount | None = None

    def use(self, sources: tuple[Source, ...]) -> None:
        """Sets the sources that are open; the count of others is released."""
        self._sources = sources
        if self._kept is not None and self._kept.corpus.sources != sources:
            self._kept = None

    def wants(self, corpus: Corpus, config: TrainingConfig) -> bool:
        """Whether a count would be kept: the corpus is open, a pattern is set, and weights can be chosen."""
        return corpus.sources == self._sources and config.pattern != "none" and has_mixture(corpus.sources)

    def put(self, corpus: Corpus, config: TrainingConfig, counted: CountedText) -> None:
        """Keeps a count."""
        if self.wants(corpus, config):
            self._kept = KeptCount(corpus, _settings(config), counted)
            # The sources may have changed meanwhile.
            self.use(self._sources)

    def find(self, sources: tuple[Source, ...], config: TrainingConfig) -> KeptCount | None:
        """The count of these sources with these settings; None if there is none."""
        kept = self._kept
        fits = kept is not None and kept.corpus.sources == sources and kept.settings == _settings(config)
        return kept if fits else None


def _settings(config: TrainingConfig) -> tuple[object, ...]:
    """The settings that a count depends on."""
    return config.pattern, config.all_specials, config.base, config.held_out
