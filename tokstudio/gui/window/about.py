"""The About dialog and the list of keyboard shortcuts."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import platform
import re
import sys
import sysconfig
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt, qVersion
from PySide6.QtGui import QAction, QGuiApplication, QKeySequence
from PySide6.QtWidgets import (
    QAbstractItemView,
    QDialog,
    QDialogButtonBox,
    QHeaderView,
    QLabel,
    QPlainTextEdit,
    QTableWidget,
    QTableWidgetItem,
    QWidget,
)

from tokstudio.core.base.errors import TokStudioError
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.resources import resource
from tokstudio.core.base.subprocesses import is_bundle
from tokstudio.gui.style.icons import icon
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.labels import named
from tokstudio.gui.widgets.layouts import STRETCH, column, resize_on_screen, row
from tokstudio.version import __version__

if TYPE_CHECKING:
    from importlib.metadata import Distribution

# --- The components of TokStudio: their versions and licences ---------------------------------------------------------

# Packages without a licence text, as it is a common one; the second adds to the first.
_USUAL = {"LGPL 3": ("LGPL-3", "GPL-3"), "Apache 2.0": ("Apache-2.0",)}
_LICENCE = re.compile(r"licen[cs]e|copying|notice", re.IGNORECASE)
# Name, package, and licence as named by its authors.
_KNOWN = (
    ("PySide6 and Shiboken", "PySide6_Essentials", "LGPL 3"),
    ("NumPy", "numpy", "BSD, 3 clauses, and others"),
    ("Numba", "numba", "BSD, 2 clauses"),
    ("llvmlite and LLVM", "llvmlite", "BSD, 2 clauses; Apache 2.0"),
    ("pyarrow", "pyarrow", "Apache 2.0"),
    ("pyqtgraph", "pyqtgraph", "MIT"),
    ("regex", "regex", "Apache 2.0 and CNRI Python"),
    ("charset-normalizer", "charset-normalizer", "MIT"),
    ("platformdirs", "platformdirs", "MIT"),
    ("protobuf", "protobuf", "BSD, 3 clauses"),
    ("tokenizers", "tokenizers", "Apache 2.0"),
    ("tiktoken", "tiktoken", "MIT"),
    ("sentencepiece", "sentencepiece", "Apache 2.0"),
    ("zstandard", "zstandard", "BSD, 3 clauses"),
    ("HiGHS", "highspy", "MIT and others"),
    ("huggingface_hub", "huggingface_hub", "Apache 2.0"),
    ("httpx2", "httpx2", "BSD, 3 clauses"),
    ("httpcore2", "httpcore2", "BSD, 3 clauses"),
    ("h11", "h11", "MIT"),
    ("anyio", "anyio", "MIT"),
    ("idna", "idna", "BSD, 3 clauses"),
    ("truststore", "truststore", "MIT"),
    ("filelock", "filelock", "MIT"),
    ("fsspec", "fsspec", "BSD, 3 clauses"),
    ("packaging", "packaging", "Apache 2.0 or BSD, 2 clauses"),
    ("PyYAML", "PyYAML", "MIT"),
    ("Jinja2", "Jinja2", "BSD, 3 clauses"),
    ("MarkupSafe", "MarkupSafe", "BSD, 3 clauses"),
    ("tqdm", "tqdm", "MPL 2.0 and MIT"),
    ("typing_extensions", "typing_extensions", "Python Software Foundation"),
)


@dataclass(frozen=True)
class Component:
    """A component that TokStudio contains or uses, with the short name of its licence."""

    name: str
    version: str
    licence: str
    read: Callable[[], str]  # the text of the licence, if the package contains it


def components() -> list[Component]:
    """All components."""
    from importlib.metadata import PackageNotFoundError, distribution

    result = [
        Component("Python", platform.python_version(), "Python Software Foundation", _of_python),
        Component("Qt", qVersion() or "", "LGPL 3", partial(_usual, "LGPL 3")),
    ]
    for name, package, licence in _KNOWN:
        with suppress(PackageNotFoundError):
            package_data = distribution(package)
            result.append(Component(name, package_data.version, licence, partial(_text, package_data, licence)))
    # A bundle also contains libraries of the system it was built on.
    with suppress(TokStudioError, OSError):
        licences = resource("licences/system-libraries.txt")
        with licences.open(encoding="utf-8") as file:
            system = file.readline().strip()
        read = partial(licences.read_text, "utf-8")
        result.append(Component("Libraries of the system", system, "each its own", read))
    return result


def _of_python() -> str:
    bundled = [Path(getattr(sys, "_MEIPASS", "")) / "python"] if is_bundle() else []
    for folder in (*bundled, Path(sysconfig.get_path("stdlib"))):
        with suppress(OSError):
            return (folder / "LICENSE.txt").read_text(encoding="utf-8", errors="replace")
    return sys.copyright


def _text(package: Distribution, licence: str) -> str:
    texts: list[str] = []
    for file in package.files or []:
        if ".dist-info" in str(file) and _LICENCE.search(file.name):
            with suppress(OSError):
                texts.append(Path(str(file.locate())).read_text(encoding="utf-8", errors="replace").strip())
    return "\n\n".join(texts) or _usual(licence)


def _usual(licence: str) -> str:
    names = _USUAL.get(licence, ())
    return "\n\n".join(resource(f"licences/{name}.txt").read_text(encoding="utf-8").strip() for name in names)


def start_line() -> str:
    """The first line of a crash report: the versions, the system and its display."""
    kind = "bundle" if is_bundle() else "Python package"
    parts = [
        f"TokStudio {__version__} ({kind})",
        f"Python {platform.python_version()}",
        f"Qt {qVersion()} ({QGuiApplication.platformName() or 'no display'})",
        platform.platform(),
        sys.executable,
    ]
    return ", ".join(parts)


_MORE_KEYS = (
    ("Merges, Vocabulary: move the playhead to the row", "Enter"),
    ("Slider: start and end", "Home, End"),
    ("Tokens: previous and next, with Shift to select", "Left, Right"),
    ("Steps of the text: previous and next", "Alt+Left, Alt+Right"),
    ("Guide: back and forward", "Alt+Left, Alt+Right"),
    ("Glossary: the word of a field", "F1 in the field"),
    ("Tokenizers: rename, delete", "F2, Del"),
)


class _Dialog(QDialog):
    """A dialog with text that Enter and Escape close."""

    def __init__(self, title: str, parent: QWidget | None) -> None:
        super().__init__(parent)
        self.setWindowTitle(title)
        self.rows = column(spacing=8, margins=(24, 24, 24, 16), parent=self)

    def finish(self) -> QDialogButtonBox:
        """Adds the button; returns the button box."""
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.reject)
        self.rows.addSpacing(8)
        self.rows.addWidget(buttons)
        return buttons


class AboutDialog(_Dialog):
    """Name, version and licence of TokStudio, and of its components."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__("About TokStudio", parent)
        self._components = components()
        mark = QLabel(pixmap=icon("tokstudio", theme).pixmap(64, 64))
        name = QLabel("TokStudio")
        name.setProperty("role", "headline")
        names = column(name, QLabel(f"Version {__version__}"))
        self.rows.addLayout(row(mark, names, STRETCH, spacing=16))
        about = (
            "Watch a tokenizer being trained on your own text, and export it to files that other libraries read. "
            "Free software under the MIT licence. It contains:"
        )
        self.rows.addWidget(QLabel(about, wordWrap=True))
        parts = [(part.name, part.version, part.licence) for part in self._components]
        self.table = _table(("Component", "Version", "Licence"), parts, "Components", wide=2)
        self.table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.rows.addWidget(self.table, 3)
        self.licence = named(QPlainTextEdit(readOnly=True, tabChangesFocus=True), "Licence")
        self.rows.addWidget(self.licence, 2)
        self.table.currentCellChanged.connect(self._show_licence)
        self.table.setCurrentCell(0, 0)
        buttons = self.finish()
        copy = buttons.addButton("Copy Versions", QDialogButtonBox.ButtonRole.ActionRole)
        copy.clicked.connect(self._copy)
        resize_on_screen(self, theme, QSize(640, 640))

    def _show_licence(self, row: int, *_: int) -> None:
        if row >= 0:
            self.licence.setPlainText(self._components[row].read())

    def _copy(self) -> None:
        versions = [f"{part.name} {part.version}" for part in self._components]
        QGuiApplication.clipboard().setText("\n".join([start_line(), *versions]))


