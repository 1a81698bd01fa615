"""What filters and orders ask of all tokens at once, made once in a job: their bytes in a row, order, look and scripts.

So a filter over 200,000 tokens is some array operations. A run that grows has no index; its models look at each token.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.text.scripts import scripts_work
from tokstudio.gui.state.run_tokens import RunTokens
from tokstudio.gui.state.token_flags import HEAD, Looks, pairs
from tokstudio.gui.token_table.query import Query, small_letters
from tokstudio.gui.token_table.search import ExpressionSearch, TokenSearch

_STEP = 1024  # tokens between two reports
_KEY = 8  # bytes that are sorted by at once


class Texts:
    """Many short texts as bytes in a row, to be searched at once.

    Args:
        texts: The texts.
    """

    def __init__(self, texts: Sequence[bytes]) -> None:
        lengths = np.fromiter(map(len, texts), np.int64, len(texts))
        self.ends = np.cumsum(lengths)
        self.starts = self.ends - lengths
        self.data = np.frombuffer(b"".join(texts), np.uint8)
        self._frequent = np.bincount(self.data, minlength=256)

    def __len__(self) -> int:
        return len(self.ends)

    def lowered(self) -> Texts:
        """The same with small letters of ASCII."""
        made = Texts(())
        made.starts, made.ends = self.starts, self.ends
        made.data = np.frombuffer(self.data.tobytes().lower(), np.uint8)
        made._frequent = np.bincount(made.data, minlength=256)
        return made

    def holding(self, needle: bytes) -> NDArray[np.bool_]:
        """Which of the texts have some bytes in them."""
        found = np.zeros(len(self), np.bool_)
        if not needle:
            found[:] = True
            return found
        wanted = np.frombuffer(needle, np.uint8)
        room = len(self.data) - len(wanted) + 1
        if room <= 0:
            return found
        # The rarest byte first: what is left is looked at closer.
        rarest = sorted(range(len(wanted)), key=lambda i: self._frequent[wanted[i]])
        places = np.flatnonzero(self.data[rarest[0] : rarest[0] + room] == wanted[rarest[0]])
        for i in rarest[1:]:
            places = places[self.data[places + i] == wanted[i]]
        owners = np.searchsorted(self.ends, places, side="right")
        # A place may reach from one text into the next.
        found[owners[places + len(wanted) <= self.ends[owners]]] = True
        return found


@dataclass(frozen=True, eq=False)
class TokenIndex:
    """The tokens of a run by slot.

    Attributes:
        made: What it was made of.
        heads: The first `HEAD` bytes of each.
        raw: The same in a row.
        small: The same with small letters of ASCII.
        folded: With small letters of every script.
        long: int64, the slots of those of which there are `HEAD` bytes.
        looks: How the long ones look.
        order: int32 [n], slots in the order of their first bytes, ties in the order of making.
        flags: uint8 [n], as `RunTokens` has them.
        scripts: The scripts that letters of tokens belong to, with the share of tokens that have one of it.
        script_bits: uint64 [n], bit i for `scripts[i]`.
    """

    made: IndexedTokens
    heads: list[bytes]
    raw: Texts
    small: Texts
    folded: Texts
    long: NDArray[np.int64]
    looks: Looks
    order: NDArray[np.int32]
    flags: NDArray[np.uint8]
    scripts: tuple[tuple[str, float], ...]
    script_bits: NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.raw)

    def matching(self, query: Query) -> NDArray[np.bool_]:
        """Which tokens have what is wanted in their first bytes; not for regular expressions or lengths."""
        found = np.full(len(self), not query.needs_heads)
        for wanted in query.small:
            found |= self.small.holding(wanted)
        for wanted in query.folded:
            found |= self.folded.holding(wanted)
        if query.raw is not None:
            found |= self.raw.holding(query.raw)
        if query.byte is not None:
            found |= self.raw.holding(query.byte) & (self.raw.ends - self.raw.starts == 1)
        return found

    def of_script(self, name: str) -> NDArray[np.bool_]:
        """Which tokens have a letter of a script."""
        place = next((i for i, (script, _) in enumerate(self.scripts) if script == name), None)
        if place is None:
            return np.zeros(len(self), np.bool_)
        return (self.script_bits >> np.uint64(place)) & np.uint64(1) > 0


@dataclass(frozen=True, eq=False)
class IndexedTokens:
    """What an index is made of, taken in the GUI thread.

    Attributes:
        base: The tokens before any merge.
        parts: int32 [n, 2], the slots that each merge joins.
        lengths: int64, bytes of each token by slot.
    """

    base: tuple[bytes, ...]
    parts: NDArray[np.int32]
    lengths: NDArray[np.int64]

    def parts_from(self, begin: int, end: int) -> NDArray[np.int32]:
        """int32, the rows of `parts` from `begin` on, `end` not included."""
        return self.parts[begin:end]


def snapshot(tokens: RunTokens) -> IndexedTokens:
    """The tokens as they are now."""
    return IndexedTokens(tokens.base, tokens.parts.copy(), tokens.lengths().copy())


def index_work(made: IndexedTokens) -> Work[TokenIndex]:
    """Makes the index of some tokens."""
    total = len(made.lengths)
    looks = Looks()
    heads, flags = yield from _heads_work(made, looks)
    raw = Texts(heads)
    yield Progress("indexing tokens", total, total)
    small = raw.lowered()
    folded: list[bytes] = []
    for first in range(0, total, _STEP):
        folded += [small_letters(head) for head in heads[first : first + _STEP]]
        yield Progress("indexing tokens", total, total)
    order = yield from _order_work(raw)
    long = np.flatnonzero(raw.ends - raw.starts == HEAD)
    scripts, bits = yield from _scripts_work(made, heads, long)
    known = np.frombuffer(flags, np.uint8)
    return TokenIndex(made, heads, raw, small, Texts(folded), long, looks, order, known, scripts, bits)


def matches_work(index: TokenIndex, query: Query) -> Work[tuple[Query, NDArray[np.bool_]]]:
    """Which tokens of an index pass; a query that is a regular expression says if that failed.

    Args:
        index: The tokens.
        query: What is asked for.
    """
    made = index.made
    if query.is_expression:
        search = ExpressionSearch(query, index.heads, made.base, made.parts_from, made.lengths)
        steps = search.go_on()
    else:
        search = TokenSearch(query.accepts, query.reach, index.heads, made.base, made.parts_from, query.byte)
        steps = search.go_on_from(index.matching(query), index.long)
    for _ in steps:
        if query.error:
            return query, np.zeros(len(index), np.bool_)
        yield Progress("searching tokens", len(search.found), len(index))
    return query, np.frombuffer(search.found, np.bool_) & query.within(made.lengths)


def _heads_work(made: IndexedTokens, looks: Looks) -> Work[tuple[list[bytes], bytes]]:
    heads = [token[:HEAD] for token in made.base]
    flags, base, total = bytearray(), len(made.base), len(made.lengths)
    for first in range(0, total, _STEP):
        last = min(first + _STEP, total)
        parts = made.parts_from(max(first - base, 0), max(last - base, 0))
        for left, right in pairs(parts):
            head = heads[left]
            heads.append(head if len(head) == HEAD else (head + heads[right])[:HEAD])
        flags += looks.describe(heads, made.base, first, last, parts)
        yield Progress("indexing tokens", last, total)
    return heads, bytes(flags)


def _order_work(texts: Texts) -> Work[NDArray[np.int32]]:
    """The order of some texts: by eight bytes after the other, those that texts differ in last first.

    Among those that are alike so far a text that ends comes before one that goes on: it stands before it when they are
    sorted by the bytes of its end, and the sort leaves what is equal as it stands.
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
    made: IndexedTokens, heads: list[bytes], long: NDArray[np.int64]
) -> Work[tuple[tuple[tuple[str, float], ...], NDArray[np.uint64]]]:
    seen = np.zeros(0x110000, np.bool_)
    base = len(made.base)
    heads = [*made.base, *heads[base:]]
    long = long[long >= base]
    middles = yield from _middles_work(made, heads, long)
    seen[[ord(letter) for letter in {*"".join(middles)}]] = True
    for first in range(0, len(heads), _STEP):
        seen[_points(heads[first : first + _STEP])[0]] = True
        yield Progress("indexing scripts", first, 2 * len(heads))
    found = yield from scripts_work(np.flatnonzero(seen).astype(np.uint32))
    table, bits = np.zeros(0x110000, np.uint64), np.zeros(len(heads), np.uint64)
    for place, (_, points) in enumerate(found):
        table[points] = np.uint64(1 << place)
    for first in range(0, len(heads), _STEP):
        points, starts = _points(heads[first : first + _STEP])
        # An empty token would take the bit of the one behind it; the sign behind each token has none.
        bits[first : first + len(starts)] = np.bitwise_or.reduceat(table[points], starts)
        yield Progress("indexing scripts", len(heads) + first, 2 * len(heads))
    of_slot = bits.tolist() if len(long) else []
    for first in range(0, len(long), _STEP):
        some = long[first : first + _STEP]
        rows = pairs(made.parts[some - base])
        for slot, (left, right), middle in zip(some.tolist(), rows, middles[first : first + _STEP], strict=True):
            of_slot[slot] |= of_slot[left] | of_slot[right] | (int(table[ord(middle)]) if middle else 0)
        yield Progress("indexing scripts", len(heads), len(heads))
    bits = np.array(of_slot, np.uint64) if of_slot else bits
    counts: list[int] = []
    for place in range(len(found)):
        counts.append(int(np.count_nonzero(bits & np.uint64(1 << place))))
        yield Progress("indexing scripts", len(heads), len(heads))
    order = sorted(range(len(found)), key=lambda place: -counts[place])
    sorted_bits = np.zeros(len(heads), np.uint64)
    for place, old in enumerate(order):
        sorted_bits |= ((bits >> np.uint64(old)) & np.uint64(1)) << np.uint64(place)
        yield Progress("indexing scripts", len(heads), len(heads))
    return tuple((found[old][0], counts[old] / max(1, len(heads))) for old in order), sorted_bits


