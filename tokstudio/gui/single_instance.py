"""One window for a person on a display: a later start hands its files to the first, which comes to the front.

The first listens on a local socket (a named pipe on Windows) that is named after the person, the display and the folder
of the settings, in a folder that nobody else can put something into. Nothing here goes over a network.
"""

# SPDX-License-Identifier: MIT
# Next to nothing of ours is loaded here: a start that only hands files over is to be quick.
from __future__ import annotations

import getpass
import hashlib
import json
import logging
import os
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QLockFile, QObject, Qt, Signal
from PySide6.QtNetwork import QLocalServer, QLocalSocket
from PySide6.QtWidgets import QApplication, QWidget

from tokstudio.core.own_folders import make_own, runtime_folder, temporary_folder

_log = logging.getLogger(__name__)

_STARTING = 10_000  # milliseconds that another start may take until it listens
_ANSWER = 5_000
_UNDERSTOOD = b"tokstudio\n"
_LONGEST = 1 << 20
# What a desktop gives the program it starts, to say that a person asked for it.
_TOKENS = ("XDG_ACTIVATION_TOKEN", "DESKTOP_STARTUP_ID")


@dataclass(frozen=True)
class Request:
    """What a later start asks the first for.

    Attributes:
        files: What to open, with whole paths; none to show the window only.
        token: What the desktop says about the start; empty where it says nothing.
    """

    files: tuple[Path, ...]
    token: str = ""

    def encoded(self) -> bytes:
        """One line."""
        files = [os.fsencode(file).hex() for file in self.files]
        return json.dumps({"files": files, "token": self.token}).encode() + b"\n"

    @classmethod
    def decoded(cls, line: bytes) -> Request | None:
        """What a line says; None where it is none of ours."""
        try:
            read: Any = json.loads(line)
            files = tuple(Path(os.fsdecode(bytes.fromhex(file))) for file in read["files"])
            return cls(files, str(read["token"]))
        except (ValueError, TypeError, KeyError):
            return None


def address(settings: Path) -> str:
    """The name of the socket for those settings, outside of Windows a path, short enough for a socket.

    Empty where there is no folder for it: then every start opens a window of its own.
    """
    display = [os.environ.get(name, "") for name in ("WAYLAND_DISPLAY", "DISPLAY", "QT_QPA_PLATFORM")]
    words = "\n".join([_person(), str(settings.absolute()), *display])
    name = f"tokstudio-{hashlib.sha256(words.encode('utf-8', 'surrogateescape')).hexdigest()[:16]}"
    if sys.platform == "win32":
        return name
    folder = runtime_folder()
    if folder is None:
        folder = temporary_folder()
        if folder is None or not make_own(folder):
            return ""
    return str(folder / name)


class Claim:
    """The right to be the first window; no other start gets further until `listen` or `release`.

    Args:
        name: As `address` gives it.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        # Without a name nothing is asked for: there may be no folder for temporary files at all.
        path = name if os.path.isabs(name) or not name else os.path.join(tempfile.gettempdir(), name)
        self._lock = QLockFile(f"{path}.lock")
        # Without it, as on a full disk, two starts at once may both be first.
        if name:
            self._lock.tryLock(_STARTING)

    def hand_over(self, files: Sequence[Path]) -> bool:
        """Gives files to the window that is there; False where there is none, or it does not answer."""
        if not _is_of_this_person(self.name):
            return False
        socket = QLocalSocket()
        socket.connectToServer(self.name)
        if not socket.waitForConnected(_ANSWER):
            return False
        token = next((value for name in _TOKENS if (value := os.environ.get(name))), "")
        socket.write(Request(tuple(file.absolute() for file in files), token).encoded())
        answer = b""
        while len(answer) < len(_UNDERSTOOD) and socket.waitForReadyRead(_ANSWER):
            answer += bytes(socket.readAll().data())
        return answer == _UNDERSTOOD

    def is_taken(self) -> bool:
        """Whether a window is there; one that is busy is as well."""
        if not _is_of_this_person(self.name):
            return False
        socket = QLocalSocket()
        socket.connectToServer(self.name)
        return socket.waitForConnected(_ANSWER)

    def listen(self, parent: QObject) -> FirstWindow | None:
        """Becomes the first window, in the place of one that is dead.

        None where there is nothing to listen on, or a window that is only busy: later starts go on asking that one.
        """
        if self.is_taken():
            _log.warning("The window that is open does not answer, so this is another one.")
            first = None
        else:
            first = FirstWindow(self.name, parent) if self.name else None
        self.release()
        return first

    def release(self) -> None:
        """Lets other starts go on."""
        self._lock.unlock()


class FirstWindow(QObject):
    """Listens for later starts.

    Signals:
        asked(request): One of them asks for something.
    """

    asked = Signal(object)

    def __init__(self, name: str, parent: QObject) -> None:
        super().__init__(parent)
        self._server = QLocalServer(self)
        self._server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        self._server.newConnection.connect(self._connected)
        if os.path.isabs(name) and _is_of_this_person(name):
            QLocalServer.removeServer(name)
        if not self._server.listen(name):
            _log.warning("Later starts cannot hand their files to this window: %s", self._server.errorString())

    def close(self) -> None:
        """Listens no more."""
        self._server.close()

    def _connected(self) -> None:
        while (socket := self._server.nextPendingConnection()) is not None:
            socket.readyRead.connect(partial(self._read, socket))
            socket.disconnected.connect(socket.deleteLater)
            self._read(socket)

    def _read(self, socket: QLocalSocket) -> None:
        if not socket.canReadLine():
            if socket.bytesAvailable() > _LONGEST:
                socket.abort()
            return
        request = Request.decoded(bytes(socket.readLine().data()))
        if request is not None:
            socket.write(_UNDERSTOOD)
            socket.flush()
            self.asked.emit(request)
        socket.disconnectFromServer()


def bring_to_front(window: QWidget, token: str) -> None:
    """Shows a window to the person who has just asked for it; where the desktop forbids that, it is marked instead."""
    if token:
        # Qt gives it to a Wayland desktop, which lets no window come to the front without.
        os.environ["XDG_ACTIVATION_TOKEN"] = token
    window.setWindowState(window.windowState() & ~Qt.WindowState.WindowMinimized)
    window.show()
    window.raise_()
    window.activateWindow()
    if not window.isActiveWindow():
        QApplication.alert(window)


def _person() -> str:
    with suppress(OSError, KeyError, ImportError):
        return getpass.getuser() if sys.platform == "win32" else str(os.getuid())
    return ""


def _is_of_this_person(name: str) -> bool:
    """Whether a socket is there that this person made; who knows what another would do with our files' names."""
    if sys.platform == "win32":
        return True
    try:
        return os.lstat(name).st_uid == os.getuid()
    except OSError:
        return False
