"""A text on which Picky BPE removes tokens, and the settings for it."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from pytestqt.qtbot import QtBot

from tokstudio.core.base.resources import sample_text
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.state.training_settings import Settings

TEXT = sample_text("article")[:6000]
SETTINGS = Settings(400, pattern="gpt2", algorithm="picky", threshold=0.4)


def trained(qtbot: QtBot, session: Session, settings: Settings = SETTINGS) -> StudioRun:
    """A run that was trained in the session, with removals."""
    if not session.corpus.sources:
        session.corpus.add_text(TEXT, "en")
    session.training.set_settings(settings)
    qtbot.waitUntil(lambda: session.training.obstacle is None)
    session.training.start()
    qtbot.waitUntil(lambda: session.training.current is None and not session.jobs.running)
    run = session.runs.active
    assert run is not None
    assert run.log.removals is not None
    return run
