"""How tokens are written on screen: their pieces, marks for white space and bytes, and a merge as a sentence."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import several_whole, whole_text
from tokstudio.core.pretokenization.custom_regex import compiled
from tokstudio.core.text.byte_level import to_characters
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.widgets.labels import isolated

if TYPE_CHECKING:
    from numpy.typing import NDArray

# --- Turns tokens into the pieces that are drawn: one token each, except where tokens share a grapheme ----------------
# No Qt and no measuring. See also `rows.py` and `token_view.py`.


Kind = Literal["text", "space", "bytes"]

SHARED_LIMIT = 32  # the most tokens of a grapheme that are shown together. An untrained family of four has 25 bytes.
COLOURS = 8
CIRCLE = "\u25cc"  # the base of a combining mark without a letter

PLAIN = 1  # flag: printable ASCII, tabs and newlines only, so that each byte is one cell wide
ENDS_ROW = 2  # flag: it contains a newline
SPECIAL = 4  # flag: it is a special token, which shares its piece with no other

_GRAPHEME = r"\X"
# Without any of these, every border of characters is a border of graphemes (UAX 29, rules GB3 to GB13).
_JOINING = r"[^\p{GCB=XX}\p{GCB=CN}\p{GCB=LF}\p{GCB=LV}\p{GCB=LVT}]"
_CONTROL = r"(?V1)[\p{Cc}--[\t\n\r\x85]]"
_INVISIBLE = r"[\p{Default_Ignorable_Code_Point}\p{Cf}]+"

_PLAIN = [0x09, 0x0A, *range(0x20, 0x7F)]


@dataclass(frozen=True)
class Piece:
    """The text of one box."""

    start: int  # its first byte in the text
    end: int  # the byte after its last
    first: int  # its first token, counted from 0
    count: int  # the number of its tokens: 1, or as many as share its graphemes
    text: str  # the text to show; for kind "bytes" the bytes, as in `E2 80`
    kind: Kind  # "space" if all of it is white space, "bytes" if it cannot be shown as text


class PieceTable:
    """The pieces of a short text.

    Piece i holds the tokens `first[i]` to `first[i + 1] - 1`; token t holds the bytes `edges[t]` to `edges[t + 1] - 1`.

    Args:
        data: The whole text.
        edges: int64 [tokens + 1], the start of each token, and the end of the last.
        ids: The id of every token.
        special: Whether each token is special.
    """

    def __init__(
        self, data: bytes, edges: NDArray[np.int64], ids: NDArray[np.uint32], special: NDArray[np.bool_]
    ) -> None:
        self.data, self.edges, self.ids = data, edges, ids
        starts = np.flatnonzero(self._opens(special))
        self.count = len(starts)  # the number of pieces
        self.first = np.append(starts, len(ids))  # int64 [count + 1], see above
        self.flags = self._find_flags(special[starts])  # uint8 [count], `PLAIN`, `ENDS_ROW` and `SPECIAL`
        self.colours = self._find_colours()  # uint8 [count], different for neighbours

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
        not_plain = np.ones(256, np.bool_)
        not_plain[_PLAIN] = False
        plain = _counts(not_plain[values], edges) == 0
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
    if compiled(_CONTROL).search(text) or compiled(_INVISIBLE).fullmatch(text):
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
    for grapheme in compiled(_GRAPHEME).finditer(text):
        if grapheme.end() > most:
            break
        kept = grapheme.end()
    return text[: kept or most]


def ending(text: str, most: int) -> str:
    """The last `most` characters, or fewer so as not to cut a grapheme."""
    first = len(text) - most
    if first <= 0 or text.isascii():
        return text[max(first, 0) :]
    starts = (grapheme.start() for grapheme in compiled(_GRAPHEME).finditer(text))
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
    if compiled(_JOINING).search(text):
        edges = edges[np.cumsum([0, *map(len, compiled(_GRAPHEME).findall(text))])]
    result = np.zeros(len(chunk) + 1, dtype=bool)
    result[edges] = True
    return result


# --- The text of tokens in tables and on the clipboard: text, or bytes where they are not valid text ------------------

SHOWN_BYTES = 60  # the most bytes of a token in a table
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


# --- A merge as a sentence that says which two tokens were joined, and why --------------------------------------------

_LONGEST = 24  # bytes of a token
_NAMES = {b" ": "space", b"\n": "line break", b"\r": "carriage return", b"\t": "tab"}


def token_name(raw: bytes) -> str:
    r"""Names a token in a sentence: `b" "` -> `"space"`, `b" a"` -> `"“·a”"`, `b"\xe2"` -> `"the byte E2"`."""
    if raw in _NAMES:
        return _NAMES[raw]
    if describe(raw)[1] == "bytes":
        return f"the byte{'s' if len(raw) > 1 else ''} {hex_head(raw, _LONGEST)}"
    return isolated(f"“{marked(shown(raw[: 2 * _LONGEST], _LONGEST))}”")


def merge_sentence(run: StudioRun, number: int) -> str:
    """Says of one merge, from 1 on, how often its pair was there: that is why it was made."""
    left, right = (token_name(run.tokenizer.bytes_of(token)) for token in run.merges[number - 1].tolist())
    times = several_whole(int(run.log.count[number - 1]), run.weight_scale, "time")
    sentence = f"{left} and {right} stand side by side {times}, so they become one token."
    return sentence[0].upper() + sentence[1:]
