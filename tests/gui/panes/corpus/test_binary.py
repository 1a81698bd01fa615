"""Binary files in the window: refused with a way to read them as bytes, which is remembered everywhere."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QPushButton

from tests.gui.person import PATIENCE, TEXT, asked_to_import, at_the_window, quiet, trained

pytestmark = pytest.mark.usefixtures("unstyled")


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    path = tmp_path / "book.txt.gz"
    path.write_bytes(gzip.compress(os.urandom(2_000)))
    return path


def offered(window) -> list[QPushButton]:
    buttons = window.corpus.problems.findChildren(QPushButton)
    return [button for button in buttons if button.isVisible() and button.text() == "Read as Bytes"]


def encodings(window) -> list[str]:
    return [source.encoding for source in window.session.corpus.sources]


def test_a_binary_file_is_refused_and_read_as_bytes_by_a_button(qtbot, monkeypatch, packed):
    def act(window, answers):
        answers.files = [packed]
        window.actions_by_id["open_corpus"].trigger()
        quiet(qtbot, window)
        assert window.session.corpus.sources == ()
        assert window.corpus.problems.problems == ("book.txt.gz: this is binary data, not text.",)
        [button] = offered(window)
        assert button.accessibleName() == "Read book.txt.gz as bytes"
        qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
        quiet(qtbot, window)
        assert window.session.corpus.sources[0].data.tobytes() == packed.read_bytes()
        assert encodings(window) == ["bytes"]
        assert window.corpus.problems.problems == ()
        # The list of recent files knows it as what it is.
        assert [tuple(entry) for entry in window._preferences.recent] == [(packed, "bytes")]
        window.session.corpus.set_sources(())
        window.recent.menu.aboutToShow.emit()
        window.recent.menu.actions()[0].trigger()
        quiet(qtbot, window)
        assert encodings(window) == ["bytes"]
        trained(qtbot, window, 260)
        assert len(window.session.runs.active) == 4

    assert at_the_window(monkeypatch, act) == 0


def test_a_file_that_was_read_as_bytes_is_reloaded_and_reopened_so_and_a_change_of_its_bytes_is_told(
    qtbot, monkeypatch, tmp_path, packed
):
    project = tmp_path / "kept.tokstudio"

    def act(window, answers):
        session = window.session
        window.opening.read_as_bytes(packed)
        quiet(qtbot, window)
        answers.target = project
        window.actions_by_id["save_project_as"].trigger()
        quiet(qtbot, window)
        window.opening.open_paths([project])
        quiet(qtbot, window)
        assert encodings(window) == ["bytes"]
        # Changed on disk, it is found to be so, and reloaded in its encoding.
        packed.write_bytes(gzip.compress(os.urandom(3_000)))
        window.corpus._check_files()
        qtbot.waitUntil(lambda: session.corpus.outdated == {session.corpus.sources[0]: "changed"}, timeout=PATIENCE)
        window.corpus.source_list.select_rows([0])
        window.actions_by_id["reload_source"].trigger()
        quiet(qtbot, window)
        assert session.corpus.sources[0].data.tobytes() == packed.read_bytes()
        assert encodings(window) == ["bytes"]
        assert window.corpus.problems.problems == ()
        window.actions_by_id["save_project_as"].trigger()
        quiet(qtbot, window)
        changed = packed.read_bytes()[:-9] + b"\xff" * 9
        packed.write_bytes(changed)
        window.opening.open_paths([project])
        quiet(qtbot, window)
        assert window.corpus.problems.problems == ("book.txt.gz has changed on disk since the project was saved.",)
        assert session.corpus.sources[0].data.tobytes() == changed

    assert at_the_window(monkeypatch, act) == 0


def test_a_text_that_became_binary_is_read_as_bytes_in_its_place(qtbot, monkeypatch, tmp_path, packed):
    (tmp_path / "a.txt").write_text(TEXT)

    def act(window, answers):
        window.opening.open_paths([tmp_path / "a.txt"])
        quiet(qtbot, window)
        (tmp_path / "a.txt").write_bytes(packed.read_bytes())
        window.session.corpus.reread(0, None)
        quiet(qtbot, window)
        assert encodings(window) == ["utf-8"]
        qtbot.mouseClick(offered(window)[0], Qt.MouseButton.LeftButton)
        quiet(qtbot, window)
        assert encodings(window) == ["bytes"]
        assert offered(window) == []

    assert at_the_window(monkeypatch, act) == 0


def test_other_files_of_a_folder_are_one_message_in_the_pane(qtbot, monkeypatch, tmp_path, packed):
    (tmp_path / "a.txt").write_text(TEXT)
    (tmp_path / "empty.txt").touch()
    (tmp_path / ".hidden").write_text(TEXT)

    def act(window, answers):
        answers.folder = tmp_path
        window.actions_by_id["open_folder"].trigger()
        quiet(qtbot, window)
        told = f"{tmp_path.name}: 3 files skipped: book.txt.gz (binary), empty.txt (empty), .hidden (hidden)."
        assert window.corpus.problems.problems == (told,)
        [label] = [label for label in window.corpus.problems.findChildren(QLabel) if label.text() == told]
        assert label.isVisible()
        assert label.property("role") == "muted"
        assert offered(window) == []
        assert [source.name for source in window.session.corpus.sources] == ["a.txt"]

    assert at_the_window(monkeypatch, act) == 0


def test_of_json_lines_the_text_is_read_and_what_was_dropped_is_said(qtbot, monkeypatch, tmp_path):
    file = tmp_path / "a.jsonl"
    file.write_text('{"text": "the cat"}\n{"id": 1}\n{"text": "the hat"}\n')

    def act(window, answers):
        window.opening.open_paths([file])
        asked_to_import(qtbot, window).import_button.click()
        quiet(qtbot, window)
        assert window.session.corpus.sources[0].data.tobytes() == b"the catthe hat"
        assert "1 row without the column dropped" in window.corpus.caption.text()
        assert window.corpus.problems.problems == ("a.jsonl: 1 row without the column dropped.",)
        file.write_text('{"text": "another"}\n{"text": "one"}\n')
        window.session.corpus.reread(0, None)
        quiet(qtbot, window)
        assert window.session.corpus.sources[0].data.tobytes() == b"anotherone"
        assert window.session.corpus.sources[0].documents == 2

    assert at_the_window(monkeypatch, act) == 0
