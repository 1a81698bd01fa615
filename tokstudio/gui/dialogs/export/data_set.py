"""The dialog that encodes a data set into a folder of shards, or goes on where that was cancelled."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import QSignalBlocker, QSize, Signal
from PySide6.QtWidgets import QCheckBox, QWidget

from tokstudio.core.base.atomic_files import file_name
from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.wording import first_few, printable, several
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.readers.contents import Reading
from tokstudio.core.corpus.readers.folders import Folder
from tokstudio.core.shards.dataset import EncodedDataset, encode_dataset_work, told
from tokstudio.core.shards.inputs import SHARD_TOKENS, EncodingSettings
from tokstudio.core.shards.manifest import BIN, NAME, NPY, PARQUET
from tokstudio.gui.dialogs.export.dialog import FolderField
from tokstudio.gui.session.common.jobs import LatestJob
from tokstudio.gui.session.preferences import Preferences
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.problems import problem_of
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.controls import Choice, ChoiceBox, Number
from tokstudio.gui.widgets.fields import form_grid
from tokstudio.gui.widgets.file_dialogs import Choosers
from tokstudio.gui.widgets.labels import paragraph_label
from tokstudio.gui.widgets.layouts import STRETCH, row
from tokstudio.gui.widgets.menus import push_button
from tokstudio.gui.widgets.pane import WorkDialog

_SIZE = QSize(640, 460)
_CORPUS, _FILES = "corpus", "files"
_NOTHING = ""
_NAMED = 3
_FORMATS = (
    (NPY, "&NumPy", "An array of ids with the ends of its documents beside it, as trainers map into the memory."),
    (BIN, "&Raw", "The same ids without the header of NumPy, little-endian."),
    (PARQUET, "&Parquet", "A row with the ids of each document, in the column input_ids."),
)
_ABOUT = (
    "Special tokens in the text are text. Complete shards of an encoding that was cancelled stay, and the same "
    "settings go on after them."
)


class EncodeDialog(WorkDialog):
    """Asks what is encoded and how, and stays open until the user leaves."""

    written = Signal(str)  # a sentence for the status bar

    def __init__(
        self, session: Session, theme: Theme, preferences: Preferences, choosers: Choosers, parent: QWidget | None
    ) -> None:
        super().__init__("Encode a Data Set", session.jobs.pauses.dialogs, parent)
        self._session, self._preferences, self._choosers = session, preferences, choosers
        self._files: list[Path] = []
        self._chosen: tuple[list[Path], Reading] | None = None  # of the text; None where it cannot be encoded
        self._skipped: list[str] = []
        self._settings: EncodingSettings | None = None
        self._job = LatestJob(session.jobs, self, self._take, self._fail, quiet=True)
        self._build(theme)
        self._choose_run()
        session.view.playhead_changed.connect(self._tell_merges)
        self._choose_text()
        for changed in (session.corpus.sources_changed, session.corpus.left_out_changed):
            changed.connect(self._choose_text)
        self.say(_ABOUT)

    def _build(self, theme: Theme) -> None:
        corpus = Choice(_CORPUS, "The corpus", "The files of the corpus, as they were opened.")
        self.text = ChoiceBox((corpus, Choice(_FILES, "Files", "Other files, archives and data sets.")))
        self.choose_button = push_button("C&hoose…", self._choose_files)
        self.given = paragraph_label("muted")
        self.documents = ChoiceBox((
            Choice("file", "Each file", "A plain text is one document."),
            Choice("line", "Each line", "Each line of a plain text is a document."),
        ))  # fmt: skip
        self.documents.choose(self._session.training.settings.documents)
        runs = [run for run in self._session.runs.all if run.ended is not None and len(run.tokenizer)]
        self.tokenizer = ChoiceBox([Choice(run, printable(run.name), "") for run in runs])
        self.tokenizer.choose(self._session.runs.active)
        self.merges = paragraph_label("muted")
        self.end = ChoiceBox(())
        self.formats = {name: QCheckBox(title) for name, title, _ in _FORMATS}
        for name, _, tip in _FORMATS:
            self.formats[name].setToolTip(tip)
            self.formats[name].toggled.connect(self._refresh)
        self.tokens = Number(theme, width=130)
        self.tokens.setValue(SHARD_TOKENS)
        self.tokens.setToolTip("At most so many tokens are in a shard, of whole documents.")
        grid = form_grid(
            ("&Text", self.text),
            ("&Documents of plain text", self.documents),
            ("T&okenizer", self.tokenizer),
            ("&Append to each document", self.end),
            ("Tokens of a &shard", self.tokens),
        )
        grid.addWidget(self.choose_button, 0, 2)
        self.folder = FolderField(lambda folder: self._choosers.open_folder("Folder of the Shards", folder))
        last = Path(self._preferences.get("encode_folder", str(self._preferences.folder / "encoded")))
        self.folder.set_folder(last)
        self.encode_button = push_button("&Encode", self._encode, is_main=True)
        with QSignalBlocker(self.formats[NPY]):
            self.formats[NPY].setChecked(True)
        formats = row(*self.formats.values(), STRETCH, spacing=12)
        buttons = row(STRETCH, self.close_button, self.encode_button, spacing=8)
        self.fill(
            theme, _SIZE, grid, self.given, self.merges, formats, self.folder, STRETCH, self.note, self.bar, buttons
        )
        self.text.currentIndexChanged.connect(self._choose_text)
        self.tokenizer.currentIndexChanged.connect(self._choose_run)
        self.folder.changed.connect(self._refresh)

    # ---- what is chosen

    @property
    def run(self) -> StudioRun:
        """The chosen tokenizer."""
        return self.tokenizer.value

    def _choose_files(self) -> None:
        files = self._choosers.open_files("Encode Files", self._preferences.texts_folder)
        if files:
            self._files = files
            self._preferences.keep_texts_folder(files[0].parent)
            self.text.setCurrentIndex(1)
            self._choose_text()

    def _choose_text(self) -> None:
        """Finds the files of the text, and shows them."""
        try:
            self._chosen = files, _ = self._text()
            names = first_few([printable(file.name) for file in files], _NAMED, str)
            self.given.setText(f"{several(len(files), 'file')}: {names}")
        except ConfigError as error:
            self._chosen = None
            self.given.setText(str(error))
        self._refresh()

    def _choose_run(self) -> None:
        """Offers the special tokens of the tokenizer, of which the usual one is chosen."""
        tokenizer = self.run.tokenizer
        specials = sorted(tokenizer.special_tokens, key=tokenizer.special_tokens.__getitem__)
        try:
            usual = EncodingSettings(tokenizer, True).end_text
        except ConfigError:
            usual = None
        nothing = Choice(_NOTHING, "Nothing", "Documents follow one another.")
        self.end.show_choices([nothing, *(Choice(one, printable(one), "") for one in specials)], usual)
        self._tell_merges()

    def _tell_merges(self) -> None:
        """Says that the whole run is used, where the playhead is before its end."""
        run, view = self.run, self._session.view
        is_before = run is view.run and view.playhead < len(run)
        at = f"{view.playhead:,} of {len(run):,}"
        self.merges.setText(f"All merges of {printable(run.name)} are used, also those after the playhead ({at}).")
        self.merges.setVisible(is_before)

    def _text(self) -> tuple[list[Path], Reading]:
        """The files to encode, and how they are read; ConfigError where there are none."""
        if self.text.value == _CORPUS:
            return files_of(self._session.corpus.current)
        if not self._files:
            raise ConfigError("No files are chosen.")
        return self._files, Reading()

    def _refresh(self) -> None:
        fields = self.text, self.choose_button, self.documents, self.tokenizer, self.end, self.tokens, self.folder
        self._show_busy(*fields, *self.formats.values())
        has_format = any(box.isChecked() for box in self.formats.values())
        has_folder = bool(self.folder.edit.text().strip())
        is_complete = self._chosen is not None and has_format and has_folder
        self.encode_button.setEnabled(not self.is_busy and is_complete)

    # ---- encoding

    def _encode(self) -> None:
        if self._chosen is None or not self.encode_button.isEnabled():
            return
        self._skipped = []
        try:
            files, reading = self._chosen
            formats = tuple(name for name, box in self.formats.items() if box.isChecked())
            end, documents = self.end.value or False, self.documents.value
            settings = EncodingSettings(
                self.run.tokenizer, end, self.tokens.value(), formats, documents=documents, reading=reading
            )
        except ConfigError as error:
            self._fail(error)
            return
        self._settings = settings
        self._preferences.set("encode_folder", str(self.folder.folder))
        self._begin(partial(_work, files, settings, self.folder.folder, self._skipped))

    def _doing(self, progress: Progress) -> str:
        return f"{progress.phase.capitalize()}{progress.detail}…" if progress.phase else "Looking at the files…"

    def _take(self, encoded: EncodedDataset) -> None:
        assert self._settings is not None
        sentences = [*self._skipped, *told(encoded, self._settings)]
        super()._settle("\n".join(sentences))
        self.written.emit(sentences[-1])
        self.close_button.setFocus()

    def _fail(self, error: Exception) -> None:
        self._settle(problem_of(error).text, "error")

    def _settle(self, text: str, role: str = "muted") -> None:
        super()._settle(text, role)
        self.encode_button.setFocus()

    def _cancelled(self) -> str:
        name = file_name(self.folder.folder)
        goes_on = f" {name}: its complete shards stay, and Encode goes on after them."
        return f"Cancelled.{goes_on if (self.folder.folder / NAME).exists() else ''}"


def _work(files: Sequence[Path], settings: EncodingSettings, folder: Path, skipped: list[str]) -> Work[EncodedDataset]:
    def tell(found: Folder) -> None:
        if found.remark:
            skipped.append(found.remark)

    return (yield from encode_dataset_work(files, settings, folder, tell=tell))


def files_of(corpus: Corpus) -> tuple[list[Path], Reading]:
    """The files of a corpus, and how all of them are read; ConfigError where they do not give its documents again."""
    if not corpus.sources:
        raise ConfigError("The corpus has no text.")
    if corpus.left is not None:
        raise ConfigError("Parts of the corpus are left out, which its files still have: choose files.")
    readings: list[Reading] = []
    for source in corpus.sources:
        if source.path is None or source.counts is not None:
            raise ConfigError(f"{source.name} is not a text in a file: choose files.")
        if source.encoding == "bytes":
            raise ConfigError(f"{source.name} was read as bytes: choose files.")
        if source.value is not None:
            raise ConfigError(f"{source.name} is a part of a data set that a column divides: choose files.")
        readings.append(source.reading or Reading())
    if any(reading != readings[0] for reading in readings):
        raise ConfigError("The texts of the corpus are read in different ways: choose files.")
    return list(dict.fromkeys(source.path for source in corpus.sources if source.path is not None)), readings[0]
