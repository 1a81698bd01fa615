"""Starts the window: application, log, hook for uncaught errors, requests of later starts, and the demo.

Numba and pyqtgraph are loaded in a background job, and dialogs when they are opened, so that the window opens quickly.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import gc
import importlib
import importlib.util
import logging
import os
import signal
import sys
import weakref
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import cast

import numpy as np
import platformdirs
from PySide6.QtCore import QCoreApplication, QEvent, QLoggingCategory, QObject, Qt, QTemporaryDir, QTimer, Signal
from PySide6.QtGui import QFileOpenEvent, QFont, QFontMetrics, QGuiApplication
from PySide6.QtWidgets import QApplication, QWidget

from tokstudio.core.base.errors import TokStudioError
from tokstudio.core.base.machine import return_freed_memory
from tokstudio.core.base.private_folders import remove_left_folders
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.corpus.readers.files import remove_left_texts
from tokstudio.core.kernels.cache import places, problem
from tokstudio.core.project import Recorder
from tokstudio.core.warm_up import prepare_work
from tokstudio.gui.app.crash_report import CrashHook, Report, left_reports, reports_folder
from tokstudio.gui.app.process import (
    COPIES,
    ENGINE,
    SETTINGS,
    EndSignals,
    GarbageCollector,
    Limits,
    Log,
    faults,
    refusal,
)
from tokstudio.gui.app.single_instance import Claim, LaterStarts, Request, bring_to_front
from tokstudio.gui.session.preferences import TEXT_SIZE, THEME, Preferences
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.problems import Problem
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.style.theme import Mode, Theme
from tokstudio.gui.widgets.file_dialogs import Choosers, path_of
from tokstudio.gui.window.about import start_line
from tokstudio.gui.window.main_window import MainWindow
from tokstudio.gui.window.message_bar import ReportCard
from tokstudio.version import __version__

# --- Offers the report of an earlier crash, after any offer of unsaved work -------------------------------------------

_KEPT = "A report was kept on this computer. It is not sent anywhere."


class ReportOffer(QObject):
    """Looks for reports after the search for unsaved work, and shows them one after another."""

    def __init__(self, window: MainWindow, session: Session, theme: Theme, folder: Path) -> None:
        super().__init__(window)
        self._window = window
        self._jobs = session.jobs
        self._folder = folder
        self._reports: list[Report] = []
        self._looked = False
        self.card = ReportCard(theme, window.strips)
        self.card.copy_button.clicked.connect(self._copy)
        self.card.show_button.clicked.connect(self._show)
        self.card.dismiss_button.clicked.connect(self._dismiss)
        window.recovery.offered.connect(self._refresh)

    def _refresh(self) -> None:
        if not self._looked:
            self._looked = True
            self._jobs.start(partial(_look_work, self._folder), self._take, quiet=True)
        may = self._reports and not self._window.recovery.sentence
        self.card.offer(_sentence(self._reports[0]) if may else "")

    def _take(self, reports: list[Report]) -> None:
        self._reports = reports
        self._refresh()

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self._reports[0].text)
        self._window.status.say("The report was copied.")

    def _show(self) -> None:
        file = self._reports[0].file
        if not self._window.show_file(file):
            self._window.status.say(f"The folder could not be opened: {file.parent}")

    def _dismiss(self) -> None:
        self._reports.pop(0).dismiss()
        self._refresh()


def _look_work(folder: Path) -> Work[list[Report]]:
    yield Progress("looking for reports")
    return left_reports(folder)


def _sentence(report: Report) -> str:
    what = "TokStudio crashed" if report.ended else "Something went wrong inside TokStudio"
    return f"{what} the last time. {_KEPT}"


_log = logging.getLogger(__name__)

_DEMO_PATIENCE = 180_000  # milliseconds; the first start compiles
_PICTURE_SETTLES = 400
# Seconds. At Python's default of 5 ms, each of the hundreds of Qt calls that open a dialog would wait that long.
_TURN_OF_A_THREAD = 0.00005
_DEMO_TEXT = (
    "A tokenizer turns text into numbers,\nand the numbers into text again.\nOne 🌍 is four bytes, 太阳 is six.\n"
)


class Application(QApplication):
    """The application; on macOS, files opened by a double click arrive as events."""

    file_asked = Signal(object)  # the system asks to open this file

    def event(self, event: QEvent) -> bool:
        """Handles the system's request to open a file."""
        if isinstance(event, QFileOpenEvent) and event.url().isLocalFile():
            self.file_asked.emit(path_of(event.url()))
            return True
        return super().event(event)


