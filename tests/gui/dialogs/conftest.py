"""Opens dialogs, and closes them with the test."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog
from pytestqt.qtbot import QtBot

from tests.gui.person import Answers
from tokstudio.gui.session.preferences import Preferences


@pytest.fixture
def answers() -> Answers:
    """What is answered in the dialogs of files."""
    return Answers()


@pytest.fixture
def preferences(tmp_path: Path) -> Preferences:
    """Preferences in a file of the test."""
    return Preferences(tmp_path / "settings.ini")


@pytest.fixture
def opened(qtbot: QtBot) -> Iterator[Callable[[QDialog], QDialog]]:
    """Shows a dialog."""
    shown: list[QDialog] = []

    def opened(dialog: QDialog) -> QDialog:
        qtbot.addWidget(dialog)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
        shown.append(dialog)
        dialog.show()
        qtbot.waitExposed(dialog)
        return dialog

    yield opened
    for dialog in shown:
        dialog.close()
