"""How a source is read, as JSON in a project."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tokstudio.core.base.errors import ConfigError
from tokstudio.core.corpus.readers.contents import Reading
from tokstudio.core.project.json_values import Json, to_json
from tokstudio.core.project.model import ProjectSource

_TEXTS = ("member", "value", "group")


def reading_to_json(source: ProjectSource) -> str | None:
    """How a source is read; None for plain text that is read whole."""
    values: dict[str, object] = {
        "reading": None if source.reading is None else source.reading.to_json(),
        "member": source.member or None,
        "value": source.value,
        "group": source.group or None,
        "rows": source.is_rows or None,
    }
    told = {name: value for name, value in values.items() if value is not None}
    return to_json(told) if told else None


def with_reading(source: ProjectSource, values: Mapping[str, Json]) -> ProjectSource:
    """The source with what `reading_to_json` gave; ValueError where a value is unknown or has another type."""
    reading, rows = values.get("reading"), values.get("rows", False)
    if not values.keys() <= {*_TEXTS, "reading", "rows"} or not isinstance(rows, bool):
        raise ValueError("it is not known")
    texts = {name: values[name] for name in _TEXTS if name in values}
    if not all(isinstance(text, str) and "\0" not in text for text in texts.values()):
        raise ValueError("a name is not a text")
    member, value, group = (texts.get(name) for name in _TEXTS)
    try:
        made = Reading.from_json(reading) if isinstance(reading, dict) else None
    except ConfigError as error:
        raise ValueError(str(error).removesuffix(".")) from error
    if (reading is not None and made is None) or (rows and made is None):
        raise ValueError("it is not known")
    return replace(
        source,
        reading=made,
        member=str(member or ""),
        value=None if value is None else str(value),
        group=str(group or ""),
        is_rows=rows,
    )
