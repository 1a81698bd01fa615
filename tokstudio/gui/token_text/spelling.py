"""How tokens are written in tables and on the clipboard: as text, or as bytes where they are no text of their own.

Which tokens there are is `tokens.py`'s matter, the colour of the marks the delegate's.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import NamedTuple

from tokstudio.core.text.byte_level import to_characters
from tokstudio.gui.token_text.pieces import Kind, beginning, describe, hexadecimal, standing

#: Bytes of a token that a table shows.
SHOWN_BYTES = 60
CUT = "…"

#: What stands for white space wherever tokens are words; the painter of texts draws the same signs.
MARKS = {" ": "·", "\n": "↵", "\r": "←", "\t": "⇥"}
OTHER_SPACE = "␣"
_ESCAPES = str.maketrans({"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"})


class Shown(NamedTuple):
    """A token as it is drawn: its text without marks, or its bytes in hexadecimal."""

    text: str
    kind: Kind


def shown(head: bytes, limit: int = SHOWN_BYTES) -> Shown:
    r"""Gives how a token reads: `b" a"` -> `" a"`, `b"\xe2\x80"` -> `"E2 80"`.

    Args:
        head: The token, or its first bytes: more than `limit` of them where it is longer than that.
        limit: How many bytes are shown before it is cut.
    """
    text, kind = describe(whole_characters(head, limit))
    if kind != "bytes":
        text = standing(text)
    if len(head) <= limit:
        return Shown(text, kind)
    return Shown(f"{text} {CUT}" if kind == "bytes" else text + CUT, "bytes" if kind == "bytes" else "text")


def in_characters(head: bytes, limit: int = SHOWN_BYTES) -> Shown:
    """Gives a token in the byte-level alphabet, cut like `shown`: `b" a"` -> `"Ġa"`."""
    text = to_characters(head[:limit])
    return Shown(text if len(head) <= limit else text + CUT, "text")


def marked(token: Shown) -> str:
    """Gives a token's text with a mark for each character of white space, one for one."""
    if token.kind == "bytes" or token.text.isalnum():
        return token.text
    return "".join(mark_of(character) or character for character in token.text)


def mark_of(character: str) -> str:
    """Gives the mark of a character of white space; "" for any other character."""
    if character.isspace():
        return MARKS.get(character, OTHER_SPACE)
    return ""


def copied(raw: bytes) -> str:
    r"""Gives a token for a table on the clipboard: line ends and tabs as `\n` and `\t`, no UTF-8 as hexadecimal."""
    text, kind = describe(raw)
    return text if kind == "bytes" else text.translate(_ESCAPES)


def whole_characters(head: bytes, limit: int) -> bytes:
    """Gives the first `limit` bytes, or fewer where a character or a grapheme would be cut; all where there are fewer.

    Args:
        head: A token, or its first bytes: at least four more than `limit` of them where it is as long as that.
        limit: How many bytes there may be.
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
    # Whether the last grapheme goes on, the character behind it says.
    return beginning(text + head[end : end + 4].decode("utf-8", "ignore")[:1], len(text)).encode()


def hex_head(head: bytes, limit: int) -> str:
    """Gives the bytes of a token in hexadecimal, cut after `limit` of them."""
    return hexadecimal(head) if len(head) <= limit else f"{hexadecimal(head[:limit])} {CUT}"


def figure(value: int | None) -> str:
    """Gives a whole number as tables show it; a dash for one that is not known."""
    return "–" if value is None else f"{value:,}"
