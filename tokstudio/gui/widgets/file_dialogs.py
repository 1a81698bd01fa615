"""The questions that need a dialog: which file, which folder, are you sure; and the system's own file manager.

Tests put an answer in their place.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Literal

from PySide6.QtCore import QProcess, QSize, Qt, QUrl, SignalInstance
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QApplication, QFileDialog, QInputDialog, QMessageBox, QWidget

_SIZE = QSize(720, 480)  # of a dialog about files where Qt draws it
_AROUND = QSize(16, 48)  # what the system's title bar and borders take of the screen


class Choosers:
    """Asks the person; every answer may be "no" (None, an empty list, False).

    Args:
        parent: The window that the dialogs belong to, unless one of its dialogs is open and asks itself.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        self._window = parent

    @property
    def _parent(self) -> QWidget | None:
        return QApplication.activeModalWidget() or self._window

    def open_files(self, title: str, folder: Path, filters: str = "") -> list[Path]:
        """Asks for existing files."""
        return self._ask(title, folder, QFileDialog.FileMode.ExistingFiles, filters)

    def open_folder(self, title: str, folder: Path) -> Path | None:
        """Asks for a folder."""
        return next(iter(self._ask(title, folder, QFileDialog.FileMode.Directory)), None)

    def save_file(self, title: str, suggestion: Path, filters: str) -> Path | None:
        """Asks where to write a file; replacing an existing one is asked about by the dialog itself."""
        return next(iter(self._ask(title, suggestion, QFileDialog.FileMode.AnyFile, filters)), None)

    def text(self, title: str, label: str, value: str) -> str | None:
        """Asks for one line of text."""
        entered, accepted = QInputDialog.getText(self._parent, title, label, text=value)
        return entered if accepted else None

    def show_file(self, path: Path) -> bool:
        """Shows a file where it lies, or a folder; gives whether the system could."""
        return show_in_file_manager(path)

    def save_or_not(self, title: str, text: str) -> Literal["save", "discard"] | None:
        """Asks what becomes of what is not saved; None where the person would rather stay."""
        box = QMessageBox(QMessageBox.Icon.NoIcon, title, text, parent=self._parent)
        box.setTextFormat(Qt.TextFormat.PlainText)
        save = box.addButton(QMessageBox.StandardButton.Save)
        discard = box.addButton("Don't Save", QMessageBox.ButtonRole.DestructiveRole)
        stay = box.addButton(QMessageBox.StandardButton.Cancel)
        box.setDefaultButton(save)
        box.setEscapeButton(stay)
        box.exec()
        return "save" if box.clickedButton() is save else "discard" if box.clickedButton() is discard else None

    def confirm(self, title: str, text: str, verb: str, over: SignalInstance | None = None) -> bool:
        """Asks whether to do something that cannot be taken back; Escape and Enter say no.

        The question goes by itself, as if answered with no, when `over` tells that there is nothing left to ask.
        """
        box = QMessageBox(QMessageBox.Icon.NoIcon, title, text, parent=self._parent)
        box.setTextFormat(Qt.TextFormat.PlainText)
        yes = box.addButton(verb, QMessageBox.ButtonRole.DestructiveRole)
        no = box.addButton(QMessageBox.StandardButton.Cancel)
        box.setDefaultButton(no)
        box.setEscapeButton(no)
        if over is not None:
            over.connect(box.reject)
        box.exec()
        if over is not None:
            over.disconnect(box.reject)
        return box.clickedButton() is yes

    def _ask(self, title: str, start: Path, mode: QFileDialog.FileMode, filters: str = "") -> list[Path]:
        """Asks for files or a folder, beginning in a folder or with the name of a file that is to be written."""
        dialog = QFileDialog(self._parent, title, str(start), filters)
        dialog.setFileMode(mode)
        if mode == QFileDialog.FileMode.AnyFile:
            dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        elif mode == QFileDialog.FileMode.Directory:
            dialog.setOption(QFileDialog.Option.ShowDirsOnly)
        # Until it has been used once, Qt would make it higher than most screens.
        dialog.resize(_SIZE.boundedTo(dialog.screen().availableSize() - _AROUND))
        names = dialog.selectedFiles() if dialog.exec() else []
        dialog.deleteLater()
        return [Path(name) for name in names]


def show_in_file_manager(path: Path) -> bool:
    """Opens a folder, or the one that a file is in; gives whether the system could."""
    folder = path if path.is_dir() else path.parent
    command = _command(sys.platform, path) if folder != path else None
    if command is not None and QProcess.startDetached(*command)[0]:
        return True
    return QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder)))


def _command(platform: str, file: Path) -> tuple[str, list[str]] | None:
    """Program and arguments that select a file; None where the system has none for it."""
    if platform == "win32":
        # By its whole path: Windows would look in the current folder first, which may hold a program of that name.
        # Two arguments, so that only the path stands in quotes where it holds spaces.
        return os.path.join(os.environ.get("SYSTEMROOT", r"C:\Windows"), "explorer.exe"), ["/select,", str(file)]
    return ("open", ["-R", str(file)]) if platform == "darwin" else None
