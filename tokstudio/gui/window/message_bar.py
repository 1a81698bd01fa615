"""Messages and offers in strips below the status bar, and a frame that shows where a link has led."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import traceback

from PySide6.QtCore import QPoint, QRect, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QGuiApplication, QPaintEvent, QPen
from PySide6.QtWidgets import QPlainTextEdit, QPushButton, QToolButton, QWidget

from tokstudio.gui.session.common.jobs import Notice
from tokstudio.gui.state.problems import Problem
from tokstudio.gui.style.icons import icon
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.card import BottomCard, Strips
from tokstudio.gui.widgets.labels import ElidedLabel, guarded_painter, named
from tokstudio.gui.widgets.layouts import row
from tokstudio.gui.widgets.menus import link_button, tool_button

# --- A frame around a widget for a moment, to show where a link has led -----------------------------------------------

_SHOWN_FOR = 1500  # milliseconds
_WIDTH = 3  # pixels
_TO_ANSWER = 6  # times as long as to read


class Flash(QWidget):
    """A frame over its parent; pointer events go to what is below."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._over = QTimer(self, singleShot=True, interval=_SHOWN_FOR)
        self._over.timeout.connect(self.hide)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()

    def show_around(self, widget: QWidget) -> None:
        """Shows the frame around a widget of the parent; around one in another window, shows none."""
        around = self.parentWidget()
        if around is None or widget.window() is not around.window():
            self.hide()
            return
        self.setGeometry(QRect(widget.mapTo(around, QPoint()), widget.size()))
        self.show()
        self.raise_()
        self._over.start()

    def paintEvent(self, event: QPaintEvent) -> None:
        with guarded_painter(self) as painter:
            painter.setPen(QPen(QColor(self._theme.palette.accent), 2 * _WIDTH))
            painter.drawRect(self.rect())


# --- Strips at the bottom of the window that offer something: a sentence and buttons ----------------------------------


class RecoveryCard(BottomCard):
    """One sentence, Restore and Discard; if closed, it is shown again at the next start."""

    def __init__(self, theme: Theme, strips: Strips) -> None:
        self.restore_button = QPushButton("Restore")
        self.restore_button.setProperty("primary", "true")
        self.discard_button = QPushButton("Discard")
        self.close_button = close_button(theme, "Not now", "Not now: ask again at the next start")
        buttons = (self.restore_button, self.discard_button, self.close_button)
        super().__init__(theme, strips, "Unsaved work", ("info", "accent"), buttons)


class ReportCard(BottomCard):
    """One sentence, Copy Report, Show File and Dismiss."""

    def __init__(self, theme: Theme, strips: Strips) -> None:
        self.copy_button = QPushButton("Copy Report")
        self.show_button = QPushButton("Show File")
        self.dismiss_button = QPushButton("Dismiss")
        buttons = (self.copy_button, self.show_button, self.dismiss_button)
        super().__init__(theme, strips, "Crash report", ("warning", "error"), buttons)


