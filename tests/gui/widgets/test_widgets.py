"""Widgets for any application: choices, numbers, buttons, layouts, menus, painting, the file manager."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import sys

import pytest
from PySide6.QtCore import QEvent, QLocale, QMargins, QPoint, QStringListModel, Qt
from PySide6.QtGui import QAction, QHelpEvent, QImage, QPainter
from PySide6.QtWidgets import (
    QApplication,
    QLabel,
    QMainWindow,
    QStyleOptionComboBox,
    QTableWidget,
    QToolButton,
    QToolTip,
    QWidget,
)

from tokstudio.core.base.progress import Progress
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets import file_dialogs as file_manager
from tokstudio.gui.widgets.controls import Choice, ChoiceBox, Decimal, Number, Percent
from tokstudio.gui.widgets.figures import ReadOnlyTable
from tokstudio.gui.widgets.file_dialogs import show_in_file_manager
from tokstudio.gui.widgets.labels import guarded_painter
from tokstudio.gui.widgets.layouts import STRETCH, column, row
from tokstudio.gui.widgets.menus import Menu, connect_once, offer_actions, set_why_not
from tokstudio.gui.widgets.work_line import ProgressBar, WorkLine


def shown(box: ChoiceBox) -> str:
    option = QStyleOptionComboBox()
    box.initStyleOption(option)
    return box.shown_name(option)


def test_work_is_named_with_a_capital_and_names_in_it_stay(qtbot, monkeypatch):
    monkeypatch.setattr("tokstudio.gui.widgets.work_line.TICK", 5)
    progress = Progress("training Run 2 (without 4.5 MB)", 1, 4)
    line = WorkLine("Page", Theme(), {"encoding": "Encoding documents"}, lambda: progress, list, list)
    qtbot.addWidget(line)
    line.show_state(True, "")
    qtbot.waitUntil(lambda: line.doing.text() == "Training Run 2 (without 4.5 MB)…")
    progress = Progress("encoding")
    qtbot.waitUntil(lambda: line.doing.text() == "Encoding documents…")
    line.rest()


def test_a_bar_shows_more_bytes_than_qt_counts_and_is_full_when_more_came_than_was_said(qtbot):
    bar = ProgressBar()
    qtbot.addWidget(bar)
    for done, total, shown_value in ((1 << 40, 1 << 42, 250), (3, 2, 1000), (0, 2, 0)):
        bar.show_progress(Progress("downloading", done, total))
        assert (bar.value(), bar.maximum()) == (shown_value, 1000)
    bar.show_progress(Progress("downloading", 5))
    assert bar.maximum() == 0, "it only moves"


def test_a_narrow_choice_shows_what_tells_its_name_from_the_others(qtbot):
    names = ("Plain tokenizer of bytes", "SentencePiece BPE", "SentencePiece Unigram")
    box = ChoiceBox([Choice(name, name, "A meaning.") for name in names])
    qtbot.addWidget(box)
    metrics = box.fontMetrics()
    box.resize(600, 30)
    seen = []
    for number in range(3):
        box.setCurrentIndex(number)
        seen.append(shown(box))
    assert seen == list(names)
    box.resize(metrics.horizontalAdvance("SentencePiece") + 30, 30)
    seen = []
    for number in range(3):
        box.setCurrentIndex(number)
        seen.append(shown(box))
    assert seen[0].startswith("Plain")
    assert seen[1].startswith("…")
    assert seen[1].endswith(" BPE")
    assert seen[2].endswith("igram")


@pytest.fixture(params=["de_DE", "fr_FR", "en_US"])
def language(request):
    before = QLocale()
    QLocale.setDefault(QLocale(request.param))
    yield
    QLocale.setDefault(before)


@pytest.mark.usefixtures("language")
def test_a_comma_and_a_point_stand_before_decimals_in_every_language(qtbot):
    cases = {"0,5": 0.5, "0.5": 0.5, "12,25": 12.25, ",5": 0.5, "1,000": 1, "0,,5": 0.5, "0,5,": 0.5, "0,5.2": 0.52}
    for make in (Percent, lambda theme: Decimal(theme, 1000)):
        box = make(Theme("light"))
        qtbot.addWidget(box)
        for typed, value in cases.items():
            box.setValue(7)
            box.selectAll()
            qtbot.keyClicks(box, typed)
            assert "," not in box.lineEdit().text(), "the comma is shown as it is read"
            qtbot.keyClick(box, Qt.Key.Key_Return)
            assert box.value() == value, typed
            assert box.cleanText() == f"{value:g}", typed


@pytest.mark.parametrize(("suffix", "value"), [(" choices", 100), (" bytes", 16), ("", 32_768)])
def test_a_number_is_shown_whole_with_its_unit(qtbot, suffix, value):
    box = Number(Theme("light"), suffix=suffix)
    qtbot.addWidget(box)
    box.setValue(value)
    around = 36  # pixels of the frame, the arrows and the margins of the style sheet
    assert box.fontMetrics().horizontalAdvance(box.text()) + around <= box.width()


def test_a_click_on_the_arrow_of_a_percentage_adds_one_percent(qtbot):
    box = Percent(Theme("light"))
    qtbot.addWidget(box)
    for percent in (1, 2, 3):
        box.stepUp()
        assert box.value() == percent
    assert box.share == 0.03


def test_a_button_follows_its_action(qtbot):
    action, button = QAction("Train"), QToolButton()
    qtbot.addWidget(button)
    button.setDefaultAction(action)
    connect_once(button)
    for text, enabled in (("Pause", False), ("Resume", True)):
        action.setText(text)
        action.setEnabled(enabled)
        assert (button.text(), button.isEnabled()) == (text, enabled)


def test_a_column_fills_its_parent_in_order(qtbot):
    page, first, last = QWidget(), QLabel("a"), QLabel("b")
    qtbot.addWidget(page)
    box = column(first, 12, (last, 1), spacing=5, margins=(1, 2, 3, 4), parent=page)
    assert page.layout() is box
    assert box.spacing() == 5
    assert box.contentsMargins() == QMargins(1, 2, 3, 4)
    assert [box.indexOf(first), box.indexOf(last)] == [0, 2]
    assert [box.stretch(at) for at in range(3)] == [0, 0, 1]
    assert box.itemAt(1).spacerItem().sizeHint().height() == 12


def test_a_row_takes_layouts_alignments_and_room_left_over(qtbot):
    page, top, inner = QWidget(), QLabel("a"), QLabel("b")
    qtbot.addWidget(page)
    box = row((top, Qt.AlignmentFlag.AlignTop), STRETCH, (column(inner), 2), parent=page)
    assert box.itemAt(0).alignment() == Qt.AlignmentFlag.AlignTop
    assert box.itemAt(1).spacerItem().expandingDirections() & Qt.Orientation.Horizontal
    assert box.stretch(2) == 2
    assert inner.parent() is page
    assert box.contentsMargins() == QMargins(0, 0, 0, 0)


WHY = "Open a text first."


@pytest.fixture
def window(qtbot):
    window = QMainWindow()
    qtbot.addWidget(window)
    window.statusBar()
    window.show()
    qtbot.waitExposed(window)
    return window


def wait_for_tip(qtbot, menu, action, tip):
    """Lets the pointer rest on an entry, and waits until so much is shown, "" for nothing."""
    place = menu.actionGeometry(action).center()
    QApplication.sendEvent(menu, QHelpEvent(QEvent.Type.ToolTip, place, menu.mapToGlobal(place)))
    qtbot.waitUntil(lambda: QToolTip.text() == tip)


def test_a_grey_entry_says_why(qtbot, window):
    menu = Menu("&Train", window.menuBar())
    window.menuBar().addMenu(menu)
    inner = menu.add_menu("More")
    grey, plain, usable = inner.addAction("Train"), inner.addAction("Stop"), inner.addAction("Step")
    set_why_not(grey, WHY)
    plain.setEnabled(False)
    set_why_not(usable, "")
    usable.setToolTip("Step (F10)")
    inner.popup(window.mapToGlobal(QPoint(9, 9)))
    assert usable.isEnabled()
    wait_for_tip(qtbot, inner, grey, WHY)
    wait_for_tip(qtbot, inner, usable, "")
    wait_for_tip(qtbot, inner, grey, WHY)
    wait_for_tip(qtbot, inner, plain, "")
    qtbot.mouseMove(inner, inner.actionGeometry(plain).center())
    qtbot.mouseMove(inner, inner.actionGeometry(grey).center())
    qtbot.waitUntil(lambda: window.statusBar().currentMessage() == WHY)
    inner.close()
    assert window.statusBar().currentMessage() == ""
    QToolTip.hideText()


def test_the_actions_of_a_table_are_its_context_menu(qtbot, window):
    table = QTableWidget(3, 1)
    window.setCentralWidget(table)
    action = QAction("Why", table)
    set_why_not(action, WHY)
    offer_actions(table, [action])
    assert table.contextMenuPolicy() == Qt.ContextMenuPolicy.CustomContextMenu
    table.customContextMenuRequested.emit(QPoint(5, 5))
    (menu,) = [each for each in table.findChildren(Menu) if each.isVisible()]
    assert menu.actions() == [action]
    wait_for_tip(qtbot, menu, action, WHY)
    menu.close()
    QToolTip.hideText()


def test_an_error_reaches_the_hook_and_ends_or_restores_the_painter(qapp, monkeypatch):
    told = []
    monkeypatch.setattr(sys, "excepthook", lambda kind, error, trace: told.append(error))
    image = QImage(8, 8, QImage.Format.Format_RGB32)
    with guarded_painter(image) as painter:
        raise ValueError("first")
    assert not painter.isActive()
    with QPainter(image) as painter:
        with guarded_painter(painter) as same:
            same.setOpacity(0.5)
            raise ValueError("second")
        assert painter.isActive()
        assert painter.opacity() == 1
    assert [str(error) for error in told] == ["first", "second"]


@pytest.fixture
def system(monkeypatch):
    """What the system was asked to do; programs start as `starts` says."""

    class System:
        starts = True

        def __init__(self):
            self.asked = []

        def start(self, *command):
            self.asked.append(command)
            return self.starts, 1

        def open(self, url):
            self.asked.append(url.toLocalFile())
            return True

    made = System()
    monkeypatch.setattr(file_manager.QProcess, "startDetached", made.start)
    monkeypatch.setattr(file_manager.QDesktopServices, "openUrl", made.open)
    return made


@pytest.mark.parametrize(
    ("platform", "program", "before"),
    [("win32", os.path.join("windows", "explorer.exe"), "/select,"), ("darwin", "open", "-R")],
)
def test_the_file_is_selected(monkeypatch, system, tmp_path, platform, program, before):
    monkeypatch.setattr(file_manager.sys, "platform", platform)
    monkeypatch.setenv("SYSTEMROOT", "windows")
    file = tmp_path / "a b" / "tokenizer.json"
    show_in_file_manager(file)
    assert system.asked == [(program, [before, str(file)])]


def test_without_selection_or_after_an_error_the_folder_is_opened(monkeypatch, system, tmp_path):
    monkeypatch.setattr(file_manager.sys, "platform", "linux")
    show_in_file_manager(tmp_path / "tokenizer.json")
    assert system.asked == [tmp_path.as_posix()]
    monkeypatch.setattr(file_manager.sys, "platform", "darwin")
    system.starts = False
    show_in_file_manager(tmp_path / "tokenizer.json")
    assert system.asked[2] == tmp_path.as_posix()


@pytest.mark.parametrize("works", [True, False])
def test_a_folder_is_opened_and_success_is_returned(monkeypatch, system, tmp_path, works):
    monkeypatch.setattr(file_manager.QDesktopServices, "openUrl", lambda url: system.open(url) and works)
    assert show_in_file_manager(tmp_path) is works
    assert system.asked == [tmp_path.as_posix()]


def test_the_rows_of_a_table_become_low_again_after_large_text(qtbot):
    """The hidden header, which has larger text until it is shown or at rest, does not hold them."""
    table = ReadOnlyTable("Rows")
    qtbot.addWidget(table)
    rows = table.verticalHeader()
    rows.setDefaultSectionSize(24)
    least = table.minimumSizeHint().height()
    font = rows.font()
    font.setPixelSize(40)
    rows.setFont(font)
    rows.setDefaultSectionSize(70)
    rows.setDefaultSectionSize(24)
    assert rows.defaultSectionSize() == 24
    assert table.minimumSizeHint().height() == least


@pytest.mark.parametrize("by_pixels", [True, False])
def test_a_table_keeps_its_first_row_and_the_current_one_in_sight_as_its_rows_become_higher(qtbot, by_pixels):
    table = ReadOnlyTable("Rows")
    qtbot.addWidget(table)
    mode = table.ScrollMode.ScrollPerPixel if by_pixels else table.ScrollMode.ScrollPerItem
    table.setVerticalScrollMode(mode)
    table.setModel(QStringListModel([str(number) for number in range(500)]))
    table.horizontalHeader().hide()
    table.set_row_height(20)
    table.resize(200, 200 + 2 * table.frameWidth())
    table.show()

    def rows():
        return table.rowAt(0), table.rowAt(table.viewport().height() - 1)

    def scroll_to(row):
        table.verticalScrollBar().setValue(row * 20 if by_pixels else row)

    scroll_to(100)
    assert rows() == (100, 109)
    table.set_row_height(50)
    assert rows() == (100, 103)
    table.set_row_height(20)
    assert rows() == (100, 109)
    table.setCurrentIndex(table.model().index(108, 0))
    table.set_row_height(50)
    assert rows() == (105, 108)
    assert table.rowViewportPosition(105) == 0, "whole rows"
    table.set_row_height(20)
    scroll_to(300)
    table.set_row_height(50)
    assert rows() == (300, 303), "the current one was not in sight"
