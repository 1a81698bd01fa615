"""Folders that cannot be written are named to the user."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import sys

import platformdirs
import pytest

from tests.gui.person import PATIENCE, at_the_window
from tokstudio.gui.app.process import COPIES, ENGINE, SETTINGS, Limits, faults

pytestmark = pytest.mark.usefixtures("unstyled")


def test_there_is_no_message_if_every_folder_can_be_written(tmp_path):
    assert faults({SETTINGS: tmp_path / "new"}) == {}
    assert Limits().add({}) == ""


def test_each_fault_names_its_folder_and_the_reason(tmp_path):
    (tmp_path / "file").touch()
    found = faults({SETTINGS: tmp_path / "file", COPIES: tmp_path})
    assert found == {SETTINGS: f"{tmp_path / 'file'}: File exists"}


def test_later_faults_are_added_and_each_is_named_once():
    limits = Limits()
    assert limits.add({SETTINGS: "full"}) == "TokStudio cannot save everything on this computer: the settings (full)."
    both = limits.add({ENGINE: "no room"})
    assert both == (
        "TokStudio cannot save everything on this computer: the settings (full), the compiled engine (no room). "
        "The engine is compiled again at every start."
    )
    assert limits.add({SETTINGS: "still full"}) == ""


def test_faults_of_engine_and_settings_are_one_message(qtbot, monkeypatch, tmp_path):
    monkeypatch.setattr("tokstudio.gui.app.app.problem", lambda: "No space left on device")
    monkeypatch.setattr("tokstudio.gui.app.app.faults", lambda kept: {SETTINGS: "No space left on device"})

    def act(window, answers):
        def said():
            text = window.messages.text.text()
            return window.messages.isVisible() and "the settings (" in text and "the compiled engine (" in text

        qtbot.waitUntil(said, timeout=PATIENCE)

    assert at_the_window(monkeypatch, act) == 0


def test_an_unwritable_home_is_shown_in_the_window(qtbot, monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "file"))
    for name in ("user_config_dir", "user_data_dir", "user_state_dir"):
        monkeypatch.setattr(platformdirs, name, lambda *_, **__: str(tmp_path / "file" / "tokstudio"))

    def act(window, answers):
        qtbot.waitUntil(window.messages.isVisible, timeout=PATIENCE)
        assert "the settings" in window.messages.text.text()
        assert "copies for recovery after a crash" in window.messages.text.text()

    assert at_the_window(monkeypatch, act) == 0


@pytest.mark.skipif(sys.platform == "win32", reason="permissions are POSIX's")
def test_a_folder_that_the_check_makes_is_closed_to_others(tmp_path):
    mask = os.umask(0)
    try:
        assert faults({"copies": tmp_path / "state" / "recovery"}) == {}
    finally:
        os.umask(mask)
    assert (tmp_path / "state" / "recovery").stat().st_mode & 0o777 == 0o700
