"""The text that the sizes of a run are judged by, with its tokens after each merge."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tokstudio.gui.state.run import StudioRun


@dataclass(frozen=True, eq=False)
class MeasuredText:
    """The tokens and the bytes of a text, in units of 1 / `scale`."""

    tokens: NDArray[np.int64]  # [n + 1], after 0, 1, ... n merges
    bytes: int
    scale: int
    held_out: bool  # whether it was kept out of training


def measured_text(run: StudioRun) -> MeasuredText | None:
    """The held-out text of a run if it was measured, else the training text; None if there are no tokens."""
    held_out = run.held_out.tokens
    if held_out is not None and held_out[-1]:
        return MeasuredText(held_out, run.held_out.bytes, 1, held_out=True)
    if not run.has_counts or not run.log.tokens_before:
        return None
    tokens = np.concatenate([np.array([run.log.tokens_before], np.int64), run.log.tokens_after])
    return MeasuredText(tokens, run.corpus_bytes, run.weight_scale, held_out=False)
