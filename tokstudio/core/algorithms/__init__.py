"""The algorithms of training, a room each: its engine, and what is its own beside it.

The value with an algorithm's settings is in `core/model/algorithms.py`, because the configuration holds it; compiled
loops are in `core/kernels`, because the cache of Numba depends on where they are. Imports `core.tokenizer` and the
folders below it. A room is loaded when a training needs it, with its loops.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from tokstudio.core.model.algorithms import Algorithm, add_algorithm

if TYPE_CHECKING:
    from tokstudio.core.algorithms.common.engines import Room

#: The module of each algorithm's engine, by the name of the algorithm.
_MODULES = {
    "bpe": "bpe.engine",
    "parity": "parity.engine",
    "superbpe": "superbpe.engine",
    "whole-characters": "bpe.engine",
    "boundless": "boundless.engine",
    "picky": "picky.engine",
}
_ROOMS: dict[str, Room] = {}


def room_of(name: str) -> Room:
    """The room of an algorithm, by its name in `core.model.algorithms`."""
    if name not in _ROOMS:
        _ROOMS[name] = import_module(f"{__name__}.{_MODULES[name]}").ROOM
    return _ROOMS[name]


def register(kind: type[Algorithm], room: Room) -> None:
    """Adds an algorithm; before the window or the command line is imported, which list what there is by then.

    Its runs are saved with their merges and counts. A column of its own needs a line in `core/project/schema.py`.
    """
    add_algorithm(kind)
    _ROOMS[kind.name] = room
