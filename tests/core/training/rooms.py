"""The engine with hardly any room or time, so that squeezing, growing, rounds and interruptions come at every point.

Small corpora never get there by themselves, so its sizes are made small.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from hypothesis import strategies as st

from tokstudio.core.algorithms.bpe import engine
from tokstudio.core.algorithms.common import progress_estimate

# Room for one round's pairs at least, and hardly more.
TIGHT = {"pool_share": 1.0, "slack": 0, "pairs_at_first": 2}

# A grid has 65,536 cells at least, and is not walked one by one.
_budgets_and_grids = st.sampled_from([(1, 0), (7, 0), (50, 0), (40, 1 << 22), (1000, 1 << 22), (400_000, 1 << 22)])
_sizes = st.fixed_dictionaries(
    {
        "batch": st.sampled_from([1, 3, 4096]),
        "floor_step": st.sampled_from([2, 32]),
        "first_floor_share": st.sampled_from([1, 3, 10, 2048]),
        "pool_share": st.sampled_from([1.0, 1.15]),
        "slack": st.sampled_from([0, 1, 5, 1024]),
        "pairs_at_first": st.sampled_from([2, 3, 10, 1 << 14]),
        "fewest_cells": st.sampled_from([32, 64, 1 << 16]),
        "cell_share": st.sampled_from([0, 4]),
    }
)
rooms = st.builds(
    lambda sizes, place: {**sizes, "budget": place[0], "largest_grid": place[1]}, _sizes, _budgets_and_grids
)


@contextmanager
def in_room(floor_step: int = progress_estimate.FLOOR_STEP, **sizes: Any) -> Iterator[None]:
    """Gives the sizes of the engine these values."""
    with (
        patch.multiple(engine, **{f"_{name.upper()}": value for name, value in sizes.items()}),
        patch.object(progress_estimate, "FLOOR_STEP", floor_step),
    ):
        yield