class Studio(QObject):
    """All objects of one window, in the order of their creation; they are removed in reverse.

    Args:
        recovery: The folder of recovery files; None to keep none.
        reports: The folder of crash reports; None to write none.
    """

    def __init__(
        self,
        application: QApplication,
        preferences: Preferences | None = None,
        choosers: Choosers | None = None,
        recovery: Path | None = None,
        reports: Path | None = None,
    ) -> None:
        super().__init__()
        self.preferences = preferences or Preferences()
        mode = cast("Mode", self.preferences.of(THEME))
        self.theme = Theme(mode, self)
        self.theme.apply(application)
        self.theme.set_mode(mode)
        self.theme.set_text_size(self.preferences.of(TEXT_SIZE))
        self._recovery = recovery
        self._logged: weakref.ref[StudioRun] | None = None
        self._garbage = GarbageCollector(self)
        remove_left_texts()
        remove_left_folders()
        self.session = Session(self, Recorder(recovery) if recovery is not None else None)
        # Beside the start they would only delay it, and two threads must not load NumPy at once (`cli.window`).
        self.session.jobs.hold()
        self.window = MainWindow(self.session, self.theme, self.preferences, choosers)
        self.failure: ImportError | None = None  # why it ended at once
        self._claim: Claim | None = None
        self._later: LaterStarts | None = None
        self._limits = Limits()
        self._kept = {SETTINGS: self.preferences.file.parent}
        if recovery is not None:
            self._kept[COPIES] = recovery
        self.window.recovery.failed.connect(self._tell_of_copies)
        self._offer = ReportOffer(self.window, self.session, self.theme, reports) if reports is not None else None
        self.session.corpus.sources_changed.connect(self._log_sources)
        self.session.training.state_changed.connect(self._log_training)
        self.session.runs.changed.connect(self._log_run)
        self._application = application
        application.focusChanged.connect(self._log_focus)
        if isinstance(application, Application):
            application.file_asked.connect(self._open_file)

    def show(self, claim: Claim | None = None) -> None:
        """Shows the window; once it answers, serves later starts and loads pyqtgraph and the compiled loops.

        Args:
            claim: The claim to be the window that gets the files of later starts; None to take no part.
        """
        self._claim = claim
        # The window lives until the end: a garbage collection that searches it would delay its first paint.
        gc.freeze()
        self.window.show()
        # Two turns of the event loop: the first one paints.
        QTimer.singleShot(0, self.window, self._shown)

    def _answer(self, request: Request) -> None:
        """Handles the request of a later start, and brings the window to the front."""
        _log.info("A later start asks for %s.", ", ".join(map(str, request.files)) or "the window")
        self.window.opening.open_any(request.files)
        bring_to_front(self.window, request.token)

    def end(self, number: int) -> None:
        """Ends by a signal of the system, without questions; unsaved work is offered at the next start."""
        _log.info("The system ends the program by signal %d.", number)
        self.window.remember()
        self.window.recovery.keep(partial(QCoreApplication.exit, 128 + number))

    def close(self) -> None:
        """Removes everything; unsaved work is offered at the next start, unless the user closed the window."""
        # For example because the system ends the program, or its display is gone.
        self._application.focusChanged.disconnect(self._log_focus)
        if self._later is not None:
            self._later.close()
        elif self._claim is not None:
            self._claim.release()
        self.session.close(leave=self.window.isVisible())
        self.window.deleteLater()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        self._garbage.stop()

    def _shown(self) -> None:
        QTimer.singleShot(0, self.window, self._answers)

    def _answers(self) -> None:
        # The window and the engine live until the end. Garbage collections that search them again and again while a
        # file is read would block the window for 150 ms.
        if self.window.isVisible():
            _log.info("The window answers.")
            QTimer.singleShot(0, self.window, self._serve)

    def _serve(self) -> None:
        """Serves later starts, which have waited for it, and then goes on."""
        if self._claim is not None:
            self._later = self._claim.listen(self)
            if self._later is not None:
                self._later.asked.connect(self._answer)
        QTimer.singleShot(0, self.window, self._load_numpy)

    def _load_numpy(self) -> None:
        try:
            # The command line lets it be loaded when it is first used; what is missing shows only now.
            np.empty(0)
        except ImportError as error:
            self.failure = error
            QCoreApplication.exit(1)
        else:
            self.session.jobs.release()
            # In this thread, though it takes a tenth of a second: pyqtgraph looks at all classes of Qt, and the process
            # crashes now and then where another thread does that while this one uses them.
            self._load_later(["pyqtgraph", "tokstudio.gui.plot.chart"])

    def _load_later(self, names: Sequence[str]) -> None:
        """Loads modules one at a time, each in a turn of the event loop, and then goes on."""
        QTimer.singleShot(0, self.window, partial(self._load_next, names) if names else self._make_panes)

    def _load_next(self, names: Sequence[str]) -> None:
        importlib.import_module(names[0])
        self._load_later(names[1:])

    def _make_panes(self) -> None:
        """Makes what is not shown yet, some panes at a time, and then goes on."""
        QTimer.singleShot(0, self.window, self._make_panes if self.window.make_some() else self._begin_unasked)

    def _begin_unasked(self) -> None:
        """Places what is not shown yet, and begins what nobody has asked for."""
        self.window.make_rest()
        gc.freeze()
        self.session.jobs.start(self._look_for_limits, self._tell_limits, quiet=True)
        self.session.jobs.start(self._make_ready, self._tell_limits, asked=False)
        if self._recovery is not None:
            self.window.recovery.look(self._recovery)

    def _look_for_limits(self) -> Work[dict[str, str]]:
        yield Progress("looking for limits")
        return faults(self._kept)

    def _make_ready(self) -> Work[dict[str, str]]:
        yield from prepare_work()
        _log.info("Compiled loops: %s", places().complete or "compiled by this start")
        gc.freeze()
        reason = problem()
        return {ENGINE: reason} if reason is not None else {}

    def _tell_limits(self, limits: dict[str, str]) -> None:
        if sentence := self._limits.add(limits):
            self.session.jobs.report(Problem(sentence))

    def _tell_of_copies(self, reason: str) -> None:
        self._tell_limits({COPIES: reason})

    def facts(self) -> str:
        """What is shown, in one line for a crash report; it may be called in any thread."""
        session, view = self.session, self.session.view
        run, settings, training = view.run, session.training.settings, session.training
        sizes = "no run"
        if run is not None:
            kind = run.config.algorithm.name if run.config is not None else "opened"
            sizes = f"run {run.key} ({kind}) of {len(run)} merges, {len(run.tokens)} tokens, playhead {view.playhead}"
        token = f"token {view.token}, chosen {view.chosen}, target {view.target}"
        corpus = f"{len(session.corpus.sources)} sources with weights {session.corpus.weights[:8]}"
        what = f"{settings.algorithm} {settings.base} {settings.pattern[:40]} {settings.vocabulary_size}"
        jobs = f"{len(session.jobs.running)} jobs, training {training.state}, workspace {self.window.places.workspace}"
        return f"{sizes}; {len(session.runs.all)} runs; {token}; {corpus}; settings {what}; {jobs}"

    def _log_focus(self, _: QWidget | None, now: QWidget | None) -> None:
        if now is not None:
            _log.info("Focus: %s %s", type(now).__name__, now.accessibleName() or now.objectName())

    def _log_run(self) -> None:
        run = self.session.view.run
        shown = f"run {run.key}, {len(run)} merges" if run is not None else "no run"
        _log.info("Shown: %s, playhead %d", shown, self.session.view.playhead)

    def _log_sources(self) -> None:
        _log.info("Sources: %s", ", ".join(source.name for source in self.session.corpus.sources) or "none")

    def _log_training(self) -> None:
        run = self.session.runs.active
        if self.session.training.current is not None or run is None or run.ended is None:
            return
        if self._logged is None or self._logged() is not run:
            self._logged = weakref.ref(run)
            _log.info("%s ended: %s, %d merges", run.name, run.ended, len(run))

    def _open_file(self, path: Path) -> None:
        self.window.opening.open_any([path])


