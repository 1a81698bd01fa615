"""Finds sentences that count wrongly: "1 tokens", "1 are", "2 token"."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re

_NOUNS = (
    *("byte", "character", "token", "merge", "pair", "line", "word", "pre-token", "text", "document", "source", "run"),
    *("tokenizer", "file", "format", "row", "time", "step", "place", "use", "id", "special token", "base token"),
)
_NOUN = "|".join(_NOUNS)
_WRONG = (
    rf"(?<![\d.,·–-])(?<!\d )1 (?:(?:{_NOUN})s|pre-tokens|are)\b",
    # An adjective, as in "2 byte tokens", is followed by its noun.
    rf"(?<![\d.,])(?:0|2) (?:{_NOUN})(?=[.,;:)\n]|$)",
)


def wrong_numbers(text: str) -> list[str]:
    """The places where a number and its noun do not agree."""
    return [match[0] for rule in _WRONG for match in re.finditer(rule, text)]
