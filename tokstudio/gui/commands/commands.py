"""Handlers of actions that ask a question or need several steps, except opening and exporting."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QGuiApplication, QKeyEvent
from PySide6.QtWidgets import QApplication, QWidget

from tokstudio.core.base.atomic_files import file_name
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.resources import DEMO_SENTENCES, SAMPLES, sample_parts, sample_rows, sample_text
from tokstudio.core.base.wording import first_few
from tokstudio.core.comparison.parallel_set import ParallelSet, open_parallel_files_work, open_parallel_work
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.sampling import hold_out_work
from tokstudio.core.corpus.source import Source
from tokstudio.core.model.alphabet import corpus_characters_work, read_base_vocabulary_work
from tokstudio.gui.commands.actions import Action, Window
from tokstudio.gui.session import availability
from tokstudio.gui.session.common import source_jobs
from tokstudio.gui.session.common.corpus import sample_title
from tokstudio.gui.session.measuring.compared import ReadTexts, TextSet
from tokstudio.gui.session.measuring.measurers import ChosenText
from tokstudio.gui.session.preferences import Preferences
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.problems import Problem, problem_of
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.state.training_plans import (
    by_content,
    by_temperature,
    entries_of,
    languages_of_entries,
    may_have_content,
)
from tokstudio.gui.state.training_settings import Settings
from tokstudio.gui.style.theme import Mode, Theme
from tokstudio.gui.widgets.file_dialogs import Choosers

# --- Actions that choose the text that runs and opened tokenizers are measured on -------------------------------------

_BEGINNING = 24  # characters of the text in its name
_NAMED = 4  # sources in a message
_REPLACED = 3  # sources in a question


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


# --- The actions for the parallel texts of parity-aware BPE -----------------------------------------------------------


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


_SAMPLE_PLAYED = "sample_played"  # whether a sample was trained on slowly before
_BASE_TOKENS = "Lists of base tokens (*.json *.txt);;All files (*)"


class Commands(QObject):
    """Handlers that need more than one call."""

    def __init__(
        self,
        session: Session,
        theme: Theme,
        preferences: Preferences,
        choosers: Choosers,
        window: Window,
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self.measuring = MeasureCommands(session, preferences, choosers, self)
        self.parallel = ParallelCommands(session, preferences, choosers, window, self)
        self._session, self._theme, self._window = session, theme, window
        self._preferences, self._choosers = preferences, choosers
        self._copying = False

    # ---- corpus

    def paste_corpus(self) -> None:
        """Adds the text on the clipboard."""
        text = QGuiApplication.clipboard().text()
        if text:
            self._session.corpus.add_text(text)
        else:
            self._session.corpus.report(Problem("The clipboard has no text."))

    def add_sample(self, key: str) -> None:
        """Adds a sample to the corpus, and says so: not every workspace shows the corpus."""
        self._add_sample(key)
        self._session.jobs.tell(f"Added the sample {_title(key)} to the corpus. Train makes a tokenizer of it.")

    def _add_sample(self, key: str) -> None:
        """One of several parts becomes several sources, one of rows keeps its rows."""
        title = _title(key)
        parts, rows = sample_parts(key), sample_rows(key)
        if parts:
            self._session.corpus.add_texts(parts)
        elif rows:
            self._session.corpus.add_rows(rows, title)
        else:
            self._session.corpus.add_text(sample_text(key), title)

    def weigh(self, exponent: float) -> None:
        """Sets weights for which the shares of the sources are in proportion to size ** exponent."""
        corpus = self._session.corpus
        corpus.set_weights(by_temperature(corpus.remaining, entries_of(corpus.remaining), exponent))

    def weigh_by_content(self) -> None:
        """Reads the parallel texts, and sets weights with which the sources say equally much."""
        texts, sources = self._session.comparison.parallel, self._session.corpus.remaining
        self._session.jobs.start(texts.read, partial(self._weigh_by_content, texts, sources))

    def _weigh_by_content(self, texts: TextSet, sources: tuple[Source, ...], read: ReadTexts) -> None:
        corpus, jobs = self._session.corpus, self._session.jobs
        if corpus.remaining != sources:
            jobs.refuse("The corpus has changed meanwhile: its weights stay.")
            return
        mixed, sizes = entries_of(sources), {source.name: source.bytes for _, source in read.named}
        if not may_have_content(sources, tuple(sizes)):
            jobs.refuse(
                f"Fewer than two sources are in a language of {texts.title}: name them like these, such as de.txt."
            )
            return
        codes = languages_of_entries(tuple(entry.name for entry in mixed), tuple(sizes))
        corpus.set_weights(by_content(mixed, corpus.weights, [sizes.get(code or "") for code in codes]))
        others = [entry.name for entry, code in zip(mixed, codes, strict=True) if code is None]
        kept = f" These keep their weights, as their names match no language there: {first_few(others, _NAMED)}."
        jobs.tell(f"The sources say equally much, by the bytes of {texts.title}.{kept * bool(others)}")

    def play_sample(self, key: str) -> None:
        """Trains on a sample as `train_sample` does; the first time, so slowly that one can watch."""
        if self.train_sample(key, played=not self._preferences.get(_SAMPLE_PLAYED, False)):
            self._preferences.set(_SAMPLE_PLAYED, True)

    def train_sample(self, key: str, *, played: bool = False) -> bool:
        """Replaces the corpus by a sample and trains on it, as `take_sample`; returns whether the training began."""
        before = self._session.training.settings
        if not self.take_sample(key, Settings(), "Train on a Sample"):
            return False
        self._session.training.start(played=played)
        self.offer_settings(before, "The sample trains with the default settings.")
        return self._session.training.current is not None

    def offer_settings(self, before: Settings, message: str) -> None:
        """Offers to restore earlier settings, if they were others, until the settings change again."""
        training, now = self._session.training, self._session.training.settings
        if before != now:
            back = partial(training.set_settings, before)
            self._session.jobs.notify(message, "Restore Settings", back, lambda: training.settings == now)

    def take_sample(self, key: str, own_settings: Settings, title: str) -> bool:
        """Replaces the corpus by a sample, with settings for it; asks if the corpus is not a sample.

        An empty Text pane gets an example sentence. The title names all this for Undo. Returns whether it was done.
        """
        session = self._session
        replaced = dict.fromkeys(sample_title(one) or one for one in session.corpus.sources)
        names = [one if isinstance(one, str) else one.name for one in replaced]
        question = f"The corpus ({first_few(names, _REPLACED, str)}) will be replaced by the sample."
        own = not all(map(sample_title, session.corpus.sources))
        if own and not self._choosers.confirm(title, question, "Replace Corpus"):
            return False
        with session.history.together(title):
            session.corpus.set_sources(())
            session.training.set_settings(own_settings)
            self._add_sample(key)
        if not session.view.text:
            session.view.set_text(DEMO_SENTENCES[0][1])
        return True

    # ---- training

    def load_base_tokens(self) -> None:
        """Asks for a file of base tokens and uses them."""
        paths = self._choosers.open_files("Load Base Tokens", self._preferences.folder, _BASE_TOKENS)
        if paths:
            self._preferences.folder = paths[0].parent
            self._session.jobs.start(partial(read_base_vocabulary_work, paths[0]), self._take_base_tokens)

    def base_tokens_of_corpus(self) -> None:
        """Uses the characters of the corpus as base tokens."""
        self._session.jobs.start(partial(corpus_characters_work, self._session.corpus.current), self._take_base_tokens)

    def _take_base_tokens(self, entries: list[str]) -> None:
        settings = replace(self._session.training.settings, base="characters", base_vocabulary=tuple(entries))
        self._session.training.set_settings(settings)

    def rename_run(self) -> None:
        """Asks for a new name of the active run."""
        run = self._session.runs.active
        name = self._choosers.text("Rename", "Name", run.name) if run is not None else None
        if run is not None and name is not None:
            self._session.history.rename_run(run, name)

    def delete(self, run: StudioRun | None) -> None:
        """Deletes a run; this can be undone."""
        if run is not None:
            self._session.history.delete_run(run)

    # ---- view

    def copy(self) -> None:
        """Copies the selection of the widget with the focus."""
        focus = QApplication.focusWidget()
        if isinstance(focus, QWidget) and callable(own := getattr(focus, "copy", None)):
            own()
        elif focus is not None and not self._copying:
            # A widget that copies nothing, such as a button, ignores the key, which asks for this action again then.
            self._copying = True
            event = QKeyEvent(QKeyEvent.Type.KeyPress, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
            QApplication.sendEvent(focus, event)
            self._copying = False

    def why_merge(self) -> None:
        """Shows why the merge of the chosen token was made; the one at the playhead if that was moved since."""
        view, run = self._session.view, self._session.runs.active
        if run is not None and (view.chosen is None or view.moved_since) and view.playhead > 0:
            view.look_at(run.id_of_merge(view.playhead))
        self._window.show_why()

    def set_theme(self, mode: Mode) -> None:
        """Sets and stores the theme."""
        self._preferences.set("theme", mode)
        self._theme.set_mode(mode)

    def set_text_size(self, pixels: int) -> None:
        """Sets and stores the text size."""
        self._theme.set_text_size(pixels)
        self._preferences.set("text_size", self._theme.text_size)


def _title(key: str) -> str:
    return next(sample.title for sample in SAMPLES if sample.key == key)
