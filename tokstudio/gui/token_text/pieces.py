"""Turns tokens into the pieces that are drawn: one token each, except where tokens share a grapheme.

No Qt and no measuring. See also `rows.py` and `token_view.py`.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Literal

import numpy as np
import regex
from numpy.typing import NDArray

Kind = Literal["text", "space", "bytes"]

#: The most tokens of a grapheme that are shown together. An untrained family of four has 25 bytes.
SHARED_LIMIT = 32
COLOURS = 8
#: The base of a combining mark without a letter.
CIRCLE = "\u25cc"

PLAIN = 1  # flag: printable ASCII, tabs and newlines only, so that each byte is one cell wide
ENDS_ROW = 2  # flag: it contains a newline
SPECIAL = 4  # flag: it is a special token, which shares its piece with no other

_GRAPHEME = regex.compile(r"\X")
# Without any of these, every border of characters is a border of graphemes (UAX 29, rules GB3 to GB13).
_JOINING = regex.compile(r"[^\p{GCB=XX}\p{GCB=CN}\p{GCB=LF}\p{GCB=LV}\p{GCB=LVT}]")
_CONTROL = regex.compile(r"[\p{Cc}--[\t\n\r\x85]]", regex.VERSION1)
_INVISIBLE = regex.compile(r"[\p{Default_Ignorable_Code_Point}\p{Cf}]+")

_NOT_PLAIN = np.ones(256, dtype=bool)
_NOT_PLAIN[0x20:0x7F] = False
_NOT_PLAIN[[0x09, 0x0A]] = False


@dataclass(frozen=True, slots=True)
class Piece:
    """The text of one box.

    Attributes:
        start: Its first byte in the text.
        end: The byte after its last.
        first: Its first token, counted from 0.
        count: The number of its tokens: 1, or as many as share its graphemes.
        text: The text to show; for kind "bytes" the bytes, as in `E2 80`.
        kind: "space" if all of it is white space, "bytes" if it cannot be shown as text.
    """

    start: int
    end: int
    first: int
    count: int
    text: str
    kind: Kind


class PieceTable:
    """The pieces of a short text.

    Piece i holds the tokens `first[i]` to `first[i + 1] - 1`; token t holds the bytes `edges[t]` to `edges[t + 1] - 1`.

    Args:
        data: The whole text.
        edges: int64 [tokens + 1], the start of each token, and the end of the last.
        ids: The id of every token.
        special: Whether each token is special.

    Attributes:
        count: The number of pieces.
        first: int64 [count + 1], see above.
        flags: uint8 [count], `PLAIN`, `ENDS_ROW` and `SPECIAL`.
        colours: uint8 [count], different for neighbours.
    """

    def __init__(
        self, data: bytes, edges: NDArray[np.int64], ids: NDArray[np.uint32], special: NDArray[np.bool_]
    ) -> None:
        self.data = data
        self.edges = edges
        self.ids = ids
        starts = np.flatnonzero(self._opens(special))
        self.count = len(starts)
        self.first = np.append(starts, len(ids))
        self.flags = self._find_flags(special[starts])
        self.colours = self._find_colours()

    def piece(self, index: int) -> Piece:
        """Returns piece `index` with its text decoded."""
        first, after = int(self.first[index]), int(self.first[index + 1])
        start, end = int(self.edges[first]), int(self.edges[after])
        text, kind = describe(self.data[start:end])
        return Piece(start, end, first, after - first, text, kind)

    def index_of(self, token: int) -> int:
        """Returns the index of the piece with `token`."""
        return int(np.searchsorted(self.first[:-1], token, side="right")) - 1

    def raw(self, index: int) -> bytes:
        """Returns the bytes of piece `index`."""
        return self.data[self.edges[self.first[index]] : self.edges[self.first[index + 1]]]

    def _opens(self, special: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Whether a piece begins with each token."""
        edges, opens = self.edges, np.ones(len(self.ids), np.bool_)
        whole = grapheme_edges(self.data)
        empty = edges[1:] == edges[:-1]
        if whole is None and not empty.any():
            return opens
        if whole is not None:
            opens[1:] = whole[edges[1:-1]] | special[1:] | special[:-1]
        # An empty token joins the piece before it; at the beginning of the text, the piece after it.
        opens[1:] &= ~empty[1:]
        if empty[0]:
            opens[1 : int(np.argmin(empty)) + 1] = False
        group = np.cumsum(opens) - 1
        return opens | (np.bincount(group)[group] > SHARED_LIMIT)

    def _find_flags(self, special: NDArray[np.bool_]) -> NDArray[np.uint8]:
        edges, values = self.edges[self.first], np.frombuffer(self.data, np.uint8)
        plain = _counts(_NOT_PLAIN[values], edges) == 0
        newline = _counts(values == 0x0A, edges) > 0
        return plain * np.uint8(PLAIN) + newline * np.uint8(ENDS_ROW) + special * np.uint8(SPECIAL)

    def _find_colours(self) -> NDArray[np.uint8]:
        # A piece has the colour of its first id. In a run of equal colours, every second piece takes another one,
        # which also differs from the colour after the run; so neighbours always differ.
        here = _hashes(self.ids[self.first[:-1]])
        following = np.append(here, here[-1:] + 1)[1:] % COLOURS
        index = np.arange(self.count)
        changed = np.append(True, here[1:] != here[:-1])[: self.count]
        run = np.maximum.accumulate(np.where(changed, index, 0))
        other = (here + 3) % COLOURS
        other = np.where(other == following, (here + 5) % COLOURS, other)
        return np.where((index - run) % 2 == 1, other, here)


