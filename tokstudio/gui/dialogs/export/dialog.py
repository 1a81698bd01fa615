"""The dialog that exports a run: formats, their losses, the folder, and the checked results.

See also `plan` for the work and `queue` for its execution.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from functools import partial
from pathlib import Path

from PySide6.QtCore import QSignalBlocker, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QGuiApplication, QShowEvent
from PySide6.QtWidgets import QCheckBox, QLineEdit, QWidget

from tokstudio.core.base.atomic_files import file_name
from tokstudio.core.base.wording import capitalized, printable, safe_name, several
from tokstudio.core.formats.common.format import Fit
from tokstudio.core.formats.known_formats import FORMATS
from tokstudio.core.formats.report import ExportReport
from tokstudio.gui.dialogs.export import queue
from tokstudio.gui.dialogs.export.format_list import INDENT, FormatList
from tokstudio.gui.session.common.jobs import LatestJob
from tokstudio.gui.session.preferences import Preferences
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.problems import problem_of
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.state.training_settings import USUAL_PATTERN, WHY_SPLIT
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.fields import Field, label_for
from tokstudio.gui.widgets.file_dialogs import Choosers
from tokstudio.gui.widgets.labels import paragraph_label, plain
from tokstudio.gui.widgets.layouts import column, resize_on_screen, row, rule
from tokstudio.gui.widgets.menus import link_button, push_button
from tokstudio.gui.widgets.pane import Dialog

# --- The field for a folder, with a line below that says what is written there or what is wrong -----------------------


class FolderField(Field):
    """A field for a folder; `choose` asks for one, starting in the given one, and returns None if cancelled."""

    def __init__(self, choose: Callable[[Path], Path | None]) -> None:
        self.edit = QLineEdit()
        super().__init__("", self.edit)
        self._choose = choose
        self.browse = push_button("&Browse…", self._browse)
        self.row.addWidget(label_for("&Folder", self.edit))
        self.row.addWidget(self.edit, 1)
        self.row.addWidget(self.browse)
        self.edit.textChanged.connect(self.changed)

    @property
    def folder(self) -> Path:
        """The entered folder; "~" is the home folder."""
        entered = Path(self.edit.text().strip())
        try:
            return entered.expanduser()
        except RuntimeError:
            return entered

    def set_folder(self, folder: Path) -> None:
        """Sets the folder without emitting a signal."""
        with QSignalBlocker(self.edit):
            self.edit.setText(str(folder))

    def _browse(self) -> None:
        entered = self.folder
        folder = self._choose(next((each for each in (entered, *entered.parents) if each.is_dir()), entered))
        if folder is not None:
            self.edit.setText(str(folder))


_SIZE = QSize(660, 640)


class ExportDialog(Dialog):
    """Exports one run, which need not be active. It stays open until it is closed and blocks only its parent window.

    The `formats` are checked at first.
    """

    written = Signal(str)  # a sentence for the status bar

    def __init__(
        self,
        session: Session,
        run: StudioRun,
        formats: Collection[str],
        theme: Theme,
        preferences: Preferences,
        choosers: Choosers,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(f"Export {run.name}", parent)
        self._run, self._preferences, self._choosers = run, preferences, choosers
        self._jobs, self._runs, self._training = session.jobs, session.runs, session.training
        self._playhead = min(session.view.playhead, len(run))
        self._part: queue.RunPart | None = None
        self._target_check: queue.TargetCheck | None = None
        self._model_fit: queue.ModelFit | None = None
        self._outcomes: dict[str, queue.ExportOutcome] = {}
        self._refusals: dict[Path, str] = {}
        self._parts = LatestJob(session.jobs, self, self._take_part, self._fail, quiet=True)
        self._target_checks = LatestJob(session.jobs, self, self._take_target_check, self._fail, quiet=True)
        self._model_checks = LatestJob(session.jobs, self, self._take_model_fit, self._fail, quiet=True)
        self._fits, self._exporting = queue.InTurn(session.jobs, self), queue.Exporting(session.jobs, self)
        self._timer = QTimer(self, interval=session.jobs.pauses.dialogs)
        self._build(formats, theme)
        self._connect()
        resize_on_screen(self, theme, _SIZE)
        self._choose_places()
        # After the first paint, as painting and this work would delay each other.
        QTimer.singleShot(session.jobs.pauses.dialogs, self, self._choose_part)

    def _options(self) -> QWidget:
        """The choices of what to write of the run, if there are any."""
        run, at = self._run, self._playhead
        self.part = QCheckBox(f"Only up to the &playhead ({at:,} of {several(len(run), 'merge')})")
        self.part.setVisible(at < len(run) and run.tokenizer.no_playhead is None)
        self.gaps = QCheckBox("Close the &gaps between ids")
        self.gaps.hide()
        self.moves = paragraph_label("muted")
        self.moves.setIndent(INDENT)
        self.moves.hide()
        self.unsplit = paragraph_label("muted", f"The text of {run.name} was not split into pre-tokens. {WHY_SPLIT}")
        self.usual = link_button(
            "Use Pre-Tokens", self._use_pattern, f"Train with the pattern {USUAL_PATTERN}, as many do."
        )
        self._pattern = QWidget()
        row((self.unsplit, 1), (self.usual, Qt.AlignmentFlag.AlignTop), parent=self._pattern)
        self._pattern.setVisible(run.run is not None and run.run.config.pattern == "none")
        self._above = QWidget()
        column(self._pattern, self.part, self.gaps, self.moves, rule(), parent=self._above)
        self._show_options()
        return self._above

    def _show_options(self) -> None:
        self._above.setVisible(not all(part.isHidden() for part in (self._pattern, self.part, self.gaps)))

    def _use_pattern(self) -> None:
        settings = replace(self._training.settings, pattern=USUAL_PATTERN)
        self._training.set_settings(settings)
        self.unsplit.setText(
            f"The next training makes pre-tokens, by the pattern {USUAL_PATTERN}. Train again, and export the new run."
        )
        self.usual.hide()

    def _build(self, formats: Collection[str], theme: Theme) -> None:
        self.list = FormatList((*queue.TOKENIZERS, *queue.TABLES), formats, theme, self._options())
        self.folder = FolderField(self._ask_folder)
        self._own_folder = safe_name(self._run.name, "tokenizer")
        last = Path(self._preferences.get("export_folder", str(self._preferences.folder)))
        self.folder.set_folder(last / self._own_folder)
        self.accept_loss = QCheckBox("Export any&way, with losses")
        self.accept_loss.hide()
        self.note.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.show_button = push_button("&Show in Folder", self._show_files)
        self.report_button = push_button("Save &Report…", self._save_report)
        self.close_button = push_button("Close", self._close_or_cancel)
        self.export_button = push_button("&Export", self._export, is_main=True)
        self.show_button.hide()
        self.report_button.hide()
        asked = (self.close_button, self.export_button)
        buttons = row(self.show_button, self.report_button, (self.note, 1), *asked, spacing=8)
        parts = ((self.list, 1), self.folder, self.accept_loss, buttons)
        column(*parts, spacing=10, margins=(16, 16, 16, 16), parent=self)

    def _connect(self) -> None:
        self.part.toggled.connect(self._choose_part)
        self.gaps.toggled.connect(self._ask_fits)
        self.list.changed.connect(self._choose_places)
        self.list.copy_asked.connect(self._copy_snippet)
        self.list.into.asked.connect(self._ask_model)
        self.list.into.changed.connect(self._check_model)
        self.list.into.changed.connect(self._choose_places)
        self.list.into.pad.toggled.connect(self._forget_copy)
        self.list.filled.connect(self._focus_first)
        self.folder.changed.connect(self._choose_places)
        self.accept_loss.toggled.connect(self._refresh)
        self._fits.answered.connect(self._take_fit)
        self._exporting.settled.connect(self._settled)
        self._exporting.refused.connect(self._take_refusal)
        self._exporting.ended.connect(self._ended)
        self._timer.timeout.connect(self._show_progress)
        for asked in (self._parts, self._target_checks, self._model_checks, self._fits):
            self.finished.connect(asked.cancel)

    # ---- choices

    @property
    def places(self) -> queue.ExportTargets:
        """The chosen formats with their folders."""
        return queue.ExportTargets(self.list.chosen, self.folder.folder, self.list.into.model)

    def _choose_part(self) -> None:
        """Chooses the whole run, or only its merges up to the playhead; the tokenizer is made in the background."""
        self._part = None
        self._outcomes.clear()
        self.list.forget_fits()
        merges = self._playhead if self.part.isChecked() else len(self._run)
        self._parts.run(partial(queue.part_work, self._run, merges))
        self._refresh()

    def _take_part(self, part: queue.RunPart) -> None:
        self._part = part
        self.gaps.setVisible(bool(part.moves))
        self._show_options()
        self._ask_fits()

    def _ask_fits(self) -> None:
        """Checks the formats in turn, so that the result of each is shown before the next one starts."""
        part, close_gaps = self._part, self._closes_gaps
        if part is None:
            return
        self.moves.setText(" ".join(part.moves))
        self.moves.setVisible(close_gaps)
        self._outcomes.clear()
        self.list.forget_fits()
        parts = part, self._run.corpus
        self._fits.ask((name, partial(queue.fit_part_work, *parts, name, close_gaps)) for name in self.list.rows)
        self._check_model()

    def _take_fit(self, name: str, answer: Fit | Exception) -> None:
        self.list.set_fit(name, answer if isinstance(answer, Fit) else Fit(problem_of(answer).text, (), ()))
        self._refresh()

    def _ask_model(self) -> None:
        files = self._choosers.open_files("Choose a Model", self._preferences.folder, "GGUF (*.gguf)")
        if len(files) == 1:
            self.list.into.set_model(files[0])
        elif files:
            self.say("Choose one model.", "error")

    def _forget_copy(self) -> None:
        """Lets the format be written once more, as it would be another file."""
        self._outcomes.pop(queue.MODELS, None)
        self._refresh()

    def _check_model(self) -> None:
        self._model_fit = None
        self._model_checks.cancel()
        if self.list.into.model is not None and self._part is not None:
            asked = self._part, queue.MODELS, self._closes_gaps, self.list.into.model
            self._model_checks.run(partial(queue.model_work, *asked))
        self._forget_copy()

    def _take_model_fit(self, fit: queue.ModelFit) -> None:
        self._model_fit = fit
        self.list.into.set_fit(fit)
        self._refresh()

    @property
    def _model_obstacle(self) -> str | None:
        """Why the chosen model cannot get the tokenizer, in a sentence; None if it can, or if there is none."""
        fit = self._model_fit
        if queue.MODELS not in self._waiting or self.list.into.model is None:
            return None
        if fit is None:
            return "Checking the model…"
        if fit.fills:
            return None if self.list.into.pad.isChecked() else "Tick the box to fill it up, or choose another model."
        return "Choose another model." if fit.problem else None

    def _choose_places(self) -> None:
        """Hides the results of earlier targets."""
        places = self.places
        folders = places.folders
        self._outcomes = {
            name: outcome for name, outcome in self._outcomes.items() if folders.get(name) == outcome.folder
        }
        self._target_check = None
        self._target_checks.run(partial(queue.check_target_work, places))
        self._refresh()

    def _take_target_check(self, target_check: queue.TargetCheck) -> None:
        self._target_check = target_check
        self.folder.set_help(target_check.help_text)
        self.folder.set_error(target_check.problem or self._refusals.get(target_check.places.folder))
        self._refresh()

    def _ask_folder(self, folder: Path) -> Path | None:
        return self._choosers.open_folder(self.windowTitle(), folder)

    @property
    def _closes_gaps(self) -> bool:
        return self._part is not None and bool(self._part.moves) and self.gaps.isChecked()

    @property
    def _waiting(self) -> tuple[str, ...]:
        """The chosen formats that are not written yet."""
        return tuple(name for name in self.list.chosen if name not in self._reports)

    # ---- checks

    @property
    def _obstacle(self) -> str | None:
        """Why nothing can be written now, in a sentence; None if it can."""
        if not self.list.chosen:
            return "Choose a format."
        if not self._waiting:
            return "All files are written."
        if self._part is None or not self.list.known:
            return "Checking what the formats can hold…"
        if self._target_check is None:
            return "Checking the folder…"
        if self._target_check.problem is not None:
            return "Choose another folder."
        if (of_model := self._model_obstacle) is not None:
            return of_model
        if self.list.loses and not self.accept_loss.isChecked():
            return "Some data would be lost: tick the box above to go on."
        return None

    def _refresh(self) -> None:
        running = self._exporting.running
        for name, shown in self.list.rows.items():
            if not running:
                shown.set_outcome(self._outcomes.get(name))
        self.accept_loss.setVisible(self.list.loses)
        if not self.list.loses:
            # A confirmation is valid only for the losses that the user can read.
            with QSignalBlocker(self.accept_loss):
                self.accept_loss.setChecked(False)
        obstacle = self._obstacle
        there = self._target_check.replaced if self._target_check else {}
        replaced = sum(len(there.get(name, ())) for name in self._waiting)
        self.export_button.setText("Rep&lace" if replaced and obstacle is None else "&Export")
        self.export_button.setEnabled(obstacle is None and not running)
        self.export_button.setToolTip(plain(obstacle or ""))
        replaces = f"Replaces {several(replaced, 'file')}." if replaced else ""
        self.say("" if running else obstacle if obstacle is not None else replaces)
        self.close_button.setText("Cancel" if running else "Close")
        for widget in (self.part, self.gaps, self.folder, self.accept_loss):
            widget.setEnabled(not running)
        self.list.set_changeable(not running)
        written = bool(self._reports)
        for button in (self.show_button, self.report_button):
            button.setVisible(written)
            button.setEnabled(not running)

    def _fail(self, error: Exception) -> None:
        self.say(problem_of(error).text, "error")

    # ---- writing

    def _export(self) -> None:
        part, folders = self._part, self.places.folders
        if part is None:
            return
        # The next run may fit into the usual formats again.
        usual = [name for name in self.list.chosen if name != self.list.offered]
        if usual:
            self._preferences.set("export_formats", " ".join(usual))
        self._refusals.clear()
        orders: list[queue.Order] = []
        self._begun = self._waiting
        for name in self._begun:
            work = partial(queue.export_work, part, self._closes_gaps, name, folders[name], self._run.corpus)
            if name == queue.MODELS:
                work = partial(work, model=self.list.into.model, pad=self.list.into.pad.isChecked())
            orders.append(queue.Order(name, folders[name], work))
            self._outcomes.pop(name, None)
            self.list.rows[name].set_outcome(None)
            self.list.rows[name].show_state("Waiting")
        # Otherwise the focus would move from row to row while they are disabled, and the list would scroll.
        self.close_button.setFocus()
        self._exporting.begin(orders)
        self._timer.start()
        self._refresh()

    def _show_progress(self) -> None:
        name = self._exporting.current
        if name is not None:
            progress = self._exporting.progress
            self.list.rows[name].show_state(capitalized(progress.phase), progress)

    def _settled(self, name: str, outcome: queue.ExportOutcome) -> None:
        self._outcomes[name] = outcome
        self.list.rows[name].set_outcome(outcome)
        self.list.show_row(name)
        report, run = outcome.report, self._run
        if report is None:
            return
        folder = self.folder.folder
        # The next tokenizer gets its folder beside this one.
        self._preferences.set("export_folder", str(folder.parent if folder.name == self._own_folder else folder))
        self.written.emit(queue.wrote([self._reports[one] for one in self._begun if one in self._reports]))
        assert self._part is not None
        whole = FORMATS[name].readable and len(self._part.plain.merges) == len(run) and not report.losses
        if whole and run in self._runs.all:
            self._runs.mark_exported(run)

    def _take_refusal(self, problem: str) -> None:
        self._refusals[self.folder.folder] = problem

    def _ended(self) -> None:
        self._timer.stop()
        self._choose_places()
        failed = [name for name, outcome in self._outcomes.items() if outcome.report is None]
        if failed:
            self.list.show_row(failed[0])
        if self._refusals:
            self.folder.edit.setFocus()

    @property
    def _reports(self) -> dict[str, ExportReport]:
        return {name: outcome.report for name, outcome in self._outcomes.items() if outcome.report is not None}

    def _copy_snippet(self, name: str) -> None:
        report = self._reports.get(name)
        if report is not None:
            QGuiApplication.clipboard().setText(report.snippet)
            self.say(f"Copied the Python code that loads {FORMATS[name].title}.")

    def _show_files(self) -> None:
        reports = [*self._reports.values()]
        if not self._choosers.show_file(reports[0].files[0] if len(reports) == 1 else self.folder.folder):
            self.say("The folder could not be opened.", "error")

    def _save_report(self) -> None:
        path = self._choosers.save_file("Save Report", self.folder.folder / "REPORT.txt", "Text (*.txt)")
        if path is not None:
            work = partial(queue.report_work, [*self._reports.values()], path, self._run.name)
            self._jobs.start(work, self._report_saved, self._fail, writes=True)

    def _report_saved(self, path: Path) -> None:
        self.say(f"Wrote {file_name(path)}.")
        self.written.emit(f"Wrote {file_name(path)} to {printable(str(path.parent))}.")

    # ---- closing

    def _close_or_cancel(self) -> None:
        if self._exporting.running:
            self._exporting.cancel()
        else:
            self.reject()

    def reject(self) -> None:
        """Closes; asks first while something is being written."""
        left = self._exporting.left
        formats = "One format is" if left == 1 else f"{left} formats are"
        question = f"{formats} not written yet. Files already written are kept."
        if left and not self._choosers.confirm(self.windowTitle(), question, "Stop", self._exporting.ended):
            return
        self._exporting.cancel()
        super().reject()

    def showEvent(self, event: QShowEvent) -> None:
        """Keeps the focus out of the folder, whose text would be replaced by what is typed."""
        super().showEvent(event)
        self.close_button.setFocus()

    def _focus_first(self) -> None:
        """Sets the focus on the first checked format, when the list appears."""
        if self.list.chosen and self.close_button.hasFocus():
            first = self.list.chosen[0]
            self.list.rows[first].check.setFocus()
            self.list.show_row(first)
