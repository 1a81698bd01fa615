"""Maps rows of the vocabulary table to tokens."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class OrderedTokens:
    """Tokens in the order of creation, or with the newest merges first, or in any other order."""

    first: int = 0  # without `slots`: the number of tokens before any merge
    size: int = 0  # without `slots`: the number of tokens
    newest_first: bool = False  # without `slots`: the merges come from the last to the first, then the rest
    slots: NDArray[np.int32] | None = None  # int32, slots by row; None for the order of creation

    def __len__(self) -> int:
        return self.size if self.slots is None else len(self.slots)

    def slot_at(self, row: int) -> int:
        """The slot of the token in a row."""
        if self.slots is not None:
            return int(self.slots[row])
        if not self.newest_first:
            return row
        merges = self.size - self.first
        return self.size - 1 - row if row < merges else row - merges

    def row_of(self, slot: int) -> int:
        """The row of a token; -1 if it is not shown."""
        if self.slots is not None:
            return int(self._places[slot]) if slot < len(self._places) else -1
        if slot >= self.size:
            return -1
        if not self.newest_first:
            return slot
        return slot + self.size - self.first if slot < self.first else self.size - 1 - slot

    def array(self) -> NDArray[np.int32]:
        """int32, slots by row."""
        if self.slots is not None:
            return self.slots
        slots = np.arange(self.size, dtype=np.int32)
        return np.concatenate([slots[self.first :][::-1], slots[: self.first]]) if self.newest_first else slots

    @cached_property
    def _places(self) -> NDArray[np.int32]:
        assert self.slots is not None
        places = np.full(int(self.slots.max(initial=0)) + 1, -1, np.int32)
        places[self.slots] = np.arange(len(self.slots), dtype=np.int32)
        return places
