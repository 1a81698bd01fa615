"""Errors of a start without a terminal: missing libraries, and a file or a box with the error."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import re
import sys
from contextlib import suppress
from pathlib import Path

import platformdirs

from tokstudio.core.base.private_folders import private_opener

# The libraries that Qt's wheels need on a desktop; listed together, because the loader names only one at a time.
_DEBIAN = "libegl1 libgl1 libxkbcommon0 libfontconfig1 libfreetype6 libdbus-1-3 libglib2.0-0 libx11-6 libzstd1"
_ERROR_ICON = 0x10


def import_problem(error: ImportError) -> str:
    """The missing library and what to do, on one line."""
    # NumPy wraps the loader's error in a page of advice; macOS appends every path that it has searched.
    while isinstance(error.__cause__, ImportError):
        error = error.__cause__
    first = str(error).strip().partition("\n")[0].rstrip(" \r.!:") or "a library cannot be loaded"
    library = re.match(r"(\S+\.so[\w.]*): cannot open shared object file", first)
    if library is None:
        return f"The window cannot open: {first}. Install what is missing."
    return (
        f"The window cannot open: the library {library[1]} is missing. Install the system package that contains it "
        f"(on Debian and Ubuntu: sudo apt-get install {_DEBIAN})."
    )


def last_failure_file() -> Path:
    """The file with the error of the last start, if it failed without a terminal."""
    return Path(platformdirs.user_log_dir("tokstudio", appauthor=False)) / "failed-start.txt"


def remove_failure() -> None:
    """Removes the error of an earlier start."""
    with suppress(OSError):
        last_failure_file().unlink(missing_ok=True)


def keep_failure(sentence: str, *, lasting: bool = True) -> None:
    """Shows an error in a box, or writes it if it is `lasting`, for a user who sees no standard error.

    Such a user started with a double click.
    """
    with suppress(OSError, ValueError):
        if sys.stderr is not None and sys.stderr.isatty():
            return
        if sys.platform == "win32":
            if sys.stderr is None:
                import ctypes

                ctypes.windll.user32.MessageBoxW(None, sentence, "TokStudio", _ERROR_ICON)
        elif lasting and (sys.platform == "darwin" or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
            file = last_failure_file()
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with open(file, "w", encoding="utf-8", errors="backslashreplace", opener=private_opener) as opened:
                opened.write(f"{sentence}\n")
