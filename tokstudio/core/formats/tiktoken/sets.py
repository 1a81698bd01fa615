"""Sets of characters in tiktoken's patterns, as Rust's `regex` reads them, written as every library reads them.

Rust has sets within sets, `&&`, `--` and `~~` between them, and POSIX classes of ASCII; others read these otherwise.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
from dataclasses import field

from tokstudio.core.base.records import dataclass

_POSIX = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": r"\x00-\x7F",
    "blank": r"\t\x20",
    "cntrl": r"\x00-\x1F\x7F",
    "digit": "0-9",
    "graph": r"\x21-\x7E",
    "lower": "a-z",
    "print": r"\x20-\x7E",
    "punct": r"\x21-\x2F\x3A-\x40\x5B-\x60\x7B-\x7E",
    "space": r"\t\n\x0B\x0C\r\x20",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
_POSIX_CLASS = re.compile(r"\[:(\^?)(\w+):\]")
_ESCAPE = re.compile(r"\\(?:[pPxuU]\{[^}]*\}|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)", re.DOTALL)
_OPERATORS = ("&&", "--", "~~")
_MEANT_OTHERWISE = frozenset("[]^-&~|")  # by some library, within a set
_IGNORES_SPACE = re.compile(r"\(\?[A-Za-z]*x")
_DEEPEST = 50
_NOTHING = "(?!)"


class _Unreadable(Exception):
    """The set does not end, or has something that Rust refuses."""


@dataclass
class _Set:
    """What stands between brackets: characters, and expressions that each match one character."""

    items: str = ""
    others: list[str] = field(default_factory=list[str])

    def written(self, negated: bool = False) -> str:
        """The expression that matches one of them; one of all others if `negated`."""
        if not self.others:
            return f"[{'^' * negated}{self.items}]" if self.items else r"[\s\S]" if negated else _NOTHING
        either = [*([f"[{self.items}]"] if self.items else []), *self.others]
        alternatives = either[0] if len(either) == 1 else f"(?:{'|'.join(either)})"
        return f"(?:(?!{alternatives})[\\s\\S])" if negated else alternatives


def portable(pattern: str) -> str:
    r"""The same expression without sets that libraries read differently; as it is if it has none.

    >>> print(portable(r"[\p{L}&&[^a-z]]+|[[:digit:]]"))
    (?:(?=[^a-z])[\p{L}])+|[0-9]
    """
    if _IGNORES_SPACE.search(pattern):
        return pattern
    parts_written, at = "", 0
    try:
        while at < len(pattern):
            if pattern[at] == "\\" and (escape := _ESCAPE.match(pattern, at)):
                parts_written, at = parts_written + escape.group(), escape.end()
            elif pattern[at] == "[":
                written, is_plain, end = _read(pattern, at, 0)
                parts_written, at = parts_written + (pattern[at:end] if is_plain else written), end
            else:
                parts_written, at = parts_written + pattern[at], at + 1
    except _Unreadable:
        return pattern
    return parts_written


def _read(pattern: str, at: int, depth: int) -> tuple[str, bool, int]:
    """Reads the set at a bracket: its portable expression, whether it is portable as it is, and its end."""
    if depth > _DEEPEST:
        raise _Unreadable
    at += 1
    negated = pattern.startswith("^", at)
    at += negated
    here, before, operator = _Set(), "", ""
    # Hyphens, or else a bracket, at the beginning are themselves.
    while pattern.startswith("-", at):
        here.items, at = here.items + r"\-", at + 1
    is_plain = len(here.items) <= len(r"\-")
    if not here.items and pattern.startswith("]", at):
        here.items, at = r"\]", at + 1
    while not pattern.startswith("]", at):
        if at >= len(pattern):
            raise _Unreadable
        if pattern[at] == "[":
            posix = _POSIX_CLASS.match(pattern, at)
            if posix is not None and posix[2] in _POSIX:
                items, at = _POSIX[posix[2]], posix.end()
                if posix[1]:
                    here.others.append(f"[^{items}]")
                else:
                    here.items += items
            else:
                inner, _, at = _read(pattern, at, depth + 1)
                here.others.append(inner)
            is_plain = False
        elif pattern[at : at + 2] in _OPERATORS:
            before = _joined(before, operator, here.written())
            here, operator, at, is_plain = _Set(), pattern[at : at + 2], at + 2, False
        else:
            items, at = _item(pattern, at)
            here.items += items
    if not operator:
        return here.written(negated), is_plain, at + 1
    expression = _joined(before, operator, here.written())
    return f"(?:(?!{expression})[\\s\\S])" if negated else expression, False, at + 1


def _item(pattern: str, at: int) -> tuple[str, int]:
    """A character, a class or a range, and where it ends."""
    first, at = _character(pattern, at)
    if not pattern.startswith("-", at) or pattern[at + 1 : at + 2] in ("]", "-", ""):
        return first, at
    last, at = _character(pattern, at + 1)
    return f"{first}-{last}", at


def _character(pattern: str, at: int) -> tuple[str, int]:
    if pattern[at] == "\\":
        if (escape := _ESCAPE.match(pattern, at)) is None:
            raise _Unreadable
        return escape.group(), escape.end()
    return ("\\" if pattern[at] in _MEANT_OTHERWISE else "") + pattern[at], at + 1


def _joined(left: str, operator: str, right: str) -> str:
    """The expression for one character of two sets, by the operator between them."""
    if operator == "&&":
        return f"(?:(?={right}){left})"
    if operator == "--":
        return f"(?:(?!{right}){left})"
    return f"(?:(?!{right}){left}|(?!{left}){right})" if operator else right
