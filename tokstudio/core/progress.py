"""How long work reports: it is a generator that yields `Progress` between bounded pieces and returns its result.

Whoever drives it may pause, stop or look between two pieces; closing the generator cancels the work.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a piece of long work stands.

    Attributes:
        phase: What is being done, as a present participle: "reading", "counting", "merging".
        done: Units done; never more than `total`.
        total: Units in all, or 0 where that cannot be known.
    """

    phase: str
    done: int = 0
    total: int = 0


Work = Generator[Progress, None, T]


def finish(work: Work[T]) -> T:
    """Drives `work` to its end and gives what it returns."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            return end.value
