"""A later start hands its files to the open window, which comes to the front."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import errno
import os
import socket as sockets
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QPoint, Qt
from PySide6.QtGui import QImage
from PySide6.QtNetwork import QLocalServer, QLocalSocket

from tests.gui.person import PATIENCE, TEXT, at_the_window, at_window
from tokstudio import __version__
from tokstudio.cli import main
from tokstudio.gui.app import single_instance
from tokstudio.gui.app.single_instance import Claim, Request, address
from tokstudio.gui.session.preferences import settings_file

pytestmark = pytest.mark.usefixtures("unstyled")


def start(*arguments, folder=None, without=()):
    """Another start of the program, in its own process, without some variables of the environment."""
    command = [sys.executable, "-m", "tokstudio", *map(str, arguments)]
    known = {name: value for name, value in os.environ.items() if name not in without}
    return subprocess.Popen(command, cwd=folder, env=known, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def ended(qtbot, process):
    qtbot.waitUntil(lambda: process.poll() is not None)
    said = process.stdout.read().decode()
    process.stdout.close()
    return process.returncode, said


@pytest.fixture
def dead_window(own_home):
    """Leaves the socket of a window that was killed; a pipe goes with its process."""
    if sys.platform == "win32":
        yield
        return
    name = address(settings_file().parent)
    script = (
        "import sys, os; from PySide6.QtCore import QCoreApplication; from PySide6.QtNetwork import QLocalServer;"
        "a = QCoreApplication([]); s = QLocalServer(); assert s.listen(sys.argv[1]); os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", script, name], timeout=60)
    assert Path(name).exists()
    yield
    assert not Path(name).exists()
    assert not Path(f"{name}.lock").exists()


@at_window()
def test_the_window_takes_over_the_socket_of_a_dead_one_and_comes_back_by_a_later_start_which_hands_its_file_over(
    qtbot, tmp_path, dead_window, window
):
    book = tmp_path / "a folder" / "книга 1.txt"
    book.parent.mkdir()
    book.write_text(TEXT, encoding="utf-8")
    window.showMinimized()
    assert ended(qtbot, start()) == (0, "")
    qtbot.waitUntil(lambda: not window.windowState() & Qt.WindowState.WindowMinimized)
    assert window.session.corpus.sources == ()
    window.showMinimized()
    # The path is one of the other process's folder.
    assert ended(qtbot, start(book.name, folder=book.parent)) == (0, "")
    qtbot.waitUntil(lambda: len(window.session.corpus.sources) == 1)
    assert window.session.corpus.sources[0].path == book
    assert not window.windowState() & Qt.WindowState.WindowMinimized


@at_window()
def test_the_command_line_and_pictures_hand_nothing_over_and_settings_are_not_reset_behind_the_window(
    qtbot, tmp_path, capsys, window
):
    window.showMinimized()
    assert main(["encode", "--tokenizer", str(tmp_path / "none"), "--text", "x"]) == 1
    arguments = ("--demo", "--screenshot", tmp_path / "a.png", "--log-file", tmp_path / "log")
    # A picture needs no display.
    without = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM") if sys.platform.startswith("linux") else ()
    code, said = ended(qtbot, start(*arguments, without=without))
    assert code == 0
    log = (tmp_path / "log").read_text(encoding="utf-8")
    assert "propagateSizeHints" not in said + log, "a platform without a screen says this"
    image = QImage(str(tmp_path / "a.png"))
    assert (image.width(), image.height()) == (1440, 900)
    colours = {image.pixel(QPoint(x, y)) for x in range(0, 1440, 7) for y in range(0, 900, 7)}
    assert len(colours) > 20
    capsys.readouterr()
    assert main(["--reset-settings"]) == 1
    said = capsys.readouterr().err
    assert said == "tokstudio: A window is open and would save its settings. Close it, then try again.\n"
    assert window.windowState() & Qt.WindowState.WindowMinimized


@pytest.fixture
def shared_folder(monkeypatch, tmp_path):
    """The folder for the temporary files of all people, on a system without folders for sessions."""
    folder = tmp_path / "tmp"
    folder.mkdir(mode=0o777)
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", None)
    return folder


@pytest.mark.skipif(os.name != "posix", reason="a pipe has no folder")
def test_the_socket_is_in_a_folder_that_other_users_cannot_write(shared_folder, tmp_path):
    name = Path(address(tmp_path))
    assert name.parent.parent == shared_folder
    assert name.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.skipif(os.name != "posix", reason="a pipe has no folder")
def test_without_a_private_folder_every_start_opens_its_own_window_behind_which_no_settings_are_reset(
    qtbot, monkeypatch, shared_folder, tmp_path
):
    name = Path(address(tmp_path))
    name.parent.chmod(0o777)
    name.with_name(f"{name.name}.lock").write_text("1\nanother\nplace\n")
    assert address(tmp_path) == ""
    claim = Claim("")
    assert not claim.hand_over([tmp_path])
    assert claim.listen(qtbot) is None

    def act(window, answers):
        assert main(["--reset-settings"]) == 1

    assert at_the_window(monkeypatch, act) == 0


@pytest.fixture
def busy(monkeypatch):
    """A window that lives and answers nothing."""
    monkeypatch.setattr(single_instance, "ANSWER", 50)
    server = QLocalServer()
    claim = Claim(address(settings_file().parent))
    assert server.listen(claim.name)
    claim.release()
    yield server
    server.close()


def test_a_start_opens_its_files_itself_if_the_first_window_does_not_answer_and_the_log_says_what_is_running(
    qtbot, monkeypatch, tmp_path, busy, book
):
    log = tmp_path / "a log.txt"

    def act(window, answers):
        qtbot.waitUntil(lambda: len(window.session.corpus.sources) == 1)

    assert at_the_window(monkeypatch, act, ["--log-file", str(log), str(book)]) == 0
    lines = log.read_text(encoding="utf-8").splitlines()
    assert f"TokStudio {__version__} (Python package), Python 3." in lines[0]
    assert "Qt 6." in lines[0]
    assert lines[-1].endswith("Ended with 0.")
    assert not [line for line in lines if " ERROR " in line]
    socket = QLocalSocket()
    socket.connectToServer(busy.fullServerName())
    assert socket.waitForConnected(PATIENCE), "its socket was removed, or taken from it"


@pytest.mark.skipif(sys.platform == "win32", reason="a pipe does not say at once who has gone")
def test_a_request_that_timed_out_is_not_opened_again(qtbot, busy):
    name = busy.fullServerName()
    busy.close()
    first = Claim(name).listen(QCoreApplication.instance())
    asked = []
    first.asked.connect(asked.append)
    assert not Claim(name).hand_over([Path("one.txt")]), "this window is busy with waiting here"
    socket = QLocalSocket()
    socket.connectToServer(name)
    socket.write(Request((Path("another.txt"),)).encoded())
    qtbot.waitUntil(lambda: bool(asked))
    assert [request.files for request in asked] == [(Path("another.txt"),)]
    first.close()
    first.deleteLater()


def test_once_the_first_window_is_closed_the_next_start_is_the_first(qtbot):
    name = address(settings_file().parent)
    application = QCoreApplication.instance()
    first = Claim(name).listen(application)
    assert first is not None
    assert Claim(name).listen(application) is None, "a window beside the first does not listen"
    first.close()
    second = Claim(name).listen(application)
    assert second is not None
    asked = []
    second.asked.connect(asked.append)
    socket = stranger(name)
    socket.write(Request((Path("one.txt"),)).encoded())
    qtbot.waitUntil(lambda: bool(asked))
    second.close()
    for window in (first, second):
        window.deleteLater()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere no connection is put off")
def test_a_first_window_that_takes_no_more_connections_keeps_its_socket(qtbot):
    name = address(settings_file().parent)
    with sockets.socket(sockets.AF_UNIX) as first, ExitStack() as waiting:
        first.bind(name)
        first.listen(1)
        full = False
        while not full:
            another = waiting.enter_context(sockets.socket(sockets.AF_UNIX))
            another.setblocking(False)
            full = another.connect_ex(name) == errno.EAGAIN
        assert Claim(name).listen(QCoreApplication.instance()) is None
        assert Path(name).exists()


NO_REQUESTS = {
    "text": b"hello\n",
    "a list": b"[]\n",
    "a number as a file": b'{"files": [3], "token": ""}\n',
    "no digits": b'{"files": ["zz"], "token": ""}\n',
    "deep": b"[" * 200_000 + b"\n",
    "deep files": b'{"token": "", "files": ' + b'{"a":' * 100_000 + b"\n",
    "a file with NUL": b'{"files": ["612f0062"], "token": ""}\n',
    "a token with NUL": b'{"files": [], "token": "a\\u0000b"}\n',
    "a token with half a character": b'{"files": [], "token": "\\ud800"}\n',
    "a number as a token": b'{"files": [], "token": 3}\n',
    "a long token": b'{"files": [], "token": "' + b"a" * 100_000 + b'"}\n',
    "a long line": b'"' + b"a" * (1 << 21),
    "no UTF-8": b'{"files": [], "token": "\xff"}\n',
}


@pytest.fixture
def name() -> str:
    """The name of the socket."""
    return address(settings_file().parent)


@pytest.fixture
def first(name):
    """A window that is the first."""
    made = Claim(name).listen(QCoreApplication.instance())
    yield made
    made.close()
    made.deleteLater()


def stranger(name):
    socket = QLocalSocket()
    socket.connectToServer(name)
    assert socket.waitForConnected(PATIENCE)
    return socket


def is_closed(socket):
    return socket.state() == QLocalSocket.LocalSocketState.UnconnectedState


def test_invalid_requests_are_ignored(qtbot, first, name, caplog):
    asked = []
    first.asked.connect(asked.append)
    for kind, request in NO_REQUESTS.items():
        caplog.clear()
        socket = stranger(name)
        socket.write(request)
        qtbot.waitUntil(lambda socket=socket: is_closed(socket))
        assert socket.readAll().size() == 0, kind
        assert "A connection to this window was closed" in caplog.text, kind
    assert asked == []


@pytest.mark.parametrize("said", [b"", b'{"files": ['], ids=["nothing", "half a request"])
def test_a_connection_without_a_whole_request_is_closed(qtbot, monkeypatch, first, name, caplog, said):
    monkeypatch.setattr(single_instance, "LONGEST_ASKING", 50)
    socket = stranger(name)
    socket.write(said)
    qtbot.waitUntil(lambda: is_closed(socket))
    assert "no whole request arrived in time" in caplog.text
    qtbot.waitUntil(lambda: not first.findChildren(QLocalSocket))


def test_the_number_of_connections_is_limited_and_later_starts_are_served(qtbot, first, name, caplog):
    asked = []
    first.asked.connect(asked.append)
    sockets = [stranger(name) for _ in range(20)]
    qtbot.waitUntil(lambda: sum(map(is_closed, sockets)) == 4)
    assert "too many connections" in caplog.text
    for socket in sockets:
        socket.abort()
    qtbot.waitUntil(lambda: not first.findChildren(QLocalSocket))
    socket = stranger(name)
    socket.write(Request((Path("one.txt"),)).encoded())
    qtbot.waitUntil(lambda: bool(asked))


def test_a_request_carries_any_file_name_and_an_invalid_line_is_none():
    names = ["plain", "two words", "zwei\nZeilen", "книга", os.fsdecode(b"not text \xff") if os.name != "nt" else "x"]
    request = Request(tuple(Path(name) for name in names), "token")
    assert Request.decoded(request.encoded()) == request
    assert request.encoded().count(b"\n") == 1
    for line in (b"", b"[]", b'{"files": [7], "token": ""}', b"[" * 200_000):
        assert Request.decoded(line) is None


def test_each_display_and_each_settings_folder_has_a_window_of_its_own(monkeypatch, tmp_path):
    monkeypatch.setenv("DISPLAY", ":1")
    first = address(tmp_path)
    assert address(tmp_path) == first
    assert address(tmp_path / "other") != first
    monkeypatch.setenv("DISPLAY", ":2")
    assert address(tmp_path) != first


def test_a_new_window_is_opened_where_one_is_asked_for(qtbot, monkeypatch, first):
    asked = []
    first.asked.connect(asked.append)
    assert at_the_window(monkeypatch, lambda window, answers: None, ["--new-window"]) == 0
    assert not asked


def test_an_unwritable_log_file_is_an_error(tmp_path, capsys):
    assert main(["--log-file", str(tmp_path / "none" / "log.txt")]) == 1
    assert "log.txt: the log cannot be written there: No such file or directory." in capsys.readouterr().err
