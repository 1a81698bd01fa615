"""The configuration of a training by another library, with its checks."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import reprlib
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Literal, cast

from tokstudio.core.base.errors import ConfigError, Faults
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import shown
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.model.settings import ALGORITHM_TITLES, LIBRARY_ALGORITHMS, LibraryAlgorithm
from tokstudio.core.text.utf8 import to_utf8

#: The largest vocabulary that is read again from any of their files.
LARGEST_VOCABULARY = 1 << 20

_WORDPIECE, _SENTENCEPIECE = ("wordpiece",), ("sentencepiece-bpe", "sentencepiece-unigram")
_PREFIX = "##"
#: The share of characters that get a token in SentencePiece unless another is chosen.
COVERAGE = 0.9995
_UNKNOWN = {"wordpiece": "[UNK]"}
_USUAL_UNKNOWN = "<unk>"


@dataclass(frozen=True, kw_only=True)
class LibraryConfig:
    """The configuration of a training by the library `tokenizers` or `sentencepiece`, which splits text in its own way.

    `tokenizers`: "unigram" (Kudo 2018, arXiv 1804.10959) normalizes text by NMT's rules and NFKC, and joins spaces to
    words as SentencePiece does. "wordpiece" splits text as BERT does (arXiv 1810.04805), cased and with accents.
    `sentencepiece` (Kudo and Richardson 2018, arXiv 1808.06226): "sentencepiece-bpe" and "sentencepiece-unigram", with
    the defaults of its trainer: NMT's rules with NFKC, and the control tokens `<s>` and `</s>` beside the unknown one.

    Attributes:
        algorithm: The name of the algorithm, and with it of the library.
        vocabulary_size: The tokens to make, special tokens included; fewer where the corpus does not have so many.
        special_tokens: Texts with an id of their own, the first ones. SentencePiece takes them out of the text and
            always recognises them; `tokenizers` trains on them as on any text.
        unknown_token: The token for characters that are in no other; None for the usual one, "[UNK]" for WordPiece and
            "<unk>" for others. Its id is 0, unless `tokenizers` finds it among the special tokens.
        min_frequency: For WordPiece: pairs that occur less often are not merged; None for no limit.
        continuing_prefix: For WordPiece: what tokens inside a word begin with; None for "##".
        character_coverage: For SentencePiece: the share of characters, from 0.98 to 1, that get a token; the rarest
            are unknown. None for 0.9995.
        byte_fallback: For SentencePiece: whether 256 tokens stand for the bytes of unknown characters.
        held_out: Share of the corpus, from 0 to below 1, that is kept out of training; the same text as of plain BPE.

    Raises:
        ConfigError: A value is invalid, or the algorithm has no such setting.
    """

    algorithm: LibraryAlgorithm
    vocabulary_size: int
    special_tokens: Sequence[str] = ()
    unknown_token: str | None = None
    min_frequency: int | None = None
    continuing_prefix: str | None = None
    character_coverage: float | None = None
    byte_fallback: bool = False
    held_out: float = 0.0

    def __post_init__(self) -> None:
        if self.algorithm not in LIBRARY_ALGORITHMS:
            raise ConfigError(
                f"Algorithm {shown(str(self.algorithm))} is unknown. Choose one of: {', '.join(LIBRARY_ALGORITHMS)}."
            )
        faults = Faults()
        with faults.of("vocabulary_size"):
            # The same checks as of plain BPE, and plain types.
            plain = self.as_plain
            for name in ("vocabulary_size", "special_tokens", "min_frequency", "held_out"):
                object.__setattr__(self, name, getattr(plain, name))
            if plain.vocabulary_size is None or not 1 <= plain.vocabulary_size <= LARGEST_VOCABULARY:
                raise ConfigError(f"Vocabulary size must be from 1 to {LARGEST_VOCABULARY:,}.")
        for name, check in (
            ("algorithm", self._check_settings),
            ("character_coverage", self._check_coverage),
            ("unknown_token", self._check_unknown),
            ("continuing_prefix", lambda: _check_text("continuing prefix", self.continuing_prefix)),
        ):
            with faults.of(name):
                check()
        faults.refuse()
        least = len({*self.special_tokens, self.unknown, *self._controls})
        if self.vocabulary_size <= least:
            message = f"Vocabulary size must be greater than {least:,}: so many tokens are special ones."
            raise ConfigError(message, field="vocabulary_size")
        if self.library == "sentencepiece":
            for token in (*self.special_tokens, self.unknown):
                if "\0" in token:
                    message = f"{shown(token)}: SentencePiece allows no token with the character U+0000."
                    raise ConfigError(message, field="special_tokens")

    @property
    def title(self) -> str:
        """The name of the algorithm in messages."""
        return ALGORITHM_TITLES[self.algorithm]

    @property
    def library(self) -> Literal["tokenizers", "sentencepiece"]:
        """The library that trains."""
        return "sentencepiece" if self.algorithm in _SENTENCEPIECE else "tokenizers"

    @property
    def _controls(self) -> tuple[str, ...]:
        """The tokens that the library makes without being asked."""
        return ("<s>", "</s>") if self.library == "sentencepiece" else ()

    @property
    def repeatable(self) -> bool:
        """Whether the same corpus gives the same tokenizer each time.

        The trainers of `tokenizers` go through their tables of words in an order that changes from run to run, on
        which ids, the choice between equal counts, and the last digits of scores depend.
        """
        return self.library == "sentencepiece"

    @property
    def unknown(self) -> str:
        """The unknown token."""
        return self.unknown_token or _UNKNOWN.get(self.algorithm, _USUAL_UNKNOWN)

    @cached_property
    def as_plain(self) -> TrainingConfig:
        """The part that plain BPE has too, for the held-out split and for measuring."""
        return TrainingConfig(
            vocabulary_size=self.vocabulary_size,
            min_frequency=self.min_frequency,
            base="characters",
            special_tokens=self.special_tokens,
            held_out=self.held_out,
        )

    def settings(self) -> dict[str, Any]:
        """What the trainer in the library's process needs; see `core.libraries.training`."""
        specials = list(self.special_tokens)
        settings: dict[str, Any] = {
            "algorithm": self.algorithm,
            "vocabulary_size": self.vocabulary_size,
            "special_tokens": specials if self.unknown in specials else [self.unknown, *specials],
            "unknown_token": self.unknown,
        }
        if self.library == "sentencepiece":
            settings["special_tokens"] = [token for token in specials if token != self.unknown]
            coverage = COVERAGE if self.character_coverage is None else self.character_coverage
            return settings | {"character_coverage": coverage, "byte_fallback": self.byte_fallback}
        if self.algorithm == "wordpiece":
            settings["min_frequency"] = self.min_frequency or 0
            settings["continuing_prefix"] = _PREFIX if self.continuing_prefix is None else self.continuing_prefix
        return settings

    def _check_settings(self) -> None:
        """Refuses the settings of other algorithms."""
        fallback = cast("object", self.byte_fallback)
        if not isinstance(fallback, bool):
            raise ConfigError(f"The byte fallback must be true or false, not {reprlib.repr(fallback)}.")
        values = {
            "A minimum frequency": (self.min_frequency is not None, _WORDPIECE),
            "A continuing prefix": (self.continuing_prefix is not None, _WORDPIECE),
            "A character coverage": (self.character_coverage is not None, _SENTENCEPIECE),
            "A byte fallback": (self.byte_fallback, _SENTENCEPIECE),
        }
        for what, (is_set, algorithms) in values.items():
            if is_set and self.algorithm not in algorithms:
                raise ConfigError(f"{what} can only be set for the algorithm {' or '.join(algorithms)}.")

    def _check_coverage(self) -> None:
        coverage: object = self.character_coverage
        is_number = isinstance(coverage, (int, float)) and not isinstance(coverage, bool)
        if coverage is not None and not (is_number and 0.98 <= cast("float", coverage) <= 1):
            wrong = reprlib.repr(coverage)
            raise ConfigError(f"The character coverage must be from 0.98 to 1 (98 % to 100 %), not {wrong}.")

    def _check_unknown(self) -> None:
        _check_text("unknown token", self.unknown_token)
        if self.unknown_token == "":
            raise ConfigError("The unknown token must not be an empty string.")


def _check_text(name: str, value: object) -> None:
    if value is not None and (not isinstance(value, str) or to_utf8(value).decode() != value):
        raise ConfigError(f"The {name} must be a string of valid text, not {reprlib.repr(value)}.")
