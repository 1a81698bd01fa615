"""The question how a tokenizer splits text."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PatternQuestion:
    """Asks how a tokenizer splits text."""

    name: str  # of the tokenizer
    pattern: str  # the initial pattern
    verb: str  # the text of the button that confirms
