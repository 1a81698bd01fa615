"""Conversion of texts, given as strings or bytes, to UTF-8."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
from typing import cast

import numpy as np
from numpy.typing import NDArray

Text = str | bytes
AnyPath = str | os.PathLike[str]

JOINED = 1 << 22  # characters of texts that are encoded together, for whose places there are arrays


def to_utf8(text: Text) -> bytes:
    r"""The UTF-8 of a string; bytes are returned unchanged.

    A pair of surrogates becomes its character, a lone one U+FFFD: `to_utf8("\ud83d\ude00")` is one emoji.
    """
    if isinstance(text, bytes):
        return text
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()


def all_to_utf8(texts: list[Text]) -> list[bytes]:
    """The UTF-8 of each text, as of `to_utf8`."""
    try:
        return list(map(str.encode, texts))  # pyright: ignore[reportArgumentType]
    except (TypeError, UnicodeEncodeError):  # bytes, or a surrogate
        return list(map(to_utf8, texts))


def joined_utf8(texts: list[Text]) -> tuple[bytes, NDArray[np.int64], bool]:
    """The UTF-8 of texts one after another, see `to_utf8`; int64 [texts], the bytes of each; whether all are valid."""
    joined = ""
    try:
        joined = "".join(cast("list[str]", texts))
        raw = joined.encode() if len(joined) <= JOINED else None
    except (TypeError, UnicodeEncodeError):  # bytes, or a surrogate
        raw = None
    if raw is None:
        raws = all_to_utf8(texts)
        is_valid = bool(joined) or all(map(is_utf8, raws))  # bytes are not joined
        return b"".join(raws), np.fromiter(map(len, raws), np.int64, len(raws)), is_valid
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    if len(raw) == len(joined):
        return raw, lengths, True
    starts = np.flatnonzero((np.frombuffer(raw + b"\0", np.uint8) & 0xC0) != 0x80)
    return raw, np.diff(starts[np.cumsum(lengths)], prepend=0), True


def has_surrogates(text: str) -> bool:
    """Whether a string contains a surrogate, which no valid text does."""
    return any("\ud800" <= character <= "\udfff" for character in text)


def is_utf8(raw: bytes) -> bool:
    """Whether bytes are valid UTF-8."""
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True
