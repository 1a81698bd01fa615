"""Custom regular expressions: compiled within limits, and matched with documents in bounded time.

The `regex` library matches them, always with a time limit: a whole document at a time, which takes several times its
memory, and in one thread, because the library keeps the interpreter's lock.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import codecs
import re
import warnings
from collections.abc import Generator
from functools import cache, lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, NoReturn, TypeAlias

import numpy as np

from tokstudio.core.base.errors import ConfigError
from tokstudio.core.text.unicode_classes import unassigned

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from regex import Pattern

MATCHES_IN_A_PIECE = 1 << 13
BYTES_IN_A_PIECE = 1 << 18
SECONDS_OF_A_PIECE = 0.01
SECONDS_OF_A_MATCH = 2.0
CHARACTERS_IN_A_SECOND = 5_000_000  # so many more are given more time: text without a match is searched to its end
_SECONDS_OF_A_TRIAL = 0.02
_LONGEST_PATTERN = 10_000
_MOST_NODES = 50_000  # of a pattern with its fixed repeats written out: some 20 MB, compiled in some 15 ms
_SHOWN = 40
_MUST_TAKE = "each match must take at least one character."
_MATCHES_EMPTY = f"The pattern matches empty text: {_MUST_TAKE}"
_TRIAL = "It's 2 o'clock,\r\n  naïve 日本\t(?)  "

# Stand-ins for characters that only a newer Unicode knows, and for the one letter that has moved to another class.
_STAND_IN = 0x50000
CHANGED = MappingProxyType({0x295: 0x2A9})

Ends: TypeAlias = "Generator[NDArray[np.int64], None, None]"

# A repeat. A pattern may say that white space and comments do not count, also between digits.
_REPEAT = re.compile(r"\{((?:[\d\s]|#[^\n]*\n)*)[,}]")
_BETWEEN_DIGITS = re.compile(r"\s|#[^\n]*\n")
_IGNORES_CASE = re.compile(r"\(\?\w*i")
_FOLDED = 104  # so many characters become several when case is ignored, and a set of them as many branches

# What follows an expression in its covering pattern, before and after the expression again.
BEFORE_REST, AFTER_REST = "|(?:(?!", r")[\s\S])++"


def without_newer(text: str) -> str:
    """A text without the characters that the installed `regex` puts into other classes than Unicode 16 does."""
    codes = np.frombuffer(text.encode("utf-32-le"), np.uint32)
    return codes[_usual()[codes]].tobytes().decode("utf-32-le")


def covered(pattern: str) -> str | None:
    """The expression whose covering pattern this is (see `covering`); None where it is no covering pattern."""
    size = len(pattern) - len(BEFORE_REST) - len(AFTER_REST)
    expression = pattern[: max(0, size) // 2]
    return expression if expression and pattern == f"{expression}{BEFORE_REST}{expression}{AFTER_REST}" else None


class CustomRegex:
    """A compiled custom expression, and the translation of characters for it."""

    def __init__(self, pattern: str) -> None:
        expression = covered(pattern)
        self._compiled = _compile(expression or pattern)
        self._keeps_rest = expression is not None
        self._pattern = pattern
        self._translation: NDArray[np.uint32] | None = None

    def ends_work(self, data: NDArray[np.uint8], start: int, stop: int) -> Ends:
        """Does the same as `Splitter.ends_work`."""
        document = yield from self._decode_work(data, start, stop)
        at = 0
        while at < len(document.text):
            ends = _find(self._compiled, document, at, self._keeps_rest)
            yield from document.in_bytes_work(at, ends)
            at = ends[-1]

    def _decode_work(
        self, data: NDArray[np.uint8], start: int, stop: int
    ) -> Generator[NDArray[np.int64], None, _Document]:
        texts: list[str] = []
        # There are no more characters than bytes; pages that are never written take no memory.
        widths = np.empty(stop - start, np.uint8)
        characters = 0
        decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        ascii_only = True
        for first in range(start, stop, BYTES_IN_A_PIECE):
            last = min(first + BYTES_IN_A_PIECE, stop)
            text = decoder.decode(data[first:last].tobytes(), last == stop)
            here = widths[characters : characters + len(text)]
            characters += len(text)
            if text.isascii():
                here[:] = 1
            else:
                ascii_only = False
                codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
                here[:] = _widths(codes)
                text = self._translated(text, codes)
            texts.append(text)
            if last < stop:
                yield np.empty(0, np.int64)
        return _Document(data, start, "".join(texts), None if ascii_only else widths[:characters])

    def _translated(self, text: str, codes: NDArray[np.uint32]) -> str:
        if self._translation is None:
            self._translation = translation(self._pattern)
        translated = self._translation[codes]
        if np.array_equal(translated, codes):
            return text
        return translated.tobytes().decode("utf-32-le", "surrogatepass")


class _Document:
    """The text for an expression to match, some characters of it translated, and their positions in `data`."""

    def __init__(self, data: NDArray[np.uint8], start: int, text: str, widths: NDArray[np.uint8] | None) -> None:
        self.text = text
        self._data = data
        self._start = start
        self._widths = widths  # bytes of each character; None where each has one
        self._known = 0, start  # a character and its first byte

    def in_bytes_work(self, first: int, ends: list[int]) -> Ends:
        """Converts ends from characters to offsets in `data`; `first` is the start of the first match."""
        offsets = np.array(ends, np.int64)
        if self._widths is None:
            yield offsets + self._start
            return
        _, byte = self._known
        for at in range(first, ends[-1], BYTES_IN_A_PIECE):
            widths = self._widths[at : min(at + BYTES_IN_A_PIECE, ends[-1])]
            bytes_behind = np.cumsum(widths, dtype=np.int64) + byte
            here = offsets[(offsets > at) & (offsets <= at + len(widths))]
            yield bytes_behind[here - at - 1]
            byte = int(bytes_behind[-1])
        self._known = ends[-1], byte

    def shown(self, first: int, last: int) -> str:
        """A part of the original text for a message."""
        character, byte = self._known if self._widths is not None else (0, self._start)
        skipped = first - character
        byte += skipped if self._widths is None else int(self._widths[character:first].sum(dtype=np.int64))
        raw = self._data[byte : byte + 4 * (_SHOWN + 1)].tobytes()
        text = raw.decode("utf-8", "surrogateescape")[: last - first]
        cut_off = "…" if len(text) > _SHOWN else ""
        return "".join(map(_printable, text[:_SHOWN])) + cut_off


def _printable(character: str) -> str:
    if "\udc80" <= character <= "\udcff":
        return f"\\x{ord(character) - 0xDC00:02x}"
    return character if character.isprintable() else character.encode("unicode_escape").decode()


def _find(pattern: Pattern[str], document: _Document, at: int, keeps_rest: bool) -> list[int]:
    """The ends of the next matches from `at` on, or also of what lies between them; at least one.

    By default `regex` releases the interpreter's lock for every match, and getting it back from a busy thread takes
    longer than thousands of matches. So the lock is kept for a short time, and released only for a single match that
    takes longer.
    """
    text, ends = document.text, list[int]()
    here, longest = at, SECONDS_OF_A_MATCH + (len(text) - at) / CHARACTERS_IN_A_SECOND
    for seconds, concurrent, most in ((SECONDS_OF_A_PIECE, False, MATCHES_IN_A_PIECE), (longest, True, 1)):
        try:
            for match in pattern.finditer(text, at, concurrent=concurrent, timeout=seconds):
                first, last = match.span()
                if first != here:
                    if not keeps_rest:
                        _refuse_drop(document, here, first)
                    ends.append(first)
                if last == first:
                    raise ConfigError(
                        f"The pattern matches empty text at character {here + 1:,}: {_MUST_TAKE}", _MATCHES_EMPTY
                    )
                ends.append(last)
                here = last
                if len(ends) >= most or last == len(text):
                    return ends
            if not keeps_rest:
                _refuse_drop(document, here, len(text))
            return [*ends, len(text)]
        except TimeoutError:
            if ends:
                return ends
    simpler = "Use a simpler one: nested repeats can take forever."
    raise ConfigError(
        f"The pattern takes more than {longest:.2g} seconds at character {here + 1:,}, "
        f'"{document.shown(here, len(text))}". {simpler}',
        of_a_part=f"A match of the pattern takes more than {longest:.2g} seconds. {simpler}",
    )


def _refuse_drop(document: _Document, first: int, last: int) -> NoReturn:
    dropped = document.shown(first, last)
    raise ConfigError(
        f'The pattern drops "{dropped}" (first at character {first + 1:,}): it must cover all text.',
        of_a_part=f'The pattern drops text, such as "{dropped}": it must cover all text.',
    )


def _compile(pattern: str) -> Pattern[str]:
    if not pattern:
        raise ConfigError('The pattern is empty. Use "none" to leave text whole.')
    compiled = compile_expression(pattern)
    if _matches_nothing(compiled):
        raise ConfigError(_MATCHES_EMPTY)
    return compiled


def compile_expression(pattern: str, flags: int = 0) -> Pattern[str]:
    """Compiles a custom regular expression within limits; `flags` are those of `regex`.

    Raises:
        ConfigError: It does not compile (the message has the place), is too long, repeats too much or goes backwards.
    """
    import regex

    if len(pattern) > _LONGEST_PATTERN:
        raise ConfigError(f"The pattern is too long: {len(pattern):,} characters, at most {_LONGEST_PATTERN:,}.")
    if _repeats_too_much(pattern):
        raise ConfigError("The pattern repeats too much: use smaller numbers in braces.")
    try:
        with warnings.catch_warnings():
            # Warnings about later versions of the library do not concern the user.
            warnings.simplefilter("ignore")
            compiled = regex.compile(pattern, flags)
    except regex.error as error:
        # The type stubs lack these two.
        message, position = getattr(error, "msg", str(error)), getattr(error, "pos", None)
        place = ""
        if position is not None:
            place = f" at character {position + 1:,}" if position < len(pattern) else " at the end"
        raise ConfigError(f"The pattern does not compile{place}: {message}.") from None
    except (ValueError, OverflowError, RecursionError, MemoryError) as error:
        raise ConfigError(f"The pattern does not compile: {error or 'it is too large'}.") from None
    if compiled.flags & regex.REVERSE:
        raise ConfigError("The pattern searches backwards: remove (?r).")
    return compiled


@cache
def compiled(pattern: str) -> Pattern[str]:
    """An expression of our own, compiled when it is first used: the window opens without the library."""
    import regex

    return regex.compile(pattern)


def _repeats_too_much(pattern: str) -> bool:
    """Whether writing out the fixed repeats, as `regex` does, could give too many nodes: an upper bound for them."""
    nodes = end = 0
    for repeat in _REPEAT.finditer(pattern):
        start = repeat.start()
        nodes += start - end
        end = repeat.end()
        count = max(1, int(_BETWEEN_DIGITS.sub("", repeat[1])[:12] or 0))
        before = pattern[start - 1 : start]
        if before.isalnum():
            nodes += count
        elif before == "]":
            nodes += count * (_FOLDED if _IGNORES_CASE.search(pattern) else 1)
        else:
            # It may repeat a group with all that is before it.
            nodes *= count
        if nodes > _MOST_NODES:
            return True
    return False


def _matches_nothing(pattern: Pattern[str]) -> bool:
    """Whether a quick trial finds a match of no characters."""
    try:
        if pattern.match("", timeout=_SECONDS_OF_A_TRIAL):
            return True
        return not all(match.group() for match in pattern.finditer(_TRIAL, timeout=_SECONDS_OF_A_TRIAL))
    except TimeoutError:
        return False


def _widths(codes: NDArray[np.uint32]) -> NDArray[np.uint8]:
    """How many bytes each character takes; one for the stand-in of a byte that is not UTF-8."""
    widths = np.ones(len(codes), np.uint8)
    for first in (0x80, 0x800, 0x10000):
        widths += codes >= first
    widths[(codes >= 0xDC80) & (codes <= 0xDCFF)] = 1
    return widths


@lru_cache(maxsize=1)
def _newer() -> NDArray[np.intp]:
    """The code points that `regex` knows as characters and Unicode 16 does not."""
    import regex

    codes = np.flatnonzero(unassigned())
    text = codes.astype("<u4").tobytes().decode("utf-32-le")
    is_new = np.zeros(len(codes), np.bool_)
    for match in regex.finditer(r"\P{Cn}+", text):
        is_new[match.start() : match.end()] = True
    return codes[is_new]


@lru_cache(maxsize=1)
def _usual() -> NDArray[np.bool_]:
    """Whether `regex` puts a code point into the class of Unicode 16."""
    usual = np.ones(0x110000, np.bool_)
    usual[_newer()] = usual[list(CHANGED)] = False
    return usual


def translation(pattern: str) -> NDArray[np.uint32]:
    """The character for each code point by which `regex` follows Unicode 16; those that `pattern` names stay."""
    table = np.arange(0x110000, dtype=np.uint32)
    table[_newer()] = _STAND_IN
    table[list(CHANGED)] = list(CHANGED.values())
    named = [ord(character) for character in pattern]
    table[named] = named
    return table
