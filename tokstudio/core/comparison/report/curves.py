"""Curves of bytes per token over the size of the vocabulary, as an SVG that stands in a page."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.base.records import dataclass
from tokstudio.core.comparison.report.markup import CURVES, Markup, escaped, tag

_WIDTH, _HEIGHT = 900, 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 230, 16, 46
_POINTS = 240
_LABEL = 15  # pixels between two labels
_LONGEST_NAME = 26
_STEPS = (1, 2, 5)


@dataclass(frozen=True, eq=False)
class SizeCurve:
    """A tokenizer's bytes per token at each size of its vocabulary; one point where only its whole size is known."""

    name: str
    sizes: NDArray[np.float64]  # [n], ascending, tokens of the vocabulary
    values: NDArray[np.float64]  # [n]


@dataclass(frozen=True)
class _Axes:
    """The ranges that the drawing shows; sizes are on a logarithmic axis."""

    least: float
    most: float
    highest: float

    def x(self, size: float) -> float:
        share = math.log(size / self.least) / math.log(self.most / self.least)
        return _LEFT + share * (_WIDTH - _LEFT - _RIGHT)

    def y(self, value: float) -> float:
        return _HEIGHT - _BOTTOM - value / self.highest * (_HEIGHT - _TOP - _BOTTOM)


def drawing(curves: Sequence[SizeCurve]) -> Markup:
    """The curves with axes and a label at each end; different by colour and by dashes."""
    least = min(float(curve.sizes[0]) for curve in curves)
    most = max(float(curve.sizes[-1]) for curve in curves)
    step = _nice_step(max(float(curve.values.max()) for curve in curves) / 5)
    highest = step * math.ceil(max(float(curve.values.max()) for curve in curves) / step)
    axes = _Axes(least, max(most, least * 2), highest)
    description = "; ".join(
        f"{curve.name}: {curve.values[-1]:.2f} at {curve.sizes[-1]:,.0f} tokens" for curve in curves
    )
    return tag(
        "svg",
        *_grid(axes, step),
        *_lines(curves, axes),
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        xmlns="http://www.w3.org/2000/svg",
        role="img",
        aria_label=f"Bytes per token by size of the vocabulary. {description}.",
    )


def _grid(axes: _Axes, step: float) -> Iterator[Markup]:
    right, bottom = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
    decimals = max(0, -math.floor(math.log10(step)))
    for number in range(round(axes.highest / step) + 1):
        y = axes.y(number * step)
        yield tag("line", x1=f"{_LEFT}", x2=f"{right}", y1=f"{y:.1f}", y2=f"{y:.1f}", class_="grid")
        yield _text(_LEFT - 8, y + 4, f"{number * step:.{decimals}f}", "end")
    for size in _sizes_of_axes(axes):
        x = axes.x(size)
        yield tag("line", x1=f"{x:.1f}", x2=f"{x:.1f}", y1=f"{_TOP}", y2=f"{bottom}", class_="grid")
        yield _text(x, bottom + 18, f"{size:,}", "middle")
    yield _text((_LEFT + right) / 2, _HEIGHT - 8, "Tokens in the vocabulary", "middle")
    yield tag(
        "text",
        "Bytes per token",
        transform=f"translate(13 {(_TOP + bottom) / 2:.0f}) rotate(-90)",
        text_anchor="middle",
    )


def _lines(curves: Sequence[SizeCurve], axes: _Axes) -> Iterator[Markup]:
    heights = _apart([axes.y(float(curve.values[-1])) for curve in curves])
    for number, (curve, height) in enumerate(zip(curves, heights, strict=True)):
        x, y = axes.x(float(curve.sizes[-1])), axes.y(float(curve.values[-1]))
        colour = number % CURVES
        if len(curve.sizes) > 1:
            points = " ".join(
                f"{axes.x(size):.1f},{axes.y(value):.1f}" for size, value in zip(*_sampled(curve), strict=True)
            )
            yield tag("polyline", points=points, class_=f"curve c{colour}")
        yield tag("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r="3.5", class_=f"f{colour}")
        label = _WIDTH - _RIGHT + 12
        yield tag(
            "path", d=f"M{x + 5:.1f} {y:.1f} L{label - 12} {height:.1f} L{label - 4} {height:.1f}", class_="curve grid"
        )
        name = curve.name if len(curve.name) <= _LONGEST_NAME else f"{curve.name[:_LONGEST_NAME]}…"
        isolated = Markup(f"\u2068{escaped(name)}\u2069 {float(curve.values[-1]):.2f}")
        yield _text(label, height + 4, isolated, "start", class_="label")


def _text(x: float, y: float, text: str, anchor: str, **attributes: str) -> Markup:
    return tag("text", text, x=f"{x:.1f}", y=f"{y:.1f}", text_anchor=anchor, **attributes)


def _sampled(curve: SizeCurve) -> tuple[list[float], list[float]]:
    """At most `_POINTS` points at about equal distances on the logarithmic axis."""
    sizes: list[float] = curve.sizes.tolist()
    wanted = (sizes[0] * (sizes[-1] / sizes[0]) ** (number / (_POINTS - 1)) for number in range(_POINTS))
    chosen = sorted({min(bisect_left(sizes, size), len(sizes) - 1) for size in wanted})
    return [sizes[place] for place in chosen], [float(curve.values[place]) for place in chosen]


def _apart(heights: Sequence[float]) -> list[float]:
    """Heights near those given, of which no two are nearer to each other than a label is high."""
    order = sorted(range(len(heights)), key=heights.__getitem__)
    placed, last = [0.0] * len(heights), -math.inf
    for number in order:
        placed[number] = last = max(heights[number], last + _LABEL, _TOP + 4)
    excess = max(0.0, last - (_HEIGHT - 8))
    return [height - excess for height in placed]


def _nice_step(size: float) -> float:
    """The least of 1, 2, 5, 10 and so on, and of their tenths, that is at least `size`."""
    power = 10.0 ** math.floor(math.log10(size))
    return next((step * power for step in _STEPS if step * power >= size * (1 - 1e-9)), 10 * power)


def _sizes_of_axes(axes: _Axes) -> list[int]:
    """Sizes to write at the axis: at most about eight."""
    powers = range(math.floor(math.log10(axes.least)), math.ceil(math.log10(axes.most)) + 1)
    steps = _STEPS if len(powers) <= 4 else (1,)
    sizes = [step * 10**power for power in powers for step in steps]
    return [size for size in sizes if axes.least <= size <= axes.most]
