"""The question how data sets are read, and the look at the files that comes before it."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import cast

from tokstudio.core.base.errors import TokStudioError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.corpus.open_sources import look_work
from tokstudio.core.corpus.readers import kinds
from tokstudio.core.corpus.readers.contents import TEXT, Column, Contents, Reading
from tokstudio.core.corpus.source import Source
from tokstudio.gui.session.preferences import Preferences

_NO_VALUES = ("bytes", "binary", "mixed", "<")  # in the kinds of columns that do not divide; "<" as in "map<"


@dataclass(frozen=True)
class DataSetPlace:
    """What is looked at."""

    path: Path  # a file or a folder
    source: Source | None = None  # the source that is to be read in another way; None for what is not open yet

    @property
    def member(self) -> str | None:
        """As of `look_work`."""
        return None if self.source is None else self.source.member


@dataclass(frozen=True)
class DataSetLook:
    """What a look at a data set showed."""

    place: DataSetPlace
    contents: Contents  # its columns
    key: str  # the same for all data sets with the same columns


@dataclass(frozen=True)
class ImportQuestion:
    """Asks how data sets with the same columns are read."""

    looks: tuple[DataSetLook, ...]  # the first one is shown
    reading: Reading  # what is chosen at first
    verb: str = "&Import"  # the text of the button that confirms; `&` marks the mnemonic


def texts_of(contents: Contents) -> list[Column]:
    """The columns that can be the text."""
    return [column for column in contents.columns if column.kind == TEXT]


def divisors_of(contents: Contents) -> list[Column]:
    """The columns that have one value in each row, by which it can be divided."""
    columns = [column for column in contents.columns if not any(column.lists)]
    return [column for column in columns if not any(word in column.kind for word in _NO_VALUES)]


def can_be_text(contents: Contents) -> bool:
    """Whether it can also be read as plain text."""
    return not any(kind in contents.kind for kind in kinds.COLUMNAR)


def fits(reading: Reading, contents: Contents) -> bool:
    """Whether a reading that was chosen for the same columns works for this data set too."""
    if reading.as_text:
        return can_be_text(contents)
    divisors = {column.name for column in divisors_of(contents)}
    has_text = any(column.name == reading.field for column in texts_of(contents))
    return has_text and (reading.split_by is None or reading.split_by in divisors)


def reading_for(reading: Reading, contents: Contents) -> Reading:
    """The chosen reading for one of the data sets.

    Where several data sets are within one folder or archive, the suggested column of each is read, if the suggested one
    was chosen.
    """
    is_suggested = contents.files > 1 and reading.field == contents.field
    return replace(reading, field=None) if is_suggested else reading


def look_all_work(places: Iterable[DataSetPlace], readings: Mapping[str, Reading]) -> Work[tuple[DataSetLook, ...]]:
    """Looks at the beginnings of files and folders; returns the data sets of which a column can be chosen.

    Those that cannot be read are left out, as reading them says why. `known` are earlier choices by their keys: the
    delimiter of one is used again.
    """
    looks: list[DataSetLook] = []
    for place in places:
        try:
            contents = yield from look_work(place.path, member=place.member)
            key = _key(contents)
            chosen = readings.get(key) if place.source is None else place.source.reading
            if contents.delimiter is not None and chosen is not None and chosen.delimiter is not None:
                again = Reading(delimiter=chosen.delimiter, keep_truncated=True)
                contents = yield from look_work(place.path, None, again, place.member)
        except TokStudioError:
            continue
        if texts_of(contents):
            looks.append(DataSetLook(place, contents, key))
        yield Progress("looking", len(looks))
    return tuple(looks)


def _key(contents: Contents) -> str:
    names = json.dumps([column.name for column in contents.columns])
    return hashlib.sha256(names.encode("utf-8", "replace")).hexdigest()[:16]


# --- Remembers how data sets with the same columns were read last -----------------------------------------------------

_MOST = 50
_SETTING = "imports"


class Choices:
    """The readings by the keys of their columns: all of the settings, and those of this start of the program."""

    def __init__(self, preferences: Preferences) -> None:
        self._preferences = preferences
        self._new: dict[str, Reading] = {}

    @property
    def all(self) -> Mapping[str, Reading]:
        """The readings, the oldest first; what other versions or users have written wrongly is left out."""
        readings: dict[str, Reading] = {}
        try:
            stored: object = json.loads(self._preferences.get(_SETTING, "{}"))
        except (ValueError, RecursionError):
            stored = {}
        for key, values in cast("dict[str, object]", stored).items() if isinstance(stored, dict) else ():
            if isinstance(values, dict):
                try:
                    readings[key] = Reading.from_json(cast("dict[str, object]", values))
                except ValueError:
                    continue
        return readings

    def of_this_start(self, key: str) -> Reading | None:
        """The reading that was chosen since the program was started; None for none."""
        return self._new.get(key)

    def remember(self, key: str, reading: Reading) -> None:
        """Stores a choice."""
        reading = replace(reading, keep_truncated=False)
        readings = {one: chosen for one, chosen in self.all.items() if one != key} | {key: reading}
        self._new[key] = reading
        newest = list(readings.items())[-_MOST:]
        self._preferences.set(_SETTING, json.dumps({one: chosen.to_json() for one, chosen in newest}))
