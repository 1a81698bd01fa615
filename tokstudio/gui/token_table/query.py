"""What a person types into a filter: text, bytes or a number. Going through the rows is the models' work."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re

import numpy as np
import regex
from numpy.typing import NDArray

from tokstudio.core.text.byte_level import BYTE_OF, to_bytes
from tokstudio.gui.state.token_index import small_letters

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
    """A filter: a token passes that has the text in it, or the bytes, or is the one of that number.

    Upper and lower case are one. Spaces count, as they do in tokens; `Ġthe` finds them as well. Two hexadecimal digits
    are the token of that byte as well, not what has it inside: too many words begin with them.

    Attributes:
        number: The number of a merge or the id of a token, where the text is one.
        raw: The bytes, where the text is bytes in hexadecimal.
        byte: The one byte, where the text may be that, in two hexadecimal digits.
        small: What is looked for in small letters of ASCII.
        folded: What is looked for in small letters of every script.
        spellings: The bytes of tokens that are the text: as it is typed, with what is written for white space, and as
            in GPT-2's files.
        cases: The same in upper and lower case, where that is not ASCII's.
        error: What is wrong with it, as a sentence; "" for nothing.
        is_expression: Whether it is a regular expression.
        lengths: The fewest and the most bytes a token may have; None for any.
        by_beginning: Of how many tokens only the first bytes were looked at, the last time it was searched with.
    """

    is_expression = False
    by_beginning = 0
    error = ""
    lengths: tuple[int, int] | None = None

    def __init__(self, text: str) -> None:
        self.text = text
        number, found = _NUMBER.fullmatch(text), _BYTES.fullmatch(text)
        self.number = int(number[1].replace(",", "")) if number else None
        self.raw = bytes.fromhex(text.lower().replace("0x", "")) if found else None
        self.byte = bytes.fromhex(text) if _BYTE.fullmatch(text) else None
        written = text
        for sign, character in _WRITTEN.items():
            written = written.replace(sign, character)
        wanted = [one.lower() for one in dict.fromkeys((text, written))] if text else []
        self.small = [one.encode("ascii") for one in wanted if one.isascii()]
        byte_level = list[bytes]()
        # Written as in GPT-2's files, where signs stand for bytes that none of its own would.
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
        """Whether the bytes of tokens must be looked at."""
        return bool(self.raw or self.small or self.folded)

    @property
    def reach(self) -> int:
        """How many bytes what is wanted may take on one side of a place within it."""
        # Of a letter of four bytes there may be one of one byte among what is wanted.
        return max([len(self.raw or b""), *map(len, self.small), *(4 * len(one.decode()) for one in self.folded)])

    def accepts(self, raw: bytes) -> bool:
        """Whether a token has the text or the bytes in it, or is the byte; of a long one `TokenSearch` finds out."""
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
        """The same of a long token; None where that takes too long."""
        return self.accepts(raw)

    def within(self, lengths: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of some tokens have as many bytes as are asked for.

        Args:
            lengths: int64, how many bytes each has.
        """
        if self.lengths is None:
            return np.ones(len(lengths), np.bool_)
        return (lengths >= self.lengths[0]) & (lengths <= self.lengths[1])


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
