"""The Runs pane: choosing, renaming, deleting, and following a training; and the rows of its table."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QModelIndex, QPoint, QPointF, Qt
from PySide6.QtGui import QAction, QContextMenuEvent, QImage, QPainter, QPen
from PySide6.QtTest import QAbstractItemModelTester
from PySide6.QtWidgets import QApplication, QLineEdit, QMenu, QTableView

from tests.gui.person import TEXT
from tests.gui.tables import click
from tokstudio import Corpus, TrainingConfig, __version__, train
from tokstudio.core.corpus.source import Source
from tokstudio.gui.panes.runs.model import (
    ACTIVE,
    ALGORITHM,
    BASE,
    BYTES,
    CORPUS,
    ENDED,
    FREQUENCY,
    HELD_OUT,
    HUE,
    MARK,
    MERGES,
    NAME,
    PATTERN,
    RATIO,
    SECONDS,
    SPECIALS,
    TIES,
    VOCABULARY,
    RunsModel,
    settings_lines,
)
from tokstudio.gui.panes.runs.pane import RunsPane
from tokstudio.gui.plot.content import curve_pen, draw_mark
from tokstudio.gui.session.training.training import Settings
from tokstudio.gui.state.run import RunOrigin, StudioRun
from tokstudio.gui.style.theme import Theme


@pytest.fixture
def pane(session, theme, actions, dock) -> RunsPane:
    pane = RunsPane(session, theme, actions)
    pane.deleteAsked.connect(session.runs.delete)
    dock(pane, 1000, 500)
    # The window's own action for the same key must not win while the table has the focus.
    actions["rename_run"].setShortcut("F2")
    pane.window().addAction(actions["rename_run"])
    return pane


_MENUS = ["&Measure On", "&Columns of Tokenizers"]


def table(pane: RunsPane) -> QTableView:
    view = pane.findChild(QTableView)
    assert view is not None
    return view


def text(pane: RunsPane, row: int, column: int) -> str:
    return table(pane).model().index(row, column).data()


@pytest.fixture
def three(make_run, pane) -> RunsPane:
    for size in (270, 280, 290):
        make_run(vocabulary_size=size)
    return pane


def test_a_copied_row_has_its_headings_and_says_what_it_is_measured_on(qtbot, three, session):
    other = QApplication.clipboard()
    three.resize(320, 500)  # hides most columns
    click(qtbot, table(three), 1, NAME)
    qtbot.waitUntil(lambda: text(three, 1, RATIO) not in ("…", "–"))
    session.corpus.add_text("another text")
    qtbot.waitUntil(lambda: "1 more" in three.text_button.text())
    qtbot.waitUntil(lambda: text(three, 1, RATIO).startswith("†"))
    qtbot.keyClick(table(three), Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    measured, version, headings, row = other.text().split("\n")
    assert "measured on Pasted text and 1 more for every row; † marks runs that were trained on it" in measured
    assert version == f"TokStudio {__version__}"
    cells = dict(zip(headings.split("\t"), row.split("\t"), strict=True))
    assert (cells["Tokenizer"], cells["Vocabulary"]) == ("Run 2", "280")
    assert cells["Bytes/token"] == text(three, 1, RATIO)


def test_every_training_becomes_a_row_that_is_renamed_chosen_and_deleted(three, session, qtbot):
    assert table(three).isVisible()
    assert [text(three, row, NAME) for row in range(3)] == ["Run 1", "Run 2", "Run 3"]
    assert [text(three, row, MERGES) for row in range(3)] == ["14", "24", "34"]
    assert text(three, 2, RATIO) == f"†{session.runs.active.bytes_per_token(34):,.3f}"
    assert table(three).currentIndex().row() == 2
    table(three).setFocus()
    qtbot.keyClick(table(three), Qt.Key.Key_Up)
    qtbot.keyClick(table(three), Qt.Key.Key_F2)
    editor = table(three).findChild(QLineEdit)
    assert editor is not None
    qtbot.keyClicks(editor, "Half size")
    qtbot.keyClick(editor, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: session.runs.all[1].name == "Half size")
    assert text(three, 1, NAME) == "Half size"
    assert session.runs.active is session.runs.all[2], "Enter in the field ends the editing and activates nothing"
    for column in (MARK, NAME, MERGES):
        session.runs.activate(session.runs.all[2])
        click(qtbot, table(three), 0, column)
        assert session.runs.active is session.runs.all[0], column
        assert session.view.playhead == 14
    click(qtbot, table(three), 1, MERGES, double=True)
    assert session.runs.active is session.runs.all[1]
    table(three).setFocus()
    qtbot.keyClick(table(three), Qt.Key.Key_Up)
    qtbot.keyClick(table(three), Qt.Key.Key_Return)
    assert session.runs.active is session.runs.all[0]
    first, second, third = session.runs.all
    click(qtbot, table(three), 1, NAME)
    qtbot.keyClick(table(three), Qt.Key.Key_Delete)
    assert session.runs.all == [first, third]
    assert [text(three, row, NAME) for row in range(2)] == ["Run 1", "Run 3"]
    assert second not in session.runs.all
    view = table(three)
    place = QPoint(5, view.viewport().height() - 5)
    event = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, place, view.viewport().mapToGlobal(place))
    QApplication.sendEvent(view.viewport(), event)
    assert not any(menu.isVisible() for menu in view.findChildren(QMenu))
    view = table(three)
    header = view.horizontalHeader()
    header.customContextMenuRequested.emit(QPoint(60, 5))
    assert view.columns_menu.isVisible()
    view.columns_menu.close()


def ask_for_menu(pane: RunsPane, row: int) -> QMenu:
    """Presses the menu key on a row."""
    view = table(pane)
    view.setFocus()
    view.setCurrentIndex(view.model().index(row, NAME))
    QApplication.sendEvent(view, QContextMenuEvent(QContextMenuEvent.Reason.Keyboard, QPoint(), QPoint()))
    return next(menu for menu in view.findChildren(QMenu) if menu.isVisible())


def entries(menu: QMenu) -> dict[str, QAction]:
    return {action.text().split("\t")[0]: action for action in menu.actions() if not action.isSeparator()}


def test_the_menu_of_a_row_acts_on_that_row(qtbot, three, session, actions):
    menu = ask_for_menu(three, 0)
    offered = entries(menu)
    assert list(offered) == [
        "Make Active",
        "Continue",
        "Export…",
        "train_like",
        "Show Curve",
        "Rename",
        "Delete",
        *_MENUS,
    ]
    assert offered["Continue"].isEnabled(), "its vocabulary was the smallest"
    with qtbot.waitSignal(actions["export_tokenizer"].triggered):
        offered["Export…"].trigger()
    assert session.runs.active is session.runs.all[0]
    menu.close()
    menu = ask_for_menu(three, 2)
    assert not entries(menu)["Continue"].isEnabled()
    second = session.runs.all[2]
    entries(menu)["Delete"].trigger()
    assert second not in session.runs.all
    assert session.runs.active is session.runs.all[0]
    menu.close()


def test_while_one_run_trains_another_can_be_deleted_but_not_exported(qtbot, three, session):
    session.training.step()
    qtbot.waitUntil(lambda: session.training.state == "paused")
    menu = ask_for_menu(three, 3)
    assert not entries(menu)["Delete"].isEnabled()
    assert not entries(menu)["Export…"].isEnabled()
    menu.close()
    menu = ask_for_menu(three, 0)
    assert [name for name, action in entries(menu).items() if action.isEnabled()] == [
        "Show Curve",
        "Rename",
        "Delete",
        *_MENUS,
    ]
    menu.close()
    growing = session.runs.active
    qtbot.keyClick(table(three), Qt.Key.Key_Delete)
    assert [run.name for run in session.runs.all] == ["Run 2", "Run 3", "Run 4"]
    assert session.runs.active is growing


def test_a_column_that_was_chosen_stays_however_narrow_the_table_is_and_is_remembered(qtbot, three):
    view = table(three)
    kept = []
    view.columnsChosen.connect(kept.append)
    columns = entries(view.columns_menu)
    assert view.isColumnHidden(SPECIALS)
    columns["Special tokens"].trigger()
    columns["Bytes/token"].trigger()
    view.window().resize(380, 400)
    qtbot.waitUntil(lambda: view.viewport().width() < 380)
    assert not view.isColumnHidden(SPECIALS)
    assert view.isColumnHidden(RATIO)
    assert columns["Special tokens"].isChecked()
    assert not columns["Seconds"].isChecked()
    assert kept[-1] == "+Special tokens,-Bytes/token"
    columns["As Many as Fit"].trigger()
    assert view.isColumnHidden(SPECIALS)
    assert not view.isColumnHidden(RATIO)
    view.set_choices("+Special tokens,-Bytes/token,+Gone,?")
    assert not view.isColumnHidden(SPECIALS)
    assert view.choices_text == "+Special tokens,-Bytes/token"


def test_a_training_grows_on_screen_and_stays_active_while_another_row_is_chosen(qtbot, session, pane, make_run):
    make_run(vocabulary_size=270)
    session.training.set_settings(Settings(vocabulary_size=300))
    session.training.step()
    qtbot.waitUntil(lambda: session.training.state == "paused")
    qtbot.waitUntil(lambda: text(pane, 1, ENDED) == "paused")
    with qtbot.waitSignal(session.jobs.refused):
        click(qtbot, table(pane), 0, NAME)
    assert session.runs.active is session.runs.all[1]
    assert table(pane).currentIndex().row() == 0
    with qtbot.waitSignal(table(pane).model().dataChanged):
        session.training.step()
    qtbot.waitUntil(lambda: text(pane, 1, MERGES) == "2")
    session.training.resume()
    qtbot.waitUntil(lambda: session.training.current is None)
    assert text(pane, 1, MERGES) == f"{len(session.runs.all[1])}"
    assert len(session.runs.all[1]) > 2
    assert text(pane, 1, ENDED) == session.runs.all[1].ended
    assert text(pane, 1, SECONDS) == f"{session.runs.all[1].run.seconds:.3f}"


def test_opened_tokenizers_are_listed_with_the_runs_and_do_not_change_their_numbers(session, pane, make_run, qtbot):
    make_run(vocabulary_size=270)
    session.runs.add_tokenizer(session.runs.active.tokenizer, "gpt2/tokenizer.json")
    assert text(pane, 1, NAME) == "gpt2/tokenizer.json"
    assert text(pane, 1, ENDED) == "opened from a file"
    assert text(pane, 1, CORPUS) == "–"
    for name in ("gpt2", "cl100k", "llama"):
        session.runs.add_tokenizer(session.runs.active.tokenizer, name)
    second = make_run(vocabulary_size=280)
    assert second.name == "Run 2"
    session.training.set_settings(Settings(vocabulary_size=290))
    session.training.continue_run(second)
    qtbot.waitUntil(lambda: session.training.current is None)
    assert session.runs.active.name == "Run 3"
    session.runs.delete(session.runs.active)
    assert make_run(vocabulary_size=300).name == "Run 4", "a name is not used twice"


def test_a_run_has_the_same_colour_active_or_not_and_none_without_its_curve(three, session):
    def colour(row: int) -> int:
        """What is drawn of the mark of a row, the ring of a run that is not active being the paler one."""
        view = table(three)
        place = view.visualRect(view.model().index(row, MARK)).center()
        image = view.viewport().grab().toImage()
        points = (image.pixelColor(place.x() + x, place.y() + y) for x in range(-5, 6) for y in range(-5, 6))
        return max(points, key=lambda point: point.saturation()).hue()

    before = [colour(row) for row in range(3)]
    assert len(set(before)) == 3
    for run in session.runs.all:
        session.runs.activate(run)
        after = [colour(row) for row in range(3)]
        assert all(abs(one - other) <= 3 for one, other in zip(after, before, strict=True))
    menu = ask_for_menu(three, 0)
    entry = entries(menu)["Show Curve"]
    assert (entry.isChecked(), entry.isEnabled()) == (True, True)
    assert table(three).model().index(0, MARK).data(HUE) == session.runs.all[0].hue
    entry.trigger()
    menu.close()
    assert session.runs.all[0].marks.curve_hidden
    assert table(three).model().index(0, MARK).data(HUE) is None
    session.runs.activate(session.runs.all[0])
    assert table(three).model().index(0, MARK).data(HUE) == session.runs.all[0].hue
    assert not entries(ask_for_menu(three, 0))["Show Curve"].isEnabled()


def test_twelve_runs_have_different_marks(theme):
    def mark(pen: QPen, active: bool) -> bytes:
        picture = QImage(20, 20, QImage.Format.Format_ARGB32)
        picture.fill(0)
        with QPainter(picture) as painter:
            draw_mark(painter, pen, QPointF(10, 10), 4, active=active)
        return bytes(picture.constBits())

    pens = [curve_pen(theme.palette, hue, active=False) for hue in range(-2, 12)]
    assert len({mark(pen, active) for pen in pens for active in (True, False)}) == 2 * len(pens)


def ratio_of(run, sentence):
    return f"{len(sentence) / len(run.tokenizer.encode(sentence)):,.3f}"


def tip(pane, row):
    return table(pane).model().index(row, RATIO).data(Qt.ItemDataRole.ToolTipRole)


def heading_tip(pane):
    return table(pane).model().headerData(RATIO, Qt.Orientation.Horizontal, Qt.ItemDataRole.ToolTipRole)


def ratios(qtbot, pane, *expected):
    """Waits until the rows have these bytes per token."""
    rows = range(len(expected))
    qtbot.waitUntil(lambda: [text(pane, row, RATIO) for row in rows] == list(expected))


def test_every_row_is_measured_on_one_text_that_is_named(qtbot, session, pane, make_run):
    trained = make_run(vocabulary_size=280)
    session.runs.add_tokenizer(trained.tokenizer.at(5).compact(), "gpt2")
    opened = session.runs.active
    assert [text(pane, row, VOCABULARY) for row in (0, 1)] == ["280", "261"]
    ratios(qtbot, pane, f"†{ratio_of(trained, TEXT)}", ratio_of(opened, TEXT))
    assert "Measured on: Pasted text" in tip(pane, 0)
    assert "measured on Pasted text" in heading_tip(pane)
    assert pane.text_button.text() == "Measured on Pasted text"
    assert pane.legend.isVisible()
    assert pane.legend.text().startswith("† Trained on this text, or on a part of it")
    assert "† Trained on this text" in tip(pane, 0)

    other = "the rat sat. " * 99
    session.corpus.set_sources(())
    assert text(pane, 1, RATIO) == "–"
    assert "Not measured: Open a text to measure on." in tip(pane, 1)
    session.corpus.add_text(other, "rats.txt")
    ratios(qtbot, pane, ratio_of(trained, other), ratio_of(opened, other))
    assert "It was trained on another text: Pasted text" in tip(pane, 0)
    assert "trained on another" not in tip(pane, 1), "nobody knows what it was trained on"
    assert "measured on rats.txt" in heading_tip(pane)
    assert not pane.legend.isVisible()

    session.corpus.set_sources(())
    session.corpus.add_text(TEXT, "The same text.txt")
    ratios(qtbot, pane, f"†{ratio_of(trained, TEXT)}", ratio_of(opened, TEXT))
    assert pane.legend.isVisible()


def test_the_text_is_chosen_in_a_menu_that_lists_the_sources(qtbot, session, pane, make_run):
    trained = make_run(vocabulary_size=280)
    assert "Pasted text" not in entries(pane.text_button.texts), "it is all of the corpus"
    session.corpus.add_text("the dog & the log", "dogs & logs")
    pane.text_button.fill(pane.text_button.texts)
    chosen = entries(pane.text_button.texts)["dogs && logs"]
    chosen.trigger()
    ratios(qtbot, pane, ratio_of(trained, "the dog & the log"))
    assert pane.text_button.text() == "Measured on dogs && logs"
    session.on_text.choose(None)
    both = len(TEXT) + len("the dog & the log")
    tokens = len(trained.tokenizer.encode(TEXT)) + len(trained.tokenizer.encode("the dog & the log"))
    ratios(qtbot, pane, f"†{both / tokens:,.3f}")
    assert pane.text_button.text() == "Measured on Pasted text and 1 more"


def test_a_long_name_of_the_text_is_cut_once_and_has_room_in_proportion_to_the_text_size(qtbot, session, pane, theme):
    name = "a long name of a file " * 9
    session.corpus.add_text(TEXT, name)
    qtbot.waitUntil(lambda: name in pane.text_button.text())
    assert "…" not in pane.text_button.text(), "else Qt would cut what is cut"
    narrow = pane.text_button.sizeHint().width()
    theme.set_text_size(26)
    assert pane.text_button.sizeHint().width() == 2 * narrow
    theme.set_text_size(13)
    assert pane.text_button.sizeHint().width() == narrow


def test_weights_of_the_measured_text_are_told_where_they_are_unequal(qtbot, session, pane, make_run):
    make_run(vocabulary_size=280)
    session.corpus.add_text("the dog & the log", "dogs")
    for weights, told in ((1000, 1000), False), ((2000, 500), True), ((2000, 2000), False):
        session.corpus.set_weights(weights)
        qtbot.waitUntil(lambda: text(pane, 0, RATIO) not in ("…", "–"))
        for tip_shown in (pane.text_button.toolTip(), tip(pane, 0), heading_tip(pane)):
            assert ("Pasted text and 1 more, with weights" in tip_shown) is told, tip_shown


def test_a_hidden_table_has_nothing_measured(qtbot, session, pane, make_run):
    pane.hide()
    trained = make_run(vocabulary_size=280)
    assert table(pane).model().rowCount() == 0
    session.runs.add_tokenizer(trained.tokenizer, "gpt2")
    qtbot.waitUntil(lambda: not session.jobs.running)
    assert session.on_text.found(session.runs.active) is None
    pane.show()
    assert text(pane, 0, NAME) == "Run 1"
    ratios(qtbot, pane, f"†{ratio_of(trained, TEXT)}", f"†{ratio_of(trained, TEXT)}")


def test_what_was_trained_on_a_part_of_the_text_is_marked_whoever_trained_it_and_whatever_was_left_out_since(
    qtbot, session, pane, make_run
):
    lines = "the cat sat\nthe cat sat\nthe dog\n"
    session.corpus.set_sources((Source.from_texts([lines], "a.txt"),))
    trained = make_run(vocabulary_size=262)
    untrained = trained.tokenizer.compact()
    for hashes in (session.corpus.current.counted_hashes, ()):
        session.runs.add_tokenizer(untrained, "of a library", RunOrigin(Path("x"), (), "x", True, trained_on=hashes))
    ratio = ratio_of(trained, lines)
    ratios(qtbot, pane, f"†{ratio}", f"†{ratio}", ratio)
    # The same text in other documents, without the second.
    session.corpus.set_sources((Source.from_texts(lines.splitlines(keepends=True), "a.txt"),))
    ratios(qtbot, pane, f"†{ratio}", f"†{ratio}", ratio)
    session.corpus.leave_out(session.corpus.with_left_out((), [(session.corpus.sources[0], [1])]))
    qtbot.waitUntil(lambda: len(session.corpus.remaining[0].ends) == 2)
    ratio = ratio_of(trained, "the cat sat\nthe dog\n")
    ratios(qtbot, pane, f"†{ratio}", f"†{ratio}", ratio)


def test_what_loses_text_is_marked_as_in_compare(qtbot, session, pane, unknown_run):
    unknown = unknown_run()
    ratios(qtbot, pane, f"*†{unknown.run.bytes_per_token():,.3f}")
    assert pane.legend.text().startswith("* Text is unknown to the tokenizer or lost: the number is not ranked beside")
    assert " † Trained on this text" in pane.legend.text()
    assert "* Text is unknown" in tip(pane, 0)
    session.corpus.set_sources(())
    session.corpus.add_text("the ß")
    ratios(qtbot, pane, f"*{6 / len(unknown.tokenizer.encode('the ß')):,.3f}")
    assert "†" not in pane.legend.text()
    session.corpus.set_sources(())
    session.corpus.add_text("e")
    ratios(qtbot, pane, "1.000")
    assert not pane.legend.isVisible()


def test_a_row_that_cannot_encode_the_text_says_why(qtbot, session, pane, make_run):
    trained = make_run(vocabulary_size=None, min_frequency=2, base="characters")
    session.corpus.set_sources(())
    session.corpus.add_text("the ÿ")
    qtbot.waitUntil(lambda: isinstance(session.on_text.found(trained), str))
    assert text(pane, 0, RATIO) == "–"
    assert "Not measured: " in tip(pane, 0)
    assert "ÿ" in tip(pane, 0)


def test_a_narrow_table_cuts_off_nothing_but_the_end_of_a_long_name(qtbot, three, session):
    view, name = table(three), "English and Spanish, other special tokens"
    session.runs.rename(session.runs.all[0], name)
    cut = []
    for width in (1900, *range(800, 400, -25)):
        view.window().resize(width, 400)
        qtbot.waitUntil(lambda width=width: view.window().width() == width and view.viewport().width() < width)
        assert width > 1000 or view.horizontalHeader().length() <= view.viewport().width()
        assert not view.isColumnHidden(NAME)
        assert not view.isColumnHidden(VOCABULARY)
        assert view.isColumnHidden(SECONDS) == (width < 1000)
        if view.columnWidth(NAME) < view.fontMetrics().horizontalAdvance(name):
            cut.append(view.isColumnHidden(RATIO))
    assert False in cut, "what the runs achieve comes before the end of a long name"


def test_numbers_give_way_to_usual_names_of_runs(qtbot, three, session):
    """At the width of the pane in a window of 1440 x 900 and of 1024 x 640."""
    view = table(three)

    def shown(width, names):
        for run, name in zip(session.runs.all, names, strict=True):
            session.runs.rename(run, name)
        view.window().resize(width, 400)
        room = view.fontMetrics().horizontalAdvance(max(names, key=len)) + 16
        qtbot.waitUntil(lambda: view.viewport().width() < width and view.columnWidth(NAME) > room)
        assert view.horizontalHeader().length() <= view.viewport().width()
        return {column for column in (CORPUS, VOCABULARY, MERGES, RATIO) if not view.isColumnHidden(column)}

    names = ("Run 1", "Run 2 (part)", "Run 3 (with pre-tokens)")
    assert shown(660, names) >= {VOCABULARY, MERGES, RATIO}
    assert shown(420, ("Run 1", "Run 2", "Run 3")) >= {VOCABULARY, CORPUS, RATIO}
    assert shown(420, names) == {VOCABULARY, RATIO}


def test_names_and_numbers_come_before_other_columns(qtbot, three, session):
    view = table(three)
    view.window().resize(400, 400)
    qtbot.waitUntil(lambda: view.viewport().width() < 400)
    assert not view.isColumnHidden(VOCABULARY)
    session.runs.rename(session.runs.all[0], name := "English and Spanish news of the years 2019 to 2024, 32k")
    QApplication.processEvents()
    # Its end is shortened, and removes no other.
    assert view.columnWidth(NAME) < view.fontMetrics().horizontalAdvance(name)
    assert not view.isColumnHidden(VOCABULARY)
    assert not view.isColumnHidden(RATIO)
    session.training.set_settings(Settings(1_000_000))
    view.window().resize(1900, 400)
    session.training.start()
    qtbot.waitUntil(lambda: session.training.current is None)
    assert text(three, 3, VOCABULARY).endswith(" of 1,000,000")
    wanted = view.fontMetrics().horizontalAdvance(text(three, 3, VOCABULARY))
    qtbot.waitUntil(lambda: view.columnWidth(VOCABULARY) > wanted + 18)


def test_there_is_a_held_out_column_if_any_run_has_held_out_text(qtbot, pane, session, make_run):
    make_run(vocabulary_size=270)
    assert pane.table.isColumnHidden(HELD_OUT)
    session.corpus.set_sources(())
    session.corpus.add_text("the cat sat on the mat\n" * 60)
    make_run(vocabulary_size=270, held_out=0.2, pattern="gpt2", special_tokens=("<s>",))
    qtbot.waitUntil(lambda: session.runs.active.held_out.ratio is not None)
    assert not pane.table.isColumnHidden(HELD_OUT)
    model = pane.table.model()
    assert [model.index(row, HELD_OUT).data() for row in range(2)] == ["–", f"{session.runs.active.held_out.ratio:.3f}"]
    tip = model.index(1, 1).data(Qt.ItemDataRole.ToolTipRole)
    assert [text(pane, 1, column) for column in (CORPUS, PATTERN, BASE, TIES, SPECIALS)] == [
        "Pasted text",
        "gpt2",
        "Bytes",
        "First",
        "<s>",
    ]
    for told in ("Pattern: gpt2", "Special tokens: &lt;s&gt;", "Held-out share: 20\u00a0%"):
        assert told in tip


def test_the_run_that_followed_the_weights_is_selected_when_they_have_settled(qtbot, session, pane, make_run):
    session.corpus.add_text(TEXT)
    session.corpus.add_text(TEXT.upper(), "Capitals")
    first = make_run(vocabulary_size=270, pattern="gpt2")
    qtbot.waitUntil(lambda: not session.jobs.running)
    for weight in (3000, 500):
        session.corpus.set_weights((weight, 1000), moving=True)
        qtbot.waitUntil(lambda: not session.live.busy)
        session.corpus.set_weights((weight, 1000))
        assert session.runs.all == [first, session.runs.active]
        assert table(pane).currentIndex().row() == 1
        assert [index.row() for index in table(pane).selectionModel().selectedRows()] == [1]


def test_there_is_a_column_for_the_algorithm_if_a_run_has_another_than_plain_bpe(qtbot, pane, session, make_run):
    make_run(vocabulary_size=270)
    assert pane.table.isColumnHidden(ALGORITHM)
    make_run(vocabulary_size=270, algorithm="picky")
    assert not pane.table.isColumnHidden(ALGORITHM)
    assert [text(pane, row, ALGORITHM) for row in range(2)] == ["Plain BPE", "Picky BPE"]
    tip = table(pane).model().index(1, 1).data(Qt.ItemDataRole.ToolTipRole)
    assert "Algorithm: Picky BPE with threshold 0.9" in tip
    assert tip.count("Algorithm") == 1


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
    QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal, model)
    return model


def shown(model, row, column, role=Qt.ItemDataRole.DisplayRole):
    return model.data(model.index(row, column), role)


def test_a_trained_run_is_described_by_its_numbers_and_by_a_tip(model, run):
    model.set_runs([run], run, "training")
    assert shown(model, 0, NAME) == "First"
    assert shown(model, 0, CORPUS) == "Pasted text"
    assert shown(model, 0, BYTES) == "2.0 kB"
    assert shown(model, 0, VOCABULARY) == "290"  # which it reached
    assert shown(model, 0, FREQUENCY) == "–"
    assert shown(model, 0, MERGES) == "34"
    assert shown(model, 0, RATIO) == f"†{run.run.bytes_per_token():,.3f}"
    assert shown(model, 0, ENDED) == "reached vocabulary size"
    assert shown(model, 0, SECONDS) == f"{run.run.seconds:.3f}"
    strange = StudioRun.opened(2, "<b>bold</b>", run.tokenizer)
    model.set_runs([run, strange], run, "training")
    tip = shown(model, 0, NAME, Qt.ItemDataRole.ToolTipRole)
    assert "Bytes of the corpus: 2,040" in tip
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
