"""Handlers of the actions of the Compare menu."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject
from PySide6.QtGui import QGuiApplication

from tokstudio.core.base.atomic_files import write_files
from tokstudio.core.base.progress import Work
from tokstudio.core.comparison.comparison import Comparison
from tokstudio.core.comparison.report.report import report_work
from tokstudio.gui.commands.window_protocol import Window
from tokstudio.gui.session.preferences import Preferences
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.text_set import TextSet, file_set, parallel_set
from tokstudio.gui.widgets.file_dialogs import Choosers

_TABLES = "Tables (*.csv *.tsv *.jsonl *.json *.parquet *.arrow *.gz *.zst *.xz *.bz2);;All files (*)"


class CompareCommands(QObject):
    """Opens texts to compare tokenizers on; they never enter the corpus."""

    def __init__(
        self, session: Session, preferences: Preferences, choosers: Choosers, window: Window, parent: QObject
    ) -> None:
        super().__init__(parent)
        self._state, self._jobs, self._preferences = session.comparison, session.jobs, preferences
        self._choosers, self._window = choosers, window

    def open_texts(self) -> None:
        """Asks for files."""
        paths = self._choosers.open_files("Open Texts to Compare On", self._preferences.folder)
        if paths:
            self._add(file_set(paths), paths[0])

    def open_parallel_folder(self) -> None:
        """Asks for a folder with a file for each language."""
        folder = self._choosers.open_folder("Open Folder of Parallel Texts", self._preferences.folder)
        if folder is not None:
            self._add(parallel_set(folder), folder)

    def open_parallel_table(self) -> None:
        """Asks for a table with a column for each language."""
        files = self._choosers.open_files("Open Table of Parallel Texts", self._preferences.folder, _TABLES)
        if files:
            self._add(parallel_set(files[0]), files[0])

    def compare_on_story(self) -> None:
        """Chooses our own story."""
        self._state.choose_texts(next(each for each in self._state.sets if each.is_parallel))
        self._window.show_compare()

    def copy_figure(self) -> None:
        """Copies the shown figure as a table in Markdown."""
        comparison = self._state.comparison
        if comparison is not None:
            QGuiApplication.clipboard().setText(comparison.to_markdown([self._state.figure]))
            self._jobs.tell("Copied the figure as Markdown.")

    def save_csv(self) -> None:
        """Writes all figures to a table."""
        self._save("Figures as CSV", "comparison.csv", "CSV (*.csv)", _csv_work)

    def save_report(self) -> None:
        """Writes the report, a page that a browser shows."""
        self._save("Report of the Comparison", "comparison.html", "Web page (*.html)", report_work)

    def _save(self, title: str, name: str, filters: str, make: Callable[[Comparison], Work[str]]) -> None:
        comparison = self._state.comparison
        if comparison is None:
            return
        path = self._choosers.save_file(title, self._preferences.folder / name, filters)
        if path is not None:
            self._preferences.folder = path.parent
            self._jobs.start(partial(_write_work, comparison, make, path), self._written, writes=True)

    def _written(self, path: Path) -> None:
        self._jobs.tell(f"Wrote {path.name}.")

    def _add(self, texts: TextSet, path: Path) -> None:
        self._preferences.folder = path.parent
        self._state.add_texts(texts)
        self._window.show_compare()


def _csv_work(comparison: Comparison) -> Work[str]:
    yield from comparison.words_work()
    return comparison.to_csv()


def _write_work(comparison: Comparison, make: Callable[[Comparison], Work[str]], path: Path) -> Work[Path]:
    made = yield from make(comparison)
    yield from write_files({path: [made.encode("utf-8", "replace")]})
    return path