class Demo(QObject):
    """The demo: trains on a sample and shows a sentence as tokens; with `screenshot` it saves a picture and ends."""

    def __init__(self, studio: Studio, sample: str, screenshot: Path | None) -> None:
        super().__init__(studio)
        self._studio = studio
        self._screenshot = screenshot
        self.code = 0
        self._patience = QTimer(self, singleShot=True, interval=_DEMO_PATIENCE)
        self._patience.timeout.connect(self._give_up)
        studio.session.view.set_text(_DEMO_TEXT)
        studio.window.commands.train_sample(sample)
        if (run := studio.session.runs.active) is not None:
            run.note(is_demo=True)
        if screenshot is not None:
            # So that the picture is the same on every machine, whatever the preferences are.
            studio.window.resize(1440, 900)
            studio.window.show_workspace("train")
            studio.window.reset_layout()
            studio.session.training.state_changed.connect(self._maybe_picture)
            self._patience.start()

    def _maybe_picture(self) -> None:
        session = self._studio.session
        run = session.runs.active
        if session.training.current is not None or run is None or run.ended is None:
            return
        session.training.state_changed.disconnect(self._maybe_picture)
        merges = round(0.42 * len(run))
        session.view.set_playhead(merges)
        session.view.look_at(_longest_token(run, merges))
        QTimer.singleShot(_PICTURE_SETTLES, self, self._picture)

    def _picture(self) -> None:
        assert self._screenshot is not None
        if self._studio.session.jobs.running:
            QTimer.singleShot(_PICTURE_SETTLES, self, self._picture)
        elif self._studio.window.grab().save(str(self._screenshot), "PNG"):
            self._quit(0)
        else:
            sys.stderr.write(f"tokstudio: {self._screenshot}: the picture could not be written.\n")
            self._quit(1)

    def _give_up(self) -> None:
        sys.stderr.write("tokstudio: the demo did not finish in time; no picture was written.\n")
        self._quit(1)

    def _quit(self, code: int) -> None:
        self._patience.stop()
        self.code = code
        self._studio.window.close()


