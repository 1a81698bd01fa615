"""An index of a run's tokens by their bytes, made in the background, and searching it, which takes a few milliseconds.

Tokens go by slot, as in `RunTokens`. Where there are long ones, searching takes longer: they are asked for their parts.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.base.progress import Progress, Work
from tokstudio.gui.state.token_flags import HEAD, pairs
from tokstudio.gui.token_table.query import Query
from tokstudio.gui.token_table.search import TokenSearch

#: Matches that are listed.
MOST = 200

_STEP = 1 << 12
# In no UTF-8, so that nothing that is typed is found across two tokens.
_BORDER = b"\xff"
# What stands for the space before a word: itself, and SentencePiece's sign.
_SPACES = (b" ", "▁".encode())


@dataclass(frozen=True, eq=False)
class TokenRow:
    """Tokens one after another, with a border behind each.

    Attributes:
        data: The tokens.
        firsts: uint8 [n], the first byte of each; the border's for an empty one.
    """

    data: bytes
    firsts: NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class FindIndex:
    """The tokens one after another, with a border behind each.

    Attributes:
        base: The tokens before any merge.
        parts: int32, the slots that each merge joins.
        heads: The first `HEAD` bytes of each token, by slot.
        exact: All of them.
        small: The same, ASCII letters in lower case.
        starts: int64 [n + 1], where each begins there.
        lengths: int64 [n], how many bytes the tokens have.
        long: int64, the slots of those of which there are `HEAD` bytes.
    """

    base: Sequence[bytes]
    parts: NDArray[np.int32]
    heads: list[bytes]
    exact: TokenRow
    small: TokenRow
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    long: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.heads)


def index_work(base: Sequence[bytes], parts: NDArray[np.int32], earlier: FindIndex | None = None) -> Work[FindIndex]:
    """Makes the index.

    Args:
        base: The tokens there are before any merge.
        parts: int32 [n, 2], the slots that each merge joins.
        earlier: An index of fewer merges of the same, which is gone on from.
    """
    heads = [token[:HEAD] for token in base] if earlier is None else list(earlier.heads)
    lengths = list(map(len, base)) if earlier is None else earlier.lengths.tolist()
    first = len(base)
    while len(heads) < first + len(parts):
        begin = len(heads) - first
        for left, right in pairs(parts[begin : begin + _STEP]):
            head = heads[left]
            heads.append(head if len(head) == HEAD else (head + heads[right])[:HEAD])
            lengths.append(lengths[left] + lengths[right])
        yield Progress("reading the vocabulary", len(heads), first + len(parts))
    sizes = np.empty(len(heads), np.int64)
    exact, small = list[bytes](), list[bytes]()
    for begin in range(0, len(heads), _STEP):
        some = heads[begin : begin + _STEP]
        sizes[begin : begin + len(some)] = np.fromiter(map(len, some), np.int64, len(some))
        exact.append(_BORDER.join((*some, b"")))
        small.append(exact[-1].lower())
        yield Progress("reading the vocabulary", begin, len(heads))
    starts = np.concatenate([[0], np.cumsum(sizes + len(_BORDER))])
    long = np.flatnonzero(sizes == HEAD)
    rows = _row(exact, starts), _row(small, starts)
    return FindIndex(base, parts, heads, *rows, starts, np.array(lengths, np.int64), long)


def _row(parts: list[bytes], starts: NDArray[np.int64]) -> TokenRow:
    data = b"".join(parts)
    return TokenRow(data, np.frombuffer(data, np.uint8)[starts[:-1]])


def search_work(
    index: FindIndex, text: str, ids: NDArray[np.int32], slot_of_id: int, most: int = MOST
) -> Work[list[int]]:
    """Finds tokens by what a person has typed, the best first.

    First those that are the text, then the one with that id, then those that are the bytes, that are the text with a
    space before it, that are it but for upper and lower case, that are the byte of two hexadecimal digits, that begin
    with it, after a space or not, and that have it in them; among equals by id. As bytes, upper and lower case are two.

    Args:
        index: The tokens.
        text: What was typed.
        ids: int32, the id of each slot.
        slot_of_id: The slot of the token whose id was typed; -1 for none.
        most: How many to find.

    Returns:
        Their slots.
    """
    query = Query(text)
    spelled, raw = {one for one in query.spellings if one}, query.raw
    after_space = {space + one for one in spelled for space in _SPACES}
    wanted = dict.fromkeys((one.lower(), index.small) for one in (*query.spellings, *query.cases) if one)
    begun = [*wanted, *((space + one, row) for one, row in wanted for space in _SPACES)]
    if raw:
        wanted[raw, index.exact] = None
        begun.append((raw, index.exact))
    search = yield from _long_work(index, list(wanted), max([len(one) for one, _ in begun], default=0))
    rows = [(len(one), _beginning(index, row, one, search)) for one, row in begun]
    whole = np.concatenate([np.empty(0, np.int64), *(slots[index.lengths[slots] == size] for size, slots in rows)])
    longer = np.concatenate([np.empty(0, np.int64), *(slots[index.lengths[slots] > size] for size, slots in rows)])
    alike = _by_id(whole, ids, len(whole))
    # What is as long as something typed is here as a whole.
    bytes_of = index.heads.__getitem__ if search is None else search.beginning
    found = dict.fromkeys(slot for slot in alike if bytes_of(slot) in spelled)
    if 0 <= slot_of_id < len(index):
        found[slot_of_id] = None
    found.update(dict.fromkeys(slot for slot in alike if bytes_of(slot) == raw))
    found.update(dict.fromkeys(slot for slot in alike if bytes_of(slot) in after_space))
    found.update(dict.fromkeys(alike))
    if query.byte is not None:
        slots = _beginning(index, index.exact, query.byte, search)
        found.update(dict.fromkeys(_by_id(slots[index.lengths[slots] == 1], ids, most)))
    found.update(dict.fromkeys(_by_id(longer, ids, most)))
    if len(found) < most:
        inside = {slot for one, row in wanted for slot in _inside(index, row, one, most + len(found))}
        if search is not None:
            inside.update(index.long[np.frombuffer(search.found, np.bool_)[index.long]].tolist())
        found.update(dict.fromkeys(_by_id(np.array(sorted(inside), np.int64), ids, len(inside))))
    return list(found)[:most]


def _long_work(index: FindIndex, wanted: list[tuple[bytes, TokenRow]], longest: int) -> Work[TokenSearch | None]:
    """Finds out which long tokens have something in them, by all of their bytes; None where none is long."""
    if not len(index.long) or not wanted:
        return None
    small = [one for one, row in wanted if row is index.small]
    exact = [one for one, row in wanted if row is index.exact]

    def accepts(raw: bytes) -> bool:
        lower = raw.lower()
        return any(one in lower for one in small) or any(one in raw for one in exact)

    search = TokenSearch(accepts, longest, index.heads, index.base, lambda begin, end: index.parts[begin:end])
    for _ in search.go_on_long(index.long):
        yield Progress("searching tokens")
    return search


def _by_id(slots: NDArray[np.int64], ids: NDArray[np.int32], most: int) -> list[int]:
    slots = np.unique(slots)
    return slots[np.argsort(ids[slots], kind="stable")[:most]].tolist()


def _beginning(index: FindIndex, row: TokenRow, wanted: bytes, search: TokenSearch | None) -> NDArray[np.int64]:
    """The tokens that begin with some bytes, or are them."""
    slots = np.flatnonzero(row.firsts == wanted[0])
    slots = slots[index.lengths[slots] >= len(wanted)]
    data = np.frombuffer(row.data, np.uint8)
    for place in range(1, min(len(wanted), HEAD)):
        slots = slots[data[index.starts[slots] + place] == wanted[place]]
    if len(wanted) <= HEAD or search is None:
        return slots
    begins = ((slot, search.beginning(slot)) for slot in slots.tolist())
    small = row is index.small
    return np.array([s for s, one in begins if (one.lower() if small else one).startswith(wanted)], np.int64)


def _inside(index: FindIndex, row: TokenRow, wanted: bytes, most: int) -> Iterator[int]:
    """The first tokens that have some bytes in them, in the order of slots."""
    if _BORDER in wanted:
        yield from _inside_with_border(index, row, wanted)[:most].tolist()
        return
    at = 0
    for _ in range(most):
        at = row.data.find(wanted, at)
        if at < 0:
            return
        slot = int(np.searchsorted(index.starts, at, side="right")) - 1
        yield slot
        at = int(index.starts[slot + 1])


def _inside_with_border(index: FindIndex, row: TokenRow, wanted: bytes) -> NDArray[np.int64]:
    """The same of all tokens for bytes that look like a border: the borders themselves are none of them."""
    data = np.frombuffer(row.data, np.uint8)
    own = data == _BORDER[0]
    own[index.starts[1:] - 1] = False
    first = wanted.index(_BORDER)
    places = np.flatnonzero(own) - first
    places = places[(places >= 0) & (places + len(wanted) <= len(data))]
    for offset, byte in enumerate(wanted):
        places = places[own[places + offset] if byte == _BORDER[0] else data[places + offset] == byte]
    return np.unique(np.searchsorted(index.starts, places, side="right") - 1)
