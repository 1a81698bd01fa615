"""Rows and columns of widgets, and a body that scrolls."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import TypeAlias, TypeVar

from PySide6.QtCore import QEvent, QMargins, QObject, QPoint, QRect, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QGuiApplication, QResizeEvent, QTextCursor, QWheelEvent
from PySide6.QtWidgets import (
    QAbstractScrollArea,
    QApplication,
    QBoxLayout,
    QDialog,
    QFrame,
    QHBoxLayout,
    QLabel,
    QLayout,
    QPlainTextEdit,
    QScrollArea,
    QSizePolicy,
    QSplitter,
    QSplitterHandle,
    QStackedWidget,
    QTableView,
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


def in_card(content: QWidget) -> QFrame:
    """A card around what may scroll."""
    card = QFrame()
    card.setProperty("card", "true")
    column(content, margins=(4, 4, 4, 4), parent=card)
    return card


def set_tab_order(*widgets: QWidget) -> None:
    """Lets Tab go through widgets in this order. Qt ignores those that do not take the focus by Tab."""
    for one, other in pairwise(widgets):
        QWidget.setTabOrder(one, other)


def in_tab_order(widget: QWidget) -> list[QWidget]:
    """What takes the focus in a widget, in the order in which Tab goes through the window."""
    none = Qt.FocusPolicy.NoFocus
    left = {one for one in widget.findChildren(QWidget) if one.focusPolicy() != none and widget.isAncestorOf(one)}
    controls, after = [], widget.nextInFocusChain()
    # They follow soon, while the whole way takes a look at each widget of the window.
    while left and after is not None and after is not widget:
        if after in left:
            left.remove(after)
            controls.append(after)
        after = after.nextInFocusChain()
    return controls


def after_tab(window: QWidget, left_out: Callable[[QWidget], bool], *, forwards: bool) -> QWidget | None:
    """The control of a window that has the focus after Tab, or else after Shift and Tab, without those `left_out`.

    Qt finds none without giving it the focus, in which a table chooses its first row.
    """
    every = QGuiApplication.styleHints().tabFocusBehavior() == Qt.TabFocusBehavior.TabFocusAllControls
    policy = Qt.FocusPolicy.TabFocus if every else Qt.FocusPolicy.StrongFocus
    step = QWidget.nextInFocusChain if forwards else QWidget.previousInFocusChain
    now = window.focusWidget() or window
    # The first may be gone from the order, as while a workspace is left.
    at, tried = step(now), {now}
    while at is not None and at not in tried:
        takes = at.focusPolicy() & policy == policy and at.focusProxy() is None
        if takes and at.isEnabled() and at.isVisibleTo(window) and not left_out(at):
            return at
        tried.add(at)
        at = step(at)
    return None


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


def give_way(*parts: QWidget) -> None:
    """Keeps parts that `fit` hides in a low pane out of the least height of the window, which can then become low."""
    for part in parts:
        part.setMinimumHeight(1)


def resize_on_screen(dialog: QDialog, theme: Theme, size: QSize) -> None:
    """Gives a dialog a size that was designed for the usual text, or less where the screen is smaller."""
    room = dialog.screen().availableSize() - QSize(_FRAME, _FRAME)
    dialog.resize(QSize(theme.scaled(size.width()), theme.scaled(size.height())).boundedTo(room))


class Canvas(QAbstractScrollArea):
    """An area without a frame whose content is painted, and scrolls up and down."""

    def __init__(self, name: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.content_height = 0  # in pixels
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(name)
        self.viewport().setMouseTracking(True)

    def scroll_through(self, height: int, step: int, page: int | None = None) -> None:
        """Sets the height of the content, that of a row, and that of the visible part; None for the whole area."""
        bar, page = self.verticalScrollBar(), self.viewport().height() if page is None else page
        self.content_height = height
        bar.setRange(0, max(0, height - page))
        bar.setPageStep(max(1, page))
        bar.setSingleStep(step)
        self.viewport().update()


# --- A vertically scrolling body for panes that cuts no line and keeps the focused control visible --------------------

_LEAST_HEIGHT = 48
_AROUND = 4  # pixels above and below a widget that is scrolled into view
#: Milliseconds without scrolling, after which a cut line moves into sight.
REST = 150
_LARGE = 0.4  # the share of a body from which on a table or text in it may be cut, between its rows


class TallBody(QScrollArea):
    """Shows `content` at full width and scrolls it vertically; no line of it is cut at the upper or lower edge.

    A control that gets the focus is scrolled into view together with its field, such as its label and help. The tables
    and texts `inner` scroll in their own height while everything else fits; otherwise they are as high as their
    content, so that only the body scrolls.
    """

    room_changed = Signal(int)  # the available height in pixels

    def __init__(self, content: QWidget, *inner: QAbstractScrollArea) -> None:
        super().__init__()
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setWidget(content)
        self._kept: QWidget | None = None
        self._kept_at_top = False
        self._inner = {one: one.minimumHeight() for one in inner}
        for one in inner:
            # Not higher than needed: it gets the room that is left anyway.
            one.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Ignored)
        self._trimming = False
        self._rested_at = 0
        self._rests = QTimer(self, singleShot=True, interval=REST)
        self._rests.timeout.connect(self._begin_at_line)
        self._later = QTimer(self, singleShot=True, interval=0)
        self._later.timeout.connect(self.fit_inner)
        self.verticalScrollBar().valueChanged.connect(self._end_at_line)
        self.verticalScrollBar().valueChanged.connect(self._wait_for_rest)
        self.verticalScrollBar().actionTriggered.connect(self._forget_kept)
        # The card draws the background.
        self.viewport().setAutoFillBackground(False)
        content.setAutoFillBackground(False)
        application = QApplication.instance()
        if isinstance(application, QApplication):
            application.focusChanged.connect(self._follow_focus)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Updates the size of the content, and keeps the focused control visible while the content grows."""
        if watched is self.widget():
            if event.type() == QEvent.Type.LayoutRequest:
                self.updateGeometry()
                self._keep_focus_visible()
            if event.type() in (QEvent.Type.LayoutRequest, QEvent.Type.Resize):
                self._later.start()
            if event.type() == QEvent.Type.Resize:
                # Qt would resize it again at once, without end where a shortened text needs more lines at other widths.
                return False
        return super().eventFilter(watched, event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Emits `room_changed`, and keeps the focused control visible while the body shrinks."""
        super().resizeEvent(event)
        if not self._trimming:
            self.room_changed.emit(self.height())
            self._later.start()
            self._keep_focus_visible()
            self._end_at_line()

    def event(self, event: QEvent) -> bool:
        """Lets the wheel scroll over the empty room below the last whole line, too."""
        if isinstance(event, QWheelEvent):
            self.wheelEvent(event)
            return event.isAccepted()
        return super().event(event)

    def minimumSizeHint(self) -> QSize:
        """Returns the least width of the content with a scroll bar, and the height of a few lines."""
        content = self.widget()
        width = content.minimumSizeHint().width() if content is not None else 0
        return QSize(width + self.verticalScrollBar().sizeHint().width(), _LEAST_HEIGHT)

    def sizeHint(self) -> QSize:
        content = self.widget()
        return content.sizeHint() if content is not None else super().sizeHint()

    # ---- what is inside scrolls by itself, or is as high as its content

    def set_least(self, inner: QAbstractScrollArea, height: int) -> None:
        """Sets the least height with which a part of the content scrolls by itself."""
        self._inner[inner] = height
        self._later.start()

    def fit_inner(self) -> None:
        """Lets the inner parts scroll if their least heights fit, or gives them all of their height."""
        content = self.widget()
        if content is None or not self.isVisible():
            return
        layout = content.layout()
        if self._inner and layout is not None:
            surplus = sum(one.minimumHeight() - least for one, least in self._inner.items())
            needed = max(layout.totalMinimumHeightForWidth(self.width()), layout.totalMinimumSize().height()) - surplus
            fits = needed <= self.height()
            for one, least in self._inner.items():
                one.setMinimumHeight(least if fits else _whole_height(one))
            # Qt counts the lines of labels or the least heights of the rest, but not both.
            whole = 0 if fits else layout.totalMinimumHeightForWidth(self.viewport().width())
            content.setMinimumHeight(max(whole, 0))
            for splitter in self.findChildren(QSplitter):
                splitter.setMinimumHeight(splitter.minimumSizeHint().height())
        self._end_at_line()
        self._rests.start()

    def _wait_for_rest(self) -> None:
        # `start` itself would take the value of the scroll bar for its milliseconds.
        self._rests.start()

    # ---- whole lines

    def _end_at_line(self) -> None:
        """Leaves the room below the last whole line empty."""
        content, room = self.widget(), self.height()
        if content is None or self._trimming:
            return
        top, bottom = self.verticalScrollBar().value(), 0
        if content.height() > room:
            cut = (first for first, after in self._lines(content) if first < top + room < after)
            end = min(next(cut, top + room), content.height())
            bottom = top + room - end if end > top + room // 2 else 0
        self._leave_empty(bottom)

    def _leave_empty(self, bottom: int) -> None:
        margins = self.viewportMargins()
        if bottom != margins.bottom():
            margins.setBottom(bottom)
            self._trimming = True
            self.setViewportMargins(margins)
            self._trimming = False

    def _begin_at_line(self) -> None:
        """Moves on to the beginning of a line, in the direction of the last move."""
        content, bar = self.widget(), self.verticalScrollBar()
        if content is None or bar.isSliderDown():
            return
        value, end = bar.value(), content.height() - self.height()
        if value > 0 and end > 0:
            firsts = [first for first, _ in self._lines(content)]
            last = min((first for first in firsts if first >= end), default=end)
            tops = [0, *(first for first in firsts if first < end), last]
            below, above = (at for at in tops if at >= value), (at for at in tops if at <= value)
            bar.setMaximum(max(bar.maximum(), last))
            next_line, this_line = min(below, default=last), max(above)
            wanted, other = (next_line, this_line) if value > self._rested_at else (this_line, next_line)
            bar.setValue(other if self._hides(content, wanted) and not self._hides(content, other) else wanted)
        self._rested_at = bar.value()

    def _hides(self, content: QWidget, value: int) -> bool:
        """Whether an end of what is kept visible, or of the field with the focus, would go out of sight."""
        part = self._kept if self._kept is not None and content.isAncestorOf(self._kept) else self._focused_field()
        if part is None:
            return False
        now, room = self.verticalScrollBar().value(), self.height()
        first = part.mapTo(content, QPoint()).y()
        after = first + part.height()
        return now <= first < value or value + room < after <= now + room

    def _lines(self, content: QWidget) -> list[tuple[int, int]]:
        top, room = self.verticalScrollBar().value(), self.height()
        return _lines_of(content, range(top - room, top + 2 * room), round(_LARGE * room))

    def bring_to_top(self, inner: QWidget) -> None:
        """Does the same as `keep_visible`, but at the top, or as near as possible."""
        self.keep_visible(inner)
        self._kept_at_top = True

    def keep_visible(self, inner: QWidget) -> None:
        """Scrolls to `inner` after the layout, and keeps it visible until the user scrolls or moves the focus.

        If it is taller than the body, its end is shown.
        """
        self._kept, self._kept_at_top = inner, False
        QTimer.singleShot(0, self, self._show_kept)

    def _forget_kept(self) -> None:
        self._kept = None

    def _show_kept(self) -> None:
        content, kept = self.widget(), self._kept
        if content is None or kept is None or not content.isAncestorOf(kept):
            return
        self._leave_empty(0)
        top = kept.mapTo(content, QPoint()).y()
        if self._kept_at_top:
            self.verticalScrollBar().setValue(top)
        else:
            for y in (top - _AROUND, top + kept.height() + _AROUND):
                self.ensureVisible(0, y, 0, 0)
        self._end_at_line()

    def _inner_focus(self) -> QWidget | None:
        """The part of the content with the focus."""
        content, focus = self.widget(), QApplication.focusWidget()
        return focus if content is not None and focus is not None and content.isAncestorOf(focus) else None

    def _focused_field(self) -> QWidget | None:
        """The part of the content with the focus, with what belongs to it where there is room for that."""
        focus = self._inner_focus()
        around = focus.parentWidget() if focus is not None else None
        return around if around is not None and around.height() + 2 * _AROUND <= self.viewport().height() else focus

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
            # What the mouse presses stays below it until the button is released: else it would not be clicked.
            if not QApplication.mouseButtons():
                # Later, as a widget that was just shown has no layout yet.
                QTimer.singleShot(0, self, self._show_focus)

    def _show_focus(self) -> None:
        content, focus = self.widget(), self._inner_focus()
        if content is None or focus is None:
            return
        if focus.height() > self.viewport().height() and not focus.visibleRegion().isEmpty():
            return  # it scrolls to what is current in it
        self._leave_empty(0)
        shown = self._focused_field() or focus
        middle = shown.mapTo(content, QPoint(shown.width() // 2, shown.height() // 2))
        self.ensureVisible(0, middle.y(), 0, shown.height() // 2 + _AROUND)
        self._end_at_line()


def scrolls_body(inner: QWidget) -> bool:
    """Whether the wheel over an inner view scrolls the body: the body can scroll and the view has no focus."""
    around = inner.parentWidget()
    while around is not None and not isinstance(around, TallBody):
        around = around.parentWidget()
    return around is not None and around.verticalScrollBar().maximum() > 0 and not inner.hasFocus()


def show_in_body(inner: QWidget, part: QRect) -> None:
    """Scrolls the body around an inner view, if there is one, to a part of the view."""
    around = inner.parentWidget()
    while around is not None and not isinstance(around, TallBody):
        around = around.parentWidget()
    content = around.widget() if around is not None else None
    if around is not None and content is not None and around.verticalScrollBar().maximum() > 0:
        for point in (part.topLeft(), part.bottomLeft()):
            around.ensureVisible(0, inner.mapTo(content, point).y(), 0, 0)


def _lines_of(content: QWidget, near: range, large: int) -> list[tuple[int, int]]:
    """The parts of the content that are not to be cut, from top to bottom: their first pixel, and the one after.

    Only those near some pixels are given for tables and texts that are higher than `large`.
    """
    pieces = sorted(_pieces_of(content, content, near, large))
    lines: list[tuple[int, int]] = []
    for first, after in pieces:
        if lines and first < lines[-1][1]:
            lines[-1] = lines[-1][0], max(after, lines[-1][1])
        else:
            lines.append((first, after))
    return lines


def _pieces_of(inner: QWidget, content: QWidget, near: range, large: int) -> Iterator[tuple[int, int]]:
    for child in inner.children():
        if not isinstance(child, QWidget) or child.isHidden() or isinstance(child, QSplitterHandle):
            continue
        top, height = child.mapTo(content, QPoint()).y(), child.height()
        if isinstance(child, QAbstractScrollArea) and child.verticalScrollBar().maximum() == 0 and height > large:
            first = top + child.viewport().mapTo(child, QPoint()).y()
            if isinstance(child, QPlainTextEdit):
                first += child.cursorRect(QTextCursor(child.document())).top()
            yield top, first
            yield from _rows(first, top + height, _row_height(child), near)
        elif isinstance(child, QLabel) and child.wordWrap():
            yield from _rows(top, top + height, child.fontMetrics().lineSpacing(), near)
        elif child.layout() is not None or isinstance(child, QSplitter):
            yield from _pieces_of(child, content, near, large)
        elif type(child) is not QWidget:
            yield top, top + height


def _whole_height(area: QAbstractScrollArea) -> int:
    """The height with which a table or canvas has nothing to scroll."""
    if isinstance(area, QTableView):
        rows = area.model().rowCount() * area.verticalHeader().defaultSectionSize()
        return area.horizontalHeader().height() + rows + 2 * area.frameWidth()
    return area.content_height if isinstance(area, Canvas) else area.minimumHeight()


def _row_height(area: QAbstractScrollArea) -> int:
    if isinstance(area, QTableView):
        return area.verticalHeader().defaultSectionSize()
    return area.verticalScrollBar().singleStep() if isinstance(area, Canvas) else area.fontMetrics().lineSpacing()


def _rows(first: int, after: int, height: int, near: range) -> Iterator[tuple[int, int]]:
    begin = first + max(near.start - first, 0) // height * height
    for top in range(begin, min(after, near.stop), height):
        yield top, min(top + height, after)
