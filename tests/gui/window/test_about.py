"""The About dialog with components, versions and licences, and the dialog of keyboard shortcuts."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from importlib.metadata import version

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtWidgets import QPushButton, QTableWidget

from tokstudio import __version__
from tokstudio.gui.window.about import AboutDialog, ShortcutsDialog


@pytest.fixture
def about(qtbot, theme):
    dialog = AboutDialog(theme)
    qtbot.addWidget(dialog)
    dialog.show()
    qtbot.waitUntil(dialog.isActiveWindow)
    return dialog


def row_of(about, name):
    [item] = about.table.findItems(name, Qt.MatchFlag.MatchExactly)
    return item.row()


@pytest.mark.parametrize("name", ["NumPy", "Numba", "regex", "sentencepiece", "tokenizers"])
def test_each_component_is_listed_with_its_version(about, name):
    row = row_of(about, name)
    assert about.table.item(row, 1).text() == version(name)
    assert about.table.item(row, 2).text()


def test_the_licence_of_the_chosen_component_is_read_by_the_keyboard(qtbot, about):
    about.table.setFocus()
    for _ in range(row_of(about, "NumPy")):
        qtbot.keyClick(about.table, Qt.Key.Key_Down)
    assert "NumPy Developers" in about.licence.toPlainText()
    qtbot.keyClick(about.table, Qt.Key.Key_Tab)
    assert about.licence.hasFocus()


def test_every_component_has_a_licence_that_can_be_read(about):
    for row in range(about.table.rowCount()):
        about.table.selectRow(row)
        assert len(about.licence.toPlainText()) > 500, about.table.item(row, 0).text()


def test_the_licences_of_qt_are_there_in_full(about):
    about.table.selectRow(row_of(about, "Qt"))
    text = about.licence.toPlainText()
    assert "GNU LESSER GENERAL PUBLIC LICENSE" in text[:80]
    assert "END OF TERMS AND CONDITIONS" in text, "the one that it adds to"


def test_the_versions_can_be_copied_for_a_bug_report(qtbot, about):
    [copy] = [button for button in about.findChildren(QPushButton) if button.text() == "Copy Versions"]
    qtbot.mouseClick(copy, Qt.MouseButton.LeftButton)
    copied = QGuiApplication.clipboard().text()
    assert copied.startswith(f"TokStudio {__version__} (Python package)")
    assert f"\nNumPy {version('numpy')}\n" in copied


def test_it_fits_a_small_screen(about):
    room = about.screen().availableSize()
    assert about.height() <= room.height()
    assert about.minimumSizeHint().height() <= 560


def test_shortcuts_are_listed_by_what_an_action_does(qtbot):
    actions = {"undo": QAction("&Undo Add tale.txt"), "export_tokenizer": QAction("Tokenizer &Files…")}
    for name, keys in (("undo", "Ctrl+Z"), ("export_tokenizer", "Ctrl+E")):
        actions[name].setShortcut(keys)
    dialog = ShortcutsDialog(actions)
    qtbot.addWidget(dialog)
    table = dialog.findChild(QTableWidget)
    listed = [tuple(table.item(row, column).text() for column in range(2)) for row in range(2)]
    assert listed == [("Undo", "Ctrl+Z"), ("Export Tokenizer Files", "Ctrl+E")]
