"""The bases of panes and dialogs: a dock with a title, a row for controls and a body; a window with a note or work."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from PySide6.QtCore import QEvent, QSize, Qt, QTimer
from PySide6.QtGui import QMoveEvent
from PySide6.QtWidgets import QDialog, QDockWidget, QFrame, QHBoxLayout, QSizePolicy, QTabBar, QVBoxLayout, QWidget

from tokstudio.core.base.progress import Progress, Work
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.fields import say
from tokstudio.gui.widgets.labels import paragraph_label, plain_label
from tokstudio.gui.widgets.layouts import Item, column, resize_on_screen
from tokstudio.gui.widgets.menus import push_button
from tokstudio.gui.widgets.work_line import ProgressBar

_MARGIN = 12
_NARROWEST = 260


class _Header(QWidget):
    """The row of the title; it can become narrower than its content."""

    def __init__(self) -> None:
        super().__init__()
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.row = QHBoxLayout(self)

    def event(self, event: QEvent) -> bool:
        """Passes on changes of the content. A layout of the docks would ask a size hint a thousand times."""
        done = super().event(event)
        # What is in it gets its style after it, and asks for no new layout before it is shown.
        if event.type() in (QEvent.Type.LayoutRequest, QEvent.Type.Polish, QEvent.Type.Show):
            self.setMinimumWidth(min(self.row.minimumSize().width(), _NARROWEST))
        return done


class Pane(QDockWidget):
    """A movable, closable card.

    Add controls to `header` (after the title, right-aligned) and the content to `body`. The `key` is its name in saved
    layouts; it is never shown and never changed.
    """

    def __init__(self, key: str, title: str, parent: QWidget | None = None) -> None:
        super().__init__(title, parent)
        self.setObjectName(key)
        self.setFeatures(
            QDockWidget.DockWidgetFeature.DockWidgetMovable
            | QDockWidget.DockWidgetFeature.DockWidgetClosable
            | QDockWidget.DockWidgetFeature.DockWidgetFloatable
        )
        top, header = QFrame(), _Header()
        top.setProperty("card", "top")
        column(header, parent=top)
        self.header = header.row
        self.header.setContentsMargins(_MARGIN, 10, _MARGIN, 4)
        self.header.setSpacing(8)
        self.title = plain_label("title", title)
        self.header.addWidget(self.title)
        self.header.addStretch(1)
        self.setTitleBarWidget(top)

        bottom = QFrame()
        bottom.setProperty("card", "bottom")
        self.body = column(spacing=8, margins=(_MARGIN, 4, _MARGIN, _MARGIN), parent=bottom)
        self.setWidget(bottom)
        self.seen = False  # the last value of `visibilityChanged`; hidden panes do no work
        self.visibilityChanged.connect(self._see)

    def moveEvent(self, event: QMoveEvent) -> None:
        """Checks for a change of visibility after a move."""
        super().moveEvent(event)
        QTimer.singleShot(0, self, self._check_visible)

    def catch_up(self) -> None:
        """Shows the current state of the session; called when the pane appears, as it is not followed while hidden."""

    def leave(self) -> None:
        """Ends what is only done while the pane is seen."""

    def _see(self, seen: bool) -> None:
        if seen != self.seen:
            self.seen = seen
            (self.catch_up if seen else self.leave)()

    def _check_visible(self) -> None:
        """Emits `visibilityChanged` where Qt does not: when a pane leaves a group of tabs."""
        if not self.seen and not self.visibleRegion().isEmpty():
            self.visibilityChanged.emit(True)

    def arrive(self, part: str) -> None:
        """Shows a part of the pane, and takes the focus where there is something to type, after a link led here."""

    def show_title(self, shown: bool) -> None:
        """Hides the title while a tab shows it."""
        self.title.setVisible(shown)


class EmptyState(QWidget):
    """The content of an empty pane: what will be there, in one or two sentences, and the means to fill it."""

    def __init__(self, text: str, *actions: QWidget) -> None:
        super().__init__()
        layout = QVBoxLayout(self)
        layout.setSpacing(10)
        layout.addStretch(1)
        self.label = plain_label("muted", text)
        self.label.setWordWrap(True)
        self.label.setAlignment(Qt.AlignmentFlag.AlignCenter)
        layout.addWidget(self.label)
        for action in actions:
            layout.addWidget(action, 0, Qt.AlignmentFlag.AlignCenter)
        layout.addStretch(1)


class HeaderTabs(QTabBar):
    """One tab for each view of a pane; `tips` has the text of each, with its tip."""

    def __init__(self, name: str, tips: Mapping[str, str]) -> None:
        super().__init__()
        # Smaller than the tabs of a page, as the header has little room.
        self.setProperty("small", True)
        self.setExpanding(False)
        self.setAccessibleName(name)
        for tab, (words, tip) in enumerate(tips.items()):
            self.addTab(words)
            self.setTabToolTip(tab, tip)


class Dialog(QDialog):
    """A window over its parent, which it blocks if it is `modal`; it is deleted when it is closed."""

    def __init__(self, title: str, parent: QWidget | None, *, modal: bool = True) -> None:
        super().__init__(parent)
        self.setWindowTitle(title)
        if modal:
            self.setWindowModality(Qt.WindowModality.WindowModal)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.note = paragraph_label("muted")  # says at the bottom what is going on, or what is wrong

    def fill(self, theme: Theme, size: QSize, *parts: Item) -> None:
        """Lays out the parts from top to bottom, and gives the dialog the size that was designed for the usual text."""
        column(*parts, spacing=10, margins=(20, 16, 20, 16), parent=self)
        resize_on_screen(self, theme, size)

    def say(self, text: str, role: str = "muted") -> None:
        """Shows a text in the note."""
        say(self.note, text, role)


class _Job(Protocol):
    """What does work elsewhere, one at a time."""

    @property
    def busy(self) -> bool: ...
    @property
    def progress(self) -> Progress: ...
    def run(self, work: Callable[[], Work[Any]]) -> None: ...
    def cancel(self) -> None: ...


class WorkDialog(Dialog):
    """A dialog that does work and stays open: a bar shows how far it is, and Cancel ends it before the dialog.

    A subclass makes the `_job`, whose ends call `_settle`, and lays out the bar and the button. A `tick` is the
    milliseconds between two looks at the progress.
    """

    _job: _Job
    _leave = "Close"  # the text of the button while there is no work

    def __init__(self, title: str, tick: int, parent: QWidget | None, *, modal: bool = True) -> None:
        super().__init__(title, parent, modal=modal)
        self.bar = ProgressBar()
        self.close_button = push_button(self._leave, self.reject)
        self._timer = QTimer(self, interval=tick)
        self._timer.timeout.connect(self._show_progress)

    @property
    def is_busy(self) -> bool:
        """Whether work goes on."""
        return self._job.busy

    # ---- what a subclass does

    def _refresh(self) -> None:
        """Lets the user do what can be done now; calls `_show_busy`."""
        raise NotImplementedError

    def _doing(self, progress: Progress) -> str:
        """What is going on, a sentence."""
        raise NotImplementedError

    def _cancelled(self) -> str:
        """What is said after Cancel."""
        return "Cancelled."

    # ---- working

    def _begin(self, work: Callable[[], Work[Any]]) -> None:
        """Begins work, which Escape and Enter then cancel."""
        self._job.run(work)
        self._refresh()
        self.close_button.setFocus()
        self._timer.start()
        self._show_progress()

    def _show_busy(self, *inputs: QWidget) -> None:
        """Shows whether work goes on, during which the inputs cannot be changed."""
        busy = self.is_busy
        for widget in inputs:
            widget.setEnabled(not busy)
        self.close_button.setText("Cancel" if busy else self._leave)
        self.bar.setVisible(busy)

    def _show_progress(self) -> None:
        progress = self._job.progress
        self.bar.show_progress(progress)
        if self.is_busy:
            self.say(self._doing(progress))

    def _settle(self, text: str, role: str = "muted") -> None:
        """Says how the work has ended."""
        self._timer.stop()
        self._refresh()
        self.say(text, role)

    def reject(self) -> None:
        """Cancels the work; closes the dialog if there is none."""
        if self.is_busy:
            self._job.cancel()
            self._settle(self._cancelled())
        else:
            super().reject()