def run(
    files: list[Path],
    *,
    demo: bool = False,
    screenshot: Path | None = None,
    sample: str = "article",
    log_file: Path | None = None,
    claim: Claim | None = None,
) -> int:
    """Opens the window and returns when it is closed.

    Args:
        files: Files and folders: tokenizers to open, and texts for the corpus.
        demo: Whether to train a sample at once.
        screenshot: With `demo`: where to write a picture (PNG) before closing again.
        sample: The sample that the demo trains on.
        log_file: An additional log file.
        claim: The claim to be the window that gets the files of later starts; None to take no part.

    Returns:
        The exit code; 128 + n if signal n ended it.

    Raises:
        TokStudioError: No window can be opened, or the log cannot be written.
    """
    _require_display(screenshot is not None)
    _require_plots()
    with Log(log_file):
        application = make_application()
        _log.info(start_line())
        if not QFontMetrics(QFont()).inFont("a"):
            # In the window nobody could read it.
            _log.warning("No font is installed, so all text appears as boxes. Install one, such as DejaVu Sans.")
        # The picture is the same everywhere: it neither reads nor changes the preferences.
        passing = QTemporaryDir() if screenshot is not None else None
        if passing is not None and not passing.isValid():
            raise TokStudioError(f"The temporary folder for settings could not be made: {passing.errorString()}.")
        reports = reports_folder() if passing is None else None
        hook = CrashHook(reports)
        hook.install()
        if passing is None:
            folder = Path(platformdirs.user_data_dir("tokstudio", appauthor=False)) / "recovery"
            studio = Studio(application, recovery=folder, reports=reports)
        else:
            studio = Studio(application, Preferences(Path(passing.path()) / "settings.ini"))
        hook.facts = studio.facts
        hook.caught.connect(studio.session.jobs.report, Qt.ConnectionType.QueuedConnection)
        studio.show(claim)
        shown = Demo(studio, sample, screenshot) if demo else None
        if files:
            studio.window.opening.open_any(files)
        code = _stay(application, studio)
        studio.close()
        # Not earlier, so that errors while the window is removed are reported too.
        hook.remove()
        if studio.failure is not None:
            raise studio.failure
        code = shown.code if shown is not None and shown.code else code
        _log.info("Ended with %d.", code)
        return code


def _stay(application: QApplication, studio: Studio) -> int:
    """Runs the event loop until the window is closed, and serves the system's signals."""
    signals = EndSignals(studio)
    signals.asked.connect(studio.end)
    signals.install()
    code = application.exec()
    signals.remove()
    return code


def _longest_token(run: StudioRun, merges: int) -> int:
    """The longest token merged so far; the newest of several."""
    ids, tokens = map(run.id_of_merge, range(1, merges + 1)), run.tokenizer.tokens
    return max(ids, key=lambda token: (tokens.length(token), token), default=0)


def _require_plots() -> None:
    """Raises ImportError where something is missing that pyqtgraph, which is loaded later, needs."""
    importlib.import_module("PySide6.QtOpenGL")
    if importlib.util.find_spec("pyqtgraph") is None:
        raise ModuleNotFoundError("No module named 'pyqtgraph'", name="pyqtgraph")


def _require_display(only_a_picture: bool) -> None:
    """Uses the offscreen platform for a picture, and refuses a window, where there is no display."""
    why = refusal()
    if why is None:
        return
    if not only_a_picture:
        raise TokStudioError(f"{why} A picture can still be drawn: --demo --screenshot PNG.")
    os.environ["QT_QPA_PLATFORM"] = "offscreen"


def make_application() -> QApplication:
    """The only application of this process."""
    # A missing font for a script is no error of ours; Qt would log it for every text.
    QLoggingCategory.setFilterRules("qt.text.font.db=false")
    sys.setswitchinterval(_TURN_OF_A_THREAD)
    return_freed_memory()
    application = QApplication.instance()
    if not isinstance(application, QApplication):
        application = Application(sys.argv[:1])
    application.setApplicationName("TokStudio")
    application.setApplicationVersion(__version__)
    application.setDesktopFileName("tokstudio")
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return application
