"""The bar below the plot: a slider and four buttons that move the playhead. Where it is, the session knows."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics, QMouseEvent
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

from tokstudio.gui.icons import icon

if TYPE_CHECKING:
    from tokstudio.gui.theme import Theme

_NOTHING = "–"
_LEAST_DIGITS = 4


class _Slider(QSlider):
    """A slider whose handle comes to where it is clicked, instead of a page towards it."""

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
    """First, previous, a slider, next, last, and `312 of 744`.

    `moved` is emitted when a person moves the playhead, never by `set_value` or `set_range`.
    """

    moved = Signal(int)

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

        controls = (self._slider, self._first, self._previous, self._next, self._last)
        self._tips = {control: control.toolTip() for control in controls}

        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        for widget in (self._first, self._previous, self._slider, self._next, self._last, self._label):
            layout.addWidget(widget, 1 if widget is self._slider else 0)
        self.setAccessibleName("Playhead")
        theme.changed.connect(self._apply_theme)
        self._apply_theme()
        self._show_state()

    def set_range(self, maximum: int) -> None:
        """Set how many merges there are; with none the bar is disabled. A value beyond them comes down to the last."""
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

    def set_obstacle(self, reason: str) -> None:
        """Takes the controls away and says why in their tips; "" gives them back."""
        if reason != self._obstacle:
            self._obstacle = reason
            self.setToolTip(reason)
            self.setAccessibleDescription(reason)
            for widget, tip in self._tips.items():
                widget.setToolTip(reason or tip)
            self._show_state()

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

    def _on_value(self, value: int) -> None:
        self._show_state()
        self.moved.emit(value)

    def _show_state(self) -> None:
        value, maximum = self._slider.value(), self._slider.maximum()
        self._label.setText(f"{value:,} of {maximum:,}" if maximum else _NOTHING)
        free = not self._obstacle
        self._slider.setEnabled(free and maximum > 0)
        for button in (self._first, self._previous):
            button.setEnabled(free and value > 0)
        for button in (self._next, self._last):
            button.setEnabled(free and value < maximum)

    def _fit_label(self) -> None:
        # As wide as the widest number of so many digits: nothing moves while the playhead does, or a run grows.
        digits = max(len(str(self._slider.maximum())), _LEAST_DIGITS)
        widest = f"{int('8' * digits):,}"
        width = QFontMetrics(self._label.font()).horizontalAdvance(f"{widest} of {widest}") + 12
        if self._label.width() != width:
            self._label.setFixedWidth(width)
            # At once: the label would reach over the edge until the next round of events.
            layout = self.layout()
            if layout is not None:
                layout.activate()

    def _apply_theme(self) -> None:
        font = self._theme.tabular_font()
        self._label.setFont(font)
        side = round(QFontMetrics(font).height() * 0.9)
        for button in (self._first, self._previous, self._next, self._last):
            button.setIconSize(QSize(side, side))
            button.update()
        self._fit_label()
