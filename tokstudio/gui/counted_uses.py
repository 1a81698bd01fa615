"""The uses of the tokens of an opened tokenizer, as they were counted in the corpus that is open."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class CountedUses:
    """How often each token of an opened tokenizer stands in a corpus.

    Attributes:
        merges: After how many merges that is so.
        uses: int64, by id.
        corpus: What the corpus is called.
    """

    merges: int
    uses: NDArray[np.int64]
    corpus: str
