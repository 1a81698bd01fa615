"""The settings of the next training as entered, valid or not, and the error of each field.

`TrainingConfig` of the core decides what is valid.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from types import NoneType
from typing import Any, Literal, cast, get_args

from tokstudio.core.base.errors import ConfigError
from tokstudio.core.library_training.config import (
    COVERAGE,
    LIBRARY_ALGORITHMS,
    LibraryAlgorithm,
    LibraryConfig,
)
from tokstudio.core.model.algorithms import (
    ALGORITHMS,
    ALPHA,
    MAX_WORDS,
    THRESHOLD,
    AlgorithmName,
    PlainBPE,
    SuperBPE,
    TieBreak,
    algorithm_of,
)
from tokstudio.core.model.alphabet import Base
from tokstudio.core.model.config import NAMED_RULES, SpecialPlacement, TrainingConfig, token_rule

Documents = Literal["file", "line"]

_LARGEST_NUMBER = 1 << 31  # the largest number of a field
_FIRST_STAGE = 0.75  # of the vocabulary, for SuperBPE

_RULES = {
    "mixed-scripts": "With letters of several scripts",
    "split-characters": "With a part of a character and more",
    "letters-with-digits": "With letters and digits",
}
#: The rules that have a check box, with what it says.
RULES: Mapping[str, str] = {rule: _RULES[rule] for rule in NAMED_RULES}
RULES_HELP = r"One rule per line: an expression such as \d\d\d\d, or token: and the token itself."

#: The name of each tie rule to choose from, and what it does. Picky BPE has one of its own.
TIE_RULES: Mapping[TieBreak, tuple[str, str]] = {
    "first": ("First", "With equal counts, the pair that occurs first."),
    "lowest-id": ("Lowest id", "With equal counts, the lower ids, as in rustbpe."),
    "huggingface": ("Hugging Face", "With equal counts, as in the tokenizers library."),
    "bytes": ("Bytes", "With equal counts, the pair that sorts last."),
    "mapped-strings": ("Mapped strings", "With equal counts, as in parity-aware BPE of tokenizers."),
}


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
        """Whether the algorithm has a setting; ours have all but those of others, some no choice of ties."""
        if name == "tie_break" and not self.by_library and len(ALGORITHMS[self.algorithm].ties) == 1:
            return False
        return not self.by_library or name in self._of_library()

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

    def with_algorithm(self, algorithm: AlgorithmName | LibraryAlgorithm, defaults: Settings) -> Settings:
        """The same for another algorithm, with its usual tie rule unless the user has chosen one."""
        is_usual = self.tie_break == _usual_ties(self.algorithm, defaults)
        ties = _usual_ties(algorithm, defaults) if is_usual else self.tie_break
        transition = self.transition
        if algorithm == SuperBPE.name and transition is None and self.vocabulary_size is not None:
            transition = int(_FIRST_STAGE * self.vocabulary_size)
        return replace(self, algorithm=algorithm, tie_break=ties, transition=transition)

    def with_usual(
        self, algorithm: AlgorithmName | LibraryAlgorithm, configured: Settings, defaults: Settings
    ) -> Settings:
        """The same for another algorithm, whose own settings are those of Configure if that has it chosen.

        Otherwise they are the usual ones. Parallel texts are always those of Configure.
        """
        chosen = configured if configured.algorithm == algorithm else Settings()
        own = {name: getattr(chosen, name) for name in _OWN} | {"parallel": configured.parallel}
        made = replace(self, vocabulary_size=configured.vocabulary_size, **own).with_algorithm(algorithm, defaults)
        return made.with_size(self.vocabulary_size)

    def with_size(self, size: int | None) -> Settings:
        """The same with another vocabulary size; the transition of SuperBPE keeps its share of it."""
        before, transition = self.vocabulary_size, self.transition
        if size is not None and self.algorithm == SuperBPE.name:
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
        known: dict[str, Any] = {}
        for name, accepts in _READABLE.items():
            if isinstance(read, dict) and name in read and accepts(value := cast("dict[str, object]", read)[name]):
                known[name] = _as_tuples(value)
        return cls(**known)

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
        names = ("vocabulary_size", "min_frequency", "pattern", "max_token_bytes", "tie_break", "forbidden", "held_out")
        given: dict[str, Any] = {name: getattr(self, name) for name in names if self.has(name)}
        try:
            if self.by_library:
                return LibraryConfig(**self._of_library())
            return TrainingConfig(**given, **self._tokens(), algorithm=algorithm_of(self.algorithm, self._own()))
        except ConfigError as error:
            return error.with_traceback(None)

    def _tokens(self) -> dict[str, Any]:
        """The base and special tokens; a list for characters is omitted where there are none."""
        in_characters = self.base == "characters"
        return {
            "base": self.base,
            "base_vocabulary": self.base_vocabulary if in_characters else None,
            "unknown_token": self.unknown_token if in_characters else None,
            "special_tokens": self.special_tokens,
            "special_placement": self.special_placement,
        }

    def _own(self) -> dict[str, Any]:
        """The settings that only the algorithm has; those that have no effect are omitted."""
        unused = {"ratios"} if self.parallel else set[str]()
        if self.window is None:
            unused.add("alpha")
        names = {field.name for field in fields(ALGORITHMS[self.algorithm])}
        return {name: getattr(self, name) for name in _NAMES if name in names - unused}

    def _of_library(self) -> dict[str, Any]:
        """The settings of another library's algorithm; those that it has not are ignored."""
        made: dict[str, Any] = {
            "algorithm": self.algorithm,
            "vocabulary_size": self.vocabulary_size,
            "special_tokens": self.special_tokens,
            "held_out": self.held_out,
        }
        if self.algorithm == "wordpiece":
            return made | {"min_frequency": self.min_frequency}
        if self.algorithm == "unigram":
            return made
        return made | {"character_coverage": self.character_coverage, "byte_fallback": self.byte_fallback}


