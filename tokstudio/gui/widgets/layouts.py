"""Rows and columns of widgets, and a body that scrolls."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from itertools import pairwise
from typing import TypeAlias, TypeVar

from PySide6.QtCore import QEvent, QMargins, QObject, QPoint, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QAbstractScrollArea,
    QApplication,
    QBoxLayout,
    QDialog,
    QFrame,
    QHBoxLayout,
    QLayout,
    QScrollArea,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from tokstudio.gui.style.theme import Theme

# --- Columns, rows and stacks of widgets, as one expression, lines between them, and the order of Tab -----------------

#: A widget or layout; with its share of the remaining room or its alignment; a number is a space in pixels.
Item: TypeAlias = QWidget | QLayout | int | tuple[QWidget | QLayout, int | Qt.AlignmentFlag]
_Box = TypeVar("_Box", bound=QBoxLayout)

STRETCH = -1  # an item: room that is left over

_FRAME = 64  # pixels of the screen that the title bar and borders of a dialog need


def column(
    *items: Item, spacing: int = -1, margins: tuple[int, int, int, int] = (0, 0, 0, 0), parent: QWidget | None = None
) -> QVBoxLayout:
    """Items from top to bottom that fill `parent`, with pixels between them (-1: the style's) and around them."""
    return _filled(QVBoxLayout(), items, spacing, margins, parent)


def row(
    *items: Item, spacing: int = -1, margins: tuple[int, int, int, int] = (0, 0, 0, 0), parent: QWidget | None = None
) -> QHBoxLayout:
    """Items from left to right; see `column`."""
    return _filled(QHBoxLayout(), items, spacing, margins, parent)


def _filled(
    box: _Box, items: tuple[Item, ...], spacing: int, margins: tuple[int, int, int, int], parent: QWidget | None
) -> _Box:
    if parent is not None:
        parent.setLayout(box)
    box.setSpacing(spacing)
    box.setContentsMargins(QMargins(*margins))
    for item in items:
        _add(box, item)
    return box


def _add(box: QBoxLayout, item: Item) -> None:
    if isinstance(item, int):
        box.addStretch(1) if item == STRETCH else box.addSpacing(item)
        return
    one, how = item if isinstance(item, tuple) else (item, 0)
    share, alignment = (0, how) if isinstance(how, Qt.AlignmentFlag) else (how, Qt.AlignmentFlag(0))
    if isinstance(one, QLayout):
        box.addLayout(one, share)
    else:
        box.addWidget(one, share, alignment)


def stacked(*pages: QWidget) -> QStackedWidget:
    """Pages of which one is shown."""
    stack = QStackedWidget()
    for page in pages:
        stack.addWidget(page)
    return stack


def set_tab_order(*widgets: QWidget) -> None:
    """Lets Tab go through widgets in this order. Qt ignores those that do not take the focus by Tab."""
    for one, other in pairwise(widgets):
        QWidget.setTabOrder(one, other)


def rule() -> QFrame:
    """A thin line between rows."""
    line = QFrame()
    line.setProperty("rule", "true")
    return line


class Fitting:
    """A widget that calls `fit` whenever its size has changed; stands before the class of Qt among the bases."""

    def fit(self) -> None:
        """Fits what it shows to its size."""
        raise NotImplementedError

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Fits it, after Qt has done its part."""
        super().resizeEvent(event)  # pyright: ignore[reportAttributeAccessIssue]
        self.fit()


def resize_on_screen(dialog: QDialog, theme: Theme, size: QSize) -> None:
    """Gives a dialog a size that was designed for the usual text, or less where the screen is smaller."""
    room = dialog.screen().availableSize() - QSize(_FRAME, _FRAME)
    dialog.resize(QSize(theme.scaled(size.width()), theme.scaled(size.height())).boundedTo(room))


class Canvas(QAbstractScrollArea):
    """An area without a frame whose content is painted, and scrolls up and down."""

    def __init__(self, name: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(name)
        self.viewport().setMouseTracking(True)

    def scroll_through(self, height: int, step: int, page: int | None = None) -> None:
        """Sets the height of the content, that of a row, and that of the visible part; None for the whole area."""
        bar, page = self.verticalScrollBar(), self.viewport().height() if page is None else page
        bar.setRange(0, max(0, height - page))
        bar.setPageStep(max(1, page))
        bar.setSingleStep(step)
        self.viewport().update()


# --- A vertically scrolling body for panes that keeps the focused control visible -------------------------------------

_LEAST_HEIGHT = 48
_AROUND = 4  # pixels above and below a widget that is scrolled into view


class TallBody(QScrollArea):
    """Shows `content` at full width and scrolls it vertically.

    A control that gets the focus is scrolled into view together with its field, such as its label and help.
    """

    room_changed = Signal(int)  # the available height in pixels

    def __init__(self, content: QWidget) -> None:
        super().__init__()
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setWidget(content)
        self._kept: QWidget | None = None
        self.verticalScrollBar().actionTriggered.connect(self._forget_kept)
        # The card draws the background.
        self.viewport().setAutoFillBackground(False)
        content.setAutoFillBackground(False)
        application = QApplication.instance()
        if isinstance(application, QApplication):
            application.focusChanged.connect(self._follow_focus)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Updates the size of the content, and keeps the focused control visible while the content grows."""
        if watched is self.widget() and event.type() == QEvent.Type.LayoutRequest:
            self.updateGeometry()
            self._keep_focus_visible()
        return super().eventFilter(watched, event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Emits `room_changed`, and keeps the focused control visible while the body shrinks."""
        super().resizeEvent(event)
        self.room_changed.emit(self.viewport().height())
        self._keep_focus_visible()

    def minimumSizeHint(self) -> QSize:
        """Returns the least width of the content with a scroll bar, and the height of a few lines."""
        content = self.widget()
        width = content.minimumSizeHint().width() if content is not None else 0
        return QSize(width + self.verticalScrollBar().sizeHint().width(), _LEAST_HEIGHT)

    def sizeHint(self) -> QSize:
        content = self.widget()
        return content.sizeHint() if content is not None else super().sizeHint()

    def bring_to_top(self, inner: QWidget) -> None:
        """Scrolls `inner` to the top, or as near as possible, after the layout."""
        content = self.widget()
        if content is not None:
            QTimer.singleShot(0, content, lambda: self.verticalScrollBar().setValue(inner.mapTo(content, QPoint()).y()))

    def keep_visible(self, inner: QWidget) -> None:
        """Scrolls to `inner` after the layout, and keeps it visible until the user scrolls or moves the focus.

        If it is taller than the body, its end is shown.
        """
        self._kept = inner
        QTimer.singleShot(0, self, self._show_kept)

    def _forget_kept(self) -> None:
        self._kept = None

    def _show_kept(self) -> None:
        content, kept = self.widget(), self._kept
        if content is None or kept is None or not content.isAncestorOf(kept):
            return
        top = kept.mapTo(content, QPoint()).y()
        for y in (top - _AROUND, top + kept.height() + _AROUND):
            self.ensureVisible(0, y, 0, 0)

    def _inner_focus(self) -> QWidget | None:
        """The part of the content with the focus."""
        content, focus = self.widget(), QApplication.focusWidget()
        return focus if content is not None and focus is not None and content.isAncestorOf(focus) else None

    def _keep_focus_visible(self) -> None:
        if self._kept is not None:
            QTimer.singleShot(0, self, self._show_kept)
            return
        focus = self._inner_focus()
        # If it is not visible, the user has scrolled away from it.
        if focus is not None and not focus.visibleRegion().isEmpty():
            QTimer.singleShot(0, self, self._show_focus)

    def _follow_focus(self) -> None:
        if self._inner_focus() is not None:
            self._kept = None
            # Later, as a widget that was just shown has no layout yet.
            QTimer.singleShot(0, self, self._show_focus)

    def _show_focus(self) -> None:
        content, focus = self.widget(), self._inner_focus()
        if content is None or focus is None:
            return
        around = focus.parentWidget()
        shown = around if around is not None and around.height() + 2 * _AROUND <= self.viewport().height() else focus
        middle = shown.mapTo(content, QPoint(shown.width() // 2, shown.height() // 2))
        self.ensureVisible(0, middle.y(), 0, shown.height() // 2 + _AROUND)


def scrolls_body(inner: QWidget) -> bool:
    """Whether the wheel over an inner view scrolls the body: the body can scroll and the view has no focus."""
    around = inner.parentWidget()
    while around is not None and not isinstance(around, TallBody):
        around = around.parentWidget()
    return around is not None and around.verticalScrollBar().maximum() > 0 and not inner.hasFocus()
