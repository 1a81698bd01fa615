"""Whatever a person does in the window, nothing goes wrong inside it; `benchmarks/soak_random.py` does more."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import random

import pytest
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication, QToolButton

from tests.gui.person import at_window, quiet
from tests.gui.random_acts import RandomActs, RandomAnswers, small_files
from tokstudio.core.base.errors import TokStudioError
from tokstudio.gui.window.main_window import MainWindow

pytestmark = pytest.mark.usefixtures("unstyled")

_ACTS = 100
_ASKED = ("open_files", "open_folder", "save_file", "text", "show_file", "save_or_not", "confirm")


def is_at_rest(window: MainWindow) -> bool:
    """Whether nothing goes on but a paused training or a dialog, so that the acts are the same each time."""
    session, asked = window.session, QApplication.activeModalWidget() or QApplication.activePopupWidget()
    training = session.training.current
    others = [job for job in session.jobs.running if training is None or job is not training.job]
    return asked is not None or (not others and session.training.state != "running")


@at_window()
def test_random_acts_end_in_no_error_of_the_program(qtbot, tmp_path, window, answers):
    """Errors of slots and warnings of Qt fail any test; those of jobs are looked at here."""
    texts, tokenizers = small_files(tmp_path)
    choice = random.Random(1)
    theirs = RandomAnswers(tmp_path, choice)
    theirs.texts, theirs.tokenizers = texts, tokenizers
    for name in _ASKED:
        setattr(answers, name, getattr(theirs, name))
    failed, done = [], []
    window.session.jobs.failed.connect(failed.append)
    # Others would compile all loops first.
    acts = RandomActs(window, theirs, choice, ["bpe"])

    def go_on() -> None:
        if len(done) >= _ACTS:
            # The loop of a dialog that is still open would end no wait outside it.
            if (left := QApplication.activePopupWidget() or QApplication.activeModalWidget()) is not None:
                QTimer.singleShot(0, go_on)
                left.close()
            return
        # Before the act: a dialog has an event loop of its own, in which the next acts come.
        QTimer.singleShot(0, go_on)
        window.session.training.hurry()
        if is_at_rest(window):
            done.append("")
            done[-1] = acts.act()

    QTimer.singleShot(0, go_on)
    qtbot.waitUntil(lambda: len(done) >= _ACTS)
    window.session.training.stop()
    quiet(qtbot, window)
    for name in _ASKED:
        delattr(answers, name)
    wrong = [one for one in failed if one.error is not None and not isinstance(one.error, TokStudioError)]
    assert not wrong, (wrong, done[-20:])
    buttons = [(button, button.defaultAction()) for button in window.findChildren(QToolButton)]
    assert [shown.text() for shown, of in buttons if of is not None and shown.isEnabled() != of.isEnabled()] == []
