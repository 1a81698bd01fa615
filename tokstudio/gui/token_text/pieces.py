"""Turns tokens into the pieces that are drawn: one token each, except where tokens share a grapheme.

No Qt and no measuring here: `token_rows.py` puts the pieces into rows, `token_view.py` shows them.
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
    """The pieces of one text, found a stretch at a time: `extend` until `complete`.

    Piece i holds the tokens `first[i]` to `first[i + 1] - 1`; token t holds the bytes `edges[t]` to `edges[t + 1] - 1`.
    Arrays are filled up to `count` and longer than that.

    Args:
        data: The whole text.
        ends: For every token the byte after its last one, ascending; the last is the length of the text.
        ids: For every token its id.
        special: For every token whether it is a special one; None where none is.
    """

    def __init__(
        self,
        data: bytes,
        ends: NDArray[np.int64],
        ids: NDArray[np.uint32],
        special: NDArray[np.bool_] | None = None,
    ) -> None:
        self.edges = edges_of(data, ends, ids)
        self.data = data
        self.ids = ids
        self.tokens = len(ids)
        self.special = np.zeros(len(ids), np.bool_) if special is None else special
        self.count = 0
        self.first = np.zeros(self.tokens + 1, dtype=np.int32)
        self.flags = np.zeros(self.tokens, dtype=np.uint8)
        self.colours = np.zeros(self.tokens, dtype=np.uint8)
        self._run = 0  # where the run of pieces of one colour began that the last piece belongs to

    @property
    def done(self) -> int:
        """How many tokens have their piece."""
        return int(self.first[self.count])

    @property
    def complete(self) -> bool:
        """Whether every token has its piece."""
        return self.done == self.tokens

    def extend(self, tokens: int = 4096) -> None:
        """Finds the pieces of about the next `tokens` tokens."""
        # Enough at once for a whole group to be seen: it ends in this stretch, or it is larger than the limit.
        tokens = max(tokens, 2 * SHARED_LIMIT)
        begin, end = self.done, self._character_end(min(self.done + tokens, self.tokens))
        if begin == end:
            return
        chunk = self.data[self.edges[begin] : self.edges[end]]
        edges = self.edges[begin : end + 1] - self.edges[begin]
        opens = np.ones(end - begin, dtype=bool)
        whole = _grapheme_edges(chunk)
        empty = edges[1:] == edges[:-1]
        if whole is not None or empty.any():
            special = self.special[begin:end]
            if whole is not None:
                opens[1:] = whole[edges[1:-1]] | special[1:] | special[:-1]
            # A token without text of its own belongs to what it was made of, before it; at the very beginning, behind.
            opens[1:] &= ~empty[1:]
            if begin == 0 and empty[0]:
                opens[1 : int(np.argmin(empty)) + 1] = False
            # The last group may go on beyond this stretch: it waits for the next one.
            last = int(np.flatnonzero(opens)[-1])
            if end < self.tokens and last > 0:
                opens, edges = opens[:last], edges[: last + 1]
            group = np.cumsum(opens) - 1
            opens |= np.bincount(group)[group] > SHARED_LIMIT
        starts = np.flatnonzero(opens)
        old, self.count = self.count, self.count + len(starts)
        self.first[old : self.count] = starts + begin
        self.first[self.count] = begin + len(opens)
        self._set_flags(old, chunk, edges[np.append(starts, len(opens))])
        self._set_colours(old)

    def piece(self, index: int) -> Piece:
        """Gives piece `index`, with its text decoded."""
        first, after = int(self.first[index]), int(self.first[index + 1])
        start, end = int(self.edges[first]), int(self.edges[after])
        text, kind = describe(self.data[start:end])
        return Piece(start, end, first, after - first, text, kind)

    def index_of(self, token: int) -> int:
        """Gives the piece that holds `token`, which must be among the `done` ones."""
        return int(np.searchsorted(self.first[: self.count], token, side="right")) - 1

    def raw(self, index: int) -> bytes:
        """Gives the bytes of piece `index`."""
        return self.data[self.edges[self.first[index]] : self.edges[self.first[index + 1]]]

    def _character_end(self, token: int) -> int:
        # No UTF-8 character has more than three continuation bytes; where there are more, any place is as good.
        for _ in range(4):
            start = self.edges[token]
            if start == len(self.data) or self.data[start] & 0xC0 != 0x80:
                break
            token += 1
        return token

    def _set_flags(self, old: int, chunk: bytes, edges: NDArray[np.int64]) -> None:
        values = np.frombuffer(chunk, dtype=np.uint8)
        plain = _counts(_NOT_PLAIN[values], edges) == 0
        newline = _counts(values == 0x0A, edges) > 0
        special = self.special[self.first[old : self.count]]
        flags = plain * np.uint8(PLAIN) + newline * np.uint8(ENDS_ROW) + special * np.uint8(SPECIAL)
        self.flags[old : self.count] = flags

    def _set_colours(self, old: int) -> None:
        # A piece has the colour of its first id. In a run of equal colours every second piece takes another one,
        # which differs from the colour that follows the run as well; so no two neighbours are ever alike.
        tokens = self.first[max(old - 1, 0) : self.count + 1]
        colours = _hashes(self.ids[tokens[tokens < self.tokens]])
        before, here = colours[: old > 0], colours[int(old > 0) :]
        count = self.count - old
        following = np.append(here, here[-1:] + 1)[1 : count + 1] % COLOURS
        here = here[:count]
        index = np.arange(old, self.count)
        changed = np.append(old == 0 or here[0] != before[0], here[1:] != here[:-1])
        run = np.maximum.accumulate(np.where(changed, index, self._run))
        self._run = int(run[-1])
        other = (here + 3) % COLOURS
        other = np.where(other == following, (here + 5) % COLOURS, other)
        self.colours[old : self.count] = np.where((index - run) % 2 == 1, other, here)


def edges_of(data: bytes, ends: NDArray[np.int64], ids: NDArray[np.uint32]) -> NDArray[np.int64]:
    """int64 [tokens + 1], where each token begins, and the end of the last.

    Raises:
        ValueError: The tokens do not cover the text.
    """
    if len(ends) != len(ids) or (int(ends[-1]) if len(ends) else 0) != len(data):
        raise ValueError("The tokens do not cover the text: one end and one id a token, the last end at its end.")
    return np.concatenate([np.zeros(1, np.int64), np.asarray(ends, np.int64)])


def pieces(data: bytes, ends: NDArray[np.int64], ids: NDArray[np.uint32]) -> list[Piece]:
    """Gives all pieces of a short text at once."""
    table = PieceTable(data, ends, ids)
    while not table.complete:
        table.extend()
    return [table.piece(index) for index in range(table.count)]


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
