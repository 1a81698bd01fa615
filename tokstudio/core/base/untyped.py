"""Libraries that have no types and are heavy to load, such as pyarrow."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from importlib import import_module
from typing import Any


def untyped(module: str) -> Any:  # noqa: ANN401 -- this is its purpose
    """A module, which is loaded on its first use; nothing of it has a type."""
    return import_module(module)
