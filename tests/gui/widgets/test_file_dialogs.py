"""File dialogs and questions, with the real dialogs."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QApplication, QComboBox, QDialog, QLineEdit, QMainWindow, QPushButton

from tokstudio.gui.widgets.file_dialogs import Choosers


@pytest.fixture
def choosers(qapp, qtbot, theme) -> Choosers:
    window = QMainWindow()
    qtbot.addWidget(window)
    theme.apply(qapp)
    window.show()
    return Choosers(window)


@pytest.fixture
def meanwhile():
    """Acts on the dialog that comes up next, and closes it if it is still there."""
    failures: list[BaseException] = []

    def when_asked(act: Callable[[QDialog], None]) -> None:
        def go() -> None:
            dialog = QApplication.activeModalWidget()
            assert isinstance(dialog, QDialog)
            try:
                act(dialog)
            except BaseException as failure:  # carried to the test, which is not on this stack
                failures.append(failure)
            finally:
                if dialog.isVisible():
                    dialog.reject()

        QTimer.singleShot(0, go)

    yield when_asked
    if failures:
        raise failures[0]


def file_name(dialog: QDialog) -> QLineEdit:
    field = dialog.findChild(QLineEdit, "fileNameEdit")
    assert isinstance(field, QLineEdit)
    return field


@pytest.mark.parametrize("question", ["open_files", "open_folder", "save_file"])
def test_a_file_dialog_is_within_the_screen(choosers, meanwhile, tmp_path, question):
    seen: list[str] = []

    def look(dialog: QDialog) -> None:
        room = dialog.screen().availableGeometry()
        assert dialog.width() <= room.width()
        assert 300 < dialog.height() <= min(600, room.height())
        for field in (file_name(dialog), *dialog.findChildren(QPushButton)):
            assert dialog.rect().contains(field.geometry())
        seen.append(dialog.windowTitle())

    meanwhile(look)
    start = tmp_path / "merges.csv" if question == "save_file" else tmp_path
    arguments = ("Text (*.csv)",) if question == "save_file" else ()
    assert not getattr(choosers, question)("Which one", start, *arguments)
    assert seen == ["Which one"]


def test_a_file_is_named_and_written_where_the_dialog_begins(qtbot, choosers, meanwhile, tmp_path):
    def name_it(dialog: QDialog) -> None:
        assert file_name(dialog).text() == "merges.csv"
        file_name(dialog).selectAll()
        qtbot.keyClicks(file_name(dialog), "mine.csv")
        qtbot.keyClick(file_name(dialog), Qt.Key.Key_Return)

    meanwhile(name_it)
    assert choosers.save_file("Save", tmp_path / "merges.csv", "Text (*.csv)") == tmp_path / "mine.csv"


@pytest.mark.parametrize(("typed", "written"), [("map", "map.json"), ("map.npz", "map.npz"), ("", "embedding.json")])
def test_a_name_without_a_suffix_gets_that_of_the_chosen_filter(qtbot, choosers, meanwhile, tmp_path, typed, written):
    (tmp_path / "map").touch()  # another file, which the dialog must not ask about

    def choose(dialog: QDialog) -> None:
        filters = dialog.findChild(QComboBox, "fileTypeCombo")
        assert isinstance(filters, QComboBox)
        qtbot.keyClick(filters, Qt.Key.Key_Down)
        if typed:
            file_name(dialog).setText(typed)
        qtbot.keyClick(file_name(dialog), Qt.Key.Key_Return)

    meanwhile(choose)
    chosen = choosers.save_file("Save", tmp_path / "embedding.npz", "NumPy (*.npz);;JSON (*.json)")
    assert chosen == tmp_path / written


def test_a_folder_is_opened(choosers, meanwhile, tmp_path):
    meanwhile(QDialog.accept)
    assert choosers.open_folder("Open", tmp_path) == tmp_path
