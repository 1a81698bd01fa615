"""Controls of a form: a list of choices, a number, a slider, some lines of text.

In all but the slider, the mouse wheel works only with the focus.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from PySide6.QtCore import QLocale, QSignalBlocker, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPaintEvent, QPalette, QResizeEvent, QValidator, QWheelEvent
from PySide6.QtWidgets import (
    QAbstractSpinBox,
    QComboBox,
    QDoubleSpinBox,
    QLineEdit,
    QPlainTextEdit,
    QSizePolicy,
    QSlider,
    QSpinBox,
    QStyle,
    QStyleOptionComboBox,
    QStyleOptionSlider,
    QWidget,
)

from tokstudio.core.base.records import dataclass
from tokstudio.gui.style.icons import icon
from tokstudio.gui.style.theme import Theme, pad_spin_box
from tokstudio.gui.widgets.labels import guarded_painter, named
from tokstudio.gui.widgets.layouts import scrolls_body

LARGEST = 2_000_000_000  # a spin box holds 32 bits
_FIELD = 98  # pixels
_AROUND = 40  # pixels around the text of a field with buttons
DECIMALS = 3
_SIGNS = str.maketrans(",٫", "..")  # the signs before decimals, in any of the system's languages


@dataclass(frozen=True)
class Choice:
    """One of several values."""

    value: Any
    name: str  # a word or two
    meaning: str  # one sentence that explains it


class WheelWithFocus:
    """A control that the mouse wheel changes only with the focus; stands before the class of Qt among the bases."""

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Leaves the wheel to what is around the control."""
        if self.hasFocus():  # pyright: ignore[reportAttributeAccessIssue]
            super().wheelEvent(event)  # pyright: ignore[reportAttributeAccessIssue]
        else:
            event.ignore()


