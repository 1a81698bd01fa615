"""The algorithms that choose the merges of a training: small values, each with its own settings and their checks.

`TrainingConfig.algorithm` holds one; what all of them share is in the configuration. How each trains is in its
room of `core/algorithms`.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from functools import partial
from math import isfinite
from numbers import Integral, Real
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Generic, Literal, Protocol, TypeAlias, TypeVar, cast, get_args

from tokstudio.core.base.atomic_files import file_name
from tokstudio.core.base.errors import ConfigError, CorpusError, Faults
from tokstudio.core.base.progress import finish
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import several, shown, value_text
from tokstudio.core.model.columns import (
    CHOSEN_BY,
    OVERTAKEN,
    REMOVALS,
    SECOND_COUNTS,
    SHOWN_OF_PARITY,
    SHOWN_OF_REMOVALS,
    SHOWN_OF_STAGES,
    SHOWN_OF_SUPERMERGES,
    LogColumn,
    MergeColumn,
)
from tokstudio.core.text.utf8 import to_utf8

AlgorithmName = Literal["bpe", "parity", "superbpe", "whole-characters", "boundless", "picky"]
TieBreak = Literal["first", "lowest-id", "huggingface", "bytes", "mapped-strings", "smallest-bytes"]
#: The rules to choose from; "smallest-bytes" is the one rule of Picky BPE, and of no other algorithm.
TIE_BREAKS: tuple[TieBreak, ...] = get_args(TieBreak)[:-1]

LARGEST_VOCABULARY = 2**31 - 1
_LARGEST_NUMBER = 2**62

# --- Fields of values that never change -------------------------------------------------------------------------------

Given = TypeVar("Given")
Kept = TypeVar("Kept")


class Converted(Generic[Given, Kept]):
    """A field of a frozen dataclass that keeps what `convert` makes of the value it is given, also of its default.

    Such descriptors are part of Python's `dataclasses` ("Descriptor-typed fields").
    """

    def __init__(self, convert: Callable[[Given], Kept], default: Given) -> None:
        self._convert, self._default = convert, default

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type | None = None) -> Kept:
        # `dataclasses` asks the class for the default.
        return cast("Kept", self._default) if instance is None else vars(instance)[self._name]

    def __set__(self, instance: object, value: Given) -> None:
        faults = Faults()
        with faults.of(self._name):
            vars(instance)[self._name] = self._convert(value)
        faults.refuse()


def whole_number(name: str, value: object, largest: int = _LARGEST_NUMBER) -> int | None:
    """A whole number of any type as an int, or None; ConfigError, which names it, where it is neither or too large."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise ConfigError(f"{name} must be a whole number, not {value!r}.")
    number = int(value)
    if number > largest:
        raise ConfigError(f"{name} must be at most {largest:,}.")
    return number


# --- The algorithms ---------------------------------------------------------------------------------------------------


class _Others(Protocol):
    """The part of a `TrainingConfig` that an algorithm may restrict."""

    @property
    def base(self) -> str: ...
    @property
    def pattern(self) -> str: ...
    @property
    def vocabulary_size(self) -> int | None: ...


