"""What the person looks at."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import NamedTuple


class TextSelection(NamedTuple):
    """A part of the text that is selected: its first byte, the one behind its last, and how many tokens that is."""

    start: int
    stop: int
    tokens: int
