"""Whether tokens are white space, digits, several words or invalid UTF-8.

The flags of a long token follow from its parts, but for several words: only its first bytes are looked at.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

#: The number of first bytes kept of each token. A token with more is called long.
HEAD = 256

WHITE_SPACE = 1  # the flags of a token
NOT_UTF8 = 2
DIGITS = 4
WORDS = 8  # several, with white space between them

# Letters for runs of characters: s for white space, n for digits.
_SHAPES = {"", "s", "n", "sn", "ns", "sns"}
OTHER = "o"  # anything else
_SEPARATORS = re.compile("[\x1c-\x1f]")  # white space only for Python


class BytesLook(NamedTuple):
    """The description of a piece of UTF-8."""

    lead: bytes  # the rest of a character that starts before the piece
    shape: str  # the kinds of the whole characters
    trail: bytes  # the start of a character that continues after the piece


class Looks:
    """Computes the flags of a run's tokens in order; caches the descriptions of the long ones."""

    def __init__(self) -> None:
        self._long: dict[int, BytesLook | None] = {}
        self._same: dict[BytesLook | None, BytesLook | None] = {}

    def describe(
        self, heads: Sequence[bytes], base: Sequence[bytes], first: int, last: int, parts: NDArray[np.int32]
    ) -> bytes:
        """The flags of the tokens from `first` to `last`, exclusive; all before them must have been described.

        `heads` has the first bytes of each token by slot, `base` the tokens before any merge, and `parts`, int32
        [n, 2], the parts of those that are merges.
        """
        flags = bytearray(describe_token(head) for head in heads[first:last])
        for slot in range(first, min(last, len(base))):
            if len(base[slot]) > HEAD:
                flags[slot - first] = self._keep(slot, look_of(base[slot])) | _of_words(heads[slot])
        for slot, (left, right) in enumerate(pairs(parts), max(first, len(base))):
            if len(heads[slot]) == HEAD:
                look = _join(self._look(heads, left), self._look(heads, right))
                flags[slot - first] = self._keep(slot, look) | _of_words(heads[slot])
        return bytes(flags)

    def _look(self, heads: Sequence[bytes], slot: int) -> BytesLook | None:
        return self._long[slot] if slot in self._long else look_of(heads[slot])

    def _keep(self, slot: int, look: BytesLook | None) -> int:
        self._long[slot] = self._same.setdefault(look, look)
        return _flags(look)


def describe_token(raw: bytes) -> int:
    """The flags of a token."""
    if raw.isascii():
        return WHITE_SPACE if raw.isspace() else DIGITS if raw.strip().isdigit() else _of_words(raw)
    try:
        return _flags(BytesLook(b"", _shape(raw.decode("utf-8")), b"")) | _of_words(raw)
    except UnicodeDecodeError:
        return NOT_UTF8 | _of_words(raw)


def _of_words(raw: bytes) -> int:
    return WORDS if len(raw.split(None, 2)) > 1 else 0


def is_cut(begin: BytesLook | None, end: BytesLook | None) -> bool:
    """Whether the first and last bytes of a token already make it invalid UTF-8."""
    return begin is None or end is None or bool(begin.lead or end.trail)


def look_of(raw: bytes) -> BytesLook | None:
    """The description of bytes; None if they are not a piece of UTF-8."""
    start = 0
    while start < min(3, len(raw)) and raw[start] & 0xC0 == 0x80:
        start += 1
    whole, trail = raw[start:], b""
    try:
        text = whole.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.end != len(whole) or error.reason != "unexpected end of data":
            return None
        text, trail = whole[: error.start].decode("utf-8"), whole[error.start :]
    return BytesLook(raw[:start], _shape(text), trail)


def pairs(parts: NDArray[np.int32]) -> Iterator[tuple[int, int]]:
    """The rows of int32 [n, 2] as numbers; a list of lists would trigger garbage collections."""
    return zip(parts[:, 0].tolist(), parts[:, 1].tolist(), strict=True)


def _join(left: BytesLook | None, right: BytesLook | None) -> BytesLook | None:
    """The description of two pieces joined."""
    if left is None or right is None:
        return None
    if not left.shape and not left.trail:
        lead = left.lead + right.lead
        return BytesLook(lead, right.shape, right.trail) if len(lead) <= 3 else None
    middle = look_of(left.trail + right.lead)
    goes_on = not right.shape and not right.trail
    if middle is None or middle.lead or (middle.trail and not goes_on):
        return None
    trail = middle.trail if goes_on else right.trail
    return BytesLook(left.lead, _joined(left.shape, middle.shape, right.shape), trail)


def _shape(text: str) -> str:
    if text.isspace() and not _SEPARATORS.search(text):
        return "s"
    inner = text.strip()
    if not inner.isnumeric() or _SEPARATORS.search(text):
        return OTHER if text else ""
    return "s" * text[0].isspace() + "n" + "s" * text[-1].isspace()


def _joined(*shapes: str) -> str:
    made = ""
    for shape in shapes:
        made += shape[1:] if shape and made.endswith(shape[0]) else shape
    return made if made in _SHAPES else OTHER


def _flags(look: BytesLook | None) -> int:
    if look is None or is_cut(look, look):
        return NOT_UTF8
    return WHITE_SPACE if look.shape == "s" else DIGITS if "n" in look.shape else 0
