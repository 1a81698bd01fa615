"""The curves of a run for the plot, and the texts beside them."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import percent_text, several, several_whole, size_text, whole_text
from tokstudio.core.comparison.alignment import TextTokens
from tokstudio.core.comparison.sizes import PERCENTS, merges_for
from tokstudio.core.comparison.table import TRAINED
from tokstudio.gui.plot.content import PART, Curve
from tokstudio.gui.plot.curve_plot import CurvePlot
from tokstudio.gui.plot.labels import Mark
from tokstudio.gui.session.measuring.measurers import ChosenText, TextMeasurer, is_same_text, measured_text
from tokstudio.gui.state.run import StudioRun

if TYPE_CHECKING:
    from numpy.typing import NDArray

Points: TypeAlias = "tuple[NDArray[np.float64], NDArray[np.float64]]"

_MEAN_OVER = 10  # a tenth of the merges so far: smooth, without merging the first merges
_TAIL = 1000  # the last merges, which show whether more of them pay off
_MEGABYTE = 1_000_000
_SHORT_IDS = 1 << 16  # tokens with ids of two bytes


@dataclass(frozen=True)
class View:
    """A kind of curve."""

    menu: str  # the text in the menu
    axis: str  # the unit after a value
    caption: str  # the text above the plot
    log: bool = False  # whether the scales are logarithmic at first
    word: str = ""  # the word of the glossary that its name is


RATIO = View("Bytes per token", "bytes per token", "bytes per token over merges", word="bytes-per-token")
TOKENS = View("Tokens in corpus", "tokens", "tokens in the corpus over merges")
# Linear scales would show counts and savings only in a corner.
COUNT = View("Count of chosen pair", "times", "count of the pair over merges", log=True, word="count")
_SAVED = "bytes saved per MB by a merge, mean over the last tenth of them"
SAVED = View("Saved by a merge", "bytes per MB", _SAVED, log=True)
VIEWS = (RATIO, TOKENS, COUNT, SAVED)


def size_in_picture(run: StudioRun) -> str:
    """What follows the name of a run in a picture."""
    return run.sized_name().removeprefix(run.name)


def curve(run: StudioRun, view: View) -> Points:
    """Merges and values for the training text: two float64 arrays."""
    if view is RATIO:
        return run.curve()
    if view is COUNT:
        # No pair was chosen before the first merge.
        return np.arange(1, len(run) + 1, dtype=np.float64), run.log.count / run.weight_scale
    tokens = np.concatenate([np.array([run.log.tokens_before], np.int64), run.log.tokens_after])
    places, values = _points(run, tokens, run.corpus_bytes, view)
    return places, values / run.weight_scale if view is TOKENS else values


def has_held_out_curve(run: StudioRun, view: View) -> bool:
    """Whether there is a curve of the held-out text."""
    return run.held_out.tokens is not None and view is not COUNT and bool(run.held_out.tokens[0])


def held_out_curve(run: StudioRun, view: View) -> Points | None:
    """Merges and values for the held-out text; None if they are not known or there is nothing to draw."""
    tokens = run.held_out.tokens
    if tokens is None or not has_held_out_curve(run, view):
        return None
    return _points(run, tokens, run.held_out.bytes, view)


def has_other_corpus(run: StudioRun, active: StudioRun | None, measured_on: ChosenText | None) -> bool:
    """Whether the curve of a run is of other texts or weights than that of the active one.

    Curves of opened tokenizers are of the text `measured_on`. The division into documents may differ. Where another
    share is held out, other text is left.
    """
    runs = run, run if active is None else active
    if _held_out(runs[0]) != _held_out(runs[1]):
        return True
    corpora = [one.corpus if one.has_counts else measured_on and measured_on.corpus for one in runs]
    corpora_known = [each for each in corpora if each is not None]
    if len(corpora_known) < 2 or corpora_known[0].multipliers != corpora_known[1].multipliers:
        return True
    one, other = (each.sources for each in corpora_known)
    return len(one) != len(other) or not all(map(is_same_text, one, other))


def _held_out(run: StudioRun) -> float:
    return run.config.held_out if run.config is not None else 0.0


def caption(view: View, run: StudioRun | None, marks: Sequence[Mark]) -> str:
    """The text above the plot, which explains the first of `marks`; its last parts are left out for want of room."""
    if view is not RATIO or run is None or not run.has_counts or not len(run):
        return view.caption
    parts = f"{TRAINED} on the training text", f"{marks[0].text}: of the value at the end" if marks else ""
    return PART.join(filter(None, (view.caption, *parts)))


def size_marks(run: StudioRun) -> tuple[Mark, ...]:
    """The points of a run that has ended where it reaches shares of the compression at its end."""
    text = measured_text(run) if run.ended is not None else None
    if text is None or len(text.tokens) < 2:
        return ()
    what, sizes = "held-out text" if text.held_out else "training text", run.vocabulary_sizes
    # Where several shares are reached at once, the largest is marked.
    reached = {merges_for(text.tokens, percent): percent for percent in PERCENTS}
    return tuple(
        Mark(
            float(merges),
            text.bytes / int(text.tokens[merges]),
            percent_text(percent / 100),
            f"{percent} % of the compression at the end ({what}): {several(merges, 'merge')}, "
            f"vocabulary {sizes[merges]:,}",
        )
        for merges, percent in reached.items()
    )


def start_marks(run: StudioRun) -> tuple[Mark, ...]:
    """The point where training went on from a tokenizer, if it did."""
    if not run.before or len(run) < run.before:
        return ()
    start = f"Training started here, from a tokenizer of {several(run.before, 'merge')}"
    text = f"{start}. Their counts are those of this corpus"
    return (Mark(float(run.before), run.bytes_per_token(run.before), "start", text),)


def playhead_text(run: StudioRun, merges: int, view: View) -> str:
    """The text at the playhead."""
    place = f"merge {merges:,}" if merges else "no merges"
    if view is COUNT:
        return f"{place}   {whole_text(int(run.log.count[merges - 1]), run.weight_scale)} times" if merges else place
    held_out, beside = run.held_out.tokens, ""
    if view is SAVED:
        if not merges:
            return place
        if held_out is not None:
            beside = f" · held-out {_few(_saved_by(run, merges, held_out=True))}"
        return f"{place}   {_few(_saved_by(run, merges))} bytes per MB{beside}"
    if view is TOKENS:
        beside = "" if held_out is None else f" · held-out {int(held_out[merges]):,}"
        return f"{place}   {several_whole(run.log.tokens_at(merges), run.weight_scale, 'token')}{beside}"
    ratio = run.held_out_bytes_per_token(merges) if held_out is not None else None
    beside = "" if ratio is None else f" · held-out {ratio:,.2f}"
    return f"{place}   {TRAINED if merges else ''}{run.bytes_per_token(merges):,.2f} bytes per token{beside}"


def remark(run: StudioRun, merges: int, view: View) -> str:
    """The text below the plot: whether the last merges paid off, and why there is no held-out curve; or ""."""
    missing = _why_no_held_out(run) if view is not COUNT else ""
    last = min(_TAIL, merges)
    if view is not SAVED or not last:
        return missing
    several = f"{'All' if last == merges else 'The last'} {last:,} merges" if last > 1 else "The first merge"
    share, held_out = _share_saved(run, merges - last, merges), run.held_out.tokens is not None
    if held_out:
        hint, other = "", _share_saved(run, merges - last, merges, held_out=True)
        text = f"{several} saved {other} of the held-out tokens, {share} of those trained on"
    else:
        hint = missing or "Hold out a share to see this for other text."
        text = f"{several} saved {share} of the tokens"
    now = (
        f"{text}. In 1 MB of text, a merge now saves about {_few(_saved_by(run, merges, held_out=held_out))} bytes "
        f"of ids, at {id_bytes(run, merges)} bytes per id."
    )
    return " ".join(filter(None, (now, hint, _cost_of_long_ids(run, merges))))


def saved_by_each(tokens: NDArray[np.int64], size: int) -> NDArray[np.float64]:
    """The tokens that each merge saves per megabyte of text, averaged over the last tenth of the merges so far.

    `tokens` is int64 [n + 1], the tokens of the text after 0, 1, ... n merges, and `size` its bytes; float64 [n].
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


