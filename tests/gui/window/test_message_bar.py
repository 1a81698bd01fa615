"""Error messages: one at a time, which disappears when it is no longer true."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from tests.gui.person import PATIENCE, at_the_window
from tokstudio.core.base.errors import CorpusError
from tokstudio.gui.state.problems import Problem
from tokstudio.gui.state.training_settings import Settings
from tokstudio.gui.window.message_bar import MessageBar

pytestmark = pytest.mark.usefixtures("unstyled")

TRAINING = Problem("The corpus is too large for the memory.", of_training=True)
FILE = Problem("merges.json: the file cannot be written.", CorpusError("merges.json"))


@pytest.fixture
def bar(qtbot, theme, show):
    host = QWidget()
    show(host, 900, 400)
    return MessageBar(theme, host)


def test_a_newer_message_replaces_the_older_and_lists_it(bar):
    bar.show_problem(FILE)
    bar.show_problem(TRAINING)
    bar.show_problem(TRAINING)
    assert bar.text.text() == TRAINING.text
    bar.details_button.click()
    assert bar.details.toPlainText() == f"Earlier: {FILE.text}"
    bar.close_button.click()
    assert not bar.isVisible()
    bar.show_problem(TRAINING)
    assert not bar.details_button.isVisible(), "what was closed is not told again"


def test_other_settings_hide_only_the_error_of_a_training(bar):
    bar.show_problem(FILE)
    bar.clear_of_training()
    assert bar.isVisible()
    bar.show_problem(TRAINING)
    bar.clear_of_training()
    assert not bar.isVisible()


def test_a_message_is_hidden_by_escape_and_without_its_cause(qtbot, monkeypatch):
    def act(window, answers):
        session, messages = window.session, window.messages
        session.jobs.failed.emit(FILE)
        qtbot.keyClick(window.configure.size_field.number, Qt.Key.Key_Escape)
        assert not messages.isVisible()

        session.jobs.failed.emit(TRAINING)
        session.training.set_settings(Settings(270, None))
        assert not messages.isVisible()

        session.jobs.failed.emit(FILE)
        session.corpus.add_text("the cat sat on the mat " * 50)
        assert messages.isVisible(), "another corpus makes no file writable"
        session.training.start()
        assert not messages.isVisible()
        qtbot.waitUntil(lambda: session.training.current is None, timeout=PATIENCE)

    assert at_the_window(monkeypatch, act) == 0


def test_a_message_stays_while_the_window_loads_its_compiled_loops(qtbot, monkeypatch):
    def act(window, answers):
        with qtbot.waitSignal(window.session.jobs.busy_changed, timeout=PATIENCE):
            window.session.jobs.failed.emit(FILE)
        assert window.messages.isVisible()

    assert at_the_window(monkeypatch, act) == 0
