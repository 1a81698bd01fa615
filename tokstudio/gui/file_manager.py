"""Shows a file in the system's own file manager, selected where the system can do that."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import sys
from pathlib import Path

from PySide6.QtCore import QProcess, QUrl
from PySide6.QtGui import QDesktopServices


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
