"""An index of a run's tokens: their first bytes in one array, for filters, sorting and Find.

`index_work` makes it, and extends an earlier index of the same run. Less common data (order, lower case of all scripts,
scripts) are computed when first needed, and kept.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.text.languages import scripts_work

if TYPE_CHECKING:
    from numpy.typing import NDArray

# --- Whether tokens are white space, digits, several words or invalid UTF-8 -------------------------------------------
# The flags of a long token follow from its parts, but for several words: only its first bytes are looked at.

#: The number of first bytes kept of each token. A token with more is called long.
HEAD = 256

WHITE_SPACE = 1  # the flags of a token
NOT_UTF8 = 2
DIGITS = 4
WORDS = 8  # several, with white space between them

# Letters for runs of characters: s for white space, n for digits.
_SHAPES = {"", "s", "n", "sn", "ns", "sns"}
OTHER = "o"  # anything else
_SEPARATORS = re.compile("[\x1c-\x1f]")  # white space only for Python


class BytesLook(NamedTuple):
    """The description of a piece of UTF-8."""

    lead: bytes  # the rest of a character that starts before the piece
    shape: str  # the kinds of the whole characters
    trail: bytes  # the start of a character that continues after the piece


class Looks:
    """Computes the flags of a run's tokens in order; caches the descriptions of the long ones."""

    def __init__(self) -> None:
        self._long: dict[int, BytesLook | None] = {}
        self._same: dict[BytesLook | None, BytesLook | None] = {}

    def describe(
        self, heads: Sequence[bytes], base: Sequence[bytes], first: int, last: int, parts: NDArray[np.int32]
    ) -> bytes:
        """The flags of the tokens from `first` to `last`, exclusive; all before them must have been described.

        `heads` has the first bytes of each token by slot, `base` the tokens before any merge, and `parts`, int32
        [n, 2], the parts of those that are merges.
        """
        flags = bytearray(describe_token(head) for head in heads[first:last])
        for slot in range(first, min(last, len(base))):
            if len(base[slot]) > HEAD:
                flags[slot - first] = self._keep(slot, look_of(base[slot])) | _of_words(heads[slot])
        for slot, (left, right) in enumerate(pairs(parts), max(first, len(base))):
            if len(heads[slot]) == HEAD:
                look = _join(self._look(heads, left), self._look(heads, right))
                flags[slot - first] = self._keep(slot, look) | _of_words(heads[slot])
        return bytes(flags)

    def _look(self, heads: Sequence[bytes], slot: int) -> BytesLook | None:
        return self._long[slot] if slot in self._long else look_of(heads[slot])

    def _keep(self, slot: int, look: BytesLook | None) -> int:
        self._long[slot] = self._same.setdefault(look, look)
        return _flags(look)


def describe_token(raw: bytes) -> int:
    """The flags of a token."""
    if raw.isascii():
        return WHITE_SPACE if raw.isspace() else DIGITS if raw.strip().isdigit() else _of_words(raw)
    try:
        return _flags(BytesLook(b"", _shape(raw.decode("utf-8")), b"")) | _of_words(raw)
    except UnicodeDecodeError:
        return NOT_UTF8 | _of_words(raw)


def _of_words(raw: bytes) -> int:
    return WORDS if len(raw.split(None, 2)) > 1 else 0


def is_cut(begin: BytesLook | None, end: BytesLook | None) -> bool:
    """Whether the first and last bytes of a token already make it invalid UTF-8."""
    return begin is None or end is None or bool(begin.lead or end.trail)


def look_of(raw: bytes) -> BytesLook | None:
    """The description of bytes; None if they are not a piece of UTF-8."""
    start = 0
    while start < min(3, len(raw)) and raw[start] & 0xC0 == 0x80:
        start += 1
    whole, trail = raw[start:], b""
    try:
        text = whole.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.end != len(whole) or error.reason != "unexpected end of data":
            return None
        text, trail = whole[: error.start].decode("utf-8"), whole[error.start :]
    return BytesLook(raw[:start], _shape(text), trail)


