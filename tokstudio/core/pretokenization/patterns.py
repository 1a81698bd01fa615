"""Splitting of text into pre-tokens: the named patterns, custom regular expressions, and `Splitter` for both.

The named patterns have compiled scanners in `kernels.scan`; `custom_regex` matches the others.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from functools import lru_cache
from time import monotonic
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from tokstudio.core.base.arguments import told
from tokstudio.core.base.arrays import read_only
from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.records import dataclass
from tokstudio.core.pretokenization.custom_regex import (
    AFTER_REST,
    BEFORE_REST,
    CustomRegex,
    Ends,
    compile_expression,
    covered,
)
from tokstudio.core.pretokenization.word_table import MOST_WORDS
from tokstudio.core.text.unicode_classes import classes
from tokstudio.core.text.utf8 import Text, to_utf8

if TYPE_CHECKING:
    from numpy.typing import NDArray

NAMES = ("none", "whitespace", "gpt2", "cl100k", "cl100k_right", "llama3", "qwen2", "o200k")

# The kind of a splitter is the position of its name in `NAMES`, which is also the number of its scanner, or `OWN`.
NONE, OWN = 0, -1
_LOOKED_AT, _MOST_LOOKED_AT = 1 << 16, 1 << 22  # bytes in which a place to cut is looked for
_LONGEST_CHARACTER = 4  # bytes
# Exactly as their owners publish them (tiktoken; Llama 3; Qwen 2); `whitespace` and `cl100k_right` are TokStudio's.
REGEX: Mapping[str, str] = MappingProxyType(
    {
        "whitespace": r"\s*\S+|\s+",
        "gpt2": r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s",
        "cl100k": (
            r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$"
            r"|\s*[\r\n]|\s+(?!\S)|\s"
        ),
        "cl100k_right": (
            r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\d{1,3}(?=(?:\d{3})*(?!\d))|\p{N}{1,3}+"
            r"| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
        ),
        "llama3": (
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
            r"|\s*[\r\n]+|\s+(?!\S)|\s+"
        ),
        "qwen2": (
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
            r"|\s*[\r\n]+|\s+(?!\S)|\s+"
        ),
        "o200k": (
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
            r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
            r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
        ),
    }
)

# The pattern of minbpe for GPT-4; it splits in the same way as Llama 3's.
MINBPE = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*"
    r"|\s*[\r\n]|\s+(?!\S)|\s+"
)

# Other common spellings that split every text alike: GPT-2's own and tiktoken's former one, minbpe's, and cl100k for
# Oniguruma, which takes `{1,3}+` for a repeated group.
_SPELLINGS: Mapping[str, str] = MappingProxyType(
    {
        r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+": "gpt2",
        r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+": "gpt2",
        MINBPE: "llama3",
        **{REGEX[name].replace("{1,3}+", "{1,3}"): name for name in ("cl100k", "cl100k_right")},
        **{regex: name for name, regex in REGEX.items()},
    }
)

_ENDS_IN_A_PIECE = 1 << 16
SECONDS_OF_A_PIECE = 0.01
_LONGEST_NAME = 10_000  # a longer text is taken for an expression


def check_pattern(pattern: str) -> None:
    """Raises ConfigError unless `pattern` can split text; see `splitter`."""
    if not isinstance(pattern, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigError(f"A pattern must be a name or a regular expression, not {told(pattern)}.")
    splitter(pattern)


@dataclass(frozen=True, eq=False)
class Splitter:
    """Splits text into pre-tokens; made by `splitter`."""

    pattern: str  # the given name or regular expression
    kind: int  # the number of the scanner in `kernels.scan`; `OWN` if there is none, `NONE` if nothing is split
    _own: CustomRegex | None = field(default=None, repr=False)

    def ends_work(self, data: NDArray[np.uint8], start: int, stop: int) -> Ends:
        """Finds the ends of the pre-tokens of data[start:stop] (uint8, contiguous), in bounded pieces.

        That is a document, or a part of it that `cut` has split off.

        Yields:
            int64, ascending ends in `data`, the last of all `stop`. A piece may be empty.

        Raises:
            ConfigError: The pattern drops text, matches empty text, or takes too long.
        """
        if self._own is not None:
            yield from self._own.ends_work(data, start, stop)
        elif start < stop and self.kind == NONE:
            yield np.array([stop], np.int64)
        elif start < stop:
            from tokstudio.core.kernels.scan import scan_at

            ends = np.empty(min(stop - start, _ENDS_IN_A_PIECE), np.int64)
            # A reference, because threads whose first calls coincide get separate arrays, and an address keeps none.
            class_table = classes()
            while start < stop:
                n = scan_at(self.kind, data.ctypes.data, start, stop, class_table.ctypes.data, ends)
                yield ends[:n].copy()
                start = int(ends[n - 1])

    def split(self, text: Text) -> list[bytes]:
        """The pre-tokens of a text in order; joined, they are its UTF-8."""
        raw = to_utf8(text)
        ends = [end for piece in self.ends_work(np.frombuffer(raw, np.uint8), 0, len(raw)) for end in piece.tolist()]
        return [raw[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def known_name(pattern: str) -> str:
    """The name of a pattern that is one in another spelling; others as they are."""
    return _SPELLINGS.get(pattern, pattern)


@lru_cache(maxsize=16)
def splitter(pattern: str) -> Splitter:
    """The splitter of a named pattern or a regular expression; raises ConfigError where it cannot split text.

    Whether an expression covers all text is found only in splitting. Takes a few milliseconds at most.
    """
    name = known_name(pattern)
    if name in NAMES:
        return Splitter(pattern, NAMES.index(name))
    if 1 < len(pattern) <= _LONGEST_NAME and pattern.isascii() and pattern.replace("_", "").replace("-", "").isalnum():
        raise ConfigError(
            f'Pattern "{pattern}" is unknown. Choose one of: {", ".join(NAMES)}. Or give a regular expression.'
        )
    return Splitter(pattern, OWN, CustomRegex(pattern))


@lru_cache(maxsize=16)
def plain_splitter(pattern: str) -> Splitter:
    """A splitter that splits valid UTF-8 in the same way without the compiled loops, and more slowly."""
    name = known_name(pattern)
    return Splitter(pattern, OWN, CustomRegex(REGEX[name])) if name in REGEX else splitter(pattern)


def word_ends(
    splitter: Splitter, text: NDArray[np.uint8], at: int, stops: NDArray[np.int64]
) -> Iterator[tuple[NDArray[np.int64], int]]:
    """Finds the ends of the pre-tokens of texts, in bounded pieces.

    `text` has the texts one after another, uint8, the first from `at` on; `stops` is int64, the end of each.

    Yields:
        At most `MOST_WORDS` ends, perhaps none, valid until the next piece; and how many texts are complete.
    """
    if splitter.kind < 0:
        yield from _custom_ends(splitter, text, at, stops)
        return
    from tokstudio.core.kernels.documents import scan_documents

    ends = np.empty(min(MOST_WORDS, max(1, int(stops[-1]) - at)), np.int64)
    text, stops, document = read_only(text), read_only(stops), 0
    while document < len(stops):
        n, at, document = scan_documents(splitter.kind, text, at, document, stops, classes(), ends)
        yield ends[:n], document


def _custom_ends(
    splitter: Splitter, text: NDArray[np.uint8], at: int, stops: NDArray[np.int64]
) -> Iterator[tuple[NDArray[np.int64], int]]:
    """Does the same as `word_ends` for a custom regular expression; many short texts give one piece."""
    nothing, half = np.empty(0, np.int64), MOST_WORDS // 2
    gathered, size, until = [nothing], 0, monotonic() + SECONDS_OF_A_PIECE
    for done, stop in enumerate(stops.tolist()):
        for ends in splitter.ends_work(text, at, stop):
            for first in range(0, max(1, len(ends)), half):
                gathered.append(ends[first : first + half])
                size += len(gathered[-1])
                if size >= half or monotonic() > until:
                    yield np.concatenate(gathered), done
                    gathered, size, until = [nothing], 0, monotonic() + SECONDS_OF_A_PIECE
        at = stop
    yield np.concatenate(gathered), len(stops)


def cut(data: NDArray[np.uint8], at: int, stop: int) -> int:
    """The first place after `at` where text can be split without changing how any named pattern splits it.

    It is before a space after anything but white space, or before a line feed after a letter or a number; `stop`, the
    end of the document, if there is no such place. Nothing before `at` is read. `data` is uint8, contiguous.
    """
    from tokstudio.core.kernels.scan import cut_at

    class_table = classes()  # a reference, as in `Splitter.ends_work`
    return cut_at(data.ctypes.data, at, stop, class_table.ctypes.data)


def place_to_cut(data: NDArray[np.uint8], at: int, stop: int, before: bytes = b" \n") -> int:
    """The first place after `at` as of `cut`, before one of some bytes; `data` may be a `FileText`."""
    size = _LOOKED_AT
    while at < stop:
        window = np.ascontiguousarray(data[at : min(stop, at + size)])
        place = cut(window, 0, len(window))
        while place < len(window) and int(window[place]) not in before:
            place = cut(window, place, len(window))
        if place < len(window):
            return at + place
        if at + len(window) == stop:
            break
        # What is before the next place may be a character that begins here.
        at += len(window) - _LONGEST_CHARACTER
        size = min(4 * size, _MOST_LOOKED_AT)
    return stop


# --- Patterns that leave text between their matches, with that text as pre-tokens too ---------------------------------
# The `tokenizers` library calls this behaviour of a split "isolated". A covering pattern says it in one expression: it
# matches like the other where that matches, else everything up to the next place where it does. `CustomRegex` takes the
# shorter way.

_REFERENCE = re.compile(r"\\[1-9]|\\g<|\(\?P[=>&]|\(\?[&R0-9(]")
_SECONDS_OF_A_TRIAL = 0.1
_TRIAL = "Two words: it's 12 345, naïve 日本.\r\n\n  (End?!)\t_ "


def covering(pattern: str) -> str:
    """The covering pattern of a regular expression; a named pattern covers all text already.

    Raises:
        ConfigError: It cannot split text, or names a group.
    """
    check_pattern(pattern)
    if (name := known_name(pattern)) in NAMES:
        return name
    if covered(pattern) is not None:
        return pattern
    if _REFERENCE.search(pattern):
        raise ConfigError("A pattern that leaves text between its matches cannot refer to its own groups.")
    expression = f"{pattern}{BEFORE_REST}{pattern}{AFTER_REST}"
    check_pattern(expression)
    return expression


def leaves_gaps(pattern: str) -> bool:
    """Whether an expression leaves text of a short sample between its matches."""
    try:
        matches = [match.group() for match in compile_expression(pattern).finditer(_TRIAL, timeout=_SECONDS_OF_A_TRIAL)]
    except TimeoutError:
        return False
    return "".join(matches) != _TRIAL
