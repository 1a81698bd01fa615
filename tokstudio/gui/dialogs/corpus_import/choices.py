"""Remembers how data sets with the same columns were read last."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from tokstudio.core.corpus.readers.contents import Reading
from tokstudio.gui.session.preferences import Preferences

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
        known: dict[str, Reading] = {}
        try:
            stored: object = json.loads(self._preferences.get(_SETTING, "{}"))
        except (ValueError, RecursionError):
            stored = {}
        for key, values in cast("dict[str, object]", stored).items() if isinstance(stored, dict) else ():
            if isinstance(values, dict):
                try:
                    known[key] = Reading.from_json(cast("dict[str, object]", values))
                except ValueError:
                    continue
        return known

    def of_this_start(self, key: str) -> Reading | None:
        """The reading that was chosen since the program was started; None for none."""
        return self._new.get(key)

    def remember(self, key: str, reading: Reading) -> None:
        """Stores a choice."""
        reading = replace(reading, keep_truncated=False)
        known = {one: chosen for one, chosen in self.all.items() if one != key} | {key: reading}
        self._new[key] = reading
        newest = list(known.items())[-_MOST:]
        self._preferences.set(_SETTING, json.dumps({one: chosen.to_json() for one, chosen in newest}))
