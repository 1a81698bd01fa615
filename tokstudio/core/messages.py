"""How messages show what a person or a file has given."""

# SPDX-License-Identifier: MIT
from __future__ import annotations


def shown(text: str, longest: int = 40) -> str:
    """A text in quotes as a message can show it: on one line, and not too long; in single quotes if it has others."""
    cut = text if len(text) <= longest else text[:longest] + "…"
    quote = "'" if '"' in cut and "'" not in cut else '"'
    return quote + "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in cut) + quote


def several(number: int, one: str, many: str = "") -> str:
    """A number with its words: `several(2, "place was", "places were")` is "2 places were", `many` mostly one's + s."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def size_of_memory(size: float) -> str:
    """Bytes of memory in a unit that fits: "340 MB", "1.2 GB"."""
    return f"{size / 1e6:,.0f} MB" if size < 1e9 else f"{size / 1e9:,.1f} GB"
