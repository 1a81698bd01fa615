"""The curves of the sources of the active run; by parity-aware BPE, those of its languages."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
from PySide6.QtCore import QSignalBlocker
from PySide6.QtGui import QAction

from tokstudio.core.training.curves import SourceCurves
from tokstudio.gui.panes.compression.legend import LegendEntry
from tokstudio.gui.plot.content import Curve
from tokstudio.gui.plot.curve_plot import CurvePlot
from tokstudio.gui.session.held_out import SourceMeasurer, has_sources
from tokstudio.gui.state.run import StudioRun

_ASKER = "compression"
_KEY = "source"  # part of the key of a curve
_TIPS = {
    False: "Draw the bytes per token of each source of the active run.",
    True: "Draw the bytes per token of each language of the active run, of its parallel text if it has one.",
}


class SourceLines:
    """Has the sources of the active run measured, and draws their bytes per token over its merges.

    Those of a run by parity-aware BPE are drawn unless the user switches them off, those of others if they are wanted.

    Args:
        plot: Where they are drawn.
        measurer: Measures them.
        action: Switches them on and off.
    """

    def __init__(self, plot: CurvePlot, measurer: SourceMeasurer, action: QAction) -> None:
        self._plot, self._measurer, self._action = plot, measurer, action
        self._wanted = {False: False, True: True}  # by whether languages chose the merges
        self._by_turns = False
        self._known: SourceCurves | str | None = None
        self._drawn: SourceCurves | None = None
        self._names: list[tuple[str, int]] = []  # each name and colour
        action.setCheckable(True)
        action.setToolTip("Choose bytes per token, and a run that was trained here on several sources.")
        action.toggled.connect(self._choose)
        self._name_action()

    @property
    def has_curves(self) -> bool:
        """Whether any are drawn."""
        return self._drawn is not None

    def draw(self, run: StudioRun | None, may_draw: bool) -> None:
        """Draws the curves of a run, if they are wanted and known."""
        self._follow(run)
        wanted = may_draw and self._wanted[self._by_turns] and run is not None and run.run is not None
        shown = run if wanted else None
        self._measurer.want(shown, _ASKER)
        known = None if shown is None else shown.by_source
        if known is self._known:
            return
        for number in range(len(self._names)):
            self._plot.remove_curve((_KEY, number))
        self._known, self._names = known, []
        self._drawn = (known.parallel or known) if isinstance(known, SourceCurves) else None
        if self._drawn is not None and shown is not None:
            self._draw_each(self._drawn, shown.hue)

    def entries(self, merges: int) -> list[LegendEntry]:
        """Their names for the legend, with the values after a number of merges."""
        if self._drawn is None or merges >= len(self._drawn.tokens):
            return []
        values = zip(self._names, self._drawn.bytes_per_token(merges).tolist(), strict=True)
        return [
            LegendEntry((_KEY, number), f"{name} {value:,.2f}", hue, of_source=True)
            for number, ((name, hue), value) in enumerate(values)
        ]

    @property
    def remark(self) -> str:
        """What they are of, if not of the corpus, or why there are none; ""."""
        if isinstance(self._known, str):
            return f"The sources are not drawn: {self._known}"
        of_texts = self._drawn is not None and self._drawn is not self._known
        return "The thin curves are of the parallel texts." if of_texts else ""

    def leave(self) -> None:
        """Has nothing measured."""
        self._measurer.want(None, _ASKER)

    def allow(self, run: StudioRun | None, may_draw: bool) -> None:
        """Enables the action where a run has sources."""
        self._action.setEnabled(may_draw and run is not None and has_sources(run))

    def _draw_each(self, curves: SourceCurves, hue: int) -> None:
        places = np.arange(len(curves.tokens), dtype=np.float64)
        ratios = np.divide(curves.bytes, curves.tokens, out=np.zeros(curves.tokens.shape), where=curves.tokens > 0)
        for number, name in enumerate(curves.names):
            own = hue + 1 + number
            self._plot.set_curve((_KEY, number), Curve(name, "other", places, ratios[:, number], own))
            self._names.append((name, own))

    def _choose(self, wanted: bool) -> None:
        self._wanted[self._by_turns] = wanted

    def _follow(self, run: StudioRun | None) -> None:
        by_turns = run is not None and run.log.chosen is not None
        if by_turns != self._by_turns:
            self._by_turns = by_turns
            self._name_action()

    def _name_action(self) -> None:
        self._action.setText("Curves by Language" if self._by_turns else "Curves by Source")
        self._action.setStatusTip(_TIPS[self._by_turns])
        with QSignalBlocker(self._action):
            self._action.setChecked(self._wanted[self._by_turns])