def pairs(parts: NDArray[np.int32]) -> Iterator[tuple[int, int]]:
    """The rows of int32 [n, 2] as numbers; a list of lists would trigger garbage collections."""
    return zip(parts[:, 0].tolist(), parts[:, 1].tolist(), strict=True)


def _join(left: BytesLook | None, right: BytesLook | None) -> BytesLook | None:
    """The description of two pieces joined."""
    if left is None or right is None:
        return None
    if not left.shape and not left.trail:
        lead = left.lead + right.lead
        return BytesLook(lead, right.shape, right.trail) if len(lead) <= 3 else None
    middle = look_of(left.trail + right.lead)
    goes_on = not right.shape and not right.trail
    if middle is None or middle.lead or (middle.trail and not goes_on):
        return None
    trail = middle.trail if goes_on else right.trail
    return BytesLook(left.lead, _joined(left.shape, middle.shape, right.shape), trail)


def _shape(text: str) -> str:
    if text.isspace() and not _SEPARATORS.search(text):
        return "s"
    inner = text.strip()
    if not inner.isnumeric() or _SEPARATORS.search(text):
        return OTHER if text else ""
    return "s" * text[0].isspace() + "n" + "s" * text[-1].isspace()


def _joined(*shapes: str) -> str:
    head = ""
    for shape in shapes:
        head += shape[1:] if shape and head.endswith(shape[0]) else shape
    return head if head in _SHAPES else OTHER


def _flags(look: BytesLook | None) -> int:
    if look is None or is_cut(look, look):
        return NOT_UTF8
    return WHITE_SPACE if look.shape == "s" else DIGITS if "n" in look.shape else 0


# --- The index -------------------------------------------------------------------------------------------------------

_STEP = 1024  # tokens between two reports
_KEY = 8  # bytes that one step sorts by

#: The names of scripts, each with the share of tokens that have a letter of it, the most frequent first.
Scripts = tuple[tuple[str, float], ...]


class Texts:
    """Many short texts as one array of bytes, searched together.

    `data` has the texts without separators; `ends`, [n], the byte after the last one of each.
    """

    def __init__(self, data: NDArray[np.uint8], ends: NDArray[np.int64]) -> None:
        self.data, self.ends = data, ends
        self.starts = np.concatenate([np.zeros(1, np.int64), ends[:-1]])[: len(ends)]
        self._frequent = np.bincount(data, minlength=256)

    @classmethod
    def of(cls, texts: list[bytes]) -> Texts:
        """Joins texts."""
        lengths = np.fromiter(map(len, texts), np.int64, len(texts))
        return cls(np.frombuffer(b"".join(texts), np.uint8), np.cumsum(lengths))

    def followed_by(self, others: list[Texts]) -> Texts:
        """These texts, followed by others."""
        parts = [self, *others]
        offsets = np.cumsum([0, *(len(part.data) for part in parts)])
        ends = [part.ends + offset for part, offset in zip(parts, offsets[:-1], strict=True)]
        return Texts(np.concatenate([part.data for part in parts]), np.concatenate(ends))

    def __len__(self) -> int:
        return len(self.ends)

    def beginning(self, needle: bytes) -> NDArray[np.int64]:
        """The indices of the texts that begin with `needle`, which must not be empty."""
        long_enough = np.flatnonzero(self.ends - self.starts >= len(needle))
        for place, byte in enumerate(needle):
            long_enough = long_enough[self.data[self.starts[long_enough] + place] == byte]
        return long_enough

    def holding(self, needle: bytes) -> NDArray[np.bool_]:
        """Whether each text contains `needle`."""
        holding = np.zeros(len(self), np.bool_)
        if not needle:
            holding[:] = True
            return holding
        wanted = np.frombuffer(needle, np.uint8)
        room = len(self.data) - len(wanted) + 1
        if room <= 0:
            return holding
        # Compare the rarest byte first, so that few candidates are left.
        rarest = sorted(range(len(wanted)), key=lambda i: self._frequent[wanted[i]])
        places = np.flatnonzero(self.data[rarest[0] : rarest[0] + room] == wanted[rarest[0]])
        for i in rarest[1:]:
            places = places[self.data[places + i] == wanted[i]]
        owners = np.searchsorted(self.ends, places, side="right")
        # A match may reach from one text into the next.
        holding[owners[places + len(wanted) <= self.ends[owners]]] = True
        return holding


