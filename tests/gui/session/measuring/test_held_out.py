"""Held-out text: its curve, the savings of merges on it, and when it is measured."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QToolButton

from tests.gui.conftest import alone
from tests.gui.person import PAUSES
from tokstudio.core.analysis.token_counts import measure_work
from tokstudio.core.base.progress import Progress, finish
from tokstudio.core.base.resources import sample_text
from tokstudio.core.corpus.sampling import hold_out_work
from tokstudio.gui.panes.compression.curves import saved_by_each
from tokstudio.gui.panes.compression.pane import CompressionPane
from tokstudio.gui.session.availability import cannot_measure_held_out
from tokstudio.gui.session.training.training import Settings
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.widgets.labels import plain

pane = alone(CompressionPane, 760, 380)


def trained(qtbot, session, **settings):
    if not session.corpus.sources:
        session.corpus.add_text(sample_text("article"))
    session.training.set_settings(Settings(**{"vocabulary_size": 900, "held_out": 0.25, "pattern": "gpt2", **settings}))
    session.training.start()
    qtbot.waitUntil(lambda: session.training.current is None)
    qtbot.waitUntil(lambda: not session.jobs.running)
    return session.runs.active


def choose(pane, words):
    next(action for action in pane.menu.actions() if action.text() == words).trigger()


def texts(legend):
    return [button.text() for button in legend.findChildren(QToolButton) if button.isVisibleTo(legend)]


def measured(run, corpus, merges):
    _, held_out = finish(hold_out_work(corpus.sources, run.config.held_out))
    return finish(measure_work(run.tokenizer.at(merges), held_out, run.config))


def test_its_curve_and_the_savings_of_merges_equal_encoding_it_and_fit_in_any_pane(qtbot, session, pane, theme):
    run = trained(qtbot, session)
    assert texts(pane.legend) == ["Run 1", "held-out"]
    drawn = pane.plot.content.curves[(run.key, "held-out")]
    assert drawn.role == "active held-out"
    assert drawn.pen(theme.palette).dashPattern()
    for merges in (0, 1, 100, len(run)):
        anew = measured(run, session.corpus.current, merges)
        assert drawn.y[merges] == pytest.approx(anew.bytes_per_token)
        session.view.set_playhead(merges)
        told = pane.plot.accessibleDescription()
        sign = "†" if merges else ""
        assert told.endswith(
            f"{sign}{run.bytes_per_token(merges):.2f} bytes per token · held-out {anew.bytes_per_token:.2f}"
        )
    session.view.set_playhead(0)
    curve = pane.plot.content.curves[run.key]
    held_out = run.held_out_bytes_per_token(200)
    words = pane.plot.reading(curve, 200.0, float(curve.y[200]))
    assert words == f"200 merges · †{curve.y[200]:.2f} bytes per token · held-out {held_out:.2f}"
    session.view.set_playhead(len(run))
    assert pane.remark.isHidden()
    choose(pane, "Saved by a merge")
    first, last = measured(run, session.corpus.current, 0), measured(run, session.corpus.current, len(run))
    share = 1 - last.tokens / first.tokens
    own = 1 - run.log.tokens_at(len(run)) / run.log.tokens_before
    told = pane.remark.text().replace("\u00a0", " ")
    assert told.startswith(f"All {len(run):,} merges saved {100 * share:.1f} % of the held-out tokens, ")
    assert f" {100 * own:.1f} % of those trained on. " in told
    session.view.set_playhead(1)
    assert pane.remark.text().startswith("The first merge saved ")
    choose(pane, "Bytes per token")
    assert pane.remark.isHidden()
    assert not pane.log.isChecked(), "each view has scales of its own"
    choose(pane, "Saved by a merge")
    assert pane.log.isChecked(), "the last merges save so little that only log scales show them"
    drawn, held_out = pane.plot.content.curves[run.key], pane.plot.content.curves[(run.key, "held-out")]
    assert drawn.x[0] == 1
    before, after = measured(run, session.corpus.current, 540), measured(run, session.corpus.current, 600)
    by_hand = (before.tokens - after.tokens) / 60 / before.bytes * 1e6
    assert held_out.y[599] == pytest.approx(2 * by_hand), "two bytes an id"
    assert drawn.y[0] == pytest.approx((run.log.tokens_before - run.log.tokens_at(1)) / run.corpus_bytes * 2e6)
    session.view.set_playhead(600)
    told = pane.plot.accessibleDescription()
    saved = (run.log.tokens_at(540) - run.log.tokens_at(600)) / 60 / run.corpus_bytes * 1e6
    own, other = (f"{2 * tokens:,.0f}" for tokens in (saved, by_hand))
    assert told == f"merge 600   {own} bytes per MB · held-out {other}"
    now = f". In 1 MB of text, a merge now saves about {2 * by_hand:,.0f} bytes of ids, at 2 bytes per id."
    assert now in pane.remark.text()
    choose(pane, "Saved by a merge")
    assert pane.remark_line.isHidden()
    lowest = 320
    pane.resize(430, lowest - 1)
    assert pane.remark.isHidden()
    assert pane.remark_line.text() == pane.remark.text()
    qtbot.waitUntil(lambda: pane.remark_line.toolTip() == plain(pane.remark.text()))
    pane.resize(430, lowest)
    assert pane.remark.isVisible()
    assert pane.remark_line.isHidden()
    choose(pane, "Saved by a merge")
    pane.window().resize(430, 290)
    pane.resize(430, 290)

    def whole() -> bool:
        room = pane.remark.contentsRect()
        words = pane.remark.fontMetrics().boundingRect(room, Qt.TextFlag.TextWordWrap, pane.remark.text())
        return words.height() <= room.height()

    qtbot.waitUntil(whole)
    assert pane.remark.text().endswith(" bytes of ids, at 2 bytes per id.")
    assert pane.plot.height() >= pane.plot.minimumHeight()


def test_without_a_held_out_share_there_is_a_hint(qtbot, session, pane):
    trained(qtbot, session, held_out=0.0)
    assert texts(pane.legend) == []
    choose(pane, "Saved by a merge")
    assert "Hold out a share to see this for other text." in pane.remark.text()


@pytest.mark.parametrize("held_out", [0.0, 0.25])
def test_beyond_65536_tokens_the_cost_of_four_byte_ids_is_shown(qtbot, session, pane, monkeypatch, held_out):
    monkeypatch.setattr("tokstudio.gui.panes.compression.curves._SHORT_IDS", 500)
    run = trained(qtbot, session, held_out=held_out)
    choose(pane, "Saved by a merge")
    tokens = np.array([run.log.tokens_at(k) for k in range(len(run) + 1)]) if not held_out else run.held_out.tokens
    size = run.held_out.bytes if held_out else run.corpus_bytes
    saved = saved_by_each(tokens, size)
    drawn = pane.plot.content.curves[(run.key, "held-out") if held_out else run.key].y
    for merges, width in ((244, 2), (245, 4), (600, 4)):
        session.view.set_playhead(merges)
        assert drawn[merges - 1] == pytest.approx(width * saved[merges - 1])
        told = pane.remark.text()
        now = f"a merge now saves about {width * saved[merges - 1]:,.0f} bytes of ids, at {width} bytes per id."
        assert f". In 1 MB of text, {now}" in told
        cost = (
            f"Beyond 500 tokens, each id takes 4 bytes instead of 2: the ids of 1 MB take "
            f"{4e6 * tokens[merges] / size:,.0f} bytes, not {2e6 * tokens[244] / size:,.0f} as before."
        )
        assert (cost in told) == (width == 4)
        assert ("Beyond 500" in told) == (width == 4)


def test_runs_beside_each_other_have_their_own_dots(qtbot, session, pane):
    first, second = trained(qtbot, session), trained(qtbot, session, vocabulary_size=500)
    assert texts(pane.legend)[:2] == ["Run 2", "held-out"]
    assert {key for key in pane.plot.content.curves if isinstance(key, tuple)} == {
        (run.key, "held-out") for run in (first, second)
    }
    assert pane.plot.content.curves[(first.key, "held-out")].role == "other held-out"
    other = next(one for one in pane.legend.findChildren(QToolButton) if one.accessibleName() == "Show Run 1, held-out")
    pane.legend.chosen.emit(other.property("key"))
    assert session.runs.active is first
    session.runs.delete(second)
    assert [key for key in pane.plot.content.curves if isinstance(key, tuple)] == [(first.key, "held-out")]


def test_a_run_of_a_project_is_measured_anew(qtbot, session, pane):
    run = trained(qtbot, session)
    again = StudioRun.reopened(7, "Run 7", run.run, run.corpus)
    session.runs.replace_all([again])
    session.runs.activate(again)
    qtbot.waitUntil(lambda: again.held_out.tokens is not None)
    assert np.array_equal(again.held_out.tokens, run.held_out.tokens)
    assert again.held_out.ratio == run.held_out.ratio


def test_text_that_cannot_be_encoded_has_a_message(qtbot, session, pane):
    session.corpus.add_text("".join(f"line line {chr(0x4E00 + n)}\n" for n in range(40)))
    run = trained(qtbot, session, vocabulary_size=None, min_frequency=2, base="characters", pattern="none")
    assert run.held_out.problem
    assert pane.remark.isVisible()
    assert pane.remark.text() == f"The held-out text was not measured: {run.held_out.problem}"


@pytest.mark.parametrize("pauses", [replace(PAUSES, quiet=0)], indirect=True)
def test_a_cancelled_measurement_is_not_repeated(qtbot, session, pane, monkeypatch):
    def endless(run, sources):
        while True:
            time.sleep(0.001)
            yield Progress("measuring held-out text", 0, 1)

    def measurements():
        return [job for job in session.jobs.running if job.progress.phase == "measuring held-out text"]

    monkeypatch.setattr("tokstudio.gui.session.measuring.measurers.held_out_work", endless)
    session.corpus.add_text(sample_text("article"))
    session.training.set_settings(Settings(vocabulary_size=400, held_out=0.5))
    session.training.start()
    # In the status line, from where a person can cancel it, once it takes long.
    qtbot.waitUntil(lambda: any(not job.quiet for job in measurements()))
    measurements()[0].cancel()
    qtbot.waitUntil(lambda: not session.jobs.running)
    run = session.runs.active
    assert run.held_out.problem.startswith("it was cancelled. ")
    assert pane.remark.text() == f"The held-out text was not measured: {run.held_out.problem}"
    session.runs.changed.emit()
    assert not session.jobs.running
    assert cannot_measure_held_out(session) is None
    monkeypatch.undo()
    session.held_out.measure()
    qtbot.waitUntil(lambda: run.held_out.tokens is not None)
    assert not run.held_out.problem
    assert "not measured" not in pane.remark.text()
    assert cannot_measure_held_out(session) == "The held-out text has been measured."


def test_each_point_is_the_mean_of_the_tenth_before_it():
    tokens = np.array(
        [1000, 900, 850, 825, 812, 806, 803, 802, 801, 800, 790, 770, 740, 700, 650, 590, 520, 440, 350, 250, 150]
    )
    saved = saved_by_each(tokens, 1_000_000)
    assert saved[:3].tolist() == [100, 50, 25]
    assert saved[19] == 100, "the mean of merges 19 and 20"


def test_a_double_click_on_the_dots_of_another_run_asks_for_it(qtbot, session, pane):
    first = trained(qtbot, session)
    trained(qtbot, session, vocabulary_size=500)
    drawn = pane.plot.content.curves[(first.key, "held-out")]
    place = pane.plot.chart.place(600, float(drawn.y[600])).toPoint()
    qtbot.mouseDClick(pane.plot, Qt.MouseButton.LeftButton, pos=place)
    assert session.runs.active is first
