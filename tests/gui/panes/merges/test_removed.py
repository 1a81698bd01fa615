"""What Picky BPE removes after a merge, in the merge log: the columns, the filter, and runs without it."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication

from tests.gui.person import PATIENCE
from tests.gui.picky import SETTINGS, trained
from tokstudio.gui.panes.merges import MergesPane
from tokstudio.gui.state.training_settings import Settings

PLAIN = ["#", "Token", "Left", "Right", "Count", "Tokens after", "Bytes/token"]


@pytest.fixture
def pane(session, theme, actions, dock) -> MergesPane:
    pane = MergesPane(session, theme, actions)
    dock(pane, 900, 500)
    return pane


@pytest.fixture
def run(qtbot, session, pane):
    session.corpus.add_text("plain " * 9, "a")
    session.training.set_settings(Settings(258))
    session.training.start()
    qtbot.waitUntil(lambda: session.training.current is None and not session.jobs.running, timeout=PATIENCE)
    session.corpus.set_sources(())
    return trained(qtbot, session)


def titles(pane) -> list[str]:
    return [
        pane.model.headerData(at, pane.table.horizontalHeader().orientation()) for at in range(pane.model.columnCount())
    ]


def removed(run) -> dict[int, list[tuple[bytes, int]]]:
    """What each merge removed, by its number, from the run of the core."""
    made, tokenizer = {}, run.tokenizer
    for number, (pair, row) in enumerate(zip(run.merges.tolist(), run.run.removals.tolist(), strict=True), 1):
        gone = [(tokenizer.bytes_of(part), n) for part, n in zip(pair, row[2:], strict=True) if n >= 0]
        if gone:
            made[number] = gone
    assert len(made) > 5
    return made


def shown(pane) -> dict[int, tuple[str, str]]:
    """The two cells of each row, by the number of the merge."""
    rows = range(pane.model.rowCount())
    cells = [[pane.model.index(row, at).data() for at in (7, 8)] for row in rows]
    return {pane.model.number_at(row): tuple(cells[row]) for row in rows}


def test_only_runs_of_picky_bpe_have_the_columns(pane, session, run):
    assert titles(pane) == [*PLAIN, "Removed", "Fell apart"]
    session.runs.activate(session.runs.all[0])
    assert titles(pane) == PLAIN
    session.runs.activate(run)
    assert titles(pane) == [*PLAIN, "Removed", "Fell apart"]


def test_each_row_says_what_was_removed_after_it_and_how_often_it_fell_apart(pane, run):
    expected = removed(run)
    for number, (token, fell) in shown(pane).items():
        gone = expected.get(number, [])
        assert fell == ("" if not gone else f"{sum(n for _, n in gone):,}")
        assert token.count(" + ") == max(len(gone) - 1, 0)
        for raw, _ in gone:
            assert raw.decode().replace(" ", "·") in token


def test_what_was_removed_is_copied(pane, run):
    number, gone = next(iter(removed(run).items()))
    pane.table.show_row(pane.model.row_of_number(number))
    pane.table.copy()
    fields = QGuiApplication.clipboard().text().split("\t")
    assert len(fields) == 9
    assert fields[-1] == str(sum(n for _, n in gone))


def test_removals_are_filtered(qtbot, pane, run):
    expected = removed(run)

    def listed() -> list[int]:
        qtbot.waitUntil(lambda: not pane.model.searching, timeout=PATIENCE)
        return sorted(pane.model.number_at(row) for row in range(pane.model.rowCount()))

    assert "removed:" in pane.filter.toolTip()
    pane.filter.setText("removed:")
    assert listed() == sorted(expected)
    pane.filter.setText("removed:b")
    assert listed() == [number for number, gone in sorted(expected.items()) if any(b"b" in raw for raw, _ in gone)]
    assert 0 < len(listed()) < len(expected)
    pane.filter.setText("removed:nowhere")
    assert listed() == []


def test_a_row_shows_the_token_of_its_merge_even_if_that_was_removed(qtbot, pane, session, run):
    gone = next(token for token in range(run.base_size, run.base_size + len(run)) if run.removals.removed_by(token))
    row = pane.model.row_of_token(gone)
    assert pane.model.number_at(row) == gone - run.base_size + 1
    pane.table.setFocus()
    pane.table.show_row(row)
    pane.table.rowChosen.emit(row)
    assert session.view.chosen == gone


def test_the_columns_grow_with_the_run(qtbot, session, pane):
    run = trained(qtbot, session, SETTINGS)
    assert sum(bool(token) for token, _ in shown(pane).values()) == len(removed(run))
    assert pane.table.horizontalHeader().orientation() == Qt.Orientation.Horizontal
