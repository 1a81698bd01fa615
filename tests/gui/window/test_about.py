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


def test_each_component_is_listed_with_its_version_and_its_licence_which_is_read_and_copied(qtbot, about):
    about.table.setFocus()
    for _ in range(row_of(about, "NumPy")):
        qtbot.keyClick(about.table, Qt.Key.Key_Down)
    assert "NumPy Developers" in about.licence.toPlainText()
    qtbot.keyClick(about.table, Qt.Key.Key_Tab)
    assert about.licence.hasFocus()
    for name in ("NumPy", "Numba", "regex", "sentencepiece", "tokenizers"):
        row = row_of(about, name)
        assert about.table.item(row, 1).text() == version(name)
        assert about.table.item(row, 2).text()
    for row in range(about.table.rowCount()):
        about.table.selectRow(row)
        assert len(about.licence.toPlainText()) > 500, about.table.item(row, 0).text()
    about.table.selectRow(row_of(about, "Qt"))
    text = about.licence.toPlainText()
    assert "GNU LESSER GENERAL PUBLIC LICENSE" in text[:80]
    assert "END OF TERMS AND CONDITIONS" in text, "the one that it adds to"
    [copy] = [button for button in about.findChildren(QPushButton) if button.text() == "Copy Versions"]
    qtbot.mouseClick(copy, Qt.MouseButton.LeftButton)
    copied = QGuiApplication.clipboard().text()
    assert copied.startswith(f"TokStudio {__version__} (Python package)")
    assert f"\nNumPy {version('numpy')}\n" in copied
    room = about.screen().availableSize()
    assert about.height() <= room.height()
    assert about.minimumSizeHint().height() <= 560


def test_large_text_is_cut_in_no_column_but_the_widest(qtbot, theme):
    theme.set_text_size(20)
    keys = QAction("Copy")
    keys.setShortcuts(["Ctrl+Shift+Alt+F11", "Ctrl+Shift+Alt+F12"])
    for dialog, columns in ((AboutDialog(theme), (0, 1)), (ShortcutsDialog({"copy": keys}, theme), (1,))):
        qtbot.addWidget(dialog)
        dialog.show()
        table = dialog.findChild(QTableWidget)
        assert all(table.columnWidth(column) >= table.sizeHintForColumn(column) > 0 for column in columns)
        assert table.horizontalScrollBar().maximum() == 0


def test_shortcuts_are_listed_by_what_an_action_does(qtbot, theme):
    actions = {"undo": QAction("&Undo Add tale.txt"), "export_tokenizer": QAction("Tokenizer &Files…")}
    for name, keys in (("undo", "Ctrl+Z"), ("export_tokenizer", "Ctrl+E")):
        actions[name].setShortcut(keys)
    dialog = ShortcutsDialog(actions, theme)
    qtbot.addWidget(dialog)
    table = dialog.findChild(QTableWidget)
    listed = [tuple(table.item(row, column).text() for column in range(2)) for row in range(2)]
    assert listed == [("Undo", "Ctrl+Z"), ("Export Tokenizer Files", "Ctrl+E")]
