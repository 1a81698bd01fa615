"""A window that is changed a part at a time is painted again, whatever happens meanwhile."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtWidgets import QDockWidget, QLabel, QMainWindow

from tests.gui.person import PATIENCE, TEXT, at_the_window
from tokstudio.gui.state.training_settings import Settings
from tokstudio.gui.window.sliced_updates import Turns


class Paints(QObject):
    """Counts how often something is painted."""

    def __init__(self, watched: QObject) -> None:
        super().__init__(watched)
        self.count = 0
        watched.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        self.count += event.type() == QEvent.Type.Paint
        return False


@pytest.fixture
def window(qtbot) -> QMainWindow:
    made = QMainWindow()
    made.setCentralWidget(QLabel("text"))
    qtbot.addWidget(made)
    made.show()
    qtbot.waitExposed(made)
    return made


def test_pieces_are_done_in_order_and_then_all_is_painted(qtbot, window):
    turns, done = Turns(window), []
    pieces = [QObject(window) for _ in range(3)]

    def doing(number: int) -> Callable[[], None]:
        return lambda: done.append(number)

    paints = Paints(window.centralWidget())
    turns.begin({piece: doing(number) for number, piece in enumerate(pieces)})
    turns.begin({pieces[1]: doing(7)})
    window.centralWidget().update()
    assert not done
    assert not window.updatesEnabled()
    qtbot.waitUntil(window.updatesEnabled, timeout=PATIENCE)
    assert done == [0, 2, 7]
    before = paints.count
    assert before
    window.centralWidget().update()
    qtbot.waitUntil(lambda: paints.count > before, timeout=PATIENCE)


def test_after_a_piece_that_fails_the_others_are_done_and_all_is_painted(qtbot, window):
    turns, done = Turns(window), []

    def fail() -> None:
        raise ValueError("a piece")

    paints = Paints(window.centralWidget())
    with qtbot.captureExceptions() as errors:
        turns.begin({QObject(window): fail, QObject(window): lambda: done.append("other")})
        qtbot.waitUntil(window.updatesEnabled, timeout=PATIENCE)
    assert [str(error[1]) for error in errors] == ["a piece"]
    assert done == ["other"]
    assert paints.count


def test_a_dock_that_becomes_a_window_meanwhile_is_painted(qtbot, window):
    dock = QDockWidget("Pane", window)
    dock.setWidget(QLabel("text"))
    window.addDockWidget(Qt.DockWidgetArea.LeftDockWidgetArea, dock)
    turns, paints = Turns(window), Paints(dock.widget())
    turns.begin({QObject(window): lambda: dock.setFloating(True)})
    qtbot.waitUntil(window.updatesEnabled, timeout=PATIENCE)
    before = paints.count
    dock.widget().update()
    qtbot.waitUntil(lambda: paints.count > before, timeout=PATIENCE)


def test_a_pane_that_a_layout_makes_a_window_of_its_own_is_painted(qtbot, monkeypatch):
    def act(window, answers):
        pane = window.text
        pane.setFloating(True)
        layout = window.arrangement()
        window.reset_layout()
        qtbot.waitUntil(window.updatesEnabled, timeout=PATIENCE)
        assert not pane.isFloating()
        window.arrange(layout)
        assert pane.isFloating()
        paints = Paints(pane.widget())
        qtbot.waitUntil(lambda: paints.count > 0 and pane.updatesEnabled(), timeout=PATIENCE)

    assert at_the_window(monkeypatch, act) == 0


def test_after_another_size_of_text_everything_has_the_measures_of_that_size(qtbot, monkeypatch):
    def act(window, answers):
        session = window.session
        session.corpus.add_text(TEXT)
        session.training.set_settings(Settings(270))
        session.training.start()
        qtbot.waitUntil(lambda: session.training.current is None and not session.jobs.running, timeout=PATIENCE)
        window.merges.raise_()
        buttons, figures, rows = window.text._toggles, window.status.figures, window.merges.table.verticalHeader()

        def measures():
            qtbot.waitUntil(window.updatesEnabled, timeout=PATIENCE)
            return [button.isVisible() for button in buttons], figures.text(), rows.defaultSectionSize()

        before = measures()
        for _ in range(5):
            window.actions_by_id["text_larger"].trigger()
            measures()
            assert figures.width() >= figures.sizeHint().width(), "no figure is cut"
        assert measures() != before
        window.actions_by_id["theme_dark"].trigger()
        measures()
        window.actions_by_id["text_reset"].trigger()
        assert measures() == before

    assert at_the_window(monkeypatch, act) == 0
