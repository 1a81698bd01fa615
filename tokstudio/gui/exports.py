"""The export actions: which file, and the writing of it in the background.

What the files hold and how they are proved is left to `tokstudio.core.formats`.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Protocol

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QObject, Signal
from PySide6.QtGui import QImage, QImageWriter

from tokstudio.core.errors import FormatError
from tokstudio.core.files import write_files
from tokstudio.core.formats import FORMATS, ExportReport, save_work
from tokstudio.core.progress import Progress, Work
from tokstudio.core.tokenizer import Tokenizer
from tokstudio.gui.dialogs.choosers import Choosers
from tokstudio.gui.session import Session
from tokstudio.gui.settings import Preferences
from tokstudio.gui.studio_run import StudioRun

_SAMPLE_OF_CORPUS = 1 << 20  # bytes of the corpus that a written tokenizer is proved on
_PLOT_SIZE = (1600, 900)


class PlotPicture(Protocol):
    """Whoever can draw the plot for a file."""

    def to_image(self, width: int, height: int, scale: float) -> QImage:
        """A picture of so many pixels, times `scale`."""
        ...

    def to_svg(self, width: int, height: int) -> bytes:
        """A drawing that scales."""
        ...


class Plots(Protocol):
    """Whoever knows who draws the plot."""

    def plot(self) -> PlotPicture:
        """Who draws the plot for a file."""
        ...


class ExportCommands(QObject):
    """Does what the export actions say.

    Signals:
        done: Something was written or opened: a sentence for the status bar.
    """

    done = Signal(str)

    def __init__(
        self, session: Session, preferences: Preferences, choosers: Choosers, views: Plots, parent: QObject
    ) -> None:
        super().__init__(parent)
        self._session = session
        self._preferences = preferences
        self._choosers = choosers
        self._plots = views
        self._only_to_playhead = False

    def export_classic(self) -> None:
        """Writes the classic pair."""
        folder = self._choosers.open_folder(f"Export {self._name()} into", self._folder())
        if folder is None:
            return
        self._preferences.set("folder", str(folder))
        there = [name for name in ("vocabulary.json", "merges.json") if (folder / name).exists()]
        question = f"{' and '.join(there)} will be replaced in {folder}."
        if not there or self._choosers.confirm("Export", question, "Replace"):
            self._export("classic", folder)

    def export_huggingface(self) -> None:
        """Writes tokenizer.json."""
        self._export("huggingface", self._ask_target("tokenizer.json", "Hugging Face tokenizer (*.json)"))

    def export_merges_csv(self) -> None:
        """Writes the merge log."""
        self._export("merges-csv", self._ask_target("merges.csv", "Merge log (*.csv)"))

    def export_vocabulary_csv(self) -> None:
        """Writes the vocabulary."""
        self._export("vocabulary-csv", self._ask_target("vocabulary.csv", "Vocabulary (*.csv)"))

    def export_plot_png(self) -> None:
        """Saves the plot as a picture."""
        path = self._ask_target("compression.png", "Picture (*.png)")
        if path is not None:
            picture = self._plots.plot().to_image(*_PLOT_SIZE, 1.0)
            self._session.start_job(partial(_write_picture, path, picture), self._written, writes=True)

    def export_plot_svg(self) -> None:
        """Saves the plot as a drawing."""
        path = self._ask_target("compression.svg", "Drawing (*.svg)")
        if path is not None:
            drawing = self._plots.plot().to_svg(*_PLOT_SIZE)
            self._session.start_job(partial(_write_one, path, drawing), self._written, writes=True)

    def export_at_playhead(self, only: bool) -> None:
        """Switches between exporting the whole run and only its merges up to the playhead."""
        self._only_to_playhead = only

    def _folder(self) -> Path:
        return Path(self._preferences.get("folder", str(Path.home())))

    def _name(self) -> str:
        return self._session.active.name if self._session.active is not None else ""

    def _ask_target(self, name: str, filters: str) -> Path | None:
        path = self._choosers.save_file(f"Export {self._name()}", self._folder() / name, filters)
        if path is not None:
            self._preferences.set("folder", str(path.parent))
            if not path.suffix:
                path = path.with_suffix(Path(name).suffix)
                # The dialog asked about the name without its ending.
                question = f"{path.name} is there already."
                if path.exists() and not self._choosers.confirm("Export", question, "Replace"):
                    return None
        return path

    def _export(self, name: str, path: Path | None) -> None:
        run = self._session.active
        if path is None or run is None:
            return
        tokenizer = run.tokenizer
        if self._only_to_playhead:
            tokenizer = tokenizer.at(self._session.playhead)
        sample = run.corpus.sample(_SAMPLE_OF_CORPUS) if run.corpus is not None else None
        self._session.start_job(partial(_save_run, run, tokenizer, path, name, sample), self._exported, writes=True)

    def _exported(self, saved: tuple[StudioRun, bool, ExportReport]) -> None:
        run, whole, report = saved
        if whole and run in self._session.runs:
            self._session.run_exported(run)
        names = " and ".join(path.name for path in report.files)
        proof = f" Read back: {report.proof}." if report.proof else ""
        self.done.emit(f"Wrote {names} to {report.files[0].parent}.{proof}")

    def _written(self, path: Path) -> None:
        self.done.emit(f"Wrote {path.name} to {path.parent}.")


def _save_run(
    run: StudioRun, tokenizer: Tokenizer, path: Path, name: str, sample: bytes | None
) -> Work[tuple[StudioRun, bool, ExportReport]]:
    """Gives the run, whether all of it can be had back from what was written, and the report."""
    whole = FORMATS[name].readable and len(tokenizer.merges) == len(run)
    return run, whole, (yield from save_work(tokenizer, path, name, sample=sample))


def _write_picture(path: Path, picture: QImage) -> Work[Path]:
    """Compresses the picture, which is why it is work: that takes longer than the window may stand still."""
    yield Progress("writing")
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    writer = QImageWriter(buffer, QByteArray(b"png"))
    if not writer.write(picture):
        raise FormatError(f"{path.name}: the picture cannot be made: {writer.errorString()}.")
    return (yield from _write_one(path, bytes(buffer.data().data())))


def _write_one(path: Path, content: bytes) -> Work[Path]:
    yield from write_files({path: [content]})
    return path
