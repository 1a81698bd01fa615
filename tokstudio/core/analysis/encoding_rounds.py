"""An encoding in rounds: pre-tokens, base tokens, and then each merge at all its places at once, in order of rank.

The rounds are made from the `Steps` of the encoding.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.analysis.encoding_steps import State, Steps, check_number


@dataclass(frozen=True, eq=False)
class Round:
    """The round that led to a state."""

    kind: Literal["pre-tokens", "base tokens", "merge"]  # as in `encoding_steps.Step`
    merge: int  # the number of the merge, from 1; 0 for other rounds, as are the ids
    left: int  # the id of the left token
    right: int  # the id of the right token
    token: int  # the id of the new token
    starts: NDArray[np.int64]  # [places], the bytes where the merged tokens begin, ascending


class Rounds:
    """All states of an encoding, a merge at a time: `len(rounds)` is their number, at least two.

    The first two and the last are those of the steps. After the round of a merge, the text is encoded with the merges
    up to that one.
    """

    def __init__(self, steps: Steps) -> None:
        self.steps = steps
        pieces = steps.pieces
        made = np.flatnonzero(pieces.merges)
        order = np.lexsort((pieces.starts[made], pieces.merges[made]))
        self._made = made[order]
        self._begins = np.flatnonzero(np.diff(pieces.merges[self._made], prepend=0))
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
        return Round(
            kind="merge",
            merge=int(pieces.merges[one]),
            left=int(pieces.ids[pieces.lefts[one]]),
            right=int(pieces.ids[pieces.rights[one]]),
            token=int(pieces.ids[one]),
            starts=pieces.starts[joined],
        )
