"""The byte-level alphabet: each of the 256 bytes as one printable character, as GPT-2 introduced it.

Bytes 33-126, 161-172 and 174-255 stand for themselves; the other 68 follow in order from U+0100. Hugging Face's
`tokenizers` numbers bytes in the order of these characters.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import codecs

_THEMSELVES = (*range(33, 127), *range(161, 173), *range(174, 256))
_OTHERS = tuple(byte for byte in range(256) if byte not in _THEMSELVES)

CHARACTER_OF = {byte: chr(byte) for byte in _THEMSELVES} | {byte: chr(256 + i) for i, byte in enumerate(_OTHERS)}
BYTE_OF = {character: byte for byte, character in CHARACTER_OF.items()}

# Tables of the two directions, for loops in C.
_DECODES = "".join(map(CHARACTER_OF.__getitem__, range(256)))
_ENCODES = codecs.charmap_build(_DECODES)

# By byte: its position when all 256 are sorted by their characters.
_SORTED = sorted(range(256), key=CHARACTER_OF.__getitem__)
BYTE_ORDER = tuple(map(_SORTED.index, range(256)))


def to_characters(token: bytes) -> str:
    """`to_characters(b" the")` is `"Ġthe"`."""
    return codecs.charmap_decode(token, "strict", _DECODES)[0]  # pyright: ignore[reportArgumentType]


def to_bytes(characters: str) -> bytes:
    """The inverse of `to_characters`; raises KeyError for a character outside the alphabet."""
    try:
        return codecs.charmap_encode(characters, "strict", _ENCODES)[0]
    except UnicodeEncodeError as error:
        raise KeyError(characters[error.start]) from None