def _tokens_at(run: StudioRun, merges: int, held_out: bool) -> int:
    held_out_tokens = run.held_out.tokens if held_out else None
    return run.log.tokens_at(merges) if held_out_tokens is None else int(held_out_tokens[merges])


def _saved_by(run: StudioRun, merges: int, *, held_out: bool = False) -> float:
    """The bytes of ids that the last merge saves per megabyte of text: the value of the curve there."""
    over, size = max(merges // _MEAN_OVER, 1), run.held_out.bytes if held_out else run.corpus_bytes
    saved = _tokens_at(run, merges - over, held_out) - _tokens_at(run, merges, held_out)
    return id_bytes(run, merges) * (saved * (_MEGABYTE / max(size, 1)) / over)


def _why_no_held_out(run: StudioRun) -> str:
    if run.config is None or not run.config.held_out or run.held_out.tokens is not None:
        return ""
    if run.held_out.problem:
        return f"The held-out text was not measured: {run.held_out.problem}"
    if run.corpus_problem:
        return f"The held-out text is not drawn: {run.corpus_problem}."
    return "" if run.ended is None else "The held-out text is being measured."


def id_bytes(run: StudioRun, merges: int) -> int:
    """The bytes of an id in a file of ids, after a number of merges."""
    return 2 if merges <= _last_short(run) else 4


def _last_short(run: StudioRun) -> int:
    """The last merge after which ids have two bytes; below 0 if they never do."""
    return _SHORT_IDS - run.unmerged


def _cost_of_long_ids(run: StudioRun, merges: int) -> str:
    """The size of all ids of a megabyte after they became longer, compared with before; or ""."""
    last = _last_short(run)
    if not 0 <= last < merges:
        return ""
    held_out = run.held_out.tokens is not None
    size = max(run.held_out.bytes if held_out else run.corpus_bytes, 1)
    before, here = (width * _tokens_at(run, at, held_out) * _MEGABYTE / size for at, width in ((last, 2), (merges, 4)))
    return (
        f"Beyond {_SHORT_IDS:,} tokens, each id takes 4 bytes instead of 2: "
        f"the ids of 1 MB take {here:,.0f} bytes, not {before:,.0f} as before."
    )


def _share_saved(run: StudioRun, first: int, last: int, *, held_out: bool = False) -> str:
    before, after = (_tokens_at(run, merges, held_out) for merges in (first, last))
    share = (before - after) / before if before else 0.0
    decimals = 1 if share >= 0.0995 else 2 if share >= 0.00095 else 3
    return percent_text(share, decimals)


def _few(value: float) -> str:
    """Formats about three digits."""
    if value >= 99.95:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"


# --- The curves of opened tokenizers, on the text that Runs is measured on, and the texts beside them -----------------

_ASKER = "curves"


class OpenedCurves:
    """Has the opened tokenizers that are shown measured, and draws their bytes per token over their merges."""

    def __init__(self, plot: CurvePlot, on_text: TextMeasurer) -> None:
        self._plot, self._on_text = plot, on_text
        self._drawn: dict[int, tuple[object, ...]] = {}

    def draw(self, shown: Sequence[StudioRun], active: StudioRun | None) -> list[StudioRun]:
        """Draws the curves that have changed and removes others; returns the tokenizers with curves."""
        self._on_text.want(shown, _ASKER)
        before, self._drawn = self._drawn, {}
        drawn = [run for run in shown if self.has_curve(run)]
        for run in drawn:
            ratios, is_active = self._ratios(run), run is active
            other = has_other_corpus(run, active, self._on_text.text)
            state = self._drawn[run.key] = (run.identity, self._on_text.found(run), run.name, is_active, other)
            if before.get(run.key) != state:
                places = np.arange(len(ratios), dtype=np.float64)
                role, size = "active" if is_active else "other", size_in_picture(run)
                curve = Curve(run.name, role, places, ratios, run.hue, size=size, other_corpus=other)
                self._plot.set_curve(run.key, curve)
        for key in before.keys() - self._drawn.keys():
            self._plot.remove_curve(key)
        return drawn

    def leave(self) -> None:
        """Has nothing measured while the plot is hidden."""
        self._on_text.want((), _ASKER)

    def has_curve(self, run: StudioRun) -> bool:
        """Whether it is an opened tokenizer that is measured, and has merges."""
        return not run.has_counts and len(self._ratios(run)) > 1

    def playhead_text(self, run: StudioRun, merges: int, view: View) -> str:
        """The text at the playhead."""
        place = f"merge {merges:,}" if merges else "no merges"
        return f"{place}   {self._ratios(run)[merges]:,.2f} bytes per token" if view is RATIO else place

    def remark(self, run: StudioRun, view: View) -> str:
        """The text below the plot while a tokenizer that was not trained here is active."""
        if view is not RATIO:
            return f"Only bytes per token are drawn. {run.why_no_counts()}"
        if run.was_changed:
            return f"This tokenizer is measured on {self._name}: {run.how_made}."
        return f"Opened tokenizers are measured on {self._name}."

    def why_no_curve(self, run: StudioRun) -> str:
        """Why an opened tokenizer has no curve, or not yet."""
        measured = self._on_text.found(run)
        if run.no_playhead is not None:
            why = "only all merges together are known" if len(run) else "this tokenizer has no merges"
            return f"No curve: {why}. No playhead either: {run.no_playhead}."
        if not len(run):
            reason = "No curve: this tokenizer has no merges."
        elif measured is None:
            reason = f"Bytes per token are being measured on {self._name}."
        else:
            reason = f"No curve. {measured.no_curve if isinstance(measured, TextTokens) else measured}"
        return f"{reason} The playhead still works."

    @property
    def measured_on(self) -> str:
        """The text that they are measured on, with its size."""
        text = self._on_text.text
        return "" if text is None else f"measured on {text.title}, {size_text(text.bytes // text.corpus.weight_scale)}"

    @property
    def _name(self) -> str:
        return self._on_text.text.name if self._on_text.text is not None else "no text"

    def _ratios(self, run: StudioRun) -> NDArray[np.float64]:
        """Bytes per token after 0, 1, ... n merges; [] where they are not known."""
        measured = self._on_text.found(run)
        return measured.curve if isinstance(measured, TextTokens) else np.zeros(0)