@dataclass(frozen=True, eq=False)
class IndexedTokens:
    """The data for an index, taken in the GUI thread."""

    base: tuple[bytes, ...]  # the tokens before any merge
    parts: NDArray[np.int32]  # [n, 2], the slots that each merge joins
    lengths: NDArray[np.int64]  # bytes of each token by slot

    def parts_from(self, begin: int, end: int) -> NDArray[np.int32]:
        """int32, the rows of `parts` from `begin` to `end`, exclusive."""
        return self.parts[begin:end]


class TokenIndex:
    """The tokens of a run by slot; `index_work` makes it."""

    def __init__(
        self, tokens: IndexedTokens, heads: list[bytes], looks: Looks, flags: NDArray[np.uint8], raw: Texts
    ) -> None:
        self.made = tokens  # the data it was made from
        self.heads, self.raw = heads, raw  # the first `HEAD` bytes of each, also as one array
        self.looks, self.flags = looks, flags  # the descriptions of the long ones, and uint8 [n], the flags of each
        self.small = Texts(np.frombuffer(raw.data.tobytes().lower(), np.uint8), raw.ends)  # with small ASCII letters
        self.long = np.flatnonzero(raw.ends - raw.starts == HEAD)  # the slots of those with `HEAD` bytes or more
        self.scripts: Scripts | None = None  # those of all letters; None until `scripts_work` has found out
        self._script_bits = np.zeros(0, np.uint64)  # bit i for `scripts[i]`
        self._folded: Texts | None = None
        self._order: NDArray[np.int32] | None = None

    def __len__(self) -> int:
        return len(self.heads)

    def folded_work(self) -> Work[Texts]:
        """The first bytes with letters of all scripts in lower case."""
        if self._folded is None:
            parts: list[Texts] = []
            for first in range(0, len(self), _STEP):
                parts.append(Texts.of([small_letters(head) for head in self.heads[first : first + _STEP]]))
                yield Progress("indexing tokens", first, len(self))
            self._folded = Texts.of([]).followed_by(parts)
        return self._folded

    def order_work(self) -> Work[NDArray[np.int32]]:
        """int32 [n], the slots sorted by their first bytes; ties in the order of slots."""
        if self._order is None:
            self._order = yield from order_of_texts_work(self.raw)
        return self._order

    def scripts_work(self) -> Work[Scripts]:
        """The scripts of the tokens, for `of_script`."""
        if self.scripts is None:
            scripts, self._script_bits = yield from _scripts_work(self.made, self.heads, self.long)
            self.scripts = scripts
        return self.scripts

    def complete_work(self) -> Work[Scripts]:
        """Computes everything that is otherwise computed on demand; returns the scripts."""
        scripts = yield from self.scripts_work()
        yield from self.order_work()
        yield from self.folded_work()
        return scripts

    def of_script(self, name: str) -> NDArray[np.bool_]:
        """Which tokens have a letter of a script."""
        place = next((i for i, (script, _) in enumerate(self.scripts or ()) if script == name), None)
        if place is None:
            return np.zeros(len(self), np.bool_)
        return (self._script_bits >> np.uint64(place)) & np.uint64(1) > 0


