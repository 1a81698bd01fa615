"""The stored settings of the window, in one file with an explicit path.

By default, `QSettings` would write to the registry or to a folder that tests cannot redirect.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from pathlib import Path
from typing import Any, Generic, TypeVar

import platformdirs
from PySide6.QtCore import QByteArray, QObject, QSettings, Signal

from tokstudio.core.base.errors import TokStudioError
from tokstudio.core.base.records import dataclass
from tokstudio.core.model.settings import TIE_RULES
from tokstudio.core.pretokenization.patterns import NAMES

T = TypeVar("T", bool, int, str)

_MOST_RECENT = 8
_TEXTS = ("text", "bytes", "plain")


@dataclass(frozen=True)
class Preference(Generic[T]):
    """A preference; the preferences dialog is built from these."""

    key: str  # its name in the file
    group: str  # the title of its group in the dialog
    label: str
    help: str  # one line
    default: T  # the value if the file has no valid one; its type is the type of all values
    choices: tuple[tuple[str, str], ...] = ()  # the allowed values with their names; () if all of the type are allowed
    least: int = 0
    most: int = 0
    suffix: str = ""  # the unit of a number
    least_name: str = ""  # the text in place of the least value, if that has a special meaning
    font: str = ""  # the families to choose from, "any" or "fixed"; "" if it is no font. The value "": the system font

    def allows(self, value: object) -> bool:
        """Whether a value is allowed."""
        if type(value) is not type(self.default):
            return False
        if isinstance(value, int) and not isinstance(value, bool):
            return self.least <= value <= self.most
        return not self.choices or value in dict(self.choices)


_NEW = "New training"
_LOOKS = "Appearance"
_WORK = "Work"
_PATTERNS = tuple((name, name) for name in NAMES)
_TIE_RULES = tuple((rule, name) for rule, (name, _) in TIE_RULES.items())
_THEMES = (("system", "Follow system"), ("light", "Light"), ("dark", "Dark"))
DEFAULT_PATTERN = Preference(
    "default_pattern", _NEW, "Pre-tokens (pattern)", "How text is split into pre-tokens.", "none", choices=_PATTERNS
)
_AT_START = "Used at the first start and by Reset in Configure."
DEFAULT_SIZE = Preference(
    "default_vocabulary_size", _NEW, "Vocabulary size", _AT_START, 1000, least=1, most=2_000_000_000
)
_SAME_COUNT = "Which pair is merged first when several have the same count."
DEFAULT_TIES = Preference("default_tie_break", _NEW, "Tie rule", _SAME_COUNT, "first", choices=_TIE_RULES)
THEME = Preference("theme", _LOOKS, "Theme", "Light, dark, or as the system is.", "system", choices=_THEMES)
_NORMAL = "The size of normal text; other texts scale with it."
TEXT_SIZE = Preference("text_size", _LOOKS, "Text size", _NORMAL, 13, least=9, most=40, suffix=" px")
INTERFACE_FONT = Preference(
    "interface_font", _LOOKS, "Interface font", "For everything except tokens and bytes.", "", font="any"
)
MONOSPACE_FONT = Preference("monospace_font", _LOOKS, "Token font", "For tokens and bytes.", "", font="fixed")
_COUNTERS = "How many count pre-tokens before a training. The result is the same."
THREADS = Preference("threads", _WORK, "Threads for counting", _COUNTERS, 0, most=64, least_name="Automatic")
AUTOSAVE = Preference(
    "autosave", _WORK, "Keep copies of unsaved work", "Offered after a crash. A training is recorded in any case.", True
)
AUTOSAVE_SECONDS = Preference(
    "autosave_seconds", _WORK, "Time between copies", "If something has changed.", 60, least=10, most=3600, suffix=" s"
)
_LOST = "Without the question, runs that are not saved or exported are lost."
ASK_BEFORE_CLOSING = Preference("ask_before_closing", _WORK, "Ask before closing with unsaved runs", _LOST, True)
ENTRIES: tuple[Preference[Any], ...] = (
    *(DEFAULT_PATTERN, DEFAULT_SIZE, DEFAULT_TIES),
    *(THEME, TEXT_SIZE, INTERFACE_FONT, MONOSPACE_FONT),
    *(THREADS, AUTOSAVE, AUTOSAVE_SECONDS, ASK_BEFORE_CLOSING),
)
_BY_KEY: dict[str, Preference[Any]] = {entry.key: entry for entry in ENTRIES}


def settings_file() -> Path:
    """The file in the user's configuration folder."""
    return Path(platformdirs.user_config_dir("tokstudio", appauthor=False)) / "settings.ini"


