"""Encoding of short texts: a look-up of each pre-token, without the arrays and steps that long texts need."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate, chain
from typing import TYPE_CHECKING

import numpy as np

from tokstudio.core.base.arrays import read_only
from tokstudio.core.base.progress import finish
from tokstudio.core.pretokenization.patterns import NONE, splitter
from tokstudio.core.pretokenization.word_table import PADDING
from tokstudio.core.text.unicode_classes import classes

if TYPE_CHECKING:
    from tokstudio.core.tokenizer.encoder import Encoder

LONGEST = 256  # bytes of a short text
_MOST_KNOWN = 1 << 14  # pre-tokens cached with their tokens
_SIZES = read_only(np.arange(LONGEST + 1))


class ShortTexts:
    """Encodes texts that a named pattern splits. Safe in several threads.

    Args:
        encoder: It encodes words that are not among `whole_words`, and joins no words.
        whole_words: The ids of words that are left whole.
    """

    def __init__(self, encoder: Encoder, whole_words: Mapping[bytes, int]) -> None:
        from tokstudio.core.kernels.documents import scan_documents

        self._scan = scan_documents  # an import with each text would take a tenth of the time
        self._encoder = encoder
        self._kind = splitter(encoder.pattern).kind
        self._whole_words = {word: [token] for word, token in whole_words.items()}
        self._known = self._whole_words.copy()

    @staticmethod
    def can_use(encoder: Encoder) -> bool:
        """Whether it encodes as the encoder does."""
        return splitter(encoder.pattern).kind > NONE and not encoder.joins_words

    def encode(self, raw: bytes) -> list[int]:
        """The ids of a text of at most `LONGEST` bytes, without special tokens; raises the same as the encoder."""
        ends, size = np.empty(LONGEST, np.int64), _SIZES[len(raw) : len(raw) + 1]
        n, _, _ = self._scan(self._kind, np.frombuffer(raw, np.uint8), 0, 0, size, classes(), ends)
        stops = ends[:n].tolist()
        words = [raw[start:stop] for start, stop in zip([0, *stops], stops, strict=False)]
        try:
            return list(chain.from_iterable(map(self._known.__getitem__, words)))
        except KeyError:
            known = self._learn(words)
            return list(chain.from_iterable(map(known.__getitem__, words)))

    def _learn(self, words: list[bytes]) -> dict[bytes, list[int]]:
        """The tokens of at least these words."""
        known = self._known
        if len(known) >= _MOST_KNOWN + len(self._whole_words):
            known = self._whole_words.copy()
        new = [word for word in dict.fromkeys(words) if word not in known]
        data = np.frombuffer(b"".join(new) + bytes(PADDING), np.uint8)
        ends = np.array(list(accumulate(map(len, new))), np.int64)
        made = finish(self._encoder.encode_words_work(data, 0, ends))
        for word, number in zip(new, made.numbers.tolist(), strict=True):
            known[word] = made.ids[made.offsets[number] : made.offsets[number + 1]].tolist()
        self._known = known
        return known
