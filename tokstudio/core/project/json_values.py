"""JSON in the cells of a project: written in ASCII, so that any text is preserved, and read within limits."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import re
from typing import NoReturn, TypeAlias

from tokstudio.core.base.json_depth import TOO_DEEP, is_too_deep

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

LONGEST = 1 << 26
# A long string takes no more memory than it has characters; a list of short strings takes ten times as much.
_LONGEST_STRUCTURE = 1 << 24
_LONGEST_BETWEEN_STRINGS = 1 << 20  # of a value that is longer
_MOST_PARTS = 10_000
_STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)


def to_json(value: object) -> str:
    """Writes a value; ValueError where it cannot be written, or could not be read back."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    _check_size(text)
    return text


def from_json(text: str) -> Json:
    """Reads a value; ValueError where it is not JSON, or too large."""
    _check_size(text)
    if is_too_deep(text):
        raise ValueError(f"it is {TOO_DEEP}")
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError:
        raise ValueError("it is not JSON") from None


def _check_size(text: str) -> None:
    if len(text) > LONGEST or (
        len(text) > _LONGEST_STRUCTURE and len(_STRING.sub("", text)) > _LONGEST_BETWEEN_STRINGS
    ):
        raise ValueError(f"it is too long: {len(text):,} characters")
    if not text.startswith('"') and _brackets(text) > _MOST_PARTS and _brackets(_STRING.sub("", text)) > _MOST_PARTS:
        raise ValueError(f"it has more than {_MOST_PARTS:,} parts")


def _brackets(text: str) -> int:
    return text.count("[") + text.count("{")


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
