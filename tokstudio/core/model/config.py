"""The configuration of a training, with its checks."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cached_property, lru_cache, partial
from types import MappingProxyType
from typing import cast, get_args
from unicodedata import category

from tokstudio.core.base.errors import ConfigError, Faults
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import several, shown
from tokstudio.core.model.algorithms import (
    ALGORITHMS,
    LARGEST_VOCABULARY,
    OWN_SETTINGS,
    Algorithm,
    AlgorithmName,
    Converted,
    PlainBPE,
    TieBreak,
    algorithm_of,
    whole_number,
)
from tokstudio.core.model.alphabet import BYTES, Alphabet
from tokstudio.core.model.settings import Base, SpecialPlacement
from tokstudio.core.pretokenization.custom_regex import compile_expression
from tokstudio.core.pretokenization.patterns import check_pattern, covering
from tokstudio.core.text.languages import script_of
from tokstudio.core.text.utf8 import is_utf8, to_utf8

# --- Rules for tokens that a training must not make -------------------------------------------------------------------

_EXACT, _IN_HEX = "token:", "bytes:"
_SECONDS_OF_A_MATCH = 1.0

Rule = Callable[[bytes], bool]


def token_rule(token: bytes) -> str:
    """The rule that forbids exactly this token."""
    return _EXACT + token.decode() if is_utf8(token) else _IN_HEX + token.hex()


class Forbidden:
    """Tokens that must not be made: those that any rule describes.

    A rule is a name of `NAMED_RULES`; "token:" and the text of a token, or "bytes:" and its bytes in hexadecimal
    digits; or else a regular expression that matches anywhere in a token. Expressions see a token that is not UTF-8
    with U+FFFD for its invalid bytes.

    Raises:
        ConfigError: An expression does not compile, or digits are not hexadecimal.
    """

    def __init__(self, rules: Sequence[str]) -> None:
        self._tokens = frozenset(_exact(rule) for rule in rules if rule.startswith((_EXACT, _IN_HEX)))
        self._rules = [_rule(rule) for rule in rules if not rule.startswith((_EXACT, _IN_HEX))]

    def __bool__(self) -> bool:
        return bool(self._tokens or self._rules)

    def __contains__(self, token: bytes) -> bool:
        """Whether a token must not be made; ConfigError where an expression takes too long for it."""
        return token in self._tokens or any(rule(token) for rule in self._rules)


def _exact(rule: str) -> bytes:
    if rule.startswith(_EXACT):
        return rule.removeprefix(_EXACT).encode()
    try:
        return bytes.fromhex(rule.removeprefix(_IN_HEX))
    except ValueError:
        raise ConfigError(f"The forbidden token {shown(rule)} is not in hexadecimal digits.") from None


@lru_cache(maxsize=64)
def _rule(rule: str) -> Rule:
    if rule in NAMED_RULES:
        return NAMED_RULES[rule]
    try:
        expression = compile_expression(rule)
    except ConfigError as error:
        raise ConfigError(f"Forbidden tokens: {str(error)[:1].lower()}{str(error)[1:]}") from None

    def matches(token: bytes) -> bool:
        try:
            return expression.search(token.decode("utf-8", "replace"), timeout=_SECONDS_OF_A_MATCH) is not None
        except TimeoutError:
            raise ConfigError(f"The expression {shown(rule)} takes too long to match: write a simpler one.") from None

    return matches


def _mixes_scripts(token: bytes) -> bool:
    return len({script for character in token.decode("utf-8", "ignore") if (script := script_of(character))}) > 1


def _splits_characters(token: bytes) -> bool:
    """Whether it joins part of a character to something else; parts of one character alone are needed to make it."""
    return not is_utf8(token) and any(byte & 0xC0 != 0x80 for byte in token[1:])


def _has_letters_with_digits(token: bytes) -> bool:
    text = token.decode("utf-8", "ignore")
    return any(map(str.isalpha, text)) and any(category(character)[0] == "N" for character in text)


NAMED_RULES: MappingProxyType[str, Rule] = MappingProxyType(
    {
        "mixed-scripts": _mixes_scripts,
        "split-characters": _splits_characters,
        "letters-with-digits": _has_letters_with_digits,
    }
)


BASES: tuple[Base, ...] = get_args(Base)
PLACEMENTS: tuple[SpecialPlacement, ...] = get_args(SpecialPlacement)

_DEFAULT = cast("TieBreak", "")


def _algorithm(algorithm: Algorithm | str) -> Algorithm:
    return algorithm if isinstance(algorithm, Algorithm) else algorithm_of(algorithm)


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """The configuration of a training: at least one of `vocabulary_size` and `min_frequency`; with both, both hold.

    Attributes:
        vocabulary_size: Tokens in all: base tokens, merges and special tokens. Merging stops at that number.
        min_frequency: Merging stops when the best pair's count is below it.
        pattern: How documents are split before merging: "none" (not at all, so that merges may cross spaces), another
            name of `patterns.NAMES`, or a regular expression.
        base: The base tokens: "bytes" or "characters".
        base_vocabulary: For characters, all base tokens in the order of their ids; an entry of several characters is a
            special token with that id. None: the characters of the corpus in the order of first occurrence.
        unknown_token: For characters, the special token that stands for a character outside the base vocabulary.
        special_tokens: Texts that are cut out before counting and have an id of their own.
        special_placement: Whether their ids come "last", after the merges, or "first", before all others.
        tie_break: The choice between several pairs with the highest count: the one that occurs "first", the one with
            the "lowest-id", the choice of the `tokenizers` library ("huggingface"), the greatest by "bytes", or the
            greatest by its strings in GPT-2's alphabet ("mapped-strings"). The default is "first", and for parity-aware
            BPE "mapped-strings". Picky BPE has one rule, "smallest-bytes": the pair with the smallest left bytes, then
            the smallest right bytes, compared one by one.
        max_token_bytes: The longest token to make, in UTF-8 bytes, inclusive.
        held_out: Share of the corpus, from 0 to below 1, that is kept out of training.
        forbidden: Tokens not to make, as rules; see `Forbidden`. A pair that would make one is never merged.
        algorithm: How merges are chosen: a value such as `PlainBPE()` or `Picky(threshold=0.7)`, with the settings that
            only this algorithm has; see `algorithms`. A name such as "picky" stands for its value without settings.

    Raises:
        ConfigError: A value is invalid or cannot work, or neither limit is set.
    """

    vocabulary_size: int | None = None
    min_frequency: int | None = None
    pattern: str = "none"
    base: Base = "bytes"
    base_vocabulary: Sequence[str] | None = None
    unknown_token: str | None = None
    special_tokens: Sequence[str] = ()
    special_placement: SpecialPlacement = "last"
    tie_break: TieBreak = _DEFAULT
    max_token_bytes: int | None = None
    held_out: float = 0.0
    forbidden: Sequence[str] = ()
    algorithm: Converted[Algorithm | AlgorithmName, Algorithm] = Converted(_algorithm, PlainBPE())

    def __post_init__(self) -> None:
        faults = Faults()
        # Converts numbers and sequences of any type to plain ones.
        for name, plain in _PLAIN.items():
            with faults.of(name):
                object.__setattr__(self, name, plain(getattr(self, name)))
        faults.refuse()
        if self.tie_break == _DEFAULT:
            object.__setattr__(self, "tie_break", self.algorithm.usual_ties)
        with faults.of(""):
            if self.vocabulary_size is None and self.min_frequency is None:
                raise ConfigError("Set a vocabulary size, a minimum frequency, or both.")
        with faults.of("min_frequency"):
            _require_two("Minimum frequency must be at least 2.", self.min_frequency)
        with faults.of("max_token_bytes"):
            _require_two("Longest token must be at least 2 bytes.", self.max_token_bytes)
        with faults.of("base"):
            _require_one_of("Base", self.base, BASES)
        with faults.of("tie_break"):
            _check_tie_rule(self.algorithm, self.tie_break)
        with faults.of("special_placement"):
            _require_one_of("Special token placement", self.special_placement, PLACEMENTS)
        with faults.of("vocabulary_size"):
            self._check_tokens()
            if self.base_size is not None:
                self.check_size(self.base_size)
        with faults.of("pattern"):
            check_pattern(self.pattern)
        least = None if self.base_size is None else self.base_size + len(self.trailing_specials)
        for problem in self.algorithm.problems(self, least):
            with faults.of("algorithm"):
                raise problem
        with faults.of("forbidden"):
            Forbidden(self.forbidden)
        faults.refuse()

    def by_name(self) -> dict[str, object]:
        """All settings by name, as in files of every version: those of other algorithms have their defaults."""
        return asdict(self) | {"algorithm": self.algorithm.name} | {**OWN_SETTINGS} | self.algorithm.own()

    def as_plain(self) -> TrainingConfig:
        """The same for plain BPE."""
        ties = self.tie_break if self.tie_break in PlainBPE.ties else PlainBPE.usual_ties
        return replace(self, algorithm=PlainBPE(), tie_break=ties)

    def as_second_stage(self) -> TrainingConfig:
        """Stage 2 of SuperBPE as a plain training."""
        return replace(self.as_plain(), pattern=covering(self.algorithm.stage_pattern))

    def first_merges(self, base_size: int) -> int | None:
        """How many merges after `base_size` ids are those of stage 1 of SuperBPE; None for other algorithms."""
        return self.algorithm.first_merges(base_size + len(self.trailing_specials))

    def patterns_after(self, merges: int, base_size: int) -> tuple[str, tuple[str, int] | None]:
        """The pattern of the tokenizer with so many merges after `base_size` ids, and its `first_stage`."""
        first = self.first_merges(base_size)
        if first is None or merges <= first:
            return self.pattern, None
        return self.as_second_stage().pattern, (self.pattern, first)

    @property
    def leading_specials(self) -> tuple[str, ...]:
        """Special tokens whose ids come before those of the base."""
        return tuple(self.special_tokens) if self.special_placement == "first" else ()

    @property
    def trailing_specials(self) -> tuple[str, ...]:
        """Special tokens whose ids come after those of the merges."""
        return tuple(self.special_tokens) if self.special_placement == "last" else ()

    @cached_property
    def base_specials(self) -> Mapping[str, int]:
        """Special tokens in the base vocabulary, each with its place there."""
        return {entry: at for at, entry in enumerate(self.base_vocabulary or ()) if len(entry) > 1}

    @property
    def all_specials(self) -> tuple[str, ...]:
        """All special tokens."""
        return (*self.base_specials, *self.special_tokens)

    @property
    def base_size(self) -> int | None:
        """Ids before those of the merges; None where they depend on the corpus."""
        if self.base == "bytes":
            return len(self.leading_specials) + BYTES
        return None if self.base_vocabulary is None else len(self.leading_specials) + len(self.base_vocabulary)

    @property
    def alphabet(self) -> Alphabet:
        """The base tokens as far as they are known without the corpus: no characters where they depend on it."""
        first = len(self.leading_specials)
        if self.base == "bytes":
            return Alphabet.of_bytes(first=first)
        entries = [(entry, first + at) for at, entry in enumerate(self.base_vocabulary or ()) if len(entry) == 1]
        return Alphabet.of_characters("".join(entry for entry, _ in entries), [number for _, number in entries])

    def max_merges(self, base_size: int) -> int | None:
        """How many merges the vocabulary size allows after `base_size` ids; None for no limit."""
        if self.vocabulary_size is None:
            return None
        return self.vocabulary_size - base_size - len(self.trailing_specials)

    def check_size(self, base_size: int) -> None:
        """Raises ConfigError where the vocabulary size leaves no room for a merge after `base_size` ids."""
        least = base_size + len(self.trailing_specials)
        if self.vocabulary_size is not None and self.vocabulary_size <= least:
            message = f"Vocabulary size must be greater than {least:,}{self._why(base_size)}."
            met = f"Vocabulary size must be greater than {least:,}, and likely more: each distinct character takes one."
            raise ConfigError(message, None if self.base_size is not None else met)

    def _why(self, base_size: int) -> str:
        specials = len(self.special_tokens)
        if self.base == "bytes":
            parts = [f"{BYTES} bytes"] if specials else []
        elif self.base_vocabulary is None:
            parts = [several(base_size - len(self.leading_specials), "character")]
        else:
            parts = [f"{len(self.base_vocabulary):,} in the base vocabulary"]
        if specials:
            parts.append(several(specials, "special token"))
        return f" ({' and '.join(parts)})" if parts else ""

    def _check_tokens(self) -> None:
        if self.base == "bytes":
            for name, value in (("A base vocabulary", self.base_vocabulary), ("An unknown token", self.unknown_token)):
                if value is not None:
                    raise ConfigError(f"{name} needs base characters: base bytes can encode any text.", field="base")
        if self.base_vocabulary is not None:
            _refuse_repeats("base_vocabulary", "The base vocabulary", self.base_vocabulary)
            if not any(len(entry) == 1 for entry in self.base_vocabulary):
                raise ConfigError("The base vocabulary has no characters.", field="base_vocabulary")
        _refuse_repeats("special_tokens", "Special tokens", self.special_tokens)
        for token in self.special_tokens:
            problem = ""
            if len(token.encode() if self.base == "bytes" else token) == 1:
                problem = "a base token: choose another text"
            elif token in self.base_specials:
                problem = "in the base vocabulary"
            if problem:
                raise ConfigError(f"Special token {shown(token)} is already {problem}.", field="special_tokens")
        if self.unknown_token is not None and self.unknown_token not in self.all_specials:
            message = f"The unknown token {shown(str(self.unknown_token))} must be one of the special tokens."
            raise ConfigError(message, field="unknown_token")


def _share(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1:
        raise ConfigError(f"The held-out share must be at least 0 and less than 1, not {reprlib.repr(value)}.")
    return float(value)


def _texts(name: str, values: object) -> tuple[str, ...]:
    texts: list[str] = []
    if isinstance(values, (str, bytes)):
        raise ConfigError(f"{name} must be a list of strings, not a single string.")
    if not isinstance(values, Iterable):
        raise ConfigError(f"{name} must be a list of strings, not {reprlib.repr(values)}.")
    for text in cast("Iterable[object]", values):
        if not isinstance(text, str):
            raise ConfigError(f"{name} must be strings, not {reprlib.repr(text)}.")
        if not text:
            raise ConfigError(f"{name} must not contain an empty string.")
        texts.append(text)
    # Checked together for speed: a window checks a list of thousands after every key.
    together = "".join(texts)
    return tuple(texts) if to_utf8(together).decode() == together else tuple(to_utf8(text).decode() for text in texts)


def _refuse_repeats(field: str, name: str, texts: Sequence[str]) -> None:
    if len(set(texts)) == len(texts):
        return
    seen: set[str] = set()
    for text in texts:
        if text in seen:
            raise ConfigError(f"{name} must not contain {shown(text)} twice.", field=field)
        seen.add(text)


def _check_tie_rule(algorithm: Algorithm, rule: TieBreak) -> None:
    if rule in algorithm.ties:
        return
    if algorithm.ties == (algorithm.usual_ties,):
        raise ConfigError(f'{algorithm.title} has its own tie rule, "{algorithm.usual_ties}": leave the tie rule out.')
    for other in ALGORITHMS.values():
        if rule in other.ties:
            raise ConfigError(f'The tie rule "{rule}" is only for {other.title}: choose another.')
    _require_one_of("Tie rule", rule, algorithm.ties)


def _pattern(value: object) -> str:
    if not isinstance(value, str):
        raise ConfigError(f"Pattern must be a string, not {reprlib.repr(value)}.")
    return value


def _base_vocabulary(value: object) -> tuple[str, ...] | None:
    return None if value is None else _texts("The base vocabulary", value)


_PLAIN: Mapping[str, Callable[[object], object]] = {
    "vocabulary_size": partial(whole_number, "Vocabulary size", largest=LARGEST_VOCABULARY),
    "min_frequency": partial(whole_number, "Minimum frequency"),
    "max_token_bytes": partial(whole_number, "Longest token"),
    "held_out": _share,
    "special_tokens": partial(_texts, "Special tokens"),
    "forbidden": partial(_texts, "Forbidden tokens"),
    "base_vocabulary": _base_vocabulary,
    "pattern": _pattern,
}


def _require_two(message: str, value: int | None) -> None:
    if value is not None and value < 2:
        raise ConfigError(message)


def _require_one_of(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ConfigError(f'{name} "{value}" is unknown. Choose one of: {", ".join(allowed)}.')
