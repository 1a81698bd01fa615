"""The text of tokens in tables and on the clipboard: text, or bytes where they are not valid text."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import NamedTuple

from tokstudio.core.base.wording import whole_text
from tokstudio.core.text.byte_level import to_characters
from tokstudio.gui.token_text.pieces import Kind, beginning, describe, hexadecimal, standing

#: The most bytes of a token in a table.
SHOWN_BYTES = 60
CUT = "…"

#: The marks of white space wherever tokens are written; the painter of texts draws the same signs.
MARKS = {" ": "·", "\n": "↵", "\r": "←", "\t": "⇥"}
OTHER_SPACE = "␣"
_ESCAPES = str.maketrans({"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"})


class Shown(NamedTuple):
    """A token as it is drawn: its text without marks, or its bytes in hexadecimal."""

    text: str
    kind: Kind


def shown(head: bytes, limit: int = SHOWN_BYTES) -> Shown:
    r"""Returns the text of a token: `b" a"` -> `" a"`, `b"\xe2\x80"` -> `"E2 80"`.

    Args:
        head: The token, or its first bytes: more than `limit` of them if it is longer than that.
        limit: The most bytes before it is cut.
    """
    text, kind = describe(whole_characters(head, limit))
    if kind != "bytes":
        text = standing(text)
    if len(head) <= limit:
        return Shown(text, kind)
    return Shown(f"{text} {CUT}" if kind == "bytes" else text + CUT, "bytes" if kind == "bytes" else "text")


def in_characters(head: bytes, limit: int = SHOWN_BYTES) -> Shown:
    """Returns a token in the byte-level alphabet, cut like `shown`: `b" a"` -> `"Ġa"`."""
    text = to_characters(head[:limit])
    return Shown(text if len(head) <= limit else text + CUT, "text")


def marked(token: Shown) -> str:
    """Replaces each white space character in the text of a token by its mark."""
    if token.kind == "bytes" or token.text.isalnum():
        return token.text
    return "".join(mark_of(character) or character for character in token.text)


def mark_of(character: str) -> str:
    """The mark of a white space character; "" for any other character."""
    if character.isspace():
        return MARKS.get(character, OTHER_SPACE)
    return ""


def copied(raw: bytes) -> str:
    r"""Writes a token for the clipboard: line ends and tabs as `\n` and `\t`, invalid UTF-8 as hexadecimal."""
    text, kind = describe(raw)
    return text if kind == "bytes" else text.translate(_ESCAPES)


def whole_characters(head: bytes, limit: int) -> bytes:
    """Returns the first `limit` bytes, or fewer so as not to cut a character or a grapheme.

    Args:
        head: A token, or its first bytes: at least four more than `limit` of them if it is that long.
        limit: The most bytes.
    """
    if len(head) <= limit:
        return head
    end = limit
    while end > limit - 3 and head[end] & 0xC0 == 0x80:
        end -= 1
    if head[end] & 0xC0 == 0x80:
        return head[:limit]
    try:
        text = head[:end].decode()
    except UnicodeDecodeError:
        return head[:end]
    # The character after it decides whether the last grapheme continues.
    return beginning(text + head[end : end + 4].decode("utf-8", "ignore")[:1], len(text)).encode()


def hex_head(head: bytes, limit: int) -> str:
    """Returns the bytes of a token in hexadecimal, cut after `limit` of them."""
    return hexadecimal(head) if len(head) <= limit else f"{hexadecimal(head[:limit])} {CUT}"


def figure(value: int | None, scale: int = 1) -> str:
    """Formats a number, in units of 1 / `scale`, as a whole number for a table; a dash if it is not known."""
    return "–" if value is None else whole_text(value, scale)
