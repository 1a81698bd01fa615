"""The bar below the plot: a slider and buttons that move or play the playhead. Where it is, the session knows."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics, QKeyEvent, QMouseEvent, QResizeEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QSizePolicy,
    QSlider,
    QStyle,
    QStyleOptionSlider,
    QToolButton,
    QWidget,
)

from tokstudio.gui.style.icons import icon

if TYPE_CHECKING:
    from tokstudio.gui.style.theme import Theme

_NOTHING = "–"
_LEAST_DIGITS = 4
_PLAY, _HOLD = "Play merges", "Pause playing"
_ROOM_FOR_SPEED = 480
_ROOM_FOR_SLIDER = 80
_SPACING = 4


class _Slider(QSlider):
    """A slider whose handle comes to where it is clicked, instead of a page towards it; Space asks to play."""

    spacePressed = Signal()

    def keyPressEvent(self, ev: QKeyEvent) -> None:
        if ev.key() == Qt.Key.Key_Space and not ev.modifiers():
            if not ev.isAutoRepeat():
                self.spacePressed.emit()
        else:
            super().keyPressEvent(ev)

    def mousePressEvent(self, ev: QMouseEvent) -> None:
        if ev.button() == Qt.MouseButton.LeftButton:
            option = QStyleOptionSlider()
            self.initStyleOption(option)
            style, slider = self.style(), QStyle.ComplexControl.CC_Slider
            handle = style.subControlRect(slider, option, QStyle.SubControl.SC_SliderHandle, self)
            if not handle.contains(ev.position().toPoint()):
                groove = style.subControlRect(slider, option, QStyle.SubControl.SC_SliderGroove, self)
                span = max(groove.width() - handle.width(), 1)
                share = (ev.position().x() - groove.x() - handle.width() / 2) / span
                share = min(max(1.0 - share if option.upsideDown else share, 0.0), 1.0)
                self.setValue(self.minimum() + round(share * (self.maximum() - self.minimum())))
        # The handle is under the pointer now, so the press takes hold of it and a drag goes on from here.
        super().mousePressEvent(ev)


class PlayheadBar(QWidget):
    """First, previous, play, a slider, next, last, `312 of 744`, and the speed.

    `moved` is emitted when a person moves the playhead, never by `set_value` or `set_range`; `grasped` when they take
    hold of the slider, `playAsked` when they want it to play or to stand still.
    """

    moved = Signal(int)
    grasped = Signal()
    playAsked = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._obstacle = ""
        self._slider = _Slider(Qt.Orientation.Horizontal)
        self._slider.setRange(0, 0)
        self._slider.setAccessibleName("Playhead")
        self._slider.setToolTip("Number of merges applied")
        self._slider.valueChanged.connect(self._on_value)
        self._label = QLabel(_NOTHING)
        self._label.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self._label.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Preferred)
        self._first = self._button("first", "First state: no merges", "Alt+Home")
        self._previous = self._button("previous", "Previous merge", "[")
        self._next = self._button("next", "Next merge", "]")
        self._last = self._button("last", "Last merge", "Alt+End")
        self._first.clicked.connect(self._go_to_first)
        self._previous.clicked.connect(self._go_back)
        self._next.clicked.connect(self._go_on)
        self._last.clicked.connect(self._go_to_last)
        for button in (self._previous, self._next):
            button.setAutoRepeat(True)
        self.play_button = self._button("train", _PLAY, "Ctrl+P")
        self.play_button.clicked.connect(self.playAsked)
        self._slider.spacePressed.connect(self.playAsked)
        self._slider.sliderPressed.connect(self.grasped)
        self._slider.sliderReleased.connect(self._let_grow)
        self._more: int | None = None
        self.speed_button = QToolButton()
        self.speed_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.speed_button.setAutoRaise(True)
        self.speed_button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.speed_button.setToolTip("Playing speed")
        self._playing = False

        controls = (self._slider, self._first, self._previous, self._next, self._last, self.play_button)
        self._tips = {control: control.toolTip() for control in controls}

        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(_SPACING)
        row = (self._first, self._previous, self.play_button, self._slider, self._next, self._last)
        for widget in (*row, self._label, self.speed_button):
            layout.addWidget(widget, 1 if widget is self._slider else 0)
        self.setAccessibleName("Playhead")
        theme.changed.connect(self._apply_theme)
        self._apply_theme()
        self._show_state()

    def set_range(self, maximum: int) -> None:
        """Set how many merges there are; with none the bar is disabled. A value beyond them comes down to the last.

        While the slider is held more merges wait until it is let go, as they would move it away from under the pointer.
        """
        self._more = None
        if self._slider.isSliderDown() and maximum > self._slider.maximum():
            self._more = maximum
            return
        blocker = QSignalBlocker(self._slider)
        self._slider.setRange(0, max(maximum, 0))
        self._slider.setPageStep(max(1, maximum // 20))
        blocker.unblock()
        self._fit_label()
        self._show_state()

    def set_value(self, value: int) -> None:
        """Show where the playhead is."""
        if value != self._slider.value():
            blocker = QSignalBlocker(self._slider)
            self._slider.setValue(value)
            blocker.unblock()
            self._show_state()

    def set_playing(self, playing: bool) -> None:
        """Show that it plays by itself, or that it stands still."""
        if playing != self._playing:
            self._playing = playing
            words = _HOLD if playing else _PLAY
            self.play_button.setIcon(icon("pause" if playing else "train", self._theme))
            self.play_button.setAccessibleName(words)
            self._tips[self.play_button] = f"{words} (Ctrl+P)"
            self.play_button.setToolTip(self._obstacle or self._tips[self.play_button])

    def set_speed(self, words: str) -> None:
        """Show how fast it plays."""
        self.speed_button.setText(words)
        self.speed_button.setAccessibleName(f"Playing speed: {words}")

    def set_obstacle(self, reason: str) -> None:
        """Takes the controls away and says why in their tips; "" gives them back."""
        if reason != self._obstacle:
            self._obstacle = reason
            self.setToolTip(reason)
            self.setAccessibleDescription(reason)
            for widget, tip in self._tips.items():
                widget.setToolTip(reason or tip)
            self._show_state()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Leave out the speed and the ends, which are in the menus as well, rather than the slider."""
        super().resizeEvent(event)
        self._fit_buttons()

    def minimumSizeHint(self) -> QSize:
        """Without the speed and the ends: while the bar was not shown yet, no room has told them to go."""
        hint = super().minimumSizeHint()
        for button in (self._first, self._last, self.speed_button):
            if not button.isHidden():
                hint.setWidth(hint.width() - button.minimumSizeHint().width() - _SPACING)
        return hint

    def maximum(self) -> int:
        """How many merges there are."""
        return self._slider.maximum()

    def value(self) -> int:
        """Where the playhead is shown."""
        return self._slider.value()

    def _button(self, name: str, text: str, key: str) -> QToolButton:
        button = QToolButton()
        button.setAccessibleName(text)
        button.setToolTip(f"{text} ({key})")
        button.setIcon(icon(name, self._theme))
        button.setAutoRaise(True)
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        return button

    def _go_to_first(self) -> None:
        self._slider.setValue(0)

    def _go_back(self) -> None:
        self._slider.setValue(self._slider.value() - 1)

    def _go_on(self) -> None:
        self._slider.setValue(self._slider.value() + 1)

    def _go_to_last(self) -> None:
        self._slider.setValue(self._slider.maximum())

    def _let_grow(self) -> None:
        if self._more is not None:
            self.set_range(self._more)

    def _on_value(self, value: int) -> None:
        self._show_state()
        self.moved.emit(value)

    def _show_state(self) -> None:
        value, maximum = self._slider.value(), self._slider.maximum()
        self._label.setText(f"{value:,} of {maximum:,}" if maximum else _NOTHING)
        free = not self._obstacle
        for button in (self.play_button, self.speed_button):
            button.setEnabled(free and maximum > 0)
        self._slider.setEnabled(free and maximum > 0)
        for button in (self._first, self._previous):
            button.setEnabled(free and value > 0)
        for button in (self._next, self._last):
            button.setEnabled(free and value < maximum)

    def _fit_label(self) -> None:
        # As wide as the widest number of so many digits: nothing moves while the playhead does, or a run grows.
        digits = max(len(str(self._slider.maximum())), _LEAST_DIGITS)
        widest = f"{int('8' * digits):,}"
        metrics = QFontMetrics(self._label.font())
        size = QSize(metrics.horizontalAdvance(f"{widest} of {widest}") + 12, metrics.height())
        if self._label.minimumSize() != size:
            # Of one size, so that no new number makes the window lay itself out.
            self._label.setFixedSize(size)
            self._fit_buttons()
            # At once: the label would reach over the edge until the next round of events.
            layout = self.layout()
            if layout is not None:
                layout.activate()

    def _fit_buttons(self) -> None:
        self.speed_button.setVisible(self.width() >= self._theme.scaled(_ROOM_FOR_SPEED))
        ends, others = (self._first, self._last), (self._previous, self.play_button, self._next)
        widths = [self._label.width(), *(button.sizeHint().width() for button in (*ends, *others))]
        taken = sum(widths) + _SPACING * len(widths)
        for button in ends:
            button.setVisible(self.width() - taken >= self._theme.scaled(_ROOM_FOR_SLIDER))

    def _apply_theme(self) -> None:
        font = self._theme.tabular_font()
        self._label.setFont(font)
        side = round(QFontMetrics(font).height() * 0.9)
        for button in (self._first, self._previous, self._next, self._last, self.play_button):
            button.setIconSize(QSize(side, side))
            button.update()
        self._fit_label()
