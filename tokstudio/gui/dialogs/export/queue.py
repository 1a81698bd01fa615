"""What an export will write (the plan), and the queue that writes it in a job."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal

from tokstudio.core.base.atomic_files import FolderError, StagedFiles, file_name
from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.formats.common.format import Fit, Format
from tokstudio.core.formats.common.proof import KEEPS_IDS, closed_gaps
from tokstudio.core.formats.known_formats import FORMATS
from tokstudio.core.formats.report import ExportReport
from tokstudio.core.formats.saving import fit_work
from tokstudio.core.surgery.proof import save_proved_work
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.gui.session.common.jobs import Job, Jobs, LatestJob, write_work
from tokstudio.gui.state.problems import problem_of
from tokstudio.gui.state.run import StudioRun

# --- The plan of an export: which merges with which ids, in which formats, into which folders -------------------------
# `tokstudio.core.formats` writes and checks the files; `queue` runs that in the background.

MODELS = "gguf"  # the format that writes into copies of models, too


# A file that can be read back is a tokenizer; one that can only be written is a table to look at.
TOKENIZERS: tuple[Format, ...] = tuple(known for known in FORMATS.values() if known.writable and known.readable)
TABLES: tuple[Format, ...] = tuple(known for known in FORMATS.values() if known.writable and not known.readable)

_SAMPLE_OF_CORPUS = 1 << 20  # bytes of the corpus for the check of a written tokenizer


@dataclass(frozen=True, eq=False)
class RunPart:
    """The part of a run to write, as tokenizers."""

    plain: Tokenizer  # with its ids as they are
    compact: Tokenizer  # the same without gaps between the ids
    moves: tuple[str, ...]  # a sentence for each token with another id; empty without gaps

    def tokenizer(self, name: str, close_gaps: bool) -> Tokenizer:
        """The tokenizer for a format: a table keeps the ids of the run."""
        return self.compact if close_gaps and not FORMATS[name].keeps_gaps else self.plain


@dataclass(frozen=True)
class ExportTargets:
    """The targets of the formats."""

    formats: tuple[str, ...]
    folder: Path  # the one that the user entered
    model: Path | None = None  # of which a copy gets the tokenizer

    @property
    def folders(self) -> Mapping[str, Path]:
        """The folder of each format: several that are read back have their own, others the folder itself."""
        tokenizers = [name for name in self.formats if FORMATS[name].readable]
        apart = tokenizers if len(tokenizers) > 1 else []
        return {name: self.folder / name if name in apart else self.folder for name in self.formats}

    def format(self, name: str) -> Format:
        """The format of a name, or what writes into a copy of the model."""
        return FORMATS[name].in_model(self.model, False) if name == MODELS and self.model else FORMATS[name]


@dataclass(frozen=True)
class TargetCheck:
    """The result of checking the targets of an export."""

    places: ExportTargets
    problem: str | None  # why nothing can be written there, in a sentence; None if it can
    is_new: bool  # whether the folder does not exist yet
    replaced: Mapping[str, tuple[Path, ...]]  # the existing files of each format

    @property
    def help_text(self) -> str:
        """The line below the folder: what is written there."""
        folders, folder = self.places.folders, self.places.folder
        several = [name for name, place in folders.items() if place != folder]
        files = [file for name, place in folders.items() if place == folder for file in self.places.format(name).files]
        remarks = [
            "The folder will be created." if self.is_new else "",
            f"Each of these formats gets its own folder in it: {', '.join(several)}." if several else "",
            f"The export writes {', '.join(files)}." if files else "",
        ]
        return " ".join(filter(None, remarks))


@dataclass(frozen=True)
class ExportOutcome:
    """The result for one format."""

    folder: Path
    report: ExportReport | None = None  # on the written files; None if there are none
    problem: str = ""  # why nothing was written, in a sentence


def part_work(run: StudioRun, merges: int) -> Work[RunPart]:
    """The tokenizer of the first `merges` merges of a run, with and without its gaps."""
    yield Progress("measuring")
    tokenizer = run.tokenizer
    plain = tokenizer if merges == len(tokenizer.merges) else tokenizer.at(merges)
    return RunPart(plain, *closed_gaps(plain))


def fit_part_work(part: RunPart, corpus: Corpus | None, name: str, close_gaps: bool) -> Work[Fit]:
    """How well a format can hold the tokenizer of a corpus."""
    fit = yield from fit_work(part.tokenizer(name, close_gaps), name, sample=_sample(corpus))
    if close_gaps and FORMATS[name].keeps_gaps and fit.problem is None:
        return replace(fit, notes=(*fit.notes, KEEPS_IDS))
    return fit


@dataclass(frozen=True)
class ModelFit:
    """Whether a copy of a model can get the tokenizer.

    Attributes:
        problem: Why it cannot, or cannot without filling it up, in a sentence; "" where it can.
        fills: Whether it can if the tokens that the model has more are filled up.
    """

    problem: str = ""
    fills: bool = False


def model_work(part: RunPart, name: str, close_gaps: bool, model: Path) -> Work[ModelFit]:
    """Whether a copy of a model can get the tokenizer in a format."""
    tokenizer = part.tokenizer(name, close_gaps)
    try:
        as_it_is = yield from fit_work(tokenizer, name, model=model)
        if as_it_is.problem is None:
            return ModelFit()
        filled = yield from fit_work(tokenizer, name, model=model, pad=True)
    except FormatError as error:
        return ModelFit(str(error))
    return ModelFit(as_it_is.problem, fills=filled.problem is None)


def check_target_work(places: ExportTargets) -> Work[TargetCheck]:
    """Checks whether the folder can be written, and which files would be replaced."""
    yield Progress("looking")
    for folder in (places.folder, *places.folders.values()):
        if (problem := _folder_problem(folder)) is not None:
            return TargetCheck(places, problem, is_new=False, replaced={})
    replaced = {name: _there(places.format(name), folder) for name, folder in places.folders.items()}
    return TargetCheck(places, None, not places.folder.exists(), replaced)


def folders_work(folders: Iterable[Path]) -> Work[None]:
    """Checks that folders can be made, before anything is written into the first; leaves none behind.

    Raises:
        FolderError: One of them cannot be made.
    """
    with StagedFiles() as staged:
        for folder in folders:
            yield Progress("writing")
            staged.make_folder(folder)


def export_work(
    part: RunPart,
    close_gaps: bool,
    name: str,
    folder: Path,
    corpus: Corpus | None,
    model: Path | None = None,
    pad: bool = False,
) -> Work[ExportReport]:
    """Writes and checks one format; if that fails, a folder made for it is removed. For `model` and `pad` see `save`.

    Raises:
        FormatError: It cannot be written, or the written tokenizer differs.
    """
    yield Progress("writing")
    with StagedFiles() as staged:
        staged.make_folder(folder)
        tokenizer = part.tokenizer(name, close_gaps)
        report = yield from save_proved_work(
            tokenizer, folder, name, accept_loss=True, sample=_sample(corpus), original=part.plain, model=model, pad=pad
        )
        staged.commit()
    return report


def _sample(corpus: Corpus | None) -> bytes | None:
    return None if corpus is None else corpus.sample(_SAMPLE_OF_CORPUS)


def wrote(reports: Sequence[ExportReport]) -> str:
    """The sentence in the status bar about one or more exports."""
    files = [file for report in reports for file in report.files]
    folder = os.path.commonpath([file.parent for file in files])
    if len(reports) == 1:
        names = " and ".join(map(file_name, files))
        return f"Wrote {names} to {folder}. {reports[0].proof_sentence}".rstrip()
    proved = ", ".join(report.format for report in reports if report.is_proved)
    summary = f"Wrote {len(files)} files in {len(reports)} formats to {folder}."
    return summary + (f" Read back and identical: {proved}." if proved else "")


def report_work(reports: Sequence[ExportReport], path: Path, run: str) -> Work[Path]:
    """Writes the reports on several exports of a run into a text file beside the exported files."""
    named = (replace(report, tokenizer=(f"{run}.", *report.tokenizer)) for report in reports)
    return (yield from write_work(path, "\n\n".join(report.text() for report in named)))


def _there(chosen: Format, folder: Path) -> tuple[Path, ...]:
    """The files of a format that a folder already has."""
    if not folder.is_dir():
        return ()
    return tuple(file for file in chosen.targets(folder).values() if file.exists())


def _folder_problem(folder: Path) -> str | None:
    """Why nothing can be written into a folder, existing or new; None if it can."""
    if not folder.is_absolute():
        return "Enter the full path of a folder."
    try:
        there = next(above for above in (folder, *folder.parents) if above.exists())
        if not there.is_dir():
            return f"{file_name(there)} is a file, not a folder: choose another."
        allowed = os.access(there, os.W_OK | os.X_OK)
    except OSError as error:
        return str(FolderError(folder, error))
    except (StopIteration, ValueError):
        return "This folder cannot be used: choose another."
    return None if allowed else f"The folder {there} is not writable: choose another."


# --- Runs the work of an export in the background: checks the formats one by one, and writes them one by one ----------


@dataclass(frozen=True)
class Order:
    """One format to be written: its name, its folder, and the work."""

    name: str
    folder: Path
    work: Callable[[], Work[ExportReport]]


class InTurn(QObject):
    """Runs quiet checks by name, one job at a time; new ones replace those that are pending."""

    answered = Signal(str, object)  # the name of a check, and its result or an exception

    def __init__(self, jobs: Jobs, parent: QObject) -> None:
        super().__init__(parent)
        self._asked: deque[tuple[str, Callable[[], Work[Any]]]] = deque()
        self._latest = LatestJob(jobs, self, self._answer, self._answer, quiet=True)

    def ask(self, questions: Iterable[tuple[str, Callable[[], Work[Any]]]]) -> None:
        """Starts checks; the results of earlier ones are dropped."""
        self.cancel()
        self._asked.extend(questions)
        self._next()

    def cancel(self) -> None:
        """Cancels all checks and drops their results."""
        self._latest.cancel()
        self._asked.clear()

    def _next(self) -> None:
        if self._asked:
            self._latest.run(self._asked[0][1])

    def _answer(self, answer: object) -> None:
        name, _ = self._asked.popleft()
        self._next()
        self.answered.emit(name, answer)


class Exporting(QObject):
    """Writes formats one job at a time, after a check that all of their folders can be made."""

    settled = Signal(str, object)  # the name of a format, with its `ExportOutcome`
    refused = Signal(str)  # why a folder cannot be made, in a sentence; the remaining formats are not written
    ended = Signal()  # all work is done

    def __init__(self, jobs: Jobs, parent: QObject) -> None:
        super().__init__(parent)
        self._jobs = jobs
        self._orders: deque[Order] = deque()
        self._job: Job | None = None

    @property
    def running(self) -> bool:
        """Whether something is being written or waits to be."""
        return bool(self._orders)

    @property
    def left(self) -> int:
        """The number of formats that are not written yet."""
        return len(self._orders)

    @property
    def current(self) -> str | None:
        """The format that is being written; None if there is none."""
        return self._orders[0].name if self._job is not None else None

    @property
    def progress(self) -> Progress:
        """The progress of the current format."""
        return self._job.progress if self._job is not None else Progress("")

    def begin(self, orders: Iterable[Order]) -> None:
        """Writes formats in the given order."""
        self._orders.extend(orders)
        folders = [order.folder for order in self._orders]
        self._start(partial(folders_work, folders), self._ready)

    def cancel(self) -> None:
        """Cancels the current format and drops the rest; finished files stay."""
        if self._job is not None:
            self._job.cancel()

    def _next(self) -> None:
        if not self._orders:
            self.ended.emit()
            return
        order = self._orders[0]
        self._start(order.work, self._written)

    def _start(self, work: Callable[[], Work[Any]], done: Callable[[Any], None]) -> None:
        self._job = self._jobs.start(work, done, self._failed, writes=True)
        self._job.cancelled.connect(self._cancelled)

    @property
    def _is_stopped(self) -> bool:
        """Whether a job that has just ended was cancelled after its work was done."""
        return self._job is not None and self._job.is_cancelled

    def _go_on(self, stopped: bool) -> None:
        if stopped:
            self._cancelled()
        else:
            self._next()

    def _ready(self, _: object) -> None:
        self._go_on(self._is_stopped)

    def _written(self, report: ExportReport) -> None:
        stopped = self._is_stopped
        self._settle(ExportOutcome(self._orders[0].folder, report))
        self._go_on(stopped)

    def _failed(self, error: Exception) -> None:
        if isinstance(error, FolderError):
            self._job = None
            self._orders.clear()
            self.refused.emit(problem_of(error).text)
            self._next()
            return
        self._settle(ExportOutcome(self._orders[0].folder, problem=problem_of(error).text))
        self._next()

    def _cancelled(self) -> None:
        while self._orders:
            self._settle(ExportOutcome(self._orders[0].folder, problem="Cancelled. Nothing was changed."))
        self._next()

    def _settle(self, outcome: ExportOutcome) -> None:
        self._job = None
        self.settled.emit(self._orders.popleft().name, outcome)
