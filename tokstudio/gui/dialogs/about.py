"""What TokStudio is, and every key that it listens to."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QHeaderView,
    QLabel,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from tokstudio import __version__
from tokstudio.gui.icons import icon
from tokstudio.gui.theme import Theme

_MORE_KEYS = (
    ("Merges, Vocabulary: move the playhead to the row", "Enter"),
    ("Slider: start and end", "Home, End"),
    ("Tokens: the one before or after, with Shift to select", "Left, Right"),
    ("Runs: rename, delete", "F2, Del"),
)


class _Dialog(QDialog):
    """A dialog that says something and can be closed by Enter and Escape."""

    def __init__(self, title: str, parent: QWidget | None) -> None:
        super().__init__(parent)
        self.setWindowTitle(title)
        self.rows = QVBoxLayout(self)
        self.rows.setContentsMargins(24, 24, 24, 16)
        self.rows.setSpacing(8)

    def finish(self) -> None:
        """Adds the button."""
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.reject)
        self.rows.addSpacing(8)
        self.rows.addWidget(buttons)


class AboutDialog(_Dialog):
    """Name, version, licence."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__("About TokStudio", parent)
        mark = QLabel()
        mark.setPixmap(icon("tokstudio", theme).pixmap(64, 64))
        self.rows.addWidget(mark)
        name = QLabel("TokStudio")
        name.setProperty("role", "headline")
        self.rows.addWidget(name)
        self.rows.addWidget(QLabel(f"Version {__version__}"))
        words = QLabel(
            "Watch a tokenizer being trained on your own text, and take it home in files that other libraries read.\n\n"
            "Free software under the MIT licence. It uses Qt (LGPL), NumPy and Numba (BSD), pyqtgraph (MIT) and "
            "Hugging Face tokenizers (Apache 2.0)."
        )
        words.setWordWrap(True)
        words.setMinimumWidth(360)
        self.rows.addWidget(words)
        self.finish()


class ShortcutsDialog(_Dialog):
    """Every key, in a table made from the actions themselves."""

    def __init__(self, actions: Mapping[str, QAction], parent: QWidget | None = None) -> None:
        super().__init__("Keyboard Shortcuts", parent)
        rows = [
            (
                action.text().replace("&", "").rstrip("…"),
                ", ".join(key.toString(QKeySequence.SequenceFormat.NativeText) for key in action.shortcuts()),
            )
            for action in actions.values()
            if action.shortcuts()
        ]
        rows += _MORE_KEYS
        table = QTableWidget(len(rows), 2)
        table.setHorizontalHeaderLabels(["Action", "Keys"])
        table.setAccessibleName("Keyboard shortcuts")
        table.verticalHeader().hide()
        table.setShowGrid(False)
        table.setEditTriggers(QTableWidget.EditTrigger.NoEditTriggers)
        table.setSelectionBehavior(QTableWidget.SelectionBehavior.SelectRows)
        for row, words in enumerate(rows):
            for column, word in enumerate(words):
                item = QTableWidgetItem(word)
                item.setFlags(Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable)
                table.setItem(row, column, item)
        table.horizontalHeader().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        table.horizontalHeader().setSectionResizeMode(1, QHeaderView.ResizeMode.Interactive)
        table.horizontalHeader().setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        table.setColumnWidth(1, 160)
        self.rows.addWidget(table)
        self.resize(560, 560)
        self.finish()
