"""Garbage is collected in the GUI thread only."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import gc
import threading
from collections.abc import Iterator

import pytest
from PySide6.QtCore import QThread
from pytestqt.qtbot import QtBot

from tokstudio.core.base.progress import Progress, Work
from tokstudio.gui.app.process import GarbageCollector
from tokstudio.gui.session.session import Session


@pytest.fixture
def collector() -> Iterator[GarbageCollector]:
    gc.enable()
    made = GarbageCollector()
    yield made
    made.stop()


class _Cycle:
    def __init__(self, seen: list[int]) -> None:
        self.own, self._seen = self, seen

    def __del__(self) -> None:
        self._seen.append(threading.get_ident())


def test_a_job_that_makes_garbage_leaves_it_to_the_gui_thread(
    qtbot: QtBot, session: Session, collector: GarbageCollector
) -> None:
    seen: list[int] = []

    def make_garbage() -> Work[None]:
        assert threading.get_ident() != threading.main_thread().ident
        for _ in range(20_000):
            _Cycle(seen)
        yield Progress("")

    job = session.jobs.start(make_garbage)
    qtbot.waitUntil(lambda: len(seen) >= 10_000, timeout=30_000)
    assert set(seen) == {threading.main_thread().ident}
    assert not job.running
    assert QThread.currentThread().isMainThread()


def test_python_collects_again_after_the_end(qtbot: QtBot) -> None:
    collector = GarbageCollector()
    assert not gc.isenabled()
    collector.stop()
    assert gc.isenabled()
