"""Which tokens of a run a filter lets pass, and in what order: at once with an index, else in short steps."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Generator, Iterator

import numpy as np
from numpy.typing import NDArray

from tokstudio.gui.panes.vocabulary.kinds import indexed_looks, listed, looks_of, needs_heads, script_search
from tokstudio.gui.state.run_tokens import RunTokens
from tokstudio.gui.state.token_flags import NOT_UTF8, WHITE_SPACE
from tokstudio.gui.state.token_uses import UNCOUNTED, USED, TokenUses
from tokstudio.gui.token_table.index import TokenIndex
from tokstudio.gui.token_table.query import Query
from tokstudio.gui.token_table.search import TokenSearch, search_of

#: The columns of the vocabulary.
ID, TOKEN, BYTES, LENGTH, PARTS, MERGE, USES, KIND, NOTES = range(9)

_NOTED = WHITE_SPACE | NOT_UTF8


class TokenChoice:
    """What is asked for of the tokens of one run, and what is known of the answer.

    Args:
        tokens: The tokens.
    """

    def __init__(self, tokens: RunTokens) -> None:
        self._tokens = tokens
        self._index: TokenIndex | None = None
        self._query = Query("")
        self._kinds: frozenset[str] = frozenset()
        self._lengths: tuple[int, int] | None = None
        self._passes = np.zeros(0, np.bool_)
        self._looks = np.zeros(0, np.bool_)
        self._searching: TokenSearch | None = None
        self._scripts: TokenSearch | None = None
        self._orders: dict[tuple[int, bool], NDArray[np.int32]] = {}  # that the playhead does not change

    def set_index(self, index: TokenIndex) -> None:
        """Takes an index of all tokens."""
        self._index = index
        self._tokens.know(index.heads, index.flags, index.looks)
        self._orders.clear()
        self._looks, self._scripts = np.zeros(0, np.bool_), None
        if len(self._passes) < len(self._tokens):
            # What the index tells at once need not be found out one by one.
            self._passes, self._searching = np.zeros(0, np.bool_), None

    def choose(self, query: Query, kinds: frozenset[str], lengths: tuple[int, int] | None) -> None:
        """Sets what is asked for; what is known of the same question stays known."""
        if query is not self._query:
            self._passes, self._searching = np.zeros(0, np.bool_), None
        if kinds != self._kinds:
            self._looks, self._scripts = np.zeros(0, np.bool_), None
        self._query, self._kinds, self._lengths = query, kinds, lengths

    def know(self, passes: NDArray[np.bool_]) -> None:
        """Takes over which tokens the query accepts, where somebody else has found out."""
        self._passes = passes

    def prepare(self, column: int) -> Iterator[None]:
        """Gathers what the answer needs, for rows sorted by a column."""
        tokens = self._tokens
        by_text, looks = column in (TOKEN, BYTES), needs_heads(self._kinds)
        indexed = self._index is not None and len(self._index) == len(tokens)
        searches = self._query.is_expression and len(self._passes) < len(tokens)
        if searches or (not indexed and (by_text or looks or column == NOTES or self._query.needs_heads)):
            yield from tokens.gather()
        if by_text and not indexed:
            yield from tokens.sort()
        if self._query:
            yield from self._search()
        if looks:
            yield from self._look()

    def rows(
        self, size: int, column: int, descending: bool, uses: TokenUses
    ) -> Generator[None, None, NDArray[np.int32]]:
        """The slots of the first `size` tokens that pass, in the order of a column."""
        order = yield from self._order(size, column, descending, uses)
        yield
        rows = order[self._chosen(size, uses)[order]]
        yield
        return rows

    def _search(self) -> Iterator[None]:
        """Looks at the tokens that the filter has not seen yet; at once where an index has them."""
        query, tokens, n = self._query, self._tokens, len(self._tokens)
        if len(self._passes) < n and query.needs_heads:
            search = self._searching
            if search is None:
                search = search_of(query, tokens)
                if self._index is not None and not query.is_expression:
                    yield from search.go_on_from(self._index.matching(query), self._index.long)
                self._searching = search
            yield from search.go_on()
            passes = np.frombuffer(bytes(search.found), np.bool_)
            self._passes = passes & query.within(tokens.lengths()[: len(passes)])
        elif len(self._passes) < n:
            self._passes = query.within(tokens.lengths())
        number = query.number
        if number is not None:
            fits = query.within(self._tokens.lengths())
            for slot in (self._tokens.slot_of(number), max(self._tokens.first + number - 1, self._tokens.first)):
                if 0 <= slot < len(self._passes):
                    self._passes[slot] = fits[slot]

    def _look(self) -> Iterator[None]:
        """Finds out which tokens have the looks and scripts that are chosen."""
        if not len(self._looks) and self._index is not None:
            self._looks = indexed_looks(self._kinds, self._index)
            yield
        if len(self._looks) == len(self._tokens):
            return
        if self._scripts is None:
            self._scripts = script_search(self._kinds, self._tokens)
        for found in looks_of(self._kinds, self._tokens, len(self._looks), self._scripts):
            self._looks = np.concatenate([self._looks, found])
            yield

    def _order(
        self, size: int, column: int, descending: bool, uses: TokenUses
    ) -> Generator[None, None, NDArray[np.int32]]:
        """The first `size` tokens in the order that was asked for; what the playhead does not change is remembered."""
        tokens, wanted = self._tokens, (column, descending)
        stays = column not in (USES, NOTES)
        known = self._orders.get(wanted) if stays else None
        if known is not None and len(known) == len(tokens):
            return known[known < size] if size < len(known) else known
        if column in (TOKEN, BYTES):
            order = self._index.order if self._index is not None else tokens.order
            # A token that came since is not sorted yet; it comes with the next time.
            missing = np.arange(len(order), len(tokens), dtype=np.int32)
            complete = not len(missing)
            order = np.concatenate([order, missing])
            order = order[::-1] if descending else order
        else:
            n = len(tokens) if stays else size
            order = yield from order_steps(self._key(n, column, uses)[:n].astype(np.int64), descending)
            complete = stays
        if complete:
            self._orders[wanted] = order
        return order[order < size]

    def _key(self, n: int, column: int, uses: TokenUses) -> NDArray:
        """The whole number that decides the order of `n` tokens, by slot."""
        tokens = self._tokens
        if column == ID:
            return tokens.ids
        if column == LENGTH:
            return tokens.lengths()
        if column == MERGE:
            # What no merge made stays in its order, whichever way is sorted.
            return np.maximum(np.arange(n) - tokens.first, -1)
        if column == PARTS:
            parts = tokens.parts.astype(np.int64)
            return np.concatenate([np.full(tokens.first, -1), (parts[:, 0] << 32) | parts[:, 1]])
        if column == USES and uses.known:
            return _padded(uses.counts, n)
        if column == KIND:
            return tokens.kinds(n)
        if column == NOTES:
            looks = (self._index.flags if self._index is not None else tokens.flags()) & _NOTED
            states = uses.states(n)
            # Of what is not counted as little is said as of what is used.
            states[states == UNCOUNTED] = USED
            reach = np.zeros(n, np.int64) if tokens.reach is None else tokens.reach[:n].astype(np.int64)
            return reach * 256 + _padded(looks, n) * 4 + states
        return np.arange(n)

    def _chosen(self, n: int, uses: TokenUses) -> NDArray[np.bool_]:
        """Which of `n` tokens the filter and the kind let pass, by slot."""
        chosen = _padded(self._passes, n).astype(np.bool_) if self._query else np.ones(n, np.bool_)
        looks = self._looks if needs_heads(self._kinds) else None
        chosen &= listed(self._kinds, self._tokens, uses, looks, n)
        if self._lengths is not None:
            lengths = self._tokens.lengths()[:n]
            chosen &= (lengths >= self._lengths[0]) & (lengths <= self._lengths[1])
        return chosen


def _padded(values: NDArray, length: int) -> NDArray:
    """The first `length` values, with zeros where there are fewer."""
    return np.pad(values[:length], (0, max(length - len(values), 0)))


_DIGIT = 16  # bits: numpy sorts these by counting, a million in some 10 ms


def order_steps(key: NDArray[np.int64], descending: bool = False) -> Generator[None, None, NDArray[np.int32]]:
    """Gives the places of `key` in the order of its values, those of equal ones ascending.

    It sorts by one digit of 16 bits after the other, the least first: a sort of the whole cannot be interrupted.
    """
    order = np.arange(len(key), dtype=np.int32)
    if not len(key):
        return order
    distance = key.max() - key if descending else key - key.min()
    yield
    for shift in range(0, int(distance.max()).bit_length(), _DIGIT):
        digit = (distance[order] >> shift).astype(np.uint16)
        yield
        places = np.argsort(digit, kind="stable")
        yield
        order = order[places]
        yield
    return order
