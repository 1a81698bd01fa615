"""What the plot can show of a run: the numbers of its curves, and the words beside them. Drawing them is the pane's."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tokstudio.gui.state.run import StudioRun

Points = tuple[NDArray[np.float64], NDArray[np.float64]]

_MEAN_OVER = 10  # a tenth of the merges so far: noise goes, and the first merges stay apart
_TAIL = 1000  # merges by which a person judges whether more of them pay
_MEGABYTE = 1_000_000
_SHORT_IDS = 1 << 16  # tokens whose ids fit into two bytes


@dataclass(frozen=True)
class View:
    """One way to look at a run.

    Attributes:
        menu: Its words on the menu.
        title: In the title.
        axis: The unit, beside a value.
        caption: What stands above the plot.
        log: Whether it is shown by log scales at first.
    """

    menu: str
    title: str
    axis: str
    caption: str
    log: bool = False


RATIO = View("Bytes per token", "Compression · bytes per token", "bytes per token", "bytes per token over merges")
TOKENS = View("Tokens in corpus", "Compression · tokens in corpus", "tokens", "tokens in the corpus over merges")
# Of the counts, and of what a merge saves, only log scales show more than a corner.
COUNT = View(
    "Count of chosen pair", "Compression · count of chosen pair", "times", "count of the pair over merges", log=True
)
SAVED = View(
    "Saved by a merge",
    "Compression · saved by a merge",
    "bytes per MB",
    "bytes saved per MB by a merge, mean over the last tenth of them",
    log=True,
)
VIEWS = (RATIO, TOKENS, COUNT, SAVED)


def curve(run: StudioRun, view: View) -> Points:
    """Merges and values of the text that was trained on: two float64 arrays."""
    if view is RATIO:
        return run.curve()
    if view is COUNT:
        # No pair was chosen before the first merge.
        return np.arange(1, len(run) + 1, dtype=np.float64), run.log.count.astype(np.float64)
    return _points(run, _tokens(run), run.corpus_bytes, view)


def has_held_out_curve(run: StudioRun, view: View) -> bool:
    """Whether there is a curve of the text that was kept out."""
    return run.held_out.tokens is not None and view is not COUNT and bool(run.held_out.tokens[0])


def held_out_curve(run: StudioRun, view: View) -> Points | None:
    """The same of the text that was kept out; None where that is not known, or there is nothing to be drawn."""
    tokens = run.held_out.tokens
    if tokens is None or not has_held_out_curve(run, view):
        return None
    return _points(run, tokens, run.held_out.bytes, view)


def playhead_text(run: StudioRun, merges: int, view: View) -> str:
    """What is to be read at the playhead."""
    place = f"merge {merges:,}" if merges else "no merges"
    if view is COUNT:
        return f"{place}   {int(run.log.count[merges - 1]):,} times" if merges else place
    held_out = run.held_out.tokens
    if view is SAVED:
        if not merges:
            return place
        first, width = merges - mean_over(merges), id_bytes(run, merges)
        saved = _saved_by(run.log.tokens_at(first), run.log.tokens_at(merges), merges, run.corpus_bytes)
        beside = ""
        if held_out is not None:
            other = _saved_by(int(held_out[first]), int(held_out[merges]), merges, run.held_out.bytes)
            beside = f" · held-out {_few(width * other)}"
        return f"{place}   {_few(width * saved)} bytes per MB{beside}"
    if view is TOKENS:
        beside = "" if held_out is None else f" · held-out {int(held_out[merges]):,}"
        return f"{place}   {run.log.tokens_at(merges):,} tokens{beside}"
    ratio = run.held_out_bytes_per_token(merges) if held_out is not None else None
    beside = "" if ratio is None else f" · held-out {ratio:,.2f}"
    return f"{place}   {run.bytes_per_token(merges):,.2f} bytes per token{beside}"


def remark(run: StudioRun, merges: int, view: View) -> str:
    """What is to be said below the plot: whether the last merges paid, and why no held-out text is drawn; or ""."""
    missing = _why_no_held_out(run) if view is not COUNT else ""
    if view is not SAVED:
        return missing
    last = min(_TAIL, merges)
    if not last:
        return missing
    first, size = merges - mean_over(merges), id_bytes(run, merges)
    several = f"{'All' if last == merges else 'The last'} {last:,} merges" if last > 1 else "The first merge"
    share = _share_saved(run.log.tokens_at(merges - last), run.log.tokens_at(merges))
    held_out = run.held_out.tokens
    if held_out is None:
        hint = missing or "Hold out a share to see this for other text."
        told = f"{several} saved {share} of the tokens"
        saved = _saved_by(run.log.tokens_at(first), run.log.tokens_at(merges), merges, run.corpus_bytes)
    else:
        other = _share_saved(int(held_out[merges - last]), int(held_out[merges]))
        hint = ""
        told = f"{several} saved {other} of the held-out tokens, {share} of those trained on"
        saved = _saved_by(int(held_out[first]), int(held_out[merges]), merges, run.held_out.bytes)
    now = f"{told}. In 1 MB of text, a merge now saves about {_few(size * saved)} bytes of ids, at {size} bytes per id."
    return " ".join(filter(None, (now, hint, _cost_of_long_ids(run, merges))))


def saved_by_each(tokens: NDArray[np.int64], size: int) -> NDArray[np.float64]:
    """Tokens that each merge saves in a megabyte of text, as the mean over the tenth of the merges that ends with it.

    Args:
        tokens: int64 [n + 1], tokens of the text after 0, 1, ... n merges.
        size: Bytes of the text.

    Returns:
        float64 [n].
    """
    number = np.arange(1, len(tokens), dtype=np.int64)
    over = np.maximum(number // _MEAN_OVER, 1)
    return (tokens[number - over] - tokens[number]) * (_MEGABYTE / max(size, 1)) / over


def _points(run: StudioRun, tokens: NDArray[np.int64], size: int, view: View) -> Points:
    if view is SAVED:
        number = np.arange(1, len(tokens), dtype=np.float64)
        return number, saved_by_each(tokens, size) * np.where(number > _last_short(run), 4.0, 2.0)
    places = np.arange(len(tokens), dtype=np.float64)
    if view is TOKENS:
        return places, tokens.astype(np.float64)
    return places, np.divide(size, tokens, out=np.zeros(len(tokens)), where=tokens > 0)


def _tokens(run: StudioRun) -> NDArray[np.int64]:
    return np.concatenate([np.array([run.log.tokens_before], np.int64), run.log.tokens_after])


def _saved_by(before: int, after: int, merges: int, size: int) -> float:
    """What `saved_by_each` has for one merge, of the tokens around it."""
    return (before - after) * (_MEGABYTE / max(size, 1)) / mean_over(merges)


def mean_over(merges: int) -> int:
    """Of how many merges, the one with this number the last, the mean is shown."""
    return max(merges // _MEAN_OVER, 1)


def _why_no_held_out(run: StudioRun) -> str:
    if run.config is None or not run.config.held_out or run.held_out.tokens is not None:
        return ""
    if run.held_out.problem:
        return f"The held-out text was not measured: {run.held_out.problem}"
    if run.corpus_problem:
        return f"The held-out text is not drawn: {run.corpus_problem}."
    return "" if run.ended is None else "The held-out text is being measured."


def id_bytes(run: StudioRun, merges: int) -> int:
    """Bytes that an id takes in a file of ids, by the size of the vocabulary after so many merges."""
    return 2 if merges <= _last_short(run) else 4


def _last_short(run: StudioRun) -> int:
    """The last merge after which ids take two bytes; below 0 where they never do."""
    return _SHORT_IDS - (run.vocabulary_size - len(run))


def _cost_of_long_ids(run: StudioRun, merges: int) -> str:
    """What all ids of a megabyte take where they have become longer, beside what they took before; or ""."""
    last = _last_short(run)
    if not 0 <= last < merges:
        return ""
    held_out = run.held_out.tokens
    size = max(run.corpus_bytes if held_out is None else run.held_out.bytes, 1)
    before, here = (
        width * (run.log.tokens_at(at) if held_out is None else int(held_out[at])) * _MEGABYTE / size
        for at, width in ((last, 2), (merges, 4))
    )
    return (
        f"Beyond {_SHORT_IDS:,} tokens, each id takes 4 bytes instead of 2: "
        f"the ids of 1 MB take {here:,.0f} bytes, not {before:,.0f} as before."
    )


def _share_saved(before: int, after: int) -> str:
    share = (before - after) / before if before else 0.0
    decimals = 1 if share >= 0.0995 else 2 if share >= 0.00095 else 3
    return f"{100 * share:.{decimals}f}\u00a0%"


def _few(value: float) -> str:
    """About three figures."""
    if value >= 99.95:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"
