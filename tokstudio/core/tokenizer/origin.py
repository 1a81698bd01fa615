"""Where a changed tokenizer is from: the one before, how it was changed, and which ids became which; and its proof."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.base.errors import ConfigError
from tokstudio.core.model.alphabet import LARGEST_ID, Alphabet

#: What was done. "extended": merges were added after the old ones, by training or from another tokenizer. "pruned":
#: tokens were removed. "renumbered": ids were changed. "specials": special tokens were added, renamed or given roles.
Change = Literal["extended", "pruned", "renumbered", "specials"]

_Old = TypeVar("_Old")


@dataclass(frozen=True, eq=False)
class Origin(Generic[_Old]):
    """The tokenizer that another was made from."""

    old: _Old
    change: Change
    new_ids: NDArray[np.int32]  # [ids of old], the new id of each old one; -1: removed, or never in use; read-only

    def __post_init__(self) -> None:
        object.__setattr__(self, "new_ids", _frozen(self.new_ids))

    def renumbered(self, new_ids: NDArray[np.int32]) -> Origin[_Old]:
        """The origin after the ids changed once more: `new_ids` has those by id of the tokenizer made from `old`."""
        again = np.append(new_ids, np.int32(-1))
        return replace(self, new_ids=again[np.where(self.new_ids < len(new_ids), self.new_ids, -1)])


@dataclass(frozen=True)
class Point:
    """One thing that was proved, or failed."""

    number: int
    name: str  # what is to hold, such as "Every old id has the same bytes"
    holds: bool
    sentence: str  # what was found
    details: tuple[str, ...] = ()  # tokens that are listed with their reasons, or lines side by side
    neutral: bool = False  # whether it holds, but tells a change, or that something was not checked


@dataclass(frozen=True)
class Proof:
    """What stayed the same in a changed tokenizer: nine points, the last only where files of it were read back."""

    points: tuple[Point, ...]

    @property
    def holds(self) -> bool:
        """Whether all points hold."""
        return all(point.holds for point in self.points)

    def check(self) -> Proof:
        """Returns itself; raises ConfigError with the points that fail."""
        if failed := [point for point in self.points if not point.holds]:
            reasons = " ".join(f"{point.name}: {point.sentence}" for point in failed)
            raise ConfigError(f"The changed tokenizer is not what it should be. {reasons}")
        return self

    def read_back(self, sentence: str, holds: bool = True, neutral: bool = False) -> Proof:
        """The same proof with the ninth point."""
        name = "The owner's library reads the result the same"
        return Proof((*self.points[:8], Point(9, name, holds, sentence, neutral=neutral)))

    def lines(self, most: int = 3) -> tuple[str, ...]:
        """Each point in a line, with at most so many of its details in a line each."""
        lines: list[str] = []
        for point in self.points:
            lines.append(f"{point.number}. {point.name}: {'' if point.holds else 'FAILS: '}{point.sentence}")
            lines += [f"   {detail}" for detail in point.details[:most]]
            if (more := len(point.details) - most) > 0:
                lines.append(f"   and {more:,} more")
        return tuple(lines)


def from_the_first(origin: Origin[Any]) -> Origin[Any]:
    """The origin in the first tokenizer of a row of changes, each made of the one before; `change` is the last."""
    while (before := origin.old.origin) is not None:
        now = np.append(origin.new_ids, np.int32(-1))
        place = np.where(before.new_ids < 0, len(now), before.new_ids)
        origin = Origin(before.old, origin.change, now[np.minimum(place, len(now) - 1)])
    return origin


def unchanged_ids(ids: NDArray[np.int64]) -> NDArray[np.int32]:
    """The `new_ids` of an origin where all `ids` of the old tokenizer stayed."""
    new_ids = np.full(int(ids.max(initial=-1)) + 1, -1, np.int32)
    new_ids[ids] = ids
    return new_ids


def renumbered_arguments(given: Mapping[str, Any], new_ids: NDArray[np.int32]) -> dict[str, Any]:
    """The arguments of `Tokenizer` with other ids, as `Tokenizer.renumbered` says.

    Raises:
        ConfigError: A base, special or unknown token goes, or one that another needs; or two tokens get the same id.
    """
    new_ids = _frozen(new_ids)
    alphabet: Alphabet = given["alphabet"]
    specials: Mapping[str, int] = given["special_tokens"]
    stays = new_ids[given["merge_results"]] >= 0
    merges, results = given["merges"][stays], given["merge_results"][stays]
    if len(missing := np.flatnonzero(np.any(new_ids[merges] < 0, axis=1))):
        raise ConfigError(f"Token {results[missing[0]]} needs a token that is to be removed.")
    if np.any(new_ids[[*alphabet.ids.tolist(), *specials.values()]] < 0):
        raise ConfigError("Base tokens and special tokens cannot be removed.")
    if alphabet.unknown is not None and not np.any(new_ids[alphabet.unknown : alphabet.unknown + 1] >= 0):
        raise ConfigError("The token that stands for unknown characters cannot be removed.")
    used = new_ids[new_ids >= 0]
    if len(np.unique(used)) < len(used):
        raise ConfigError("Two tokens cannot get the same id.")
    extra: Mapping[int, bytes] = given["extra_tokens"]
    supermerges = given["supermerges"]
    return {
        **given,
        "supermerges": None if supermerges is None else supermerges[stays],
        "merges": new_ids[merges],
        "merge_results": new_ids[results],
        "alphabet": alphabet.renumbered(new_ids),
        "special_tokens": {token: int(new_ids[number]) for token, number in specials.items()},
        "extra_tokens": {int(new_ids[number]): token for number, token in extra.items() if new_ids[number] >= 0},
        "settings": given["settings"].renumbered(new_ids),
        "whole_words": [
            int(new_ids[number]) for number in given["whole_words"] if number < len(new_ids) and new_ids[number] >= 0
        ],
    }


def _frozen(ids: NDArray[np.int32]) -> NDArray[np.int32]:
    """New ids as read-only int32; raises ConfigError where one is neither -1 nor an id."""
    given = np.asarray(ids)
    if given.size and (given.dtype.kind not in "iu" or given.min() < -1 or given.max() > LARGEST_ID):
        raise ConfigError(f"New ids must be whole numbers from -1, for none, to {LARGEST_ID:,}.")
    array = given.astype(np.int32)
    array.setflags(write=False)
    return array
