"""Who chose each merge of parity-aware BPE, in the merge log: the column, the filter, and runs without it."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtGui import QGuiApplication

from tests.gui.languages import NAMES, PARALLEL, TEXTS
from tests.gui.person import PATIENCE
from tokstudio.core.model.run import ChosenBy
from tokstudio.gui.panes.merges import MergeQuery, MergesPane
from tokstudio.gui.state.training_settings import Settings

GLOBAL = 4
PLAIN = ["#", "Token", "Left", "Right", "Count", "Tokens after", "Bytes/token"]


@pytest.fixture
def pane(session, theme, actions, dock) -> MergesPane:
    pane = MergesPane(session, theme, actions)
    dock(pane, 800, 500)
    return pane


@pytest.fixture
def run(qtbot, session, pane):
    """A run of the languages, trained while the pane was there to see it."""
    for name, text in zip(NAMES, TEXTS.values(), strict=True):
        session.corpus.add_text(text, name)
    session.training.set_settings(Settings(290))
    session.training.start()
    qtbot.waitUntil(lambda: session.training.current is None, timeout=PATIENCE)
    parallel = tuple(zip(NAMES, PARALLEL.values(), strict=True))
    session.training.set_settings(Settings(290, algorithm="parity", parallel=parallel, global_merges=GLOBAL))
    session.training.start()
    qtbot.waitUntil(lambda: session.training.current is None, timeout=PATIENCE)
    return session.runs.active


def titles(pane) -> list[str]:
    return [
        pane.model.headerData(at, pane.table.horizontalHeader().orientation()) for at in range(pane.model.columnCount())
    ]


def choosers(run) -> list[str]:
    return [run.run.chosen.name(merge) or "all" for merge in range(len(run))]


def test_only_runs_by_turns_have_the_column(pane, session, run):
    assert titles(pane) == [*PLAIN, "Chosen by"]
    assert not pane.table.isColumnHidden(7)
    shown = [pane.model.index(row, 7).data() for row in range(pane.model.rowCount())]
    assert shown[::-1] == choosers(run)
    assert shown[::-1][:GLOBAL] == ["all"] * GLOBAL
    assert set(shown) == {"all", *NAMES}
    session.runs.activate(session.runs.all[0])
    assert titles(pane) == PLAIN
    session.runs.activate(run)
    assert titles(pane) == [*PLAIN, "Chosen by"]


def test_who_chose_is_copied(pane, run):
    pane.table.show_row(0)
    pane.table.copy()
    assert QGuiApplication.clipboard().text().split("\t")[-1] == choosers(run)[-1]


def test_the_filter_finds_the_merges_of_a_language(qtbot, pane, run):
    chosen_by = choosers(run)
    for typed, beginning, part, length in (
        ("by:de", "de", b"", None),
        ("BY:fi.txt", "fi.txt", b"", None),
        ("by:all", "all", b"", None),
        ("by:x", "x", b"", None),
        ("a by:en", "en", b"a", None),
        ("by:en A", "en", b"a", None),
        ("by:de length:2", "de", b"", 2),
    ):
        pane.filter.setText(typed)
        qtbot.waitUntil(lambda: not pane.model.searching)
        expected = [
            number
            for number in range(len(run), 0, -1)
            for token in [run.tokenizer.tokens[255 + number]]
            if chosen_by[number - 1].startswith(beginning) and part in token.lower() and length in (None, len(token))
        ]
        assert [pane.model.number_at(row) for row in range(pane.model.rowCount())] == expected, typed
        assert len(expected) < len(run), typed


def test_the_filter_finds_nothing_where_nobody_chose(qtbot, pane, session, run):
    session.runs.activate(session.runs.all[0])
    pane.filter.setText("by:de")
    qtbot.waitUntil(lambda: not pane.model.searching)
    assert pane.model.rowCount() == 0
    assert MergeQuery("the").chosen(None, 3) is None


def test_merges_of_a_growing_run_are_found(run):
    chosen = ChosenBy(("de", "en"), np.array([-1, 0, 1, 0], np.int16))
    assert MergeQuery("by:d").chosen(chosen, 3).tolist() == [False, True, False]


def test_a_run_knows_who_chose_while_it_trains(qtbot, session, run):
    made = []
    session.training.set_settings(Settings(280, algorithm="parity", tie_break="mapped-strings"))
    session.training.start(single=True)
    qtbot.waitUntil(lambda: session.training.state == "paused" and len(session.runs.active) == 1, timeout=PATIENCE)
    made.append(session.runs.active.so_far())
    for _ in range(3):
        session.training.step()
        length = len(made[-1])
        qtbot.waitUntil(
            lambda length=length: len(session.runs.active) > length and session.training.state == "paused",
            timeout=PATIENCE,
        )
        made.append(session.runs.active.so_far())
    session.training.resume()
    qtbot.waitUntil(lambda: session.training.current is None, timeout=PATIENCE)
    whole = session.runs.active.run
    for part in made:
        assert part.chosen.languages == whole.chosen.languages == tuple(NAMES)
        assert part.chosen.numbers.tolist() == whole.chosen.numbers[: len(part)].tolist()
