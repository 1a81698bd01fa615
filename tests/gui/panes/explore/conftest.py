"""The Explore pane without the rest of the window."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtWidgets import QDockWidget
from pytestqt.qtbot import QtBot

from tests.gui.conftest import Actions
from tests.gui.person import at_rest, quiet
from tokstudio.core.base.progress import finish
from tokstudio.core.corpus.source import Source
from tokstudio.gui.panes.explore.pane import ExplorePane
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.training_settings import Settings
from tokstudio.gui.style.theme import Theme


class Explored:
    """The pane, its session, and what a person does with both."""

    def __init__(self, qtbot: QtBot, session: Session, pane: ExplorePane, folder: Path) -> None:
        self._qtbot, self._folder = qtbot, folder
        self.session, self.pane = session, pane

    @property
    def page(self):
        return self.pane.page

    def settle(self) -> None:
        """Waits until the pages follow the run and the playhead, and this one has all that it asked for."""
        self._qtbot.wait(20)
        session = self.session
        at_rest(self._qtbot, session.exploring)
        self._qtbot.waitUntil(lambda: not (self.page.busy or session.jobs.running or session.training.busy))

    def train(self, *sources: Source, **settings: object) -> None:
        """Trains on some texts."""
        self.session.corpus.set_sources(sources)
        self.session.training.set_settings(Settings(**settings))
        quiet(self._qtbot, self)
        self.session.training.start()
        quiet(self._qtbot, self)

    def turn_to(self, part: str):
        """Turns to a page, and gives it with its answer."""
        self.pane.arrive(part)
        self.settle()
        return self.page

    def written(self) -> list[dict[str, str]]:
        """The table that the page writes."""
        path = self._folder / "table.csv"
        finish(self.session.exploring.table.write(path))
        with path.open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))


@pytest.fixture
def explored(
    qtbot: QtBot,
    session: Session,
    theme: Theme,
    actions: Actions,
    dock: Callable[[QDockWidget, int, int], None],
    tmp_path: Path,
) -> Explored:
    pane = ExplorePane(session, theme, actions)
    dock(pane, 1000, 700)
    return Explored(qtbot, session, pane, tmp_path)
