"""What tests of the dialogs of the Tokenizer menu do with them."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from PySide6.QtCore import Qt

from tests.gui.person import PATIENCE
from tokstudio.gui.dialogs.surgery.works import ChangedTokenizer

GERMAN = "der Hund und die Katze und der Vogel sind im Garten und der Hund bellt. " * 40


def settled(qtbot, dialog):
    def is_settled():
        assert not dialog._job.busy
        assert not dialog._later.isActive()

    qtbot.waitUntil(is_settled, timeout=PATIENCE)


def train_by(qtbot, dialog):
    """Presses the main button, and waits for the end of the training that it begins."""
    with qtbot.waitSignal(dialog.begun, timeout=PATIENCE):
        qtbot.mouseClick(dialog.apply_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: dialog._session.training.current is None, timeout=PATIENCE)


def made_by(qtbot, dialog):
    """Presses the main button, and gives what the dialog hands over."""
    with qtbot.waitSignal(dialog.made, timeout=PATIENCE) as signal:
        qtbot.mouseClick(dialog.apply_button, Qt.MouseButton.LeftButton)
    (changed,) = signal.args
    assert isinstance(changed, ChangedTokenizer)
    return changed
