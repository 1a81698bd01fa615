"""What this computer does not let TokStudio keep is said."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import platformdirs

from tests.gui.person import PATIENCE, at_the_window
from tokstudio.gui.limits import limits


def test_nothing_is_said_where_all_can_be_kept(tmp_path):
    assert limits({"the settings": tmp_path / "new"}) == ""


def test_each_thing_is_named_with_its_folder_and_the_reason(tmp_path):
    (tmp_path / "file").touch()
    said = limits({"the settings": tmp_path / "file", "copies": tmp_path})
    assert said == (
        f"TokStudio cannot keep everything on this computer: the settings ({tmp_path / 'file'}: File exists)."
    )


def test_an_engine_that_cannot_be_kept_is_told(qtbot, monkeypatch):
    monkeypatch.setattr("tokstudio.gui.app.problem", lambda: "No space left on device")

    def act(window, answers):
        qtbot.waitUntil(window.messages.isVisible, timeout=PATIENCE)
        assert window.messages.text.text() == (
            "Every start compiles the engine anew: it could not be kept (No space left on device)."
        )

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
        assert "copies of what a crash would lose" in window.messages.text.text()

    assert at_the_window(monkeypatch, act) == 0
