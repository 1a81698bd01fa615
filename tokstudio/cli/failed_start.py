"""What is said where the window cannot open: which library is missing, and, after a double click, where to read it."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import re
import sys
from contextlib import suppress
from pathlib import Path

import platformdirs

# What Qt's wheels expect of a desktop; named together, or one start after another would name the next.
_DEBIAN = "libegl1 libgl1 libxkbcommon0 libfontconfig1 libfreetype6 libdbus-1-3 libglib2.0-0 libx11-6 libzstd1"
_ERROR_ICON = 0x10


def missing_words(error: ImportError) -> str:
    """What is missing, and what to do, on one line."""
    # NumPy wraps the error of the loader in a page of advice; macOS appends every place where it has looked.
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
    """Where it stands that the last start failed, if it was one without a terminal."""
    return Path(platformdirs.user_log_dir("tokstudio", appauthor=False)) / "failed-start.txt"


def forget_word() -> None:
    """Removes what an earlier start has left: this one opens the window, or says anew why it does not."""
    with suppress(OSError):
        last_failure_file().unlink(missing_ok=True)


def leave_word(sentence: str, *, lasting: bool = True) -> None:
    """Says it besides where a person finds it who has started by a double click and sees no standard error.

    Args:
        sentence: What to say.
        lasting: Whether it may stand in a file; a box shows it all the same.
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
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"{sentence}\n", encoding="utf-8", errors="backslashreplace")
