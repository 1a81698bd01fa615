"""Text given as a string or as bytes, and its UTF-8."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os

Text = str | bytes


AnyPath = str | os.PathLike[str]


def to_utf8(text: Text) -> bytes:
    r"""Gives the UTF-8 of a text; bytes stay as they are.

    A pair of surrogates becomes its character and a lone one U+FFFD: `to_utf8("\ud83d\ude00")` is one emoji.
    """
    if isinstance(text, bytes):
        return text
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()


def is_utf8(raw: bytes) -> bool:
    """Whether some bytes are text."""
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True
