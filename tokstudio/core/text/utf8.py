"""Conversion of texts, given as strings or bytes, to UTF-8."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os

Text = str | bytes
AnyPath = str | os.PathLike[str]


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


def has_surrogates(text: str) -> bool:
    """Whether a string contains a surrogate, which no valid text does."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def bytes_of_character(first: int) -> int:
    """The bytes of a character of UTF-8 by its first one."""
    return 1 if first < 0xC0 else 2 if first < 0xE0 else 3 if first < 0xF0 else 4


def is_utf8(raw: bytes) -> bool:
    """Whether bytes are valid UTF-8."""
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


def lines_of(text: str) -> list[str]:
    """The lines of a text without their ends; unlike `splitlines`, no character but a line feed ends one."""
    lines = text.split("\n")
    return [line.removesuffix("\r") for line in (lines if lines[-1] else lines[:-1])]
