"""Messages about scripts without a font on the computer."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import subprocess
import sys

import pytest
from PySide6.QtGui import QFontMetrics

from tests.gui.person import PATIENCE, at_the_window

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


def test_the_corpus_pane_names_a_script_that_cannot_be_shown(qtbot, monkeypatch, unstyled):
    known = QFontMetrics.inFontUcs4
    monkeypatch.setattr(
        "tokstudio.gui.panes.corpus.views.QFontMetrics.inFontUcs4",
        lambda self, point: point < 128 and known(self, point),
    )

    def act(window, answers):
        window.session.corpus.add_text("one, два, ein, три")
        table = window.corpus.statistics
        qtbot.waitUntil(lambda: "No font for" in table.shown(), timeout=PATIENCE)
        assert table.shown()["No font for"] == "Cyrillic"
        window.session.corpus.remove_sources([0])
        window.session.corpus.add_text("one, ein")
        qtbot.waitUntil(lambda: "Latin" in table.shown()["Scripts"], timeout=PATIENCE)
        qtbot.waitUntil(lambda: "No font for" not in table.shown(), timeout=PATIENCE)

    assert at_the_window(monkeypatch, act) == 0