class NoticeLine(QWidget):
    """Shows the newest notice on one line until its button is pressed, it is closed, or there is nothing left to undo.

    It goes by itself `rest` milliseconds after it was shown, or after the pointer or the focus has left it; one that
    asks something stays six times as long.
    """

    changed = Signal()  # a notice is shown, or none is

    def __init__(self, theme: Theme, rest: int) -> None:
        super().__init__()
        self._notice: Notice | None = None
        self.setAccessibleName("Notice")
        self.text = ElidedLabel()
        self.act_button = link_button("", self._act)
        self.close_button = close_button(theme, "Close the notice", "Close")
        self.close_button.clicked.connect(self.clear)
        row((self.text, 1), self.act_button, self.close_button, spacing=8, margins=(8, 0, 8, 0), parent=self)
        self._patience = rest
        self._over = QTimer(self, singleShot=True, interval=rest)
        self._over.timeout.connect(self._rest)
        self.hide()

    @property
    def notice(self) -> Notice | None:
        """What is shown."""
        return self._notice

    def tell(self, notice: Notice) -> None:
        """Shows a notice instead of the earlier one."""
        self._notice = notice
        self.act_button.setText(notice.verb)
        self.text.setText(notice.text)
        self.changed.emit()
        self._over.start(self._patience * (_TO_ANSWER if notice.asks else 1))

    def add(self, sentence: str) -> None:
        """Shows a sentence behind the notice, if the notice does not say it."""
        if sentence and sentence not in self.text.text():
            self.text.setText(f"{self.text.text()} {sentence}")

    def pause(self, hidden: bool) -> None:
        """Lets no time pass while something hides it."""
        if self._notice is not None:
            self._over.stop() if hidden else self._over.start()

    def _rest(self) -> None:
        focus = self.window().focusWidget()
        if self.underMouse() or (focus is not None and self.isAncestorOf(focus)):
            self._over.start()
        else:
            self.clear()

    def refresh(self) -> None:
        """Removes the notice when there is nothing left to undo."""
        if self._notice is not None and not self._notice.holds():
            self.clear()

    def clear(self) -> None:
        """Removes the notice."""
        if self._notice is not None:
            self._notice = None
            self.text.setText("")
            self.changed.emit()

    def _act(self) -> None:
        notice = self._notice
        self.clear()
        if notice is not None:
            notice.act()


def close_button(theme: Theme, name: str, tip: str) -> QToolButton:
    """A cross that closes something; `name` is its accessible name."""
    return tool_button(tip, icon("close", theme), name=name)


# --- A strip at the bottom of the window that shows an error until it is closed, without blocking the window ----------
# Only one is shown: a newer error replaces it and lists the earlier ones under Details.

_DETAILS_HEIGHT = 180
_MOST_KEPT = 20


class MessageBar(BottomCard):
    """Shows one error at a time: its sentence, and on request the traceback, which can be copied."""

    def __init__(self, theme: Theme, strips: Strips) -> None:
        self._problems: list[Problem] = []
        self.details_button = QPushButton("Details")
        self.details_button.setCheckable(True)
        self.copy_button = QPushButton("Copy")
        self.close_button = close_button(theme, "Close the message", "Close (Esc)")
        buttons = (self.details_button, self.copy_button, self.close_button)
        super().__init__(theme, strips, "Message", ("warning", "error"), buttons)
        self.text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        # Selectable text is drawn a little lower than it is measured.
        self.text.setContentsMargins(0, 0, 0, 4)
        self.details = named(QPlainTextEdit(readOnly=True), "Details")
        self.details.setMaximumHeight(_DETAILS_HEIGHT)
        self.column.addWidget(self.details)
        self.details_button.toggled.connect(self._show_details)
        self.copy_button.clicked.connect(self._copy)
        self.close_button.clicked.connect(self.clear)

    def show_problem(self, problem: Problem) -> None:
        """Shows a sentence, and under Details the traceback of its error and earlier errors."""
        earlier = [one for one in self._problems if one.text != problem.text] if self.isVisible() else []
        self._problems = [problem, *earlier][:_MOST_KEPT]
        trace = "".join(traceback.format_exception(problem.error)) if problem.error is not None else ""
        before = "\n".join(f"Earlier: {one.text}" for one in self._problems[1:])
        self.details.setPlainText("\n\n".join(filter(None, (trace.strip(), before))))
        self.details_button.setChecked(False)
        self.details.hide()
        self.details_button.setVisible(bool(trace or before))
        self.offer(problem.text)

    def clear(self) -> None:
        """Hides the strip and forgets its errors."""
        self._problems = []
        self.offer("")

    def clear_of_training(self) -> None:
        """Hides the strip if it shows an error of a training, which may be solved now."""
        if self._problems and self._problems[0].of_training:
            self.clear()

    def _show_details(self, shown: bool) -> None:
        self.details.setVisible(shown)

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(f"{self.text.text()}\n\n{self.details.toPlainText()}".strip())
