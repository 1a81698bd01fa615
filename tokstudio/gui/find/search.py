"""Finds tokens by the text typed into Find, the best first. See also `state/token_index.py`."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.base.progress import Progress, Work
from tokstudio.gui.state.token_flags import HEAD
from tokstudio.gui.state.token_index import Texts, TokenIndex
from tokstudio.gui.token_table.query import Query
from tokstudio.gui.token_table.search import TokenSearch

#: The most results.
MOST = 200

# The space before a word, and SentencePiece's sign for it.
_SPACES = (b" ", "▁".encode())


def search_work(
    index: TokenIndex, text: str, ids: NDArray[np.int32], slot_of_id: int, most: int = MOST
) -> Work[list[int]]:
    """Finds tokens by the typed text, the best first.

    The order: equal to the text; the token with that id; equal to the bytes; the text after a space; equal except for
    case; the byte of two hexadecimal digits; beginning with the text, after a space or not; containing it. Ties are
    ordered by id. Bytes respect case.

    `ids` has the id of each slot; `slot_of_id` is the slot of the token with the typed id, -1 for none. Returns slots.
    """
    query, lengths = Query(text), index.made.lengths
    spelled, raw = {one for one in query.spellings if one}, query.raw
    after_space = {space + one for one in spelled for space in _SPACES}
    wanted = dict.fromkeys((one.lower(), index.small) for one in (*query.spellings, *query.cases) if one)
    begun = [*wanted, *((space + one, row) for one, row in wanted for space in _SPACES)]
    if raw:
        wanted[raw, index.raw] = None
        begun.append((raw, index.raw))
    search = yield from _long_work(index, list(wanted), max([len(one) for one, _ in begun], default=0))
    rows = [(len(one), _beginning(index, row, one, search)) for one, row in begun]
    whole = np.concatenate([np.empty(0, np.int64), *(slots[lengths[slots] == size] for size, slots in rows)])
    longer = np.concatenate([np.empty(0, np.int64), *(slots[lengths[slots] > size] for size, slots in rows)])
    alike = _by_id(whole, ids, len(whole))
    # Tokens as long as a spelling are compared as a whole here.
    bytes_of = index.heads.__getitem__ if search is None else search.beginning
    found = dict.fromkeys(slot for slot in alike if bytes_of(slot) in spelled)
    if 0 <= slot_of_id < len(index):
        found[slot_of_id] = None
    found.update(dict.fromkeys(slot for slot in alike if bytes_of(slot) == raw))
    found.update(dict.fromkeys(slot for slot in alike if bytes_of(slot) in after_space))
    found.update(dict.fromkeys(alike))
    if query.byte is not None:
        slots = _beginning(index, index.raw, query.byte, search)
        found.update(dict.fromkeys(_by_id(slots[lengths[slots] == 1], ids, most)))
    found.update(dict.fromkeys(_by_id(longer, ids, most)))
    if len(found) < most:
        inside = set[int]()
        for one, row in wanted:
            yield Progress("searching tokens")
            inside.update(np.flatnonzero(row.holding(one))[: most + len(found)].tolist())
        if search is not None:
            inside.update(index.long[np.frombuffer(search.found, np.bool_)[index.long]].tolist())
        found.update(dict.fromkeys(_by_id(np.array(sorted(inside), np.int64), ids, len(inside))))
    return list(found)[:most]


def _long_work(index: TokenIndex, wanted: list[tuple[bytes, Texts]], longest: int) -> Work[TokenSearch | None]:
    """Finds the long tokens that contain something, by all of their bytes; None if there are no long tokens."""
    if not len(index.long) or not wanted:
        return None
    small = [one for one, row in wanted if row is index.small]
    exact = [one for one, row in wanted if row is index.raw]

    def accepts(raw: bytes) -> bool:
        lower = raw.lower()
        return any(one in lower for one in small) or any(one in raw for one in exact)

    search = TokenSearch(accepts, longest, index)
    for _ in search.go_on_long():
        yield Progress("searching tokens")
    return search


def _by_id(slots: NDArray[np.int64], ids: NDArray[np.int32], most: int) -> list[int]:
    slots = np.unique(slots)
    return slots[np.argsort(ids[slots], kind="stable")[:most]].tolist()


def _beginning(index: TokenIndex, row: Texts, wanted: bytes, search: TokenSearch | None) -> NDArray[np.int64]:
    """The tokens that begin with some bytes, or equal them."""
    slots = row.beginning(wanted[:HEAD])
    if len(wanted) <= HEAD or search is None:
        return slots
    begins = ((slot, search.beginning(slot)) for slot in slots.tolist())
    small = row is index.small
    return np.array([s for s, one in begins if (one.lower() if small else one).startswith(wanted)], np.int64)
