"""How messages show what a person or a file has given."""

# SPDX-License-Identifier: MIT
from __future__ import annotations


def shown(text: str, longest: int = 40) -> str:
    """A text in quotes as a message can show it: on one line, and not too long."""
    cut = text if len(text) <= longest else text[:longest] + "…"
    return '"' + "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in cut) + '"'
