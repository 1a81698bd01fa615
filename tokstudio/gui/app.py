"""Starts the window: application, logging, the hook for errors nobody caught, and the demo.

Numba is not loaded here: it comes with a job behind the window, so that the window is there at once.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from pathlib import Path
from types import TracebackType

import platformdirs
from PySide6.QtCore import QCoreApplication, QEvent, QLoggingCategory, QObject, Qt, QTemporaryDir, QTimer, Signal
from PySide6.QtWidgets import QApplication

from tokstudio import __version__
from tokstudio.core.errors import TokStudioError
from tokstudio.core.kernels.prepare import prepare_work
from tokstudio.core.project import Recorder
from tokstudio.gui.commands import Commands
from tokstudio.gui.dialogs.choosers import Choosers
from tokstudio.gui.main_window import MainWindow
from tokstudio.gui.session import Session
from tokstudio.gui.settings import Preferences
from tokstudio.gui.studio_run import StudioRun
from tokstudio.gui.theme import Mode, Theme

_log = logging.getLogger(__name__)

_DEMO_PATIENCE = 180_000  # milliseconds; the first start compiles
_PICTURE_SETTLES = 400
_DEMO_TEXT = (
    "A tokenizer turns text into numbers,\nand the numbers into text again.\nOne 🌍 is four bytes, 太阳 is six.\n"
)


class CrashHook(QObject):
    """Errors that nobody caught, from any thread: logged at once, told to the person from the GUI thread."""

    caught = Signal(object)

    def install(self) -> None:
        """Takes over the hooks of Python and of its threads."""
        self._before = sys.excepthook, threading.excepthook
        sys.excepthook = self._hook
        threading.excepthook = self._thread_hook

    def remove(self) -> None:
        """Gives the hooks back."""
        sys.excepthook, threading.excepthook = self._before

    def _hook(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if not isinstance(error, Exception):
            sys.__excepthook__(kind, error, trace)
            return
        _log.error("Nobody caught this", exc_info=(kind, error, trace))
        self.caught.emit(error)

    def _thread_hook(self, arguments: threading.ExceptHookArgs) -> None:
        if arguments.exc_value is not None:
            self._hook(arguments.exc_type, arguments.exc_value, arguments.exc_traceback)


class Studio(QObject):
    """Everything that one window needs, in the order it is made and taken down.

    Args:
        application: The application it dresses.
        preferences: What it remembers.
        choosers: Who asks the person; None for real dialogs.
        recovery: Where what a crash would lose is kept; None for nowhere.
    """

    def __init__(
        self,
        application: QApplication,
        preferences: Preferences | None = None,
        choosers: Choosers | None = None,
        recovery: Path | None = None,
    ) -> None:
        super().__init__()
        self.preferences = preferences or Preferences()
        mode = self.preferences.get("theme", "system")
        self.theme = Theme(_mode(mode), self)
        self.theme.apply(application)
        self.theme.set_mode(_mode(mode))
        self.theme.set_text_size(self.preferences.get("text_size", self.theme.text_size))
        self._recovery = recovery
        self.session = Session(self, Recorder(recovery) if recovery is not None else None)
        self.window = MainWindow(self.session, self.theme, self.preferences, choosers)

    def show(self) -> None:
        """Shows the window, and loads the compiled loops behind it."""
        self.window.show()
        # Two turns of the event loop: the first paints.
        QTimer.singleShot(0, self.window, self._shown)

    def close(self) -> None:
        """Takes everything down, once the window is closed."""
        self.session.close()
        self.window.deleteLater()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)

    def _shown(self) -> None:
        QTimer.singleShot(0, self.window, self._answers)

    def _answers(self) -> None:
        if self.window.isVisible():
            _log.info("The window answers.")
            self.session.start_job(prepare_work, asked=False)
            if self._recovery is not None:
                self.window.recovery.look(self._recovery)


class Demo(QObject):
    """The demo: a sample trained, a sentence in tokens; with `screenshot` the picture of it, and the end."""

    def __init__(self, studio: Studio, sample: str, screenshot: Path | None) -> None:
        super().__init__(studio)
        self._studio = studio
        self._screenshot = screenshot
        self.code = 0
        commands: Commands = studio.window.commands
        studio.session.set_text(_DEMO_TEXT)
        commands.train_sample(sample)
        if screenshot is not None:
            # So that the picture is the same on every machine, whatever was set there before.
            studio.window.resize(1440, 900)
            studio.window.reset_layout()
            studio.session.training_changed.connect(self._maybe_picture)
            QTimer.singleShot(_DEMO_PATIENCE, self, self._give_up)

    def _maybe_picture(self) -> None:
        session = self._studio.session
        run = session.active
        if session.training is not None or run is None or run.ended is None:
            return
        session.training_changed.disconnect(self._maybe_picture)
        merges = round(0.42 * len(run))
        session.set_playhead(merges)
        session.look_at(_longest_token(run, merges))
        QTimer.singleShot(_PICTURE_SETTLES, self, self._picture)

    def _picture(self) -> None:
        assert self._screenshot is not None
        if self._studio.session.jobs:
            QTimer.singleShot(_PICTURE_SETTLES, self, self._picture)
        elif self._studio.window.grab().save(str(self._screenshot), "PNG"):
            self._quit(0)
        else:
            sys.stderr.write(f"tokstudio: {self._screenshot}: the picture could not be written there.\n")
            self._quit(1)

    def _give_up(self) -> None:
        sys.stderr.write("tokstudio: the demo did not finish in time; no picture was written.\n")
        self._quit(1)

    def _quit(self, code: int) -> None:
        self.code = code
        for run in self._studio.session.runs:
            run.exported = True  # nobody is there to be asked
        self._studio.window.close()


def run(files: list[Path], *, demo: bool = False, screenshot: Path | None = None, sample: str = "article") -> int:
    """Opens the window and stays until it is closed.

    Args:
        files: Files and folders: tokenizers to open, and texts for the corpus.
        demo: Whether to train a sample at once.
        screenshot: With `demo`: where to write a picture (PNG) before closing again.
        sample: Which sample the demo trains on.

    Returns:
        The exit code.
    """
    _require_display(screenshot is not None)
    application = make_application()
    hook = CrashHook()
    hook.install()
    # A picture is to look the same everywhere: it neither reads nor changes what the person has set.
    passing = QTemporaryDir() if screenshot is not None else None
    if passing is None:
        folder = Path(platformdirs.user_data_dir("tokstudio", appauthor=False)) / "recovery"
        studio = Studio(application, recovery=folder)
    else:
        studio = Studio(application, Preferences(Path(passing.path()) / "settings.ini"))
    hook.caught.connect(studio.session.report, Qt.ConnectionType.QueuedConnection)
    studio.show()
    shown = Demo(studio, sample, screenshot) if demo else None
    if files:
        studio.window.commands.open_any(files)
    code = application.exec()
    hook.remove()
    studio.close()
    return shown.code if shown is not None and shown.code else code


def _longest_token(run: StudioRun, merges: int) -> int:
    """A token worth looking at: the longest of those merged so far, of several the newest."""
    base, tokens = run.base_size, run.tokenizer.tokens
    return max(range(base, base + merges), key=lambda token: (tokens.length(token), token)) if merges else 0


def _require_display(only_a_picture: bool) -> None:
    """Without a display a picture is drawn offscreen, and a window is refused: Qt itself would abort the process."""
    known = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")
    if not sys.platform.startswith("linux") or any(os.environ.get(name) for name in known):
        return
    if not only_a_picture:
        raise TokStudioError(
            "There is no display to open a window on. With --demo --screenshot PNG it draws a picture."
        )
    os.environ["QT_QPA_PLATFORM"] = "offscreen"


def make_application() -> QApplication:
    """The one application of this process."""
    level = os.environ.get("TOKSTUDIO_LOG", "WARNING").upper()
    logging.basicConfig(level=level if level in logging.getLevelNamesMapping() else "WARNING")
    # Missing fonts for a script are no error of ours; Qt would repeat it for every text.
    QLoggingCategory.setFilterRules("qt.text.font.db=false")
    application = QApplication.instance()
    if not isinstance(application, QApplication):
        application = QApplication(sys.argv[:1])
    application.setApplicationName("TokStudio")
    application.setApplicationVersion(__version__)
    application.setDesktopFileName("tokstudio")
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return application


def _mode(name: str) -> Mode:
    return "light" if name == "light" else "dark" if name == "dark" else "system"
