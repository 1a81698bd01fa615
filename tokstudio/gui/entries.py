r"""Lists of texts as people write them: one a line, with `\n`, `\t`, `\r`, `\\` for what no line can hold."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
from collections.abc import Iterable

_ESCAPE = re.compile(r"\\[\\ntr]")
_ESCAPED = {"\\\\": "\\", "\\n": "\n", "\\t": "\t", "\\r": "\r"}
_WRITTEN = str.maketrans({"\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"})


def to_lines(entries: Iterable[str]) -> str:
    """Writes entries, one a line."""
    return "\n".join(entry.translate(_WRITTEN) for entry in entries)


def from_lines(text: str) -> tuple[str, ...]:
    r"""Reads what was written: empty lines are none, and a backslash before anything else is a backslash."""
    lines = [line for line in text.split("\n") if line]
    if "\\" not in text:
        return tuple(lines)
    return tuple(_ESCAPE.sub(lambda found: _ESCAPED[found[0]], line) for line in lines)
