"""The parsed text of a filter: text, bytes or a number. The models apply it to the rows."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from tokstudio.core.analysis.token_index import small_letters
from tokstudio.core.base.errors import ConfigError
from tokstudio.core.pretokenization.custom_regex import compile_expression
from tokstudio.core.text.byte_level import BYTE_OF, to_bytes

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from regex import Pattern

_BYTES = re.compile(
    r"\s*(?:0x(?:[0-9a-f]{2})+(?:\s+0x(?:[0-9a-f]{2})+)*|[0-9a-f]{2}(?:\s+[0-9a-f]{2})+)\s*", re.IGNORECASE
)
_BYTE = re.compile(r"[0-9a-f]{2}", re.IGNORECASE)
_NUMBER = re.compile(r"\s*#?\s*([0-9][0-9,]{0,14})\s*")
_WRITTEN = {
    "\\n": "\n",
    "\\t": "\t",
    "\\r": "\r",
    "⏎": "\n",
    "↵": "\n",
    "⇥": "\t",
    "␍": "\r",
    "←": "\r",
    "␠": " ",
    "␣": " ",
}

HINT = "Text, bytes such as E2 80 or 0xE2, a single byte such as C3, or a number. \\n and \\t are a newline and a tab."


class Query:
    """A filter: a token passes if it contains the text or the bytes, or has the number.

    Case is ignored. Spaces count, as they do in tokens; `Ġthe` finds them too. Two hexadecimal digits also find the
    token of that byte, but not tokens that contain it: too many words begin with them.

    Attributes:
        number: The number of a merge or the id of a token, if the text is a number.
        raw: The bytes, if the text is bytes in hexadecimal.
        byte: The byte, if the text is two hexadecimal digits.
        small: The needles with ASCII letters in lower case.
        folded: The needles with letters of all scripts in lower case.
        spellings: The bytes of tokens with this text: as typed, with marks read as white space, and as in
            GPT-2's files.
        cases: The same in upper and lower case, if the text is not ASCII.
        error: Why it is invalid, as a sentence; "" if it is valid.
        is_expression: Whether it is a regular expression.
        lengths: The fewest and the most bytes a token may have; None for any.
        by_beginning: The number of tokens of which the last search read only the first bytes.
    """

    is_expression = False
    by_beginning = 0
    error = ""
    lengths: tuple[int, int] | None = None

    def __init__(self, text: str) -> None:
        self.text = text
        number, in_bytes = _NUMBER.fullmatch(text), _BYTES.fullmatch(text)
        self.number = int(number[1].replace(",", "")) if number else None
        self.raw = bytes.fromhex(text.lower().replace("0x", "")) if in_bytes else None
        self.byte = bytes.fromhex(text) if _BYTE.fullmatch(text) else None
        written = text
        for sign, character in _WRITTEN.items():
            written = written.replace(sign, character)
        wanted = [one.lower() for one in dict.fromkeys((text, written))] if text else []
        self.small = [one.encode("ascii") for one in wanted if one.isascii()]
        byte_level = list[bytes]()
        # As in GPT-2's files, with signs for bytes that have no character of their own.
        if any(character in BYTE_OF and ord(character) > 0xFF for character in text) and all(
            c in BYTE_OF for c in text
        ):
            byte_level = [to_bytes(text)]
            self.small.append(byte_level[0].lower())
        spelled = list(dict.fromkeys((text, written, written.replace("·", " "))))
        self.spellings = [*(one.encode("utf-8", "replace") for one in spelled), *byte_level]
        others = (one for one in spelled if not one.isascii())
        self.cases = [
            form.encode("utf-8", "replace") for one in others for form in (one.lower(), one.upper(), one.title())
        ]
        self.folded = [small_letters(one.encode("utf-8", "replace")) for one in wanted if not one.isascii()]

    def __bool__(self) -> bool:
        return bool(self.text)

    @property
    def needs_heads(self) -> bool:
        """Whether the bytes of tokens are needed."""
        return bool(self.raw or self.small or self.folded)

    @property
    def reach(self) -> int:
        """The most bytes of a match on one side of a border within it."""
        # A letter of four bytes may have another case of one byte.
        return max([len(self.raw or b""), *map(len, self.small), *(4 * len(one.decode()) for one in self.folded)])

    def accepts(self, raw: bytes) -> bool:
        """Whether a token contains the text or the bytes, or is the byte; for long ones see `TokenSearch`."""
        if self.small:
            small = raw.lower()
            for wanted in self.small:
                if wanted in small:
                    return True
        if self.folded:
            text = small_letters(raw)
            if any(wanted in text for wanted in self.folded):
                return True
        return (self.raw is not None and self.raw in raw) or raw == self.byte

    def accepts_long(self, raw: bytes) -> bool | None:
        """The same for a long token; None if that takes too long."""
        return self.accepts(raw)

    def within(self, lengths: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which tokens have a length within the limits; `lengths` is int64, the bytes of each."""
        if self.lengths is None:
            return np.ones(len(lengths), np.bool_)
        return (lengths >= self.lengths[0]) & (lengths <= self.lengths[1])


