"""Actions that choose the text that runs and opened tokenizers are measured on."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject

from tokstudio.core.base.atomic_files import file_name
from tokstudio.core.base.progress import Work
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.sampling import hold_out_work
from tokstudio.gui.session.preferences import Preferences
from tokstudio.gui.session.session import Session
from tokstudio.gui.state import source_jobs
from tokstudio.gui.state.measured_texts import ChosenText
from tokstudio.gui.state.problem import Problem, problem_of
from tokstudio.gui.widgets.file_dialogs import Choosers

_BEGINNING = 24  # characters of the text in its name


class MeasureCommands(QObject):
    """Handlers of the actions of Measure On."""

    def __init__(self, session: Session, preferences: Preferences, choosers: Choosers, parent: QObject) -> None:
        super().__init__(parent)
        self._session, self._preferences, self._choosers = session, preferences, choosers

    def corpus(self) -> None:
        """Measures on the corpus of the window, also when it changes."""
        self._session.on_text.choose(None)

    def text(self) -> None:
        """Measures on the text of the Text pane as it is now."""
        text = self._session.view.text
        if text:
            self._session.on_text.choose_read(partial(_text_work, text))

    def held_out(self) -> None:
        """Measures on the held-out text of the active run."""
        run = self._session.runs.active
        if run is not None and run.corpus is not None and run.config is not None:
            work = partial(_held_out_work, run.name, run.corpus, run.config.held_out)
            self._session.on_text.choose_read(work)

    def file(self) -> None:
        """Asks for files to measure on; they are not added to the corpus."""
        paths = self._choosers.open_files("Measure on a File", self._preferences.folder)
        if paths:
            self._preferences.folder = paths[0].parent
            self._session.on_text.choose_read(partial(_files_work, paths))


def _text_work(text: str) -> Work[ChosenText | Problem]:
    words = " ".join(text[:_BEGINNING].split())
    name = f"the text “{words}{'…' if len(text) > _BEGINNING else ''}”"
    return ChosenText.of_sources(name, (yield from source_jobs.read_text(text, name)).sources)


def _held_out_work(name: str, corpus: Corpus, share: float) -> Work[ChosenText | Problem]:
    _, held_out = yield from hold_out_work(corpus.sources, share, corpus.weights)
    return ChosenText.of_sources(f"held-out text of {name}", held_out)


def _files_work(paths: list[Path]) -> Work[ChosenText | Problem]:
    read = yield from source_jobs.read_all(paths, None)
    if read.problems:
        path, error = read.problems[0]
        return problem_of(error, path)
    more = f" and {len(paths) - 1:,} more" if len(paths) > 1 else ""
    return ChosenText.of_sources(f"{file_name(paths[0])}{more}", read.sources)
