"""The question how a tokenizer splits text."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PatternQuestion:
    """Asks how a tokenizer splits text.

    Attributes:
        name: The name of the tokenizer.
        pattern: The initial pattern.
        verb: The text of the button that confirms.
    """

    name: str
    pattern: str
    verb: str
