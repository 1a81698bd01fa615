"""Which stage or phase made each merge of SuperBPE and BoundlessBPE, in the merge log."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QSignalSpy

from tests.gui.person import PATIENCE
from tokstudio.gui.panes.merges import MergesPane
from tokstudio.gui.state.training_settings import Settings

PLAIN = ["#", "Token", "Left", "Right", "Count", "Tokens after", "Bytes/token"]
TEXT = "one of the cats sat on the mat, at the end of the day: of the 12 cats one of them sat.\n" * 6


@pytest.fixture
def pane(session, theme, actions, dock) -> MergesPane:
    pane = MergesPane(session, theme, actions)
    dock(pane, 900, 500)
    session.corpus.add_text(TEXT)
    return pane


def trained(qtbot, session, settings):
    session.training.set_settings(settings)
    session.training.start()
    qtbot.waitUntil(lambda: session.training.current is None and not session.jobs.running, timeout=PATIENCE)
    return session.runs.active


def titles(pane) -> list[str]:
    header = pane.table.horizontalHeader().orientation()
    return [pane.model.headerData(at, header) for at in range(pane.model.columnCount())]


def own(pane) -> list[str]:
    """The cells of the last column, from the first merge on."""
    return [pane.model.index(row, len(PLAIN)).data() for row in range(pane.model.rowCount())][::-1]


def copied(pane, number) -> str:
    pane.table.show_row(pane.model.row_of_number(number))
    copies = QSignalSpy(pane.table.copied)
    pane.table.copy()
    assert copies.count() or copies.wait(PATIENCE)
    return QGuiApplication.clipboard().text().split("\t")[-1]


def test_each_merge_of_superbpe_has_its_stage(qtbot, pane, session):
    run = trained(qtbot, session, Settings(290, algorithm="superbpe", pattern="gpt2", transition=270))
    assert titles(pane) == [*PLAIN, "Stage"]
    assert own(pane) == ["1"] * 14 + ["2"] * (len(run) - 14)
    assert len(run) > 14
    assert copied(pane, 15) == "2"
    trained(qtbot, session, Settings(290, pattern="gpt2"))
    assert titles(pane) == PLAIN


@pytest.mark.parametrize("weight", [1000, 1500])
def test_each_supermerge_says_what_it_came_before(qtbot, pane, session, weight):
    session.corpus.set_weights((weight,))
    run = trained(qtbot, session, Settings(400, algorithm="boundless", pattern="gpt2"))
    assert titles(pane) == [*PLAIN, "Came before"]
    overtaken, scale = run.run.overtaken.tolist(), run.weight_scale
    assert own(pane) == ["" if count < 0 else f"{count / scale:,g}" for count in overtaken]
    assert {"", "0"} < set(own(pane))
    number = next(at for at, count in enumerate(overtaken, 1) if count > 0)
    assert float(copied(pane, number)) == overtaken[number - 1] / scale
