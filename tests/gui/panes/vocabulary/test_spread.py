"""The columns and kinds of Vocabulary that need the corpus: asked for by the user, equal to a recount, cancelled."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import csv
import math
from collections import Counter
from dataclasses import replace

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QAbstractItemModelTester

from tests.core.exploration.recount import dispersion, encoded, pieces_of
from tests.gui.person import at_window, quiet, trained
from tests.gui.tables import column_texts, listed, titles
from tokstudio import Corpus
from tokstudio.core.base.progress import Progress
from tokstudio.core.corpus.source import Source
from tokstudio.gui.panes.vocabulary import pane as module
from tokstudio.gui.panes.vocabulary.pane import VocabularyPane
from tokstudio.gui.panes.vocabulary.selection import BUNCHED, DISPERSION, EMITTED, OF_CORPUS, RANGE, TOP
from tokstudio.gui.token_table.filters import IN_ONE, MOSTLY_IN_ONE, MOSTLY_REPEATED

OPTIONAL = ("Documents", "Top document", "Bunched", "Dispersion", "Emitted")
BANNER = "accept all cookies before you read on"
PLAIN = [f"the cat {number} sat on the mat and the rat" for number in range(40)]
ODD = [f"{text}\n{BANNER}" if at % 3 else text for at, text in enumerate(PLAIN[:9])]
TEXTS = [*PLAIN, *ODD[:5], "zorb zorb zorb " * 9, "a zorb", *ODD[5:]]


@pytest.fixture
def pane(qtbot, session, theme, actions, show) -> VocabularyPane:
    pane = VocabularyPane(session, theme, actions)
    show(pane, 1100, 400)
    pane.table.sortByColumn(0, Qt.SortOrder.AscendingOrder)
    return pane


def rows(texts: list[str], name: str = "a") -> Source:
    return replace(Source.from_texts(texts, name), is_rows=True)


def choose(pane, *names: str) -> None:
    """Ticks columns in the menu of the header."""
    for action in pane.table.columns_menu.actions():
        if action.text() in names:
            action.trigger()


def settle(qtbot, session, pane) -> None:
    qtbot.wait(20)
    qtbot.waitUntil(lambda: not pane.busy() and not pane.spreading.busy and not session.jobs.running)


def shown(pane) -> list[str]:
    return [title for at, title in enumerate(titles(pane.model)) if not pane.table.isColumnHidden(at)]


def test_columns_are_computed_only_when_asked_for_and_equal_a_recount(qtbot, session, pane, make_run):
    session.corpus.set_sources((rows(TEXTS),))
    make_run(vocabulary_size=300, pattern="gpt2")
    settle(qtbot, session, pane)
    assert "Documents" not in shown(pane)
    assert session.exploring.exploration._dispersion is None, "nobody has asked"
    assert set(column_texts(pane.model, RANGE)) == {"–"}
    choose(pane, *OPTIONAL)
    settle(qtbot, session, pane)
    assert shown(pane)[-5:] == list(OPTIONAL)
    tokenizer, documents = session.view.tokenizer, [text.encode() for text in TEXTS]
    units = [Counter(encoded(tokenizer, document)) for document in documents]
    pieces, total = pieces_of(tokenizer, documents), sum(unit.total() for unit in units)
    for row, token in enumerate(listed(pane.model)):
        ranges, uses = [unit[token] for unit in units if unit[token]], sum(unit[token] for unit in units)
        texts = [pane.model.index(row, column).data() for column in OF_CORPUS]
        assert texts[0] == f"{len(ranges)}"
        if not uses:
            assert texts[1:4] == ["–"] * 3
            continue
        top = max(range(len(units)), key=lambda at: (units[at][token], -at))
        assert texts[1].endswith(f"\xa0% row {top + 1}")
        assert abs(int(texts[1].split("\xa0")[0]) - 100 * units[top][token] / uses) <= 1
        expected = sum(1 - (1 - unit.total() / total) ** uses for unit in units)
        assert texts[2] == f"{expected / len(ranges):,.1f}"
        dp, _ = dispersion([piece.total() for piece in pieces], [piece[token] for piece in pieces])
        assert math.isclose(float(texts[3]), dp, abs_tol=0.0051)
        assert texts[4].endswith("%")
    QGuiApplication.clipboard().clear()
    pane.table.selectAll()
    pane.table.copy()
    qtbot.waitUntil(lambda: QGuiApplication.clipboard().text().count("\n") >= pane.model.rowCount())
    last = QGuiApplication.clipboard().text().splitlines()[-1].split("\t")
    assert last[-5:] == [pane.model.index(pane.model.rowCount() - 1, column).data() for column in OF_CORPUS]


def test_a_title_sorts_both_ways_and_tokens_without_a_figure_are_last(qtbot, session, pane, make_run):
    session.corpus.set_sources((rows(TEXTS),))
    make_run(vocabulary_size=300, pattern="gpt2")
    choose(pane, *OPTIONAL)
    settle(qtbot, session, pane)
    measured = pane.model.spread.measured
    figures_of = {
        RANGE: measured.range, TOP: measured.top_share, BUNCHED: measured.bunched, DISPERSION: measured.dp,
        EMITTED: measured.emitted,
    }  # fmt: skip
    assert {*figures_of} == {*OF_CORPUS}
    for column, values in figures_of.items():
        for order in (Qt.SortOrder.DescendingOrder, Qt.SortOrder.AscendingOrder):
            pane.table.sortByColumn(column, order)
            settle(qtbot, session, pane)
            sign = -1 if order == Qt.SortOrder.DescendingOrder else 1
            figures = {token: sign * float(values[token]) for token in listed(pane.model)}
            key = {token: (math.isnan(value), 0 if math.isnan(value) else value) for token, value in figures.items()}
            assert listed(pane.model) == sorted(sorted(key), key=key.__getitem__), (column, order)


def test_a_moved_playhead_shows_dashes_until_its_figures_are_known(qtbot, session, pane, make_run):
    # It looks at every cell at each change: of few characters there are few.
    QAbstractItemModelTester(pane.model, QAbstractItemModelTester.FailureReportingMode.Fatal, pane)
    session.corpus.set_sources((rows(TEXTS),))
    run = make_run(vocabulary_size=70, pattern="gpt2", base="characters")
    choose(pane, "Documents")
    settle(qtbot, session, pane)
    before = dict(zip(listed(pane.model), column_texts(pane.model, RANGE), strict=True))
    session.view.set_playhead(5)
    assert set(column_texts(pane.model, RANGE)) == {"–"}
    settle(qtbot, session, pane)
    now = dict(zip(listed(pane.model), column_texts(pane.model, RANGE), strict=True))
    encode = run.tokenizer.at(5).encode
    assert now == {token: str(sum(token in ids for ids in map(encode, TEXTS))) for token in range(run.base_size + 5)}
    assert any(now[token] != before[token] for token in now)
    assert not pane.weights_note.isVisible()
    session.corpus.set_weights((2000,))
    assert pane.weights_note.isVisible()


def test_kinds_list_tokens_of_one_document_and_of_repeated_lines(qtbot, session, pane, make_run):
    session.corpus.set_sources((rows(TEXTS),))
    run = make_run(vocabulary_size=330, pattern="gpt2")
    settle(qtbot, session, pane)
    documents = [Counter(run.tokenizer.encode(text)) for text in TEXTS]
    lines, seen, repeated = [line for text in TEXTS for line in text.splitlines(keepends=True)], set(), Counter()
    for line in lines:
        if line.strip() in seen and len(line.strip()) >= 20:
            repeated.update(run.tokenizer.encode(line))
        seen.add(line.strip())
    assert not {"Top document", "Bunched"} & set(shown(pane))
    total = sum(documents, Counter())
    shares = {token: max(each[token] for each in documents) / total[token] for token in total}
    expected = {
        IN_ONE: {token for token in total if sum(token in each for each in documents) == 1},
        MOSTLY_IN_ONE: {token for token, share in shares.items() if share >= 0.9},
        MOSTLY_REPEATED: {token for token in total if repeated[token] >= 0.9 * total[token]},
    }
    for names in ({IN_ONE}, {MOSTLY_IN_ONE}, {MOSTLY_REPEATED}, {IN_ONE, MOSTLY_REPEATED}):
        pane.panel.choose(names)
        settle(qtbot, session, pane)
        assert set(listed(pane.model)) == set().union(*(expected[name] for name in names)), names
        assert pane.note.text() == f"{len(listed(pane.model)):,} of 330"
        assert {"Top document", "Bunched"} <= set(shown(pane)), "what they are chosen by"
        bunched = pane.model.spread.measured.bunched
        assert [bunched[token] for token in listed(pane.model)] == sorted(map(bunched.__getitem__, listed(pane.model)))[
            ::-1
        ]
    assert all(expected.values())
    # It looks at every cell at each change: few rows go and come.
    QAbstractItemModelTester(pane.model, QAbstractItemModelTester.FailureReportingMode.Fatal, pane)
    for names in ({IN_ONE}, {IN_ONE, MOSTLY_REPEATED}):
        pane.panel.choose(names)
        settle(qtbot, session, pane)
        assert set(listed(pane.model)) == set().union(*(expected[name] for name in names))


def test_few_documents_are_counted_in_pieces_and_an_opened_tokenizer_in_the_corpus(qtbot, session, pane, make_run):
    session.corpus.add_text("the cat sat on the mat. " * 300, "one.txt")
    tokenizer = make_run(vocabulary_size=280, pattern="gpt2").tokenizer
    session.runs.add_tokenizer(tokenizer, "Opened")
    assert not session.runs.active.has_counts
    choose(pane, "Documents", "Top document")
    settle(qtbot, session, pane)
    assert shown(pane)[-2:] == ["Pieces", "Top piece"]
    assert max(map(int, column_texts(pane.model, RANGE))) == len(pane.model.spread.measured.pieces)
    assert "piece" in "".join(column_texts(pane.model, TOP))
    session.corpus.set_sources((rows(TEXTS),))
    settle(qtbot, session, pane)
    assert shown(pane)[-2:] == ["Documents", "Top document"]


def test_without_documents_the_pane_says_why_and_work_is_cancelled(qtbot, session, pane, make_run, monkeypatch):
    session.corpus.set_sources((rows(TEXTS),))
    make_run(vocabulary_size=280, pattern="gpt2")
    is_stuck = [True]

    def slow(exploration, with_lines):
        while is_stuck[0]:
            yield Progress("encoding", 1, 2)
        return (yield from found(exploration, with_lines))

    found = module.spread_work
    monkeypatch.setattr(module, "spread_work", slow)
    choose(pane, "Documents")
    qtbot.waitUntil(lambda: pane.work.doing.text() == "Encoding the corpus…")
    assert pane.work.cancel.isVisible()
    qtbot.mouseClick(pane.work.cancel, Qt.MouseButton.LeftButton)
    assert pane.work.problem.text() == "Cancelled."
    assert set(column_texts(pane.model, RANGE)) == {"–"}
    is_stuck[0] = False
    qtbot.mouseClick(pane.work.again, Qt.MouseButton.LeftButton)
    settle(qtbot, session, pane)
    assert "–" not in column_texts(pane.model, RANGE)
    session.corpus.set_sources(Corpus.from_counts({"the": 3}).sources)
    settle(qtbot, session, pane)
    assert "which have no documents" in pane.work.problem.text()
    assert pane.work.isVisible()
    choose(pane, "Documents")
    assert not pane.work.isVisible(), "nobody asks any more"


@at_window()
def test_the_menu_of_the_header_is_kept_and_the_csv_has_the_figures(qtbot, unstyled, window, tmp_path, answers):
    window.session.corpus.set_sources((rows(TEXTS, "a, b"),))
    run = trained(qtbot, window)
    window.places.open(window.vocabulary)
    pane = window.vocabulary
    header = pane.table.horizontalHeader()
    header.customContextMenuRequested.emit(QPoint(5, 5))
    menu = pane.table.columns_menu
    assert menu.isVisible()
    assert [action.text() for action in menu.actions()] == list(OPTIONAL)
    qtbot.keyClick(menu, Qt.Key.Key_Down)
    qtbot.keyClick(menu, Qt.Key.Key_Return)
    menu.hide()
    settle(qtbot, window.session, pane)
    assert window.preferences.get("token_columns", "") == "Documents"
    assert window.session.runs.active is run
    pane.panel.choose({IN_ONE})
    settle(qtbot, window.session, pane)
    answers.target = tmp_path / "vocabulary.csv"
    window.actions_by_id["export_vocabulary_csv"].trigger()
    quiet(qtbot, window)
    with answers.target.open(encoding="utf-8", newline="") as file:
        table = list(csv.DictReader(file))
    assert [int(row["id"]) for row in table] == listed(pane.model)
    assert {row["documents"] for row in table} == {"1"}
    for row in table:
        uses = [list(run.tokenizer.encode(text)).count(int(row["id"])) for text in TEXTS]
        assert int(row["uses_in_the_text"]) == sum(uses)
        assert row["top_document"] == f"a, b, row {uses.index(max(uses)) + 1}"
        assert row["top_share"] == "1.0"
