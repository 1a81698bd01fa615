"""Showing a file in the system's file manager, selected where the system supports that."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os

import pytest

from tokstudio.gui.widgets import file_dialogs as file_manager
from tokstudio.gui.widgets.file_dialogs import show_in_file_manager


@pytest.fixture
def system(monkeypatch):
    """What the system was asked to do; programs start as `starts` says."""

    class System:
        starts = True

        def __init__(self):
            self.asked = []

        def start(self, *command):
            self.asked.append(command)
            return self.starts, 1

        def open(self, url):
            self.asked.append(url.toLocalFile())
            return True

    made = System()
    monkeypatch.setattr(file_manager.QProcess, "startDetached", made.start)
    monkeypatch.setattr(file_manager.QDesktopServices, "openUrl", made.open)
    return made


@pytest.mark.parametrize(
    ("platform", "program", "before"),
    [("win32", os.path.join("windows", "explorer.exe"), "/select,"), ("darwin", "open", "-R")],
)
def test_the_file_is_selected(monkeypatch, system, tmp_path, platform, program, before):
    monkeypatch.setattr(file_manager.sys, "platform", platform)
    monkeypatch.setenv("SYSTEMROOT", "windows")
    file = tmp_path / "a b" / "tokenizer.json"
    show_in_file_manager(file)
    assert system.asked == [(program, [before, str(file)])]


def test_without_selection_or_after_an_error_the_folder_is_opened(monkeypatch, system, tmp_path):
    monkeypatch.setattr(file_manager.sys, "platform", "linux")
    show_in_file_manager(tmp_path / "tokenizer.json")
    assert system.asked == [tmp_path.as_posix()]
    monkeypatch.setattr(file_manager.sys, "platform", "darwin")
    system.starts = False
    show_in_file_manager(tmp_path / "tokenizer.json")
    assert system.asked[2] == tmp_path.as_posix()


@pytest.mark.parametrize("works", [True, False])
def test_a_folder_is_opened_and_success_is_returned(monkeypatch, system, tmp_path, works):
    monkeypatch.setattr(file_manager.QDesktopServices, "openUrl", lambda url: system.open(url) and works)
    assert show_in_file_manager(tmp_path) is works
    assert system.asked == [tmp_path.as_posix()]
