"""One entry of the mixture: its name, figures, and the slider and field of its weight."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import math
from bisect import bisect_left

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QWidget

from tokstudio.core.base.wording import percent_text, size_text
from tokstudio.core.corpus.corpus import LARGEST_WEIGHT, ONCE
from tokstudio.core.guide.glossary import explained
from tokstudio.gui.state.training_plans import MixtureEntry, weight_text
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.controls import Decimal, JumpSlider
from tokstudio.gui.widgets.labels import Caption, plain_label, set_word
from tokstudio.gui.widgets.layouts import column, row

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


class _Slider(JumpSlider):
    """A slider for a weight; the mouse wheel works only with the focus."""

    def wheelEvent(self, event: QWheelEvent) -> None:
        if self.hasFocus():
            super().wheelEvent(event)
        else:
            event.ignore()


class WeightRow(QWidget):
    """The weight of one entry.

    Signals:
        moved: The user changed the weight, in thousandths; more changes may follow.
        released: The user let go of the slider.
    """

    moved = Signal(int)
    released = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._name = ""
        self.name = Caption()
        self.name.setProperty("role", "")
        self.share = plain_label()
        self.share.setAlignment(Qt.AlignmentFlag.AlignRight)
        self.facts, self.ratio = plain_label("muted"), plain_label("muted")
        self.ratio.setToolTip("Bytes per token of this text at the playhead")
        self.slider = _Slider(Qt.Orientation.Horizontal)
        self.slider.setRange(-_STEPS, _STEPS)
        self.slider.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.field = Decimal(LARGEST_WEIGHT)
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
        self.slider.valueChanged.connect(self._slid)
        self.slider.sliderReleased.connect(self.released)
        self.field.valueChanged.connect(self._typed)
        theme.changed.connect(self._apply_theme)
        self._apply_theme()

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

    def show_ratio(self, ratio: float | None) -> None:
        """Shows bytes per token; None shows nothing."""
        self.ratio.setText(f"{ratio:.2f} bytes/token" if ratio is not None else "")

    def _slid(self, step: int) -> None:
        weight = _WEIGHTS[step + _STEPS]
        self.show_weight(weight)
        self.moved.emit(weight)

    def _typed(self, value: float) -> None:
        weight = round(value * ONCE)
        self.show_weight(weight)
        self.moved.emit(weight)

    def _apply_theme(self) -> None:
        self.field.apply_style(self._theme)
        self.share.setFont(self._theme.tabular_font())
