"""File names with markup are shown as they are, and nothing in them is interpreted."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os

import pytest
from PySide6.QtCore import QAbstractListModel, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QAbstractItemView, QLabel, QWidget

from tests.gui.person import TEXT, at_the_window, quiet, trained
from tokstudio.core.base.wording import printable

pytestmark = pytest.mark.usefixtures("unstyled")

NAME = "\x1b]0;x\x07a\nb<b>.txt"
SHOWN = r"\x1b]0;x\x07a\nb<b>.txt"


def tips_and_labels(window: QWidget) -> tuple[list[str], list[str]]:
    """All tips, and the labels that guess whether their text is HTML."""
    tips = [widget.toolTip() for widget in (window, *window.findChildren(QWidget))]
    for view in window.findChildren(QAbstractItemView):
        model = view.model()
        if model is not None:
            tips += [
                str(model.index(row, column).data(Qt.ItemDataRole.ToolTipRole) or "")
                for row in range(min(model.rowCount(), 20))
                for column in range(1 if isinstance(model, QAbstractListModel) else model.columnCount())
            ]
    guessing = [label.text() for label in window.findChildren(QLabel) if label.textFormat() == Qt.TextFormat.AutoText]
    return tips, guessing


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such names")
def test_a_file_name_with_markup_is_shown_as_plain_text_everywhere(qtbot, monkeypatch, tmp_path):
    where = tmp_path / "<img src=x><b>"
    where.mkdir()
    file, sibling = where / NAME, where / NAME.replace("\n", "")
    file.write_text(TEXT)
    sibling.write_text("more")

    def act(window, answers):
        quiet(qtbot, window)
        assert [source.name for source in window.session.corpus.sources] == [SHOWN]
        run = trained(qtbot, window)
        window.session.runs.rename(run, "<img src=x> <b>run</b>")
        answers.files = [sibling]
        window.actions_by_id["open_corpus"].trigger()
        quiet(qtbot, window)
        file.unlink()
        answers.files = [file]
        window.actions_by_id["open_corpus"].trigger()
        quiet(qtbot, window)
        assert f"{SHOWN}: no such file or folder." in window.corpus.problems.problems
        window.recent.menu.aboutToShow.emit()
        # A name with a break is not remembered, rather than torn into two.
        remembered = [action.text() for action in window.recent.menu.actions()]
        assert not any(text.startswith("b<b>") or text.endswith(r"\x07a") for text in remembered)
        assert printable(str(sibling)) in remembered
        tips, guessing = tips_and_labels(window)
        titles = [window.windowTitle(), *(action.text() for action in window.findChildren(QAction))]
        assert any("&lt;b&gt;.txt" in tip for tip in tips)
        for text in (*tips, *guessing):
            assert "<b>" not in text
            assert "<img" not in text
        for text in (*tips, *guessing, *titles, *(label.text() for label in window.findChildren(QLabel))):
            assert "\x1b" not in text
            assert "\x07" not in text

    assert at_the_window(monkeypatch, act, [str(file)]) == 0
