"""A message about something that was done without being asked for, with a button that takes it back."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, eq=False)
class Notice:
    """A sentence and a button.

    Attributes:
        text: What was done.
        verb: What the button says.
        act: What the button does.
        holds: Whether there is still something to take back.
    """

    text: str
    verb: str
    act: Callable[[], None]
    holds: Callable[[], bool]