def _middles_work(made: IndexedTokens, heads: list[bytes], long: NDArray[np.int64]) -> Work[list[str]]:
    """Of each long token the character that stands where its parts meet, where they cut one; else ""."""
    ends, middles = dict[int, bytes](), list[str]()
    for first in range(0, len(long), _STEP):
        some = long[first : first + _STEP]
        for slot, (left, right) in zip(some.tolist(), pairs(made.parts[some - len(made.base)]), strict=True):
            end = ends.get(left) or heads[left][-3:]
            behind = ends.get(right) or heads[right][-3:]
            ends[slot] = behind if len(behind) == 3 else (end + behind)[-3:]
            middles.append(_cut_character(end, heads[right][:3]))
        yield Progress("indexing scripts", first, 2 * len(heads))
    return middles


def _cut_character(end: bytes, begin: bytes) -> str:
    """The character that two tokens have one part of each."""
    rest = next((i for i, byte in enumerate(begin) if byte & 0xC0 != 0x80), len(begin))
    text = (end + begin[:rest]).decode("utf-8", "ignore") if rest else ""
    return text[-1:]


def _points(heads: list[bytes]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """The code points of some tokens, a sign behind each, and where each begins."""
    texts = [head.decode("utf-8", "surrogateescape") + "\0" for head in heads]
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    # numpy copies the characters as they are, where a codec would stop at every surrogate.
    return np.array(["".join(texts) + "x"]).view(np.uint32)[:-1], np.cumsum(lengths) - lengths
