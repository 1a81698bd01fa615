"""A message about an unrequested action, with a button that undoes it."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, eq=False)
class Notice:
    """A sentence and a button.

    Attributes:
        text: What was done.
        verb: The text of the button.
        act: Undoes it.
        holds: Returns whether it can still be undone.
    """

    text: str
    verb: str
    act: Callable[[], None]
    holds: Callable[[], bool]