def index_work(tokens: IndexedTokens, earlier: TokenIndex | None = None) -> Work[TokenIndex]:
    """Makes the index of some tokens; `earlier`, an index of fewer tokens of the same run, is extended."""
    total, base = len(tokens.lengths), len(tokens.base)
    heads = [token[:HEAD] for token in tokens.base] if earlier is None else list(earlier.heads)
    looks, first = (Looks(), 0) if earlier is None else (earlier.looks, len(earlier))
    flags, rows = list["NDArray[np.uint8]"](), list[Texts]()
    while first < total:
        last = min(first + _STEP, total)
        parts = tokens.parts_from(max(first - base, 0), max(last - base, 0))
        for left, right in pairs(parts):
            are_parts_indexed = left < len(heads) and right < len(heads)
            head = heads[left] if are_parts_indexed else _head(tokens, heads, left, right)
            heads.append(head if not are_parts_indexed or len(head) == HEAD else (head + heads[right])[:HEAD])
        flags.append(np.frombuffer(looks.describe(heads, tokens.base, first, last, parts), np.uint8))
        rows.append(Texts.of(heads[first:last]))
        first = last
        yield Progress("indexing tokens", last, total)
    before = np.zeros(0, np.uint8) if earlier is None else earlier.flags
    raw = (Texts.of([]) if earlier is None else earlier.raw).followed_by(rows)
    yield Progress("indexing tokens", total, total)
    return TokenIndex(tokens, heads, looks, np.concatenate([before, *flags]), raw)


def _head(tokens: IndexedTokens, heads: list[bytes], left: int, right: int) -> bytes:
    """The first bytes of a token of which a later merge makes a part."""
    head, waiting, base = b"", [right, left], len(tokens.base)
    while waiting and len(head) < HEAD:
        slot = waiting.pop()
        if slot < len(heads):
            head += heads[slot]
        else:
            waiting += reversed(tokens.parts[slot - base].tolist())
    return head[:HEAD]


def small_letters(raw: bytes) -> bytes:
    """A token in lower case, letter by letter: Σ is always σ. Invalid UTF-8 is unchanged."""
    if raw.isascii():
        return raw.lower()
    text = raw.decode("utf-8", "surrogateescape").lower().replace("ς", "σ")
    return text.encode("utf-8", "surrogateescape")


