"""Cards at the bottom of the window that offer something: a sentence and buttons."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QPushButton, QToolButton, QWidget

from tokstudio.gui.session.jobs import Notice
from tokstudio.gui.style.icons import icon
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.card import BottomCard

_AFTER_THE_PANES = 250  # milliseconds: before a notice about their change is placed, panes are painted and filled


class RecoveryCard(BottomCard):
    """One sentence, Restore and Discard; if closed, it is shown again at the next start."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        self.restore_button = QPushButton("Restore")
        self.restore_button.setProperty("primary", "true")
        self.discard_button = QPushButton("Discard")
        self.close_button = close_button(theme, "Not now", "Not now: ask again at the next start")
        buttons = (self.restore_button, self.discard_button, self.close_button)
        super().__init__(theme, parent, "Unsaved work", ("info", "accent"), buttons)


class ReportCard(BottomCard):
    """One sentence, Copy Report, Show File and Dismiss."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        self.copy_button = QPushButton("Copy Report")
        self.show_button = QPushButton("Show File")
        self.dismiss_button = QPushButton("Dismiss")
        buttons = (self.copy_button, self.show_button, self.dismiss_button)
        super().__init__(theme, parent, "Crash report", ("warning", "error"), buttons)


class NoticeCard(BottomCard):
    """Shows the newest notice until its button is pressed, it is closed, or there is nothing left to undo."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        self._notice: Notice | None = None
        self.act_button = QPushButton()
        self.close_button = close_button(theme, "Close the notice", "Close")
        super().__init__(theme, parent, "Notice", ("info", "accent"), (self.act_button, self.close_button))
        self.act_button.clicked.connect(self._act)
        self.close_button.clicked.connect(self.clear)

    def tell(self, notice: Notice) -> None:
        """Shows a notice instead of the earlier one, after the panes have shown what it is about."""
        self._notice = notice
        self.text.setText(notice.text)
        self.act_button.setText(notice.verb)
        QTimer.singleShot(_AFTER_THE_PANES, self, self._show)

    def _show(self) -> None:
        if self._notice is not None:
            self.offer(self._notice.text)

    def refresh(self) -> None:
        """Hides the card when there is nothing left to undo."""
        if self._notice is not None and not self._notice.holds():
            self.clear()

    def clear(self) -> None:
        """Hides the card."""
        self._notice = None
        self.offer("")

    def _act(self) -> None:
        notice = self._notice
        self.clear()
        if notice is not None:
            notice.act()


def close_button(theme: Theme, name: str, tip: str) -> QToolButton:
    """A cross that closes something; `name` is its accessible name."""
    button = QToolButton()
    button.setIcon(icon("close", theme))
    button.setAccessibleName(name)
    button.setToolTip(tip)
    return button
