"""Encodes a text, and decodes ids, for the Text pane: in bounded pieces, in any thread.

The result is compared with the text and checked by decoding.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.pretokenization.custom_regex import compiled
from tokstudio.core.pretokenization.special_tokens import AllowedSpecial
from tokstudio.core.text.byte_level import CHARACTER_OF
from tokstudio.core.text.utf8 import to_utf8
from tokstudio.core.tokenizer.tokenizer import Tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray

# --- Writes a tokenized text in the byte-level alphabet of GPT-2's files, one character per byte; work for a job ------

#: A text, and the end of each token in its bytes.
Written: TypeAlias = "tuple[bytes, NDArray[np.int64]]"

_TOKENS = 1 << 15

# The UTF-8 of the characters, by byte: one or two bytes each.
_SPELLED = [CHARACTER_OF[byte].encode() for byte in range(256)]


def byte_level_work(data: bytes, ends: NDArray[np.int64], special: NDArray[np.bool_]) -> Work[Written]:
    """Writes text, or any bytes, in the byte-level alphabet; special tokens are unchanged.

    `ends` is int64 [tokens], the byte after each token; `special` is bool [tokens].
    """
    first_of = np.array([spelled[0] for spelled in _SPELLED], np.uint8)
    last_of = np.array([spelled[-1] for spelled in _SPELLED], np.uint8)
    size_of = np.array([len(spelled) for spelled in _SPELLED], np.int64)
    raw = np.frombuffer(data, np.uint8)
    texts: list[bytes] = []
    new_ends = np.zeros(len(ends), np.int64)
    begin, written = 0, 0
    for first in range(0, len(ends), _TOKENS):
        some = slice(first, first + _TOKENS)
        stop = int(ends[some][-1])
        piece = raw[begin:stop]
        plain = np.repeat(special[some], np.diff(ends[some], prepend=begin))
        size = np.where(plain, 1, size_of[piece])
        after = np.cumsum(size)
        text = np.empty(int(after[-1]) if len(after) else 0, np.uint8)
        text[after - 1] = np.where(plain, piece, last_of[piece])
        two = size == 2
        text[after[two] - 2] = first_of[piece[two]]
        new_ends[some] = np.concatenate([[0], after])[ends[some] - begin] + written
        texts.append(text.tobytes())
        begin, written = stop, written + len(texts[-1])
        yield Progress("encoding", first, len(ends))
    return b"".join(texts), new_ends


#: The most bytes of text to encode or decode: memory stays within about 2 GB.
LONGEST = 50_000_000

_CHARACTERS = 1 << 18
_IDS = 1 << 12  # joined in half a millisecond, in which no other thread runs
_NAMED = 5
_ITEM = r"[^\s,;\[\]]+"


@dataclass(frozen=True, eq=False)
class TokensOfText:
    """A text in tokens."""

    text: str  # invalid UTF-8 is U+FFFD
    data: bytes  # its bytes
    ids: NDArray[np.uint32]  # uint32 [tokens]
    ends: NDArray[np.int64]  # int64 [tokens], the byte after each token's last one
    special: NDArray[np.bool_]  # bool [tokens], which are special tokens
    drawn: Written  # the text to draw, and the end of each token in its bytes; empty without tokens


@dataclass(frozen=True, eq=False)
class Encoded(TokensOfText):
    """An encoded text."""

    differs: int | None  # the first byte where the decoded ids differ from the text; None if they are equal


@dataclass(frozen=True, eq=False)
class DecodedIds(TokensOfText):
    """The text of those ids that are in the vocabulary."""

    problem: str  # the ids that could not be decoded, in one or two sentences; or ""
    tokenizer: Tokenizer  # that decoded them


def encode_work(
    tokenizer: Tokenizer, text: str, allowed_special: AllowedSpecial = (), *, byte_level: bool = False
) -> Work[Encoded]:
    """Encodes a text, to be drawn in the byte-level alphabet or as it is, and decodes it again.

    Raises:
        ConfigError: The text is longer than `LONGEST`.
    """
    _refuse_longer(len(text))
    data = yield from utf8_work(text)
    _refuse_longer(len(data))
    ids, ends = yield from tokenizer.encode_with_ends_work(data, allowed_special)
    if len(ends):
        # Bytes that a library drops at the end of a text belong to no token.
        ends[-1] = len(data)
    back = yield from tokenizer.decode_bytes_work(ids)
    special = _special(tokenizer, ids)
    drawn = (data if len(ids) else b"", ends)
    if byte_level and len(ids):
        drawn = yield from byte_level_work(data, ends, special)
    return Encoded(text, data, ids, ends, special, drawn, _first_difference(data, back))


def decode_work(tokenizer: Tokenizer, written: str, *, byte_level: bool = False) -> Work[DecodedIds]:
    """Reads ids (a JSON list, or numbers between white space or commas) and decodes those that exist, as above.

    Raises:
        ConfigError: Their text is longer than `LONGEST`.
    """
    known_ids: list[int] = []
    unknown: dict[str, None] = {}
    wrong: dict[str, None] = {}
    tokens = tokenizer.tokens
    for number, match in enumerate(compiled(_ITEM).finditer(written)):
        item = match.group()
        token = _whole_number(item)
        if token is None:
            wrong[item] = None
        elif tokens.in_use(token):
            known_ids.append(token)
        else:
            unknown[item] = None
        if number % _IDS == _IDS - 1:
            yield Progress("reading ids", match.end(), len(written))
    ids = np.array(known_ids, np.uint32)
    data, ends = yield from _spell_work(tokenizer, ids)
    # A library may decode ids to another text than their tokens joined.
    decoded = data if tokenizer.library is None else (yield from tokenizer.decode_bytes_work(ids))
    quoted = [f"“{item}”" if len(item) <= 20 else f"“{item[:20]}…”" for item in wrong]
    missing = _said(list(unknown), "Id {} is not in the vocabulary.", "Ids {} are not in the vocabulary.")
    problem = f"{missing} {_said(quoted, '{} is not an id.', '{} are not ids.')}".strip()
    special = _special(tokenizer, ids)
    drawn = (yield from byte_level_work(data, ends, special)) if byte_level else (data, ends)
    return DecodedIds(decoded.decode("utf-8", "replace"), data, ids, ends, special, drawn, problem, tokenizer)


def text_work(data: NDArray[np.uint8]) -> Work[tuple[str, bool]]:
    """Decodes UTF-8; invalid bytes become U+FFFD, and the second value says whether there were any."""
    raw, texts, lossless, begin = data.tobytes(), list[str](), True, 0
    while begin < len(raw):
        end = min(begin + 4 * _CHARACTERS, len(raw))
        while end < len(raw) and end > begin + 1 and raw[end] & 0xC0 == 0x80:
            end -= 1
        piece = raw[begin:end]
        try:
            texts.append(piece.decode("utf-8"))
        except UnicodeDecodeError:
            texts.append(piece.decode("utf-8", "replace"))
            lossless = False
        begin = end
        yield Progress("reading", begin, len(raw))
    return "".join(texts), lossless


def _refuse_longer(size: int) -> None:
    if size > LONGEST:
        most = f"at most {LONGEST // 1_000_000} MB can be shown as tokens"
        raise ConfigError(f"The ids make {size / 1e6:,.0f} MB of text; {most}.")


def utf8_work(text: str) -> Work[bytes]:
    """The UTF-8 of a text."""
    parts: list[bytes] = []
    begin = 0
    while begin < len(text):
        end = begin + _CHARACTERS
        if end < len(text) and 0xD800 <= ord(text[end - 1]) < 0xDC00:
            end += 1  # half of a surrogate pair, which needs its other half
        parts.append(to_utf8(text[begin:end]))
        begin = end
        yield Progress("encoding", begin, len(text))
    return b"".join(parts)


def _special(tokenizer: Tokenizer, ids: NDArray[np.uint32]) -> NDArray[np.bool_]:
    special = np.zeros(len(tokenizer.tokens), np.bool_)
    special[list(tokenizer.special_tokens.values())] = True
    return special[ids]


def _spell_work(tokenizer: Tokenizer, ids: NDArray[np.uint32]) -> Work[tuple[bytes, NDArray[np.int64]]]:
    """The bytes of the existing ids, and the end of each token in them."""
    if not len(ids):
        return b"", np.zeros(0, np.int64)
    tokens = tokenizer.tokens
    distinct = np.flatnonzero(np.bincount(ids)).tolist()
    lengths = np.zeros(distinct[-1] + 1, np.int64)
    lengths[distinct] = [tokens.length(token) for token in distinct]
    ends = np.cumsum(lengths[ids])
    # Checked before any bytes are made: a token can be as long as the corpus, and be repeated many times.
    _refuse_longer(int(ends[-1]))
    spelled: dict[int, bytes] = {}
    for number, token in enumerate(distinct):
        spelled[token] = tokens[token] or b""
        if number % _IDS == _IDS - 1:
            yield Progress("decoding", number, len(distinct))
    parts: list[bytes] = []
    for begin in range(0, len(ids), _IDS):
        parts.append(b"".join(map(spelled.__getitem__, ids[begin : begin + _IDS].tolist())))
        yield Progress("decoding", begin, len(ids))
    return b"".join(parts), ends


def _first_difference(one: bytes, other: bytes) -> int | None:
    if one == other:
        return None
    size = min(len(one), len(other))
    unlike = np.frombuffer(one, np.uint8, size) != np.frombuffer(other, np.uint8, size)
    return int(unlike.argmax()) if unlike.any() else size


def _whole_number(item: str) -> int | None:
    digits = item.removeprefix("-")
    # Python refuses to parse thousands of digits, and no id has more than ten.
    return int(item) if digits.isascii() and digits.isdigit() and len(digits) <= 20 else None


def _said(names: list[str], one: str, several: str) -> str:
    """A sentence about one name or several; "" for none."""
    if len(names) == 1:
        return one.format(names[0])
    return several.format(_listed(names)) if names else ""


def _listed(names: list[str]) -> str:
    more = len(names) - _NAMED
    if more > 0:
        return f"{', '.join(names[:_NAMED])} and {more:,} more"
    return f"{', '.join(names[:-1])} and {names[-1]}"