def reset_settings() -> None:
    """Resets all settings; the old file is renamed to `settings.ini.old`.

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


class Preferences(QObject):
    """Typed values by name; a value of another type, or one that its `Preference` does not allow, counts as missing.

    They are in the file `path`, or `settings_file`.
    """

    changed = Signal(str)  # the value of one of `ENTRIES`: its key

    def __init__(self, path: Path | None = None) -> None:
        super().__init__()
        self.file = path or settings_file()
        self._store = QSettings(str(self.file), QSettings.Format.IniFormat)

    def get(self, key: str, default: T) -> T:
        """The value under `key`, of the type of `default`."""
        try:
            value = self._store.value(key, default, type=type(default))
        except (TypeError, ValueError):
            return default
        entry = _BY_KEY.get(key)
        if not isinstance(value, type(default)) or (entry is not None and not entry.allows(value)):
            return default
        return value

    def of(self, entry: Preference[T]) -> T:
        """The value of one of `ENTRIES`."""
        return self.get(entry.key, entry.default)

    def set(self, key: str, value: bool | int | str) -> None:
        """Stores a value."""
        entry = _BY_KEY.get(key)
        before = self.of(entry) if entry is not None else value
        self._store.setValue(key, value)
        if entry is not None and self.of(entry) != before:
            self.changed.emit(key)

    def bytes(self, key: str) -> QByteArray:
        """A value of bytes, such as the layout of a window; empty if missing."""
        value = self._store.value(key)
        return value if isinstance(value, QByteArray) else QByteArray()

    def set_bytes(self, key: str, value: QByteArray) -> None:
        """Stores a value of bytes."""
        self._store.setValue(key, value)

    @property
    def folder(self) -> Path:
        """The folder of the last opened or written file, at first the user's home folder. Always absolute."""
        folder = Path(self.get("folder", ""))
        return folder if folder.is_absolute() else Path.home()

    @folder.setter
    def folder(self, folder: Path) -> None:
        self.set("folder", str(folder.absolute()))

    @property
    def texts_folder(self) -> Path:
        """The folder of the last opened texts; `folder` before that."""
        folder = Path(self.get("texts_folder", ""))
        return folder if folder.is_absolute() else self.folder

    def keep_texts_folder(self, folder: Path) -> None:
        """Stores a folder as `texts_folder` and as `folder`."""
        self.folder = folder
        self.set("texts_folder", str(folder.absolute()))

    @property
    def recent(self) -> list[tuple[Path, str]]:
        """Recently opened files and folders with their kinds, the latest first."""
        lines = (line.rpartition("\t") for line in self.get("recent", "").split("\n") if line)
        return [(Path(path), kind or "text") for kind, _, path in lines]

    def add_recent(self, paths: list[Path], kind: str) -> None:
        """Puts paths first in the list.

        `kind` is "text", "bytes", "plain" (text), "tokenizer", "name", "project" or "experiment".
        """
        # The list is stored as lines, so a name with a line break is not possible.
        entries = [(path if kind == "name" else path.absolute(), kind) for path in paths if "\n" not in str(path)]
        # A file opened first as text and then as bytes is listed once, with the last kind.
        places = {path for path, _ in entries} if kind in _TEXTS else set[Path]()
        others = ((path, kind) for path, kind in self.recent if kind not in _TEXTS or path not in places)
        lines = [f"{kind}\t{path}" for path, kind in dict.fromkeys([*entries, *others])]
        self.set("recent", "\n".join(lines[:_MOST_RECENT]))

    def forget_recent(self) -> None:
        """Empties the list of recent files."""
        self.set("recent", "")

    def flush(self) -> None:
        """Writes the changes; does not fail if the folder is not writable."""
        self._store.sync()
