"""The workspaces: each has the panes of one kind of work, in columns of two places at most.

Related panes share a place as tabs. On a small screen, or a large one at twice its size, more panes share a place:
controls of a window larger than the screen could not be reached.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Container
from typing import NamedTuple, TypeAlias

from PySide6.QtCore import QSize

# Columns from left to right with their shares of the width. Each has its places from top to bottom, with the share
# of the height of the upper one; each place has the panes that share it as tabs, the front one first.
Columns: TypeAlias = tuple[tuple[float, float, tuple[tuple[str, ...], ...]], ...]
NARROW = 2  # the size of a narrow screen
_LARGE_NEEDS = QSize(960, 580)  # pixels of the content that the large layout needs


class Workspace(NamedTuple):
    """The places of the panes for one kind of work; a pane that does not exist is left out."""

    title: str
    number: int  # in stored layouts
    key: str  # the name of its layout in the settings
    large: Columns  # the columns on a usual screen
    low: Columns  # the columns on a low screen
    small: Columns  # the columns on a narrow screen
    with_run: frozenset[str] = frozenset()  # the panes that are not shown before there is a run

    @property
    def panes(self) -> frozenset[str]:
        """The names of its panes."""
        return frozenset(name for *_, places in self.large for place in places for name in place)

    def columns(self, size: int, panes: Container[str]) -> Columns:
        """The columns for a size of `screen_size`, of the panes in `panes`."""
        kept: Columns = ()
        for width, upper, places in (self.large, self.low, self.small)[size]:
            left = (tuple(name for name in place if name in panes) for place in places)
            filled = tuple(place for place in left if place)
            kept += ((width, upper, filled),) if filled else ()
        whole = sum(width for width, *_ in kept)
        return tuple((width / whole, upper, places) for width, upper, places in kept)


def screen_size(room: QSize) -> int:
    """0 for a usual screen, 1 for a low one and `NARROW` for a narrow one, by its room for the window."""
    return NARROW if room.width() < _LARGE_NEEDS.width() else int(room.height() < _LARGE_NEEDS.height())


_CURVES, _TABLES, _TREE = ("compression", "distribution"), ("merges", "vocabulary", "runs"), ("token", "why")
_LEARN = Workspace(
    "Learn",
    2,
    "layout_learn",
    large=(
        (0.27, 1, (("guide",),)),
        (0.36, 0.45, (("compression",), ("merges",))),
        (0.37, 0.55, (("text",), _TREE)),
    ),
    low=((0.30, 1, (("guide",),)), (0.33, 1, (("compression", "merges"),)), (0.37, 1, (("text", *_TREE),))),
    small=((0.42, 1, (("guide",),)), (0.58, 1, (("compression", "merges", "text", *_TREE),))),
    with_run=frozenset({"merges", *_TREE}),
)
_TRAIN = Workspace(
    "Train",
    0,
    "layout",
    large=(
        (0.21, 0.39, (("corpus",), ("configure",))),
        (0.47, 0.46, (_CURVES, _TABLES)),
        (0.32, 0.60, (("text",), _TREE)),
    ),
    low=(
        (0.27, 1, (("configure", "corpus"),)),
        (0.40, 1, ((*_CURVES, *_TABLES),)),
        (0.33, 1, (("text", *_TREE),)),
    ),
    small=((0.38, 1, (("configure", "corpus"),)), (0.62, 1, ((*_CURVES, *_TABLES, "text", *_TREE),))),
)
_COMPARE = Workspace(
    "Compare",
    1,
    "layout_compare",
    # The table of Compare has the whole height.
    large=((0.34, 0.45, (("runs",), ("text", "token"))), (0.66, 1, (("compare", "sizes"),))),
    low=((0.36, 1, (("runs", "text", "token"),)), (0.64, 1, (("compare", "sizes"),))),
    small=((0.38, 1, (("runs", "text", "token"),)), (0.62, 1, (("compare", "sizes"),))),
)
_EXPLORE = Workspace(
    "Explore",
    3,
    "layout_explore",
    # Its tables are wide.
    large=((0.26, 0.50, (("corpus",), ("token",))), (0.74, 0.68, (("explore", "vocabulary"), ("text",)))),
    low=((0.25, 1, (("corpus", "token"),)), (0.45, 1, (("explore", "vocabulary"),)), (0.30, 1, (("text",),))),
    small=((0.36, 1, (("corpus", "token"),)), (0.64, 1, (("explore", "vocabulary", "text"),))),
    with_run=frozenset({"token", "vocabulary"}),
)
LEARN, TRAIN = "learn", "train"
#: The workspaces by name, in the order of the switch.
WORKSPACES = {LEARN: _LEARN, TRAIN: _TRAIN, "explore": _EXPLORE, "compare": _COMPARE}
