"""The workspaces: three columns of two places at most, in which related panes share a place as tabs.

On a small screen, or a large one at twice its size, more panes share a place: controls of a window larger than the
screen could not be reached.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Container
from typing import NamedTuple, TypeAlias

from PySide6.QtCore import QSize

# Columns from left to right with their shares of the width. Each has its places from top to bottom, with the share
# of the height of the upper one; each place has the panes that share it as tabs, the front one first.
Columns: TypeAlias = tuple[tuple[float, float, tuple[tuple[str, ...], ...]], ...]
_LARGE_NEEDS = QSize(960, 580)  # pixels of the content that the large layout needs


class Workspace(NamedTuple):
    """The places of all panes for one kind of work; a pane that does not exist is left out."""

    key: str  # the name of its layout in the settings
    large: Columns  # the columns on a usual screen
    low: Columns  # the columns on a low screen
    small: Columns  # the columns on a narrow screen
    closed: tuple[str, ...] = ()  # the panes that are closed until they are asked for

    def columns(self, size: int, panes: Container[str]) -> Columns:
        """The columns for a size of `screen_size`, of the panes in `known`."""
        kept: Columns = ()
        for width, upper, places in (self.large, self.low, self.small)[size]:
            left = (tuple(name for name in place if name in panes) for place in places)
            filled = tuple(place for place in left if place)
            kept += ((width, upper, filled),) if filled else ()
        whole = sum(width for width, *_ in kept)
        return tuple((width / whole, upper, places) for width, upper, places in kept)


def screen_size(room: QSize) -> int:
    """0 for a usual screen, 1 for a low one and 2 for a narrow one, by its room for the window."""
    return 2 if room.width() < _LARGE_NEEDS.width() else int(room.height() < _LARGE_NEEDS.height())


_TRAIN = Workspace(
    "layout",
    large=(
        (0.21, 0.43, (("corpus",), ("configure",))),
        (0.47, 0.46, (("compression", "distribution", "compare"), ("merges", "vocabulary", "runs", "sizes"))),
        (0.32, 0.60, (("text",), ("token", "why", "guide"))),
    ),
    low=(
        (0.27, 1, (("configure", "corpus"),)),
        (0.40, 1, (("compression", "distribution", "compare", "merges", "vocabulary", "runs", "sizes"),)),
        (0.33, 1, (("text", "token", "why", "guide"),)),
    ),
    small=(
        (0.38, 1, (("configure", "corpus"),)),
        (
            0.62,
            1,
            (
                (
                    *("compression", "distribution", "compare", "merges", "vocabulary", "runs", "sizes"),
                    *("text", "token", "why", "guide"),
                ),
            ),
        ),
    ),
    closed=("guide",),
)
_DETAILS = ("text", "vocabulary", "token", "merges", "why", "sizes", "guide")
_COMPARE = Workspace(
    "layout_compare",
    large=(
        (0.30, 0.50, (("runs",), ("corpus", "configure"))),
        (0.70, 0.60, (("compare", "compression", "distribution"), _DETAILS)),
    ),
    low=(
        (0.34, 1, (("runs", "corpus", "configure"),)),
        (0.66, 1, (("compare", "compression", "distribution", *_DETAILS),)),
    ),
    small=(
        (0.38, 1, (("runs", "corpus", "configure"),)),
        (0.62, 1, (("compare", "compression", "distribution", *_DETAILS),)),
    ),
    closed=("guide",),
)
_CURVES = ("compression", "distribution", "compare", "runs", "sizes")
_LEARN = Workspace(
    "layout_learn",
    large=(
        (0.28, 1, (("guide",),)),
        (0.32, 0.45, (("corpus", "configure"), ("merges", *_CURVES))),
        (0.40, 0.55, (("text",), ("vocabulary", "token", "why"))),
    ),
    low=(
        (0.30, 1, (("guide",),)),
        (0.33, 1, (("corpus", "configure", "merges", *_CURVES),)),
        (0.37, 1, (("text", "vocabulary", "token", "why"),)),
    ),
    small=(
        (0.42, 1, (("guide", "corpus", "configure"),)),
        (0.58, 1, (("text", "merges", "vocabulary", "token", "why", *_CURVES),)),
    ),
)
TRAIN = "train"
#: The workspaces by name; their order is part of a stored layout.
WORKSPACES = {TRAIN: _TRAIN, "compare": _COMPARE, "learn": _LEARN}