@dataclass(frozen=True, kw_only=True)
class Algorithm:
    """How a training chooses its merges: the base of the algorithms in `ALGORITHMS`."""

    name: ClassVar[AlgorithmName]  # its name in projects, on the command line and in JSON
    title: ClassVar[str]  # its name at the beginning of a sentence
    label: ClassVar[str]  # its name in a list of algorithms
    purpose: ClassVar[str]  # what it is for, and whose it is, in one sentence
    option: ClassVar[str] = ""  # what the help of the command line says after its name
    ties: ClassVar[tuple[TieBreak, ...]] = TIE_BREAKS  # the tie rules that it can follow
    usual_ties: ClassVar[TieBreak] = "first"  # the one that it follows unless another is chosen
    columns: ClassVar[tuple[MergeColumn, ...]] = ()  # what its runs keep of each merge beside the pair and the counts
    shown: ClassVar[tuple[LogColumn, ...]] = ()  # what the merge log has of these
    needs_text: ClassVar[str] = ""  # what it does with text, where word counts alone are not enough
    # Whether its tokens join adjacent words, and come only after a phase that makes words.
    joins_words: ClassVar[bool] = False
    # Whether a merge may remove tokens, so that there may be more merges than tokens.
    removes_tokens: ClassVar[bool] = False
    # Whether a merge joins whole characters or parts of one, which the units of the corpus say.
    keeps_characters: ClassVar[bool] = False
    is_changeable: ClassVar[bool] = True  # whether a tokenizer made by it can be pruned, joined, or trained further

    def __init_subclass__(cls) -> None:
        if "label" not in vars(cls):
            cls.label = cls.title

    def problems(self, config: _Others, least: int | None) -> Iterator[ConfigError]:
        """Why it cannot work with the rest of a configuration.

        `least` is the number of tokens without a merge; None where it depends on the corpus.
        """
        yield from ()

    @property
    def is_plain(self) -> bool:
        """Whether it is plain BPE."""
        return type(self) is PlainBPE

    @property
    def stage_pattern(self) -> str:
        """How its second stage splits text; "" where it has only one."""
        return ""

    def first_merges(self, before: int) -> int | None:
        """How many merges after so many tokens are those of the first of two stages; None where there is only one."""
        return None

    def is_vetoed(self, token: bytes) -> bool:
        """Whether its second stage does not make a token."""
        return False

    def never_rising(self, merges: int) -> int:
        """How many of the first so many merges have counts of which none is higher than the one before."""
        return merges

    def texts(self) -> tuple[tuple[str, str], ...]:
        """The texts that decide beside the corpus, by name."""
        return ()

    def own(self) -> dict[str, object]:
        """Its own settings by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def described(self) -> str:
        """Its title with its own settings, in a few words."""
        return self.title


@dataclass(frozen=True, kw_only=True)
class PlainBPE(Algorithm):
    """Byte pair encoding: every merge joins the most frequent pair (Sennrich et al., arXiv 1508.07909)."""

    name = "bpe"
    title = "Plain BPE"
    purpose = "The most frequent pair first (Sennrich et al., 2016)."


# Parity-aware BPE

#: A text, or the file with it.
ParallelText: TypeAlias = "str | PathLike[str]"
_T = TypeVar("_T")
ByName: TypeAlias = Mapping[str, _T] | Sequence[tuple[str, _T]]
WINDOW, ALPHA = 100, 2.0  # of the paper


def parallel_texts(texts: object) -> tuple[tuple[str, str], ...]:
    """The name of each language with its parallel text, from texts and files.

    Raises:
        ConfigError: A name or a text is not a string, or a name occurs twice.
        CorpusError: A file cannot be read.
    """
    return tuple((name, _text(name, value)) for name, value in _by_name("Parallel texts", texts))


def _ratios(pairs: object) -> tuple[tuple[str, float], ...]:
    return tuple((name, _positive(f"The ratio of {shown(name)}", ratio)) for name, ratio in _by_name("Ratios", pairs))


def _positive(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not (isfinite(value) and value > 0):
        raise ConfigError(f"{name} must be a number above 0, not {value_text(value)}.")
    return float(value)


def _by_name(what: str, values: object) -> list[tuple[str, object]]:
    pairs: object = cast("Mapping[object, object]", values).items() if isinstance(values, Mapping) else values
    named: list[tuple[str, object]] = []
    if isinstance(pairs, (str, bytes)) or not isinstance(pairs, Iterable):
        raise ConfigError(f"{what} must be given by name, not as {reprlib.repr(pairs)}.")
    for pair in cast("Iterable[object]", pairs):
        both = cast("Sequence[object]", pair) if isinstance(pair, (tuple, list)) else ()
        name, value = both if len(both) == 2 else ("", None)
        if not isinstance(name, str) or not name:
            raise ConfigError(f"{what} must have the name of a language each, not {reprlib.repr(both)}.")
        named.append((to_utf8(name).decode(), value))
    for number, (name, _) in enumerate(named):
        if name in (before for before, _ in named[:number]):
            raise ConfigError(f"{what} must not contain {shown(name)} twice.")
    return named


def _text(name: str, content: object) -> str:
    if isinstance(content, str):
        raw = to_utf8(content)
        # Valid text, which may be long, is not copied: a window checks it after every key.
        return content if raw == content.encode("utf-8", "replace") else raw.decode()
    if not isinstance(content, PathLike):
        raise ConfigError(
            f"The parallel text of {shown(name)} must be a string or a path, not {reprlib.repr(content)}."
        )
    from tokstudio.core.corpus.open_sources import read_source

    path = Path(cast("PathLike[str]", content))
    if path.is_dir():
        raise CorpusError(
            f"{file_name(path)}: this is a folder; the parallel text of {shown(name)} is one file, with the same lines "
            "as those of the other languages."
        )
    source = finish(read_source(path))
    return bytes(source.data).decode("utf-8", "replace")


def _at_least(least: int, name: str, value: object) -> int | None:
    number = whole_number(name, value)
    if number is not None and number < least:
        raise ConfigError(f"{name} must be at least {least}, not {number:,}.")
    return number


@dataclass(frozen=True, kw_only=True)
class ParityAware(Algorithm):
    """Parity-aware BPE (Foroutan et al., arXiv 2508.04796): languages choose the merges by turns.

    At every merge one language chooses, and the most frequent pair of its text is merged everywhere. Each entry of the
    corpus is a language.

    Attributes:
        parallel: The same text in every language, by the name of its entry, with or without its ending. A string is
            the text, a `Path` a file, which is read now. The language whose text is longest in tokens chooses; an
            entry without one, such as code, is counted and never chooses. Without any, the one with the fewest bytes
            per token in the corpus, divided by its ratio, chooses. Kept as pairs of name and text.
        ratios: Without parallel texts: a positive number for languages by name; 1 for others. Kept as pairs.
        global_merges: So many first merges are chosen by all languages together, as in plain BPE.
        window: A language that made more than `alpha` / languages of the last so many choices is passed over. None for
            no such rule.
        alpha: See `window`.
    """

    name = "parity"
    title = "Parity-aware BPE"
    purpose = "Languages choose by turns, to cost about the same (Foroutan et al., 2025)."
    option = (
        " for parity-aware BPE: each text is a language, and at every merge the language that is longest in tokens "
        "chooses"
    )
    usual_ties = "mapped-strings"
    columns = (CHOSEN_BY,)
    shown = SHOWN_OF_PARITY

    parallel: Converted[ByName[ParallelText], tuple[tuple[str, str], ...]] = Converted(parallel_texts, ())
    ratios: Converted[ByName[float], tuple[tuple[str, float], ...]] = Converted(_ratios, ())
    global_merges: Converted[int | None, int] = Converted(lambda value: _at_least(0, "Global merges", value) or 0, 0)
    window: Converted[int | None, int | None] = Converted(partial(_at_least, 1, "The window"), None)
    alpha: Converted[float, float] = Converted(partial(_positive, "Alpha"), ALPHA)

    def __post_init__(self) -> None:
        if self.parallel and self.ratios:
            raise ConfigError("Ratios are for training without parallel texts: give one of the two.")
        if self.window is None and self.alpha != ALPHA:
            raise ConfigError("Alpha needs a window.")

    def never_rising(self, merges: int) -> int:
        """A language whose turn it is chooses by its own counts; what all choose together comes first."""
        return self.global_merges

    def texts(self) -> tuple[tuple[str, str], ...]:
        """The parallel texts."""
        return self.parallel

    def described(self) -> str:
        """Its title with what decides whose turn it is."""
        parts = [self.title, "parallel texts" if self.parallel else "bytes per token"]
        parts += [f"ratio {ratio:g} of {name}" for name, ratio in self.ratios]
        if self.global_merges:
            parts.append(several(self.global_merges, "global merge"))
        if self.window is not None:
            parts.append(f"window {self.window:,} with alpha {self.alpha:g}")
        return ", ".join(parts)


# SuperBPE

MAX_WORDS = 4  # of the paper
#: How stage 2 splits text unless another pattern is given: numbers, marks and spaces before spaces stay apart.
SECOND_PATTERN = r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]{2,}[\r\n/]*| +(?!\S)"


def _transition(value: object) -> int:
    transition = whole_number("The transition", value, LARGEST_VOCABULARY)
    if transition is None:
        raise ConfigError("SuperBPE needs a transition: the vocabulary size at which its second stage begins.")
    return transition


def _second_pattern(value: object) -> str:
    from tokstudio.core.pretokenization.patterns import covering  # which loads NumPy

    if not isinstance(value, str):
        raise ConfigError(f"The second pattern must be a string, not {reprlib.repr(value)}.")
    pattern = value or SECOND_PATTERN
    try:
        covering(pattern)
    except ConfigError as error:
        raise ConfigError(f"The second pattern cannot be used. {error}") from None
    return pattern


@dataclass(frozen=True, kw_only=True)
class SuperBPE(Algorithm):
    """SuperBPE (Liu et al., arXiv 2503.13423): a second stage of BPE that merges across words.

    Stage 1 is BPE with the pattern of the configuration up to the transition. Stage 2 splits the text by
    `second_pattern`, makes all merges of stage 1 in it, and goes on.

    Attributes:
        transition: The vocabulary size, base and special tokens included, at which stage 2 begins.
        second_pattern: How stage 2, and the tokenizer, split text: a name of `patterns.NAMES`, or a regular expression.
            What lies between two matches is a pre-token too. "" for that of the paper.
        max_words: Stage 2 makes no token with more words, which are separated by spaces; nor one with a colon before a
            space.
    """

    name = "superbpe"
    title = "SuperBPE"
    purpose = "Words first, then tokens across words (Liu et al., 2025)."
    option = " for SuperBPE: BPE with --pattern to --transition, then across words"
    columns = (SECOND_COUNTS,)
    shown = SHOWN_OF_STAGES
    needs_text = "splits text in two ways"

    transition: Converted[int | None, int] = Converted(_transition, None)
    second_pattern: Converted[str, str] = Converted(_second_pattern, "")
    max_words: Converted[int | None, int] = Converted(
        lambda value: _at_least(1, "The most words of a token", 0 if value is None else value) or 0, MAX_WORDS
    )

    def problems(self, config: _Others, least: int | None) -> Iterator[ConfigError]:
        """Why it cannot work: it needs bytes, a pattern, and room for both stages."""
        if config.base != "bytes":
            yield ConfigError("SuperBPE needs bytes as base tokens.", field="algorithm")
        if config.pattern == "none":
            message = "SuperBPE needs a pattern for its first stage: choose one, such as gpt2."
            yield ConfigError(message, field="pattern")
        if config.base != "bytes" or least is None:
            return
        size = config.vocabulary_size
        if self.transition < least:
            yield ConfigError(
                f"The transition must be at least {least:,}, not {self.transition:,}: there are that many tokens "
                "before the first merge.",
                field="transition",
            )
        elif size is not None and self.transition >= size:
            yield ConfigError(
                f"The transition must be below the vocabulary size, {size:,}, not {self.transition:,}: the second "
                "stage makes the tokens above it.",
                field="transition",
            )

    def described(self) -> str:
        """Its title with its stages."""
        words = several(self.max_words, "word")
        return f"{self.title}, second stage from {self.transition:,} tokens on, at most {words}"

    @property
    def stage_pattern(self) -> str:
        """How stage 2 splits text."""
        return self.second_pattern

    def first_merges(self, before: int) -> int:
        """Those up to the transition."""
        return self.transition - before

    def is_vetoed(self, token: bytes) -> bool:
        """Whether stage 2 does not make a token: it has more words between its spaces, or a colon before a space."""
        return b": " in token or sum(map(bool, token.split(b" "))) > self.max_words


@dataclass(frozen=True, kw_only=True)
class WholeCharacters(Algorithm):
    """BPE of whole characters (Land and Arnett, arXiv 2505.24689).

    A merge joins whole characters, or parts of one character; so no token has a part of a character beside anything
    else.
    """

    name = "whole-characters"
    title = "BPE of whole characters"
    label = "Whole characters"
    purpose = "A token is whole characters, or a part of one (Land and Arnett, 2025)."
    option = ": no token has a part of a character beside anything else"
    keeps_characters = True

    def problems(self, config: _Others, least: int | None) -> Iterator[ConfigError]:
        """Why it cannot work: with characters as base tokens."""
        if config.base != "bytes":
            yield ConfigError("Characters as base tokens are whole already: choose plain BPE.", field="algorithm")


@dataclass(frozen=True, kw_only=True)
class Boundless(Algorithm):
    """BoundlessBPE (Schmidt et al., arXiv 2504.00178) in two phases (arXiv 2604.05192): supermerges join words.

    Phase 1 is BPE with the pattern of the configuration. Then supermerges join adjacent pre-tokens that are one token
    each and hold a letter. The merges of phase 1 are made in order; before each come the supermerges with a higher
    count, up to the vocabulary size.
    """

    name = "boundless"
    title = "BoundlessBPE"
    purpose = "Words, and frequent words together (Schmidt et al., 2025)."
    option = " for BoundlessBPE: BPE with --pattern, and supermerges of adjacent words where these are more frequent"
    columns = (OVERTAKEN,)
    shown = SHOWN_OF_SUPERMERGES
    joins_words = True
    needs_text = "joins adjacent words"
    is_changeable = False

    def problems(self, config: _Others, least: int | None) -> Iterator[ConfigError]:
        """Why it cannot work: without a pattern that makes words."""
        if config.pattern == "none":
            message = "BoundlessBPE needs a pattern, because its supermerges join words: choose one, such as gpt2."
            yield ConfigError(message, field="pattern")

    def described(self) -> str:
        """Its title, and that it has phases."""
        return f"{self.title}, in two phases"


# Picky BPE

THRESHOLD = 0.9  # of the paper


def _threshold(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= float(value) <= 1:
        raise ConfigError(f"The threshold must be a number from 0 to 1, not {value!r}.")
    return float(value)


@dataclass(frozen=True, kw_only=True)
class Picky(Algorithm):
    """Picky BPE (Chizhov et al., arXiv 2409.04599): removes tokens that are hardly used apart from a merge.

    After a merge of m places, a part of it that is no base token and has u uses left is removed where m / (u + m) is
    above the threshold. Its places fall into the nearest parts that are present, and a later merge may make it again.
    The vocabulary size counts the tokens that are present. Its one tie rule takes the pair with the smallest left
    bytes, then the smallest right bytes, compared one by one.

    Attributes:
        threshold: From 0, where every part of a merge but base tokens is removed, to 1, where nothing ever is;
            compared as 64-bit floats.
    """

    name = "picky"
    title = "Picky BPE"
    purpose = "Removes tokens that only led to longer ones (Chizhov et al., 2024)."
    option = " for Picky BPE: it removes tokens that are hardly used apart from a merge"
    columns = (REMOVALS,)
    shown = SHOWN_OF_REMOVALS
    removes_tokens = True
    is_changeable = False
    ties = ("smallest-bytes",)
    usual_ties = "smallest-bytes"

    threshold: Converted[float, float] = Converted(_threshold, THRESHOLD)

    def never_rising(self, merges: int) -> int:
        """None: a removal brings pairs back."""
        return 0

    def described(self) -> str:
        """Its title with the threshold."""
        return f"{self.title} with threshold {self.threshold:g}"


# --- Algorithms by name -----------------------------------------------------------------------------------------------

_ALGORITHMS: dict[str, type[Algorithm]] = {}
_OWN_SETTINGS: dict[str, object] = {}
#: All algorithms by name, in the order in which they are offered.
ALGORITHMS: Mapping[str, type[Algorithm]] = MappingProxyType(_ALGORITHMS)
#: The settings of all algorithms by name, with their defaults as they are given.
OWN_SETTINGS: Mapping[str, object] = MappingProxyType(_OWN_SETTINGS)


def add_algorithm(kind: type[Algorithm]) -> None:
    """Adds an algorithm to the lists; `core.algorithms.register` says how it trains."""
    _ALGORITHMS[kind.name] = kind
    _OWN_SETTINGS.update((field.name, field.default) for field in fields(kind))


for _kind in (PlainBPE, ParityAware, SuperBPE, WholeCharacters, Boundless, Picky):
    add_algorithm(_kind)
#: What projects and recordings may have of any algorithm: see `core/project/schema.py`.
COLUMNS: tuple[MergeColumn, ...] = tuple(column for each in ALGORITHMS.values() for column in each.columns)


def algorithm_of(name: object, settings: Mapping[str, Any] = MappingProxyType({})) -> Algorithm:
    """The algorithm of a name, with settings by name; those of other algorithms may be there with their defaults.

    Raises:
        ConfigError: The name is unknown, a setting is invalid, or one of another algorithm is set.
        CorpusError: A file with a parallel text cannot be read.
    """
    kind = ALGORITHMS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise ConfigError(f'Algorithm "{name}" is unknown. Choose one of: {", ".join(ALGORITHMS)}.')
    own = [field.name for field in fields(kind)]
    for other in ALGORITHMS.values():
        for field in fields(other):
            if field.name not in own and settings.get(field.name, field.default) not in (field.default, []):
                raise ConfigError(
                    f'"{field.name}" can only be set for {other.title}: choose the algorithm "{other.name}".'
                )
    return kind(**{name: value for name, value in settings.items() if name in own})
