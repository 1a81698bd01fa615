"""One window per user and display: a later start hands its files to the first, which comes to the front.

The first window listens on a local socket (a named pipe on Windows) until it is closed. The socket is named after the
user, the display and the folder of the settings, and lies in a folder that no other user can write to. Once the
first window is closed, the next start listens. Nothing here goes over a network.
"""

# SPDX-License-Identifier: MIT
# This module imports almost nothing of ours, so that a start that only hands files over is quick; and QtNetwork, which
# takes 10 ms, only where another window may be open, or once this one answers.
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
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QLockFile, QObject, Qt, QTimer, Signal
from PySide6.QtWidgets import QApplication, QWidget

from tokstudio.core.base.private_folders import make_private, runtime_folder, temporary_folder
from tokstudio.core.base.records import dataclass
from tokstudio.core.hub.names import place_of

if TYPE_CHECKING:
    from PySide6.QtNetwork import QLocalSocket

_log = logging.getLogger(__name__)

_STARTING = 10_000  # milliseconds that another start may take until it listens
ANSWER = 5_000
_UNDERSTOOD = b"tokstudio\n"
_DEAF = "Later starts cannot send their files to this window: %s"
# Limits on requests from any program of this user: bytes of a request, characters of a desktop's token, milliseconds
# of a connection, and connections at once.
_LONGEST = 1 << 20
_LONGEST_TOKEN = 4096
LONGEST_ASKING = 10_000
_MOST_ASKING = 16
# The variables by which a desktop tells a program that the user started it.
_TOKENS = ("XDG_ACTIVATION_TOKEN", "DESKTOP_STARTUP_ID")


@dataclass(frozen=True)
class Request:
    """What a later start asks of the first window."""

    files: tuple[Path, ...]  # to open, absolute paths or names of tokenizers; none to only show the window
    token: str = ""  # the desktop's token for the start; empty where there is none

    def encoded(self) -> bytes:
        """The request as one line."""
        files = [os.fsencode(file).hex() for file in self.files]
        return json.dumps({"files": files, "token": self.token}).encode() + b"\n"

    @classmethod
    def decoded(cls, line: bytes) -> Request | None:
        """The request in a line; None where the line is not a request."""
        try:
            read: Any = json.loads(line)
            files = [os.fsdecode(bytes.fromhex(file)) for file in read["files"]]
            token = read["token"]
        except (ValueError, TypeError, KeyError, RecursionError):
            return None
        if not _may_be_token(token) or any("\0" in file for file in files):
            return None
        return cls(tuple(map(Path, files)), token)


def address(settings: Path) -> str:
    """The name of the socket for these settings; except on Windows a path that is short enough for a socket.

    It is empty where there is no folder for the socket; then every start opens a window of its own.
    """
    display = [os.environ.get(name, "") for name in ("WAYLAND_DISPLAY", "DISPLAY", "QT_QPA_PLATFORM")]
    words = "\n".join([_person(), str(settings.absolute()), *display])
    name = f"tokstudio-{hashlib.sha256(words.encode('utf-8', 'surrogateescape')).hexdigest()[:16]}"
    if sys.platform == "win32":
        return name
    folder = runtime_folder()
    if folder is None:
        folder = temporary_folder()
        if folder is None or not make_private(folder):
            return ""
    return str(folder / name)


