"""File dialogs, questions with buttons, dropped files, and the system's file manager.

Tests replace `Choosers`.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Literal
from urllib.parse import unquote_to_bytes

from PySide6.QtCore import QMimeData, QObject, QProcess, QSize, Qt, QUrl, SignalInstance
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import (
    QApplication,
    QDialog,
    QFileDialog,
    QHeaderView,
    QInputDialog,
    QMessageBox,
    QTreeView,
    QWidget,
)

_SIZE = QSize(720, 480)  # of a file dialog that Qt draws
_AROUND = QSize(16, 48)  # the part of the screen that the title bar and borders need


class Choosers:
    """Shows dialogs above the active window, or else `parent`, which then has the focus again.

    A cancelled one gives None, an empty list or False.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        self._window = parent

    @property
    def _parent(self) -> QWidget | None:
        return QApplication.activeModalWidget() or QApplication.activeWindow() or self._window

    def open_files(self, title: str, folder: Path, filters: str = "") -> list[Path]:
        """Asks for existing files."""
        return self._ask(title, folder, QFileDialog.FileMode.ExistingFiles, filters)

    def open_folder(self, title: str, folder: Path) -> Path | None:
        """Asks for a folder."""
        return next(iter(self._ask(title, folder, QFileDialog.FileMode.Directory)), None)

    def save_file(self, title: str, suggestion: Path, filters: str) -> Path | None:
        """Asks where to write a file; the dialog itself asks before it replaces a file.

        A name without a suffix gets that of the chosen filter.
        """
        return next(iter(self._ask(title, suggestion, QFileDialog.FileMode.AnyFile, filters)), None)

    def text(self, title: str, label: str, value: str) -> str | None:
        """Asks for one line of text."""
        dialog = QInputDialog(self._parent)
        dialog.setWindowTitle(title)
        dialog.setLabelText(label)
        dialog.setTextValue(value)
        accepted = _run(dialog)
        dialog.deleteLater()
        return dialog.textValue() if accepted else None

    def show_file(self, path: Path) -> bool:
        """Selects a file, or opens a folder, in the file manager; returns whether that worked."""
        return show_in_file_manager(path)

    def save_or_not(
        self, title: str, question: Callable[[], str], changed: SignalInstance
    ) -> Literal["save", "discard"] | None:
        """Asks whether to save unsaved work, anew when `changed` is emitted; None if the user cancels."""
        box = QMessageBox(QMessageBox.Icon.NoIcon, title, question(), parent=self._parent)
        box.setTextFormat(Qt.TextFormat.PlainText)
        save = box.addButton(QMessageBox.StandardButton.Save)
        discard = box.addButton("Don't Save", QMessageBox.ButtonRole.DestructiveRole)
        stay = box.addButton(QMessageBox.StandardButton.Cancel)
        box.setDefaultButton(save)
        box.setEscapeButton(stay)
        follow = changed.connect(lambda: box.setText(question()))
        _run(box)
        QObject.disconnect(follow)
        return "save" if box.clickedButton() is save else "discard" if box.clickedButton() is discard else None

    def confirm(self, title: str, text: str, verb: str, over: SignalInstance | None = None) -> bool:
        """Asks whether to do something that cannot be undone; Escape and Enter mean no.

        The dialog closes with the answer no when `over` is emitted, as there is nothing left to ask then.
        """
        box = QMessageBox(QMessageBox.Icon.NoIcon, title, text, parent=self._parent)
        box.setTextFormat(Qt.TextFormat.PlainText)
        # Qt would put a destructive one on the left of Cancel.
        yes = box.addButton(verb, QMessageBox.ButtonRole.AcceptRole)
        no = box.addButton(QMessageBox.StandardButton.Cancel)
        box.setDefaultButton(no)
        box.setEscapeButton(no)
        if over is not None:
            over.connect(box.reject)
        _run(box)
        if over is not None:
            over.disconnect(box.reject)
        return box.clickedButton() is yes

    def _ask(self, title: str, start: Path, mode: QFileDialog.FileMode, filters: str = "") -> list[Path]:
        """Shows a file dialog that starts in a folder, or with the name of the file to write."""
        dialog = QFileDialog(self._parent, title, str(start), filters)
        dialog.setFileMode(mode)
        if mode == QFileDialog.FileMode.AnyFile:
            dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
            dialog.filterSelected.connect(lambda chosen: dialog.setDefaultSuffix(_suffix(chosen)))
            dialog.setDefaultSuffix(_suffix(dialog.selectedNameFilter()))
        elif mode == QFileDialog.FileMode.Directory:
            dialog.setOption(QFileDialog.Option.ShowDirsOnly)
        # Before its first use, Qt makes the dialog higher than most screens.
        dialog.resize(_SIZE.boundedTo(dialog.screen().availableSize() - _AROUND))
        # Qt cuts sizes and types beside names that leave room; where the desktop shows its dialog, there is no list.
        if (files := dialog.findChild(QTreeView, "treeView")) is not None:
            files.header().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
            files.header().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        chosen = dialog.selectedUrls() if _run(dialog) else []
        dialog.deleteLater()
        return [path_of(url) for url in chosen]


def _run(dialog: QDialog) -> bool:
    """Shows a dialog, then activates the window above which it stood; returns whether it was accepted."""
    above, accepted = dialog.parentWidget(), dialog.exec()
    # Some window managers would activate the main window, or none.
    if above is not None and above.isVisible():
        above.activateWindow()
    return bool(accepted)


def path_of(url: QUrl) -> Path:
    """The path of a local file, also where its name is not text in the encoding of the system."""
    if os.name == "nt" or url.host():
        return Path(url.toLocalFile())
    # Qt would replace the bytes that it cannot decode.
    encoded = url.path(QUrl.ComponentFormattingOption.FullyEncoded)
    return Path(os.fsdecode(unquote_to_bytes(encoded)))


def dropped_paths(data: QMimeData) -> list[Path]:
    """The local files and folders that are dropped."""
    return [path_of(url) for url in data.urls() if url.isLocalFile()]


def _suffix(name_filter: str) -> str:
    """The first suffix of a filter such as "NumPy (*.npz)", with its point; "" for one of all files."""
    match = re.search(r"\*(\.\w+)", name_filter)
    return match.group(1) if match is not None else ""


def show_in_file_manager(path: Path) -> bool:
    """Opens a folder, or the folder of a file; returns whether that worked."""
    folder = path if path.is_dir() else path.parent
    command = _command(sys.platform, path) if folder != path else None
    if command is not None and QProcess.startDetached(*command)[0]:
        return True
    # Not from its text, in which Qt would replace bytes that are no text.
    return QDesktopServices.openUrl(QUrl.fromEncoded(folder.absolute().as_uri().encode()))


def _command(platform: str, file: Path) -> tuple[str, list[str]] | None:
    """The program and arguments that select a file; None where the system has none."""
    if platform == "win32":
        # The whole path: Windows would search the current folder first, which may hold a program of that name.
        # Two arguments, so that only the path is quoted if it has spaces.
        return os.path.join(os.environ.get("SYSTEMROOT", r"C:\Windows"), "explorer.exe"), ["/select,", str(file)]
    return ("open", ["-R", str(file)]) if platform == "darwin" else None
