"""The table of runs: its texts for trained, growing and opened runs; it changes no run."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import pytest
from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtTest import QAbstractItemModelTester

from tokstudio import Corpus, TrainingConfig, train
from tokstudio.gui.panes.runs.model import (
    ACTIVE,
    BYTES,
    CORPUS,
    ENDED,
    FREQUENCY,
    MARK,
    MERGES,
    NAME,
    RATIO,
    SECONDS,
    VOCABULARY,
    RunsModel,
    settings_lines,
)
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.style.theme import Theme

TEXT = "she sells sea shells on the sea shore " * 30


def made(key: int, name: str, **limits) -> StudioRun:
    corpus, config = Corpus.from_text(TEXT), TrainingConfig(**limits)
    run = StudioRun(key, name, config, corpus)
    trained = train(corpus, config).run
    assert trained is not None
    run.complete(trained)
    return run


@pytest.fixture(scope="module")
def run() -> StudioRun:
    return made(1, "First", vocabulary_size=290)


@pytest.fixture
def model(qtbot, session, run):
    session.corpus.set_sources(run.corpus.sources)
    model = RunsModel(Theme("light"), session.on_text)
    QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    return model


def shown(model, row, column, role=Qt.ItemDataRole.DisplayRole):
    return model.data(model.index(row, column), role)


def test_a_trained_run_is_described_by_its_numbers_and_by_a_tip(model, run):
    model.set_runs([run], run, "training")
    assert shown(model, 0, NAME) == "First"
    assert shown(model, 0, CORPUS) == "Pasted text"
    assert shown(model, 0, BYTES) == "1.1 kB"
    assert shown(model, 0, VOCABULARY) == "290"  # which it reached
    assert shown(model, 0, FREQUENCY) == "–"
    assert shown(model, 0, MERGES) == "34"
    assert shown(model, 0, RATIO) == f"{run.run.bytes_per_token():,.3f}"
    assert shown(model, 0, ENDED) == "reached vocabulary size"
    assert shown(model, 0, SECONDS) == f"{run.run.seconds:.3f}"
    strange = StudioRun.opened(2, "<b>bold</b>", run.tokenizer)
    model.set_runs([run, strange], run, "training")
    tip = shown(model, 0, NAME, Qt.ItemDataRole.ToolTipRole)
    assert "Bytes of the corpus: 1,140" in tip
    assert "Seconds: " in tip
    assert "&lt;b&gt;bold" in shown(model, 1, NAME, Qt.ItemDataRole.ToolTipRole)
    for column in range(model.columnCount()):
        for role in Qt.ItemDataRole:
            model.data(model.index(0, column), role)
            model.headerData(column, Qt.Orientation.Horizontal, role)
    assert model.data(QModelIndex()) is None


def test_unknown_figures_are_dashes(model, run):
    opened = StudioRun.opened(2, "gpt2", run.tokenizer)
    model.set_runs([run, opened], opened, "training")
    assert [shown(model, 1, column) for column in (CORPUS, FREQUENCY, SECONDS)] == ["–"] * 3
    assert shown(model, 1, RATIO) == "…", "it is being measured while the table is seen"
    assert shown(model, 1, VOCABULARY) == "290"
    assert shown(model, 1, MERGES) == "34"
    assert shown(model, 1, ENDED) == "opened from a file"
    assert [shown(model, row, MARK, ACTIVE) for row in (0, 1)] == [False, True]
    growing = StudioRun(1, "New", TrainingConfig(min_frequency=3), Corpus.from_text(TEXT))
    model.set_runs([growing], growing, "paused")
    assert shown(model, 0, ENDED) == "paused"
    assert shown(model, 0, MERGES) == "0"
    assert shown(model, 0, RATIO) == "–"
    assert shown(model, 0, SECONDS) == "–"


def test_rows_stay_are_repainted_alone_and_pass_on_a_new_name(model, run, qtbot):
    model.set_runs([run, made(2, "Second", vocabulary_size=280)], run, "training")
    with qtbot.waitSignal(model.dataChanged) as changed:
        model.refresh(model.run(1))
    assert {index.row() for index in changed.args[:2]} == {1}
    with qtbot.assertNotEmitted(model.dataChanged):
        model.refresh(StudioRun(9, "Elsewhere"))
    runs = [run, *(StudioRun.opened(key, f"Run {key}", run.tokenizer) for key in (2, 3, 4))]
    model.set_runs(runs[:2], run, "training")
    resets = []
    model.modelReset.connect(lambda: resets.append(True))
    model.set_runs(runs, run, "training")
    model.set_runs([runs[0], runs[2], runs[3]], run, "training")
    assert [model.run(row) for row in range(model.rowCount())] == [runs[0], runs[2], runs[3]]
    assert not resets
    model.set_runs([], None, "training")
    assert model.rowCount() == 0
    assert model.rowCount(model.index(0, 0)) == 0
    model.set_runs([run], run, "training")
    index = model.index(0, NAME)
    assert model.flags(index) & Qt.ItemFlag.ItemIsEditable
    assert not model.flags(model.index(0, MERGES)) & Qt.ItemFlag.ItemIsEditable
    with qtbot.waitSignal(model.renamed) as renamed:
        assert model.setData(index, "Better")
    assert renamed.args == [run, "Better"]
    assert run.name == "First"
    with qtbot.assertNotEmitted(model.renamed):
        assert not model.setData(index, "  ")
        assert not model.setData(model.index(0, MERGES), "7")


def test_the_tip_of_a_run_by_turns_says_how_languages_chose(make_run, session):
    for name in ("de", "en"):
        session.corpus.add_text(f"{name} das haus the house " * 20, name)
    told = settings_lines(make_run(vocabulary_size=280, algorithm="parity", ratios=(("de", 1.5),), window=100))
    assert "Algorithm: Parity-aware BPE, bytes per token, ratio 1.5 of de, window 100 with alpha 2" in told
    parallel = (("de", "haus"), ("en", "house"))
    told = settings_lines(make_run(vocabulary_size=280, algorithm="parity", parallel=parallel, global_merges=5))
    assert "Algorithm: Parity-aware BPE, parallel texts, 5 global merges" in told
    assert not any(line.startswith("Algorithm") for line in settings_lines(make_run(vocabulary_size=280)))
