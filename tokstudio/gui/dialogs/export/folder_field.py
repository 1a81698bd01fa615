"""The field for a folder, with a line below that says what it will contain or what is wrong."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QSignalBlocker, Qt
from PySide6.QtWidgets import QLabel, QLineEdit, QPushButton

from tokstudio.gui.widgets.fields import Field


class FolderField(Field):
    """A field for a folder; `choose` asks for one, starting in the given one, and returns None if cancelled."""

    def __init__(self, choose: Callable[[Path], Path | None]) -> None:
        self.edit = QLineEdit()
        super().__init__("", self.edit)
        self._choose = choose
        label = QLabel("&Folder", textFormat=Qt.TextFormat.PlainText)
        label.setBuddy(self.edit)
        self.edit.setAccessibleName("Folder")
        self.browse = QPushButton("&Browse…", autoDefault=False)
        self.browse.clicked.connect(self._browse)
        self.row.addWidget(label)
        self.row.addWidget(self.edit, 1)
        self.row.addWidget(self.browse)
        self.edit.textChanged.connect(self.changed)

    @property
    def folder(self) -> Path:
        """The entered folder; "~" is the home folder."""
        entered = Path(self.edit.text().strip())
        try:
            return entered.expanduser()
        except RuntimeError:
            return entered

    def set_folder(self, folder: Path) -> None:
        """Sets the folder without emitting a signal."""
        with QSignalBlocker(self.edit):
            self.edit.setText(str(folder))

    def _browse(self) -> None:
        folder = self._choose(self.folder)
        if folder is not None:
            self.edit.setText(str(folder))
