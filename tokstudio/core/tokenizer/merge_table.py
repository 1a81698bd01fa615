"""The merges of a tokenizer in the form that the loops of encoding read."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.base.arrays import power_of_two, read_only
from tokstudio.core.model.alphabet import Alphabet

_MOST_NODES = 1 << 24


@dataclass(frozen=True, eq=False)
class Trie:
    """The spellings of the tokens that merging can make; see `kernels.longest_match`."""

    tokens: NDArray[np.int32]  # [ids, 4]
    shorter: NDArray[np.int32]  # [ids], the longest token that each begins with, but for itself
    edges: NDArray[np.int64]  # [a power of two, 2]


class MergeTable:
    """A hash table of merges, and a trie of their tokens once much text has been encoded. Safe in several threads.

    Args:
        merges: int32 [n, 2], ids of left and right in rank order.
        results: int32 [n], the id that each merge makes.
        chosen: bool [n], the merges in the table, which then has no trie; None for all.
        ordered: Whether each merge comes after those that make its parts; else the table has no trie.

    Attributes:
        pairs: int64 [2 s], the hash table; see `kernels.encode`.
        bits: uint8, those of the pairs in it; see `kernels.encode.fill_pairs`.
    """

    def __init__(
        self,
        merges: NDArray[np.int32],
        results: NDArray[np.int32],
        chosen: NDArray[np.bool_] | None = None,
        ordered: bool = True,
    ) -> None:
        from tokstudio.core.kernels.encode import fill_pairs

        self._has_trie = chosen is None and ordered
        if chosen is not None:
            # A pair that no text has takes the rank of a merge that is left out.
            merges = np.where(chosen[:, np.newaxis], merges, np.int32(-2))
        self._merges, self._results = read_only(merges), read_only(results)
        self._encoded = 0
        self._trie: Trie | None = None
        self.pairs = np.full(2 << max(4, (2 * len(merges)).bit_length()), -1, np.int64)
        self.bits = np.zeros(power_of_two(max(1, 4 * len(merges))), np.uint8)
        fill_pairs(self._merges, self._results, self.pairs, self.bits)

    def trie_for(self, alphabet: Alphabet, size: int) -> Trie | None:
        """The trie for a text of so many base tokens.

        None as long as it would take longer to make than it has saved, where it would be too large, and where a merge
        makes the token that stands for unknown characters: a base token is none that a merge makes.
        """
        self._encoded += size
        if not self._has_trie or self._encoded < len(self._merges):
            return None
        from tokstudio.core.kernels.longest_match import RANK

        ids = 1 + max(int(np.max(alphabet.ids, initial=0)), alphabet.unknown or 0)
        # Another thread may replace it by one for fewer ids at any time.
        trie = self._trie
        if trie is None or len(trie.tokens) < ids:
            # A merge may name a token that nothing makes.
            last = max(int(np.max(self._results, initial=0)), int(np.max(self._merges, initial=0)))
            trie = self._trie = self._made(max(ids, last + 1))
        if not len(trie.edges) or (alphabet.unknown is not None and trie.tokens[alphabet.unknown, RANK] >= 0):
            return None
        return trie

    def _made(self, ids: int) -> Trie:
        from tokstudio.core.kernels import longest_match as kernel

        tokens = np.zeros((ids, 4), np.int32)
        tokens[:, kernel.RANK], tokens[:, kernel.LENGTH] = -1, 1
        reachable = np.ones(ids, np.bool_)
        reachable[self._results] = False
        most = kernel.describe(self._merges, self._results, self.pairs, self.bits, tokens, reachable)
        shorter = np.full(ids, -1, np.int32)
        edges = np.full((power_of_two(most + most // 4 + 2) if most <= _MOST_NODES else 0, 2), -1, np.int64)
        if len(edges):
            kernel.fill_trie(self._results[reachable[self._results]], tokens, most, edges, shorter)
        return Trie(tokens, shorter, edges)
