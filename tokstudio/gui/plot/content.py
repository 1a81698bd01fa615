"""What a plot shows: its curves, and how they are placed on axes. `chart` draws it."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
from PySide6.QtGui import QPen

from tokstudio.gui.plot.curve_marks import curve_pen
from tokstudio.gui.plot.scale import FloatArray, to_axis
from tokstudio.gui.style.theme import Palette

#: What follows the name of a curve that is measured on another text than that of the active run.
OTHER_CORPUS = ", other text"

Role = Literal["active", "other", "active held-out", "other held-out"]


@dataclass(frozen=True, eq=False)
class Curve:
    """One curve; its data is not copied.

    Attributes:
        name: Its name in the legend and beside the cross-hair.
        role: `"active"` for the curve of the active run, `"other"` for one to compare with; with the suffix
            `" held-out"` for the held-out text of that run.
        x: float64, ascending.
        y: float64, same length as `x`.
        hue: The number of its colour, for active and other curves alike.
        bars: Whether bars are drawn instead of a line.
        counts: Whether its values are counts, which are told as whole numbers also where weights made fractions.
        size: What follows its name in a picture: the size of the vocabulary, such as " (5,000 tokens)".
        other_corpus: Whether its values are of another corpus than those of the active run.
    """

    name: str
    role: Role
    x: FloatArray
    y: FloatArray
    hue: int = 0
    bars: bool = False
    counts: bool = False
    size: str = ""
    other_corpus: bool = False
    _logarithmic: dict[tuple[bool, bool], tuple[FloatArray, FloatArray]] = field(default_factory=dict, repr=False)

    @property
    def of_active(self) -> bool:
        """Whether it belongs to the active run."""
        return self.role.startswith("active")

    @property
    def mark(self) -> str:
        """What follows its name where it is of another corpus, else ""."""
        return OTHER_CORPUS if self.other_corpus else ""

    @cached_property
    def whole(self) -> bool:
        """Whether its values are whole numbers, judged from about fifty of them."""
        return self.counts or bool((np.mod(self.y[:: max(1, len(self.y) // 50)], 1.0) == 0).all())

    def pen(self, palette: Palette) -> QPen:
        """The pen of the curve."""
        return curve_pen(palette, self.hue, active=self.of_active, dotted=self.role.endswith("held-out"))

    def nearest(self, x: float) -> int:
        """The index of the point with the nearest x."""
        after = min(int(np.searchsorted(self.x, x)), len(self.x) - 1)
        before = max(after - 1, 0)
        return before if abs(self.x[before] - x) <= abs(self.x[after] - x) else after

    def point_at(self, x: float) -> tuple[float, float]:
        """The point with the nearest x."""
        index = self.nearest(x)
        return float(self.x[index]), float(self.y[index])

    def on_axes(self, log: tuple[bool, bool]) -> tuple[FloatArray, FloatArray]:
        """Its points in axis coordinates; points without a logarithm are omitted."""
        if log == (False, False):
            return self.x, self.y
        if log not in self._logarithmic:
            x, y = to_axis(self.x, log[0]), to_axis(self.y, log[1])
            kept = np.isfinite(x) & np.isfinite(y)
            self._logarithmic[log] = x[kept], y[kept]
        return self._logarithmic[log]


@dataclass(frozen=True)
class Content:
    """The content of a plot.

    Attributes:
        curves: The curves by key.
        log: Whether x and y are logarithmic.
        zoom: The shown range of x in axis coordinates; None for all.
        x_label: The unit of x, shown beside the cross-hair and in exported pictures.
        y_label: The unit of y.
        caption: The caption above the plot on screen; axis labels would need more height.
    """

    curves: Mapping[Hashable, Curve] = field(default_factory=dict)
    log: tuple[bool, bool] = (False, False)
    zoom: tuple[float, float] | None = None
    x_label: str = ""
    y_label: str = ""
    caption: str = ""

    def active(self) -> Curve | None:
        """The curve of the active run."""
        return next((curve for curve in self.curves.values() if curve.role == "active" and len(curve.x)), None)
