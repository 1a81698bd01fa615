"""A tokenizer with other ids, and which old id became which."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.tokenizer.origin import Change, Origin
from tokstudio.core.tokenizer.tokenizer import Tokenizer


@dataclass(frozen=True, eq=False)
class Pruned:
    """A tokenizer after tokens were removed or ids changed."""

    tokenizer: Tokenizer
    new_ids: NDArray[np.int32]  # [ids before], the new id of each; -1: removed, or not in use; read-only
    # Ids before that were to be removed, but that a token which stays needs; ascending.
    needed: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))


def with_ids(
    tokenizer: Tokenizer, new_ids: NDArray[np.int32], change: Change, needed: NDArray[np.int32] | None = None
) -> Pruned:
    """The tokenizer with the ids `new_ids[id]`, and where it is from; see `Tokenizer.renumbered`."""
    origin = Origin(tokenizer, change, new_ids)
    made = tokenizer.renumbered(new_ids).changed(origin=origin, checked=True)
    return Pruned(made, origin.new_ids, np.empty(0, np.int32) if needed is None else needed)
