"""The Compression pane: curves of the sources of the active run, and marks at shares of its compression."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAction, QFontMetricsF

from tests.gui.conftest import alone
from tests.gui.languages import NAMES, PARALLEL
from tests.gui.languages import TEXTS as BY_LANGUAGE
from tokstudio import Tokenizer
from tokstudio.core.base.resources import sample_text
from tokstudio.gui.panes.compression.curves import RATIO, TOKENS, has_other_corpus, size_marks
from tokstudio.gui.panes.compression.pane import CompressionPane
from tokstudio.gui.plot.content import PART, fitted_caption
from tokstudio.gui.session.measuring import measurers

TEXTS = {"english": "the cat and the hat and the dog " * 30, "german": "die Katze und der Hut und der Hund " * 30}


@pytest.fixture
def actions(actions):
    actions["compression_marks"] = QAction("Marks", checkable=True, checked=True)
    return actions


pane = alone(CompressionPane, 900, 420)


@pytest.fixture
def run(session, make_run):
    for name, text in TEXTS.items():
        session.corpus.add_text(text, name)
    return make_run(vocabulary_size=290, pattern="gpt2")


def drawn(pane):
    return {curve.name: curve for key, curve in pane.plot.content.curves.items() if "source" in str(key)}


def choose(pane, view):
    next(action for action in pane.menu.actions() if action.text() == view.menu).trigger()


def test_each_source_has_a_curve_of_each_run_while_it_is_wanted(qtbot, session, pane, run, make_run, theme):
    assert not drawn(pane)
    pane.by_source.trigger()
    qtbot.waitUntil(lambda: bool(drawn(pane)))
    tokenizer = Tokenizer.from_run(run.run)
    ratios = {}
    for merges in (0, 7, len(run)):
        session.view.set_playhead(merges)
        for name, text in TEXTS.items():
            ratios[name] = len(text) / len(tokenizer.at(merges).encode(text))
            assert drawn(pane)[name].point_at(merges) == (merges, pytest.approx(ratios[name]))
        names = [entry.name for entry in pane.legend.entries]
        sign = "†" if merges else ""  # as both were trained on
        assert names == [run.name, *(f"{name} {sign}{ratios[name]:.2f}" for name in TEXTS)]
    assert len({curve.hue for curve in (*drawn(pane).values(), pane.plot.content.active())}) == 3
    assert {curve.pen(theme.palette).widthF() for curve in drawn(pane).values()} == {1.0}
    shown = [button.text() for button in pane.legend.buttons]
    assert shown[1:] == [f"{name} †{ratios[name]:.2f}" for name in TEXTS]
    choose(pane, TOKENS)
    assert not drawn(pane)
    choose(pane, RATIO)
    assert list(drawn(pane)) == list(TEXTS)
    pane.by_source.trigger()
    assert not drawn(pane)
    assert len(pane.legend.entries) == 1
    pane.by_source.trigger()
    qtbot.waitUntil(lambda: bool(drawn(pane)))
    longer = make_run(vocabulary_size=295, pattern="gpt2")
    qtbot.waitUntil(lambda: [len(curve.x) for curve in drawn(pane).values()] == [len(longer) + 1] * 2)
    session.runs.activate(run)
    assert [len(curve.x) for curve in drawn(pane).values()] == [len(run) + 1] * 2


def test_a_single_source_has_no_curves(qtbot, session, pane, make_run):
    make_run(vocabulary_size=290)
    pane.menu.aboutToShow.emit()
    assert not pane.by_source.isEnabled()


def test_why_there_are_none_is_told(qtbot, session, pane, run, monkeypatch):
    monkeypatch.setattr(measurers, "source_curves_work", refused_work)
    pane.by_source.trigger()
    told = "The sources are not drawn: There are too many."
    qtbot.waitUntil(lambda: pane.remark.text() == told)
    assert not drawn(pane)


@pytest.fixture
def by_turns(session, make_run):
    """Trains by parity-aware BPE, with parallel texts or without."""

    def train(**more):
        for name, text in zip(NAMES, BY_LANGUAGE.values(), strict=True):
            session.corpus.add_text(text, name)
        return make_run(vocabulary_size=290, algorithm="parity", **more)

    return train


def test_the_parallel_texts_of_languages_are_drawn_without_being_asked_for(qtbot, session, pane, by_turns, make_run):
    run = by_turns(parallel=tuple(PARALLEL.items()))
    qtbot.waitUntil(lambda: bool(drawn(pane)))
    assert pane.by_source.text() == "Curves by Language"
    assert pane.by_source.isChecked()
    session.view.set_playhead(9)
    tokenizer = Tokenizer.from_run(run.run).at(9)
    for name, text in zip(NAMES, PARALLEL.values(), strict=True):
        ratio = len(text.encode()) / len(tokenizer.encode(text))
        assert drawn(pane)[name].point_at(9) == (9, pytest.approx(ratio))
    assert pane.remark.text() == "The thin curves are of the parallel texts."
    pane.by_source.trigger()
    assert not drawn(pane)
    plain = make_run(vocabulary_size=290)
    assert pane.by_source.text() == "Curves by Source"
    session.runs.activate(run)
    assert not pane.by_source.isChecked(), "it stays off"
    session.runs.activate(plain)
    pane.by_source.trigger()
    qtbot.waitUntil(lambda: bool(drawn(pane)))
    assert pane.remark.text() == ""


def test_without_parallel_texts_the_languages_of_the_corpus_are_drawn(qtbot, session, pane, by_turns):
    run = by_turns()
    qtbot.waitUntil(lambda: bool(drawn(pane)))
    assert list(drawn(pane)) == NAMES
    ratios = run.by_source.bytes_per_token(12)
    assert drawn(pane)["fi.txt"].point_at(12) == (12, pytest.approx(ratios[2]))


def refused_work(run, corpus):
    raise measurers.TokStudioError("There are too many.")
    yield


def marks(pane) -> list[str]:
    """The names of the marks in a picture of the plot."""
    return re.findall(r">(\d+\u00a0%)<", pane.plot.to_svg(1600, 900).decode())


def test_marks_are_where_the_share_is_reached_are_clicked_and_switched_off(pane, trained, qtbot, actions):
    active = trained.runs.active
    assert marks(pane) == ["90\u00a0%", "95\u00a0%", "99\u00a0%"]
    for percent, mark in zip((90, 95, 99), size_marks(active), strict=True):
        merges, ratio = int(mark.x), active.run.bytes_per_token
        assert ratio(merges) >= percent / 100 * ratio() > ratio(merges - 1)
        assert mark.y == ratio(merges)
        assert f"vocabulary {256 + merges}" in mark.tip
        place = pane.plot.chart.place(mark.x, mark.y).toPoint()
        qtbot.mouseClick(pane.plot, Qt.MouseButton.LeftButton, pos=place + QPoint(2, 2))
        assert trained.view.playhead == mark.x
        qtbot.mouseDClick(pane.plot, Qt.MouseButton.LeftButton, pos=place)
        assert trained.view.playhead == mark.x
    actions["compression_marks"].trigger()
    assert not marks(pane)
    actions["compression_marks"].trigger()
    assert marks(pane)
    choose(pane, TOKENS)
    assert not marks(pane)


def test_the_caption_explains_the_signs_that_are_drawn_where_there_is_room(theme, actions, pane, trained):
    metrics = QFontMetricsF(theme.tabular_font())
    whole = pane.plot.content.caption
    parts = ["bytes per token over merges", "† on the training text", "90\u00a0%: of the value at the end"]
    assert whole.split(PART) == parts
    assert "†" in pane.plot.accessibleDescription()
    wide = metrics.horizontalAdvance(whole)
    for room, shown in ((wide + 1, 3), (wide - 1, 2), (metrics.horizontalAdvance(PART.join(parts[:2])) - 1, 1)):
        assert fitted_caption(whole, metrics, room) == PART.join(parts[:shown])
    assert fitted_caption(whole, metrics, 60).endswith("…")
    actions["compression_marks"].trigger()
    assert pane.plot.content.caption.split(PART) == parts[:2]
    choose(pane, TOKENS)
    assert pane.plot.content.caption == "tokens in the corpus over merges"


def test_the_caption_explains_the_first_mark_that_is_drawn(pane, make_run):
    run = make_run(vocabulary_size=257)
    [mark] = size_marks(run)
    assert marks(pane) == [mark.text] != ["90\u00a0%"]
    assert pane.plot.content.caption.split(PART)[-1] == f"{mark.text}: of the value at the end"


def test_they_are_on_the_held_out_curve_where_there_is_one(qtbot, session, pane, make_run):
    run = make_run(sample_text("article"), vocabulary_size=600, held_out=0.2)
    qtbot.waitUntil(lambda: run.held_out.tokens is not None)
    for mark in size_marks(run):
        assert mark.y == run.held_out_bytes_per_token(int(mark.x))
        assert "held-out" in mark.tip


def test_a_run_of_one_merge_has_one_mark_for_each_place(make_run):
    places = [mark.x for mark in size_marks(make_run(vocabulary_size=257))]
    assert len(places) == len(set(places)) > 0


def test_a_run_without_merges_can_be_of_another_corpus(session, run, make_run):
    assert not has_other_corpus(run, make_run(vocabulary_size=300, min_frequency=1000), None)
    session.corpus.remove_sources([0])
    other = make_run(vocabulary_size=300, min_frequency=1000)
    assert len(other) == 0
    assert has_other_corpus(run, other, None)
