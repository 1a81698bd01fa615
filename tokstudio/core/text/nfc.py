"""The normalization form C of UTF-8 text, by Unicode 9.0 as in the `tokenizers` library: where it changes a text.

Python's `unicodedata` follows newer versions, which differ only for characters that came later. To Unicode 9.0 these
neither combine with others nor change, so text is normalized separately on either side of them.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from tokstudio.core.text.unicode_classes import LOWER, OTHER, UPPER, classes

if TYPE_CHECKING:
    from numpy.typing import NDArray

_PIECE = 1 << 15  # bytes to look at together
_ASCII = re.compile(rb"[\x00-\x7f]")
_MARK = OTHER | UPPER | LOWER
_VOWELS_AND_FINALS = slice(0x1160, 0x1200)  # of Korean syllables
_UNCHANGED = 0x300  # no smaller code point changes by itself

Change = tuple[int, int, bytes]  # the start and end of what is replaced, in bytes, and the replacement


def nfc_changes(raw: bytes) -> Iterator[Change | None]:
    """Yields, in order, what the normalization replaces; None after every piece of text.

    Each replaced part begins with a character that does not combine with those before it. Bytes that are not UTF-8
    stay, and combine with nothing.
    """
    start = 0
    while start < len(raw):
        # Before ASCII characters, nothing combines.
        after = _ASCII.search(raw, start + _PIECE)
        stop = after.start() if after else len(raw)
        piece = raw[start:stop]
        text = "" if piece.isascii() else piece.decode("utf-8", "surrogateescape")
        # What newer versions leave as it is, Unicode 9.0 leaves too.
        if not unicodedata.is_normalized("NFC", text):
            place, last = start, 0
            for first, end in _parts(text):
                part = text[first:end]
                normalized = unicodedata.normalize("NFC", part)
                if normalized != part:
                    place += _size(text[last:first])
                    behind = place + _size(part)
                    yield place, behind, _bytes(normalized)
                    place, last = behind, end
        yield None
        start = stop


def nfc(text: str) -> str:
    """The normalization form C of a text by Unicode 9.0."""
    raw = _bytes(text)
    parts, at = list[bytes](), 0
    for change in filter(None, nfc_changes(raw)):
        parts += (raw[at : change[0]], change[2])
        at = change[1]
    return b"".join([*parts, raw[at:]]).decode("utf-8", "surrogateescape")


def _parts(text: str) -> Iterator[tuple[int, int]]:
    """Yields the start and end of each part of a text that the normalization may change, by itself."""
    later, joining = _tables()
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")
    begins = ~joining[points]
    begins[1:] |= later[points[:-1]]
    starts = np.flatnonzero(begins | (np.arange(len(points)) == 0))
    ends = np.append(starts[1:], len(points))
    distinct = np.unique(points)
    alone = [point for point in distinct[distinct >= _UNCHANGED].tolist() if not later[point] and _changes(chr(point))]
    chosen = (ends > starts + 1) | np.isin(points[starts], alone)
    return zip(starts[chosen].tolist(), ends[chosen].tolist(), strict=True)


def _changes(character: str) -> bool:
    return unicodedata.normalize("NFC", character) != character


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _size(text: str) -> int:
    return len(_bytes(text))


@cache
def _tables() -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """For each code point, whether it came later, and whether it may combine with what precedes it."""
    later = np.zeros(0x110000, np.bool_)
    for entry in _LATER.split():
        first, _, last = entry.partition("-")
        later[int(first, 16) : int(last or first, 16) + 1] = True
    joining = classes() == _MARK
    joining[_VOWELS_AND_FINALS] = True
    return later, joining & ~later


# Ranges of code points, hexadecimal: all that Unicode 14.0 has not assigned, those whose normalization is newer than
# Unicode 9.0, and, to join ranges, some that no normalization changes.
_LATER = """
378-379 380-383 38b 38d 3a2 530-590 5c8-5cf 5eb-5ee 5f5-5ff 70e 74b-7bf 7fb-7fd 82e-83f 85c-8d3 984-992 9a9 9b1-9bb
9c5-9c6 9c9-9ca 9cf-9d6 9d8-9db 9de 9e4-a12 a29 a31 a34 a37 a3a-a3b a3d-a4a a4e-a58 a5d a5f-abb ac6-aca ace-b12
b29-b3b b45-b46 b49-b4a b4e-b54 b58-b5b b5e-b91 b96-bbd bc3-bc5 bc9 bce-bd6 bd8-c45 c49 c4e-c54 c57-cbb cc5 cc9 cce-
cd4 cd7-d3c d45 d49 d50-d53 d64-dc9 dcb-dce dd5-dd7 de0-e00 e3b-e3e e5c-ea6 eba-ec7 ece-eff f48 f6d-f70 f98 fbd fcd-
fff 10c6-10cf 1249-135c 137d-16ff 1715-171e 1737-177f 17de-187f 18ab-192f 193c-19dd 1a1c-1a5f 1a7d-1a7e 1a8a-1aaf
1abf-1aff 1b4d-1b4f 1b7f 1bf4-1bfb 1c38-1ccf 1cfb-1cff 1df6-1dfa 1f16-1f17 1f1e-1f1f 1f46-1f47 1f4e-1f4f 1f58 1f5a
1f5c 1f5e 1f7e-1f7f 1fb5 1fc5 1fd4-1fd5 1fdc 1ff0-1ff1 1ff5 1fff 2065-20cf 20f1-20ff 218c-218f 2427-245f 2b74-2b96
2cf4-2d7e 2d97-2ddf 2e5e-2fff 3040 3097-3098 3100-321f a48d-a63f a6f8-a7f1 a82c-a87f a8c6-a8df a954-a97f a9ce-aa5b
aac3-aada aaf7-ab6f abee-abff d7a4-d7ff fa6e-fa6f fada-fb1c fb37 fb3d fb3f fb42 fb45 fbc3-fe1f fe53-101cf 101fe-102df
102fc-1034f 1037b-10a0b 10a14-10a37 10a3b-10a3e 10a49-10abf 10ae7-10fff 1104e-1107e 110c3-110ff 11135-1114f
11177-1117f 111e0-11212 1123f-112af 112eb-1133b 11345-11346 11349-1134a 1134e-11356 11358-11365 1136d-1136f
11375-113ff 1145c-1147f 114c8-1157f 115b6-115b7 115de-115ff 11645-1167f 116ba-1171c 1172c-11c37 11c46-16aef
16af6-16aff 16b46-1bc9b 1bca4-1d128 1d1eb-1d1ff 1d246-1dfff 1e007 1e019-1e01a 1e022 1e025 1e02b-1e8c6 1e8d7-1e8ff
1e94c-1ffff 2a6e0-2f7ff 2fa1e-10ffff
"""
