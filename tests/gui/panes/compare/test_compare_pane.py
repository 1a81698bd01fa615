"""The Compare pane: the matrix, its order and marks, the dots, and what an empty pane says."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMenu
from pytestqt.qtbot import QtBot

from tests.gui.person import PATIENCE
from tokstudio.core.comparison.figures import FIGURES
from tokstudio.core.comparison.table import number_text
from tokstudio.gui.panes.compare.matrix_model import BEST, GRADE
from tokstudio.gui.panes.compare.pane import ComparePane
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.run import StudioRun

Make = Callable[..., StudioRun]

TEXTS = [
    ("eng", "the cat sat on the mat\n" * 5),
    ("deu", "die Katze saß auf der Matte\n" * 5),
    ("cmn", "我家的猫\n" * 5),
]


@pytest.fixture
def compared(qtbot: QtBot, session: Session, pane: ComparePane, make_run: Make) -> ComparePane:
    session.corpus.add_texts(TEXTS)
    make_run(vocabulary_size=262)
    make_run(vocabulary_size=300)
    qtbot.waitUntil(lambda: cells(pane) == 6, timeout=PATIENCE)
    return pane


def cells(pane: ComparePane) -> int:
    """How many values the matrix shows."""
    model = pane.matrix.model
    texts = [
        model.index(row, column).data()
        for row in range(model.rowCount())
        for column in range(model.first, model.columnCount())
    ]
    return sum(text not in ("…", None) for text in texts)


def column_of(pane: ComparePane, column: int) -> list[str]:
    model = pane.matrix.model
    return [model.index(row, column).data() for row in range(model.rowCount())]


def choose(pane: ComparePane, figure: str) -> None:
    pane.figures.setCurrentIndex(list(FIGURES).index(figure))


def test_the_matrix_has_a_row_for_each_text_and_a_column_for_each_run(compared: ComparePane) -> None:
    model = compared.matrix.model
    assert [model.headerData(at, Qt.Orientation.Horizontal) for at in range(3)] == ["Text", "Run 1", "Run 2"]
    assert column_of(compared, 0) == ["eng", "deu", "cmn"]
    made = compared._state.comparison
    assert made is not None
    expected = made.figure("bytes_per_token")
    assert column_of(compared, 2) == [f"{value:.2f}" for value in expected[:, 1]]


def test_the_best_of_a_row_is_bold_and_coloured_most(compared: ComparePane) -> None:
    model = compared.matrix.model
    small, large = model.index(0, 1), model.index(0, 2)
    assert (small.data(BEST), large.data(BEST)) == (False, True)
    assert large.data(GRADE) == 1
    assert small.data(GRADE) < 1
    assert large.data(Qt.ItemDataRole.FontRole).bold()
    assert not small.data(Qt.ItemDataRole.FontRole).bold()


def test_a_simple_tokenizer_is_never_the_best(qtbot: QtBot, compared: ComparePane, session: Session) -> None:
    session.comparison.show_simple("Words", True)
    qtbot.waitUntil(lambda: cells(compared) == 9, timeout=PATIENCE)
    model = compared.matrix.model
    assert [model.index(0, column).data(BEST) for column in (1, 2, 3)] == [False, True, False]
    assert model.index(0, 3).data(GRADE) is None


def test_rows_are_sorted_by_a_column(compared: ComparePane) -> None:
    table = compared.matrix.table
    table.sortByColumn(2, Qt.SortOrder.DescendingOrder)
    values = [float(text) for text in column_of(compared, 2)]
    assert values == sorted(values, reverse=True)
    table.sortByColumn(0, Qt.SortOrder.AscendingOrder)
    assert column_of(compared, 0) == ["cmn", "deu", "eng"]
    menu = QMenu()
    compared.fill_menu(menu, 0, 1)
    menu.actions()[-1].trigger()
    assert column_of(compared, 0) == ["eng", "deu", "cmn"]


def test_texts_with_other_words_are_not_ranked_among_each_other(compared: ComparePane) -> None:
    choose(compared, "fertility")
    assert column_of(compared, 1) == ["words", "words", "characters"]
    compared.matrix.table.sortByColumn(3, Qt.SortOrder.AscendingOrder)
    assert column_of(compared, 0)[-1] == "cmn"
    compared.matrix.table.sortByColumn(3, Qt.SortOrder.DescendingOrder)
    assert column_of(compared, 0)[-1] == "cmn"
    assert compared.dots.order[-1] == 2


def test_every_figure_is_shown_with_its_formula(qtbot: QtBot, compared: ComparePane) -> None:
    for name, figure in FIGURES.items():
        choose(compared, name)
        qtbot.waitUntil(lambda: cells(compared) == 6, timeout=PATIENCE)
        assert figure.formula[1:] in compared.meaning.text()
        assert figure.note in compared.meaning.text()
        made = compared._state.comparison
        assert made is not None
        shown = column_of(compared, compared.matrix.model.first)
        assert shown == [number_text(value, figure.decimals, figure.is_share) for value in made.known(name)[:, 0]]


def test_another_base_changes_premiums(compared: ComparePane) -> None:
    choose(compared, "premium")
    assert column_of(compared, 0)[0] == "eng (base)"
    menu = QMenu()
    compared.fill_menu(menu, 1, 1)
    menu.actions()[0].trigger()
    assert column_of(compared, 0)[1] == "deu (base)"
    assert column_of(compared, 1)[1] == "1.00"


def test_summaries_are_below(compared: ComparePane) -> None:
    summary = compared.matrix.summary_model
    choose(compared, "tokens")
    assert [summary.index(row, 0).data() for row in range(summary.rowCount())] == ["All texts", "Gini", "Worst premium"]
    made = compared._state.comparison
    assert made is not None
    assert summary.index(0, 1).data() == f"{made.summary('total')[0]:,.0f}"
    assert summary.index(1, 1).data() == f"{made.summary('gini')[0]:.4f}"


def test_dots_have_the_values_of_a_row(qtbot: QtBot, compared: ComparePane) -> None:
    compared.tabs.setCurrentIndex(1)
    assert compared.dots.isVisible()
    lines = compared.dots.row_text(0).split("\n")
    assert lines[0] in ("eng", "deu", "cmn")
    assert lines[1].startswith("Run 1: ")
    picture = compared.dots.viewport().grab().toImage()
    assert len({picture.pixel(x, picture.height() // 3) for x in range(picture.width())}) > 1


def test_an_empty_pane_says_what_it_is_for(pane: ComparePane, session: Session) -> None:
    assert pane.empty.isVisible()
    assert "compared" in pane.empty.label.text()


def test_a_set_without_text_keeps_the_choices(qtbot: QtBot, compared: ComparePane) -> None:
    compared.texts.setCurrentIndex(2)
    qtbot.waitUntil(lambda: "empty" in compared.meaning.text(), timeout=PATIENCE)
    assert compared.texts.isVisible()
    compared.texts.setCurrentIndex(0)
    qtbot.waitUntil(lambda: cells(compared) == 6, timeout=PATIENCE)


def test_tokenizers_are_chosen_in_a_menu(qtbot: QtBot, compared: ComparePane, session: Session) -> None:
    compared._fill_tokenizers()
    entries = {action.text(): action for action in compared.tokenizers_menu.actions() if action.text()}
    assert list(entries) == ["Run 1", "Run 2", "Characters", "Bytes", "Words"]
    assert not entries["Run 2"].isEnabled()  # the active run is always compared
    entries["Run 1"].setChecked(False)
    qtbot.waitUntil(lambda: compared.matrix.model.columnCount() == 2, timeout=PATIENCE)
    assert compared.tokenizers.text() == "Tokenizers: 1"