class ChoiceBox(WheelWithFocus, QComboBox):
    """Lists names with their meanings; the closed box shows only the name."""

    picked = Signal()  # a choice was made in the list or confirmed with Enter; arrow keys alone do not emit it

    def __init__(self, choices: Sequence[Choice]) -> None:
        super().__init__()
        self.choices: tuple[Choice, ...] = ()
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setMinimumContentsLength(8)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._browsing = False
        self.activated.connect(self._activated)
        self.set_choices(choices)

    def set_choices(self, choices: Sequence[Choice]) -> None:
        """Replaces the choices."""
        self.choices = tuple(choices)
        self.clear()
        for choice in self.choices:
            self.addItem(f"{choice.name}  {choice.meaning}")

    @property
    def value(self) -> Any:  # noqa: ANN401
        """The chosen value; None where there are no choices."""
        return self.choices[max(0, self.currentIndex())].value if self.choices else None

    def choose(self, value: Any) -> None:  # noqa: ANN401
        """Chooses a value, or the first where it is not there; emits nothing."""
        values = [choice.value for choice in self.choices]
        with QSignalBlocker(self):
            self.setCurrentIndex(values.index(value) if value in values else 0)

    def show_choices(self, choices: Sequence[Choice], value: Any) -> None:  # noqa: ANN401
        """Replaces the choices and chooses one; see `choose`."""
        with QSignalBlocker(self):
            self.set_choices(choices)
        self.choose(value)

    def set_names(self, names: Sequence[str], first: int = 0) -> None:
        """Replaces the choices by names, without signals; a chosen name stays chosen, or else the one at `first` is."""
        chosen = self.choices[self.currentIndex()].name if self.choices else None
        with QSignalBlocker(self):
            self.set_choices([Choice(name, name, "") for name in names])
            self.setCurrentIndex(names.index(chosen) if chosen in names else min(first, len(names) - 1))

    def showPopup(self) -> None:
        metrics = self.view().fontMetrics()
        widest = max(metrics.horizontalAdvance(self.itemText(row)) for row in range(self.count()))
        self.view().setMinimumWidth(min(widest + 40, self.screen().availableSize().width() - 40))
        super().showPopup()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draws the closed box with the name alone."""
        option, style = QStyleOptionComboBox(), self.style()
        self.initStyleOption(option)
        option.currentText = self.shown_name(option)
        with guarded_painter(self) as painter:
            painter.setPen(self.palette().color(QPalette.ColorRole.Text))
            style.drawComplexControl(QStyle.ComplexControl.CC_ComboBox, option, painter, self)
            style.drawControl(QStyle.ControlElement.CE_ComboBoxLabel, option, painter, self)

    def shown_name(self, option: QStyleOptionComboBox) -> str:
        """The name of the choice, shortened to the room that the closed box has for it."""
        if not 0 <= self.currentIndex() < len(self.choices):
            return option.currentText
        name, style = self.choices[self.currentIndex()].name, self.style()
        field = style.SubControl.SC_ComboBoxEditField
        room = style.subControlRect(style.ComplexControl.CC_ComboBox, option, field, self).width()
        metrics, right = option.fontMetrics, Qt.TextElideMode.ElideRight
        short = metrics.elidedText(name, right, room)
        if short != name and [metrics.elidedText(each.name, right, room) for each in self.choices].count(short) > 1:
            return metrics.elidedText(name, Qt.TextElideMode.ElideLeft, room)  # only the ends tell the names apart
        return short

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Moves between choices with the arrow keys; Enter confirms the current one."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.picked.emit()
            event.ignore()  # for the main button of a dialog
            return
        self._browsing = True
        super().keyPressEvent(event)
        self._browsing = False

    def wheelEvent(self, event: QWheelEvent) -> None:
        self._browsing = True
        super().wheelEvent(event)
        self._browsing = False

    def _activated(self) -> None:
        if not self._browsing:
            self.picked.emit()


class Number(WheelWithFocus, QSpinBox):
    """A number that can be typed with and without separators, in a field that is `width` pixels wide."""

    def __init__(self, theme: Theme, most: int = LARGEST, suffix: str = "", width: int = _FIELD) -> None:
        super().__init__()
        self._theme, self._width = theme, width
        self.setGroupSeparatorShown(True)
        # Smaller numbers can be typed, so that the error message can be read.
        self.setRange(0, most)
        self.setSuffix(suffix)
        self.setStepType(QAbstractSpinBox.StepType.AdaptiveDecimalStepType)
        _set_up(self)
        theme.follow(self._apply_style)

    def _apply_style(self) -> None:
        _apply_style(self, self.lineEdit(), self._theme, self._width)
        if self.suffix():
            with_suffix = self.fontMetrics().horizontalAdvance(f"100{self.suffix()}") + _AROUND
            self.setFixedWidth(max(self._theme.scaled(self._width), with_suffix))


class Decimal(WheelWithFocus, QDoubleSpinBox):
    """A number from 0 on with up to three decimals, after a point or a comma; a typed comma becomes a point."""

    def __init__(self, theme: Theme, most: float, suffix: str = "") -> None:
        super().__init__()
        self._theme = theme
        self.setDecimals(DECIMALS)
        self.setRange(0, most)
        self.setSuffix(suffix)
        self.setStepType(QAbstractSpinBox.StepType.AdaptiveDecimalStepType)
        _set_up(self)
        theme.follow(self._apply_style)

    def textFromValue(self, value: float) -> str:
        """Omits zeros at the end."""
        return f"{round(value, DECIMALS):.10g}"

    def validate(self, input: str, pos: int) -> tuple[QValidator.State, str, int]:
        """Takes a comma as a point; Qt would pass over it as a separator of thousands."""
        return super().validate(input.translate(_SIGNS), pos)

    def valueFromText(self, text: str) -> float:
        """Reads what `validate` accepts."""
        return super().valueFromText(text.translate(_SIGNS))

    def _apply_style(self) -> None:
        _apply_style(self, self.lineEdit(), self._theme)


class Percent(Decimal):
    """A percentage, at least 0 and less than 100."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, 100 - 10**-DECIMALS, " %")
        self.setStepType(QAbstractSpinBox.StepType.DefaultStepType)
        self.setSingleStep(1)  # else the first steps from 0 are those of the last decimal

    @property
    def share(self) -> float:
        """The value as a share of 1."""
        return round(self.value() / 100, DECIMALS + 2)

    def shows(self, share: float) -> bool:
        """Whether a share, which may have more decimals, is displayed as the current value."""
        return round(100 * share, DECIMALS) == round(self.value(), DECIMALS)


