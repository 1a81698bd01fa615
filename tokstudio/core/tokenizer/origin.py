"""Where a changed tokenizer is from: the one before, how it was changed, and which ids became which; and its proof."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

import numpy as np

from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.records import dataclass
from tokstudio.core.model.alphabet import LARGEST_ID

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
        object.__setattr__(self, "new_ids", frozen_new_ids(self.new_ids))

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
    further: int = 0  # how many more there are than the details


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
            shown = point.details[:most]
            lines += [f"   {detail}" for detail in shown]
            if (more := len(point.details) + point.further - len(shown)) > 0:
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


def frozen_new_ids(ids: NDArray[np.int32]) -> NDArray[np.int32]:
    """New ids as read-only int32; raises ConfigError where one is neither -1 nor an id."""
    numbers = np.asarray(ids)
    if numbers.size and (numbers.dtype.kind not in "iu" or numbers.min() < -1 or numbers.max() > LARGEST_ID):
        raise ConfigError(f"New ids must be whole numbers from -1, for none, to {LARGEST_ID:,}.")
    array = numbers.astype(np.int32)
    array.setflags(write=False)
    return array