def describe(raw: bytes) -> tuple[str, Kind]:
    r"""Returns the text and the kind of a piece with these bytes.

    `b" a"` -> `(" a", "text")`, `b"\n"` -> `("\n", "space")`, `b"\xe2\x80"` -> `("E2 80", "bytes")`; also bytes
    if the text has control characters or nothing visible.
    """
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        return hexadecimal(raw), "bytes"
    if _CONTROL.search(text) or _INVISIBLE.fullmatch(text):
        return hexadecimal(raw), "bytes"
    return text, "space" if text.isspace() else "text"


def standing(text: str) -> str:
    """Makes a text fit to stand alone: a mark at its beginning gets a dotted circle, as in character tables."""
    return CIRCLE + text if unicodedata.category(text[:1] or " ").startswith("M") else text


def beginning(text: str, most: int) -> str:
    """The first `most` characters, or fewer so as not to cut a grapheme such as a flag."""
    if len(text) <= most or text.isascii():
        return text[:most]
    kept = 0
    for grapheme in _GRAPHEME.finditer(text):
        if grapheme.end() > most:
            break
        kept = grapheme.end()
    return text[: kept or most]


def ending(text: str, most: int) -> str:
    """The last `most` characters, or fewer so as not to cut a grapheme."""
    first = len(text) - most
    if first <= 0 or text.isascii():
        return text[max(first, 0) :]
    starts = (grapheme.start() for grapheme in _GRAPHEME.finditer(text))
    return text[next((start for start in starts if start >= first), first) :]


def hexadecimal(raw: bytes) -> str:
    r"""Returns bytes in hexadecimal: `b"\xe2\x80"` -> `"E2 80"`."""
    return raw.hex(" ").upper()


def _hashes(ids: NDArray[np.uint32]) -> NDArray[np.uint8]:
    # Fibonacci hashing: the top three bits of id times 2^32 over the golden ratio; neighbouring ids get distant values.
    return ((ids.astype(np.uint64) * np.uint64(2654435769) & np.uint64(0xFFFFFFFF)) >> np.uint64(29)).astype(np.uint8)


def _counts(marked: NDArray[np.bool_], edges: NDArray[np.int64]) -> NDArray[np.int64]:
    total = np.concatenate([np.zeros(1, np.int64), np.cumsum(marked)])
    return np.diff(total[edges])


def grapheme_edges(chunk: bytes) -> NDArray[np.bool_] | None:
    """Whether a grapheme begins at each byte of `chunk`, and at its end; None: at every character."""
    if chunk.isascii() and b"\r\n" not in chunk:
        return None
    # An invalid byte becomes a lone surrogate, which is a grapheme of its own.
    text = chunk.decode("utf-8", "surrogateescape")
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
    escaped = (points >= 0xDC80) & (points <= 0xDCFF)
    sizes = 1 + ((points >= 0x80) & ~escaped) + ((points >= 0x800) & ~escaped) + (points >= 0x10000)
    edges = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    if _JOINING.search(text):
        edges = edges[np.cumsum([0, *map(len, _GRAPHEME.findall(text))])]
    result = np.zeros(len(chunk) + 1, dtype=bool)
    result[edges] = True
    return result
