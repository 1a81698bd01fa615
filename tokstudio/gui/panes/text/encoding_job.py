"""A text in tokens, and ids as a text, as the Text pane shows them: made in bounded pieces, in any thread.

Encoding itself is the core's; here its result is measured, put side by side with the text and proved by decoding.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import regex
from numpy.typing import NDArray

from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.pretokenization.special_tokens import AllowedSpecial
from tokstudio.core.text.utf8 import to_utf8
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.gui.panes.text.byte_level_text import Written, byte_level_work

#: Bytes of text that are put into tokens, or made of ids, at most: memory stays within some 2 GB.
LONGEST = 50_000_000

_CHARACTERS = 1 << 18
_IDS = 1 << 12  # joined in half a millisecond, in which no other thread runs
_NAMED = 5
_ITEM = regex.compile(r"[^\s,;\[\]]+")


@dataclass(frozen=True, eq=False)
class Encoded:
    """A text in tokens.

    Attributes:
        text: The text.
        data: Its UTF-8.
        ids: uint32 [tokens].
        ends: int64 [tokens], the byte after each token's last one.
        special: bool [tokens], which are special tokens.
        differs: The first byte at which decoding the ids does not give the text back; None where it does.
        written: What is drawn instead of the text, and the byte of that after each token; None for the text itself.
    """

    text: str
    data: bytes
    ids: NDArray[np.uint32]
    ends: NDArray[np.int64]
    special: NDArray[np.bool_]
    differs: int | None
    written: Written | None = None

    @property
    def drawn(self) -> Written:
        """What is drawn, and the byte of that after each token; nothing where there are no tokens."""
        if not len(self.ids):
            return b"", self.ends
        return (self.data, self.ends) if self.written is None else self.written

    @property
    def bytes_per_token(self) -> float:
        """UTF-8 bytes a token; 0 where there are none."""
        return len(self.data) / len(self.ids) if len(self.ids) else 0.0


@dataclass(frozen=True, eq=False)
class DecodedIds:
    """Ids as a text.

    Attributes:
        ids: uint32 [tokens], those that are in the vocabulary.
        data: Their bytes.
        ends: int64 [tokens], the byte after each token's last one.
        special: bool [tokens], which are special tokens.
        text: The bytes as text; what is not UTF-8 is U+FFFD.
        problem: What could not be decoded, in one or two sentences; or "".
        written: What is drawn instead of the bytes, and the byte of that after each token; None for the bytes.
    """

    ids: NDArray[np.uint32]
    data: bytes
    ends: NDArray[np.int64]
    special: NDArray[np.bool_]
    text: str
    problem: str
    written: Written | None = None

    @property
    def drawn(self) -> Written:
        """What is drawn, and the byte of that after each token."""
        return (self.data, self.ends) if self.written is None else self.written


def encode_work(
    tokenizer: Tokenizer, text: str, allowed_special: AllowedSpecial = (), *, byte_level: bool = False
) -> Work[Encoded]:
    """Puts a text into tokens and decodes them again.

    Args:
        tokenizer: What encodes it.
        text: The text.
        allowed_special: Which special tokens become their id; see `Tokenizer.encode`.
        byte_level: Whether it is drawn in the byte-level alphabet.

    Raises:
        ConfigError: The text is longer than `LONGEST`.
    """
    _refuse_longer(len(text))
    data = yield from utf8_work(text)
    _refuse_longer(len(data))
    ids, ends = yield from tokenizer.encode_with_ends_work(data, allowed_special)
    if len(ends):
        # What a library drops at the end of a text belongs to no token of its own.
        ends[-1] = len(data)
    back = yield from tokenizer.decode_bytes_work(ids)
    special = _special(tokenizer, ids)
    differs = _first_difference(data, back)
    if not byte_level:
        return Encoded(text, data, ids, ends, special, differs)
    written = yield from byte_level_work(data, ends, special)
    return Encoded(text, data, ids, ends, special, differs, written)


def decode_work(tokenizer: Tokenizer, written: str, *, byte_level: bool = False) -> Work[DecodedIds]:
    """Reads ids (a JSON list, or numbers between white space or commas) and decodes those that exist.

    Args:
        tokenizer: What decodes them.
        written: The ids.
        byte_level: Whether tokens are drawn in the byte-level alphabet.

    Raises:
        ConfigError: They make a text longer than `LONGEST`.
    """
    known: list[int] = []
    unknown: dict[str, None] = {}
    wrong: dict[str, None] = {}
    tokens = tokenizer.tokens
    for number, match in enumerate(_ITEM.finditer(written)):
        item = match.group()
        token = _whole_number(item)
        if token is None:
            wrong[item] = None
        elif tokens.in_use(token):
            known.append(token)
        else:
            unknown[item] = None
        if number % _IDS == _IDS - 1:
            yield Progress("reading ids", match.end(), len(written))
    ids = np.array(known, np.uint32)
    data, ends = yield from _spell_work(tokenizer, ids)
    # A library may make another text of ids than their tokens next to each other.
    decoded = data if tokenizer.library is None else (yield from tokenizer.decode_bytes_work(ids))
    problem = f"{_name_unknown(unknown)} {_name_wrong(wrong)}".strip()
    special = _special(tokenizer, ids)
    drawn = (yield from byte_level_work(data, ends, special)) if byte_level else None
    return DecodedIds(ids, data, ends, special, decoded.decode("utf-8", "replace"), problem, drawn)


def text_work(data: NDArray[np.uint8]) -> Work[tuple[str, bool]]:
    """Decodes UTF-8; what is none becomes U+FFFD, and the second value says whether there was any such byte."""
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
        raise ConfigError(
            f"The ids make {size / 1e6:,.0f} MB of text; at most {LONGEST // 1_000_000} MB can be shown as tokens."
        )


def utf8_work(text: str) -> Work[bytes]:
    """The UTF-8 of a text."""
    parts: list[bytes] = []
    begin = 0
    while begin < len(text):
        end = begin + _CHARACTERS
        if end < len(text) and 0xD800 <= ord(text[end - 1]) < 0xDC00:
            end += 1  # half of a pair of surrogates, whose other half belongs to it
        parts.append(to_utf8(text[begin:end]))
        begin = end
        yield Progress("encoding", begin, len(text))
    return b"".join(parts)


def _special(tokenizer: Tokenizer, ids: NDArray[np.uint32]) -> NDArray[np.bool_]:
    special = np.zeros(len(tokenizer.tokens), np.bool_)
    special[list(tokenizer.special_tokens.values())] = True
    return special[ids]


def _spell_work(tokenizer: Tokenizer, ids: NDArray[np.uint32]) -> Work[tuple[bytes, NDArray[np.int64]]]:
    """The bytes of ids that are in use, and where each token ends in them."""
    if not len(ids):
        return b"", np.zeros(0, np.int64)
    tokens = tokenizer.tokens
    distinct = np.flatnonzero(np.bincount(ids)).tolist()
    lengths = np.zeros(distinct[-1] + 1, np.int64)
    lengths[distinct] = [tokens.length(token) for token in distinct]
    ends = np.cumsum(lengths[ids])
    # Before any byte is made: a token can be as long as the corpus, and a person can ask for it many times.
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
    # Python refuses to read thousands of digits, and no id has more than ten.
    return int(item) if digits.isascii() and digits.isdigit() and len(digits) <= 20 else None


def _name_unknown(items: Iterable[str]) -> str:
    names = list(items)
    if len(names) == 1:
        return f"Id {names[0]} is not in the vocabulary."
    return f"Ids {_listed(names)} are not in the vocabulary." if names else ""


def _name_wrong(items: Iterable[str]) -> str:
    names = [f"“{item}”" if len(item) <= 20 else f"“{item[:20]}…”" for item in items]
    if len(names) == 1:
        return f"{names[0]} is not an id."
    return f"{_listed(names)} are not ids." if names else ""


def _listed(names: list[str]) -> str:
    more = len(names) - _NAMED
    if more > 0:
        return f"{', '.join(names[:_NAMED])} and {more:,} more"
    return f"{', '.join(names[:-1])} and {names[-1]}"
