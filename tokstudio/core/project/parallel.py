"""The parallel texts of a configuration in a project: its JSON has their names and sizes, a blob the texts."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.project.checked_row import LARGEST, Row
from tokstudio.core.project.json_values import Json, to_json

_Texts = tuple[tuple[str, str], ...]


def config_to_json(config: TrainingConfig) -> str:
    """A configuration, with the size of each parallel text in bytes instead of the text."""
    sizes = [(name, len(text.encode())) for name, text in cast("_Texts", config.parallel)]
    return to_json(asdict(replace(config, parallel=())) | {"parallel": sizes})


def parallel_bytes(config: TrainingConfig) -> NDArray[np.uint8]:
    """The parallel texts, one after another."""
    texts = (text.encode() for _, text in cast("_Texts", config.parallel))
    return np.frombuffer(b"".join(texts), np.uint8)


def with_texts(row: Row, given: dict[str, Any], texts: bytes) -> dict[str, Any]:
    """The values of a configuration, with texts in place of their sizes; FormatError where they do not fit."""
    sizes: Json = given.get("parallel", [])
    made: list[tuple[str, str]] = []
    at = 0
    for entry in sizes if isinstance(sizes, list) else [None]:
        match entry:
            case [str(name), int(size)] if not isinstance(size, bool) and 0 <= size <= LARGEST:
                try:
                    made.append((name, texts[at : at + size].decode()))
                except UnicodeDecodeError:
                    raise row.fault("parallel", "a text is not UTF-8") from None
                at += size
            case _:
                raise row.fault("config", "the names and sizes of the parallel texts are missing")
    if at != len(texts):
        raise row.fault("parallel", "the texts do not have the sizes of the configuration")
    return given | {"parallel": made}
