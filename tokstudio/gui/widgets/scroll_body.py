"""The body of a pane that may be taller than the pane: it scrolls, but never sideways, and follows the keyboard."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QPoint, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QApplication, QFrame, QScrollArea, QWidget

_LEAST_HEIGHT = 48
_AROUND = 4  # pixels that stay free above and below what is brought into sight


class TallBody(QScrollArea):
    """Shows `content` in full width and, where there is no room for all of it, a part of its height.

    What gets the keyboard comes into sight together with what stands around it, such as a field's line of help.

    Signals:
        room_changed: How many pixels of height there are now.
    """

    room_changed = Signal(int)

    def __init__(self, content: QWidget) -> None:
        super().__init__()
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setWidget(content)
        self._kept: QWidget | None = None
        self.verticalScrollBar().actionTriggered.connect(self._let_go)
        # The card is the background.
        self.viewport().setAutoFillBackground(False)
        content.setAutoFillBackground(False)
        application = QApplication.instance()
        if isinstance(application, QApplication):
            application.focusChanged.connect(self._follow_focus)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Passes on that the content wants another size; what the person is at stays in sight as it grows."""
        if watched is self.widget() and event.type() == QEvent.Type.LayoutRequest:
            self.updateGeometry()
            self._keep_focus_in_sight()
        return super().eventFilter(watched, event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Tells how much room there is; what the person is at stays in sight as it shrinks."""
        super().resizeEvent(event)
        self.room_changed.emit(self.viewport().height())
        self._keep_focus_in_sight()

    def minimumSizeHint(self) -> QSize:
        """Gives the width that the content cannot do without beside a scroll bar, and a few lines of height."""
        content = self.widget()
        width = content.minimumSizeHint().width() if content is not None else 0
        return QSize(width + self.verticalScrollBar().sizeHint().width(), _LEAST_HEIGHT)

    def sizeHint(self) -> QSize:
        """Gives the size of the whole content."""
        content = self.widget()
        return content.sizeHint() if content is not None else super().sizeHint()

    def bring_to_top(self, inner: QWidget) -> None:
        """Scrolls, once all is laid out, so that `inner` stands at the top, or as near to it as can be."""
        content = self.widget()
        if content is not None:
            QTimer.singleShot(0, content, lambda: self.verticalScrollBar().setValue(inner.mapTo(content, QPoint()).y()))

    def keep_in_sight(self, inner: QWidget) -> None:
        """Scrolls, once all is laid out, to `inner`, and stays there until the person scrolls or the keyboard moves.

        Of what is taller than the room, the end is shown.
        """
        self._kept = inner
        QTimer.singleShot(0, self, self._show_kept)

    def _let_go(self) -> None:
        self._kept = None

    def _show_kept(self) -> None:
        content, kept = self.widget(), self._kept
        if content is None or kept is None or not content.isAncestorOf(kept):
            return
        top = kept.mapTo(content, QPoint()).y()
        for y in (top - _AROUND, top + kept.height() + _AROUND):
            self.ensureVisible(0, y, 0, 0)

    def _inner_focus(self) -> QWidget | None:
        """What in the content has the keyboard."""
        content, focus = self.widget(), QApplication.focusWidget()
        return focus if content is not None and focus is not None and content.isAncestorOf(focus) else None

    def _keep_focus_in_sight(self) -> None:
        if self._kept is not None:
            QTimer.singleShot(0, self, self._show_kept)
            return
        focus = self._inner_focus()
        # Who has scrolled away from it wants to look at something else.
        if focus is not None and not focus.visibleRegion().isEmpty():
            QTimer.singleShot(0, self, self._show_focus)

    def _follow_focus(self) -> None:
        if self._inner_focus() is not None:
            self._kept = None
            # Later: what has just been shown is not laid out yet.
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
    """Whether the wheel over an inner view is for the body around it: that can scroll, and nobody is in the view."""
    around = inner.parentWidget()
    while around is not None and not isinstance(around, TallBody):
        around = around.parentWidget()
    return around is not None and around.verticalScrollBar().maximum() > 0 and not inner.hasFocus()
