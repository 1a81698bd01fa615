"""One window for a person on a display: a later start hands its files to the first, which comes to the front.

The first listens on a local socket (a named pipe on Windows) that is named after the person, the display and the folder
of the settings, in a folder that nobody else can put something into. A window beside the first stays connected to it,
and takes its place once it is gone. Nothing here goes over a network.
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

from PySide6.QtCore import QLockFile, QObject, Qt, QTimer, Signal
from PySide6.QtNetwork import QLocalServer, QLocalSocket
from PySide6.QtWidgets import QApplication, QWidget

from tokstudio.core.base.private_folders import make_private, runtime_folder, temporary_folder

_log = logging.getLogger(__name__)

_STARTING = 10_000  # milliseconds that another start may take until it listens
_ANSWER = 5_000
_AGAIN = 500  # milliseconds until a window that waits to be the first tries it once more
_UNDERSTOOD = b"tokstudio\n"
# A window that waits to be the first says so, and stays connected.
_WAITS = b"wait\n"
# What any program of this person may take of the window: bytes of a request, characters of a desktop's token,
# milliseconds of a connection that only asks, such connections at once, and windows that wait.
_LONGEST = 1 << 20
_LONGEST_TOKEN = 4096
_LONGEST_ASKING = 10_000
_MOST_ASKING = 16
_MOST_WAITING = 64
# What connecting to a window ends with that is dead, or has never been.
_NOBODY = (QLocalSocket.LocalSocketError.ConnectionRefusedError, QLocalSocket.LocalSocketError.ServerNotFoundError)
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
            files = [os.fsdecode(bytes.fromhex(file)) for file in read["files"]]
            token = read["token"]
        except (ValueError, TypeError, KeyError, RecursionError):
            return None
        if not _may_be_token(token) or any("\0" in file for file in files):
            return None
        return cls(tuple(map(Path, files)), token)


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
        if folder is None or not make_private(folder):
            return ""
    return str(folder / name)


class Claim:
    """The right to be the first window; no other start gets further until `listen` or `release`.

    Args:
        name: As `address` gives it.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._lock = _lock(name)
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
        tokens = (os.environ.get(name, "") for name in _TOKENS)
        token = next((token for token in tokens if token and _may_be_token(token)), "")
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

    def listen(self, parent: QObject) -> LaterStarts | None:
        """Becomes the first window, or waits to be; None where there is nothing to listen on."""
        later = LaterStarts(self.name, parent) if self.name else None
        if later is not None:
            later.listen()
        self.release()
        return later

    def release(self) -> None:
        """Lets other starts go on."""
        self._lock.unlock()


class LaterStarts(QObject):
    """Listens for later starts, as soon as no other window does.

    Signals:
        asked(request): One of them asks for something.
    """

    asked = Signal(object)

    def __init__(self, name: str, parent: QObject) -> None:
        super().__init__(parent)
        self._name = name
        self._server = QLocalServer(self)
        self._server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        self._server.newConnection.connect(self._connected)
        self._waiting: set[QLocalSocket] = set()
        self._first = QLocalSocket(self)
        self._first.disconnected.connect(self._try_again)

    def listen(self) -> None:
        """Listens in the place of a window that is dead; one that lives, busy or not, is waited for.

        Only who holds the lock calls this.
        """
        if _is_of_this_person(self._name):
            self._first.connectToServer(self._name)
            # Connecting takes no time: where it does not come about at once, too many are waiting there already.
            if self._first.waitForConnected(0):
                self._first.write(_WAITS)
                return
            if self._first.error() not in _NOBODY:
                self._first.abort()
                self._try_again()
                return
            if os.path.isabs(self._name):
                QLocalServer.removeServer(self._name)
        if not self._server.listen(self._name):
            _log.warning("Later starts cannot hand their files to this window: %s", self._server.errorString())

    def close(self) -> None:
        """Listens no more; a window beside this one takes its place."""
        self._name = ""
        self._first.abort()
        self._server.close()
        for socket in self._server.findChildren(QLocalSocket):
            socket.abort()

    def _try_again(self) -> None:
        QTimer.singleShot(_AGAIN, self, self._succeed)

    def _succeed(self) -> None:
        if not self._name:
            return
        lock = _lock(self._name)
        if not lock.tryLock(0) and lock.error() == QLockFile.LockError.LockFailedError:
            # A start, or another window, is about to listen.
            self._try_again()
            return
        self.listen()
        lock.unlock()

    def _connected(self) -> None:
        while (socket := self._server.nextPendingConnection()) is not None:
            socket.disconnected.connect(partial(self._disconnected, socket))
            if len(self._server.findChildren(QLocalSocket)) - len(self._waiting) > _MOST_ASKING:
                self._drop(socket, "too many ask at once")
                continue
            socket.setReadBufferSize(_LONGEST + 1)
            socket.readyRead.connect(partial(self._read, socket))
            QTimer.singleShot(_LONGEST_ASKING, socket, partial(self._end_asking, socket))
            self._read(socket)

    def _disconnected(self, socket: QLocalSocket) -> None:
        self._waiting.discard(socket)
        socket.deleteLater()

    def _end_asking(self, socket: QLocalSocket) -> None:
        # This window may have been busy meanwhile.
        self._read(socket)
        if socket not in self._waiting and socket.state() != QLocalSocket.LocalSocketState.UnconnectedState:
            self._drop(socket, "it says nothing, or too slowly")

    def _drop(self, socket: QLocalSocket, reason: str) -> None:
        _log.warning("A connection to this window is closed: %s.", reason)
        socket.abort()

    def _read(self, socket: QLocalSocket) -> None:
        if socket.state() != QLocalSocket.LocalSocketState.ConnectedState:
            return
        if socket in self._waiting:
            if socket.bytesAvailable():
                self._drop(socket, "it was to wait only")
            return
        if not socket.canReadLine():
            if socket.bytesAvailable() > _LONGEST:
                self._drop(socket, "what it asks for is too long")
            return
        line = bytes(socket.readLine().data())
        if line == _WAITS and len(self._waiting) < _MOST_WAITING:
            self._waiting.add(socket)
            return
        request = Request.decoded(line)
        if request is None:
            self._drop(socket, "what it asks for cannot be understood")
            return
        socket.write(_UNDERSTOOD)
        socket.flush()
        # Who has waited in vain has opened a window of its own, with these files in it.
        if socket.state() == QLocalSocket.LocalSocketState.ConnectedState:
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


def _lock(name: str) -> QLockFile:
    # Without a name nothing is asked for: there may be no folder for temporary files at all.
    path = name if os.path.isabs(name) or not name else os.path.join(tempfile.gettempdir(), name)
    return QLockFile(f"{path}.lock")


def _may_be_token(value: object) -> bool:
    """Whether this may be what a desktop says about a start, and can be put into the environment."""
    return isinstance(value, str) and len(value) <= _LONGEST_TOKEN and value.isascii() and value.isprintable()


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
