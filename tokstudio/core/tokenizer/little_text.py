"""Encodes a little text without the compiled loops, which take longer to load than such a text to encode.

It gives the same ids; where it cannot, it leaves the text to the loops.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import sys
from collections.abc import Mapping
from itertools import chain, pairwise

import numpy as np

from tokstudio.core.base.errors import ConfigError
from tokstudio.core.pretokenization.patterns import plain_splitter
from tokstudio.core.text.utf8 import is_utf8
from tokstudio.core.tokenizer.content import TokenizerContent

#: Bytes of a text, of a pre-token, and of all texts of a tokenizer: for more the loops are worth their loading.
LONGEST, LONGEST_WORD, MOST = 1 << 12, 1 << 7, 1 << 14
_NEVER = 1 << 32  # a rank after all others


def compiler_is_loaded() -> bool:
    """Whether the loops encode without a delay."""
    return "numba" in sys.modules


class LittleTexts:
    """Encodes by a content without dropout and what is done before splitting. Safe in several threads."""

    def __init__(self, content: TokenizerContent, whole_words: Mapping[bytes, int]) -> None:
        merges, self._results = content.merges.astype(np.int64), content.merge_results
        keys = merges[:, 0] << 32 | merges[:, 1]
        # Of equal pairs the first counts.
        self._rows = np.argsort(keys, kind="stable")
        self._keys = keys[self._rows]
        self._alphabet, self._whole_words = content.alphabet, whole_words
        self._splitter = plain_splitter(content.pattern)
        self._ranks: dict[tuple[int, int], int] = {}
        self._left = MOST

    @staticmethod
    def can_use(content: TokenizerContent) -> bool:
        """Whether it encodes as the loops do."""
        changes = content.preparation.nfc or content.preparation.prefix_space
        return not changes and content.dropout is content.supermerges is content.removals is None

    def encode(self, raw: bytes) -> list[int] | None:
        """The ids of a text without special tokens; None where the loops are to encode it, or to raise."""
        self._left -= len(raw)
        if self._left < 0 or not is_utf8(raw):
            return None
        try:
            return self._encoded(raw)
        except ConfigError:  # such as a character that is not in the vocabulary
            return None

    def _encoded(self, raw: bytes) -> list[int] | None:
        words = self._splitter.split(raw)
        if max(map(len, words), default=0) > LONGEST_WORD:
            return None
        known_words = {word: self._tokens(word) for word in dict.fromkeys(words)}
        return list(chain.from_iterable(map(known_words.__getitem__, words)))

    def _tokens(self, word: bytes) -> list[int]:
        if (whole := self._whole_words.get(word)) is not None:
            return [whole]
        if self._alphabet.base == "bytes":
            ids = self._alphabet.ids_of_bytes(np.frombuffer(word, np.uint8)).tolist()
        else:
            ids = self._alphabet.ids_of(word.decode()).tolist()
        while len(ids) > 1:
            ranks = [self._rank(pair) for pair in pairwise(ids)]
            lowest = min(ranks)
            if lowest == _NEVER:
                break
            at = ranks.index(lowest)
            ids[at : at + 2] = [int(self._results[lowest])]
        return ids

    def _rank(self, pair: tuple[int, int]) -> int:
        """The merge of two tokens."""
        if (rank := self._ranks.get(pair)) is None:
            key = pair[0] << 32 | pair[1]
            row = int(np.searchsorted(self._keys, key))
            rank = int(self._rows[row]) if row < len(self._keys) and self._keys[row] == key else _NEVER
            self._ranks[pair] = rank
        return rank
