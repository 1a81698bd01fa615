"""What the process checks and does: displays, folders that cannot be written, garbage in the GUI thread only."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import gc
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator

import platformdirs
import pytest
from PySide6.QtCore import QThread, qWarning

from tests.gui.person import at_the_window
from tokstudio.cli import main
from tokstudio.core.base.progress import Progress, Work
from tokstudio.gui.app.process import COPIES, ENGINE, SETTINGS, GarbageCollector, Limits, Log, faults, refusal

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the displays of Linux")
_NAMES = ("DISPLAY", "WAYLAND_DISPLAY", "WAYLAND_SOCKET", "XDG_SESSION_TYPE", "XDG_RUNTIME_DIR", "QT_QPA_PLATFORM")


@pytest.fixture
def environment(monkeypatch):
    """An environment that says nothing of displays; sets what it is given."""
    for name in _NAMES:
        monkeypatch.delenv(name, raising=False)

    def say(**variables):
        for name, value in variables.items():
            monkeypatch.setenv(name, value)

    return say


def start(**variables):
    """Starts the program as a person does; gives the code it ended with and what it said."""
    known = {name: value for name, value in os.environ.items() if name not in _NAMES}
    command = [sys.executable, "-m", "tokstudio"]
    done = subprocess.run(command, env={**known, **variables}, capture_output=True, timeout=120)
    return done.returncode, done.stderr.decode()


X_SERVER = ({"QT_QPA_PLATFORM": "papyrus;xcb:x=1", "DISPLAY": ":7531"}, "the X server :7531 (DISPLAY)")


@linux
def test_a_start_without_a_display_ends_with_one_sentence():
    variables, named = X_SERVER
    code, said = start(**variables)
    assert code == 1
    assert said.startswith("tokstudio: ")
    assert named in said
    assert said.count("\n") == 1


@linux
@pytest.mark.parametrize(
    ("variables", "named"),
    [
        ({}, "There is no display to open a window on."),
        ({"DISPLAY": ":7531"}, "the X server :7531 (DISPLAY)"),
        ({"DISPLAY": "nonsense"}, "the X server nonsense (DISPLAY)"),
        ({"WAYLAND_DISPLAY": "/nowhere/wayland-7"}, "the Wayland desktop /nowhere/wayland-7 (WAYLAND_DISPLAY)"),
        ({"QT_QPA_PLATFORM": "papyrus"}, 'QT_QPA_PLATFORM is "papyrus"'),
        X_SERVER,
    ],
)
def test_a_missing_display_gives_one_sentence(environment, capsys, variables, named):
    environment(**variables)
    assert main([]) == 1
    said = capsys.readouterr().err
    assert said.startswith("tokstudio: ")
    assert named in said
    assert said.count("\n") == 1


@linux
def test_the_second_platform_is_checked_too(environment):
    environment(WAYLAND_DISPLAY="/nowhere/wayland-7", DISPLAY=":7531")
    assert "/nowhere/wayland-7" in refusal()
    assert ":7531" in refusal()


@linux
def test_one_working_display_is_enough(environment, tmp_path):
    with socket.socket(socket.AF_UNIX) as desktop:
        desktop.bind(str(tmp_path / "wayland-7"))
        desktop.listen()
        environment(XDG_RUNTIME_DIR=str(tmp_path), WAYLAND_DISPLAY="wayland-7", DISPLAY=":7531")
        assert refusal() is None


@pytest.mark.parametrize("asked", ["offscreen", "minimal", "papyrus;offscreen"])
def test_offscreen_platforms_need_no_display(environment, asked):
    environment(QT_QPA_PLATFORM=asked)
    assert refusal() is None


pytestmark = pytest.mark.usefixtures("unstyled")


def test_faults_name_their_folder_and_the_reason_each_once(tmp_path):
    assert faults({SETTINGS: tmp_path / "new"}) == {}
    assert Limits().add({}) == ""
    (tmp_path / "file").touch()
    found = faults({SETTINGS: tmp_path / "file", COPIES: tmp_path})
    assert found == {SETTINGS: f"{tmp_path / 'file'}: File exists"}
    limits = Limits()
    assert limits.add({SETTINGS: "full"}) == "TokStudio cannot save everything on this computer: the settings (full)."
    both = limits.add({ENGINE: "no room"})
    assert both == (
        "TokStudio cannot save everything on this computer: the settings (full), the compiled engine (no room). "
        "The engine is compiled again at every start."
    )
    assert limits.add({SETTINGS: "still full"}) == ""


def test_an_unwritable_home_and_a_fault_of_the_engine_are_one_message_in_the_window(qtbot, monkeypatch, tmp_path):
    monkeypatch.setattr("tokstudio.gui.app.app.problem", lambda: "No space left on device")
    (tmp_path / "file").touch()
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "file"))
    for name in ("user_config_dir", "user_data_dir", "user_state_dir"):
        monkeypatch.setattr(platformdirs, name, lambda *_, **__: str(tmp_path / "file" / "tokstudio"))

    def act(window, answers):
        def said():
            text, parts = (
                window.messages.text.text(),
                ("the settings (", "copies for recovery", "the compiled engine ("),
            )
            return window.messages.isVisible() and all(part in text for part in parts)

        qtbot.waitUntil(said)

    assert at_the_window(monkeypatch, act) == 0


@pytest.mark.skipif(sys.platform == "win32", reason="permissions are POSIX's")
def test_a_folder_that_the_check_makes_is_closed_to_others(tmp_path):
    mask = os.umask(0)
    try:
        assert faults({"copies": tmp_path / "state" / "recovery"}) == {}
    finally:
        os.umask(mask)
    assert (tmp_path / "state" / "recovery").stat().st_mode & 0o777 == 0o700


@pytest.fixture
def collector() -> Iterator[GarbageCollector]:
    gc.enable()
    made = GarbageCollector()
    yield made
    made.stop()


class _Cycle:
    def __init__(self, seen: list[int]) -> None:
        self.own, self._seen = self, seen

    def __del__(self) -> None:
        self._seen.append(threading.get_ident())


def test_a_job_that_makes_garbage_leaves_it_to_the_gui_thread(qtbot, session, collector):
    seen: list[int] = []

    def make_garbage() -> Work[None]:
        assert threading.get_ident() != threading.main_thread().ident
        for _ in range(20_000):
            _Cycle(seen)
        yield Progress("")

    job = session.jobs.start(make_garbage)
    qtbot.waitUntil(lambda: len(seen) >= 10_000)
    assert set(seen) == {threading.main_thread().ident}
    assert not job.running
    assert QThread.currentThread().isMainThread()


def test_python_collects_again_after_the_end(qtbot):
    collector = GarbageCollector()
    assert not gc.isenabled()
    collector.stop()
    assert gc.isenabled()


@pytest.mark.no_qt_log
def test_the_log_has_what_qt_warns_of_but_for_fonts_without_edges_and_platforms_without_a_screen(tmp_path):
    with Log(tmp_path / "log.txt"):
        qWarning('Failed to compute left/right minimum bearings for "Noto Sans Thai"')
        qWarning("This plugin does not support propagateSizeHints()")
        qWarning("A library is too old.")
    lines = (tmp_path / "log.txt").read_text(encoding="utf-8").splitlines()
    assert [line.partition("WARNING ")[2] for line in lines] == ["qt: A library is too old."]