class JumpSlider(QSlider):
    """A slider whose handle jumps to a click."""

    def mousePressEvent(self, ev: QMouseEvent) -> None:
        """Moves the handle to the pointer, and grabs it."""
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
        # The handle is under the pointer now, so the press grabs it and a drag continues from here.
        super().mousePressEvent(ev)


def _set_up(box: QAbstractSpinBox) -> None:
    # All numbers are written as "1,000".
    box.setLocale(QLocale(QLocale.Language.English, QLocale.Country.UnitedStates))
    box.setAlignment(Qt.AlignmentFlag.AlignRight)
    box.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    pad_spin_box(box)


def _apply_style(box: QAbstractSpinBox, inner: QLineEdit, theme: Theme, width: int = _FIELD) -> None:
    # With a style sheet, the inner line edit does not inherit the font of the spin box.
    for widget in (box, inner):
        widget.setFont(theme.tabular_font())
    box.setFixedWidth(theme.scaled(width))


class SearchEdit(QLineEdit):
    """Searches while typing; Escape empties it, Down and Enter go to what was found (`left`) unless it is invalid."""

    left = Signal()

    def __init__(self, theme: Theme, sign: str, hint: str, name: str, tip: str) -> None:
        super().__init__()
        self.setPlaceholderText(hint)
        self.setClearButtonEnabled(True)
        self.addAction(icon(sign, theme, "muted"), QLineEdit.ActionPosition.LeadingPosition)
        named(self, name, tip)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self.text():
            self.clear()
        elif event.key() in (Qt.Key.Key_Down, Qt.Key.Key_Return, Qt.Key.Key_Enter):
            if not self.property("invalid"):
                self.left.emit()
        else:
            super().keyPressEvent(event)


class WholeLines(QPlainTextEdit):
    """A text that cuts no line at its lower edge, as it leaves the room below the last whole line empty."""

    def __init__(self, parent: QWidget | None = None, *, readOnly: bool = False) -> None:
        super().__init__(parent, readOnly=readOnly)
        self._soon = QTimer(self, singleShot=True, interval=0)
        self._soon.timeout.connect(self._end_at_line)
        self.document().documentLayout().documentSizeChanged.connect(self._soon.start)
        self.verticalScrollBar().valueChanged.connect(self._end_at_line)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._soon.start()

    def _end_at_line(self) -> None:
        margins = self.viewportMargins()
        room = self.viewport().height() + margins.bottom()
        end = next((top for top, after in self._lines() if after > room), room)
        margins.setBottom(round(room - end) if end > 0 else 0)
        if margins != self.viewportMargins():
            self.setViewportMargins(margins)

    def _lines(self) -> Iterator[tuple[float, float]]:
        """Where the lines from the first visible paragraph on begin and end in the viewport."""
        block = self.firstVisibleBlock()
        while block.isValid():
            top, layout = self.blockBoundingGeometry(block).translated(self.contentOffset()).top(), block.layout()
            for line in map(layout.lineAt, range(layout.lineCount())):
                yield top + line.y(), top + line.y() + line.height()
            block = block.next()


class LinesEdit(QPlainTextEdit):
    """A text field of a few lines; Tab leaves it."""

    def __init__(self, lines: int) -> None:
        super().__init__()
        self._lines = lines
        self.setTabChangesFocus(True)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Scrolls the pane if it can scroll, else the text."""
        if scrolls_body(self):
            event.ignore()
        else:
            super().wheelEvent(event)

    def sizeHint(self) -> QSize:
        return QSize(120, self._lines * self.fontMetrics().lineSpacing() + 20)

    def minimumSizeHint(self) -> QSize:
        """Allows a narrow field of the same height."""
        return QSize(60, self.sizeHint().height())
