"""The counts of a run whose sources have weights, in every pane: whole numbers, in the units of the text."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
import pytest

from tokstudio import Corpus, Trainer, TrainingConfig, train
from tokstudio.core.analysis.why_this_merge import why_work
from tokstudio.core.base.progress import finish
from tokstudio.core.corpus.source import Source
from tokstudio.gui.panes.compression.curves import COUNT, RATIO, TOKENS, curve, playhead_text
from tokstudio.gui.panes.distribution import DistributionPane
from tokstudio.gui.panes.merges import MergesModel
from tokstudio.gui.panes.runs.model import COLUMNS, settings_lines
from tokstudio.gui.panes.token.pane import TokenPane
from tokstudio.gui.panes.vocabulary.model import VocabularyModel
from tokstudio.gui.panes.vocabulary.selection import USES
from tokstudio.gui.panes.why.answer import RunnersModel
from tokstudio.gui.plot.content import Curve
from tokstudio.gui.plot.scale import value_text
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.window.status_bar import StatusLine


@pytest.fixture(params=[0.25, 3], ids=["thousandths", "whole"])
def run(request):
    corpus = Corpus((Source.from_texts("ababab" * 1000, "a"), Source.from_texts("abc", "b")))
    weighted = corpus.with_weights({"b": request.param})
    made = train(weighted, TrainingConfig(vocabulary_size=258)).run
    return StudioRun.reopened(1, "Run 1", made, weighted)


@pytest.fixture
def parts(run):
    """How often "ab" occurs, and the tokens before and after it is merged."""
    weight = run.corpus.weights[1] / 1000
    return weight, 3000 + weight, 6000 + 3 * weight, 3000 + 2 * weight


def exact(number):
    return f"{number:.2f}".rstrip("0").rstrip(".")


def text(number):
    return "<1" if 0 < number < 0.5 else f"{int(number + 0.5):,}"


def cells(*numbers):
    return list(map(text, numbers))


def test_the_merge_log(session, run, parts):
    model = MergesModel(session.indexing)
    model.set_run(run, 2)
    _, count, _, after = parts
    assert [model.cell(1, column).text for column in (4, 5)] == cells(count, after)
    assert model.copied_slot(256).split("\t")[4:6] == [exact(count), exact(after)]
    for column in (4, 5):
        assert len(model.widest(column)) >= max(len(model.cell(row, column).text) for row in range(2))


def test_the_vocabulary(session, run, parts):
    model = VocabularyModel(session.indexing)
    model.set_run(run, 1)
    assert [model.cell(slot, USES).text for slot in (ord("c"), 256)] == cells(*parts[:2])
    assert model.copied_slot(256).split("\t")[6] == exact(parts[1])
    assert len(model.widest(USES)) >= len(text(parts[1]))


def test_the_plot(run, parts):
    weight, count, before, after = parts
    assert curve(run, COUNT)[1][0] == count
    assert curve(run, TOKENS)[1][:2].tolist() == [before, after]
    assert curve(run, RATIO)[1][1] == pytest.approx((6000 + 3 * weight) / after)
    drawn = Curve("", "active", *curve(run, TOKENS), counts=True)
    assert value_text(drawn.y[0] / 100, drawn.whole) == text(before / 100), "beside the cross-hair"
    assert playhead_text(run, 1, COUNT) == f"merge 1   {text(count)} times"
    assert playhead_text(run, 1, TOKENS) == f"merge 1   {text(after)} tokens"


def test_the_candidates_of_a_merge(run, parts):
    model = RunnersModel()
    model.set_answer(run, finish(why_work(run.corpus, run.run, 1)))
    behind, decimals = parts[1] - 2999, 3 if run.weight_scale > 1 else 0
    shown = [model.cell(*place).text for place in ((0, 2), (1, 2), (1, 3))]
    told = "what decides is not rounded"
    assert shown == [f"{number:,.{decimals}f}" for number in (parts[1], 2999, behind)], told
    assert model.copied_slot(1).split("\t")[3:5] == ["2999", exact(behind)]


def test_the_list_of_runs(run, parts):
    size = next(column for column in COLUMNS if column.title == "Size")
    assert size.text(run) == "6.0 kB"
    assert settings_lines(run)[0] == f"Bytes of the corpus: {text(parts[2])}"


def test_the_token_pane_the_distribution_and_the_status_bar(qtbot, session, theme, actions, show, run, parts):
    pane, ranks = TokenPane(session, theme, actions), DistributionPane(session, theme, actions)
    bar = StatusLine(session, theme)
    for widget in (pane, ranks, bar):
        show(widget, 900, 400)
    session.runs.add(run)
    session.runs.activate(run)
    session.view.set_playhead(1)
    session.view.look_at(256)
    qtbot.waitUntil(lambda: f"{text(parts[1])} uses in the training text" in pane.facts.text())
    ranks.tabs.setCurrentIndex(1)
    qtbot.waitUntil(lambda: len(ranks.ranks.curve.y) >= 2)
    assert sorted(set(ranks.ranks.curve.y.tolist())) == sorted({parts[1], parts[0]})
    assert f"{text(parts[3])} tokens in the training text ({text(parts[2])} before merging)" in bar.figures.text()


def test_characters_that_became_the_unknown_token_are_counted_in_whole_units(session):
    config = TrainingConfig(
        vocabulary_size=9, base="characters", base_vocabulary=list("abc "), special_tokens=["?u"], unknown_token="?u"
    )
    corpus = Corpus((Source.from_texts("ab ab abx ?u"), Source.from_texts("xx"))).with_weights({1: 0.5})
    trainer = Trainer(corpus, config)
    while trainer.prepared is None:
        trainer.advance()
    run = StudioRun(1, "Run 1", config, corpus)
    run.prepare(trainer.prepared, trainer.run)
    assert (run.uses.unknown, run.uses.of(run.special_tokens["?u"], 0)) == (2000, 3000)
    again = StudioRun(2, "Run 2", config, corpus)
    trainer = Trainer(corpus.with_weights({0: 3, 1: 0}), config)
    while trainer.prepared is None:
        trainer.advance()
    again.prepare(trainer.prepared, trainer.run)
    assert (again.uses.unknown, again.uses.of(again.special_tokens["?u"], 0)) == (3, 6), "x, and what is written out"
    assert "Unknown characters: 2" in settings_lines(run)


def test_a_run_with_fractions_continues_down_to_the_count_that_it_reached(run):
    least = int(run.log.count[-1]) // run.weight_scale
    lower = TrainingConfig(vocabulary_size=400, min_frequency=least)
    assert run.may_continue(lower, run.corpus)
    assert not run.may_continue(TrainingConfig(vocabulary_size=400, min_frequency=least + 1), run.corpus)
    assert np.all(np.diff(run.log.count) <= 0)
