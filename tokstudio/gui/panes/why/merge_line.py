"""A merge on one line: two tokens, a plus, and their token; each is a button."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics, QResizeEvent
from PySide6.QtWidgets import QPushButton, QSizePolicy, QWidget

from tokstudio.gui.style.theme import Theme
from tokstudio.gui.token_text.token_chips import Chip
from tokstudio.gui.widgets.labels import isolated, plain, plain_label
from tokstudio.gui.widgets.layouts import STRETCH, row

_FONT = 13
_EDGE = 9  # pixels left and right of a token's text, including the frame
_LEAST = 3  # characters left of a cut token


class MergeLine(QWidget):
    """`left + right → token`; tokens that do not fit are cut, and the tool tip has them in full."""

    clicked = Signal(int)  # the id of the clicked token

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._chips: tuple[Chip, ...] = ()
        self._buttons: list[QPushButton] = []
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        for name in ("Left token", "Right token", "Token"):
            button = QPushButton()
            button.setProperty("chip", True)
            button.setAccessibleName(name)
            button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
            button.clicked.connect(self._tell)
            self._buttons.append(button)
        self._signs = [plain_label("muted", "+"), plain_label("muted", "→")]
        (left, right, token), (plus, arrow) = self._buttons, self._signs
        row(left, plus, right, arrow, token, STRETCH, spacing=6, parent=self)
        theme.changed.connect(self._fit)

    def set_merge(self, left: Chip, right: Chip, token: Chip) -> None:
        """Shows a merge."""
        self._chips = (left, right, token)
        for button, chip in zip(self._buttons, self._chips, strict=True):
            button.setToolTip(plain(f"{chip.label}\nid {chip.id:,}"))
            button.setAccessibleName(f"{chip.label}, id {chip.id:,}")
        self._fit()

    def buttons(self) -> tuple[QPushButton, ...]:
        """Returns the buttons of left, right and token."""
        return tuple(self._buttons)

    def sizeHint(self) -> QSize:
        """Makes room for the buttons."""
        return QSize(200, self._buttons[0].sizeHint().height())

    def minimumSizeHint(self) -> QSize:
        """Returns a width that does not depend on the tokens."""
        return QSize(1, self._buttons[0].sizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Cuts tokens to the width."""
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        if not self._chips:
            return
        font = self._theme.monospace_font(_FONT)
        metrics = QFontMetrics(font)
        signs = sum(label.sizeHint().width() + 12 for label in self._signs)
        room = self.width() - signs - 2 * _EDGE * len(self._buttons)
        wanted = [metrics.horizontalAdvance(chip.label) + 1 for chip in self._chips]
        least = metrics.horizontalAdvance("m" * _LEAST)
        # The longest are cut first, to the same width.
        widths, left = list(wanted), max(room, 0)
        for place, index in enumerate(sorted(range(len(wanted)), key=wanted.__getitem__)):
            widths[index] = min(wanted[index], max(left // (len(wanted) - place), least))
            left -= widths[index]
        for button, chip, width in zip(self._buttons, self._chips, widths, strict=True):
            button.setFont(font)
            text = metrics.elidedText(chip.label, Qt.TextElideMode.ElideMiddle, width)
            button.setText(isolated(text).replace("&", "&&"))
            button.setFixedWidth(width + 2 * _EDGE)

    def _tell(self) -> None:
        button = self.sender()
        if self._chips and isinstance(button, QPushButton):
            self.clicked.emit(self._chips[self._buttons.index(button)].id)
