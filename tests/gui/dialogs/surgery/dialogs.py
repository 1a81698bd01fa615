"""What tests of the dialogs of the Tokenizer menu do with them."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from PySide6.QtCore import Qt

from tokstudio.gui.dialogs.surgery.works import ChangedTokenizer

GERMAN = "der Hund und die Katze und der Vogel sind im Garten und der Hund bellt. " * 40


def settled(qtbot, dialog):
    """Waits until the dialog says neither that it computes the effect nor that it works."""
    qtbot.waitUntil(lambda: not dialog.note.text().endswith("…"))


def train_by(qtbot, session, dialog):
    """Presses the main button, and waits for the end of the training that it begins."""
    with qtbot.waitSignal(dialog.begun):
        qtbot.mouseClick(dialog.apply_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: session.training.current is None)


def made_by(qtbot, dialog):
    """Presses the main button, and gives what the dialog hands over."""
    with qtbot.waitSignal(dialog.made) as signal:
        qtbot.mouseClick(dialog.apply_button, Qt.MouseButton.LeftButton)
    (changed,) = signal.args
    assert isinstance(changed, ChangedTokenizer)
    return changed
