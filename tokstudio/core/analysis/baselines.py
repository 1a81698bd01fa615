"""Simple tokenizers for comparison with byte pair encoding: characters, bytes, words.

They are used in the same way as a `Tokenizer`.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from abc import ABC, abstractmethod
from codecs import getincrementaldecoder
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.progress import Progress, Work, finish
from tokstudio.core.base.records import dataclass
from tokstudio.core.pretokenization.custom_regex import compile_expression
from tokstudio.core.text.utf8 import Text, to_utf8
from tokstudio.core.tokenizer.batch import (
    Batch,
    check_text,
    each_by_itself,
    encode_each,
    encode_texts,
    padding_id,
    rows_of,
)
from tokstudio.core.tokenizer.tokenizer import Tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from regex import Pattern

WORDS = r"\w+|."

# Exactly the words of `str.split`: for `regex`, the four separators are not white space.
_NOT_WHITE_SPACE = r"[^\s\x1c-\x1f]+"
_REPLACEMENT = "\ufffd".encode()
_EACH_BYTE = tuple(bytes([byte]) for byte in range(256))

BYTES_IN_A_PIECE = 1 << 16
MATCHES_IN_A_PIECE = 1 << 13
SECONDS_OF_A_PIECE = 0.01
SECONDS_OF_A_MATCH = 2.0
_MATCHES_AT_A_PLACE = 16  # after an empty match, the next match of a usable pattern ends further on
_SHOWN = 40


class SimpleTokenizer(ABC):
    """The base class of the simple tokenizers."""

    lossless: ClassVar[bool]  # whether decoding restores every text
    _title: ClassVar[str]

    @property
    def title(self) -> str:
        """Its name: "Characters", "Bytes", "Words and marks" or "Split at spaces"."""
        return self._title

    @property
    def special_tokens(self) -> Mapping[str, int]:
        """Special tokens and their ids: none."""
        return {}

    def encode(self, text: Text) -> list[int]:
        """Ids of a text."""
        return self.encode_array(text).tolist()

    def encode_array(self, text: Text) -> NDArray[np.uint32]:
        """Ids of a text as uint32 [tokens]; raises ConfigError for anything else than one text."""
        check_text(text)
        return finish(self.encode_work(text))

    @abstractmethod
    def encode_work(self, text: Text) -> Work[NDArray[np.uint32]]:
        """Does the same as `encode_array` in bounded pieces."""

    def encode_batch(self, texts: Iterable[Text], padding: bool | int = False) -> Batch:
        """Ids of several texts; see `encode_texts`."""
        return encode_texts(each_by_itself(self.encode_array), texts, padding, padding_id(self.special_tokens))

    def encode_iterable(self, texts: Iterable[Text]) -> Iterator[int]:
        """Yields the ids of one text after another; holds one text at a time, such as a line of an open file."""
        return encode_each(self.encode, texts)

    def decode(self, ids: Iterable[int], errors: str = "replace") -> str:
        """The text of ids; see `decode_bytes`, and for invalid UTF-8 `errors` of `bytes.decode`."""
        return self.decode_bytes(ids).decode("utf-8", errors)

    def decode_batch(self, batch: Batch | Iterable[Iterable[int]], errors: str = "replace") -> list[str]:
        """The texts of a batch without its padding, or of several lists of ids."""
        return [self.decode(row, errors) for row in rows_of(batch)]

    @abstractmethod
    def decode_bytes(self, ids: Iterable[int]) -> bytes:
        """The bytes of ids; raises ConfigError, which names it, for an id that is not in the vocabulary."""

    @staticmethod
    def vocabulary_size_lower_bound(ids: Iterable[int]) -> int:
        """The highest id + 1: no vocabulary with these ids is smaller. 0 where there are none."""
        return max(_listed(ids), default=-1) + 1


@dataclass(frozen=True)
class CharacterTokenizer(SimpleTokenizer):
    """Every character is a token, and its code point is the id: `"Hé"` is `[72, 233]`.

    A byte that is not UTF-8 becomes U+FFFD, as in `bytes.decode`. There are no `tokens` and no `len`, because Unicode
    decides which code points are characters; `vocabulary_size_lower_bound` of its ids tells what a text needs.
    """

    lossless: ClassVar[bool] = True
    pattern: ClassVar[str] = "none"
    _title: ClassVar[str] = "Characters"

    def encode_work(self, text: Text) -> Work[NDArray[np.uint32]]:
        """Does the same as `encode_array` in bounded pieces."""
        parts = [np.empty(0, np.uint32)]
        for characters, progress in _characters(text):
            parts.append(np.frombuffer(characters.encode("utf-32-le"), "<u4"))
            yield progress
        return np.concatenate(parts, dtype=np.uint32)

    def decode_bytes(self, ids: Iterable[int]) -> bytes:
        """The UTF-8 of ids; raises ConfigError where one is a surrogate or not a code point."""
        numbers = _listed(ids)
        with suppress(ValueError, OverflowError):
            return "".join(map(chr, numbers)).encode()
        wrong = next(number for number in numbers if not (0 <= number < 0xD800 or 0xE000 <= number < 0x110000))
        raise ConfigError(f"Id {wrong} is not in the vocabulary: it is not a Unicode character.")


@dataclass(frozen=True)
class ByteTokenizer(SimpleTokenizer):
    """Every byte of the UTF-8 is a token, and the id is the byte: `"Hé"` is `[72, 195, 169]`."""

    lossless: ClassVar[bool] = True
    pattern: ClassVar[str] = "none"
    _title: ClassVar[str] = "Bytes"

    @property
    def tokens(self) -> Sequence[bytes]:
        """The bytes of each token by id."""
        return _EACH_BYTE

    def __len__(self) -> int:
        """How many tokens there are."""
        return 256

    def encode_work(self, text: Text) -> Work[NDArray[np.uint32]]:
        """Does the same as `encode_array` in bounded pieces."""
        data = np.frombuffer(to_utf8(text), np.uint8)
        ids = np.empty(len(data), np.uint32)
        for start in range(0, len(data), BYTES_IN_A_PIECE):
            stop = min(start + BYTES_IN_A_PIECE, len(data))
            ids[start:stop] = data[start:stop]
            yield Progress("encoding", stop, len(data))
        return ids

    def decode_bytes(self, ids: Iterable[int]) -> bytes:
        """The ids as bytes; raises ConfigError where one is not a byte."""
        numbers = _listed(ids)
        with suppress(ValueError, OverflowError):
            return bytes(numbers)
        wrong = next(number for number in numbers if not 0 <= number < 256)
        raise ConfigError(f"Id {wrong} is not in the vocabulary: it is not a byte.")


@dataclass(frozen=True)
class WordTokenizer(SimpleTokenizer):
    r"""Segments of a text are tokens, numbered from 1 in order of first occurrence; id 0 is an unknown segment.

    With a pattern, the segments are the matches of `regex.findall(pattern, text)`: `"I'll"` is `["I", "'", "ll"]`. Text
    outside the matches is dropped: the `.` in `\w+|.` matches no line feed, so that lines run together when decoded
    (`(?s)\w+|.` keeps the line feeds). Without a pattern the segments are the words of `text.split()`, and decoding
    puts one space between them. Id 0 decodes to U+FFFD. No vocabulary has all words, so this tokenizer is never
    `lossless`.

    Attributes:
        segments: The text of each token, from id 1 on.
        pattern: A regular expression; None to split at white space.

    Raises:
        ConfigError: The pattern cannot be used, or a segment is empty or repeated.
    """

    segments: tuple[str, ...] = field(repr=False)
    pattern: str | None = WORDS

    lossless: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _compiled(self.pattern)
        if "" in self._numbers or len(self._numbers) < len(self.segments):
            raise ConfigError("The segments of a word tokenizer must be distinct and not empty.")

    @classmethod
    def from_text(cls, text: Text, pattern: str | None = WORDS) -> WordTokenizer:
        """The tokenizer with the segments of a text; raises ConfigError where the pattern fails or takes too long."""
        return finish(cls.from_text_work(text, pattern))

    @classmethod
    def from_text_work(cls, text: Text, pattern: str | None = WORDS) -> Work[WordTokenizer]:
        """Does the same as `from_text` in bounded pieces."""
        seen: dict[str, None] = {}
        for segments, progress in _segments(text, pattern):
            seen.update(dict.fromkeys(segments))
            yield progress
        return cls(tuple(seen), pattern)

    @property
    def title(self) -> str:
        """Its name."""
        return "Split at spaces" if self.pattern is None else "Words and marks"

    @cached_property
    def tokens(self) -> Sequence[bytes]:
        """The UTF-8 of each token by id; that of U+FFFD for id 0."""
        return (_REPLACEMENT, *map(to_utf8, self.segments))

    def __len__(self) -> int:
        """The number of tokens, including the unknown one."""
        return len(self.segments) + 1

    def encode_work(self, text: Text) -> Work[NDArray[np.uint32]]:
        """Does the same as `encode_array` in bounded pieces; raises ConfigError where the pattern takes too long."""
        parts, number_of = [np.empty(0, np.uint32)], self._numbers.get
        for segments, progress in _segments(text, self.pattern):
            parts.append(np.array([number_of(segment, 0) for segment in segments], np.uint32))
            yield progress
        return np.concatenate(parts)

    def decode_bytes(self, ids: Iterable[int]) -> bytes:
        """The UTF-8 of the segments, joined with spaces where there is no pattern."""
        numbers, tokens = _listed(ids), self.tokens
        for number in numbers:
            if not 0 <= number < len(tokens):
                raise ConfigError(f"Id {number} is not in the vocabulary.")
        return (b" " if self.pattern is None else b"").join([tokens[number] for number in numbers])

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {segment: number for number, segment in enumerate(self.segments, 1)}


AnyTokenizer = Tokenizer | SimpleTokenizer


def _listed(ids: Iterable[int]) -> list[int]:
    return ids.tolist() if isinstance(ids, np.ndarray) else list(ids)


def _characters(text: Text) -> Iterator[tuple[str, Progress]]:
    """Yields the text as valid characters in pieces, with the progress in its UTF-8."""
    data, decoder = to_utf8(text), getincrementaldecoder("utf-8")("replace")
    for start in range(0, len(data), BYTES_IN_A_PIECE):
        stop = min(start + BYTES_IN_A_PIECE, len(data))
        characters = decoder.decode(data[start:stop], final=stop == len(data))
        yield characters, Progress("reading", stop, len(data))


def _segments(text: Text, pattern: str | None) -> Iterator[tuple[list[str], Progress]]:
    """Yields the segments in order, in lists that take a bounded time to find, with the progress."""
    compiled, pieces = _compiled(pattern), list[str]()
    for characters, progress in _characters(text):
        pieces.append(characters)
        yield [], progress
    whole, trusted = "".join(pieces), pattern in (None, WORDS)
    at: int | None = 0
    while at is not None:
        segments, at = _find(compiled, whole, at, trusted)
        yield segments, Progress("splitting", len(whole) if at is None else at, len(whole))


def _find(pattern: Pattern[str], text: str, at: int, trusted: bool) -> tuple[list[str], int | None]:
    """The next segments from `at` on, and where to continue; None at the end.

    By default `regex` releases the interpreter's lock for every match, and getting it back from a busy thread takes
    longer than thousands of matches. So the lock is kept for a short time, and released only for a single match that
    takes longer. A time limit costs more than a match, and is set for custom patterns only.
    """
    segments: list[str] = []
    limit, begin = None if trusted else SECONDS_OF_A_PIECE, at
    try:
        for number, match in enumerate(pattern.finditer(text, at, concurrent=False, timeout=limit), 1):
            at = max(at, match.end())
            # An empty match is not a segment.
            if segment := match.group():
                segments.append(segment)
            if number == MATCHES_IN_A_PIECE:
                break
        else:
            return segments, None
    except TimeoutError:
        if at == begin:
            return _find_slowly(pattern, text, at)
    if at == begin:
        raise _same_place(text, at)
    return segments, at


def _find_slowly(pattern: Pattern[str], text: str, at: int) -> tuple[list[str], int | None]:
    """Does the same as `_find` for one segment and without the lock."""
    try:
        for number, match in enumerate(pattern.finditer(text, at, concurrent=True, timeout=SECONDS_OF_A_MATCH), 1):
            if match.end() > at:
                segment = match.group()
                return [segment] if segment else [], match.end()
            if number == _MATCHES_AT_A_PLACE:
                raise _same_place(text, at)
    except TimeoutError:
        raise ConfigError(
            f"The pattern takes more than {SECONDS_OF_A_MATCH:g} seconds, {_place(text, at)}. Use a simpler one: "
            "nested repeats can take forever."
        ) from None
    return [], None


def _same_place(text: str, at: int) -> ConfigError:
    return ConfigError(f"The pattern keeps matching at the same place, {_place(text, at)}.")


def _place(text: str, at: int) -> str:
    here = " ".join(text[at : at + _SHOWN].split())
    return f'from character {at + 1:,} of the text: "{here}"'


def _compiled(pattern: str | None) -> Pattern[str]:
    if pattern == "":
        raise ConfigError("The pattern is empty: give none to split at white space.")
    return compile_expression(_NOT_WHITE_SPACE if pattern is None else pattern)
