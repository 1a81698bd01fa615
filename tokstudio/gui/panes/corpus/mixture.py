"""The mixture of the Corpus pane: the weight and the share of each source or folder."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from functools import partial

from PySide6.QtCore import QSignalBlocker, Qt, QTimer, Signal
from PySide6.QtGui import QAction, QHideEvent, QShowEvent
from PySide6.QtWidgets import QDialog, QWidget

from tokstudio.core.base.progress import Work
from tokstudio.core.base.wording import percent_text, several, size_text
from tokstudio.core.comparison.table import SIGNS, TRAINED
from tokstudio.core.corpus.corpus import LARGEST_WEIGHT, ONCE
from tokstudio.core.corpus.source import Source
from tokstudio.core.corpus.statistics import main_script_work
from tokstudio.core.guide.glossary import explained
from tokstudio.core.training.curves import SourceCurves
from tokstudio.gui.session.common.corpus import CorpusState
from tokstudio.gui.session.common.jobs import LatestJob
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.training_plans import (
    AS_THEY_ARE,
    MixtureEntry,
    by_temperature,
    entries_of,
    shares,
    weight_text,
    with_weight,
)
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.controls import Decimal, JumpSlider, WheelWithFocus
from tokstudio.gui.widgets.fields import SpinField
from tokstudio.gui.widgets.labels import Caption, paragraph_label, plain_label, set_word
from tokstudio.gui.widgets.layouts import STRETCH, column, row
from tokstudio.gui.widgets.menus import Menu, push_button, tool_button
from tokstudio.gui.widgets.pane import Dialog
from tokstudio.gui.widgets.sliced_work import Slices

# --- The dialog of By Temperature: an exponent from 0 to 1, with the shares that it gives in the pane behind ----------

_FIRST = 0.5
_STEP = 0.1
_WIDTH = 360
_WHY = "Shares become proportional to size ^ a: 1 leaves the texts as they are, 0 makes all shares equal."


class TemperatureDialog(Dialog):
    """Asks for the exponent; the weights follow it, and Cancel restores them."""

    def __init__(self, corpus: CorpusState, theme: Theme, parent: QWidget) -> None:
        super().__init__("Weights by Temperature", parent)
        self._corpus, self._before, self._sources = corpus, corpus.weights, corpus.remaining
        self.exponent = Decimal(theme, AS_THEY_ARE)
        self.exponent.setStepType(Decimal.StepType.DefaultStepType)
        self.exponent.setSingleStep(_STEP)
        self.exponent.setValue(_FIRST)
        field = SpinField("E&xponent a", "", self.exponent)
        field.set_brief(True)
        buttons = push_button("Cancel", self.reject), push_button("Set Weights", self.accept, is_main=True)
        self.note.setText(_WHY)
        parts = (self.note, field, STRETCH, row(STRETCH, *buttons))
        column(*parts, spacing=10, margins=(24, 20, 24, 16), parent=self)
        self.setMinimumWidth(theme.scaled(_WIDTH))
        self.exponent.valueChanged.connect(self._follow)
        self.finished.connect(self._end)
        corpus.sources_changed.connect(self.reject)
        self._follow()

    def _follow(self) -> None:
        entries = entries_of(self._sources)
        self._corpus.set_weights(by_temperature(self._sources, entries, self.exponent.value()), moving=True)

    def _end(self, result: int) -> None:
        if self._corpus.remaining == self._sources and result != QDialog.DialogCode.Accepted:
            self._corpus.set_weights(self._before, moving=True)
        self._corpus.settle_weights()


# --- One entry of the mixture: its name, figures, and the slider and field of its weight ------------------------------

_STEPS = 100  # of a slider, on each side of the weight 1
_RANGE_BELOW = 100  # the smallest weight of a slider is one part of so many


def _weight_at(step: int) -> int:
    """The weight in thousandths at a step: 1 in the middle, 1,000 at one end, 0 after about 0.01 at the other.

    In between it is logarithmic, and finer around 1.
    """
    if step == -_STEPS:
        return 0
    place = step / _STEPS
    weight = ONCE * (LARGEST_WEIGHT if step > 0 else _RANGE_BELOW) ** (0.3 * place + 0.7 * place**3)
    digits = 2 - math.floor(math.log10(weight))
    return round(round(weight, digits))


_WEIGHTS = [_weight_at(step) for step in range(-_STEPS, _STEPS + 1)]


def nearest_step(weight: int) -> int:
    """The step of a slider whose weight, in thousandths, is nearest."""
    after = bisect_left(_WEIGHTS, weight)
    if after == 0 or (after < len(_WEIGHTS) and _WEIGHTS[after] - weight <= weight - _WEIGHTS[after - 1]):
        return after - _STEPS
    return after - 1 - _STEPS


class _Slider(WheelWithFocus, JumpSlider):
    """A slider for a weight."""


class WeightRow(QWidget):
    """The weight of one entry."""

    moved = Signal(int)  # the user changed the weight, in thousandths; more changes may follow
    released = Signal()  # the user let go of the slider

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._name = ""
        self.name = Caption()
        self.name.setProperty("role", "")
        self.share = plain_label()
        self.share.setAlignment(Qt.AlignmentFlag.AlignRight)
        self.facts, self.ratio = plain_label("muted"), plain_label("muted")
        self.ratio.setToolTip(_RATIO)
        self.slider = _Slider(Qt.Orientation.Horizontal)
        self.slider.setRange(-_STEPS, _STEPS)
        self.slider.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.field = Decimal(theme, LARGEST_WEIGHT)
        # A number is not a weight before it is whole.
        self.field.setKeyboardTracking(False)
        for control in (self.slider, self.field):
            control.setToolTip(explained("", "weight"))
            set_word(control, "weight")
        column(
            row((self.name, 1), self.share, spacing=8),
            row((self.facts, 1), self.ratio, spacing=8),
            row((self.slider, 1), self.field, spacing=8),
            spacing=1,
            parent=self,
        )
        self.slider.valueChanged.connect(lambda step: self._change(_WEIGHTS[step + _STEPS]))
        self.slider.sliderReleased.connect(self.released)
        self.field.valueChanged.connect(lambda value: self._change(round(value * ONCE)))
        theme.follow(self._apply_theme)

    @property
    def held(self) -> bool:
        """Whether the mouse holds the slider."""
        return self.slider.isSliderDown()

    def show_entry(self, entry: MixtureEntry, script: str, weight: int) -> None:
        """Shows an entry; `script` is "" while it is not known."""
        self._name = entry.name
        self.name.say(entry.name)
        self.facts.setText(" · ".join(filter(None, (size_text(entry.bytes), script))))
        self.slider.setAccessibleName(f"Weight of {entry.name}, slider")
        self.field.setAccessibleName(f"Weight of {entry.name}")
        self.show_weight(weight)

    def show_weight(self, weight: int) -> None:
        """Shows a weight in thousandths; the slider shows the nearest that it can."""
        with QSignalBlocker(self.slider), QSignalBlocker(self.field):
            if _WEIGHTS[self.slider.value() + _STEPS] != weight:
                self.slider.setValue(nearest_step(weight))
            if round(self.field.value() * ONCE) != weight:
                self.field.setValue(weight / ONCE)
        self.slider.setAccessibleDescription(weight_text(weight))

    def show_share(self, share: float) -> None:
        """Shows the share of the weighted bytes."""
        text = percent_text(share, 1)
        self.share.setText(text)
        self.share.setToolTip("Share of the text, with weights")
        self.share.setAccessibleName(f"Share of {self._name}: {text}")

    def show_ratio(self, ratio: float | None, is_trained_on: bool) -> None:
        """Shows bytes per token; None shows nothing."""
        sign = TRAINED if is_trained_on else ""
        self.ratio.setText(f"{sign}{ratio:.2f} bytes/token" if ratio is not None else "")
        self.ratio.setToolTip(f"{_RATIO}\n{TRAINED} {SIGNS[TRAINED]}" if sign else _RATIO)

    def _change(self, weight: int) -> None:
        self.show_weight(weight)
        self.moved.emit(weight)

    def _apply_theme(self) -> None:
        self.share.setFont(self._theme.tabular_font())


_RATIO = "Bytes per token of this text at the playhead"
ACTIONS = (
    *("weights_as_they_are", "weights_equal", "weights_by_temperature", "weights_by_content"),
    "weights_for_goal",
)
_MOST = 64  # entries with a row
_LIVE = "The run follows the weights."
_BUSY = "The run follows the weights …"


class Mixture(QWidget):
    """A row for each entry, with its weight; call `show_sources` when the corpus has changed.

    Its `button`, which sets all weights together, has its place in the pane.
    """

    def __init__(self, session: Session, theme: Theme, actions: Mapping[str, QAction]) -> None:
        super().__init__()
        self._theme, self._corpus, self._live = theme, session.corpus, session.live
        self._runs, self._view, self._by_source = session.runs, session.view, session.by_source
        self._entries: tuple[MixtureEntry, ...] = ()
        self._sources: tuple[Source, ...] = ()
        self._scripts: dict[tuple[Source, ...], str] = {}
        self.rows: list[WeightRow] = []
        self.note = paragraph_label("muted")
        menu, tip = Menu(self), "Set the weights of all sources together"
        menu.addActions([actions[key] for key in ACTIONS])
        self.button = tool_button(explained(tip, "weight"), text="Weights", name=tip, menu=menu)
        set_word(self.button, "weight")
        self._list = column(spacing=10)
        column(self.note, self._list, STRETCH, spacing=8, parent=self)
        self._building = Slices(self)
        self._still = QTimer(self, singleShot=True, interval=session.jobs.pauses.weights)
        self._still.timeout.connect(self._settle)
        self._looking = LatestJob(session.jobs, self, self._take_scripts, session.jobs.report, quiet=True, asked=False)
        self._corpus.weights_changed.connect(self._show_weights)
        self._live.changed.connect(self._show_note)
        self._live.changed.connect(self._measure)
        self._runs.changed.connect(self._measure)
        self._by_source.changed.connect(self._show_ratios)
        self._view.playhead_changed.connect(self._show_ratios)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._measure()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._measure()

    def show_sources(self) -> None:
        """Shows the entries of the corpus."""
        if self._sources == self._corpus.remaining:
            return
        self._sources = self._corpus.remaining
        self._entries = entries_of(self._sources)
        kept = {self._key(entry) for entry in self._entries}
        self._scripts = {key: script for key, script in self._scripts.items() if key in kept}
        self._building.start(self._build(), self._show_weights)
        self._show_note()
        self._show_ratios()
        if unknown := [key for key in map(self._key, self._shown) if key not in self._scripts]:
            self._looking.run(partial(_scripts_work, unknown))
        else:
            self._looking.cancel()

    @property
    def _shown(self) -> tuple[MixtureEntry, ...]:
        return self._entries if 1 < len(self._entries) <= _MOST else ()

    def _key(self, entry: MixtureEntry) -> tuple[Source, ...]:
        return tuple(self._sources[place] for place in entry.places)

    def _build(self) -> Iterator[None]:
        """In steps, as many rows take longer than a slot may."""
        for place, entry in enumerate(self._shown):
            if place == len(self.rows):
                weight_row = WeightRow(self._theme)
                weight_row.moved.connect(partial(self._moved, place))
                weight_row.released.connect(self._settle)
                self.rows.append(weight_row)
                self._list.addWidget(weight_row)
            weight = self._corpus.weights[entry.places[0]]
            self.rows[place].show_entry(entry, self._scripts.get(self._key(entry), ""), weight)
            self.rows[place].setVisible(True)
            yield
        while len(self.rows) > len(self._shown):
            over = self.rows.pop()
            self._list.removeWidget(over)
            over.deleteLater()
            yield

    def _show_weights(self) -> None:
        weights = self._corpus.weights
        if len(self.rows) != len(self._shown) or len(weights) != len(self._sources):
            return
        parts = shares(self._sources, self._shown, weights)
        for weight_row, entry, share in zip(self.rows, self._shown, parts, strict=True):
            weight_row.show_weight(weights[entry.places[0]])
            weight_row.show_share(share)
        self._show_ratios()

    def _measure(self) -> None:
        """Asks for the bytes per token of the active run, once the weights stand."""
        run = self._runs.active
        stands = self.isVisible() and not self._live.busy and not self._corpus.moving
        fits = run is not None and run.corpus is not None and run.corpus.sources == self._sources
        self._by_source.want([run] if run is not None and stands and fits and self._shown else (), "mixture")
        self._show_ratios()

    def _show_ratios(self) -> None:
        """Shows bytes per token at the playhead, where they are known."""
        run, merges = self._runs.active, self._view.playhead
        ratios, trained = list[float](), list[bool]()
        if run is not None and run.corpus is not None and run.corpus.sources == self._sources:
            curves = run.by_source
            if isinstance(curves, SourceCurves) and merges < len(curves.tokens):
                ratios = curves.bytes_per_token(merges).tolist()
                trained = [curves.is_trained_on(number, merges) for number in range(len(ratios))]
        for place, weight_row in enumerate(self.rows):
            known = place < len(ratios)
            weight_row.show_ratio(ratios[place] if known else None, known and trained[place])

    def _show_note(self) -> None:
        if len(self._entries) > _MOST:
            entries = several(len(self._entries), "source")
            text = f"{entries}: single weights can be set for at most {_MOST}. Open a folder to weight it as a whole."
        else:
            text = self._live.obstacle or (_BUSY if self._live.busy else _LIVE)
        if text != self.note.text():
            self.note.setText(text)

    def _take_scripts(self, scripts: dict[tuple[Source, ...], str]) -> None:
        self._scripts |= scripts
        self._building.start(self._build(), self._show_weights)

    def _moved(self, place: int, weight: int) -> None:
        if place < len(self._shown):
            changed = with_weight(self._corpus.weights, self._shown[place], weight)
            self._corpus.set_weights(changed, moving=True)
            if self.rows[place].held:
                self._still.stop()
            else:
                self._still.start()

    def _settle(self) -> None:
        self._still.stop()
        self._corpus.settle_weights()


def _scripts_work(wanted: list[tuple[Source, ...]]) -> Work[dict[tuple[Source, ...], str]]:
    scripts: dict[tuple[Source, ...], str] = {}
    for sources in wanted:
        scripts[sources] = yield from main_script_work(sources)
    return scripts