_LENGTH = r"length:(\d{1,9})(?:(-|\+)(\d{0,9}))?"
_LENGTH_LAST = re.compile(rf"(?:^|\s){_LENGTH}\s*$", re.IGNORECASE)
_LENGTH_FIRST = re.compile(rf"^\s*{_LENGTH}\s+(?=\S)", re.IGNORECASE)
_TOO_LONG = "The expression takes too long: use fewer repeats inside repeats."
_SECONDS = 0.02  # the time limit of an expression for one token

FILTER_HINT = f"{HINT} Write a regular expression between slashes: /ing$/. length:4-8 lists tokens of 4 to 8 bytes."


class FilterQuery(Query):
    """A `Query` with lengths and regular expressions.

    `length:4-8`, `length:4` or `length:4+` comes before or after the other text. A regular expression is written
    between slashes and respects case. If it is invalid or takes too long, it accepts nothing from then on.
    With `expression`, it is one even without slashes.
    """

    def __init__(self, text: str, expression: bool = False) -> None:
        rest, lengths = text, None
        if length := _LENGTH_LAST.search(text) or _LENGTH_FIRST.match(text):
            low = int(length[1])
            high = low if length[2] is None else int(length[3]) if length[3] else 2**40
            lengths, rest = (low, high), text[: length.start()] or text[length.end() :]
        slashes = len(rest) > 2 and rest.startswith("/") and rest.endswith("/")
        is_expression = bool(rest) and (slashes or expression)
        super().__init__("" if is_expression else rest)
        self.text, self.lengths, self.is_expression = text, lengths, is_expression
        self._compiled: Pattern[str] | None = None
        if lengths is not None and lengths[0] > lengths[1]:
            self.error = (
                f"No length is at least {lengths[0]:,} and at most {lengths[1]:,}: write the smaller number first."
            )
        elif is_expression:
            self._compile(rest[1:-1] if slashes else rest)

    @property
    def needs_heads(self) -> bool:
        return self.is_expression or super().needs_heads

    def accepts(self, raw: bytes) -> bool:
        """Whether a token of any length matches."""
        if not self.is_expression:
            return not self.needs_heads or super().accepts(raw)
        try:
            return self._matches(raw)
        except TimeoutError:
            self.error = _TOO_LONG
            return False

    def accepts_long(self, raw: bytes) -> bool | None:
        """The same for a long token; None if the expression takes too long for it, which may be due to the token."""
        try:
            return self._matches(raw)
        except TimeoutError:
            return None

    def _compile(self, pattern: str) -> None:
        import regex

        try:
            self._compiled = compile_expression(pattern, regex.V1)
        except ConfigError as error:
            self.error = str(error).replace("The pattern", "The expression", 1)

    def _matches(self, raw: bytes) -> bool:
        if self._compiled is None or self.error:
            return False
        return self._compiled.search(raw.decode("utf-8", "replace"), timeout=_SECONDS) is not None
