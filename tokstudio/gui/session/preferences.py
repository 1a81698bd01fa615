"""What the window remembers between two starts, in one file whose place is said explicitly.

`QSettings` alone would write to the registry or a place that tests cannot redirect.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from pathlib import Path
from typing import NamedTuple, TypeVar

import platformdirs
from PySide6.QtCore import QByteArray, QSettings

from tokstudio.core.base.errors import TokStudioError

T = TypeVar("T", bool, int, str)

_MOST_RECENT = 8
_TEXTS = ("text", "bytes")


class Recent(NamedTuple):
    """A file or folder that was opened, and as what."""

    path: Path
    kind: str


def settings_file() -> Path:
    """The file in the person's own configuration folder."""
    return Path(platformdirs.user_config_dir("tokstudio", appauthor=False)) / "settings.ini"


def reset_settings() -> None:
    """Forgets all settings; those of before are kept beside their file as `settings.ini.old`.

    Raises:
        TokStudioError: The file cannot be moved.
    """
    file = settings_file()
    try:
        file.replace(file.with_name(file.name + ".old"))
    except FileNotFoundError:
        return
    except OSError as error:
        raise TokStudioError(f"{file}: the settings cannot be reset: {error.strerror or error}.") from error


class Preferences:
    """Typed values by name; a value that cannot be read as its type counts as not there.

    Args:
        path: The file; None for `settings_file`.

    Attributes:
        file: The file.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.file = path or settings_file()
        self._store = QSettings(str(self.file), QSettings.Format.IniFormat)

    def get(self, key: str, default: T) -> T:
        """The value under `key`, of the type of `default`."""
        try:
            value = self._store.value(key, default, type=type(default))
        except (TypeError, ValueError):
            return default
        return value if isinstance(value, type(default)) else default

    def set(self, key: str, value: bool | int | str) -> None:
        """Keeps a value."""
        self._store.setValue(key, value)

    def bytes(self, key: str) -> QByteArray:
        """A block of bytes, such as the layout of a window; empty if it is not there."""
        value = self._store.value(key)
        return value if isinstance(value, QByteArray) else QByteArray()

    def set_bytes(self, key: str, value: QByteArray) -> None:
        """Keeps a block of bytes."""
        self._store.setValue(key, value)

    @property
    def folder(self) -> Path:
        """Where files were opened or written last; the person's own folder before that. Always absolute."""
        folder = Path(self.get("folder", ""))
        return folder if folder.is_absolute() else Path.home()

    @folder.setter
    def folder(self, folder: Path) -> None:
        self.set("folder", str(folder.absolute()))

    @property
    def recent(self) -> list[Recent]:
        """What was opened lately, the latest first."""
        lines = (line.rpartition("\t") for line in self.get("recent", "").split("\n") if line)
        return [Recent(Path(path), kind or "text") for kind, _, path in lines]

    def add_recent(self, paths: list[Path], kind: str) -> None:
        """Puts paths first among the recent ones, as what they were opened: "text", "bytes", "tokenizer", "project"."""
        # They are kept as lines, which a name with a break would tear apart.
        known = [Recent(path.absolute(), kind) for path in paths if "\n" not in str(path)]
        # A file that turned out to be binary is there once, as what it was opened last.
        places = {entry.path for entry in known} if kind in _TEXTS else set[Path]()
        others = (entry for entry in self.recent if entry.kind not in _TEXTS or entry.path not in places)
        entries = dict.fromkeys([*known, *others])
        lines = [f"{entry.kind}\t{entry.path}" for entry in entries]
        self.set("recent", "\n".join(lines[:_MOST_RECENT]))

    def forget_recent(self) -> None:
        """Empties the list of recent files."""
        self.set("recent", "")

    def flush(self) -> None:
        """Writes what has changed; a folder that cannot be written to is no reason to fail."""
        self._store.sync()
