"""The merges of a tokenizer in the forms that the loops of encoding read: a hash table, and a trie of the tokens."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from tokstudio.core.base.arrays import in_large_pages, power_of_two, read_only
from tokstudio.core.base.records import dataclass
from tokstudio.core.model.alphabet import Alphabet

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MOST_NODES = 1 << 24
_ROOM, _MOST_ROOM = 1.125, 16  # rows for each node of a trie, at first and at most


@dataclass(frozen=True, eq=False)
class Trie:
    """The spellings of the tokens that merging can make, which have numbers here; see `kernels.longest_match`."""

    base: int  # base tokens, whose numbers are the lowest
    ids: NDArray[np.uint32]  # [numbers]
    numbers: NDArray[np.int32]  # [ids]
    pairs: NDArray[np.int64]  # the hash table of merges, by numbers; see `kernels.encode`
    bits: NDArray[np.uint8]  # those of the pairs in it
    parts: NDArray[np.int32]  # [numbers, 2], left and right
    lengths: NDArray[np.int32]  # [numbers], base tokens
    shorter: NDArray[np.int32]  # [numbers], the longest token that each begins with, but for itself
    nodes: NDArray[np.int64]  # [rows]
    ends: NDArray[np.int32]  # [2, rows]

    @cached_property
    def numbered(self) -> bool:
        """Whether numbers of base tokens differ from their ids."""
        return not np.array_equal(self.ids[: self.base], np.arange(self.base))


class MergeTable:
    """A hash table of merges, and a trie of their tokens once much text has been encoded. Safe in several threads.

    Args:
        merges: int32 [n, 2], ids of left and right in rank order.
        results: int32 [n], the id that each merge makes.
        chosen: bool [n], the merges in the table, which then has no trie; None for all.
        ordered: Whether each merge comes after those that make its parts; else the table has no trie.
    """

    def __init__(
        self,
        merges: NDArray[np.int32],
        results: NDArray[np.int32],
        chosen: NDArray[np.bool_] | None = None,
        ordered: bool = True,
    ) -> None:
        self._has_trie = chosen is None and ordered
        if chosen is not None:
            # A pair that no text has takes the rank of a merge that is left out.
            merges = np.where(chosen[:, np.newaxis], merges, np.int32(-2))
        self._merges, self._results = read_only(merges), read_only(results)
        self._encoded = 0
        self._trie: Trie | None = None
        self._units: tuple[Alphabet, NDArray[np.int32], NDArray[np.int64]] | None = None
        # By ids; see `_hashed`.
        self.pairs, self.bits = _hashed(self._merges, self._results)

    def units_for(self, alphabet: Alphabet) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """The arguments `unit_ids` and `byte_pairs` of `kernels.many_words.encode_words`."""
        if alphabet.base != "bytes":
            return alphabet.id_of, np.empty(0, np.int64)
        # Another thread may replace it by one for another alphabet at any time.
        units = self._units
        if units is None or units[0] is not alphabet:
            from tokstudio.core.kernels.short_words import fill_byte_pairs

            unknown = -1 if alphabet.unknown is None else alphabet.unknown
            ids, pairs = np.where(alphabet.id_of < 0, np.int32(unknown), alphabet.id_of), np.empty(1 << 16, np.int64)
            units = alphabet, read_only(ids), pairs
            fill_byte_pairs(units[1], self.pairs, self.bits, pairs)
            self._units = units
        return units[1:]

    def trie_for(self, alphabet: Alphabet, size: int) -> Trie | None:
        """The trie for a text of so many base tokens.

        None as long as it would take longer to make than it has saved, where it would be too large, and where a merge
        makes the token that stands for unknown characters: a base token is none that a merge makes.
        """
        self._encoded += size
        if not self._has_trie or self._encoded < len(self._merges):
            return None
        ids = 1 + max(int(np.max(alphabet.ids, initial=0)), alphabet.unknown or 0)
        # Another thread may replace it by one for fewer ids at any time.
        trie = self._trie
        if trie is None or len(trie.numbers) < ids:
            # A merge may name a token that nothing makes.
            last = max(int(np.max(self._results, initial=0)), int(np.max(self._merges, initial=0)))
            trie = self._trie = self._made(max(ids, last + 1))
        if not len(trie.nodes) or (alphabet.unknown is not None and trie.numbers[alphabet.unknown] >= trie.base):
            return None
        return trie

    def _made(self, size: int) -> Trie:
        """The trie for ids below `size`; one without nodes where it would be too large."""
        from tokstudio.core.kernels import longest_match as kernel

        is_base = np.ones(size, np.bool_)
        is_base[self._results] = False
        base = int(is_base.sum())
        ids = np.concatenate([is_base.nonzero()[0], self._results])
        numbers = np.empty(size, np.int32)
        numbers[ids] = np.arange(size)
        merges, results = numbers[self._merges], numbers[self._results]
        pairs, bits = self.pairs, self.bits
        if not np.array_equal(numbers, np.arange(size)):
            pairs, bits = _hashed(merges, results)
        parts, lengths = np.full((size, 2), -1, np.int32), np.ones(size, np.int32)
        parts[base:] = merges
        reachable, shorter = np.arange(size) < base, np.full(size, -1, np.int32)
        most = kernel.describe(pairs, bits, base, parts, lengths, reachable)
        rows = _no_rows()
        if most <= _MOST_NODES:
            listed = np.full((4, most), kernel.NO_TOKEN, np.int32)
            count = kernel.list_nodes(results[reachable[base:]], parts, base, listed, shorter)
            rows = _placed(base, listed, count)
        return Trie(base, ids.astype(np.uint32), numbers, pairs, bits, parts, lengths, shorter, *rows)


def _hashed(merges: NDArray[np.int32], results: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """The hash table of merges, int64 [2 s], and its bits, uint8; see `kernels.encode.fill_pairs`."""
    from tokstudio.core.kernels.encode import fill_pairs

    pairs = in_large_pages(2 << max(4, (2 * len(merges)).bit_length()), -1)
    bits = np.zeros(power_of_two(max(1, len(merges))), np.uint8)
    fill_pairs(read_only(merges), read_only(results), pairs, bits)
    return pairs, bits


def _placed(base: int, listed: NDArray[np.int32], count: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The rows of so many listed nodes; none where they would be too many."""
    from tokstudio.core.kernels import longest_match as kernel

    # The next nodes of any node fit into so many rows if all of these are free.
    step = power_of_two(base)
    size = step * (2 + int(_ROOM * count) // step)
    most = min(_MOST_ROOM * max(step, count), kernel.MOST_ROWS)
    while size <= most:
        nodes, ends = np.full(size, kernel.FREE, np.int64), np.full((2, size), kernel.NO_TOKEN, np.int32)
        if kernel.place_nodes(base, listed, count, nodes, ends):
            return nodes, ends
        size *= 2
    return _no_rows()


def _no_rows() -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    return np.empty(0, np.int64), np.empty((2, 0), np.int32)
