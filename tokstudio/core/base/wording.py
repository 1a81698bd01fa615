"""The wording of values in messages."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
import reprlib
import unicodedata
from collections.abc import Callable, Collection, Container
from itertools import count, islice

# Control characters, direction marks, line breaks, and bytes of a name that are not text.
_UNSHOWABLE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]")


# What no name of a file has on one of the systems, and the names that Windows keeps for devices.
_NOT_IN_NAMES = re.compile('[<>:"/\\\\|?*]+')
_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
_LONGEST_NAME = 80  # bytes; 255 are possible, and an ending may follow


def safe_name(text: str, otherwise: str) -> str:
    """A text as the name of a file or folder on every system; `otherwise` where nothing of it can be kept.

    `safe_name('a/b: "c".', "x")` is `a-b- -c-`, and `safe_name("con", "x")` is `x con`.
    """
    kept = _NOT_IN_NAMES.sub("-", _UNSHOWABLE.sub("", text))
    kept = kept.encode("utf-8", "ignore")[:_LONGEST_NAME].decode("utf-8", "ignore").strip(" .")
    return f"{otherwise} {kept}" if _DEVICES.fullmatch(kept) else kept or otherwise


def other_name(name: str, taken: Container[str]) -> str:
    """A name that is not taken: `other_name("a", {"a", "a (2)"})` is `a (3)`."""
    numbered = (f"{name} ({number})" if number > 1 else name for number in count(1))
    return next(each for each in numbered if each not in taken)


def columns_of(text: str) -> int:
    """The columns that a text takes in a terminal: two for a wide one (Japanese), none for a mark."""
    return sum(
        0 if unicodedata.category(c) in ("Mn", "Me", "Cf") else 1 + (unicodedata.east_asian_width(c) in ("W", "F"))
        for c in text
    )


def printable(text: str) -> str:
    r"""A text on one line without control characters, such as the name of a file: `"a\nb"` is `a\nb`."""
    return _UNSHOWABLE.sub(_written_out, text)


def shown(text: str, longest: int = 40) -> str:
    """A text in quotes for a message: on one line, at most `longest` characters; in single quotes if it has double."""
    cut = text if len(text) <= longest else text[:longest] + "…"
    quote = "'" if '"' in cut and "'" not in cut else '"'
    return quote + "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in cut) + quote


def quoted_bytes(raw: bytes) -> str:
    """A token for a sentence: in quotes with dots for its spaces, so that no line ends in it, or as bytes."""
    try:
        return shown(raw.decode()).replace(" ", "·")
    except UnicodeDecodeError:
        return raw.hex(" ").upper()


def first_few(texts: Collection[str], most: int, write: Callable[[str], str] = shown) -> str:
    """The first texts and how many more there are: `first_few(["a", "b", "c"], 2)` is `"a", "b" and 1 more`."""
    more = f" and {len(texts) - most:,} more" if len(texts) > most else ""
    return ", ".join(map(write, islice(texts, most))) + more


def _written_out(match: re.Match[str]) -> str:
    if "\ud800" <= match[0] <= "\udfff":  # a byte of a file name that is not text
        return "\ufffd"
    return match[0].encode("unicode_escape").decode()


def in_units(count: int, scale: int) -> int | float:
    """A count in units of 1 / `scale` as a number, whole where it is: `in_units(2_500, 1_000)` is 2.5."""
    return count / scale if count % scale else count // scale


def count_text(count: int, scale: int = 1) -> str:
    """A count in units of 1 / `scale` as a text: `count_text(1_234_500, 1_000)` is "1,234.5"."""
    return f"{in_units(count, scale):,}"


def whole_text(count: int, scale: int = 1) -> str:
    """A count in units of 1 / `scale`, rounded: `whole_text(1_234_567, 1_000)` is "1,235"; "<1" below a half."""
    rounded = (2 * count + scale) // (2 * scale)
    return f"{rounded:,}" if rounded or not count else "<1"


def several_whole(count: int, scale: int, one: str, many: str = "") -> str:
    """`whole_text` with its noun, as of `several`: `several_whole(1_500, 1_000, "token")` is "2 tokens"."""
    text = whole_text(count, scale)
    return f"{text} {one if text in ('1', '<1') else many or one + 's'}"


def capitalized(text: str) -> str:
    """The text with a capital at its beginning; all else stays, such as the names in it."""
    return text[:1].upper() + text[1:]


def several(number: float, one: str, many: str = "") -> str:
    """A number with its noun: `several(2, "id is", "ids are")` is "2 ids are"; `many` is `one` + "s" by default."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def value_text(value: object) -> str:
    """A wrong value in a message: a number as a user types it, such as "0" for 0.0, and anything else in Python."""
    return f"{value:.12g}" if isinstance(value, float) else reprlib.repr(value)


def percent_text(share: float, decimals: int = 0) -> str:
    """A share in percent, with a space that does not break: `percent_text(0.345, 1)` is "34.5 %"."""
    return f"{share:,.{decimals}%}".replace("%", "\u00a0%")


def share_text(share: float) -> str:
    """A share of a whole in whole percent; what is neither nothing nor all is not rounded to it: "< 1 %", "> 99 %"."""
    if 0 < share <= 0.005:
        return f"<\u00a0{percent_text(0.01)}"
    return f">\u00a0{percent_text(0.99)}" if 0.995 <= share < 1 else percent_text(share)


def size_of_memory(size: float) -> str:
    """Bytes of memory in a unit that fits: "340 MB", "1.2 GB"."""
    return f"{size / 1e6:,.0f} MB" if size < 1e9 else f"{size / 1e9:,.1f} GB"


def size_text(size: int) -> str:
    """A size in a unit that fits: `size_text(1_115_394)` is "1.1 MB"."""
    value, units = float(size), ["TB", "GB", "MB", "kB", "B"]
    while len(units) > 1 and value >= (1000 if units[-1] == "B" else 999.95):
        value /= 1000
        units.pop()
    return f"{size} B" if units[-1] == "B" else f"{value:,.1f} {units[-1]}"
