"""The actions for the parallel texts of parity-aware BPE."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QObject

from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.comparison.parallel_set import ParallelSet, open_parallel_files_work, open_parallel_work
from tokstudio.gui.commands.actions import Action
from tokstudio.gui.commands.window_protocol import Window
from tokstudio.gui.session import availability
from tokstudio.gui.session.preferences import Preferences
from tokstudio.gui.session.session import Session
from tokstudio.gui.widgets.file_dialogs import Choosers


class ParallelCommands(QObject):
    """Asks for the files, and reads them."""

    def __init__(
        self, session: Session, preferences: Preferences, choosers: Choosers, window: Window, parent: QObject
    ) -> None:
        super().__init__(parent)
        self._jobs, self._preferences, self._choosers, self._window = session.jobs, preferences, choosers, window

    def load_files(self) -> None:
        """Asks for a file for each language, or one table."""
        files = self._choosers.open_files("Load Parallel Texts", self._preferences.texts_folder)
        if files:
            self._preferences.keep_texts_folder(files[0].parent)
            self._read(partial(open_parallel_files_work, files))

    def load_folder(self) -> None:
        """Asks for a folder with a file for each language."""
        folder = self._choosers.open_folder("Load Folder of Parallel Texts", self._preferences.texts_folder)
        if folder is not None:
            self._preferences.keep_texts_folder(folder.parent)
            self._read(partial(open_parallel_work, folder))

    def _read(self, work: Callable[[], Work[ParallelSet]]) -> None:
        self._jobs.start(partial(_texts_work, work), self._take)

    def _take(self, texts: dict[str, str]) -> None:
        self._window.configure.algorithm.parity.take_texts(texts)

    def _remove(self) -> None:
        self._window.configure.algorithm.parity.remove_texts()

    def actions(self) -> tuple[Action, ...]:
        """The actions."""
        return (
            Action("load_parallel_files", "Load &Parallel Texts…",
                "Load the parallel texts of parity-aware BPE: a file for each language, or one table.",
                self.load_files, icon="open", obstacle=availability.no_corpus),
            Action("load_parallel_texts_folder", "Load &Folder of Parallel Texts…",
                "Load the parallel texts of parity-aware BPE from a folder with a file for each language.",
                self.load_folder, icon="open", obstacle=availability.no_corpus),
            Action("remove_parallel_texts", "&Remove Parallel Texts",
                "Remove the parallel texts of all languages: bytes per token are measured instead.",
                self._remove, icon="delete", obstacle=availability.no_parallel_texts),
        )  # fmt: skip


def _texts_work(work: Callable[[], Work[ParallelSet]]) -> Work[dict[str, str]]:
    read, texts = (yield from work()), dict[str, str]()
    for language, lines in zip(read.languages, read.lines, strict=True):
        texts[language] = b"\n".join(lines).decode("utf-8", "replace")
        yield Progress("reading", len(texts), len(read.languages))
    return texts
