"""The curves of opened tokenizers, on the text that Runs is measured on, and the texts beside them."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.base.wording import size_text
from tokstudio.core.comparison.alignment import TextTokens
from tokstudio.gui.panes.compression.curves import RATIO, View, has_other_corpus, size_in_picture
from tokstudio.gui.plot.content import Curve
from tokstudio.gui.plot.curve_plot import CurvePlot
from tokstudio.gui.session.held_out import TextMeasurer
from tokstudio.gui.state.run import StudioRun

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
        found = self._on_text.found(run)
        if run.no_playhead is not None:
            why = "only all merges together are known" if len(run) else "this tokenizer has no merges"
            return f"No curve: {why}. No playhead either: {run.no_playhead}."
        if not len(run):
            reason = "No curve: this tokenizer has no merges."
        elif found is None:
            reason = f"Bytes per token are being measured on {self._name}."
        else:
            reason = f"No curve. {found.no_curve if isinstance(found, TextTokens) else found}"
        return f"{reason} The playhead still works."

    @property
    def measured_on(self) -> str:
        """The text that they are measured on, with its size."""
        text = self._on_text.text
        return "" if text is None else f"measured on {text.name}, {size_text(text.bytes // text.corpus.weight_scale)}"

    @property
    def _name(self) -> str:
        return self._on_text.text.name if self._on_text.text is not None else "no text"

    def _ratios(self, run: StudioRun) -> NDArray[np.float64]:
        """Bytes per token after 0, 1, ... n merges; [] where they are not known."""
        found = self._on_text.found(run)
        return found.curve if isinstance(found, TextTokens) else np.zeros(0)
