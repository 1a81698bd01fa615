"""The Compare pane: the matrix, its order and marks, the dots, and what an empty pane says."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QColor, QContextMenuEvent, QFontMetrics, QHelpEvent, QImage
from PySide6.QtWidgets import QApplication, QLineEdit, QMenu, QToolTip

from tests.gui.tables import click, column_texts, titles
from tokstudio import __version__
from tokstudio.core.comparison.comparison import Comparison
from tokstudio.core.comparison.figures import FIGURES
from tokstudio.core.comparison.table import SIGNS, TRAINED, number_text
from tokstudio.gui.panes.compare.dots import SHAPES, markers
from tokstudio.gui.panes.compare.matrix import BEST, GRADE
from tokstudio.gui.panes.compare.pane import ComparePane
from tokstudio.gui.plot.content import COLOURS, GREY, curve_pen
from tokstudio.gui.session.measuring.compared import file_set, parallel_set
from tokstudio.gui.state.run import RunOrigin
from tokstudio.gui.style.theme import DARK, LIGHT

TEXTS = [
    ("eng", "the cat sat on the mat\n" * 5),
    ("deu", "die Katze saß auf der Matte\n" * 5),
    ("cmn", "我家的猫\n" * 5),
]


@pytest.fixture
def compared(qtbot, session, pane, make_run) -> ComparePane:
    session.corpus.add_texts(TEXTS)
    make_run(vocabulary_size=262)
    make_run(vocabulary_size=300)
    qtbot.waitUntil(lambda: cells(pane) == 6)
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
    """The cells of a column, without the sign of texts that were trained on."""
    return [text.removeprefix(TRAINED) for text in column_texts(pane.matrix.model, column)]


def choose(pane: ComparePane, figure: str) -> None:
    pane.figures.setCurrentIndex(list(FIGURES).index(figure))


def test_tab_goes_through_a_view_after_the_choices_above_it(compared):
    other = QLineEdit(compared.window())  # as of a pane beside it
    other.show()
    titles = [compared.tabs.tabText(at) for at in range(compared.tabs.count())]
    for tab, name in (("Same Text", "same_text"), ("Vocabularies", "vocabularies"), ("Words", "words")):
        compared.tabs.setCurrentIndex(titles.index(tab))
        view, chain = getattr(compared, name), [compared.tokenizers]
        while chain[-1].nextInFocusChain() is not chain[0]:
            chain.append(chain[-1].nextInFocusChain())
        visited = [
            one for one in chain if one.focusPolicy() & Qt.FocusPolicy.TabFocus and one.isVisibleTo(compared.window())
        ]
        inner = [view.isAncestorOf(one) for one in visited]
        assert any(inner), tab
        assert not any(inner[: inner.index(True)][1:]), "nothing but the choices is before it"
        assert visited.index(other) > inner.index(True) + sum(inner) - 1


def test_a_change_of_something_else_updates_no_cell(qtbot, compared, session):
    session.comparison.choose_figure("tokens")
    told = []
    compared.matrix.model.dataChanged.connect(lambda first, last: told.append((first.row(), last.row())))
    session.comparison.changed.connect(lambda: told.append("state"))
    session.comparison.choose_figure("tokens")
    assert told == ["state"]
    session.comparison.choose_figure("bytes_per_token")
    assert told == ["state", (0, 0), (1, 1), (2, 2), "state"]


def test_a_result_updates_only_its_row(compared):
    model, told = compared.matrix.model, []
    made = model.content.comparison
    results = {(row, at): made.result(row, at) for row in range(3) for at in range(2)}
    without = Comparison(made.compared, made.measured, {at: each for at, each in results.items() if at[0] != 1})
    model.show(replace(model.content, comparison=without))
    shown = [column_of(compared, at) for at in (1, 2)]
    model.dataChanged.connect(lambda first, last: told.append((first.row(), last.row())))
    model.show(replace(model.content, comparison=Comparison(made.compared, made.measured, results)))
    assert told == [(1, 1)]
    assert [column_of(compared, at) for at in (1, 2)] != shown


def test_the_matrix_has_texts_and_runs_the_best_in_bold_summaries_and_a_base(compared, session):
    model = compared.matrix.model
    assert titles(model) == ["Text", "Run 1", "Run 2"]
    assert column_of(compared, 0) == ["eng", "deu", "cmn"]
    made = session.comparison.comparison
    expected = made.figure("bytes_per_token")
    assert column_of(compared, 2) == [f"{value:.2f}" for value in expected[:, 1]]
    small, large = model.index(0, 1), model.index(0, 2)
    assert (small.data(BEST), large.data(BEST)) == (False, True)
    assert large.data(GRADE) == 1
    assert small.data(GRADE) < 1
    assert large.data(Qt.ItemDataRole.FontRole).bold()
    assert not small.data(Qt.ItemDataRole.FontRole).bold()
    summary = compared.matrix.summary_model
    choose(compared, "tokens")
    assert column_texts(summary, 0) == ["All texts", "Gini", "Worst premium"]
    made = session.comparison.comparison
    assert summary.index(0, 1).data() == f"†{made.summary('total')[0]:,.0f}"
    assert summary.index(1, 1).data() == f"†{made.summary('gini')[0]:.4f}"
    choose(compared, "premium")
    made = session.comparison.comparison
    assert summary.index(0, 0).data() == "Gini"
    bold = [summary.index(0, column).data(Qt.ItemDataRole.FontRole).bold() for column in (1, 2)]
    assert bold.index(True) == made.summary("gini").argmin()
    assert bold.count(True) == 1
    choose(compared, "tokens")
    assert not summary.index(0, 2).data(Qt.ItemDataRole.FontRole).bold()  # of all texts
    choose(compared, "words_split")
    assert compared.meaning.text().startswith(
        "Words with more than one token / W (W: words). Unit: share of the words."
    )
    assert compared.matrix.model.headerData(1, Qt.Orientation.Horizontal) == "W counts"
    choose(compared, "premium")
    assert column_of(compared, 0)[0] == "eng (base)"
    menu = QMenu()
    compared.fill_menu(menu, 1, 1)
    menu.actions()[0].trigger()
    assert column_of(compared, 0)[1] == "deu (base)"
    assert column_of(compared, 1)[1] == "1.00"
    choose(compared, "fertility")
    assert column_of(compared, 1) == ["words", "words", "characters"]
    compared.matrix.table.sortByColumn(3, Qt.SortOrder.AscendingOrder)
    assert column_of(compared, 0)[-1] == "cmn"
    compared.matrix.table.sortByColumn(3, Qt.SortOrder.DescendingOrder)
    assert column_of(compared, 0)[-1] == "cmn"
    assert compared.dots.order[-1] == 2
    session.comparison.choose_figure("fertility")
    assert compared.figures.choices[compared.figures.currentIndex()].value == "fertility"
    for tab in range(5):
        compared.tabs.setCurrentIndex(tab)
        assert compared.texts.isVisible()
        assert compared.tokenizers.isVisible()
        assert compared.figures.isVisible() == (tab < 2)


def test_copied_cells_have_their_text_and_the_size_of_the_tokenizer(qtbot, compared, session):
    model = compared.matrix.model
    session.view.set_playhead(3)  # of Run 2
    qtbot.waitUntil(
        lambda: (
            model.headerData(2, Qt.Orientation.Horizontal, Qt.ItemDataRole.AccessibleTextRole) == "Run 2 (259 tokens)"
            and cells(compared) == 6
        )
    )
    table = compared.matrix.table
    click(qtbot, table, 1, 2)
    qtbot.keyClick(table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    *told, headings, row = QApplication.clipboard().text().split("\n")
    assert told[0] == "Bytes per token = B / N. Unit: bytes of UTF-8 per token"
    assert told[1:] == [f"† {SIGNS['†']}", f"TokStudio {__version__}"]
    assert headings.split("\t") == ["Text", "Run 2 (259 tokens)"]
    assert row.split("\t") == ["deu", compared.matrix.model.index(1, 2).data()]


def test_rows_are_sorted_by_a_column_and_by_the_menu_of_a_cell(compared, session):
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
    table.setCurrentIndex(compared.matrix.model.index(1, 2))
    with_key = QContextMenuEvent(QContextMenuEvent.Reason.Keyboard, QPoint(), QPoint())
    asked: list[tuple[int, int]] = []
    compared.matrix.menuAsked.connect(lambda row, column, _: asked.append((row, column)))
    QApplication.sendEvent(table, with_key)
    assert asked == [(1, 2)]
    menu = QMenu()
    compared.fill_menu(menu, 1, 2)
    entries = {action.text(): action for action in menu.actions()}
    entries["Sort &Descending"].trigger()
    values = [float(text) for text in column_of(compared, 2)]
    assert values == sorted(values, reverse=True)
    entries["Sort &Ascending"].trigger()
    assert [float(text) for text in column_of(compared, 2)] == sorted(values)
    entries["Compare &Lengths with This"].trigger()
    choose(compared, "normalised_length")
    assert set(column_of(compared, 2)) == {"1.000"}


def test_every_figure_is_shown_with_its_formula(qtbot, compared, session):
    for name, figure in FIGURES.items():
        choose(compared, name)
        qtbot.waitUntil(lambda: cells(compared) == 6)
        assert figure.explained_formula in compared.meaning.text()
        assert figure.note in compared.meaning.text()
        made = session.comparison.comparison
        shown = column_of(compared, compared.matrix.model.first)
        assert shown == [
            number_text(value, figure.decimals, figure.is_share) for value in made.figure(name, encode=False)[:, 0]
        ]


def test_no_number_is_cut_by_its_column(qtbot, monkeypatch, compared, session):
    monkeypatch.setattr("tokstudio.gui.panes.compare.matrix._VALUE_COLUMN", 20)
    for run, name in zip(session.runs.all, "AB", strict=True):
        session.runs.rename(run, name)
    QApplication.processEvents()
    long = "the cat sat on the mat " * 5_000
    session.corpus.add_texts([("long", long)])
    qtbot.waitUntil(lambda: cells(compared) == 8)
    for figure in range(len(FIGURES)):
        compared.figures.setCurrentIndex(figure)
        QApplication.processEvents()
        for table in (compared.matrix.table, compared.matrix.summary):
            model = table.model()
            for row in range(model.rowCount()):
                for column in range(model.first, model.columnCount()):
                    font = model.index(row, column).data(Qt.ItemDataRole.FontRole)
                    wide = QFontMetrics(font).horizontalAdvance(model.index(row, column).data() or "")
                    assert wide < table.columnWidth(column), (figure, model.index(row, column).data())


def test_the_legend_of_the_dots_has_every_tokenizer(qtbot, compared, session):
    for number, run in enumerate(session.runs.all):
        session.runs.rename(run, f"A tokenizer with a long name {number}")
    compared.tabs.setCurrentIndex(1)
    compared.dots.setFixedWidth(300)
    qtbot.waitUntil(lambda: compared.dots.viewport().width() == 300)
    qtbot.waitUntil(lambda: len(compared.dots.legend) == len(session.runs.all) == 2)
    (first, _), (second, name) = compared.dots.legend
    assert name.startswith("A token")
    assert first.bottom() <= second.top(), "the second does not fit beside the first"
    assert max(first.right(), second.right()) <= 300


def test_headings_that_would_look_the_same_show_the_ends_of_names(qtbot, compared, session):
    def headings() -> list[str]:
        return titles(compared.matrix.model)[1:]

    assert headings() == ["Run 1", "Run 2"]
    names = [f"SentencePiece of a library with a long name {end}" for end in ("BPE", "Unigram")]
    for run, name in zip(session.runs.all, names, strict=True):
        session.runs.rename(run, name)
    qtbot.waitUntil(lambda: headings() != ["Run 1", "Run 2"] and headings() != names)
    assert [heading[:1] + heading[-3:] for heading in headings()] == ["…BPE", "…ram"]


def test_a_set_without_text_or_that_cannot_be_read_keeps_the_choices(qtbot, compared, session, tmp_path, actions):
    compared.texts.setCurrentIndex(2)
    qtbot.waitUntil(lambda: "empty" in compared.meaning.text())
    assert compared.texts.isVisible()
    compared.texts.setCurrentIndex(0)
    qtbot.waitUntil(lambda: cells(compared) == 6)
    for name, text in (("eng_Latn.txt", "One.\nTwo.\n"), ("deu_Latn.txt", "Eins.\n")):
        (tmp_path / name).write_text(text)
    session.comparison.add_texts(parallel_set(tmp_path))
    qtbot.waitUntil(lambda: '"deu_Latn" has 1' in compared.problem.text())
    assert compared.texts.isVisible()
    assert compared.measure.isVisible()
    actions["measure_comparison"].triggered.connect(session.comparison.measure)
    (tmp_path / "deu_Latn.txt").write_text("Eins.\nZwei.\n")
    compared.measure.click()
    qtbot.waitUntil(lambda: column_of(compared, 0) == ["German deu_Latn", "English eng_Latn"])
    assert not compared.problem.isVisible()


def test_the_list_of_tokenizers_stays_open_while_one_ticks(qtbot, compared, session):
    menu = compared.tokenizers_menu
    menu.popup(compared.mapToGlobal(QPoint(10, 10)))
    qtbot.waitUntil(menu.isVisible)
    entries = {action.text(): action for action in menu.actions() if action.text()}
    assert list(entries) == ["Run 1", "Run 2", "Characters", "Bytes", "Words and marks", "compare_algorithms"]
    assert not entries["Run 2"].isEnabled()  # the active run is always compared

    def click(name: str) -> None:
        qtbot.mouseClick(menu, Qt.MouseButton.LeftButton, pos=menu.actionGeometry(entries[name]).center())
        assert menu.isVisible()

    for name in ("Run 1", "Run 2", "Bytes", "Characters"):
        click(name)
    qtbot.keyClick(menu, Qt.Key.Key_Down)  # from Characters to Bytes
    qtbot.keyClick(menu, Qt.Key.Key_Space)
    qtbot.waitUntil(lambda: compared.tokenizers.text() == "Tokenizers: 2")
    qtbot.keyClick(menu, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: compared.tokenizers.text() == "Tokenizers: 3")
    assert menu.isVisible()
    assert [entries[name].isChecked() for name in list(entries)[:5]] == [False, True, True, True, False]
    names = [column.name for column in session.comparison.columns]
    assert names == ["Run 2", "Characters", "Bytes"]
    qtbot.waitUntil(lambda: compared.matrix.model.columnCount() == 4)
    qtbot.keyClick(menu, Qt.Key.Key_Escape)
    assert not menu.isVisible()


def test_a_tokenizer_is_marked_on_the_text_it_was_trained_on_also_where_it_wins(qtbot, compared, session, tmp_path):
    model = compared.matrix.model
    made = session.comparison.comparison
    values = made.figure("bytes_per_token")[0].tolist()
    assert [model.index(0, column).data() for column in (1, 2)] == [f"†{value:.2f}" for value in values]
    assert model.index(0, 2).data(BEST)
    assert f"† {SIGNS['†']}" in compared.meaning.text()
    assert f"† {SIGNS['†']}" in model.index(0, 2).data(Qt.ItemDataRole.ToolTipRole)
    assert compared.matrix.summary_model.index(0, 2).data().startswith("†")
    compared.tabs.setCurrentIndex(1)
    assert compared.dots.row_text(0).count("†") == 2
    same, other = tmp_path / "same.txt", tmp_path / "other.txt"
    same.write_text(TEXTS[0][1])
    other.write_text(TEXTS[0][1] + "a cat")
    compared.tabs.setCurrentIndex(0)
    session.comparison.add_texts(file_set([same, other]))
    qtbot.waitUntil(lambda: cells(compared) == 4)
    assert [model.index(row, 1).data().startswith("†") for row in range(2)] == [True, False]


def test_no_two_markers_of_dots_are_alike(qtbot, compared, session):
    hues = [None, 0, 9, 18, None, 27, 8, 1, None, 17, *range(-80, 80)]
    made = markers(hues)
    assert len(set(made)) == len(hues)
    assert all(one.colour == hue % COLOURS for one, hue in zip(made, hues, strict=True) if hue is not None)
    assert sum(bool(one.label) for one in made) == len(hues) - COLOURS * len(SHAPES)
    run = session.runs.all[0]
    for number in range(20):
        session.runs.add_tokenizer(run.tokenizer, f"{number}", RunOrigin(Path("x"), (), "", True))
    session.runs.activate(run)
    session.comparison.set_simple({"Characters", "Bytes"})
    compared.tabs.setCurrentIndex(1)
    qtbot.waitUntil(lambda: len(compared.dots.legend) == 24)
    picture = compared.dots.viewport().grab().toImage()
    seen: list[QImage] = []
    for place, _ in compared.dots.legend:
        seen.append(picture.copy(round(place.left()) - 2, round(place.center().y()) - 8, 14, 16))
    unlike = [
        sum(one.pixel(x, y) != two.pixel(x, y) for x in range(14) for y in range(16))
        for one, two in combinations(seen, 2)
    ]
    assert min(unlike) > 8


def test_a_legend_that_leaves_no_room_scrolls_with_the_rows(qtbot, compared, session):
    compared.tabs.setCurrentIndex(1)
    dots, run = compared.dots, session.runs.all[0]
    bar = dots.verticalScrollBar()
    qtbot.waitUntil(lambda: len(dots.legend) == 2)
    assert bar.maximum() == 0
    dots.setFixedHeight(120)
    for number in range(18):
        session.runs.add_tokenizer(run.tokenizer, f"Tokenizer {number}", RunOrigin(Path("x"), (), "", True))
    qtbot.waitUntil(lambda: len(dots.legend) == 20 and cells(compared) == 60)
    assert bar.maximum() > 0
    bar.setValue(bar.maximum())
    last = dots.viewport().height() - dots.fontMetrics().height() - 15  # above the numbers of the axis
    place = QPoint(50, last)
    QApplication.sendEvent(dots.viewport(), QHelpEvent(QEvent.Type.ToolTip, place, dots.mapToGlobal(place)))
    assert QToolTip.text().startswith(dots.row_text(len(dots.order) - 1).split("\n")[0])
    QToolTip.hideText()
    names = dots.viewport().grab().toImage()
    assert len({names.pixel(x, last) for x in range(names.width())}) > 1


def test_palettes_have_the_same_number_of_colours_and_end_with_grey():
    for palette in (LIGHT, DARK):
        assert 1 + len(palette.curves) == COLOURS
        assert curve_pen(palette, GREY, active=True).color() == QColor(palette.muted)


def test_cancelled_measuring_is_said(compared, session, monkeypatch):
    assert not compared.problem.isVisible()
    monkeypatch.setattr(session.comparison, "cancelled", True)
    session.comparison.changed.emit()
    assert compared.problem.isVisible()
    assert "cancelled" in compared.problem.text()
    assert compared.measure.isVisible()


def test_a_cell_that_failed_says_so(qtbot, compared, session, make_run):
    make_run("abc abc", base="characters", vocabulary_size=30)
    session.corpus.add_texts([("rus", "кот")])
    qtbot.waitUntil(lambda: cells(compared) == 12)
    assert column_of(compared, 3)[3] == "failed"
    assert column_of(compared, 1)[3] != "failed"
    assert compared.problem.text().startswith("Run 3 failed on rus: ")


def test_the_mark_of_lost_text_is_explained(qtbot, session, pane, make_run):
    session.corpus.add_texts([("eng", "the cat")])
    characters = {"base": "characters", "base_vocabulary": tuple("the ca"), "special_tokens": ("<unk>",)}
    make_run(vocabulary_size=20, unknown_token="<unk>", **characters)
    qtbot.waitUntil(lambda: cells(pane) == 1)
    assert "*" not in pane.meaning.text()
    session.corpus.add_texts([("deu", "Hund")])
    qtbot.waitUntil(lambda: cells(pane) == 2)
    assert column_of(pane, 1)[1].startswith("*")
    assert "* Text is unknown to the tokenizer or lost" in pane.meaning.text()
    # A low pane hides the sentences.
    assert "* Text is unknown to the tokenizer or lost" in pane.matrix.model.index(1, 1).data(
        Qt.ItemDataRole.ToolTipRole
    )


def test_premiums_of_different_lines_are_refused(qtbot, session, pane, make_run):
    session.corpus.add_texts([("one", "a b\nc d\n"), ("two", "a b\n")])
    make_run(vocabulary_size=257)
    qtbot.waitUntil(lambda: cells(pane) == 2)
    choose(pane, "premium")
    assert "same lines" in pane.meaning.text()
    choose(pane, "tokens")
    menu = QMenu()
    pane.fill_menu(menu, 0, 1)
    assert not any("Premiums" in action.text() for action in menu.actions())


def test_dots_have_the_colours_of_the_runs(qtbot, compared, session, theme):
    session.runs.show_curve(session.runs.all[0], False)
    qtbot.waitUntil(lambda: compared.matrix.model.columnCount() == 2)
    compared.tabs.setCurrentIndex(1)
    picture = compared.dots.viewport().grab().toImage().convertToFormat(QImage.Format.Format_RGB32)
    seen = np.unique(np.frombuffer(picture.constBits(), np.uint32) | 0xFF000000)
    hidden, active = (curve_pen(theme.palette, run.hue, active=True).color().rgb() for run in session.runs.all)
    assert active in seen
    assert hidden not in seen


def test_each_empty_view_says_what_it_will_show(qtbot, session, theme, actions, show):
    pane = ComparePane(session, theme, actions)
    show(pane, 700, 400)
    said = []
    for tab in range(pane.tabs.count()):
        pane.tabs.setCurrentIndex(tab)
        assert pane.empty.isVisible()
        said.append(pane.empty.label.text())
    assert len(set(said)) == 6
    assert all(text.endswith("Train one with each algorithm, or train or open your own.") for text in said)
