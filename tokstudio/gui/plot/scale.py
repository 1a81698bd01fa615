"""The calculations of a plot, without Qt: ticks, number texts, and decimation of long curves."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

FloatArray: TypeAlias = "NDArray[np.float64]"
_FINER = 4  # steps are tried until there are two ticks


def to_axis(values: FloatArray, log: bool) -> FloatArray:
    """Values in axis coordinates: unchanged, or their decimal logarithm (nan if there is none)."""
    if not log:
        return values
    placed = np.full(len(values), np.nan)
    np.log10(values, out=placed, where=values > 0)
    return placed


def nice_step(span: float, count: float) -> float:
    """The smallest of 1, 2, 5, 10, 20, ... (times a power of ten) that divides `span` into at most `count` pieces."""
    rough = span / max(count, 1.0)
    power = 10.0 ** math.floor(math.log10(rough))
    return next(power * factor for factor in (1.0, 2.0, 5.0, 10.0) if power * factor >= rough * (1 - 1e-9))


def tick_values(minimum: float, maximum: float, count: float, log: bool = False, whole: bool = False) -> list[float]:
    """About `count` round ticks between two axis coordinates; with `whole`, only at whole numbers.

    >>> tick_values(0.0, 744.0, 8)
    [0.0, 100.0, 200.0, 300.0, 400.0, 500.0, 600.0, 700.0]
    >>> tick_values(0.0, 2.0, 8, whole=True)
    [0.0, 1.0, 2.0]
    >>> tick_values(4.1, 7.9, 1.5)  # one step of 5.0 would give a single tick
    [5.0, 6.0, 7.0]
    """
    if not (math.isfinite(minimum) and math.isfinite(maximum)) or maximum <= minimum:
        return []
    if log:
        return _logarithmic_ticks(minimum, maximum, count, whole)
    ticks: list[float] = []
    for more in range(_FINER):  # one tick alone would not show the scale
        step = max(nice_step(maximum - minimum, count + more), 1.0 if whole else 0.0)
        first, last = math.ceil(minimum / step - 1e-9), math.floor(maximum / step + 1e-9)
        ticks = [index * step for index in range(first, last + 1)]
        if len(ticks) > 1:
            break
    return ticks


def _logarithmic_ticks(minimum: float, maximum: float, count: float, whole: bool) -> list[float]:
    if maximum > 300:
        return []
    if maximum - minimum < 1:
        # Less than one decade has at most one power of ten, so linear ticks are converted to logarithms.
        values = tick_values(10.0**minimum, 10.0**maximum, count, whole=whole)
        return [math.log10(value) for value in values if value > 0]
    decades = maximum - minimum
    if decades * 3 <= count:
        inside, stride = (1, 2, 5), 1
    else:
        inside, stride = (1,), max(1, math.ceil(decades / max(count, 1.0)))
    powers = range(math.floor(minimum), math.floor(maximum) + 1)
    places = [power + math.log10(factor) for power in powers if power % stride == 0 for factor in inside]
    return [place for place in places if minimum <= place <= maximum]


def tick_texts(values: Sequence[float], whole: bool = False) -> list[str]:
    """Labels of ticks: thousands separators, and the same number of decimals for all, as few as possible.

    Small numbers have a decimal, as in `2.0`, unless they are `whole`.

    >>> tick_texts([1.0, 1.5, 2.0]), tick_texts([0, 25_000]), tick_texts([2, 4], whole=True)
    (['1.0', '1.5', '2.0'], ['0', '25,000'], ['2', '4'])
    """
    decimals = 0
    while decimals < 6 and any(abs(value - round(value, decimals)) > 1e-9 * max(1.0, abs(value)) for value in values):
        decimals += 1
    if decimals == 0 and values and not whole and max(abs(value) for value in values) < 10 and min(values) > 0:
        decimals = 1
    return [f"{value if value else 0.0:,.{decimals}f}" for value in values]


def apart(places: Sequence[float], lengths: Sequence[float]) -> list[int]:
    """Which labels do not overlap one before; their middles ascend.

    >>> apart([10.0, 25.0, 30.0, 50.0], [10.0, 10.0, 10.0, 10.0])
    [0, 1, 3]
    """
    kept: list[int] = []
    for number, (place, length) in enumerate(zip(places, lengths, strict=True)):
        if not kept or place - length / 2 >= places[kept[-1]] + lengths[kept[-1]] / 2:
            kept.append(number)
    return kept


def value_text(value: float, whole: bool) -> str:
    """A value as text: `25,000` with `whole`, else about three significant digits, such as `2.05`."""
    if whole or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.2f}" if abs(value) < 100 else f"{value:.1f}"


def decimate(x: FloatArray, y: FloatArray, columns: int) -> NDArray[np.intp]:
    """Indices of the points that suffice to draw a curve in `columns` columns of equal width.

    Each column keeps its first, last, lowest and highest point, so no peak is lost; on a monotonic curve these are two
    points. `x` is ascending and in axis coordinates (its logarithm on a logarithmic axis).
    """
    if len(x) <= 2 * columns:
        return np.arange(len(x))
    edges = np.linspace(x[0], x[-1], columns + 1)[:-1]
    firsts = np.unique(np.minimum(np.searchsorted(x, edges), len(x) - 1))
    lasts = np.append(firsts[1:], len(x)) - 1
    lowest, highest = np.minimum.reduceat(y, firsts), np.maximum.reduceat(y, firsts)
    ends = y[firsts], y[lasts]
    hidden = np.flatnonzero((lowest < np.minimum(*ends)) | (highest > np.maximum(*ends)))
    peaks: list[int] = []
    for first, last in zip(firsts[hidden].tolist(), lasts[hidden].tolist(), strict=True):
        piece = y[first : last + 1]
        peaks += [first + int(piece.argmin()), first + int(piece.argmax())]
    return np.unique(np.concatenate((firsts, lasts, np.array(peaks, dtype=np.intp))))


def visible(x: FloatArray, y: FloatArray, shown: tuple[float, float], columns: int) -> tuple[FloatArray, FloatArray]:
    """The points to draw for the visible range of x, cut at its ends, as not every picture format can clip."""
    first = max(int(np.searchsorted(x, shown[0])) - 1, 0)
    last = min(int(np.searchsorted(x, shown[1], side="right")) + 1, len(x))
    x, y = x[first:last], y[first:last]
    if len(x) == 0 or x[-1] < shown[0] or x[0] > shown[1]:
        return x[:0], y[:0]
    kept = decimate(x, y, columns)
    places = np.clip(x[kept], *shown)
    heights = y[kept]
    heights[[0, -1]] = np.interp(places[[0, -1]], x, y)
    return places, heights


def range_between(x: FloatArray, y: FloatArray, low: float, high: float) -> tuple[float, float] | None:
    """The least and the greatest y between two x, estimated from some hundred points; None without a curve there."""
    if not len(x) or high < x[0] or low > x[-1]:
        return None
    inner = y[int(np.searchsorted(x, low)) : int(np.searchsorted(x, high, side="right"))]
    part = np.append(inner[:: max(len(inner) // 200, 1)], np.interp((low, high), x, y))
    return float(part.min()), float(part.max())