def order_of_texts_work(texts: Texts) -> Work[NDArray[np.int32]]:
    """Sorts texts by their bytes, equal ones in their order: by eight at a time, from the last bytes to the first.

    Among equal texts so far, one that ends comes before one that continues: the stable sort by the last bytes has put
    it first.
    """
    lengths = texts.ends - texts.starts
    by_length = np.argsort(lengths, kind="stable")
    sorted_lengths = lengths[by_length]
    data = np.concatenate([texts.data, np.zeros(_KEY, np.uint8)])
    order = np.empty(0, np.int64)
    for level in range(int(lengths.max(initial=0) + _KEY - 1) // _KEY - 1, -1, -1):
        first = np.searchsorted(sorted_lengths, _KEY * level, side="right") if level else 0
        last = np.searchsorted(sorted_lengths, _KEY * (level + 1), side="right")
        here = np.concatenate([by_length[first:last], order])
        key = np.zeros(len(here), np.uint64)
        for byte in range(_KEY):
            at = texts.starts[here] + _KEY * level + byte
            inside = at < texts.ends[here]
            key = (key << np.uint64(8)) | np.where(inside, data[np.minimum(at, len(data) - 1)], 0).astype(np.uint64)
        yield Progress("sorting tokens")
        order = here[np.argsort(key, kind="stable")]
        yield Progress("sorting tokens")
    return (order if len(order) else by_length).astype(np.int32)


def _scripts_work(
    tokens: IndexedTokens, heads: list[bytes], long: NDArray[np.int64]
) -> Work[tuple[Scripts, NDArray[np.uint64]]]:
    seen = np.zeros(0x110000, np.bool_)
    base = len(tokens.base)
    heads = [*tokens.base, *heads[base:]]
    long = long[long >= base]
    long = long[np.argsort(tokens.lengths[long], kind="stable")]  # each after its parts
    middles = yield from _middles_work(tokens, heads, long)
    seen[[ord(letter) for letter in {*"".join(middles)}]] = True
    for first in range(0, len(heads), _STEP):
        seen[_points(heads[first : first + _STEP])[0]] = True
        yield Progress("indexing scripts", first, 2 * len(heads))
    scripts = yield from scripts_work(np.flatnonzero(seen).astype(np.uint32))
    table, bits = np.zeros(0x110000, np.uint64), np.zeros(len(heads), np.uint64)
    for place, (_, points) in enumerate(scripts):
        table[points] = np.uint64(1 << place)
    for first in range(0, len(heads), _STEP):
        points, starts = _points(heads[first : first + _STEP])
        # The separator after each token gives empty tokens a byte of their own; it has no bit.
        bits[first : first + len(starts)] = np.bitwise_or.reduceat(table[points], starts)
        yield Progress("indexing scripts", len(heads) + first, 2 * len(heads))
    of_slot = bits.tolist() if len(long) else []
    for first in range(0, len(long), _STEP):
        some = long[first : first + _STEP]
        rows = pairs(tokens.parts[some - base])
        for slot, (left, right), middle in zip(some.tolist(), rows, middles[first : first + _STEP], strict=True):
            of_slot[slot] |= of_slot[left] | of_slot[right] | (int(table[ord(middle)]) if middle else 0)
        yield Progress("indexing scripts", len(heads), len(heads))
    bits = np.array(of_slot, np.uint64) if of_slot else bits
    counts: list[int] = []
    for place in range(len(scripts)):
        counts.append(int(np.count_nonzero(bits & np.uint64(1 << place))))
        yield Progress("indexing scripts", len(heads), len(heads))
    order = sorted(range(len(scripts)), key=lambda place: -counts[place])
    sorted_bits = np.zeros(len(heads), np.uint64)
    for place, old in enumerate(order):
        sorted_bits |= ((bits >> np.uint64(old)) & np.uint64(1)) << np.uint64(place)
        yield Progress("indexing scripts", len(heads), len(heads))
    return tuple((scripts[old][0], counts[old] / max(1, len(heads))) for old in order), sorted_bits


def _middles_work(tokens: IndexedTokens, heads: list[bytes], long: NDArray[np.int64]) -> Work[list[str]]:
    """The character across the border of the two parts of each long token, if the border cuts one; else ""."""
    ends, middles = dict[int, bytes](), list[str]()
    for first in range(0, len(long), _STEP):
        some = long[first : first + _STEP]
        for slot, (left, right) in zip(some.tolist(), pairs(tokens.parts[some - len(tokens.base)]), strict=True):
            end = ends.get(left) or heads[left][-3:]
            behind = ends.get(right) or heads[right][-3:]
            ends[slot] = behind if len(behind) == 3 else (end + behind)[-3:]
            middles.append(_cut_character(end, heads[right][:3]))
        yield Progress("indexing scripts", first, 2 * len(heads))
    return middles


def _cut_character(end: bytes, begin: bytes) -> str:
    """The character that two tokens share."""
    rest = next((i for i, byte in enumerate(begin) if byte & 0xC0 != 0x80), len(begin))
    text = (end + begin[:rest]).decode("utf-8", "ignore") if rest else ""
    return text[-1:]


def _points(heads: list[bytes]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """The code points of some tokens, each followed by a separator, and where each begins."""
    texts = [head.decode("utf-8", "surrogateescape") + "\0" for head in heads]
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    # numpy copies surrogates as they are; a codec would stop at each of them.
    return np.array(["".join(texts) + "x"]).view(np.uint32)[:-1], np.cumsum(lengths) - lengths