def _usual_ties(algorithm: AlgorithmName | LibraryAlgorithm, defaults: Settings) -> TieBreak:
    """The tie rule of an algorithm that has its own and others; of the rest, that of the defaults."""
    kind = ALGORITHMS.get(algorithm, PlainBPE)
    return defaults.tie_break if kind is PlainBPE or len(kind.ties) == 1 else kind.usual_ties


_NAMES = [field.name for field in fields(Settings)]
_OWN = _NAMES[_NAMES.index("algorithm") + 1 :]  # of single algorithms


def exact_rules(tokens: Iterable[bytes]) -> tuple[str, ...]:
    """Rules that forbid exactly these tokens, each on one line and without white space at its ends."""
    rules = ((token, token_rule(token)) for token in tokens)
    return tuple(f"bytes:{token.hex()}" if rule != " ".join(rule.split()) else rule for token, rule in rules)


def _whole_or_none(value: object) -> bool:
    return value is None or (type(value) is int and abs(value) < _LARGEST_NUMBER)


def _as_lists(value: Any) -> Any:  # noqa: ANN401  any value of a setting
    return [_as_lists(entry) for entry in value] if isinstance(value, tuple) else value


def _as_tuples(value: Any) -> Any:  # noqa: ANN401
    return tuple(_as_tuples(entry) for entry in value) if isinstance(value, (list, tuple)) else value


def _number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < _LARGEST_NUMBER


def _by_name(accepts: Callable[[object], bool]) -> Callable[[object], bool]:
    """Whether a value is pairs of a name and a value that is accepted."""

    def check(value: object) -> bool:
        pairs = cast("Sequence[object]", value) if isinstance(value, (list, tuple)) else [None]
        return all(
            isinstance(pair, (list, tuple)) and len(pair) == 2 and isinstance(pair[0], str) and accepts(pair[1])
            for pair in cast("Sequence[Sequence[object]]", pairs)
        )

    return check


def _texts(value: object) -> bool:
    return isinstance(value, (list, tuple)) and all(isinstance(entry, str) for entry in value)


def _one_of(literal: Any) -> Callable[[object], bool]:  # noqa: ANN401  the type of a Literal has no name
    return lambda value: isinstance(value, str) and value in get_args(literal)


_READABLE: Mapping[str, Callable[[object], bool]] = {
    "vocabulary_size": _whole_or_none,
    "min_frequency": _whole_or_none,
    "pattern": lambda value: isinstance(value, str),
    "base": _one_of(Base),
    "base_vocabulary": lambda value: value is None or _texts(value),
    "unknown_token": lambda value: isinstance(value, (str, NoneType)),
    "special_tokens": _texts,
    "special_placement": _one_of(SpecialPlacement),
    "tie_break": lambda value: isinstance(value, str) and value in TIE_RULES,
    "max_token_bytes": _whole_or_none,
    "held_out": lambda value: isinstance(value, (int, float)) and 0 <= value < 1,
    "documents": _one_of(Documents),
    "forbidden": _texts,
    "algorithm": lambda value: value in (*ALGORITHMS, *LIBRARY_ALGORITHMS),
    "parallel": _by_name(lambda value: isinstance(value, str)),
    "ratios": _by_name(_number),
    "global_merges": lambda value: value != 0 and _whole_or_none(value),  # a configuration has 0 for none
    "window": _whole_or_none,
    "alpha": _number,
    "transition": _whole_or_none,
    "max_words": lambda value: value is not None and _whole_or_none(value),
    "threshold": _number,
    "character_coverage": _number,
    "byte_fallback": lambda value: isinstance(value, bool),
}
