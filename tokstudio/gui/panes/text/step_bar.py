"""First, previous, a slider, next, last and `17 of 42`: goes through numbered states; of what, the caller says."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from functools import partial

from PySide6.QtCore import QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics, QKeySequence
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSlider, QToolButton, QWidget

from tokstudio.gui.style.icons import icon
from tokstudio.gui.style.theme import Theme

#: Keys that go one step on or back from elsewhere: by the button that they press.
STEP_KEYS = {"previous": "Alt+Left", "next": "Alt+Right"}
_BUTTONS = (("first", "First step"), ("previous", "Previous step"), ("next", "Next step"), ("last", "Last step"))


class StepBar(QWidget):
    """States from 0, shown as numbered from 1.

    Signals:
        moved: A person has gone to another state; never by `set_range` or `set_value`.

    Args:
        theme: Its fonts and icons; followed while they change.
    """

    moved = Signal(int)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.slider = QSlider(Qt.Orientation.Horizontal)
        self.slider.setAccessibleName("Step")
        self.slider.setToolTip("Steps: Left and Right go back and forth, Home and End to the first and last step")
        self.slider.setRange(0, 0)
        self.slider.valueChanged.connect(self._tell)
        self.label = QLabel()
        self.label.setTextFormat(Qt.TextFormat.PlainText)
        self.label.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.buttons = {name: self._button(name, words) for name, words in _BUTTONS}
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(4)
        for name in ("first", "previous"):
            row.addWidget(self.buttons[name])
        row.addWidget(self.slider, 1)
        for name in ("next", "last"):
            row.addWidget(self.buttons[name])
        row.addWidget(self.label)
        theme.tell_sizes(self._dress)
        self._dress()

    def show_state(self, value: int, states: int) -> None:
        """Shows where one is, of so many states."""
        blocker = QSignalBlocker(self.slider)
        self.slider.setRange(0, max(states - 1, 0))
        self.slider.setPageStep(max(states // 20, 1))
        self.slider.setValue(value)
        blocker.unblock()
        self._refresh()

    def _button(self, name: str, words: str) -> QToolButton:
        button = QToolButton()
        button.setIcon(icon(name, self._theme))
        keys = QKeySequence(STEP_KEYS.get(name, "")).toString(QKeySequence.SequenceFormat.NativeText)
        button.setToolTip(f"{words} ({keys})" if keys else words)
        button.setAccessibleName(words)
        button.setAutoRaise(True)
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        button.setAutoRepeat(name in ("previous", "next"))
        button.clicked.connect(partial(self._go, name))
        return button

    def _go(self, name: str) -> None:
        slider = self.slider
        ends = {"first": slider.minimum(), "last": slider.maximum()}
        slider.setValue(ends.get(name, slider.value() + (1 if name == "next" else -1)))

    def _tell(self, value: int) -> None:
        self._refresh()
        self.moved.emit(value)

    def _refresh(self) -> None:
        value, last = self.slider.value(), self.slider.maximum()
        self.slider.setEnabled(last > 0)
        self.label.setText(f"{value + 1:,} of {last + 1:,}" if last else "–")
        for name, button in self.buttons.items():
            button.setEnabled(value > 0 if name in ("first", "previous") else value < last)
        # Nothing moves while the number does.
        widest = "8" * len(str(last + 1))
        width = QFontMetrics(self.label.font()).horizontalAdvance(f"{int(widest):,} of {int(widest):,}") + 8
        self.label.setMinimumWidth(width)

    def _dress(self) -> None:
        font = self._theme.tabular_font()
        self.label.setFont(font)
        side = round(QFontMetrics(font).height() * 0.9)
        for button in self.buttons.values():
            button.setIconSize(QSize(side, side))
        self._refresh()
