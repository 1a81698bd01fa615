"""minbpe's `NAME.vocab`: each token, and of merges the two parts, for people to read; no program reads it."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import codecs
import unicodedata
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tokstudio.core.alphabet import BYTES

if TYPE_CHECKING:
    from tokstudio.core.tokenizer import Tokenizer

_PIECE = 1 << 12


def vocabulary(tokenizer: Tokenizer) -> Iterator[bytes]:
    """The file in pieces: first bytes and merges, which have the ids 0, 1, 2 ..., then special tokens."""
    tokens, waiting = tokenizer.tokens, bytearray()
    for token in range(BYTES + len(tokenizer.merges)):
        made = tokens[token] or b""
        if parts := tokenizer.parts(token):
            middle = tokens.length(parts[0])
            yield from _bracketed(made[:middle], waiting)
            yield from _bracketed(made[middle:], waiting)
            waiting += b" -> "
        yield from _bracketed(made, waiting)
        waiting += b" %d\n" % token
    for special, token in tokenizer.special_tokens.items():
        yield from _bracketed(special.encode(), waiting)
        waiting += b" %d\n" % token
    yield bytes(waiting)


def _bracketed(token: bytes, waiting: bytearray) -> Iterator[bytes]:
    """Adds a token to what is waiting, and gives that away whenever it is enough."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    waiting += b"["
    for start in range(0, len(token), _PIECE):
        piece = decoder.decode(token[start : start + _PIECE], final=start + _PIECE >= len(token))
        waiting += (piece if piece.isprintable() else "".join(map(_printed, piece))).encode()
        if len(waiting) > _PIECE:
            yield bytes(waiting)
            waiting.clear()
    waiting += b"]"


def _printed(character: str) -> str:
    is_control = unicodedata.category(character).startswith("C")
    return f"\\u{ord(character):04x}" if is_control else character
