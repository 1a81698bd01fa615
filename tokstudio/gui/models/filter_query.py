"""What a person types into the filter of a table: text, bytes or a number, a length, or a regular expression."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re

import regex

from tokstudio.gui.models.query import HINT, Query

_LENGTH = r"length:(\d{1,9})(?:(-|\+)(\d{0,9}))?"
_LENGTH_LAST = re.compile(rf"(?:^|\s){_LENGTH}\s*$", re.IGNORECASE)
_LENGTH_FIRST = re.compile(rf"^\s*{_LENGTH}\s+(?=\S)", re.IGNORECASE)
_TOO_LONG = "The expression takes too long: use fewer repeats inside repeats."
_SECONDS = 0.02  # that an expression may take over one token

FILTER_HINT = f"{HINT} Write a regular expression between slashes: /ing$/. length:4-8 lists tokens of 4 to 8 bytes."


class FilterQuery(Query):
    """A `Query` that knows lengths and regular expressions as well.

    `length:4-8`, `length:4` or `length:4+` stands behind what else is typed, or before it. A regular expression stands
    between slashes; to it upper and lower case are two. That it takes too long may turn out while it is searched with;
    from then on it accepts nothing.

    Args:
        text: What was typed.
        expression: Whether it is a regular expression without slashes as well.
    """

    def __init__(self, text: str, expression: bool = False) -> None:
        rest, lengths = text, None
        if found := _LENGTH_LAST.search(text) or _LENGTH_FIRST.match(text):
            low = int(found[1])
            high = low if found[2] is None else int(found[3]) if found[3] else 2**40
            lengths, rest = (low, high), text[: found.start()] or text[found.end() :]
        slashes = len(rest) > 2 and rest.startswith("/") and rest.endswith("/")
        is_expression = bool(rest) and (slashes or expression)
        super().__init__("" if is_expression else rest)
        self.text, self.lengths, self.is_expression = text, lengths, is_expression
        self._compiled: regex.Pattern[str] | None = None
        if lengths is not None and lengths[0] > lengths[1]:
            self.error = (
                f"No length is at least {lengths[0]:,} and at most {lengths[1]:,}: write the smaller number first."
            )
        elif is_expression:
            self._compile(rest[1:-1] if slashes else rest)

    @property
    def needs_heads(self) -> bool:
        """Whether the bytes of tokens must be looked at."""
        return self.is_expression or super().needs_heads

    def accepts(self, raw: bytes) -> bool:
        """Whether a token has what is asked for, however long it is."""
        if not self.is_expression:
            return not self.needs_heads or super().accepts(raw)
        try:
            return self._matches(raw)
        except TimeoutError:
            self.error = _TOO_LONG
            return False

    def accepts_long(self, raw: bytes) -> bool | None:
        """The same of a long token; None where the expression takes too long over it, which may be due to the token."""
        try:
            return self._matches(raw)
        except TimeoutError:
            return None

    def _compile(self, pattern: str) -> None:
        try:
            self._compiled = regex.compile(pattern, regex.V1)
        except regex.error as error:
            self.error = f"The expression is not valid: {error}."
        except (RecursionError, OverflowError, MemoryError):
            self.error = "The expression is too large."

    def _matches(self, raw: bytes) -> bool:
        if self._compiled is None or self.error:
            return False
        return self._compiled.search(raw.decode("utf-8", "replace"), timeout=_SECONDS) is not None