class Claim:
    """The right to become the first window at an `address`; no other start continues until `listen` or `release`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._lock = _lock(name)
        # Without the lock, as on a full disk, two starts at once may both open a first window.
        if name:
            self._lock.tryLock(_STARTING)

    def hand_over(self, files: Sequence[Path]) -> bool:
        """Sends files to the first window; False where there is none, or it does not answer."""
        socket = self._ask()
        if socket is None or not socket.waitForConnected(ANSWER):
            return False
        tokens = (os.environ.get(name, "") for name in _TOKENS)
        token = next((token for token in tokens if token and _may_be_token(token)), "")
        socket.write(Request(tuple(map(place_of, files)), token).encoded())
        answer = b""
        while len(answer) < len(_UNDERSTOOD) and socket.waitForReadyRead(ANSWER):
            answer += bytes(socket.readAll().data())
        return answer == _UNDERSTOOD

    def is_taken(self) -> bool:
        """Whether there is a first window, busy or not."""
        socket = self._ask()
        return socket is not None and socket.waitForConnected(ANSWER)

    def listen(self, parent: QObject) -> LaterStarts | None:
        """Becomes the first window; None where another window is the first, or nothing can be listened on."""
        later: LaterStarts | None = None
        try:
            if self.name and not self._is_held():
                later = LaterStarts(self.name, parent)
        except ImportError as error:
            _log.warning(_DEAF, error)
        self.release()
        return later if later is not None and later.is_listening else None

    def _is_held(self) -> bool:
        """Whether a living window has the socket; one that a crash has left behind is removed."""
        socket = self._ask()
        if socket is None:
            return False
        from PySide6.QtNetwork import QLocalServer

        kinds = socket.LocalSocketError
        # The errors of a connection to a window that has crashed, or that was never there.
        nobody = (kinds.ConnectionRefusedError, kinds.ServerNotFoundError)
        # Connecting takes no time; where it does not succeed at once, too many connections wait for the first window.
        if socket.waitForConnected(0) or socket.error() not in nobody:
            return True
        if os.path.isabs(self.name):
            QLocalServer.removeServer(self.name)
        return False

    def _ask(self) -> QLocalSocket | None:
        """Begins to connect to the first window; None where no socket of this user is."""
        if not _is_of_this_person(self.name):
            return None
        from PySide6.QtNetwork import QLocalSocket

        socket = QLocalSocket()
        socket.connectToServer(self.name)
        return socket

    def release(self) -> None:
        """Lets other starts continue."""
        self._lock.unlock()


class LaterStarts(QObject):
    """Listens for later starts until it is closed."""

    asked = Signal(object)  # a later start asks for something: a Request

    def __init__(self, name: str, parent: QObject) -> None:
        super().__init__(parent)
        from PySide6.QtNetwork import QLocalServer

        self._server = QLocalServer(self)
        self._server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        self._server.newConnection.connect(self._connected)
        if not self._server.listen(name):
            _log.warning(_DEAF, self._server.errorString())

    @property
    def is_listening(self) -> bool:
        """Whether later starts can connect."""
        return self._server.isListening()

    def close(self) -> None:
        """Stops listening; the next start becomes the first window."""
        self._server.close()
        for socket in self._connections():
            socket.abort()

    def _connections(self) -> list[QLocalSocket]:
        from PySide6.QtNetwork import QLocalSocket

        return self._server.findChildren(QLocalSocket)

    def _connected(self) -> None:
        while (socket := self._server.nextPendingConnection()) is not None:
            socket.disconnected.connect(socket.deleteLater)
            if len(self._connections()) > _MOST_ASKING:
                self._drop(socket, "there are too many connections")
                continue
            socket.setReadBufferSize(_LONGEST + 1)
            socket.readyRead.connect(partial(self._read, socket))
            QTimer.singleShot(LONGEST_ASKING, socket, partial(self._time_out, socket))
            self._read(socket)

    def _time_out(self, socket: QLocalSocket) -> None:
        # This window may have been busy meanwhile.
        self._read(socket)
        if socket.state() != socket.LocalSocketState.UnconnectedState:
            self._drop(socket, "no whole request arrived in time")

    def _drop(self, socket: QLocalSocket, reason: str) -> None:
        _log.warning("A connection to this window was closed: %s.", reason)
        socket.abort()

    def _read(self, socket: QLocalSocket) -> None:
        if socket.state() != socket.LocalSocketState.ConnectedState:
            return
        if not socket.canReadLine():
            if socket.bytesAvailable() > _LONGEST:
                self._drop(socket, "the request is too long")
            return
        request = Request.decoded(bytes(socket.readLine().data()))
        if request is None:
            self._drop(socket, "the request is not valid")
            return
        socket.write(_UNDERSTOOD)
        socket.flush()
        # A start that has timed out has opened a window of its own, with these files in it.
        if socket.state() == socket.LocalSocketState.ConnectedState:
            self.asked.emit(request)
        socket.disconnectFromServer()


def bring_to_front(window: QWidget, token: str) -> None:
    """Brings a window to the front; where the desktop forbids that, the window's entry in the task bar is marked."""
    if token:
        # Qt sends it to a Wayland desktop, which lets no window come to the front without it.
        os.environ["XDG_ACTIVATION_TOKEN"] = token
    window.setWindowState(window.windowState() & ~Qt.WindowState.WindowMinimized)
    window.show()
    window.raise_()
    window.activateWindow()
    if not window.isActiveWindow():
        QApplication.alert(window)


def _lock(name: str) -> QLockFile:
    # Without a name nothing is locked: there may be no folder for temporary files at all.
    path = name if os.path.isabs(name) or not name else os.path.join(tempfile.gettempdir(), name)
    return QLockFile(f"{path}.lock")


def _may_be_token(value: object) -> bool:
    """Whether this can be a desktop's token, and can be put into the environment."""
    return isinstance(value, str) and len(value) <= _LONGEST_TOKEN and value.isascii() and value.isprintable()


def _person() -> str:
    with suppress(OSError, KeyError, ImportError):
        return getpass.getuser() if sys.platform == "win32" else str(os.getuid())
    return ""


def _is_of_this_person(name: str) -> bool:
    """Whether the socket exists and belongs to this user; another user's must not get the names of our files."""
    if sys.platform == "win32":
        return True
    try:
        return os.lstat(name).st_uid == os.getuid()
    except OSError:
        return False
