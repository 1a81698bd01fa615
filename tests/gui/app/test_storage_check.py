"""What this computer does not let TokStudio keep is said."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import platformdirs

from tests.gui.person import PATIENCE, at_the_window
from tokstudio.gui.app.storage_check import COPIES, ENGINE, SETTINGS, Limits, faults


def test_nothing_is_said_where_all_can_be_kept(tmp_path):
    assert faults({SETTINGS: tmp_path / "new"}) == {}
    assert Limits().add({}) == ""


def test_each_thing_is_named_with_its_folder_and_the_reason(tmp_path):
    (tmp_path / "file").touch()
    found = faults({SETTINGS: tmp_path / "file", COPIES: tmp_path})
    assert found == {SETTINGS: f"{tmp_path / 'file'}: File exists"}


def test_what_is_found_out_later_is_told_with_what_was_told_before_and_each_thing_once():
    limits = Limits()
    assert limits.add({SETTINGS: "full"}) == "TokStudio cannot save everything on this computer: the settings (full)."
    both = limits.add({ENGINE: "no room"})
    assert both == (
        "TokStudio cannot save everything on this computer: the settings (full), the compiled engine (no room). "
        "The engine is compiled again at every start."
    )
    assert limits.add({SETTINGS: "still full"}) == ""


def test_an_engine_and_settings_that_cannot_be_kept_are_told_together(qtbot, monkeypatch, tmp_path):
    monkeypatch.setattr("tokstudio.gui.app.app.problem", lambda: "No space left on device")
    monkeypatch.setattr("tokstudio.gui.app.app.faults", lambda kept: {SETTINGS: "No space left on device"})

    def act(window, answers):
        def said():
            text = window.messages.text.text()
            return window.messages.isVisible() and "the settings (" in text and "the compiled engine (" in text

        qtbot.waitUntil(said, timeout=PATIENCE)

    assert at_the_window(monkeypatch, act) == 0


def test_a_home_that_cannot_be_written_is_told_in_the_window(qtbot, monkeypatch, tmp_path):
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
