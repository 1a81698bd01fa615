"""A bar with first, previous, a slider, next and last that steps through numbered states and can play them."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from PySide6.QtCore import QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QSizePolicy, QToolButton, QWidget

from tokstudio.core.base.records import dataclass
from tokstudio.gui.style.icons import icon
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.controls import JumpSlider
from tokstudio.gui.widgets.labels import named, plain_label
from tokstudio.gui.widgets.layouts import Fitting, row

_NOTHING = "–"
_LEAST_DIGITS = 4
_PLAY, _HOLD = "Play merges", "Pause playing"
_ROOM_FOR_SPEED = 480
_ROOM_FOR_SLIDER = 80
_SPACING = 4


class _Slider(JumpSlider):
    """A slider; Space asks to play."""

    spacePressed = Signal()

    def keyPressEvent(self, ev: QKeyEvent) -> None:
        if ev.key() == Qt.Key.Key_Space and not ev.modifiers():
            if not ev.isAutoRepeat():
                self.spacePressed.emit()
        else:
            super().keyPressEvent(ev)


@dataclass(frozen=True)
class StepWords:
    """The texts of a bar."""

    slider: str  # the accessible name of the slider
    tip: str  # what the slider does
    buttons: Mapping[str, tuple[str, str]]  # what `first`, `previous`, `next` and `last` do, each with its keys or ""


class StepBar(Fitting, QWidget):
    """First, previous, a slider, next, last and `312 of 744`; with `plays`, also a play button and the speed.

    The number `first` is shown for the first state, whose value is 0.
    """

    moved = Signal(int)  # the user went to another state; `set_value` and `set_range` do not emit it
    grasped = Signal()  # the user pressed the slider
    playAsked = Signal()  # the user asked to play or to pause

    def __init__(
        self, theme: Theme, words: StepWords, parent: QWidget | None = None, *, first: int = 0, plays: bool = False
    ) -> None:
        super().__init__(parent)
        self._theme, self._start, self._plays = theme, first, plays
        self._obstacle = ""
        self._more: int | None = None
        self._playing = False
        self.slider = named(_Slider(Qt.Orientation.Horizontal), words.slider, words.tip)
        self.slider.setRange(0, 0)
        self.slider.valueChanged.connect(self._on_value)
        self.slider.spacePressed.connect(self.playAsked)
        self.slider.sliderPressed.connect(self.grasped)
        self.slider.sliderReleased.connect(self._let_grow)
        self.label = plain_label(text=_NOTHING)
        self.label.setToolTip(words.tip)
        self.label.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.label.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Preferred)
        self.buttons = {name: self._button(name, *one) for name, one in words.buttons.items()}
        for name, button in self.buttons.items():
            button.setAutoRepeat(name in ("previous", "next"))
            button.clicked.connect(partial(self._go, name))
        self.play_button = self._button("train", _PLAY, "Ctrl+P")
        self.play_button.clicked.connect(self.playAsked)
        self.speed_button = QToolButton()
        self.speed_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.speed_button.setAutoRaise(True)
        self.speed_button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.speed_button.setToolTip("Playing speed")
        controls = (self.slider, *self.buttons.values(), self.play_button)
        self._tips = {control: control.toolTip() for control in controls}

        buttons = self.buttons
        left = buttons["first"], buttons["previous"], self.play_button
        right = buttons["next"], buttons["last"], self.label, self.speed_button
        row(*left, (self.slider, 1), *right, spacing=_SPACING, parent=self)
        self.play_button.setVisible(plays)
        theme.follow(self._apply_theme)
        self._show_state()

    def set_range(self, maximum: int) -> None:
        """Sets the last state; 0 disables the bar. A larger value is reduced to it.

        While the slider is held, further states wait until it is released, as they would move it away from the pointer.
        """
        self._more = None
        if self.slider.isSliderDown() and maximum > self.slider.maximum():
            self._more = maximum
            return
        blocker = QSignalBlocker(self.slider)
        self.slider.setRange(0, max(maximum, 0))
        self.slider.setPageStep(max(1, maximum // 20))
        blocker.unblock()
        self._fit_label()
        self._show_state()

    def set_value(self, value: int) -> None:
        """Shows a state."""
        if value != self.slider.value():
            blocker = QSignalBlocker(self.slider)
            self.slider.setValue(value)
            blocker.unblock()
            self._show_state()

    def set_playing(self, playing: bool) -> None:
        """Shows whether it is playing."""
        if playing != self._playing:
            self._playing = playing
            words = _HOLD if playing else _PLAY
            self.play_button.setIcon(icon("pause" if playing else "train", self._theme))
            self.play_button.setAccessibleName(words)
            self._tips[self.play_button] = f"{words} (Ctrl+P)"
            self.play_button.setToolTip(self._obstacle or self._tips[self.play_button])

    def set_speed(self, words: str) -> None:
        """Shows the speed."""
        self.speed_button.setText(words)
        self.speed_button.setAccessibleName(f"Playing speed: {words}")

    def set_obstacle(self, reason: str) -> None:
        """Disables the controls and shows the reason in their tips; "" enables them."""
        if reason != self._obstacle:
            self._obstacle = reason
            self.setToolTip(reason)
            self.setAccessibleDescription(reason)
            for widget, tip in self._tips.items():
                widget.setToolTip(reason or tip)
            self._show_state()

    def minimumSizeHint(self) -> QSize:
        """Returns the size without the speed and the end buttons, which may still be shown before the first resize."""
        hint = super().minimumSizeHint()
        for button in (self.buttons["first"], self.buttons["last"], self.speed_button):
            if not button.isHidden():
                hint.setWidth(hint.width() - button.minimumSizeHint().width() - _SPACING)
        return hint

    def maximum(self) -> int:
        """The last state."""
        return self.slider.maximum()

    def value(self) -> int:
        """The current state."""
        return self.slider.value()

    def _button(self, name: str, text: str, keys: str) -> QToolButton:
        button = named(QToolButton(), text)
        shown = QKeySequence(keys).toString(QKeySequence.SequenceFormat.NativeText)
        button.setToolTip(f"{text} ({shown})" if shown else text)
        button.setIcon(icon(name, self._theme))
        button.setAutoRaise(True)
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        return button

    def _go(self, name: str) -> None:
        value = self.slider.value()
        self.slider.setValue({"first": 0, "previous": value - 1, "next": value + 1}.get(name, self.slider.maximum()))

    def _let_grow(self) -> None:
        if self._more is not None:
            self.set_range(self._more)

    def _on_value(self, value: int) -> None:
        self._show_state()
        self.moved.emit(value)

    def _show_state(self) -> None:
        value, maximum = self.slider.value(), self.slider.maximum()
        self.label.setText(f"{value + self._start:,} of {maximum + self._start:,}" if maximum else _NOTHING)
        free = not self._obstacle
        for button in (self.play_button, self.speed_button):
            button.setEnabled(free and maximum > 0)
        self.slider.setEnabled(free and maximum > 0)
        for name, button in self.buttons.items():
            button.setEnabled(free and (value > 0 if name in ("first", "previous") else value < maximum))

    def _fit_label(self) -> None:
        # As wide as the widest number with this many digits, so that nothing moves while the number changes.
        digits = max(len(str(self.slider.maximum() + self._start)), _LEAST_DIGITS if self._plays else 1)
        widest = f"{int('8' * digits):,}"
        metrics = QFontMetrics(self.label.font())
        size = QSize(metrics.horizontalAdvance(f"{widest} of {widest}") + 12, metrics.height())
        if self.label.minimumSize() != size:
            # A fixed size, so that a new number causes no layout of the window.
            self.label.setFixedSize(size)
            self.fit()
            # At once, as the label would reach over the edge until the next event.
            layout = self.layout()
            if layout is not None:
                layout.activate()

    def fit(self) -> None:
        """Hides the speed and the buttons first and last, which menus also have, before the slider gets too short."""
        self.speed_button.setVisible(self._plays and self.width() >= self._theme.scaled(_ROOM_FOR_SPEED))
        buttons = (*self.buttons.values(), *([self.play_button] if self._plays else []))
        widths = [self.label.width(), *(button.sizeHint().width() for button in buttons)]
        taken = sum(widths) + _SPACING * len(widths)
        for name in ("first", "last"):
            self.buttons[name].setVisible(self.width() - taken >= self._theme.scaled(_ROOM_FOR_SLIDER))

    def _apply_theme(self) -> None:
        font = self._theme.tabular_font()
        self.label.setFont(font)
        side = round(QFontMetrics(font).height() * 0.9)
        for button in (*self.buttons.values(), self.play_button):
            button.setIconSize(QSize(side, side))
            button.update()
        self._fit_label()
