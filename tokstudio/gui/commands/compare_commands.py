"""Handlers of the actions of the Compare menu."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
from PySide6.QtCore import QObject
from PySide6.QtGui import QGuiApplication

from tokstudio.core.base.atomic_files import file_name
from tokstudio.core.base.errors import CorpusError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.comparison.comparison import Comparison
from tokstudio.core.comparison.engine_table import EngineTable
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.open_sources import read_source
from tokstudio.core.corpus.readers.files import plain_errors, read_file_work
from tokstudio.core.formats.report import WrittenFile
from tokstudio.gui.commands.actions import Window, show_alone
from tokstudio.gui.project.experiment import text_work
from tokstudio.gui.session.common.jobs import write_work
from tokstudio.gui.session.measuring.compared import TextSet, file_set, parallel_set
from tokstudio.gui.session.preferences import Preferences
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.run import RunOrigin, StudioRun
from tokstudio.gui.state.training_plans import plans_of_algorithms
from tokstudio.gui.widgets.file_dialogs import Choosers

_TABLES = "Tables (*.csv *.tsv *.jsonl *.json *.parquet *.arrow *.gz *.zst *.xz *.bz2);;All files (*)"
_MOST_WORDS = 2_000_000  # bytes of a file of words


class CompareCommands(QObject):
    """Opens texts to compare tokenizers on, which never enter the corpus, and trains what is to be compared."""

    def __init__(
        self, session: Session, preferences: Preferences, choosers: Choosers, window: Window, parent: QObject
    ) -> None:
        super().__init__(parent)
        self._state, self._jobs, self._preferences = session.comparison, session.jobs, preferences
        self._session, self._runs = session, session.runs
        self._choosers, self._window = choosers, window

    def open_texts(self) -> None:
        """Asks for files."""
        paths = self._choosers.open_files("Open Texts to Compare On", self._preferences.texts_folder)
        if paths:
            self._add(file_set(paths), paths[0])

    def open_parallel_folder(self) -> None:
        """Asks for a folder with a file for each language."""
        folder = self._choosers.open_folder("Open Folder of Parallel Texts", self._preferences.texts_folder)
        if folder is not None:
            self._add(parallel_set(folder), folder)

    def open_parallel_table(self) -> None:
        """Asks for a table with a column for each language."""
        files = self._choosers.open_files("Open Table of Parallel Texts", self._preferences.texts_folder, _TABLES)
        if files:
            self._add(parallel_set(files[0]), files[0])

    def compare_on_story(self) -> None:
        """Chooses our own story."""
        self._state.choose_texts(next(each for each in self._state.sets if each.is_parallel))
        self._window.show_compare()

    def compare_algorithms(self) -> None:
        """Shows Train Several with a row for each algorithm; Compare shows their runs alone when they have ended."""
        training, corpus = self._session.training, self._session.corpus.current
        plans, reasons = plans_of_algorithms(training.settings, training.defaults, corpus)
        named = [reason if title in reason else f"{title}: {reason}" for title, reason in reasons.items()]
        before, pattern = training.settings.pattern, plans[0].settings.pattern
        # Only no pattern is replaced.
        replaced = f"All have the pattern {pattern}, as some algorithms need one; Configure has none."
        lines = ([replaced] if pattern != before else []) + (["Left out:", *named] if named else [])
        self._window.dialogs.show_train_several(plans, " ".join(lines), self._show_algorithms)

    def _show_algorithms(self, runs: Sequence[StudioRun]) -> None:
        trained = [run for run in runs if run in self._runs.all]
        if trained:
            show_alone(self._session, trained, "Compare Algorithms")
            self._window.show_compare()
        if self._runs.active in trained and not self._runs.active.has_curve:
            # Curves are drawn beside one that has its own.
            self._runs.activate(next((run for run in reversed(trained) if run.has_curve), self._runs.active))

    def open_words(self) -> None:
        """Asks for a file with words to compare."""
        for path in self._choosers.open_files("Open Words", self._preferences.texts_folder)[:1]:
            self._preferences.keep_texts_folder(path.parent)
            self._jobs.start(partial(_words_work, path), self._show_words)

    def measure(self) -> None:
        """Measures what is missing, and tries again what failed."""
        self._window.show_compare()
        self._state.measure()

    def copy_markdown(self) -> None:
        """Copies the shown figure as a table in Markdown."""
        self._copy(Comparison.to_markdown, "Markdown")

    def copy_latex(self) -> None:
        """Copies the shown figure as a table in LaTeX."""
        self._copy(Comparison.to_latex, "LaTeX")

    def copy_csv(self) -> None:
        """Copies the shown figure as a table with commas."""
        self._copy(_csv, "CSV")

    def save_csv(self) -> None:
        """Writes all figures to a table."""
        self._save("Figures as CSV", "comparison.csv", "CSV (*.csv)", partial(_csv_work, level=self._level))

    def save_dots(self) -> None:
        """Writes the shown figure as dots, to SVG, or to PDF where the name ends so."""
        comparison, name = self._state.comparison, f"{self._state.figure}.svg"
        if comparison is None:
            return
        filters = "Drawing (*.svg);;PDF (*.pdf)"
        path = self._choosers.save_file("Dots as Picture", self._preferences.folder / name, filters)
        if path is not None:
            self._preferences.folder = path.parent
            work = partial(_about_work, comparison, self._state.figure, self._level)
            self._jobs.start(work, partial(self._draw_dots, comparison, path))

    def _draw_dots(self, comparison: Comparison, path: Path, about: str) -> None:
        picture = self._window.compare.picture(comparison, about, path.suffix.lower() == ".pdf")
        self._jobs.start(partial(write_work, path, picture), self._written, writes=True)

    def save_report(self) -> None:
        """Writes the report, a page that a browser shows."""
        opened = {each.name: each.origin for each in self._runs.shown if each.origin is not None}
        described, trained = None, [each for each in self._runs.shown if each.origin is None]
        corpus, settings = self._session.corpus, self._session.training.settings
        config = settings.config() if settings.problem is None else None
        # Runs of other settings or text than those in the window are not described.
        if trained and config is not None and all(run.is_of(config, corpus.current) for run in trained):
            whole = Corpus(corpus.sources).weighted(corpus.weights)
            described = partial(text_work, self._preferences.folder, whole, settings, corpus.left_out)
        engines, level = self._state.engines, self._level
        make = partial(_report_work, opened=opened, engines=engines, described=described, level=level)
        self._save("Report of the Comparison", "comparison.html", "Web page (*.html)", make)

    def save_engines_csv(self) -> None:
        """Writes what other libraries gave to a table."""
        table = self._state.engines
        path = self._choosers.save_file("Engines as CSV", self._preferences.folder / "engines.csv", "CSV (*.csv)")
        if table is not None and path is not None:
            self._preferences.folder = path.parent
            self._jobs.start(partial(_engines_work, table, path), self._written, writes=True)

    def _copy(self, make: Callable[[Comparison, list[str], float | None], str], form: str) -> None:
        comparison = self._state.comparison
        if comparison is not None:
            self._jobs.start(
                partial(_table_work, comparison, self._state.figure, self._level, make), partial(self._copied, form)
            )

    @property
    def _level(self) -> float | None:
        """The level of the intervals that are shown."""
        return 0.95 if self._state.intervals else None

    def _copied(self, form: str, text: str) -> None:
        QGuiApplication.clipboard().setText(text)
        self._jobs.tell(f"Copied the figure as {form}.")

    def _show_words(self, words: str) -> None:
        self._window.show_compare()
        self._state.show_words(words)

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
        self._preferences.keep_texts_folder(path.parent)
        self._state.add_texts(texts)
        self._window.show_compare()


def _table_work(
    comparison: Comparison, figure: str, level: float | None, make: Callable[[Comparison, list[str], float | None], str]
) -> Work[str]:
    yield from comparison.tables_work([figure], level)
    yield Progress("writing")
    return make(comparison, [figure], level)


def _about_work(comparison: Comparison, figure: str, level: float | None) -> Work[str]:
    """What a picture of a figure is of, in one line; what the figure needs is measured."""
    yield from comparison.tables_work([figure], level)
    return "; ".join(f"{kind}: {fact}" for kind, fact in comparison.facts)


def _csv(comparison: Comparison, figures: list[str], level: float | None) -> str:
    return comparison.to_csv(figures=figures, level=level)


def _csv_work(comparison: Comparison, level: float | None) -> Work[str]:
    yield from comparison.tables_work(None, level)
    return comparison.to_csv(level=level)


def _engines_work(table: EngineTable, path: Path) -> Work[Path]:
    return (yield from write_work(path, table.to_csv()))


def _report_work(
    comparison: Comparison,
    opened: Mapping[str, RunOrigin],
    engines: EngineTable | None,
    described: Callable[[], Work[str]] | None,
    level: float | None,
) -> Work[str]:
    from tokstudio.core.comparison.report.report import ReadFrom, report_work

    origins: dict[str, ReadFrom] = {}
    for name, origin in opened.items():
        if name in comparison.tokenizers:
            origins[name] = ReadFrom(origin.format, (yield from _hashed_work(origin)))
    experiment = "" if described is None else (yield from described())
    return (yield from report_work(comparison, origins, engines=engines, experiment=experiment, level=level))


def _hashed_work(origin: RunOrigin) -> Work[tuple[WrittenFile, ...]]:
    """The files of a tokenizer with their hashes; without those that cannot be read any more."""
    files: list[WrittenFile] = []
    if origin.kept is not None:
        contents = [(Path(file.name), file.content) for file in origin.kept.files]
    else:
        contents = list[tuple[Path, bytes]]()
        for path in origin.files:
            with suppress(CorpusError):
                contents.append((path, (yield from read_file_work(path))))
    for path, content in contents:
        files.append(WrittenFile(path, len(content), hashlib.sha256(content).hexdigest()))
        yield Progress("writing")
    return tuple(files)


def _words_work(path: Path) -> Work[str]:
    """The text of a file of words; raises CorpusError if it is too long or cannot be read."""
    with plain_errors(path):
        size = path.stat().st_size
    if size <= _MOST_WORDS:
        source = yield from read_source(path)
        size = len(source.data)
        if size <= _MOST_WORDS:
            return np.asarray(source.data[:]).tobytes().decode("utf-8", "replace")
    raise CorpusError(f"{file_name(path)}: too long for a list of words: at most {_MOST_WORDS // 1_000_000} MB.")


def _write_work(comparison: Comparison, make: Callable[[Comparison], Work[str]], path: Path) -> Work[Path]:
    return (yield from write_work(path, (yield from make(comparison))))
