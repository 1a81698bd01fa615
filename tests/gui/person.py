"""A person at the window: starts the program as the command line does, acts, and closes it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from string import Formatter
from typing import Any

import pytest
from PySide6.QtCore import QMimeData, QObject, QPointF, Qt, QTimer, QUrl, SignalInstance
from PySide6.QtGui import QDropEvent
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from tokstudio.cli import main
from tokstudio.gui.dialogs.corpus_import.dialog import ImportDialog
from tokstudio.gui.dialogs.export.dialog import ExportDialog
from tokstudio.gui.session.common.jobs import Pauses
from tokstudio.gui.session.preferences import Preferences
from tokstudio.gui.session.training.training import Settings
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.window.main_window import MainWindow
from tokstudio.gui.window.workspaces import TRAIN

PATIENCE = 60_000  # milliseconds; the first training of a test run compiles
#: As a person has them are messages, the bar of a job, and the forecast, which trains once more before most trainings.
_SHORT = ("training", "painted", "compared", "dialogs", "moves", "merge", "changes", "live", "filtered", "facts")
PAUSES = replace(Pauses(), **dict.fromkeys((*_SHORT, "resized", "updates", "keys", "weights"), 5))
TEXT = "the cat sat on the mat and the rat sat on the cat. " * 40


class Answers:
    """Stands in for the dialogs: gives the answers it was told, and remembers what was asked."""

    def __init__(self) -> None:
        self.files: list[Path] = []
        self.folder: Path | None = None
        self.target: Path | None = None
        self.line: str | None = None
        self.yes = True
        self.save = False
        self.can_show = True
        self.asked: list[str] = []
        self.shown: list[Path] = []

    def open_files(self, title: str, folder: Path, filters: str = "") -> list[Path]:
        self.asked.append(title)
        return self.files

    def open_folder(self, title: str, folder: Path) -> Path | None:
        self.asked.append(title)
        return self.folder

    def save_file(self, title: str, suggestion: Path, filters: str) -> Path | None:
        self.asked.append(title)
        return self.target

    def text(self, title: str, label: str, value: str) -> str | None:
        self.asked.append(title)
        return self.line

    def show_file(self, path: Path) -> bool:
        self.shown.append(path)
        return self.can_show

    def save_or_not(self, title: str, question: Callable[[], str], changed: SignalInstance) -> str | None:
        self.asked.append(question())
        return "save" if self.save else "discard" if self.yes else None

    def confirm(self, title: str, text: str, verb: str, over: SignalInstance | None = None) -> bool:
        self.asked.append(text)
        return self.yes


def quiet(qtbot: QtBot, window: MainWindow) -> None:
    """Waits until nothing trains and no job runs; what is played goes on at full speed."""
    window.session.training.hurry()
    qtbot.waitUntil(lambda: window.session.training.current is None and not window.session.jobs.running)


def at_rest(qtbot: QtBot, *parts: QObject) -> None:
    """Waits until no timer of these parts of the window will change them any more."""
    qtbot.waitUntil(
        lambda: (
            not any(timer.isActive() and timer.isSingleShot() for part in parts for timer in part.findChildren(QTimer))
        )
    )


def asked_to_import(qtbot: QtBot, window: MainWindow) -> ImportDialog:
    """Waits until the window asks how a data set is read."""
    found: list[ImportDialog] = []

    def is_there() -> bool:
        found[:] = [dialog for dialog in window.findChildren(ImportDialog) if dialog.isVisible()]
        return bool(found)

    qtbot.waitUntil(is_there)
    return found[0]


def trained(qtbot: QtBot, window: MainWindow, size: int = 300) -> StudioRun:
    """Trains to a vocabulary size on what is open, and gives the run."""
    session = window.session
    qtbot.waitUntil(lambda: session.training.obstacle is None)
    session.training.set_settings(Settings(size))
    window.actions_by_id["train"].trigger()
    quiet(qtbot, window)
    assert session.runs.active is not None
    return session.runs.active


def export(qtbot: QtBot, window: MainWindow, name: str, folder: Path) -> None:
    """Exports the active run to a folder in one format, by its entry in the menu, and closes the dialog."""
    window.actions_by_id[f"export_{name}"].trigger()
    dialog = next(dialog for dialog in window.findChildren(ExportDialog) if dialog.isVisible())
    dialog.folder.edit.selectAll()
    qtbot.keyClicks(dialog.folder.edit, str(folder))
    qtbot.waitUntil(dialog.export_button.isEnabled)
    qtbot.mouseClick(dialog.export_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: dialog.close_button.text() == "Close")
    qtbot.mouseClick(dialog.close_button, Qt.MouseButton.LeftButton)
    assert not dialog.isVisible()


def drop(window: QWidget, *paths: Path) -> None:
    """Drops files on a window."""
    data = QMimeData()
    # The name of a file need not be text.
    data.setUrls([QUrl.fromEncoded(path.as_uri().encode()) for path in paths])
    left, none = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    window.dropEvent(QDropEvent(QPointF(10, 10), Qt.DropAction.CopyAction, data, left, none))


def at_the_window(
    monkeypatch: pytest.MonkeyPatch,
    act: Callable[[MainWindow, Answers], None],
    arguments: list[str] | None = None,
    *,
    ever_first: bool = False,
) -> int:
    """Runs `tokstudio ARGUMENTS`, lets `act` do things, closes the window, and gives the exit code.

    It begins in the workspace Train, or where `ever_first`, as the very first start does.
    """
    answers, preferences = Answers(), Preferences()
    if not ever_first and not preferences.file.exists():
        preferences.set("workspace", TRAIN)
        preferences.flush()
    monkeypatch.setattr("tokstudio.gui.window.main_window.Choosers", lambda window: answers)
    failures: list[BaseException] = []

    def go() -> None:
        window = next(widget for widget in QApplication.topLevelWidgets() if isinstance(widget, MainWindow))
        try:
            act(window, answers)
        except BaseException as failure:  # carried to the test, which is not on this stack
            failures.append(failure)
        finally:
            answers.yes, answers.save = True, False
            window.close()

    QTimer.singleShot(0, go)
    code = main(arguments or [])
    if failures:
        raise failures[0]
    return code


def at_window(*arguments: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Makes a test that takes `window`, and perhaps `answers`: it runs while `tokstudio ARGUMENTS` shows that window.

    The other parameters are fixtures, which arguments may name: "{book}".
    """
    named = [field.partition("[")[0] for text in arguments for _, field, _, _ in Formatter().parse(text) if field]

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        own = list(signature(test).parameters)

        @wraps(test)
        def run(**fixtures: Any) -> None:
            def act(window: MainWindow, answers: Answers) -> None:
                given = fixtures | {"window": window, "answers": answers}
                test(**{name: given[name] for name in own})

            assert at_the_window(fixtures["monkeypatch"], act, [text.format(**fixtures) for text in arguments]) == 0

        names = dict.fromkeys([*own, *named, "monkeypatch"])
        fixtures = [Parameter(name, Parameter.KEYWORD_ONLY) for name in names if name not in ("window", "answers")]
        run.__signature__ = Signature(fixtures)  # type: ignore[attr-defined]
        return run

    return decorate
