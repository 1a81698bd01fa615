"""The export dialog of the active run."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import pytest
from PySide6.QtCore import QCoreApplication
from shiboken6 import isValid

from tokstudio.gui.dialogs.export.dialog import ExportDialog


def settle(qtbot, session):
    """Waits for all jobs, and for Qt to show the lines that they have added."""
    qtbot.waitUntil(lambda: not session.jobs.running)
    QCoreApplication.sendPostedEvents()


@pytest.fixture
def out(tmp_path):
    return tmp_path / "выход one"


@pytest.fixture
def opened(qtbot, session, theme, preferences, answers, out):
    """Opens the dialog for the active run with some formats ticked, and a folder that is not there yet."""
    dialogs = []

    def opened(*formats: str) -> ExportDialog:
        dialog = ExportDialog(session, session.runs.active, formats, theme, preferences, answers)
        dialog.folder.edit.setText(str(out))
        dialogs.append(dialog)
        dialog.open()
        qtbot.waitExposed(dialog)
        qtbot.waitUntil(lambda: dialog.list.known)
        settle(qtbot, session)
        return dialog

    yield opened
    session.close()
    for dialog in dialogs:
        if isValid(dialog):
            dialog.blockSignals(True)
            dialog.close()
            dialog.deleteLater()
