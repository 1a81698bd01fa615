"""Tells of a custom regular expression which texts cannot be within any match, whatever is around them.

The expression is read as an automaton of its characters and those that may follow them (Glushkov 1961), without its
conditions: what must be ahead, behind or not there. So the automaton may allow more than the expression, never less.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, TypeAlias

from tokstudio.core.pretokenization.custom_regex import compile_expression, translation

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_CHARACTER = re.compile(
    r"\[\^?\]?(?:\\.|[^]\\[])*\]|\\[pP](?:\w|\{[^}]*\})|\\(?:[dDsSwWnrtfv]|x[\da-fA-F]{2}|u[\da-fA-F]{4}|\W)"
    r"|[^]\\[{}()|*+?^$]",
    re.DOTALL,
)
_CONDITION = re.compile(r"\\[bBAZG]|[\^$]")
_GROUP = re.compile(r"\((?:\?(?:(?P<flags>[ims-]*):|(?P<alone>[ims-]+)\)|>|P?<\w+>|(?P<condition><?[=!])))?")
_REPEAT = re.compile(r"(?:[*+?]|\{(?P<least>\d+)(?P<more>,(?P<most>\d*))?\})[+?]?")
_MOST = 500  # places of an automaton
_KEPT = 1 << 14  # answers about characters, and about places

#: Part of an expression: the places that it can begin and end with, as bits, and whether it can be of no characters.
_Part: TypeAlias = "tuple[int, int, bool]"
_NOTHING: _Part = (0, 0, True)


class _NotReadError(Exception):
    """An expression has what is not read, or is too long."""


class _Reader:
    """Reads an expression. A place is a character of it; one that is repeated a number of times has several."""

    def __init__(self, expression: str) -> None:
        self.characters: list[str] = []  # what stands at each place, as an expression
        self.after: list[int] = []  # the places that may follow each, as bits
        self.ignores_case = False  # anywhere
        self._expression, self._at = expression, 0
        self.whole = self._branches()
        if self._at < len(expression):
            raise _NotReadError

    def _branches(self) -> _Part:
        first, last, empty = self._sequence()
        while self._expression.startswith("|", self._at):
            self._at += 1
            part = self._sequence()
            first, last, empty = first | part[0], last | part[1], empty or part[2]
        return first, last, empty

    def _sequence(self) -> _Part:
        whole = _NOTHING
        while self._at < len(self._expression) and self._expression[self._at] not in "|)":
            whole = self._joined(whole, self._repeated())
        return whole

    def _joined(self, one: _Part, two: _Part) -> _Part:
        self._link(one, two)
        return one[0] | two[0] * one[2], two[1] | one[1] * two[2], one[2] and two[2]

    def _link(self, one: _Part, two: _Part) -> None:
        for place in _places(one[1]):
            self.after[place] |= two[0]

    def _repeated(self) -> _Part:
        start, part = self._at, self._single()
        repeat = _REPEAT.match(self._expression, self._at)
        if repeat is None:
            return part
        least, most = {"*": (0, None), "+": (1, None), "?": (0, 1)}.get(repeat[0][0], (0, 0))
        if repeat["least"] is not None:
            least = int(repeat["least"])
            most = least if repeat["more"] is None else int(repeat["most"]) if repeat["most"] else None
        whole = _NOTHING
        for number in range(max(1, least if most is None else most)):
            if number:
                self._at = start
                part = self._single()
            whole = self._joined(whole, (part[0], part[1], part[2] or number >= least))
        if most is None:
            self._link(part, part)
        self._at = repeat.end()
        return _NOTHING if most == 0 else whole

    def _single(self) -> _Part:
        if group := _GROUP.match(self._expression, self._at):
            return self._group(group)
        if condition := _CONDITION.match(self._expression, self._at):
            self._at = condition.end()
            return _NOTHING
        character = _CHARACTER.match(self._expression, self._at)
        if character is None or len(self.characters) == _MOST:
            raise _NotReadError
        self._at = character.end()
        place = 1 << len(self.characters)
        self.characters.append(character[0])
        self.after.append(0)
        return place, place, False

    def _group(self, group: re.Match[str]) -> _Part:
        self._at, before = group.end(), len(self.characters)
        self.ignores_case |= "i" in (group["flags"] or group["alone"] or "")
        if group["alone"] is not None:
            return _NOTHING
        part = self._branches()
        if not self._expression.startswith(")", self._at):
            raise _NotReadError
        self._at += 1
        if group["condition"] is None:
            return part
        del self.characters[before:], self.after[before:]
        return _NOTHING


def _places(bits: int) -> list[int]:
    return [place for place in range(bits.bit_length()) if bits >> place & 1]


class PossibleMatches:
    """What matches of a custom expression could have; made by `possible_matches`."""

    def __init__(self, pattern: str) -> None:
        self._pattern, self._read = pattern, _Reader(pattern)
        places_of: dict[str, int] = {}
        for place, character in enumerate(self._read.characters):
            places_of[character] = places_of.get(character, 0) | 1 << place
        # It is not read where a flag holds: both are possible.
        flags = ("(?s)", "(?si)") if self._read.ignores_case else ("(?s)",)
        self._kinds = [
            ([compile_expression(flag + character) for flag in flags], places)
            for character, places in places_of.items()
        ]
        self._at = lru_cache(maxsize=_KEPT)(self._places_at)
        self._behind = lru_cache(maxsize=_KEPT)(self._places_behind)

    def may_have(self, text: str, *, whole: bool = False) -> bool:
        """Whether a match could have a text within, or if `whole` be the text."""
        first, last, _ = self._read.whole
        here, may_follow = 0, first if whole else -1
        for character in text:
            here = may_follow & self._at(character)
            if not here:
                return False
            may_follow = self._behind(here)
        return not whole or here & last > 0

    @cached_property
    def _translation(self) -> NDArray[np.uint32]:
        return translation(self._pattern)

    def _places_at(self, character: str) -> int:
        """The places where a character can stand, as bits."""
        matched = character if character.isascii() else chr(self._translation[ord(character)])
        return sum(places for kinds, places in self._kinds if any(kind.match(matched) for kind in kinds))

    def _places_behind(self, places: int) -> int:
        """The places that may follow any of some, as bits."""
        behind = 0
        for place in _places(places):
            behind |= self._read.after[place]
        return behind


@lru_cache(maxsize=4)
def possible_matches(pattern: str) -> PossibleMatches | None:
    """What matches of a custom expression, known to compile, could have; None if it has what is not read here."""
    try:
        return PossibleMatches(pattern)
    except (_NotReadError, RecursionError):
        return None
