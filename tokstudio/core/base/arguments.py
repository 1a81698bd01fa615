"""Checks of arguments of public functions: ConfigError says which is wrong, what it must be, and what was given."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import index
from typing import TypeVar, cast

from tokstudio.core.base.errors import ConfigError

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")
_LARGEST = (1 << 62) - 1
_SHOWN = 60  # characters of a value


def whole_number(name: str, value: object, least: int | None = None, most: int = _LARGEST) -> int:
    """A number of any integer type, such as numpy's, as an int; `name` is its name in the error."""
    try:
        # Not bool, which is a number for Python.
        number = value if type(value) is int else None if isinstance(value, bool) else index(value)  # pyright: ignore[reportArgumentType]
    except TypeError:
        number = None
    if number is None or number > most or (least is not None and number < least):
        limits = "" if least is None else f" from {least:,}" + (f" to {most:,}" if most < _LARGEST else "")
        raise ConfigError(f"{name} must be a whole number{limits}, not {told(value)}.")
    return number


def plain_number(name: str, value: object) -> float:
    """A number that is not NaN or infinite, as a float."""
    try:
        number = None if isinstance(value, (bool, str, bytes)) else float(value)  # pyright: ignore[reportArgumentType]
    except (TypeError, ValueError, OverflowError):
        number = None
    if number is None or not abs(number) < float("inf"):
        raise ConfigError(f"{name} must be a number, not {told(value)}.")
    return number


def several_of(name: str, value: object) -> list[object]:
    """The values of a list, a tuple or another iterable; not of a text or a mapping."""
    try:
        if not isinstance(value, (str, bytes, Mapping)):
            return list(cast("Iterable[object]", value))
    except TypeError:
        pass
    raise ConfigError(f"{name} must be a list or another sequence, not {told(cast('object', value))}.")


def items_of(name: str, value: Mapping[_Key, _Value]) -> Iterable[tuple[_Key, _Value]]:
    """The keys of a mapping with their values."""
    if not isinstance(value, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigError(f"{name} must be a mapping, not {told(value)}.")
    return value.items()


def told(value: object) -> str:
    """A value in an error, cut where it is long."""
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
