"""The Compare pane, on screen."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtWidgets import QDockWidget

from tests.gui.conftest import Actions
from tokstudio.gui.panes.compare.pane import ComparePane
from tokstudio.gui.session.session import Session
from tokstudio.gui.style.theme import Theme


@pytest.fixture
def pane(
    session: Session, theme: Theme, actions: Actions, dock: Callable[[QDockWidget, int, int], None]
) -> ComparePane:
    made = ComparePane(session, theme, actions)
    dock(made, 1000, 500)
    return made
