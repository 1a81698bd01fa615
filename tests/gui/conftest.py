"""What tests of the window stand on: no window, timer or thread may outlive its test."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QThread
from PySide6.QtWidgets import QApplication


@pytest.fixture(autouse=True)
def no_window_left_behind(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fails a test that leaves a window or a running QThread behind."""
    if "qtbot" in request.fixturenames:
        request.getfixturevalue("qtbot")
    yield
    application = QApplication.instance()
    if not isinstance(application, QApplication):
        return
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    # A sheet names images in a folder that goes with its theme.
    application.setStyleSheet("")
    gc.collect()
    running = [thing for thing in gc.get_objects() if isinstance(thing, QThread) and thing.isRunning()]
    assert not running, f"threads left behind: {running}"
    windows = [widget for widget in application.topLevelWidgets() if widget.isVisible()]
    assert not windows, f"windows left behind: {windows}"