class ShortcutsDialog(_Dialog):
    """All keyboard shortcuts, in a table made from the actions."""

    def __init__(self, actions: Mapping[str, QAction], theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__("Keyboard Shortcuts", parent)
        rows: list[tuple[str, str]] = []
        for name, action in actions.items():
            keys = ", ".join(key.toString(QKeySequence.SequenceFormat.NativeText) for key in action.shortcuts())
            if keys:
                text = action.text().replace("&", "").rstrip("…")
                # Undo and Redo name a change; what is exported stands in a menu of that name.
                if name in ("undo", "redo"):
                    text = name.title()
                elif name.startswith("export"):
                    text = f"Export {text}"
                rows.append((text, keys))
        self.rows.addWidget(_table(("Action", "Keys"), [*rows, *_MORE_KEYS], "Keyboard shortcuts", wide=0))
        self.finish()
        resize_on_screen(self, theme, QSize(560, 560))


def _table(titles: Sequence[str], rows: Sequence[Sequence[str]], name: str, wide: int) -> QTableWidget:
    """A read-only table for mouse and keyboard; the column `wide` takes the width that the others leave."""
    table = named(QTableWidget(len(rows), len(titles)), name)
    table.setHorizontalHeaderLabels(titles)
    table.verticalHeader().hide()
    table.setShowGrid(False)
    table.setTabKeyNavigation(False)
    table.setEditTriggers(QTableWidget.EditTrigger.NoEditTriggers)
    table.setSelectionBehavior(QTableWidget.SelectionBehavior.SelectRows)
    table.horizontalHeader().setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
    for place, texts in enumerate(rows):
        for number, text in enumerate(texts):
            item = QTableWidgetItem(text)
            item.setFlags(Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable)
            table.setItem(place, number, item)
    table.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
    table.horizontalHeader().setSectionResizeMode(wide, QHeaderView.ResizeMode.Stretch)
    table.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
    return table
