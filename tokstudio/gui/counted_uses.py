"""The uses of the tokens of an opened tokenizer, as they were counted in the corpus that is open."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.corpus.corpus import Corpus


@dataclass(frozen=True, eq=False)
class CountedUses:
    """How often each token of an opened tokenizer stands in a corpus.

    Attributes:
        merges: After how many merges that is so.
        uses: int64, by id.
        text: The corpus.
        corpus: What the corpus is called.
    """

    merges: int
    uses: NDArray[np.int64]
    text: Corpus
    corpus: str

    @cached_property
    def bytes_per_token(self) -> float:
        """Compression ratio of the corpus."""
        tokens = int(self.uses.sum())
        return self.text.bytes / tokens if tokens else 0.0
