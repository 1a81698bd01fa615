"""Controls of a form: a list of choices, a number, some lines of text. Scrolling past them changes nothing.

Their labels and what is said below them are the fields'.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QLocale, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QWheelEvent
from PySide6.QtWidgets import (
    QAbstractSpinBox,
    QComboBox,
    QPlainTextEdit,
    QSizePolicy,
    QSpinBox,
    QStyleOptionComboBox,
)

from tokstudio.gui.theme import Theme, pad_spin_box
from tokstudio.gui.widgets.tall_body import scrolls_body

LARGEST = 2_000_000_000  # a spin box holds 32 bits


@dataclass(frozen=True)
class Choice:
    """One of several values.

    Attributes:
        value: What it is.
        name: What people call it, in a word or two.
        meaning: One sentence that explains it.
    """

    value: str
    name: str
    meaning: str


class ChoiceBox(QComboBox):
    """Offers names with their meanings, and shows the name alone once it is chosen.

    Signals:
        picked: A choice was taken from the list, or confirmed with Enter; not merely passed with an arrow key.
    """

    picked = Signal()

    def __init__(self, choices: Sequence[Choice]) -> None:
        super().__init__()
        self.choices: tuple[Choice, ...] = ()
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setMinimumContentsLength(8)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._passing = False
        self.activated.connect(self._activated)
        self.set_choices(choices)

    def set_choices(self, choices: Sequence[Choice]) -> None:
        """Offers other values."""
        self.choices = tuple(choices)
        self.clear()
        for choice in self.choices:
            self.addItem(f"{choice.name}  {choice.meaning}")

    def showPopup(self) -> None:
        """Makes the list as wide as its longest line."""
        metrics = self.view().fontMetrics()
        widest = max(metrics.horizontalAdvance(self.itemText(row)) for row in range(self.count()))
        self.view().setMinimumWidth(min(widest + 40, self.screen().availableSize().width() - 40))
        super().showPopup()

    def initStyleOption(self, option: QStyleOptionComboBox) -> None:
        """Shows the name alone."""
        super().initStyleOption(option)
        if 0 <= self.currentIndex() < len(self.choices):
            option.currentText = self.choices[self.currentIndex()].name

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Passes choices with the arrow keys; Enter confirms the one that is shown."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.picked.emit()
            return
        self._passing = True
        super().keyPressEvent(event)
        self._passing = False

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Scrolling past changes nothing."""
        if self.hasFocus():
            self._passing = True
            super().wheelEvent(event)
            self._passing = False
        else:
            event.ignore()

    def _activated(self) -> None:
        if not self._passing:
            self.picked.emit()


class Number(QSpinBox):
    """A number that can be typed with and without separators, and that scrolling past does not change."""

    def __init__(self, most: int = LARGEST, suffix: str = "") -> None:
        super().__init__()
        # Numbers are written everywhere as in "1,000".
        self.setLocale(QLocale(QLocale.Language.English, QLocale.Country.UnitedStates))
        self.setGroupSeparatorShown(True)
        # Numbers that are too small can be typed, so that the reason can be read.
        self.setRange(0, most)
        self.setSuffix(suffix)
        self.setStepType(QAbstractSpinBox.StepType.AdaptiveDecimalStepType)
        self.setAlignment(Qt.AlignmentFlag.AlignRight)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        pad_spin_box(self)

    def dress(self, theme: Theme) -> None:
        """Follows the person's text size."""
        # The field inside does not take its font from the box once a style sheet is set.
        for widget in (self, self.lineEdit()):
            widget.setFont(theme.tabular_font())
        self.setFixedWidth(theme.scaled(98))

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Scrolling past changes nothing."""
        if self.hasFocus():
            super().wheelEvent(event)
        else:
            event.ignore()


class Lines(QPlainTextEdit):
    """A text of a few lines; Tab leaves it."""

    def __init__(self, lines: int) -> None:
        super().__init__()
        self._lines = lines
        self.setTabChangesFocus(True)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Scrolls the pane where that scrolls, else the text."""
        if scrolls_body(self):
            event.ignore()
        else:
            super().wheelEvent(event)

    def sizeHint(self) -> QSize:
        """Gives room for its lines."""
        return QSize(120, self._lines * self.fontMetrics().lineSpacing() + 20)

    def minimumSizeHint(self) -> QSize:
        """Gives a narrow field of the same height."""
        return QSize(60, self.sizeHint().height())
