"""What other algorithms than plain BPE add to the merge log: the columns, the filter, and runs without them."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QSignalSpy

from tests.gui.conftest import docked
from tests.gui.languages import NAMES, PARALLEL, TEXTS
from tests.gui.person import PATIENCE
from tests.gui.picky import trained
from tests.gui.tables import column_texts, titles
from tokstudio.core.model.columns import language_of
from tokstudio.gui.panes.merges import MergeQuery, MergesPane
from tokstudio.gui.state.training_settings import Settings

GLOBAL = 4
PLAIN = ["#", "Token", "Left", "Right", "Count", "Tokens after", "Bytes/token"]


pane = docked(MergesPane, 900, 500)


@pytest.fixture
def by_turns(qtbot, session, pane, make_run):
    """A by_turns of the languages, trained while the pane was there to see it."""
    for name, text in zip(NAMES, TEXTS.values(), strict=True):
        session.corpus.add_text(text, name)
    make_run(vocabulary_size=290)
    parallel = tuple(zip(NAMES, PARALLEL.values(), strict=True))
    make_run(vocabulary_size=290, algorithm="parity", parallel=parallel, global_merges=GLOBAL)
    return session.runs.active


def choosers(by_turns) -> list[str]:
    return [language_of(by_turns.run, merge) or "all" for merge in range(len(by_turns))]


def test_only_runs_by_turns_have_the_column_which_is_copied_and_filtered(pane, session, by_turns, qtbot):
    assert copied_cell(pane, len(by_turns)) == choosers(by_turns)[-1]
    assert titles(pane.model) == [*PLAIN, "Chosen by"]
    assert not pane.table.isColumnHidden(7)
    shown = column_texts(pane.model, 7)
    assert shown[::-1] == choosers(by_turns)
    assert shown[::-1][:GLOBAL] == ["all"] * GLOBAL
    assert set(shown) == {"all", *NAMES}
    session.runs.activate(session.runs.all[0])
    assert titles(pane.model) == PLAIN
    session.runs.activate(by_turns)
    assert titles(pane.model) == [*PLAIN, "Chosen by"]
    chosen_by = choosers(by_turns)
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
            for number in range(len(by_turns), 0, -1)
            for token in [by_turns.tokenizer.tokens[255 + number]]
            if chosen_by[number - 1].startswith(beginning) and part in token.lower() and length in (None, len(token))
        ]
        assert [pane.model.number_at(row) for row in range(pane.model.rowCount())] == expected, typed
        assert len(expected) < len(by_turns), typed
    session.runs.activate(session.runs.all[0])
    pane.filter.setText("by:de")
    qtbot.waitUntil(lambda: not pane.model.searching)
    assert pane.model.rowCount() == 0
    assert MergeQuery("the").chosen((), {}, 3) is None


def test_merges_of_a_growing_run_are_found():
    columns = {"chosen_by": np.array([-1, 0, 1, 0], np.int16)}
    assert MergeQuery("by:d").chosen(("de", "en"), columns, 3).tolist() == [False, True, False]


def test_a_run_knows_who_chose_while_it_trains(qtbot, session, by_turns, step_to):
    session.training.set_settings(Settings(280, algorithm="parity", tie_break="mapped-strings"))
    made = [step_to(number).so_far() for number in range(1, 5)]
    session.training.resume()
    qtbot.waitUntil(lambda: session.training.current is None)
    whole = session.runs.active.run
    for part in made:
        assert part.languages == whole.languages == tuple(NAMES)
        assert part.columns["chosen_by"].tolist() == whole.columns["chosen_by"][: len(part)].tolist()


@pytest.fixture
def run(qtbot, session, pane, make_run):
    make_run("plain " * 9, vocabulary_size=258)
    session.corpus.set_sources(())
    return trained(qtbot, session)


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


def test_only_runs_of_picky_bpe_say_what_was_removed_and_are_filtered_by_it(pane, session, run, qtbot):
    assert titles(pane.model) == [*PLAIN, "Removed", "Fell apart"]
    session.runs.activate(session.runs.all[0])
    assert titles(pane.model) == PLAIN
    session.runs.activate(run)
    assert titles(pane.model) == [*PLAIN, "Removed", "Fell apart"]
    expected = removed(run)
    for number, (token, fell) in shown(pane).items():
        gone = expected.get(number, [])
        assert fell == ("" if not gone else f"{sum(n for _, n in gone):,}")
        assert token.count(" + ") == max(len(gone) - 1, 0)
        assert bool(token) == bool(gone)
        for raw, _ in gone:
            assert raw.decode().replace(" ", "·") in token
    number, gone = next(iter(removed(run).items()))
    pane.table.show_row(pane.model.row_of_number(number))
    with qtbot.waitSignal(pane.table.copied):
        pane.table.copy()
    fields = QGuiApplication.clipboard().text().split("\t")
    assert len(fields) == 9
    assert fields[-1] == str(sum(n for _, n in gone))
    gone = next(token for token in range(run.base_size, run.base_size + len(run)) if run.removals.removed_by(token))
    row = pane.model.row_of_token(gone)
    assert pane.model.number_at(row) == gone - run.base_size + 1
    pane.table.setFocus()
    pane.table.show_row(row)
    pane.table.rowChosen.emit(row)
    assert session.view.chosen == gone
    expected = removed(run)

    def listed() -> list[int]:
        qtbot.waitUntil(lambda: not pane.model.searching)
        return sorted(pane.model.number_at(row) for row in range(pane.model.rowCount()))

    assert "removed:" in pane.filter.toolTip()
    pane.filter.setText("removed:")
    assert listed() == sorted(expected)
    pane.filter.setText("removed:b")
    assert listed() == [number for number, gone in sorted(expected.items()) if any(b"b" in raw for raw, _ in gone)]
    assert 0 < len(listed()) < len(expected)
    pane.filter.setText("removed:nowhere")
    assert listed() == []


TEXT = "one of the cats sat on the mat, at the end of the day: of the 12 cats one of them sat.\n" * 6


def own_cells(pane) -> list[str]:
    """The cells of the last column, from the first merge on."""
    return column_texts(pane.model, len(PLAIN))[::-1]


def copied_cell(pane, number) -> str:
    pane.table.show_row(pane.model.row_of_number(number))
    copies = QSignalSpy(pane.table.copied)
    pane.table.copy()
    assert copies.count() or copies.wait(PATIENCE)
    return QGuiApplication.clipboard().text().split("\t")[-1]


def test_each_merge_of_superbpe_has_its_stage(pane, make_run):
    run = make_run(TEXT, vocabulary_size=290, algorithm="superbpe", pattern="gpt2", transition=270)
    assert titles(pane.model) == [*PLAIN, "Stage"]
    assert own_cells(pane) == ["1"] * 14 + ["2"] * (len(run) - 14)
    assert len(run) > 14
    assert copied_cell(pane, 15) == "2"
    make_run(vocabulary_size=290, pattern="gpt2")
    assert titles(pane.model) == PLAIN


@pytest.mark.parametrize("weight", [1000, 1500])
def test_each_supermerge_says_what_it_came_before(pane, session, make_run, weight):
    session.corpus.add_text(TEXT)
    session.corpus.set_weights((weight,))
    run = make_run(vocabulary_size=400, algorithm="boundless", pattern="gpt2")
    assert titles(pane.model) == [*PLAIN, "Came before"]
    overtaken, scale = run.run.columns["overtaken"].tolist(), run.weight_scale
    assert own_cells(pane) == ["" if count < 0 else f"{count / scale:,g}" for count in overtaken]
    assert {"", "0"} < set(own_cells(pane))
    number = next(at for at, count in enumerate(overtaken, 1) if count > 0)
    assert float(copied_cell(pane, number)) == overtaken[number - 1] / scale
