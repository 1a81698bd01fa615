"""A missing display gives one sentence, whatever the environment says; Qt itself would abort."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import socket
import subprocess
import sys

import pytest

from tokstudio.cli import main
from tokstudio.gui.app.process import refusal

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
@pytest.mark.parametrize(("variables", "named"), [({}, "There is no display to open a window on."), X_SERVER])
def test_a_start_without_a_display_ends_with_one_sentence(variables, named):
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
