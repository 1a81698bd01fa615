"""The sections of a corpus that is laid out by language."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.model.config import TrainingConfig


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
