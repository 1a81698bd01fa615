"""Shows a file in the system's own file manager, selected where the system can do that."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import sys
from pathlib import Path

from PySide6.QtCore import QProcess, QUrl
from PySide6.QtGui import QDesktopServices


def show_in_file_manager(file: Path) -> None:
    """Opens the folder that a file is in."""
    command = _command(sys.platform, file)
    if command is None or not QProcess.startDetached(*command)[0]:
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(file.parent)))


def _command(platform: str, file: Path) -> tuple[str, list[str]] | None:
    """Program and arguments that select a file; None where the system has none for it."""
    if platform == "win32":
        # Two arguments, so that only the path stands in quotes where it holds spaces.
        return "explorer.exe", ["/select,", str(file)]
    return ("open", ["-R", str(file)]) if platform == "darwin" else None
