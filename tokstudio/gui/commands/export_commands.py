"""Export actions: they ask for a file and write tables and pictures to it in the background.

The export dialog exports tokenizers; `tokstudio.core.formats` defines the contents of the files.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QObject
from PySide6.QtGui import QImage, QImageWriter

from tokstudio.core.base.atomic_files import file_name
from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.wording import printable
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.left_out_list import write_list_work
from tokstudio.core.formats.ids import write_ids_work
from tokstudio.core.formats.report import ExportReport
from tokstudio.core.surgery.proof import save_proved_work
from tokstudio.core.tokenizer.tokenizer import AllowedSpecial, Tokenizer
from tokstudio.gui.commands.actions import Window
from tokstudio.gui.dialogs.export.queue import wrote
from tokstudio.gui.session.common.jobs import write_work
from tokstudio.gui.session.measuring.exploring import WrittenTable
from tokstudio.gui.session.preferences import Preferences
from tokstudio.gui.session.session import Session
from tokstudio.gui.widgets.file_dialogs import Choosers

_PLOT_SIZE = (1600, 900)
# For each table format: the title, the default file name and the filter of the file dialog.
_TABLES = {
    "merges-csv": ("Merge Log as CSV", "merges.csv", "Merge log (*.csv)"),
    "merges-jsonl": ("Merge Log as JSON Lines", "merges.jsonl", "Merge log (*.jsonl)"),
    "vocabulary-csv": ("Vocabulary as CSV", "vocabulary.csv", "Vocabulary (*.csv)"),
}


class ExportCommands(QObject):
    """Handlers of the export actions."""

    def __init__(
        self, session: Session, preferences: Preferences, choosers: Choosers, window: Window, parent: QObject
    ) -> None:
        super().__init__(parent)
        self._session, self._window = session, window
        self._preferences, self._choosers = preferences, choosers

    def export_tokenizer(self) -> None:
        """Asks for formats and folder; the last choice is the default."""
        self.export_formats(self._preferences.get("export_formats", "huggingface").split())

    def export_formats(self, formats: list[str]) -> None:
        """Asks for formats and folder; these formats are the default."""
        if self._session.runs.active is not None:
            self._window.dialogs.show_export(self._session.runs.active, formats)

    def export_table(self, name: str) -> None:
        """Writes the merge log or the vocabulary in one of the formats of `_TABLES`.

        While figures of the corpus are shown, the vocabulary is written as it is listed, with them.
        """
        listed = self._window.vocabulary.written() if name == "vocabulary-csv" else None
        if listed is not None:
            self._save_table(listed)
            return
        run, path = self._session.runs.active, self._ask_target(*_TABLES[name])
        if path is not None and run is not None:
            work = partial(save_proved_work, run.tokenizer, path, name)
            self._session.jobs.start(work, partial(self._exported, run.sized_name()), writes=True)

    def save_explored(self) -> None:
        """Writes what the Explore pane lists."""
        if (table := self._session.exploring.table) is not None:
            self._save_table(table)

    def _save_table(self, table: WrittenTable) -> None:
        path = self._ask_target(table.title, table.name, "CSV (*.csv)")
        if path is not None:
            self._session.jobs.start(partial(table.write, path), self._written, writes=True)

    def save_left_out(self) -> None:
        """Writes what is left out of the corpus."""
        path = self._ask_target("What Is Left Out as CSV", "left out.csv", "CSV (*.csv)")
        if path is not None:
            self._session.jobs.start(
                partial(_left_out_work, self._session.corpus.current, path), self._written, writes=True
            )

    def export_ids(self) -> None:
        """Writes the ids of the text in the Text pane, as shown there."""
        tokenizer, text = self._session.view.tokenizer, self._session.view.text
        path = self._ask_target("Token Ids of the Text", "ids.json", "Token ids (*.json *.npy)")
        if path is not None and tokenizer is not None:
            allowed = "all" if self._preferences.get("recognise_specials", False) else ()
            self._session.jobs.start(
                partial(_write_ids, path, self._session.view.dropped(tokenizer), text, allowed),
                self._written,
                writes=True,
            )

    def export_plot_png(self) -> None:
        """Saves the plot as PNG."""
        path = self._ask_target("Plot as PNG", "compression.png", "Picture (*.png)")
        if path is not None:
            picture = self._window.compression.to_image(*_PLOT_SIZE, 1.0)
            self._session.jobs.start(partial(_write_picture, path, picture), self._written, writes=True)

    def export_plot_svg(self) -> None:
        """Saves the plot as SVG."""
        self._save_drawing("Plot as SVG", "compression.svg", partial(self._window.compression.to_svg, *_PLOT_SIZE))

    def export_tree_svg(self) -> None:
        """Saves the merge tree of the shown token as SVG."""
        self._save_drawing("Merge Tree as SVG", f"token-{self._session.view.token}.svg", self._window.token.tree_svg)

    def _save_drawing(self, what: str, name: str, draw: Callable[[], bytes]) -> None:
        path = self._ask_target(what, name, "Drawing (*.svg)")
        if path is not None:
            self._session.jobs.start(partial(write_work, path, draw()), self._written, writes=True)

    def _ask_target(self, what: str, name: str, filters: str) -> Path | None:
        path = self._choosers.save_file(f"Save {what}", self._preferences.folder / name, filters)
        if path is not None:
            self._preferences.folder = path.parent
            if not path.suffix:
                path = path.with_suffix(Path(name).suffix)
                # The dialog confirmed the name without the suffix.
                question = f"{file_name(path)} already exists."
                if path.exists() and not self._choosers.confirm(f"Save {what}", question, "Replace"):
                    return None
        return path

    def _exported(self, name: str, report: ExportReport) -> None:
        # A table has the whole run, wherever the playhead stands.
        self._session.jobs.tell(f"{wrote([report])} It has all of {name}.")

    def _written(self, path: Path) -> None:
        self._session.jobs.tell(f"Wrote {file_name(path)} to {printable(str(path.parent))}.")


def _write_ids(path: Path, tokenizer: Tokenizer, text: str, allowed: AllowedSpecial) -> Work[Path]:
    ids = yield from tokenizer.encode_work(text, allowed)
    yield from write_ids_work(ids, path, len(tokenizer.tokens) - 1)
    return path


def _write_picture(path: Path, picture: QImage) -> Work[Path]:
    """Writes a picture; compression takes too long for the GUI thread."""
    yield Progress("writing")
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    writer = QImageWriter(buffer, QByteArray(b"png"))
    if not writer.write(picture):
        raise FormatError(f"{path.name}: the picture cannot be drawn: {writer.errorString()}.")
    return (yield from write_work(path, bytes(buffer.data().data())))


def _left_out_work(corpus: Corpus, path: Path) -> Work[Path]:
    yield from write_list_work(corpus, path)
    return path
