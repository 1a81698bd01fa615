"""What is done to a text before it is split: normalization, a space before it, and how special tokens are found.

The rules are those of the `tokenizers` library. It finds special tokens, normalizes the text between them, finds those
that are looked for in normalized text, and puts a space before each text that remains.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING

import numpy as np

from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.pretokenization.special_tokens import AllowedSpecial, Pieces, SpecialFinder, SpecialFinders
from tokstudio.core.pretokenization.word_table import PADDING
from tokstudio.core.text.nfc import nfc_changes
from tokstudio.core.text.unicode_classes import unassigned
from tokstudio.core.text.utf8 import Text, to_utf8

if TYPE_CHECKING:
    from numpy.typing import NDArray

_REPORTED = 1 << 10
_LONGEST_CHARACTER = 4  # bytes
#: White space as the library strips it, in a regular expression; Python's own definition has more characters.
WHITE_SPACE = "\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_SPACE_BEFORE = re.compile(f"[{WHITE_SPACE}]*\\Z")
_SPACE_BEHIND = re.compile(f"[{WHITE_SPACE}]*")
_HAS_WHITE_SPACE_BEHIND = re.compile(r"[^ \t\r\n][ \n]")
_LONGEST_SPACE = 1 << 10  # bytes looked at first
_CONVERTED = 1 << 14  # characters converted at once: they stay in the processor's cache
#: The sets of special tokens in a `Preparation`.
SETS = ("late", "strips_left", "strips_right", "words", "ordinary", "normalized")


@dataclass(frozen=True)
class Preparation:
    """What is done to a text before it is split."""

    nfc: bool = False  # whether text is normalized to form C
    prefix_space: bool = False  # whether a space is put before text that does not begin with one
    late: frozenset[str] = frozenset()  # special tokens that are found only in normalized text, after the others
    strips_left: frozenset[str] = frozenset()  # special tokens that include the white space before them
    strips_right: frozenset[str] = frozenset()  # special tokens that include the white space after them
    # Special tokens that are found only where no letter, digit or the like is beside them.
    words: frozenset[str] = frozenset()
    # Added tokens that are not special: they are found always, without being allowed.
    ordinary: frozenset[str] = frozenset()
    # All special tokens of a file that says that they are found in normalized text, and normalizes none; it changes
    # nothing, and is written again.
    normalized: frozenset[str] = field(default=frozenset(), compare=False)

    @cached_property
    def is_plain(self) -> bool:
        """Whether nothing is done, and special tokens are found leftmost first, then longest."""
        return self == Preparation()

    def cut_before(self, specials: Iterable[str]) -> bytes:
        """Before which of the bytes of a space and a line feed `patterns.place_to_cut` may cut a text.

        The parts are prepared as in the whole where no special token has one of them after other text, or takes white
        space after it. A line feed might become the second character of a part that gets a space before it.
        """
        begins = any(token.startswith((" ", "\n")) for token in self.words)
        if begins or self.strips_right or any(map(_HAS_WHITE_SPACE_BEHIND.search, specials)):
            return b""
        return b" " if self.nfc or self.prefix_space else b" \n"

    def of(self, names: Mapping[str, str]) -> Preparation:
        """The same for other special tokens: those whose texts are keys stay, with the text that is their value."""
        sets = {name: getattr(self, name) for name in SETS}
        kept = {name: frozenset(names[token] for token in tokens if token in names) for name, tokens in sets.items()}
        return replace(self, **kept)


@dataclass(frozen=True, eq=False)
class PreparedText:
    """Documents ready to be split."""

    data: NDArray[np.uint8]  # uint8, their prepared text, with `PADDING` bytes after it; it contains the special tokens
    pieces: Pieces  # the pieces of text between special tokens
    specials: tuple[bytes, ...]  # the texts of the special tokens, by their numbers in `pieces`
    # What was changed, step by step: int64 [n, 4], the start and end of a part before the step and after it.
    changes: tuple[NDArray[np.int64], ...] = field(default=())

    @property
    def size(self) -> int:
        """The bytes of the prepared text."""
        return len(self.data) - PADDING

    def original(self, places: NDArray[np.int64], begins: bool = False) -> NDArray[np.int64]:
        """The places in the original text for int64 places in `data`; within a changed part, its end or beginning."""
        for rows in reversed(self.changes):
            row = np.searchsorted(rows[:, 2], places, side="left") - 1
            columns: list[NDArray[np.int64]] = [*rows[row].T]
            begin, end, _, new_end = columns
            moved = np.maximum(places - new_end, 0) + np.where(begins & (places < new_end), begin, end)
            places = np.where(row < 0, places, moved)
        return places

    def span(self, start: int, stop: int) -> tuple[int, int]:
        """The part of `data` that was made of the original text from `start` to `stop`, with its prefix space."""
        for rows in self.changes:
            row = int(np.searchsorted(rows[:, 0], start, side="right")) - 1
            if row >= 0:
                begin, end, new_begin, new_end = rows[row].tolist()
                start = new_begin if start < end or start == begin == end else new_end + start - end
            row = int(np.searchsorted(rows[:, 0], stop, side="left")) - 1
            if row >= 0:
                begin, end, new_begin, new_end = rows[row].tolist()
                stop = new_end + max(stop - end, 0)
        return start, stop


def utf8_with_padding(text: Text) -> NDArray[np.uint8]:
    """The UTF-8 of a text as of `to_utf8`, uint8, with `PADDING` zeros after it.

    A long string that is all ASCII is copied once, as Python has its UTF-8. Another one is converted in parts: Python
    has up to four bytes for each character where one of them all needs these, and converts a part as ASCII where it is.
    """
    if isinstance(text, str) and len(text) > _CONVERTED:
        if text.isascii():
            data = np.empty(len(text) + PADDING, np.uint8)
            from ctypes import memmove

            memmove(data.ctypes.data, _ascii()(text, None), len(text))
            data[len(text) :] = 0
            return data
        # Two bytes at most for a character that the string holds in one, three for two, four for four.
        data = np.empty(min(4 * len(text), 2 * sys.getsizeof(text)) + PADDING, np.uint8)
        at = 0
        try:
            for start in range(0, len(text), _CONVERTED):
                part = text[start : start + _CONVERTED].encode()
                data[at : at + len(part)] = np.frombuffer(part, np.uint8)
                at += len(part)
        except UnicodeEncodeError:  # a pair of surrogates may be in two parts
            return utf8_with_padding(to_utf8(text))
        data[at : at + PADDING] = 0
        data.resize(at + PADDING, refcheck=False)
        return data
    raw = to_utf8(text)
    data = np.empty(len(raw) + PADDING, np.uint8)
    data[: len(raw)], data[len(raw) :] = np.frombuffer(raw, np.uint8), 0
    return data


@cache
def _ascii() -> Callable[[str, None], int]:
    """Gives the address of the UTF-8 of a string, which it keeps; a string that is all ASCII is its own."""
    from ctypes import PYFUNCTYPE, c_void_p, py_object, pythonapi

    return PYFUNCTYPE(c_void_p, py_object, c_void_p)(("PyUnicode_AsUTF8AndSize", pythonapi))


def prepare_work(
    preparation: Preparation,
    finders: SpecialFinders,
    data: NDArray[np.uint8],
    ends: NDArray[np.int64],
    allowed_special: AllowedSpecial,
) -> Work[PreparedText]:
    """Prepares documents, uint8 with `PADDING` arbitrary bytes after the last and int64 ends.

    Raises:
        ConfigError: An allowed special token is unknown.
    """
    if preparation.is_plain:
        finder = finders.of(allowed_special)
        return PreparedText(data, (yield from finder.cut_work(data, ends)), finder.texts)
    allowed = finders.allowed(allowed_special) | preparation.ordinary
    # Beside tokens that are always found, the library passes over the others only after it has found them.
    searched = finders.allowed("all") if preparation.ordinary else allowed
    early = finders.of(searched - preparation.late)
    pieces = yield from early.cut_work(data, ends)
    pieces = yield from _chosen_work(preparation, early, allowed, data, pieces)
    prepared = PreparedText(data, pieces, early.texts)
    if preparation.nfc or allowed & (preparation.strips_left | preparation.strips_right):
        prepared = yield from _Rewriting(preparation, prepared).work(prepared.pieces, preparation.nfc, False)
    late = finders.of(searched & preparation.late)
    if len(late) or preparation.prefix_space:
        of_text = prepared.pieces.joined(prepared.data, 0, len(prepared.pieces.starts))
        pieces = yield from late.cut_work(*of_text)
        pieces = yield from _chosen_work(preparation, late, allowed, of_text[0], pieces)
        within = _within(prepared, pieces, len(early))
        prepared = PreparedText(prepared.data, within, early.texts + late.texts, prepared.changes)
        prepared = yield from _Rewriting(preparation, prepared, len(early)).work(
            within, False, preparation.prefix_space
        )
    return prepared


def _chosen_work(
    preparation: Preparation, finder: SpecialFinder, allowed: frozenset[str], data: NDArray[np.uint8], pieces: Pieces
) -> Work[Pieces]:
    """The pieces where special tokens that are not allowed, and those within words, are part of the text."""
    texts = [text.decode() for text in finder.texts]
    # The last is for the end of a document.
    passed = np.array([*(text not in allowed for text in texts), False])[pieces.specials]
    alone = np.array([*(text in preparation.words for text in texts), False])[pieces.specials] & ~passed
    last = np.flatnonzero(pieces.specials < 0)
    begins = pieces.starts[np.concatenate([np.zeros(1, np.int64), last[:-1] + 1])]
    for number, row in enumerate(np.flatnonzero(alone).tolist()):
        document = int(np.searchsorted(last, row))
        start = int(pieces.stops[row])
        stop = start + len(finder.texts[int(pieces.specials[row])])
        before = data[max(int(begins[document]), start - _LONGEST_CHARACTER) : start].tobytes()
        behind = data[stop : min(int(pieces.stops[last[document]]), stop + _LONGEST_CHARACTER)].tobytes()
        beside = before.decode("utf-8", "surrogateescape")[-1:] + behind.decode("utf-8", "surrogateescape")[:1]
        passed[row] = any(map(_is_in_word, beside))
        if number % _REPORTED == 0:
            yield Progress("encoding", start, len(data))
    if not passed.any():
        return pieces
    kept = np.flatnonzero(~passed)
    firsts = np.concatenate([np.zeros(1, np.int64), kept[:-1] + 1])
    return Pieces(pieces.starts[firsts], pieces.stops[kept], pieces.specials[kept])


def _is_in_word(character: str) -> bool:
    """Whether the library takes a character for a part of a word."""
    import regex

    matched = regex.match(r"[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]", character)
    return matched is not None and not unassigned()[ord(character)]


def _within(prepared: PreparedText, cut: Pieces, earlier: int) -> Pieces:
    """Pieces of the text without special tokens, as pieces of the prepared text."""
    pieces = prepared.pieces
    # Each piece of the prepared text ends with the end of a document.
    last = cut.specials < 0
    row = np.cumsum(last) - last
    begins = np.concatenate([np.zeros(1, np.int64), np.cumsum(pieces.stops - pieces.starts)])[:-1]
    shift = (pieces.starts - begins)[row]
    specials = np.where(last, pieces.specials[row], cut.specials + earlier).astype(np.int32)
    return Pieces(cut.starts + shift, cut.stops + shift, specials)


class _Rewriting:
    """Writes prepared text anew; special tokens from number `first` on take white space beside them."""

    def __init__(self, preparation: Preparation, prepared: PreparedText, first: int = 0) -> None:
        self._prepared, self._data, self._first = prepared, prepared.data, first
        texts = [text.decode() if number >= first else "" for number, text in enumerate(prepared.specials)]
        self._left = [text in preparation.strips_left for text in texts]
        self._right = [text in preparation.strips_right for text in texts]
        self._parts: list[bytes] = []
        self._size = 0
        self._rows: list[tuple[int, int, int, int]] = []

    def work(self, pieces: Pieces, nfc: bool, prefix_space: bool) -> Work[PreparedText]:
        """The text with the white space of special tokens removed, normalized, or with prefix spaces."""
        starts, stops, specials = list[int](), list[int](), list[int]()
        # A special token takes white space up to the end of a document, or to one that was found before.
        last = pieces.specials < self._first
        ends: list[int] = pieces.stops[last][np.cumsum(last) - last].tolist()
        behind: int | None = None  # the special token before a piece
        rows: list[list[int]] = np.stack([pieces.starts, pieces.stops, pieces.specials], axis=1).tolist()
        for number, (start, stop, special) in enumerate(rows):
            begin = start if behind is None else behind
            # A special token may begin with white space that the one before it includes.
            end, after = max(begin, stop), stop
            if special >= 0:
                after += len(self._prepared.specials[special])
                after = self._behind(after, ends[number]) if self._right[special] else after
                if self._left[special] and begin < stop:
                    end = self._before(begin, stop)
                if self._left[special] and after <= begin:
                    continue  # the one before it includes all of it
            behind = None
            specials.append(special)
            starts.append(self._size)
            if prefix_space and begin < end and self._data[begin] != 0x20:
                self._replace(begin, begin, b" ")
            yield from self._copy_work(begin, end, nfc)
            stops.append(self._size)
            if special >= 0:
                token, behind = self._prepared.specials[special], after
                if behind - end == len(token):
                    self._add(token)
                else:
                    self._replace(end, behind, token)
            if number % _REPORTED == 0:
                yield Progress("encoding", stop, len(self._data))
        data = np.frombuffer(b"".join([*self._parts, bytes(PADDING)]), np.uint8)
        changes = np.array(self._rows, np.int64).reshape(-1, 4)
        written = Pieces(np.array(starts, np.int64), np.array(stops, np.int64), np.array(specials, np.int32))
        every = (*self._prepared.changes, changes) if len(changes) else self._prepared.changes
        return PreparedText(data, written, self._prepared.specials, every)

    def _copy_work(self, start: int, stop: int, nfc: bool) -> Work[None]:
        raw, at = self._data[start:stop].tobytes(), 0
        for change in nfc_changes(raw if nfc else b""):
            if change is None:
                yield Progress("encoding", start + at, len(self._data))
                continue
            first, last, new_bytes = change
            self._add(raw[at:first])
            self._replace(start + first, start + last, new_bytes)
            at = last
        self._add(raw[at:])

    def _add(self, raw: bytes) -> None:
        self._parts.append(raw)
        self._size += len(raw)

    def _replace(self, start: int, stop: int, new_bytes: bytes) -> None:
        self._rows.append((start, stop, self._size, self._size + len(new_bytes)))
        self._add(new_bytes)

    def _before(self, start: int, stop: int) -> int:
        """Where the white space before `stop` begins, not before `start`."""
        size = _LONGEST_SPACE
        while True:
            low = max(start, stop - size)
            text = self._data[low:stop].tobytes().decode("utf-8", "surrogateescape")
            space = _SPACE_BEFORE.search(text)
            width = len(space.group().encode()) if space else 0
            if low == start or width < stop - low - 4:
                return stop - width
            size *= 4

    def _behind(self, start: int, stop: int) -> int:
        """Where the white space after `start` ends, at most at `stop`."""
        size = _LONGEST_SPACE
        while True:
            high = min(stop, start + size)
            text = self._data[start:high].tobytes().decode("utf-8", "surrogateescape")
            space = _SPACE_BEHIND.match(text)
            width = len(space.group().encode()) if space else 0
            if high == stop or width < high - start - 4:
                return start + width
            size *= 4
