"""An index of a run's tokens by their bytes, made in the background, and searching it, which takes a few milliseconds.

Tokens go by slot, as in `RunTokens`. Of a long one its beginning is searched.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.progress import Progress, Work
from tokstudio.gui.models.query import Query

#: Matches that are listed.
MOST = 200
#: Bytes of a token that are searched.
HEAD = 256

_STEP = 1 << 12
# In no UTF-8, so that nothing that is typed is found across two tokens.
_BORDER = b"\xff"
_MOST_HITS = 20_000  # places looked at in one search, where bytes of the border itself are sought


@dataclass(frozen=True, eq=False)
class TokenIndex:
    """The tokens one after another, with a border behind each.

    Attributes:
        heads: The first bytes of each token, by slot.
        exact: All of them.
        small: The same with ASCII letters in lower case.
        starts: int64 [n + 1], where each begins.
    """

    heads: list[bytes]
    exact: bytes
    small: bytes
    starts: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.heads)


def index_work(base: list[bytes], parts: NDArray[np.int32], earlier: TokenIndex | None = None) -> Work[TokenIndex]:
    """Makes the index.

    Args:
        base: The tokens there are before any merge.
        parts: int32 [n, 2], the slots that each merge joins.
        earlier: An index of fewer merges of the same, which is gone on from.
    """
    heads = [token[:HEAD] for token in base] if earlier is None else list(earlier.heads)
    first = len(base)
    while len(heads) < first + len(parts):
        begin = len(heads) - first
        for left, right in parts[begin : begin + _STEP].tolist():
            head = heads[left]
            heads.append(head if len(head) == HEAD else (head + heads[right])[:HEAD])
        yield Progress("reading the vocabulary", len(heads), first + len(parts))
    lengths = np.empty(len(heads), np.int64)
    exact, small = list[bytes](), list[bytes]()
    for begin in range(0, len(heads), _STEP):
        some = heads[begin : begin + _STEP]
        lengths[begin : begin + len(some)] = np.fromiter(map(len, some), np.int64, len(some))
        exact.append(_BORDER.join((*some, b"")))
        small.append(exact[-1].lower())
        yield Progress("reading the vocabulary", begin, len(heads))
    starts = np.concatenate([[0], np.cumsum(lengths + len(_BORDER))])
    return TokenIndex(heads, b"".join(exact), b"".join(small), starts)


def search(index: TokenIndex, text: str, ids: NDArray[np.int32], slot_of_id: int, most: int = MOST) -> list[int]:
    """Finds tokens by what a person has typed, the best first.

    First those that are the text, then the one with that id, then those that are the bytes, that are the text but for
    upper and lower case, that begin with it, and that have it in them; among equals by id.

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
    found: dict[int, None] = {}
    wanted = [one for one in query.spellings if one]
    for one in wanted:
        found.update(dict.fromkeys(_by_id(_beginning(index, one, small=False, whole=True), ids, most)))
    if 0 <= slot_of_id < len(index):
        found[slot_of_id] = None
    if query.raw:
        found.update(dict.fromkeys(_by_id(_beginning(index, query.raw, small=False, whole=True), ids, most)))
        wanted.append(query.raw)
    small = list(dict.fromkeys(one.lower() for one in (*wanted, *query.cases)))
    for whole in (True, False):
        rows = [_beginning(index, one, small=True, whole=whole) for one in small]
        together = np.unique(np.concatenate(rows)) if rows else np.empty(0, np.int64)
        found.update(dict.fromkeys(_by_id(together, ids, most + len(found))))
    if len(found) < most:
        inside = {slot for one in small for slot in _inside(index, one, most + len(found))}
        found.update(dict.fromkeys(_by_id(np.array(sorted(inside), np.int64), ids, most + len(found))))
    return list(found)[:most]


def _by_id(slots: NDArray[np.int64], ids: NDArray[np.int32], most: int) -> list[int]:
    return slots[np.argsort(ids[slots], kind="stable")[:most]].tolist()


def _beginning(index: TokenIndex, wanted: bytes, *, small: bool, whole: bool) -> NDArray[np.int64]:
    """The tokens that begin with some bytes, or that are them."""
    lengths = np.diff(index.starts) - len(_BORDER)
    slots = np.flatnonzero(lengths == len(wanted) if whole else lengths > len(wanted))
    data = np.frombuffer(index.small if small else index.exact, np.uint8)
    for place, byte in enumerate(wanted):
        slots = slots[data[index.starts[slots] + place] == byte]
    return slots


def _inside(index: TokenIndex, wanted: bytes, most: int) -> Iterator[int]:
    """The first tokens that have some bytes in them, in the order of slots."""
    at = found = 0
    for _ in range(_MOST_HITS):
        at = index.small.find(wanted, at)
        if at < 0 or found == most:
            return
        slot = int(np.searchsorted(index.starts, at, side="right")) - 1
        if at + len(wanted) < index.starts[slot + 1]:
            found += 1
            yield slot
            at = int(index.starts[slot + 1])
        else:
            at += 1
