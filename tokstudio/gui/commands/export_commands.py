"""The export actions: tables and pictures are written to the file that is asked for, in the background.

Tokenizers are left to the export dialog, what files hold to `tokstudio.core.formats`.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Collection
from functools import partial
from pathlib import Path
from typing import Protocol

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QObject, Signal
from PySide6.QtGui import QImage, QImageWriter

from tokstudio.core.base.atomic_files import file_name, write_files
from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.wording import printable
from tokstudio.core.formats import ExportReport, save_work
from tokstudio.core.formats.ids import write_ids_work
from tokstudio.core.tokenizer.tokenizer import AllowedSpecial, Tokenizer
from tokstudio.gui.export.plan import wrote
from tokstudio.gui.session.preferences import Preferences
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.widgets.file_dialogs import Choosers

_PLOT_SIZE = (1600, 900)


class PlotPicture(Protocol):
    """Whoever can draw the plot for a file."""

    def to_image(self, width: int, height: int, scale: float) -> QImage:
        """A picture of so many pixels, times `scale`."""
        ...

    def to_svg(self, width: int, height: int) -> bytes:
        """A drawing that scales."""
        ...


class TreePicture(Protocol):
    """Whoever can draw the tree of a token."""

    def tree_svg(self) -> bytes:
        """A drawing that scales."""
        ...


class Exports(Protocol):
    """What exporting needs of the window."""

    def plot(self) -> PlotPicture:
        """Who draws the plot for a file."""
        ...

    def merge_tree(self) -> TreePicture:
        """Who draws the tree of the token that is looked at."""
        ...

    def show_export(self, run: StudioRun, formats: Collection[str]) -> None:
        """Asks about formats and folder, and exports a run."""
        ...


class ExportCommands(QObject):
    """Does what the export actions say.

    Signals:
        done: Something was written or opened: a sentence for the status bar.
    """

    done = Signal(str)

    def __init__(
        self, session: Session, preferences: Preferences, choosers: Choosers, views: Exports, parent: QObject
    ) -> None:
        super().__init__(parent)
        self._session = session
        self._preferences = preferences
        self._choosers = choosers
        self._exports = views

    def export_tokenizer(self) -> None:
        """Asks about formats and folder, beginning with those that were chosen last."""
        self._open_dialog(self._preferences.get("export_formats", "huggingface").split())

    def export_format(self, name: str) -> None:
        """Asks about formats and folder, beginning with one format."""
        self._open_dialog([name])

    def export_merges_csv(self) -> None:
        """Writes the merge log."""
        self._export("merges-csv", self._ask_target("Merge Log as CSV", "merges.csv", "Merge log (*.csv)"))

    def export_merges_jsonl(self) -> None:
        """Writes the merge log for programs."""
        self._export("merges-jsonl", self._ask_target("Merge Log as JSON Lines", "merges.jsonl", "Merge log (*.jsonl)"))

    def export_vocabulary_csv(self) -> None:
        """Writes the vocabulary."""
        self._export("vocabulary-csv", self._ask_target("Vocabulary as CSV", "vocabulary.csv", "Vocabulary (*.csv)"))

    def export_ids(self) -> None:
        """Writes the ids of the text that is shown in tokens, as they are shown."""
        tokenizer, text = self._session.view.tokenizer, self._session.view.text
        path = self._ask_target("Token Ids of the Text", "ids.json", "Token ids (*.json *.npy)")
        if path is not None and tokenizer is not None:
            allowed = "all" if self._preferences.get("recognise_specials", False) else ()
            self._session.jobs.start(partial(_write_ids, path, tokenizer, text, allowed), self._written, writes=True)

    def export_plot_png(self) -> None:
        """Saves the plot as a picture."""
        path = self._ask_target("Plot as PNG", "compression.png", "Picture (*.png)")
        if path is not None:
            picture = self._exports.plot().to_image(*_PLOT_SIZE, 1.0)
            self._session.jobs.start(partial(_write_picture, path, picture), self._written, writes=True)

    def export_plot_svg(self) -> None:
        """Saves the plot as a drawing."""
        path = self._ask_target("Plot as SVG", "compression.svg", "Drawing (*.svg)")
        if path is not None:
            drawing = self._exports.plot().to_svg(*_PLOT_SIZE)
            self._session.jobs.start(partial(_write_one, path, drawing), self._written, writes=True)

    def export_tree_svg(self) -> None:
        """Saves the tree of the token that is looked at as a drawing."""
        path = self._ask_target("Merge Tree as SVG", f"token-{self._session.view.token}.svg", "Drawing (*.svg)")
        if path is not None:
            drawing = self._exports.merge_tree().tree_svg()
            self._session.jobs.start(partial(_write_one, path, drawing), self._written, writes=True)

    def _folder(self) -> Path:
        return self._preferences.folder

    def _ask_target(self, what: str, name: str, filters: str) -> Path | None:
        path = self._choosers.save_file(f"Save {what}", self._folder() / name, filters)
        if path is not None:
            self._preferences.folder = path.parent
            if not path.suffix:
                path = path.with_suffix(Path(name).suffix)
                # The dialog asked about the name without its ending.
                question = f"{file_name(path)} already exists."
                if path.exists() and not self._choosers.confirm(f"Save {what}", question, "Replace"):
                    return None
        return path

    def _open_dialog(self, formats: list[str]) -> None:
        if self._session.runs.active is not None:
            self._exports.show_export(self._session.runs.active, formats)

    def _export(self, name: str, path: Path | None) -> None:
        run = self._session.runs.active
        if path is not None and run is not None:
            self._session.jobs.start(partial(save_work, run.tokenizer, path, name), self._exported, writes=True)

    def _exported(self, report: ExportReport) -> None:
        self.done.emit(wrote([report]))

    def _written(self, path: Path) -> None:
        self.done.emit(f"Wrote {file_name(path)} to {printable(str(path.parent))}.")


def _write_ids(path: Path, tokenizer: Tokenizer, text: str, allowed: AllowedSpecial) -> Work[Path]:
    ids = yield from tokenizer.encode_work(text, allowed)
    yield from write_ids_work(ids, path, len(tokenizer.tokens) - 1)
    return path


def _write_picture(path: Path, picture: QImage) -> Work[Path]:
    """Compresses the picture, which is why it is work: that takes longer than the window may stand still."""
    yield Progress("writing")
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    writer = QImageWriter(buffer, QByteArray(b"png"))
    if not writer.write(picture):
        raise FormatError(f"{path.name}: the picture cannot be drawn: {writer.errorString()}.")
    return (yield from _write_one(path, bytes(buffer.data().data())))


def _write_one(path: Path, content: bytes) -> Work[Path]:
    yield from write_files({path: [content]})
    return path
