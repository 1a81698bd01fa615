"""Names of runs that are made from others: short, with each remark once."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re

_NUMBERED = re.compile(r"(Run \d+) \(.*\)")
_NUMBER = re.compile(r"\d[\d,]*")


def short_name(name: str) -> str:
    """A name without the remark of a numbered run: "Run 2" for "Run 2 (Run 1, extended)"."""
    return _NUMBERED.sub(r"\1", name, count=1)


def name_with(name: str, change: str) -> str:
    """A short name with a change at its end, such as "pruned to 300", in place of an earlier change of this kind."""
    first, *others = short_name(name).split(", ")
    return ", ".join([first, *(other for other in others if _kind(other) != _kind(change)), change])


def remark_of(name: str, number: int) -> str:
    """What follows the number in the name of a run: " (Run 1, extended)"; "" after another name was given."""
    found = re.fullmatch(rf"Run {number}(?!\d)(.*)", name)
    return found.group(1) if found is not None else ""


def _kind(change: str) -> str:
    return _NUMBER.sub("0", change)
