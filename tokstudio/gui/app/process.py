"""The process of the window: its log, signals and garbage, and what is checked before it opens."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import ctypes
import gc
import logging
import os
import signal
import socket
import sys
from collections.abc import Mapping
from io import TextIOWrapper
from pathlib import Path

from PySide6.QtCore import (
    QLibraryInfo,
    QMessageLogContext,
    QObject,
    QPluginLoader,
    QSocketNotifier,
    QTimerEvent,
    QtMsgType,
    Signal,
    qInstallMessageHandler,
)

from tokstudio.core.base.errors import TokStudioError
from tokstudio.core.base.private_folders import check_space, private_opener

# --- Signals that end a program: at a logout, at a shutdown, or by Ctrl+C in a terminal -------------------------------

_NAMES = ("SIGTERM", "SIGHUP", "SIGINT")


class EndSignals(QObject):
    """Reports the first such signal in the event loop; a second one ends the process as usual."""

    asked = Signal(int)  # the system asks the program to end: the number of the signal

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        # Python runs no handler while Qt waits, but writes the number to a socket at once.
        self._reader, self._writer = socket.socketpair()
        self._reader.setblocking(False)
        self._writer.setblocking(False)
        self._notifier = QSocketNotifier(self._reader.fileno(), QSocketNotifier.Type.Read, self)
        self._notifier.activated.connect(self._read)
        self._before: dict[int, object] = {}

    def install(self) -> None:
        """Installs the handlers, except on Windows. Ignored signals stay ignored, as under nohup."""
        if os.name != "posix":
            return
        self._descriptor = signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
        for name in _NAMES:
            number = getattr(signal, name)
            if signal.getsignal(number) != signal.SIG_IGN:
                self._before[number] = signal.signal(number, _take)

    def remove(self) -> None:
        """Restores the earlier handlers."""
        self._notifier.setEnabled(False)
        if self._before:
            signal.set_wakeup_fd(self._descriptor)
            for number, handler in self._before.items():
                signal.signal(number, handler)  # pyright: ignore[reportArgumentType]
            self._before = {}
        self._reader.close()
        self._writer.close()

    def _read(self) -> None:
        number = self._reader.recv(1)[0]
        for caught in self._before:
            signal.signal(caught, signal.SIG_DFL)
        self.asked.emit(number)


def _take(_number: int, _frame: object) -> None:
    """Does nothing: Python writes to the socket only for signals with a handler."""


# --- The log of the program: to standard error, and to a file on request ----------------------------------------------

_FORM = "%(asctime)s %(levelname)s %(name)s: %(message)s"
_LEVELS = {
    QtMsgType.QtDebugMsg: logging.DEBUG,
    QtMsgType.QtInfoMsg: logging.INFO,
    QtMsgType.QtWarningMsg: logging.WARNING,
    QtMsgType.QtCriticalMsg: logging.ERROR,
    QtMsgType.QtFatalMsg: logging.CRITICAL,
}
# How irrelevant messages of Qt begin: what its offscreen platforms repeat for every window, and what it says of fonts
# in which no letter has an edge of its own, such as Noto Sans Thai.
_IRRELEVANT = ("This plugin does not support propagateSizeHints()", "Failed to compute left/right minimum bearings")


class _PrivateFile(logging.FileHandler):
    """A log for this user alone: it names files and says what was done with them."""

    def _open(self) -> TextIOWrapper:
        return open(self.baseFilename, "a", encoding=self.encoding, errors=self.errors, opener=private_opener)


class Log:
    """The log of one run of the program, also in the file `path`; a context manager.

    Raises:
        TokStudioError: The file cannot be written.
    """

    def __init__(self, path: Path | None) -> None:
        level = os.environ.get("TOKSTUDIO_LOG", "WARNING").upper()
        level = level if level in logging.getLevelNamesMapping() else "WARNING"
        logging.basicConfig(level=level)
        self._root = logging.getLogger()
        self._ours = logging.getLogger("tokstudio")
        self._file: logging.FileHandler | None = None
        self._level = self._ours.level
        if path is not None:
            try:
                self._file = _PrivateFile(path, encoding="utf-8", errors="backslashreplace")
            except OSError as error:
                raise TokStudioError(f"{path}: the log cannot be written there: {error.strerror or error}.") from error
            self._file.setFormatter(logging.Formatter(_FORM))

    def __enter__(self) -> None:
        self._others = [(handler, handler.level) for handler in self._root.handlers]
        # The file, and the report of a crash, also get the levels that standard error does not show.
        for handler, _ in self._others:
            handler.setLevel(max(handler.level, self._root.level))
        self._ours.setLevel(min(logging.INFO, self._root.level))
        if self._file is not None:
            self._root.addHandler(self._file)
        self._before = qInstallMessageHandler(self._take_qt)

    def __exit__(self, *_: object) -> None:
        qInstallMessageHandler(self._before)
        if self._file is not None:
            self._root.removeHandler(self._file)
            self._file.close()
        self._ours.setLevel(self._level)
        for handler, level in self._others:
            handler.setLevel(level)

    def _take_qt(self, kind: QtMsgType, context: QMessageLogContext, text: str | None) -> None:
        if text is not None and text.startswith(_IRRELEVANT):
            return
        logging.getLogger("qt").log(_LEVELS.get(kind, logging.WARNING), "%s", text)
        if self._before is not None:
            self._before(kind, context, text or "")


# --- Garbage collection in the GUI thread only ------------------------------------------------------------------------

_INTERVAL = 100  # milliseconds


class GarbageCollector(QObject):
    """Collects cyclic garbage in the GUI thread, until `stop`.

    Python collects in whichever thread allocates. In the thread of a job that would destroy widgets and other QObjects
    while the GUI thread uses them, and end the program.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        gc.disable()
        self._timer = self.startTimer(_INTERVAL)

    def stop(self) -> None:
        """Lets Python collect again."""
        self.killTimer(self._timer)
        gc.enable()

    def timerEvent(self, event: QTimerEvent) -> None:
        """Collects the oldest generation that is due."""
        due = (count > limit for count, limit in zip(gc.get_count(), gc.get_threshold(), strict=True))
        oldest = max((generation for generation, over in enumerate(due) if over), default=-1)
        if oldest >= 0:
            gc.collect(oldest)


