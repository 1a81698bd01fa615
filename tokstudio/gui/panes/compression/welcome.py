"""The content of the pane before the first curve: a welcome with samples, or a hint at Train."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QAction, QShowEvent
from PySide6.QtWidgets import QFrame, QGridLayout, QLabel, QPushButton, QScrollArea, QSizePolicy, QWidget

from tokstudio.gui.style.icons import icon
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.labels import plain_label
from tokstudio.gui.widgets.layouts import STRETCH, Fitting, column, row

_PICTURE = 96
_CARD_WIDTH, _NARROWEST, _CARD_GAP = 180, 120, 8


class SampleCard(QPushButton):
    """A button with a title and a sentence."""

    def __init__(self, action: QAction, title: str, description: str) -> None:
        super().__init__()
        self._action = action
        self.setAccessibleName(title)
        self.setAccessibleDescription(description)
        self.setToolTip(description)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        top_left = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop
        texts = [QLabel(text, wordWrap=True, alignment=top_left) for text in (title, description)]
        for label in texts:
            label.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._description = texts[1]
        self._description.setProperty("role", "muted")
        column(*texts, STRETCH, spacing=2, margins=(12, 9, 12, 9), parent=self)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
        self.clicked.connect(action.trigger)
        action.changed.connect(self._follow)
        self._follow()

    def set_brief(self, brief: bool) -> None:
        """Shows the description only in the tip."""
        self._description.setVisible(not brief)

    def height_at(self, width: int) -> int:
        """The height of the text at a width, in pixels."""
        layout = self.layout()
        return layout.totalHeightForWidth(width) if layout is not None else 0

    def sizeHint(self) -> QSize:
        return QSize(_CARD_WIDTH, self.height_at(_CARD_WIDTH))

    def minimumSizeHint(self) -> QSize:
        return QSize(120, 24)

    def _follow(self) -> None:
        self.setEnabled(self._action.isEnabled())


class Welcome(Fitting, QScrollArea):
    """A picture, a headline, a sentence, one button, and samples below it.

    Without enough room, it hides the picture, then the descriptions of samples, then the sentence; after that, it
    scrolls.

    `aside` is an alternative, below the button; `offer` stands beside the button, where there is room.
    """

    def __init__(
        self,
        theme: Theme,
        headline: str,
        sentence: str,
        button: QPushButton,
        aside: str = "",
        cards: Sequence[SampleCard] = (),
        offer: QPushButton | None = None,
    ) -> None:
        super().__init__(widgetResizable=True)
        self._theme = theme
        self._cards = cards
        self._needed = False  # whether the sentence is shown without enough room, too
        self._shade: tuple[object, ...] = ()
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        page = QWidget()
        self._picture = QLabel()
        self.headline = plain_label("headline", headline)
        self.sentence, self._aside = plain_label("muted", sentence), plain_label("muted", aside)
        for label in (self._picture, self.headline, self.sentence, self._aside):
            label.setAlignment(Qt.AlignmentFlag.AlignCenter)
            label.setWordWrap(label is not self._picture)
        self._grid = QGridLayout()
        self._grid.setSpacing(_CARD_GAP)
        texts, middle = (self._picture, self.headline, self.sentence), Qt.AlignmentFlag.AlignHCenter
        self._beside = () if offer is None else (button, offer)
        beside = (button, middle) if offer is None else row(STRETCH, button, offer, STRETCH, spacing=_CARD_GAP)
        content = (STRETCH, *texts, beside, self._aside, self._grid, STRETCH)
        self._column = column(*content, spacing=8, margins=(8, 4, 8, 4), parent=page)
        self._aside.setVisible(bool(aside))
        self.setWidget(page)
        self.viewport().setAutoFillBackground(False)
        page.setAutoFillBackground(False)
        theme.changed.connect(self.fit)
        self._arrange()

    def tell(self, headline: str, sentence: str, *, needed: bool) -> None:
        """Changes what it says; if the sentence is `needed`, it stays without enough room, too."""
        if (headline, sentence, needed) != (self.headline.text(), self.sentence.text(), self._needed):
            self.headline.setText(headline)
            self.sentence.setText(sentence)
            self._needed = needed
            self.fit()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.fit()

    def fit(self) -> None:
        if self.isVisible():
            self._arrange()

    def _arrange(self) -> None:
        width, height = self.viewport().width() - 16, self.viewport().height()
        across = next((count for count in (len(self._cards), 2) if width >= count * _NARROWEST), 1)
        for detail, side in ((2, _PICTURE), (2, _PICTURE * 2 // 3), (2, 0), (1, 0), (0, 0)):
            if self._place(width, across, detail, self._theme.scaled(side) if side else 0) <= height:
                break

    def _place(self, width: int, across: int, detail: int, side: int) -> int:
        """Arranges everything in one way and returns its height."""
        ratio = self.devicePixelRatioF()
        shade = (side, self._theme.palette.accent, ratio)
        if side and shade != self._shade:
            self._shade = shade
            self._picture.setPixmap(icon("welcome", self._theme, "accent").pixmap(QSize(side, side), ratio))
        self._picture.setVisible(side > 0)
        if self._beside:
            beside = sum(one.sizeHint().width() + _CARD_GAP for one in self._beside)
            self._beside[1].setVisible(beside <= width)
        self.sentence.setVisible(detail > 0 or self._needed)
        room = min(width, len(self._cards) * 240)
        for place, card in enumerate(self._cards):
            card.set_brief(detail < 2)
            self._grid.addWidget(card, place // across, place % across)
        each = max((room - (across - 1) * _CARD_GAP) // max(across, 1), 120)
        tallest = max((card.height_at(each) for card in self._cards), default=0)
        for card in self._cards:
            card.setMinimumHeight(tallest)
            card.setMaximumWidth(each if across > 1 else 420)
        return self._column.totalHeightForWidth(width + 16)
