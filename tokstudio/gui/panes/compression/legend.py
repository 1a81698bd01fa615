"""The names of curves on one line; names that do not fit are in a menu."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from itertools import accumulate

import numpy as np
from PySide6.QtCore import QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import QAction, QFontMetrics, QPixmap
from PySide6.QtWidgets import QSizePolicy, QToolButton, QWidget

from tokstudio.core.base.records import dataclass
from tokstudio.core.comparison.table import TRAINED
from tokstudio.core.guide.glossary import explained
from tokstudio.core.training.curves import SourceCurves
from tokstudio.gui.plot.content import OTHER_CORPUS, Curve, curve_pen, swatch
from tokstudio.gui.plot.curve_plot import CurvePlot
from tokstudio.gui.session.measuring.measurers import SourceMeasurer, has_sources
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.labels import plain
from tokstudio.gui.widgets.layouts import STRETCH, Fitting, row
from tokstudio.gui.widgets.menus import Menu, tool_button

_LONGEST_NAME = 110
_SWATCH = QSize(20, 14)
_TRIES = 4


@dataclass(frozen=True)
class LegendEntry:
    """One curve."""

    key: Hashable  # for `chosen`
    name: str
    hue: int = 0  # the number of its colour
    active: bool = False  # whether it is of the active run
    held_out: bool = False  # whether it is of held-out text
    of_source: bool = False  # whether it is of one source of the active run
    other_corpus: bool = False  # whether its values are of another corpus than those of the active run

    @property
    def text(self) -> str:
        """Its name with what sets it apart."""
        return self.name + (OTHER_CORPUS if self.other_corpus else "")

    @property
    def tip(self) -> str:
        """Its description, or the effect of a click."""
        if self.of_source:
            return f"{self.name} bytes per token of this source at the playhead"
        if self.active:
            return f"{self.name}: {'held-out text of the active run' if self.held_out else 'the active run'}"
        text = ". Its curve is of other text than the active run's: another corpus, weights or held-out share"
        return f"Show {self.name}{text if self.other_corpus else ''}"


class Legend(Fitting, QWidget):
    """Names of curves to click; `chosen` has the key of one that is not active."""

    chosen = Signal(object)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.entries: tuple[LegendEntry, ...] = ()
        self.buttons: list[QToolButton] = []
        self._fitting = self._outdated = False
        self.menu = Menu(self)
        self.menu.triggered.connect(lambda action: self.chosen.emit(action.data()))
        self.more = tool_button("", menu=self.menu)
        self._row = row(STRETCH, self.more, spacing=0, parent=self)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.setMinimumWidth(0)
        self.setAccessibleName("Curves")
        theme.changed.connect(self._apply_style)
        self._rebuild()

    def set_entries(self, entries: Sequence[LegendEntry]) -> None:
        """Shows these names, in this order of priority."""
        before, self.entries = self.entries, tuple(entries)
        if [replace(entry, name="") for entry in before] != [replace(entry, name="") for entry in entries]:
            self._rebuild()
        elif before != self.entries and self.buttons:
            # The values of a moving playhead.
            for entry, button, action in zip(entries, self.buttons, self.menu.actions(), strict=True):
                self._name(button, entry)
                action.setText(entry.text.replace("&", "&&"))
            self.fit()

    def minimumSizeHint(self) -> QSize:
        return QSize(self.more.sizeHint().width() if len(self.entries) > 1 else 0, self.more.sizeHint().height())

    def _rebuild(self) -> None:
        for button in self.buttons:
            self._row.removeWidget(button)
            button.hide()
            button.deleteLater()
        self.menu.clear()
        # A single curve needs no name.
        shown = self.entries if len(self.entries) > 1 else ()
        self.buttons = [self._button(entry) for entry in shown]
        for place, button in enumerate(self.buttons):
            self._row.insertWidget(place + 1, button)
        for entry in shown:
            action = self.menu.addAction(self._swatch(entry), entry.text.replace("&", "&&"))
            action.setData(entry.key)
        self.updateGeometry()
        self.fit()

    def _apply_style(self) -> None:
        if self.buttons:  # a single curve has none
            for entry, button, action in zip(self.entries, self.buttons, self.menu.actions(), strict=True):
                self._name(button, entry)
                for shown in (button, action):
                    shown.setIcon(self._swatch(entry))
        self.updateGeometry()
        self.fit()

    def _button(self, entry: LegendEntry) -> QToolButton:
        button = QToolButton(toolButtonStyle=Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self._name(button, entry)
        button.setIconSize(_SWATCH)
        button.setIcon(self._swatch(entry))
        button.setProperty("key", entry.key)
        button.clicked.connect(lambda: self.chosen.emit(button.property("key")))
        return button

    def _name(self, button: QToolButton, entry: LegendEntry) -> None:
        name, space, value = entry.name.rpartition(" ") if entry.of_source else (entry.name, "", "")
        # Shorten the name, not the value.
        name = QFontMetrics(self.font()).elidedText(name, Qt.TextElideMode.ElideRight, _LONGEST_NAME)
        other = OTHER_CORPUS if entry.other_corpus else ""
        button.setText(f"{name}{space}{value}{other}".replace("&", "&&"))
        button.setToolTip(plain(explained(entry.tip, "held-out-text" if entry.held_out else "")))
        button.setAccessibleName(entry.tip)

    def fit(self) -> None:
        # Showing and hiding may resize the widget, which must not be handled in the middle of this.
        self._outdated = True
        if self._fitting:
            return
        self._fitting = True
        for _ in range(_TRIES):
            if self._outdated:
                self._outdated = False
                self._show_what_fits(self.buttons)
        self._fitting = False

    def _show_what_fits(self, buttons: list[QToolButton]) -> None:
        room = self.width()
        widths = [button.sizeHint().width() for button in buttons]
        fitting = len(widths)
        if sum(widths) > room:
            room -= self.more.sizeHint().width()
            fitting = sum(end <= room for end in accumulate(widths))
        hidden = len(widths) - fitting
        kind = "curves" if any(entry.held_out or entry.of_source for entry in self.entries) else "runs"
        self.more.setText(f"{hidden} more" if fitting else f"{hidden} {kind}")
        self.more.setVisible(hidden > 0)
        for place, (button, action) in enumerate(zip(buttons, self.menu.actions(), strict=True)):
            action.setVisible(place >= fitting)
            button.setVisible(place < fitting)
            if buttons is not self.buttons:
                return

    def _swatch(self, entry: LegendEntry) -> QPixmap:
        pen = curve_pen(self._theme.palette, entry.hue, active=entry.active, dotted=entry.held_out)
        return swatch(pen, _SWATCH, self.devicePixelRatioF())


# --- The curves of the sources of the active run; by parity-aware BPE, those of its languages -------------------------

_ASKER = "compression"
_KEY = "source"  # part of the key of a curve
_TIPS = {
    False: "Draw the bytes per token of each source of the active run.",
    True: "Draw the bytes per token of each language of the active run, of its parallel text if it has one.",
}


class SourceLines:
    """Has the sources of the active run measured, and draws their bytes per token over its merges.

    Those of a run by parity-aware BPE are drawn unless the user switches them off, those of others if they are wanted.
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
        self._measurer.want(() if shown is None else [shown], _ASKER)
        curves = None if shown is None else shown.by_source
        if curves is self._known:
            return
        for number in range(len(self._names)):
            self._plot.remove_curve((_KEY, number))
        self._known, self._names = curves, []
        self._drawn = (curves.parallel or curves) if isinstance(curves, SourceCurves) else None
        if self._drawn is not None and shown is not None:
            self._draw_each(self._drawn, shown.hue)

    def entries(self, merges: int) -> list[LegendEntry]:
        """Their names for the legend, with the values after a number of merges."""
        if self._drawn is None or merges >= len(self._drawn.tokens):
            return []
        values = zip(self._names, self._drawn.bytes_per_token(merges).tolist(), strict=True)
        signs = [TRAINED if self._drawn.is_trained_on(n, merges) else "" for n in range(len(self._names))]
        return [
            LegendEntry((_KEY, number), f"{name} {sign}{value:,.2f}", hue, of_source=True)
            for number, (((name, hue), value), sign) in enumerate(zip(values, signs, strict=True))
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
        self._measurer.want((), _ASKER)

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
        by_turns = run is not None and len(run.log.languages) > 0
        if by_turns != self._by_turns:
            self._by_turns = by_turns
            self._name_action()

    def _name_action(self) -> None:
        self._action.setText("Curves by Language" if self._by_turns else "Curves by Source")
        self._action.setStatusTip(_TIPS[self._by_turns])
        with QSignalBlocker(self._action):
            self._action.setChecked(self._wanted[self._by_turns])
