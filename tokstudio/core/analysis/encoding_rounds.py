"""An encoding in rounds: pre-tokens, base tokens, and then each merge at all its places at once, in order of rank.

With Picky BPE, a token that a merge removed falls apart at all its places in a round after it.

The rounds are made from the `Steps` of the encoding.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.analysis.encoding_steps import StepKind, Steps, check_number
from tokstudio.core.analysis.step_pieces import State


@dataclass(frozen=True, eq=False)
class Round:
    """The round that led to a state."""

    kind: StepKind
    merge: int  # the number of the merge, from 1; 0 for the first two rounds, as are the ids
    left: int  # the id of the left token; of a removal, of the removed one
    right: int  # the id of the right token; 0 for a removal
    token: int  # the id of the new token; of a removal, of the removed one
    starts: NDArray[np.int64]  # [places], the bytes where the merged or removed tokens begin, ascending
    parts: tuple[int, ...] = ()  # of a removal: the ids that the removed token falls into


class Rounds:
    """All states of an encoding, a merge at a time: `len(rounds)` is their number, at least two.

    The first two and the last are those of the steps. After the round of a merge, the text is encoded with the merges
    up to that one. A merge that joins a token of a later one comes after that.
    """

    def __init__(self, steps: Steps) -> None:
        self.steps = steps
        pieces = steps.pieces
        made, wholes = steps.made, pieces.wholes[steps.made]
        # The merge, then the removal of its left part, then that of its right part.
        lefts = steps.tokenizer.merges[pieces.merges[made] - 1, 0]
        side = np.where(wholes < 0, 0, np.where(pieces.ids[wholes] == lefts, 1, 2))
        events = 3 * pieces.merges[made] + side
        if (needed := steps.tokenizer.needed_merges) is not None:
            merges = pieces.merges[made]
            keys = np.column_stack([needed[merges - 1], pieces.stops[made] - pieces.starts[made], merges])
            events = np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1) + 1
        order = np.lexsort((pieces.starts[made], events))
        self._made = made[order]
        self._begins = np.flatnonzero(np.diff(events[order], prepend=0))
        number = np.empty(2 + len(made), np.int64)  # the round in which each state of the steps is reached
        number[:2] = 0, 1
        number[2 + order] = 1 + np.searchsorted(self._begins, np.arange(len(made)), side="right")
        self._first = number[pieces.first]
        stays = pieces.gone >= len(number)
        self._gone = np.where(stays, pieces.gone, number[np.where(stays, 0, pieces.gone)])

    def __len__(self) -> int:
        return 2 + len(self._begins)

    def state(self, number: int) -> State:
        """A state, from 0, in time linear in the text; raises ConfigError where there is none."""
        check_number(number, len(self))
        return self.steps.pieces.state_of((self._first <= number) & (self._gone > number))

    def round(self, number: int) -> Round:
        """The round that led to a state, from 0; raises ConfigError where there is none."""
        check_number(number, len(self))
        pieces = self.steps.pieces
        if number < 2:
            return Round("base tokens" if number else "pre-tokens", 0, 0, 0, 0, np.zeros(0, np.int64))
        begin = int(self._begins[number - 2])
        end = int(self._begins[number - 1]) if number < len(self) - 1 else len(self._made)
        joined = self._made[begin:end]
        one = int(joined[0])
        if (whole := int(pieces.wholes[one])) >= 0:
            removed, merge = int(pieces.ids[whole]), int(pieces.merges[one])
            parts = pieces.ids[pieces.wholes == whole].tolist()
            return Round("removal", merge, removed, 0, removed, pieces.starts[joined], tuple(parts))
        return Round(
            kind="merge",
            merge=int(pieces.merges[one]),
            left=int(pieces.ids[pieces.lefts[one]]),
            right=int(pieces.ids[pieces.rights[one]]),
            token=int(pieces.ids[one]),
            starts=pieces.starts[joined],
        )
