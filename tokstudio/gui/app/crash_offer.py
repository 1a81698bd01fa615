"""Offers the report of an earlier crash, after any offer of unsaved work."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject
from PySide6.QtGui import QGuiApplication

from tokstudio.core.base.progress import Progress, Work
from tokstudio.gui.app.crash_report import Report, left_reports
from tokstudio.gui.session.session import Session
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.window.main_window import MainWindow
from tokstudio.gui.window.offer_cards import ReportCard

_KEPT = "A report was kept on this computer. It is not sent anywhere."


class ReportOffer(QObject):
    """Looks for reports after the search for unsaved work, and shows them one after another."""

    def __init__(self, window: MainWindow, session: Session, theme: Theme, folder: Path) -> None:
        super().__init__(window)
        self._window = window
        self._jobs = session.jobs
        self._folder = folder
        self._reports: list[Report] = []
        self._looked = False
        self.card = ReportCard(theme, window)
        self.card.copy_button.clicked.connect(self._copy)
        self.card.show_button.clicked.connect(self._show)
        self.card.dismiss_button.clicked.connect(self._dismiss)
        window.recovery.offered.connect(self._refresh)

    def _refresh(self) -> None:
        if not self._looked:
            self._looked = True
            self._jobs.start(partial(_look_work, self._folder), self._take, quiet=True)
        may = self._reports and not self._window.recovery.sentence
        self.card.offer(_sentence(self._reports[0]) if may else "")

    def _take(self, reports: list[Report]) -> None:
        self._reports = reports
        self._refresh()

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self._reports[0].text)
        self._window.status.say("The report was copied.")

    def _show(self) -> None:
        file = self._reports[0].file
        if not self._window.show_file(file):
            self._window.status.say(f"The folder could not be opened: {file.parent}")

    def _dismiss(self) -> None:
        self._reports.pop(0).dismiss()
        self._refresh()


def _look_work(folder: Path) -> Work[list[Report]]:
    yield Progress("looking for reports")
    return left_reports(folder)


def _sentence(report: Report) -> str:
    what = "TokStudio crashed" if report.ended else "Something went wrong inside TokStudio"
    return f"{what} the last time. {_KEPT}"
