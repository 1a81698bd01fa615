"""Finds tokens by what a person has typed into Find, the best first. See also `state/token_index.py`."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.base.progress import Progress, Work
from tokstudio.gui.state.token_flags import HEAD
from tokstudio.gui.state.token_index import Texts, TokenIndex
from tokstudio.gui.token_table.query import Query
from tokstudio.gui.token_table.search import TokenSearch

#: Matches that are listed.
MOST = 200

# What stands for the space before a word: itself, and SentencePiece's sign.
_SPACES = (b" ", "▁".encode())


def search_work(
    index: TokenIndex, text: str, ids: NDArray[np.int32], slot_of_id: int, most: int = MOST
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
    # What is as long as something typed is here as a whole.
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
    """Finds out which long tokens have something in them, by all of their bytes; None where none is long."""
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
    """The tokens that begin with some bytes, or are them."""
    slots = row.beginning(wanted[:HEAD])
    if len(wanted) <= HEAD or search is None:
        return slots
    begins = ((slot, search.beginning(slot)) for slot in slots.tolist())
    small = row is index.small
    return np.array([s for s, one in begins if (one.lower() if small else one).startswith(wanted)], np.int64)
