"""The line at the bottom: what goes on, and how the active run stands."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from tokstudio.core.progress import Progress, Work
from tokstudio.gui.latest import Latest
from tokstudio.gui.session import Session
from tokstudio.gui.status_line import StatusLine
from tokstudio.gui.theme import Theme
from tokstudio.gui.training import Settings

PATIENCE = 60_000


@pytest.fixture
def session(qtbot) -> Iterator[Session]:
    made = Session()
    yield made
    made.close()


@pytest.fixture
def line(qtbot, session) -> StatusLine:
    made = StatusLine(session, Theme())
    qtbot.addWidget(made)
    made.show()
    return made


def for_ever() -> Work[None]:
    while True:
        yield Progress("encoding", 1, 4)
        time.sleep(0.002)


def test_it_says_how_the_run_ended_and_what_it_gave(qtbot, session, line):
    session.add_text("the cat sat on the mat " * 50)
    session.set_settings(Settings(vocabulary_size=266))
    session.train()
    qtbot.waitUntil(lambda: session.training is None, timeout=PATIENCE)
    assert line.words.text().endswith(": reached vocabulary size.")
    run = session.active
    assert (
        line.figures.text()
        == f"10 merges    {1150 / run.tokens_at(10):.2f} bytes/token    1,150 → {run.tokens_at(10):,} tokens"
    )
    session.set_playhead(0)
    assert line.figures.text() == "0 merges    1.00 bytes/token    1,150 → 1,150 tokens"


def test_a_long_job_shows_a_bar_and_can_be_cancelled(qtbot, session, line, monkeypatch):
    monkeypatch.setattr("tokstudio.gui.status_line._BAR_AFTER", 0.1)
    job = session.start_job(for_ever)
    qtbot.waitUntil(line.cancel.isVisible)
    assert line.words.text() == "Encoding…"
    assert line.bar.value() == 250
    line.cancel.click()
    qtbot.waitUntil(lambda: not session.jobs)
    assert job.is_cancelled
    assert not line.bar.isVisible()


def test_a_quiet_job_is_not_shown(qtbot, session, line):
    session.start_job(for_ever, quiet=True)
    qtbot.wait(250)
    assert line.words.text() == ""


def test_what_was_cancelled_elsewhere_is_no_longer_waited_for(qtbot, session):
    latest, told = Latest(session), []
    latest.failed.connect(told.append)
    latest.run(for_ever)
    assert latest.busy
    session.jobs[0].cancel()
    qtbot.waitUntil(lambda: bool(told))
    assert not latest.busy
    assert str(told[0]) == "Cancelled."
