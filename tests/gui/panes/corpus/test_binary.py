"""Files that are not plain text at the window: binary ones are read as bytes; scripts without a font."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import gzip
import os
import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QApplication, QLabel, QPushButton

from tests.gui.person import TEXT, at_window, quiet, trained
from tokstudio.gui.panes.corpus.pane import CorpusPane

pytestmark = pytest.mark.usefixtures("unstyled")


@pytest.fixture
def packed(tmp_path) -> Path:
    path = tmp_path / "book.txt.gz"
    path.write_bytes(gzip.compress(os.urandom(2_000)))
    return path


def offered(window) -> list[QPushButton]:
    buttons = window.corpus.problems.findChildren(QPushButton)
    return [button for button in buttons if button.isVisible() and button.text() == "Read as Bytes"]


def encodings(window) -> list[str]:
    return [source.encoding for source in window.session.corpus.sources]


@at_window()
def test_binary_files_are_refused_or_skipped_in_a_folder_and_read_and_reopened_as_bytes_on_request(
    qtbot, tmp_path, packed, window, answers
):
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
    assert [tuple(entry) for entry in window.preferences.recent] == [(packed, "bytes")]
    window.session.corpus.set_sources(())
    window.recent.menu.aboutToShow.emit()
    window.recent.menu.actions()[0].trigger()
    quiet(qtbot, window)
    assert encodings(window) == ["bytes"]
    trained(qtbot, window, 260)
    assert len(window.session.runs.active) == 4
    window.session.corpus.set_sources(())
    (tmp_path / "a.txt").write_text(TEXT)
    (tmp_path / "empty.txt").touch()
    (tmp_path / ".hidden").write_text(TEXT)
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
    window.session.corpus.set_sources(())
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

    # What was read as bytes is reloaded and reopened so.
    window.session.corpus.set_sources(())
    project = tmp_path / "kept.tokstudio"
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
    QApplication.sendEvent(window.corpus, QEvent(QEvent.Type.WindowActivate))
    qtbot.waitUntil(lambda: session.corpus.outdated == {session.corpus.sources[0]: "changed"})
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


_CONFIGURATION = """<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>{folder}</dir><cachedir>{folder}/cache</cachedir></fontconfig>
"""
_SCRIPT = """
from PySide6.QtWidgets import QApplication
application = QApplication([])
from tokstudio.gui.panes.corpus.views import lacks_font
print([script for script in ("Latin", "Devanagari", "Runic") if lacks_font(script)])
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="fonts are configured so on Linux alone")
def test_without_any_font_every_known_script_is_named(tmp_path):
    configuration = tmp_path / "fonts.conf"
    configuration.write_text(_CONFIGURATION.format(folder=tmp_path))
    variables = {**os.environ, "FONTCONFIG_FILE": str(configuration), "QT_QPA_PLATFORM": "offscreen"}
    asked = subprocess.run([sys.executable, "-c", _SCRIPT], env=variables, capture_output=True, text=True, check=True)
    assert asked.stdout.strip() == "['Latin', 'Devanagari']"


def test_the_corpus_pane_names_a_script_that_cannot_be_shown(qtbot, monkeypatch, session, theme, actions, dock):
    known = QFontMetrics.inFontUcs4
    monkeypatch.setattr(QFontMetrics, "inFontUcs4", lambda self, point: point < 128 and known(self, point))
    pane = CorpusPane(session, theme, actions)
    dock(pane, 300, 700)
    session.corpus.add_text("one, два, ein, три")
    qtbot.waitUntil(lambda: pane.statistics.shown().get("No font for") == "Cyrillic")
    session.corpus.remove_sources([0])
    session.corpus.add_text("one, ein")
    qtbot.waitUntil(lambda: "Latin" in pane.statistics.shown()["Scripts"])
    qtbot.waitUntil(lambda: "No font for" not in pane.statistics.shown())
