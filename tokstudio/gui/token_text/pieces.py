"""Turns tokens into the pieces that are drawn: one token each, except where tokens share a grapheme.

No Qt and no measuring here. See also `rows.py` and `token_view.py`.
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

#: More tokens than this in one grapheme are shown one by one. A family of four, untrained, is 25 bytes.
SHARED_LIMIT = 32
COLOURS = 8
#: What a mark stands on that has no letter.
CIRCLE = "\u25cc"

PLAIN = 1  # flag of a piece: printable ASCII, tabs and newlines alone, so one cell a byte
ENDS_ROW = 2  # flag of a piece: it holds a newline
SPECIAL = 4  # flag of a piece: it is a special token, which shares its piece with no other

_GRAPHEME = regex.compile(r"\X")
# Without one of these every border between characters is one between graphemes (UAX 29, rules GB3 to GB13).
_JOINING = regex.compile(r"[^\p{GCB=XX}\p{GCB=CN}\p{GCB=LF}\p{GCB=LV}\p{GCB=LVT}]")
_CONTROL = regex.compile(r"[\p{Cc}--[\t\n\r\x85]]", regex.VERSION1)
_INVISIBLE = regex.compile(r"[\p{Default_Ignorable_Code_Point}\p{Cf}]+")

_NOT_PLAIN = np.ones(256, dtype=bool)
_NOT_PLAIN[0x20:0x7F] = False
_NOT_PLAIN[[0x09, 0x0A]] = False


@dataclass(frozen=True, slots=True)
class Piece:
    """What is drawn as one box.

    Attributes:
        start: Its first byte in the text.
        end: The byte after its last.
        first: Its first token, counted from 0.
        count: How many tokens it holds: 1, or as many as share its graphemes.
        text: The text to show; for kind "bytes" the bytes, as in `E2 80`.
        kind: "space" where all of it is white space, "bytes" where it cannot be shown as text.
    """

    start: int
    end: int
    first: int
    count: int
    text: str
    kind: Kind


class PieceTable:
    """The pieces of one text that is not long.

    Piece i holds the tokens `first[i]` to `first[i + 1] - 1`; token t holds the bytes `edges[t]` to `edges[t + 1] - 1`.

    Args:
        data: The whole text.
        edges: int64 [tokens + 1], where each token begins, and the end of the last.
        ids: For every token its id.
        special: For every token whether it is a special one.

    Attributes:
        count: How many pieces there are.
        first: int64 [count + 1], see above.
        flags: uint8 [count], `PLAIN`, `ENDS_ROW` and `SPECIAL`.
        colours: uint8 [count], no two neighbours alike.
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
        """Gives piece `index`, with its text decoded."""
        first, after = int(self.first[index]), int(self.first[index + 1])
        start, end = int(self.edges[first]), int(self.edges[after])
        text, kind = describe(self.data[start:end])
        return Piece(start, end, first, after - first, text, kind)

    def index_of(self, token: int) -> int:
        """Gives the piece that holds `token`."""
        return int(np.searchsorted(self.first[:-1], token, side="right")) - 1

    def raw(self, index: int) -> bytes:
        """Gives the bytes of piece `index`."""
        return self.data[self.edges[self.first[index]] : self.edges[self.first[index + 1]]]

    def _opens(self, special: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Tells of each token whether a piece begins with it."""
        edges, opens = self.edges, np.ones(len(self.ids), np.bool_)
        whole = _grapheme_edges(self.data)
        empty = edges[1:] == edges[:-1]
        if whole is None and not empty.any():
            return opens
        if whole is not None:
            opens[1:] = whole[edges[1:-1]] | special[1:] | special[:-1]
        # A token without text of its own belongs to what it was made of, before it; at the very beginning, behind.
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
        # A piece has the colour of its first id. In a run of equal colours every second piece takes another one,
        # which differs from the colour that follows the run as well; so no two neighbours are ever alike.
        here = _hashes(self.ids[self.first[:-1]])
        following = np.append(here, here[-1:] + 1)[1:] % COLOURS
        index = np.arange(self.count)
        changed = np.append(True, here[1:] != here[:-1])[: self.count]
        run = np.maximum.accumulate(np.where(changed, index, 0))
        other = (here + 3) % COLOURS
        other = np.where(other == following, (here + 5) % COLOURS, other)
        return np.where((index - run) % 2 == 1, other, here)


def describe(raw: bytes) -> tuple[str, Kind]:
    r"""Gives how a piece of these bytes reads and what kind it is.

    `b" a"` -> `(" a", "text")`, `b"\n"` -> `("\n", "space")`, `b"\xe2\x80"` -> `("E2 80", "bytes")`; bytes as well
    where the text has control characters, or nothing that could be seen.
    """
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        return hexadecimal(raw), "bytes"
    if _CONTROL.search(text) or _INVISIBLE.fullmatch(text):
        return hexadecimal(raw), "bytes"
    return text, "space" if text.isspace() else "text"


def standing(text: str) -> str:
    """A text that can stand alone: a mark at its beginning stands on a dotted circle, as in every character table."""
    return CIRCLE + text if unicodedata.category(text[:1] or " ").startswith("M") else text


def beginning(text: str, most: int) -> str:
    """The first `most` characters, or fewer where a grapheme would be cut: no half of a flag."""
    if len(text) <= most or text.isascii():
        return text[:most]
    kept = 0
    for grapheme in _GRAPHEME.finditer(text):
        if grapheme.end() > most:
            break
        kept = grapheme.end()
    return text[: kept or most]


def ending(text: str, most: int) -> str:
    """The last `most` characters, or fewer where a grapheme would be cut."""
    first = len(text) - most
    if first <= 0 or text.isascii():
        return text[max(first, 0) :]
    starts = (grapheme.start() for grapheme in _GRAPHEME.finditer(text))
    return text[next((start for start in starts if start >= first), first) :]


def hexadecimal(raw: bytes) -> str:
    r"""Gives bytes as people read them: `b"\xe2\x80"` -> `"E2 80"`."""
    return raw.hex(" ").upper()


def _hashes(ids: NDArray[np.uint32]) -> NDArray[np.uint8]:
    # Fibonacci hashing: the top three bits of id times 2^32 over the golden ratio; neighbouring ids lie far apart.
    return ((ids.astype(np.uint64) * np.uint64(2654435769) & np.uint64(0xFFFFFFFF)) >> np.uint64(29)).astype(np.uint8)


def _counts(marked: NDArray[np.bool_], edges: NDArray[np.int64]) -> NDArray[np.int64]:
    total = np.concatenate([np.zeros(1, np.int64), np.cumsum(marked)])
    return np.diff(total[edges])


def _grapheme_edges(chunk: bytes) -> NDArray[np.bool_] | None:
    """Tells for each byte of `chunk`, and for its end, whether a grapheme begins there; None: wherever you look."""
    if chunk.isascii() and b"\r\n" not in chunk:
        return None
    # A byte that is no UTF-8 becomes a lone surrogate, which is a grapheme of its own.
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
