"""Strips at the bottom of the window: each says a sentence, with buttons beside it, and moves what is above it."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QObject, QRect, Qt
from PySide6.QtWidgets import QAbstractButton, QApplication, QBoxLayout, QFrame, QLabel, QWidget

from tokstudio.gui.style.icons import icon
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.layouts import STRETCH, column, row

_ICON = 18
_NARROW = 560  # pixels of width below which the buttons are below the sentence
_MARGIN = 8


class Strips(QWidget):
    """The place of the strips, below all else in its parent, whose contents make room for those that are shown."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._column = column(spacing=_MARGIN, margins=(_MARGIN, 0, _MARGIN, _MARGIN), parent=self)
        parent.installEventFilter(self)
        self.hide()

    def add(self, strip: QWidget) -> None:
        """Adds a strip above the others."""
        self._column.insertWidget(0, strip)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Follows the size of the window."""
        if event.type() == QEvent.Type.Resize:
            self.place()
        return False

    def event(self, event: QEvent) -> bool:
        """Follows the strips that are shown, and their content."""
        if event.type() == QEvent.Type.LayoutRequest:
            self.place()
        return super().event(event)

    def place(self) -> None:
        """Makes room for the strips that are shown, or gives it back."""
        around = self.parentWidget()
        assert around is not None
        shown = [each for each in self.findChildren(BottomCard) if not each.isHidden()]
        for each in shown:
            each.fit(around.width() - 2 * _MARGIN)
        height = self._column.totalHeightForWidth(around.width()) if shown else 0
        height = max(height, self._column.totalMinimumSize().height()) if shown else 0
        margins = around.contentsMargins()
        if margins.bottom() != height:
            margins.setBottom(height)
            around.setContentsMargins(margins)
        self.setGeometry(QRect(0, around.height() - height, around.width(), height))
        self.setVisible(bool(shown))


class BottomCard(QFrame):
    """One sentence between an icon and buttons, in `strips`, hidden until there is something to say.

    Its `sign` is the icon before the sentence, and the role of its colour.
    """

    def __init__(
        self, theme: Theme, strips: Strips, name: str, sign: tuple[str, str], buttons: Sequence[QAbstractButton]
    ) -> None:
        super().__init__(strips)
        self.setAccessibleName(name)
        self.setProperty("card", "true")
        self._theme, self._drawing, self._strips = theme, sign, strips
        self._sign = QLabel()
        self.text = QLabel(wordWrap=True, textFormat=Qt.TextFormat.PlainText)
        texts, beside = row(self._sign, (self.text, 1), spacing=8), row(STRETCH, *buttons, spacing=8)
        self._row = row((texts, 1), beside, spacing=8)
        self.column = column(self._row, margins=(12, 8, 8, 8), parent=self)
        theme.follow(self._paint_sign)
        self.hide()
        strips.add(self)

    def offer(self, sentence: str) -> None:
        """Shows a sentence; an empty one hides the strip."""
        if sentence:
            self.text.setText(sentence)
        focus = QApplication.focusWidget()
        if not sentence and focus is not None and self.isAncestorOf(focus):
            # Otherwise the focus would move to an arbitrary control.
            self.window().setFocus()
        self.setVisible(bool(sentence))
        self._strips.place()

    def fit(self, width: int) -> None:
        """Places the buttons beside the sentence, or below it where there is little width."""
        narrow = width < _NARROW
        self._row.setDirection(QBoxLayout.Direction.TopToBottom if narrow else QBoxLayout.Direction.LeftToRight)

    def _paint_sign(self) -> None:
        name, role = self._drawing
        self._sign.setPixmap(icon(name, self._theme, role).pixmap(_ICON, _ICON))
