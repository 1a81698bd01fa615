"""The limit of JSON nesting: one for every version of Python, whose own limits and messages differ."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re

# Less than any version of Python reads, and many times what tokenizer files need.
DEEPEST = 200
TOO_DEEP = "nested too deeply"

# A string without its closing quote extends to the end of the text.
_PART = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[{]|[\]}]', re.DOTALL)


def is_too_deep(text: str, start: int = 0, end: int | None = None) -> bool:
    """Whether a part of a JSON text, which begins outside any string, nests more than `DEEPEST` brackets."""
    end = len(text) if end is None else end
    if text.count("[", start, end) + text.count("{", start, end) <= DEEPEST:
        return False
    depth = 0
    for match in _PART.finditer(text, start, end):
        part = match[0]
        if part in "[{":
            depth += 1
            if depth > DEEPEST:
                return True
        elif part in "]}":
            depth -= 1
    return False
