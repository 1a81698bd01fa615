"""File dialogs and questions, with the real dialogs."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPoint, Qt, QTimer, QUrl
from PySide6.QtWidgets import (
    QApplication,
    QComboBox,
    QDialog,
    QFileDialog,
    QLineEdit,
    QMainWindow,
    QMessageBox,
    QPushButton,
    QTreeView,
)

from tokstudio.gui.widgets.file_dialogs import Choosers, dropped_paths, path_of
from tokstudio.gui.widgets.pane import Dialog


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


def buttons_of(dialog: QDialog) -> list[str]:
    """The buttons of a dialog, from left to right."""
    placed = sorted(dialog.findChildren(QPushButton), key=lambda button: button.mapTo(dialog, QPoint()).x())
    return [button.text().replace("&", "") for button in placed if button.isVisible()]


@pytest.mark.parametrize(
    ("question", "arguments", "buttons"),
    [
        ("confirm", ("Delete Run", "It is gone then.", "Delete"), ["Cancel", "Delete"]),
        ("text", ("Rename", "Name", "cats"), ["Cancel", "OK"]),
    ],
)
def test_cancel_is_on_the_left_of_what_does_it(choosers, meanwhile, question, arguments, buttons):
    seen: list[str] = []
    meanwhile(lambda dialog: seen.extend(buttons_of(dialog)))
    assert not getattr(choosers, question)(*arguments)
    assert seen == buttons


def test_the_question_before_leaving_says_what_holds_now(choosers, meanwhile):
    texts = iter(("Training is in progress.", "Run 1 has not been saved."))
    timer = QTimer()

    def look(dialog: QDialog) -> None:
        assert isinstance(dialog, QMessageBox)
        assert buttons_of(dialog) == ["Don't Save", "Cancel", "Save"]
        assert dialog.text() == "Training is in progress."
        timer.timeout.emit()
        assert dialog.text() == "Run 1 has not been saved."

    meanwhile(look)
    assert choosers.save_or_not("Quit", lambda: next(texts), timer.timeout) is None
    timer.timeout.emit()  # nothing is asked any more


@pytest.mark.parametrize("end", [QDialog.reject, QDialog.accept])
@pytest.mark.parametrize(
    ("question", "arguments"),
    [
        ("save_file", ("Save", Path("map.npz"), "NumPy (*.npz)")),
        ("confirm", ("Delete Run", "It is gone then.", "Delete")),
        ("text", ("Rename", "Name", "cats")),
    ],
)
def test_a_dialog_that_blocks_nothing_has_the_focus_again(
    qtbot, choosers, meanwhile, monkeypatch, tmp_path, question, arguments, end
):
    monkeypatch.chdir(tmp_path)
    tool = Dialog("Make an Exercise", choosers._window, modal=False)
    qtbot.addWidget(tool)
    write = QPushButton("Write…", tool)
    tool.show()
    write.setFocus()
    tool.activateWindow()
    qtbot.waitUntil(write.hasFocus)
    meanwhile(end)
    getattr(choosers, question)(*arguments)
    qtbot.waitUntil(lambda: QApplication.focusWidget() is write)
    qtbot.keyClick(write, Qt.Key.Key_Escape)
    assert not tool.isVisible()


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


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="names are always text there")
def test_a_file_is_found_whose_name_is_not_text(choosers, monkeypatch, tmp_path):
    """Qt replaces what it cannot decode; its own dialog does not list such a file, but one of the system may."""
    for name in (b"a\xff.txt", b"50% #1?;b.txt", "ä€ 本.txt".encode(), b"line\nbreak"):
        path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name))
        path.write_text("here")
        data = QMimeData()
        data.setData("text/uri-list", f"{path.as_uri()}\r\nhttps://example.org\r\n".encode())
        (dropped,) = dropped_paths(data)
        assert dropped == path
        monkeypatch.setattr(QFileDialog, "exec", lambda dialog: QDialog.DialogCode.Accepted)
        monkeypatch.setattr(
            QFileDialog, "selectedUrls", lambda dialog, path=path: [QUrl.fromEncoded(path.as_uri().encode())]
        )
        assert choosers.open_files("Open", tmp_path) == [path]
    assert path_of(QUrl("file:///a%20b/c")) == Path("/a b/c")


def test_an_address_of_another_computer_is_its_path_in_the_network():
    url = QUrl("file://server/share/a%20b.txt")
    assert path_of(url) == Path(url.toLocalFile())


def test_sizes_and_types_of_files_are_not_cut_beside_short_names(qtbot, choosers, meanwhile, tmp_path):
    (tmp_path / "a.txt").write_text("text" * 25_000)

    def look(dialog: QDialog) -> None:
        files = dialog.findChild(QTreeView, "treeView")
        qtbot.waitUntil(lambda: files.model().rowCount(files.rootIndex()) == 1)
        qtbot.waitUntil(lambda: files.columnWidth(1) >= files.sizeHintForColumn(1) > 0)
        assert all(files.columnWidth(column) >= files.sizeHintForColumn(column) for column in range(4))

    meanwhile(look)
    assert choosers.open_files("Open", tmp_path) == []
