"""Changes of theme, text size and layout update everything measured by them."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QApplication

from tests.gui.person import PATIENCE, TEXT, at_the_window
from tokstudio.gui.state.training_settings import Settings
from tokstudio.gui.style.theme import BODY_PIXELS


class Paints(QObject):
    """Counts how often something is painted."""

    def __init__(self, watched: QObject) -> None:
        super().__init__(watched)
        self.count = 0
        watched.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        self.count += event.type() == QEvent.Type.Paint
        return False


def test_a_change_of_theme_and_a_pane_made_floating_by_a_layout_are_painted(qtbot, monkeypatch):
    def act(window, answers):
        pane = window.text
        qtbot.wait(50)
        paints = Paints(pane)
        window.actions_by_id["theme_dark"].trigger()
        qtbot.waitUntil(lambda: paints.count > 0, timeout=PATIENCE)
        pane.setFloating(True)
        layout = window.arrangement()
        window.reset_layout()
        assert not pane.isFloating()
        window.arrange(layout)
        assert pane.isFloating()
        paints = Paints(pane.widget())
        qtbot.waitUntil(lambda: paints.count > 0, timeout=PATIENCE)

    assert at_the_window(monkeypatch, act) == 0


def test_a_change_of_text_size_updates_every_measure(qtbot, monkeypatch):
    def act(window, answers):
        session = window.session
        session.corpus.add_text(TEXT)
        session.training.set_settings(Settings(270))
        session.training.start()
        qtbot.waitUntil(lambda: session.training.current is None and not session.jobs.running, timeout=PATIENCE)
        window.merges.raise_()
        buttons, figures, rows = window.text._toggles, window.status.figures, window.merges.table.verticalHeader()

        def measures():
            QApplication.processEvents()
            return [button.isVisible() for button in buttons], figures.text(), rows.defaultSectionSize()

        before = measures()
        larger = window.actions_by_id["text_larger"].trigger
        for enlarge in (larger, lambda: window._preferences.set("text_size", BODY_PIXELS + 5)):
            enlarge()
            measures()
            assert figures.width() >= figures.sizeHint().width(), "no figure is cut"
        assert measures() != before
        window.actions_by_id["theme_dark"].trigger()
        measures()
        window.actions_by_id["text_reset"].trigger()
        assert measures() == before

    assert at_the_window(monkeypatch, act) == 0


def test_a_problem_of_the_corpus_does_not_widen_its_column(qtbot, monkeypatch):
    def act(window, answers):
        window.resize(1440, 870)
        for name in ("learn", "train"):
            window.show_workspace(name)
            qtbot.wait(100)
        width = window.corpus.width()
        QApplication.clipboard().clear()
        window.actions_by_id["paste_corpus"].trigger()
        assert window.corpus.problems.problems == ("The clipboard has no text.",)
        qtbot.wait(100)
        assert window.corpus.width() == width

    assert at_the_window(monkeypatch, act) == 0
