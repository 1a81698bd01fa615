"""Actions that open texts for the corpus and tokenizers, which are recognised by content.

The core reads the files in jobs; if a file has no split pattern, the user is asked for it.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject

from tokstudio.core.base.atomic_files import file_name
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import printable, several, shown
from tokstudio.core.corpus.readers.contents import Reading
from tokstudio.core.experiment.loading import is_experiment
from tokstudio.core.formats.common.format import Loaded, PatternNeeded
from tokstudio.core.formats.known_formats import FORMATS, tokenizer_files
from tokstudio.core.formats.loading import load_work
from tokstudio.core.hub.addresses import WEB, Address, address_in
from tokstudio.core.hub.names import Name, name_in, place_of
from tokstudio.core.project import SUFFIX, ProjectTokenizer, keep_tokenizer_work, reopen_tokenizer_work
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.gui.commands.actions import Window
from tokstudio.gui.dialogs.corpus_import.question import (
    Choices,
    DataSetLook,
    DataSetPlace,
    ImportQuestion,
    fits,
    look_all_work,
    reading_for,
)
from tokstudio.gui.panes.configure.pattern_field import PatternQuestion
from tokstudio.gui.project.document import ProjectDocument
from tokstudio.gui.project.experiment import ExperimentFiles
from tokstudio.gui.session.preferences import Preferences
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.problems import Problem, is_data_set, read_together
from tokstudio.gui.state.run import RunOrigin, StudioRun
from tokstudio.gui.widgets.file_dialogs import Choosers

# --- Opens texts and data sets; before a data set is read, the user chooses its text ----------------------------------
# One look at the beginnings of the files, in a job, finds the data sets. Those with the same columns are asked for
# once.

_NONE_SELECTED = "Select a data set in the Corpus pane, such as JSON Lines, CSV or Parquet, to change its columns."


@dataclass
class _Request:
    """Files that are to be opened, or sources of which other columns are to be read, and the answers so far."""

    places: list[DataSetPlace]
    looks: tuple[DataSetLook, ...] = ()
    keep_truncated: bool = False
    is_change: bool = False
    readings: dict[DataSetPlace, Reading] = field(default_factory=dict[DataSetPlace, Reading])
    left_out: set[DataSetPlace] = field(default_factory=set[DataSetPlace])
    told: list[str] = field(default_factory=list[str])  # of data sets that are read without a question

    @property
    def open(self) -> list[DataSetLook]:
        """The data sets without an answer."""
        return [look for look in self.looks if look.place not in self.readings and look.place not in self.left_out]

    def answer(self, looks: tuple[DataSetLook, ...], reading: Reading | None) -> None:
        """Takes the answer for some data sets; None leaves them out."""
        for look in looks:
            if reading is None:
                self.left_out.add(look.place)
            else:
                chosen = reading_for(reading, look.contents)
                keeps = self.keep_truncated or reading.keep_truncated
                self.readings[look.place] = replace(chosen, keep_truncated=keeps)


class ImportCommands(QObject):
    """Opens files and changes the columns of data sets; asks one question at a time."""

    def __init__(self, session: Session, preferences: Preferences, window: Window, parent: QObject) -> None:
        super().__init__(parent)
        self._jobs, self._corpus = session.jobs, session.corpus
        self._preferences, self._window = preferences, window
        self._choices = Choices(preferences)
        self._requests: list[_Request] = []
        self._asked: ImportQuestion | None = None

    def open_paths(self, paths: list[Path]) -> None:
        """Adds files and folders to the corpus and to the recent files, and asks for the text of data sets."""
        self._look(_Request([DataSetPlace(path) for path in paths]))

    def keep_whole(self, path: Path) -> None:
        """Reads a file whose compressed data ends too early up to that place: again if it is in the corpus."""
        opened = next((source for source in self._corpus.sources if source.path == path), None)
        if opened is not None:
            self._corpus.change_reading(opened, replace(opened.reading or Reading(), keep_truncated=True))
        else:
            self._look(_Request([DataSetPlace(path)], keep_truncated=True))

    def read_as_text(self, path: Path) -> None:
        """Reads a data set in which no column holds text as plain text, also from the recent files."""
        self._preferences.add_recent([path], "plain")
        self._corpus.open_paths([path], readings={path: Reading(as_text=True)})

    def change_columns(self) -> None:
        """Asks for the text of the selected data sets again."""
        selected = [source for source in self._window.corpus.selected_sources() if is_data_set(source)]
        places: list[DataSetPlace] = []
        for source in selected:
            source_index = (place.source for place in places if place.source is not None)
            if source.path is not None and not any(read_together(source, one) for one in source_index):
                places.append(DataSetPlace(source.path, source))
        if places:
            self._look(_Request(places, is_change=True))
        else:
            self._jobs.refuse(_NONE_SELECTED)

    def _look(self, request: _Request) -> None:
        self._jobs.start(partial(_look_work, request, dict(self._choices.all)), self._looked)

    def _looked(self, looked: tuple[_Request, tuple[DataSetLook, ...]]) -> None:
        request, looks = looked
        self._requests.append(replace(request, looks=looks))
        if self._asked is None:
            self._go_on()

    def _go_on(self) -> None:
        """Asks the next question; reads what is not asked for any more."""
        while self._requests:
            request = self._requests[0]
            question = self._question(request)
            if question is not None:
                self._asked = question
                self._window.dialogs.ask_reading(question, self._answered)
                return
            self._requests.pop(0)
            self._read(request)

    def _question(self, request: _Request) -> ImportQuestion | None:
        """The next question; data sets with columns that were asked for before are read in the same way."""
        for look in () if request.is_change else request.open:
            chosen = self._choices.of_this_start(look.key)
            if chosen is not None and fits(chosen, look.contents):
                request.answer((look,), chosen)
                request.told.append(look.contents.name)
        if not request.open:
            return None
        first = request.open[0]
        if request.is_change:
            source = first.place.source
            reading = source.reading if source is not None and source.reading is not None else Reading()
            return ImportQuestion(_alike(request, first), replace(reading, as_text=False), "&Change")
        chosen = self._choices.all.get(first.key)
        usable = chosen is not None and not chosen.as_text and fits(chosen, first.contents)
        return ImportQuestion(_alike(request, first), chosen if usable and chosen is not None else Reading())

    def _answered(self, reading: Reading | None) -> None:
        question, self._asked = self._asked, None
        if question is not None and self._requests:
            self._requests[0].answer(question.looks, reading)
            if reading is not None:
                self._choices.remember(question.looks[0].key, reading)
        self._go_on()

    def _read(self, request: _Request) -> None:
        if request.is_change:
            for place, reading in request.readings.items():
                if place.source is not None:
                    self._corpus.change_reading(place.source, reading)
            return
        places = [place for place in request.places if place not in request.left_out]
        if not places:
            return
        paths = [place.path for place in places]
        self._preferences.add_recent(paths, "text")
        readings = {place.path: reading for place, reading in request.readings.items()}
        if request.keep_truncated:
            readings = dict.fromkeys(paths, Reading(keep_truncated=True)) | readings
        self._corpus.open_paths(paths, readings=readings)
        if request.told:
            self._jobs.tell(_told(request))


def _look_work(request: _Request, readings: dict[str, Reading]) -> Work[tuple[_Request, tuple[DataSetLook, ...]]]:
    return request, (yield from look_all_work(request.places, readings))


def _alike(request: _Request, first: DataSetLook) -> tuple[DataSetLook, ...]:
    """The data sets with the same columns that are asked for at once."""
    return tuple(look for look in request.open if look.key == first.key)


def _told(request: _Request) -> str:
    """Says how data sets were read without a question."""
    names = request.told
    look = next(look for look in request.looks if look.contents.name == names[0])
    reading = request.readings[look.place]
    name = printable(names[0]) if len(names) == 1 else several(len(names), "file")
    how = "plain text" if reading.as_text else f"the column {shown(reading.field or look.contents.field or '')}"
    return f"{name}: {how} is read, as chosen before for these columns. Change Columns… in the Corpus menu asks again."


_COUNTS = "Word counts (*.parquet *.tsv *.jsonl *.txt);;All files (*)"
_TOKENIZERS = (
    "Tokenizer files (*.json *.bpe merges.txt *.tiktoken *.model *.spm *vocab.txt *.gguf);;Hugging Face (*.json);;"
    "Classic pair (*.json);;GPT-2, CLIP or GPT-1 files (*.json *.bpe merges.txt);;tiktoken (*.tiktoken);;"
    "minbpe or SentencePiece (*.model);;WordPiece (*vocab.txt);;GGUF (*.gguf);;All files (*)"
)
_USUAL = frozenset(("tokenizer", "vocabulary", "merges", "vocab", "encoder"))  # uninformative names
_FIRST_PATTERN = "gpt2"  # the default of the question: most files without a pattern use it
_DROPS = "Drop files, folders, text, or a link to a tokenizer or a data set on the Hugging Face Hub."
_WITHOUT_PATTERN = "classic"  # the only format that never has a pattern: it does not split


@dataclass(frozen=True, eq=False)
class FoundTokenizer:
    """The result of opening a tokenizer."""

    path: Path  # the file, the folder or the name
    pattern: str | None  # the split pattern that the user chose
    loaded: Loaded | None  # None if the user must choose the pattern first
    kept: ProjectTokenizer | None = None  # its files as a project stores them
    name: str = ""  # the file without a pattern


def sort_work(
    paths: Iterable[Path], *, all_tokenizers: bool = False
) -> Work[tuple[tuple[Path, ...], tuple[Path, ...]]]:
    """Sorts paths into tokenizers and texts. A tokenizer is listed once, also if several of its files are named."""
    folders: dict[tuple[Path, ...], Path] = {}
    others: list[Path] = []
    for path in paths:
        if files := tokenizer_files(path) if path.is_absolute() else (path,):
            folders.setdefault(files, path)
        else:
            others.append(path)
        yield Progress("opening")
    files_of_tokenizers = {file for files in folders for file in files}
    rest = tuple(path for path in others if path not in files_of_tokenizers)
    tokenizers = tuple(folders.values())
    return ((*tokenizers, *rest), ()) if all_tokenizers else (tokenizers, rest)


def open_work(path: Path, pattern: str | None = None) -> Work[FoundTokenizer]:
    """Reads a tokenizer and copies of its files."""
    try:
        loaded = yield from load_work(path, pattern)
    except PatternNeeded as needed:
        return FoundTokenizer(path, pattern, None, name=needed.name)
    return FoundTokenizer(
        path, pattern, loaded, (yield from keep_tokenizer_work(_name(path, loaded), loaded.files, pattern))
    )


def reread_work(run: StudioRun, pattern: str) -> Work[tuple[StudioRun, Tokenizer, RunOrigin]]:
    """Reads the stored files of a run again, with another pattern."""
    assert run.origin is not None
    assert run.origin.kept is not None
    kept = replace(run.origin.kept, pattern=pattern)
    return run, (yield from reopen_tokenizer_work(kept)), replace(run.origin, kept=kept)


class OpenCommands(QObject):
    """Handlers of the actions that open files."""

    def __init__(
        self,
        session: Session,
        preferences: Preferences,
        choosers: Choosers,
        window: Window,
        projects: ProjectDocument,
        experiments: ExperimentFiles,
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self._session, self._preferences, self._choosers = session, preferences, choosers
        self._window, self._projects, self._experiments = window, projects, experiments
        self.importing = ImportCommands(session, preferences, window, self)
        self._unanswered: list[tuple[PatternQuestion, Path, StudioRun | None]] = []

    # ---- anything

    def open_any(self, paths: Iterable[Path]) -> None:
        """Opens dropped files and arguments of the command line: tokenizers, projects, experiments, else texts.

        A tokenizer that is given by its name is fetched.
        """
        # A project may be opened later from another folder.
        paths = [place_of(path) for path in paths]
        if paths:
            self._session.jobs.start(partial(sort_work, paths), self._sorted, quiet=True)

    def open_links(self, links: Sequence[str]) -> None:
        """Asks whether to open the tokenizer or the data set of a link; says what can be dropped in place of others."""
        names: list[Address | Name] = []
        others: list[str] = []
        for link in links:
            if (name := _data_set_in(link) or name_in(link)) is None:
                others.append(link)
            else:
                names.append(name)
        match names:
            case [Address() as address, *_]:
                self._window.dialogs.ask_data_set(self._session.corpus.add_read, address)
            case [Name() as name, *_]:
                self._window.dialogs.ask_name(open_work, self._opened, name)
            case _:
                pass
        if others:
            self._session.jobs.report(Problem(f"{shown(others[0])} is not opened. {_DROPS}"))
        elif len(names) > 1:
            self._session.jobs.refuse(f"Only {names[0]} is asked for: drop one link at a time.")

    def open_recent(self, path: Path, kind: str) -> None:
        """Opens a recent file as the same kind as before."""
        if kind in ("tokenizer", "name"):
            self.load_tokenizer(path)
        elif kind == "project":
            self._projects.open(path)
        elif kind == "experiment":
            self._experiments.open(path)
        elif kind == "bytes":
            self.read_as_bytes(path)
        elif kind == "plain":
            self.importing.read_as_text(path)
        else:
            self.open_paths([path])

    # ---- texts

    def open_corpus(self) -> None:
        """Asks for files and adds them to the corpus."""
        self.open_paths(self._choosers.open_files("Open Corpus", self._preferences.texts_folder))

    def open_folder(self) -> None:
        """Asks for a folder and adds its text files."""
        folder = self._choosers.open_folder("Open Folder", self._preferences.texts_folder)
        if folder is not None:
            self.open_paths([folder])

    def open_paths(self, paths: Iterable[Path]) -> None:
        """Opens a project, or adds files and folders to the corpus and to the recent files."""
        paths = list(paths)
        if not paths:
            return
        if (project := next((path for path in paths if path.suffix == SUFFIX), None)) is not None:
            self._projects.open(project, alone=len(paths) == 1)
            return
        self._preferences.keep_texts_folder(paths[0].parent)
        self.importing.open_paths(paths)

    def read_as_bytes(self, path: Path) -> None:
        """Adds a binary file to the corpus as bytes, and to the recent files."""
        self._preferences.add_recent([path], "bytes")
        self._session.corpus.read_as_bytes(path)

    def open_counts(self) -> None:
        """Asks for files of word counts and adds them to the corpus."""
        paths = self._choosers.open_files("Open Word Counts", self._preferences.folder, _COUNTS)
        if paths:
            self._preferences.folder = paths[0].parent
            self._session.corpus.open_counts(paths)

    # ---- tokenizers

    def open_tokenizer(self) -> None:
        """Asks for tokenizer files and opens them."""
        paths = self._choosers.open_files("Open Tokenizer", self._preferences.folder, _TOKENIZERS)
        if paths:
            self._session.jobs.start(partial(sort_work, paths, all_tokenizers=True), self._sorted, quiet=True)

    def open_tokenizer_folder(self) -> None:
        """Asks for a tokenizer folder and opens it."""
        folder = self._choosers.open_folder("Open Tokenizer Folder", self._preferences.folder)
        if folder is not None:
            self.load_tokenizer(folder)

    def open_by_name(self) -> None:
        """Asks for a tokenizer's name, and opens it from its source."""
        self._window.dialogs.ask_name(open_work, self._opened)

    def open_data_set(self) -> None:
        """Asks for the name of a data set or another address, and adds what is taken of it to the corpus."""
        self._window.dialogs.ask_data_set(self._session.corpus.add_read)

    def load_tokenizer(self, path: Path) -> None:
        """Opens a tokenizer in the background, also one that is given by its name; several can be opened at a time."""
        if path.is_absolute():
            self._preferences.folder = path.parent
        self._session.jobs.start(partial(open_work, path), self._opened)

    def change_pattern(self) -> None:
        """Asks for the split pattern of the active tokenizer and reads its files again."""
        run = self._session.runs.active
        if run is not None and run.origin is not None and run.origin.kept is not None:
            self._ask(PatternQuestion(run.name, run.pattern, "Change Pattern"), run.origin.path, run)

    def _sorted(self, sorted_paths: tuple[tuple[Path, ...], tuple[Path, ...]]) -> None:
        tokenizers, texts = sorted_paths
        experiments = [path for path in texts if is_experiment(path)]
        if any(path.suffix == SUFFIX for path in texts):
            tokenizers, texts = (), (*texts, *tokenizers)  # all but the project are left out
        elif experiments and len(texts) + len(tokenizers) == 1:
            self._experiments.open(experiments[0])
            return
        elif experiments:
            texts = tuple(path for path in texts if path not in experiments)
            for path in experiments:
                why = f"{file_name(path)}: an experiment replaces the corpus; open it alone."
                self._session.corpus.report(Problem(why, path=path))
        self.open_paths(texts)
        for path in tokenizers:
            self.load_tokenizer(path)

    def _opened(self, opened: FoundTokenizer) -> None:
        if opened.loaded is None:
            pattern = self._preferences.get("opened_pattern", _FIRST_PATTERN)
            self._ask(PatternQuestion(opened.name, pattern, "Open Tokenizer"), opened.path, None)
        else:
            self._add(opened, opened.loaded)

    def _reread(self, reopened: tuple[StudioRun, Tokenizer, RunOrigin]) -> None:
        run, tokenizer, _ = reopened
        if run in self._session.runs.all:
            self._session.runs.replace_tokenizer(*reopened)
            self._session.jobs.tell(f"{run.name} now {_how(tokenizer.pattern)}.")

    def _add(self, opened: FoundTokenizer, loaded: Loaded) -> None:
        self._preferences.add_recent([opened.path], "name" if loaded.name else "tokenizer")
        says = opened.pattern is None and loaded.format != _WITHOUT_PATTERN
        origin = RunOrigin(opened.path, loaded.files, FORMATS[loaded.format].title, says, opened.kept)
        self._session.runs.add_tokenizer(loaded.tokenizer, _name(opened.path, loaded), origin)
        files = " and ".join(map(file_name, loaded.files))
        words = [f"Opened {loaded.name or files}: {several(len(loaded.tokenizer), 'token')}."]
        if loaded.remark:
            words.append(loaded.remark)
        if self._session.training.current is not None:
            words.append("It is listed in Tokenizers.")
        if loaded.format == _WITHOUT_PATTERN and opened.pattern is None:
            words.append("Text is not split: the files do not say how. Use Change Pattern in the Tokenizer menu.")
        self._session.jobs.tell(" ".join([*words, *loaded.tokenizer.remarks]))

    def _ask(self, question: PatternQuestion, path: Path, run: StudioRun | None) -> None:
        self._unanswered.append((question, path, run))
        if len(self._unanswered) == 1:
            self._window.dialogs.ask_pattern(question, self._answered)

    def _answered(self, pattern: str | None) -> None:
        question, path, run = self._unanswered.pop(0)
        if pattern is not None:
            if run is None:
                self._preferences.set("opened_pattern", pattern)
                self._session.jobs.start(partial(open_work, path, pattern), self._opened)
            elif pattern != question.pattern:
                self._session.jobs.start(partial(reread_work, run, pattern), self._reread)
        if self._unanswered:
            self._window.dialogs.ask_pattern(self._unanswered[0][0], self._answered)


def _data_set_in(text: str) -> Address | None:
    """The data set of the Hub or the store that a text names; None for others, and for files of other servers."""
    address = address_in(text)
    return address if address is not None and address.scheme != WEB else None


def is_link(text: str) -> bool:
    """Whether a text is nothing but a link, the name of a tokenizer with its prefix, or the address of a data set."""
    text = text.strip()
    return bool(_data_set_in(text) or name_in(text) or re.fullmatch(r"https?://\S+", text))


def _name(path: Path, loaded: Loaded) -> str:
    """The initial name of a tokenizer: its own, its folder if that was opened, or its file.

    A usual name of a file has its folder before it.
    """
    if loaded.name:
        return loaded.name
    file = loaded.files[0]
    if path != file and (name := file_name(path)) and path.is_dir():
        return name
    return f"{file_name(file.parent)}/{file_name(file)}" if file.stem in _USUAL else file_name(file)


def _how(pattern: str) -> str:
    if pattern == "none":
        return "does not split text"
    return f"splits text by {pattern if len(pattern) < 20 else 'your expression'}"
