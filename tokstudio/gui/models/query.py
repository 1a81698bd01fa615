"""What a person types into a filter: text, bytes or a number. Going through the rows is the models' work."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.byte_level import BYTE_OF, to_bytes

if TYPE_CHECKING:
    from tokstudio.gui.models.token_index import TokenIndex

_BYTES = re.compile(
    r"\s*(?:0x(?:[0-9a-f]{2})+(?:\s+0x(?:[0-9a-f]{2})+)*|[0-9a-f]{2}(?:\s+[0-9a-f]{2})+)\s*", re.IGNORECASE
)
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

HINT = "Text, bytes such as E2 80 or 0xE2, or a number. \\n and \\t are a line end and a tab."


class Query:
    """A filter: a token passes that has the text in it, or the bytes, or is the one of that number.

    Upper and lower case are one. Spaces count, as they do in tokens; `Ġthe` finds them as well.

    Attributes:
        number: The number of a merge or the id of a token, where the text is one.
        raw: The bytes, where the text is bytes in hexadecimal.
        spellings: The bytes of tokens that are the text: as it is typed, with what is written for white space, and as
            in GPT-2's files.
        cases: The same in upper and lower case, where that is not ASCII's.
        error: What is wrong with it, as a sentence; "" for nothing.
        is_expression: Whether it is a regular expression.
        lengths: The fewest and the most bytes a token may have; None for any.
    """

    is_expression = False
    error = ""
    lengths: tuple[int, int] | None = None

    def __init__(self, text: str) -> None:
        self.text = text
        number, found = _NUMBER.fullmatch(text), _BYTES.fullmatch(text)
        self.number = int(number[1].replace(",", "")) if number else None
        self.raw = bytes.fromhex(text.lower().replace("0x", "")) if found else None
        written = text
        for sign, character in _WRITTEN.items():
            written = written.replace(sign, character)
        wanted = [one.lower() for one in dict.fromkeys((text, written))] if text else []
        self._ascii = [one.encode("ascii") for one in wanted if one.isascii()]
        byte_level = list[bytes]()
        # Written as in GPT-2's files, where signs stand for bytes that none of its own would.
        if any(character in BYTE_OF and ord(character) > 0xFF for character in text) and all(
            c in BYTE_OF for c in text
        ):
            byte_level = [to_bytes(text)]
            self._ascii.append(byte_level[0].lower())
        spelled = list(dict.fromkeys((text, written, written.replace("·", " "))))
        self.spellings = [*(one.encode("utf-8", "replace") for one in spelled), *byte_level]
        others = (one for one in spelled if not one.isascii())
        self.cases = [
            form.encode("utf-8", "replace") for one in others for form in (one.lower(), one.upper(), one.title())
        ]
        self._other = [one for one in wanted if not one.isascii()]

    def __bool__(self) -> bool:
        return bool(self.text)

    @property
    def needs_heads(self) -> bool:
        """Whether the bytes of tokens must be looked at."""
        return bool(self.raw or self._ascii or self._other)

    def accepts(self, raw: bytes) -> bool:
        """Whether a token has the text or the bytes in it, however long it is; `raw` may be the beginning of it."""
        if self._ascii:
            small = raw.lower()
            for wanted in self._ascii:
                if wanted in small:
                    return True
        if self._other:
            text = raw.decode("utf-8", "replace").lower()
            if any(wanted in text for wanted in self._other):
                return True
        return self.raw is not None and self.raw in raw

    def passes(self, index: TokenIndex, lengths: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which tokens of an index it accepts, at once; not for regular expressions.

        Args:
            index: The tokens.
            lengths: int64, how many bytes each has.
        """
        found = np.full(len(index), not self.needs_heads)
        for wanted in self._ascii:
            found |= index.small.holding(wanted)
        for wanted in self._other:
            found |= index.folded.holding(wanted.encode("utf-8", "replace"))
        if self.raw is not None:
            found |= index.raw.holding(self.raw)
        return found & self.within(lengths)

    def within(self, lengths: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of some tokens have as many bytes as are asked for.

        Args:
            lengths: int64, how many bytes each has.
        """
        if self.lengths is None:
            return np.ones(len(lengths), np.bool_)
        return (lengths >= self.lengths[0]) & (lengths <= self.lengths[1])
