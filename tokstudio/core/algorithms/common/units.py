"""A corpus that is laid out for merging: its units, and for parity-aware BPE the sections of its languages."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

import numpy as np

from tokstudio.core.base.records import dataclass
from tokstudio.core.model.config import TrainingConfig

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Languages:
    """The languages of a corpus that is laid out: first the text of each, then the parallel text of each, if any."""

    config: TrainingConfig
    ends: NDArray[np.int64]  # [languages, or twice as many] the position after each of these sections
    measures: NDArray[np.int64]  # [n] how often the parallel sequence of a position occurs; [0] without parallel texts
    lengths: NDArray[np.int64]  # [languages] tokens before the first merge: of the parallel text, if any, else the text
    bytes: NDArray[np.float64]  # [languages] bytes of the text
    ratios: NDArray[np.float64]  # [languages]
    choose: NDArray[np.bool_]  # [languages] False for one without parallel text beside others that have one

    def __len__(self) -> int:
        return len(self.ratios)


@dataclass(frozen=True)
class Units:
    """A corpus as base units, ready to be merged."""

    # [n], ids of the base units; -1 at both ends and between sequences. The engine overwrites it.
    symbols: NDArray[np.int32]
    # [n], how often the sequence of each position occurs, as `in_four_bytes` gives it; empty where each occurs once
    weights: NDArray[np.int32]
    token_bytes: NDArray[np.int64]  # [base], UTF-8 length of each base unit
    tie_order: NDArray[np.int32]  # [base], order of the base units for ties by the order of ids
    # For ties by bytes: the bytes or code points of all base units, one after another, and the end of each, [base].
    # None where each is one, which is its id.
    values: NDArray[np.int32] | None = None
    value_ends: NDArray[np.int64] | None = None
    languages: Languages | None = None  # for parity-aware BPE
    lacking: NDArray[np.int64] | None = None  # [base], for whole characters: as in `tables.Tables`
    heavy: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))  # weights above `LARGEST`
