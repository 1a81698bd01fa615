"""The settings of the next training as entered, valid or not, and the error of each field.

`TrainingConfig` of the core decides what is valid.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from functools import cached_property
from typing import Any, cast

from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.records import dataclass
from tokstudio.core.library_training.config import COVERAGE, LibraryConfig
from tokstudio.core.model.algorithms import (
    ALGORITHMS,
    ALPHA,
    MAX_WORDS,
    THRESHOLD,
    AlgorithmName,
    PlainBPE,
    TieBreak,
    algorithm_of,
)
from tokstudio.core.model.config import TrainingConfig, token_rule
from tokstudio.core.model.settings import (
    LIBRARY_ALGORITHMS,
    SETTINGS,
    Base,
    Documents,
    LibraryAlgorithm,
    SpecialPlacement,
)

_FIRST_STAGE = 0.75  # of the vocabulary, for a transition that is not chosen yet
USUAL_PATTERN = "gpt2"  # what is proposed where a text is not split
WHY_SPLIT = "Most tokenizers first split it into pre-tokens, mostly words, so that a token serves in every sentence."


@dataclass(frozen=True)
class Settings:
    """The settings of the next training; None for a limit that is off."""

    vocabulary_size: int | None = 1000
    min_frequency: int | None = None
    pattern: str = "none"
    base: Base = "bytes"
    base_vocabulary: tuple[str, ...] | None = None  # a custom list; kept, but unused, while the base units are bytes
    unknown_token: str | None = None  # likewise
    special_tokens: tuple[str, ...] = ()
    special_placement: SpecialPlacement = "last"
    tie_break: TieBreak = "first"
    max_token_bytes: int | None = None
    held_out: float = 0.0
    documents: Documents = "file"  # what one document is
    forbidden: tuple[str, ...] = ()  # rules for tokens that are not made
    algorithm: AlgorithmName | LibraryAlgorithm = "bpe"
    # The settings of algorithms are kept, but unused, while another is chosen. They are the last fields.
    parallel: tuple[tuple[str, str], ...] = ()  # by the name of a language
    ratios: tuple[tuple[str, float], ...] = ()  # likewise; unused while there are parallel texts
    global_merges: int | None = None
    window: int | None = None
    alpha: float = ALPHA
    transition: int | None = None
    max_words: int = MAX_WORDS
    threshold: float = THRESHOLD
    character_coverage: float = COVERAGE
    byte_fallback: bool = False

    def config(self) -> TrainingConfig:
        """The configuration; raises ConfigError if they are invalid, or another library trains with them."""
        if isinstance(self._built, LibraryConfig):
            raise ConfigError(f"{self._built.title} is trained by the {self._built.library} library.")
        if isinstance(self._built, ConfigError):
            raise ConfigError(str(self._built))
        return self._built

    @property
    def by_library(self) -> bool:
        """Whether another library trains with them."""
        return self.algorithm in LIBRARY_ALGORITHMS

    def has(self, name: str) -> bool:
        """Whether a setting has an effect: the algorithm has it, and others that it needs are set."""
        setting = SETTINGS[name]
        return self.algorithm in setting.algorithms and (setting.needs is None or setting.needs(self))

    @property
    def library_config(self) -> LibraryConfig | None:
        """The configuration for the library that trains with them; None if there is none, or they are invalid."""
        return self._built if isinstance(self._built, LibraryConfig) else None

    @property
    def problem(self) -> str | None:
        """Why they are invalid, in the core's words; None if they are valid."""
        return str(self._built) if isinstance(self._built, ConfigError) else None

    @property
    def faults(self) -> Mapping[str, str]:
        """The errors of single fields, in the core's words, by name."""
        return self._built.faults if isinstance(self._built, ConfigError) else {}

    def with_algorithm(self, algorithm: str, defaults: Settings) -> Settings:
        """The same for another algorithm, with its usual tie rule unless the user has chosen one."""
        is_usual = self.tie_break == _usual_ties(self.algorithm, defaults)
        ties = _usual_ties(algorithm, defaults) if is_usual else self.tie_break
        transition = self.transition
        is_staged = algorithm in SETTINGS["transition"].algorithms
        if is_staged and transition is None and self.vocabulary_size is not None:
            transition = int(_FIRST_STAGE * self.vocabulary_size)
        return replace(self, algorithm=algorithm, tie_break=ties, transition=transition)

    def with_usual(self, algorithm: str, configured: Settings, defaults: Settings) -> Settings:
        """The same for another algorithm, whose own settings are those of Configure if that has it chosen.

        Otherwise they are the usual ones. Parallel texts are always those of Configure.
        """
        chosen = configured if configured.algorithm == algorithm else Settings()
        own = {name: getattr(chosen, name) for name in _OWN} | {"parallel": configured.parallel}
        changed = replace(self, vocabulary_size=configured.vocabulary_size, **own).with_algorithm(algorithm, defaults)
        return changed.with_size(self.vocabulary_size)

    def with_size(self, size: int | None) -> Settings:
        """The same with another vocabulary size; a transition keeps its share of it."""
        before, transition = self.vocabulary_size, self.transition
        if size is not None and self.has("transition"):
            if transition is None:
                transition = int(_FIRST_STAGE * size)
            elif before:
                transition = transition * size // before
        return replace(self, vocabulary_size=size, transition=transition)

    def to_plain(self) -> dict[str, Any]:
        """All of them by name, for a project."""
        return {field.name: _as_lists(getattr(self, field.name)) for field in fields(self)}

    @classmethod
    def from_plain(cls, read: object) -> Settings:
        """Reads the values of `to_plain`; invalid ones get their defaults."""
        known_values: dict[str, Any] = {}
        values = cast("dict[str, object]", read) if isinstance(read, dict) else {}
        for name in _NAMES:
            if name in values and SETTINGS[name].accepts(values[name]):
                known_values[name] = _as_tuples(values[name])
        return cls(**known_values)

    def to_text(self) -> str:
        """All of them as one text, for the preferences; without parallel texts, which may be as large as a corpus."""
        return json.dumps(self.to_plain() | {"parallel": []})

    @classmethod
    def from_text(cls, text: str) -> Settings:
        """Reads the text of `to_text`; unreadable values get their defaults."""
        try:
            return cls.from_plain(json.loads(text))
        except (ValueError, RecursionError):
            return cls()

    @cached_property
    def _built(self) -> TrainingConfig | LibraryConfig | ConfigError:
        values = {name: getattr(self, name) for name in _NAMES if self.has(name)}
        try:
            if self.by_library:
                return LibraryConfig(**values)
            algorithm = algorithm_of(self.algorithm, {name: value for name, value in values.items() if name in _OWN})
            common = {name: value for name, value in values.items() if name in _COMMON}
            return TrainingConfig(**common, algorithm=algorithm)
        except ConfigError as error:
            return error.with_traceback(None)


def _usual_ties(algorithm: str, defaults: Settings) -> TieBreak:
    """The tie rule of an algorithm that has its own and others; of the rest, that of the defaults."""
    kind = ALGORITHMS.get(algorithm, PlainBPE)
    return defaults.tie_break if kind is PlainBPE or len(kind.ties) == 1 else kind.usual_ties


_NAMES = [field.name for field in fields(Settings)]
_OWN = [name for name in _NAMES if SETTINGS[name].place == "own"]
_COMMON = {field.name for field in fields(TrainingConfig)} - {"algorithm"}


def exact_rules(tokens: Iterable[bytes]) -> tuple[str, ...]:
    """Rules that forbid exactly these tokens, each on one line and without white space at its ends."""
    rules = ((token, token_rule(token)) for token in tokens)
    return tuple(f"bytes:{token.hex()}" if rule != " ".join(rule.split()) else rule for token, rule in rules)


def _as_lists(value: Any) -> Any:  # noqa: ANN401  any value of a setting
    return [_as_lists(entry) for entry in value] if isinstance(value, tuple) else value


def _as_tuples(value: Any) -> Any:  # noqa: ANN401
    return tuple(_as_tuples(entry) for entry in value) if isinstance(value, (list, tuple)) else value
