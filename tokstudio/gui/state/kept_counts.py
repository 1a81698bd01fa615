"""The counts of the corpus, kept for trainings with other weights or limits."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import dataclass

from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.sampling import in_use
from tokstudio.core.corpus.source import Source
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.training.prepare_corpus import CountedText
from tokstudio.gui.state.mixture import has_mixture


@dataclass(frozen=True, eq=False)
class KeptCount:
    """A corpus that was counted; its weights do not matter, but with a held-out share those of 0."""

    corpus: Corpus
    key: tuple[object, ...]
    counted: CountedText


class KeptCounts:
    """Keeps the newest count of the sources that are open; a worker may store one at any time."""

    def __init__(self) -> None:
        self._sources: tuple[Source, ...] = ()
        self._kept: KeptCount | None = None
        self._shared: tuple[object, ...] | None = None  # the sources and settings of several trainings to come

    def use(self, sources: tuple[Source, ...]) -> None:
        """Sets the sources that are open; the count of others is released."""
        self._sources = sources
        self._release()

    def share(self, corpus: Corpus | None, config: TrainingConfig | None) -> None:
        """Also keeps the count that several trainings need, until the next call; None keeps no other."""
        if corpus is None or config is None or config.pattern == "none":
            self._shared = None
        else:
            self._shared = _key(corpus, config)
        self._release()

    def wants(self, corpus: Corpus, config: TrainingConfig) -> bool:
        """Whether a count would be kept: the corpus is open, a pattern is set, and weights can be chosen.

        The count that several trainings share is kept too.
        """
        if _key(corpus, config) == self._shared:
            return True
        return config.pattern != "none" and self._is_open(corpus)

    def put(self, corpus: Corpus, config: TrainingConfig, counted: CountedText) -> None:
        """Keeps a count."""
        if self.wants(corpus, config):
            self._kept = KeptCount(corpus, _key(corpus, config), counted)
            # The sources may have changed meanwhile.
            self._release()

    def find(self, corpus: Corpus, config: TrainingConfig) -> KeptCount | None:
        """The count of this text with these settings; None if there is none."""
        kept = self._kept
        return kept if kept is not None and kept.key == _key(corpus, config) else None

    def _is_open(self, corpus: Corpus) -> bool:
        return corpus.sources == self._sources and has_mixture(corpus.sources)

    def _release(self) -> None:
        """Drops a count that nothing needs any more."""
        kept = self._kept
        if kept is not None and kept.key != self._shared and not self._is_open(kept.corpus):
            self._kept = None


def _key(corpus: Corpus, config: TrainingConfig) -> tuple[object, ...]:
    """All that a count depends on."""
    divided = in_use(corpus.sources, corpus.weights) if config.held_out else ()
    return corpus.sources, divided, *count_settings(config)


def count_settings(config: TrainingConfig) -> tuple[object, ...]:
    """The settings that a count depends on."""
    return config.pattern, config.all_specials, config.base, config.held_out