# --- Checks whether a window can be opened before Qt tries: without a display, Qt aborts the process ------------------

_PLATFORM = "QT_QPA_PLATFORM"


def refusal() -> str | None:
    """Why no window can be opened, in one sentence; None if one can."""
    plugins = _plugins()
    asked = os.environ.get(_PLATFORM, "")
    if asked:
        # Such as "xcb:option=1;wayland": Qt uses the first that works.
        names = [name.partition(":")[0] for name in asked.split(";")]
        if os.environ.get("QT_QPA_PLATFORM_PLUGIN_PATH"):
            return None
        if not any(name in plugins for name in names):
            return f'{_PLATFORM} is "{asked}", which is not known here. Known: {", ".join(sorted(plugins))}.'
    else:
        names = _usual_names()
    if not sys.platform.startswith("linux"):
        return None
    faults = [_display_fault(name, plugins[name]) for name in names if name in plugins]
    if None in faults:
        return None
    return f"There is no display to open a window on{': ' if faults else ''}{'; '.join(filter(None, faults))}."


def _usual_names() -> list[str]:
    """The platforms that Qt tries by default on Linux."""
    wayland = os.environ.get("WAYLAND_DISPLAY") or os.environ.get("XDG_SESSION_TYPE") == "wayland"
    return [*(["wayland"] if wayland else []), *(["xcb"] if os.environ.get("DISPLAY") else [])]


def _plugins() -> dict[str, Path]:
    """Qt's platform plugins, by name."""
    folder = Path(QLibraryInfo.path(QLibraryInfo.LibraryPath.PluginsPath)) / "platforms"
    plugins: dict[str, Path] = {}
    for file in folder.glob("*"):
        about = QPluginLoader(str(file)).metaData().get("MetaData")
        if isinstance(about, dict):
            plugins.update(dict.fromkeys(about.get("Keys", ()), file))
    return plugins


def _display_fault(name: str, plugin: Path) -> str | None:
    """Why a display cannot be used; None if it can, or if its kind is unknown."""
    ask = _ask_x if name == "xcb" else _ask_wayland if name.startswith("wayland") else None
    if ask is None:
        return None
    try:
        ctypes.CDLL(str(plugin))
        return ask()
    except OSError as error:
        return f"Qt cannot load a library ({error}); install it"


def _ask_x() -> str | None:
    # Ask the library that Qt uses: it knows all forms of a display name and checks the authorization.
    library = ctypes.CDLL("libxcb.so.1")
    library.xcb_connect.restype = ctypes.c_void_p
    library.xcb_connection_has_error.argtypes = library.xcb_disconnect.argtypes = [ctypes.c_void_p]
    connection = library.xcb_connect(None, None)
    failed = library.xcb_connection_has_error(connection)
    library.xcb_disconnect(connection)
    shown = os.environ.get("DISPLAY", "")
    return f"the X server {shown} (DISPLAY) does not answer, or refuses the connection" if failed else None


def _ask_wayland() -> str | None:
    if os.environ.get("WAYLAND_SOCKET"):
        return None
    name = os.environ.get("WAYLAND_DISPLAY") or "wayland-0"
    path = os.path.join(os.environ.get("XDG_RUNTIME_DIR", ""), name)
    with socket.socket(socket.AF_UNIX) as server:
        try:
            server.connect(path)
        except OSError:
            return f"the Wayland desktop {path} (WAYLAND_DISPLAY) does not answer"
    return None


# --- Folders that cannot be written on this computer, told in one sentence, so that nothing fails silently ------------

SETTINGS = "the settings"
COPIES = "copies for recovery after a crash"
ENGINE = "the compiled engine"

_BLOCK = 4096  # bytes, more than a full disk can take


class Limits:
    """Collects the folders that cannot be written, as they are found."""

    def __init__(self) -> None:
        self._faults: dict[str, str] = {}

    def add(self, faults: Mapping[str, str]) -> str:
        """One sentence about everything that cannot be stored, with the reasons; "" if nothing of it is new."""
        if not faults.keys() - self._faults.keys():
            return ""
        self._faults = {**faults, **self._faults}
        listed = ", ".join(f"{what} ({fault})" for what, fault in sorted(self._faults.items(), reverse=True))
        later = " The engine is compiled again at every start." if ENGINE in self._faults else ""
        return f"TokStudio cannot save everything on this computer: {listed}.{later}"


def faults(kept: Mapping[str, Path]) -> dict[str, str]:
    """Returns what cannot be stored, with the reason; `kept` has the folder of each thing."""
    return {what: fault for what, folder in kept.items() if (fault := _storage_fault(folder))}


def _storage_fault(folder: Path) -> str | None:
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        # What is recovered and reported is for this user alone, and the first who makes the folder closes it.
        folder.mkdir(mode=0o700, exist_ok=True)
        check_space(folder, _BLOCK)
    except OSError as error:
        return f"{folder}: {error.strerror or error}"
    return None
