"""The question how a tokenizer splits text."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PatternQuestion:
    """Asks how a tokenizer splits text.

    Attributes:
        name: What it is asked about.
        pattern: What is offered at first.
        verb: What the button says that takes the answer.
    """

    name: str
    pattern: str
    verb: str
