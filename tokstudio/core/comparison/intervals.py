"""Intervals of figures by the bootstrap: the lines of the texts are drawn again and again, with replacement.

Texts with as many lines have the same draws, so that lines which correspond stay together (Efron and Tibshirani 1993).
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from tokstudio.core.analysis.baselines import AnyTokenizer
from tokstudio.core.analysis.document_encoder import DocumentEncoder, document_groups
from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import first_few, percent_text, several
from tokstudio.core.comparison.alignment import lines_work
from tokstudio.core.comparison.figures import gini, without_lines_of
from tokstudio.core.comparison.texts import ComparedText
from tokstudio.core.tokenizer.documents import without_marks

if TYPE_CHECKING:
    from numpy.typing import NDArray

INTERVALS = ("bytes_per_token", "tokens_per_line", "premium", "gini")  # the figures that have intervals
LEAST_LINES = 10
# Why rows below the texts have none.
NOT_DRAWN = "All texts together have no interval: which texts they are is chosen, not drawn."
OF_GREATEST = "The worst premium has no interval: the greatest of several numbers is too great in most draws."
PIECE = 1 << 19  # lines to draw at once
COLUMNS = 1 << 24  # lines of all texts and tokenizers to hold at once
_MOST_SUMS = 1 << 27
_NAMED = 6
_PHASE = "drawing lines"

Counts: TypeAlias = "NDArray[np.int64]"


@dataclass(frozen=True)
class Resampling:
    """How intervals are made: a percentile interval of so many resamples, drawn by NumPy's PCG64 from a seed.

    Raises:
        ConfigError: The level is not between 0 and 1, there are not 100 to 100,000 resamples, or the seed is negative.
    """

    level: float = 0.95
    resamples: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.level < 1:
            raise ConfigError(f"The level of an interval must be between 0 and 1, such as 0.95, not {self.level}.")
        if not 100 <= self.resamples <= 100_000:
            raise ConfigError(f"An interval needs 100 to 100,000 resamples, not {self.resamples:,}.")
        if self.seed < 0:
            raise ConfigError(f"The seed of an interval must not be negative: {self.seed}.")

    def __str__(self) -> str:
        level = percent_text(self.level, 0 if float(self.level * 100).is_integer() else 1)
        return f"{level} intervals by the bootstrap over lines, {self.resamples:,} resamples, seed {self.seed}"


def line_ends_work(text: ComparedText) -> Work[Counts]:
    """int64 [lines], where each line of a text ends, after its line feed."""
    if text.is_lines:
        return np.asarray(text.source.ends, np.int64)
    lines = yield from lines_work(text.source)
    return np.append(lines[1:, 0], [len(text.source.data)][: len(lines)])


def line_counts_work(tokenizer: AnyTokenizer, text: ComparedText) -> Work[Counts]:
    """int64 [lines], the tokens that end in each line when the documents of a text are encoded whole.

    So their sum is that of the text. Raises as `counts_work`.
    """
    source, encoder = text.source, DocumentEncoder(tokenizer, recognise=False)
    line_ends = yield from line_ends_work(text)
    counts = np.zeros(len(line_ends), np.int64)
    for first, last, start, stop in document_groups(source):
        data, ends = np.array(source.data[start:stop]), (source.ends[first:last] - start).astype(np.int64)
        if text.is_lines:
            _, counts[first:last] = without_marks((yield from encoder.ids_work(data, ends)))
            continue
        _, lines, tokens = yield from encoder.lines_work(data, ends, of_last_bytes=True)
        begins = np.searchsorted(line_ends, start + np.append(np.zeros(1, np.int64), ends[:-1]), "right")
        firsts, lasts = (np.repeat(each, tokens) for each in (begins, np.searchsorted(line_ends, start + ends)))
        numbers = np.clip(firsts + lines, firsts, np.maximum(firsts, lasts))
        counts += np.bincount(numbers, minlength=len(counts))
        yield Progress("encoding", stop, len(source.data))
    return counts


def sums_work(values: NDArray[np.float64], resampling: Resampling) -> Work[NDArray[np.float64]]:
    """float64 [resamples, columns], the sums of lines drawn with replacement, as many as there are.

    `values` is float64 [lines, columns] with whole numbers, so that the sums are exact in any order.
    """
    lines, number = len(values), resampling.resamples
    draw, sums = np.random.Generator(np.random.PCG64(resampling.seed)), np.empty((number, values.shape[1]))
    step = max(1, PIECE // lines)
    for first in range(0, number, step):
        some = min(step, number - first)
        drawn = draw.integers(0, lines, (some, lines), np.int64) + lines * np.arange(some)[:, np.newaxis]
        times = np.bincount(drawn.ravel(), minlength=some * lines).reshape(some, lines)
        sums[first : first + some] = times.astype(np.float64) @ values
        yield Progress(_PHASE, first, number)
    return sums


def intervals_work(
    name: str,
    texts: Sequence[ComparedText],
    counts: Mapping[tuple[int, int], Counts],
    columns: int,
    base: int,
    resampling: Resampling,
) -> Work[NDArray[np.float64]]:
    """The lower and the upper end of each interval; NaN where there are too few lines, or a resample has no value.

    Args:
        name: One of `INTERVALS`.
        texts: The texts.
        counts: Of `line_counts_work`, by the numbers of text and tokenizer.
        columns: How many tokenizers there are.
        base: The text that premiums relate to, by number.
        resampling: How they are made.

    Returns:
        float64 [texts, tokenizers, 2], for "gini" float64 [tokenizers, 2].
    """
    chosen = {key: each for key, each in counts.items() if len(each) >= LEAST_LINES}
    alone = name == "bytes_per_token"
    if (len(chosen) + alone * len(texts)) * resampling.resamples > _MOST_SUMS:
        raise ConfigError("That many resamples of so many texts and tokenizers do not fit into the memory: draw fewer.")
    if alone:  # the column -1 is of bytes
        for text in {text for text, _ in chosen}:
            ends = yield from line_ends_work(texts[text])
            chosen[text, -1] = np.diff(ends, prepend=0)
    sums = yield from _sums_of_each_work(chosen, resampling)
    missing = without_lines_of(texts, base)
    results = np.full((len(texts), columns, 2), np.nan)
    for (text, column), over in sums.items():
        with np.errstate(divide="ignore", invalid="ignore"):
            if alone and column >= 0:
                results[text, column] = _ends(np.where(over > 0, sums[text, -1] / over, np.nan), resampling)
            elif name == "tokens_per_line":
                results[text, column] = _ends(over / len(chosen[text, column]), resampling)
            elif name == "premium" and text not in missing and (base, column) in sums:
                under = sums[base, column]
                values = np.where((over > 0) & (under > 0), over / under, np.nan)
                results[text, column] = _ends(values, resampling)
        yield Progress(_PHASE)
    if name != "gini":
        return results
    of_columns = np.full((columns, 2), np.nan)
    for column in range(columns):
        keys = [(text, column) for text in range(len(texts))]
        if texts and not missing and all(key in sums for key in keys):
            of_lines = np.stack([sums[key] / len(chosen[key]) for key in keys], axis=1)
            of_columns[column] = _ends(np.array([gini(row) for row in of_lines]), resampling)
        yield Progress(_PHASE)
    return of_columns


def _sums_of_each_work(
    counts: Mapping[tuple[int, int], Counts], resampling: Resampling
) -> Work[dict[tuple[int, int], NDArray[np.float64]]]:
    """The sums of each text and tokenizer; those with as many lines have the same draws."""
    by_lines = defaultdict[int, list[tuple[int, int]]](list)
    for key, each in counts.items():
        by_lines[len(each)].append(key)
    sums: dict[tuple[int, int], NDArray[np.float64]] = {}
    for lines, keys in by_lines.items():
        step = max(1, COLUMNS // lines)
        for first in range(0, len(keys), step):
            some = keys[first : first + step]
            values = np.stack([counts[key] for key in some], axis=1).astype(np.float64)
            of_some = yield from sums_work(values, resampling)
            sums.update(zip(some, np.ascontiguousarray(of_some.T), strict=True))
    return sums


def _ends(values: NDArray[np.float64], resampling: Resampling) -> NDArray[np.float64]:
    """The percentiles between which the share `level` of the values is; NaN where one is missing."""
    outside = (1 - resampling.level) / 2
    return np.quantile(values, [outside, 1 - outside])


def few_lines_note(texts: Sequence[ComparedText]) -> str:
    """Which texts have no interval because they have too few lines, as a sentence; "" for none."""
    few = [f"{text.name} has {several(text.lines, 'line')}" for text in texts if text.lines < LEAST_LINES]
    named = first_few(few, _NAMED, str)
    return f"No interval where a text has fewer than {LEAST_LINES} lines: {named}." if few else ""
