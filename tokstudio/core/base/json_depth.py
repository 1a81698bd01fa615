"""How deep JSON may be nested: one limit for every version of Python, whose own limits and messages differ."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re

# Less than any version reads, and many times what the files of tokenizers need.
DEEPEST = 200
TOO_DEEP = "nested too deeply"

# A text that does not end reaches to the end.
_PART = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[{]|[\]}]', re.DOTALL)


def is_too_deep(text: str, start: int = 0, end: int | None = None) -> bool:
    """Whether a part of a JSON text, which begins outside of any string, opens more than `DEEPEST` brackets at once."""
    end = len(text) if end is None else end
    if text.count("[", start, end) + text.count("{", start, end) <= DEEPEST:
        return False
    depth = 0
    for found in _PART.finditer(text, start, end):
        part = found[0]
        if part in "[{":
            depth += 1
            if depth > DEEPEST:
                return True
        elif part in "]}":
            depth -= 1
    return False
