"""The window in every size, theme and layout: nothing is hidden, cut or drawn twice, and all is measured anew."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QItemSelectionModel, QObject, QPoint, QRect, QSize, Qt
from PySide6.QtGui import QImage
from PySide6.QtWidgets import (
    QApplication,
    QCheckBox,
    QLabel,
    QLineEdit,
    QPushButton,
    QRadioButton,
    QTabBar,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from tests.gui.person import at_window, quiet, trained
from tests.gui.window.test_little_room import in_sight, settle
from tokstudio.gui.panes.runs.model import HELD_OUT, VOCABULARY
from tokstudio.gui.state.training_settings import Settings
from tokstudio.gui.style.theme import BODY_PIXELS, Theme


def drawn_lines(widget: QWidget) -> int:
    """How many horizontal lines of one pixel's height run along at least half of a widget."""
    image = widget.grab().toImage().convertToFormat(QImage.Format.Format_RGB32)
    pixels = np.frombuffer(image.constBits(), np.uint32).reshape(image.height(), -1)[:, : image.width()]
    around = np.pad(pixels, ((1, 1), (0, 0)))
    found = 0
    for above, row, below in zip(around, pixels, around[2:], strict=False):
        own = row[(row != above) & (row != below)]
        found += len(own) > 0 and int(np.unique(own, return_counts=True)[1].max()) * 2 >= len(row)
    return found


def _tool_button() -> QToolButton:
    button = QToolButton()
    button.setText("More of the settings")
    return button


def _tabs() -> QTabBar:
    bar = QTabBar()
    bar.addTab("Token lengths in bytes")
    return bar


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_a_control_focused_by_tab_has_one_focus_ring(qtbot, show, mode):
    around, controls = QWidget(), {
        QLineEdit(): None,
        QPushButton("Reset to Defaults"): 2,
        _tool_button(): 2,
        QCheckBox("Recognise special tokens"): 0,  # the ring is around its box
        QRadioButton("Recognise special tokens"): 0,
        _tabs(): 0,  # a colour behind the words
    }  # fmt: skip
    column = QVBoxLayout(around)
    for control in controls:
        column.addWidget(control)
        control.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    show(around, 240, 320)
    around.setStyleSheet(Theme(mode).style_sheet)
    around.window().activateWindow()
    qtbot.waitUntil(around.window().isActiveWindow)
    before, *others = controls
    before.setFocus()
    for control in others:
        qtbot.keyClick(before, Qt.Key.Key_Tab)
        qtbot.waitUntil(control.hasFocus)
        # What Qt notes of a Tab that comes from a keyboard.
        around.window().setAttribute(Qt.WidgetAttribute.WA_KeyboardFocusChange)
        assert drawn_lines(control) == controls[control], control
        before = control


@pytest.fixture
def lines(tmp_path):
    path = tmp_path / "book.txt"
    path.write_text("".join(f"{line} the cat sat on the mat and the rat.\n" for line in range(400)))
    return path


@at_window()
def test_in_a_low_window_every_view_has_room_for_its_curves_and_no_figure_is_cut(qtbot, monkeypatch, lines, window):
    def resize(height):
        window.resize(1024, height)
        window.reset_layout()
        QApplication.processEvents()
        table = window.merges.table
        assert table.viewport().height() >= 5 * table.verticalHeader().defaultSectionSize()
        assert window.height() == height

    resize(640)
    window.opening.open_paths([lines])
    session = window.session
    session.training.set_settings(Settings(400, held_out=0.1))
    qtbot.waitUntil(lambda: session.training.obstacle is None)
    window.actions_by_id["train"].trigger()
    quiet(qtbot, window)
    pane = window.compression
    qtbot.waitUntil(lambda: pane.stack.currentWidget() is pane.plot)
    for height in (640, 660):
        resize(height)
        for action in pane.menu.actions()[:4]:
            action.trigger()
            QApplication.processEvents()
            assert pane.plot.chart.area.height() >= 55, (height, action.text())
        assert pane.remark_line.isVisible()
        assert window.merges.table.viewport().height() >= window.merges.table.rowHeight(0)
    # At 1024 x 640, runs keep the column of their vocabulary size.
    window.runs.raise_()
    table = window.runs.table
    qtbot.waitUntil(table.isVisible)
    assert not table.isColumnHidden(VOCABULARY)
    assert not table.isColumnHidden(HELD_OUT)
    assert table.horizontalHeader().length() <= table.viewport().width()
    pane = window.vocabulary
    pane.raise_()
    qtbot.waitUntil(lambda: pane.seen)
    monkeypatch.setattr(pane, "total", lambda: 100_256)
    pane.filter.setText("a")
    qtbot.waitUntil(lambda: pane.note.text().endswith(" of 100,256"))
    qtbot.waitUntil(lambda: pane.note.width() >= pane.note.sizeHint().width())
    note, field = (QRect(one.mapTo(window, QPoint()), one.size()) for one in (pane.note, pane.filter))
    assert not note.intersects(field)
    assert in_sight(pane.note)
    assert in_sight(pane.kinds)


class Paints(QObject):
    """Counts how often something is painted."""

    def __init__(self, watched: QObject) -> None:
        super().__init__(watched)
        self.count = 0
        watched.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        self.count += event.type() == QEvent.Type.Paint
        return False


@at_window()
def test_a_new_theme_and_a_floating_pane_are_painted_and_neither_a_problem_nor_a_large_guide_changes_sizes(
    qtbot, window
):
    pane = window.text
    settle(qtbot, window)
    paints = Paints(pane)
    # Until then, the window keeps the size that it had.
    with qtbot.waitSignal(window.theme.settled):
        window.actions_by_id["theme_dark"].trigger()
        qtbot.waitUntil(lambda: paints.count > 0)
    pane.setFloating(True)
    layout = window.arrangement()
    window.reset_layout()
    assert not pane.isFloating()
    window.arrange(layout)
    assert pane.isFloating()
    paints = Paints(pane.widget())
    qtbot.waitUntil(lambda: paints.count > 0)
    window.resize(1440, 900)
    for name in ("learn", "train"):
        window.show_workspace(name)
        settle(qtbot, window)
    width = window.corpus.width()
    QApplication.clipboard().clear()
    window.actions_by_id["paste_corpus"].trigger()
    assert window.corpus.problems.problems == ("The clipboard has no text.",)
    settle(qtbot, window)
    assert window.corpus.width() == width
    window.show_workspace("learn")
    window.guide.show_page("patterns")
    settle(qtbot, window)
    for _ in range(2):
        window.places.maximise(window.guide)
        settle(qtbot, window)
        window.places.give_back()
        settle(qtbot, window)
        assert window.height() == 900


@at_window("{book}")
def test_a_pane_behind_a_tab_waits_for_a_new_text_size_until_it_is_shown(qtbot, window):
    theme, pane, another = window.theme, window.runs, window.distribution
    trained(qtbot, window, 270)
    window.resize(1440, 900)
    window.show_workspace("train")
    settle(qtbot, window)
    rows = pane.table.verticalHeader()
    before = rows.defaultSectionSize()
    assert pane.table.isVisible(), "Qt counts what is behind a tab as visible"
    assert pane.visibleRegion().isEmpty()
    with qtbot.waitSignal(theme.settled):
        theme.set_text_size(BODY_PIXELS + 3)
        assert rows.defaultSectionSize() == before, "it costs the time of those in sight"
        pane.raise_()
        assert rows.defaultSectionSize() == theme.scaled(28), "it is there before it is painted"
        assert pane.table.font().pixelSize() == theme.text_size
        assert another.font().pixelSize() == BODY_PIXELS
    assert another.font().pixelSize() == theme.text_size


@at_window("{book}")
def test_a_change_of_text_size_updates_every_measure_what_is_hidden_later_and_keeps_rows_and_sizes(qtbot, window):
    theme, actions = window.theme, window.actions_by_id
    trained(qtbot, window, 270)
    window.merges.raise_()
    buttons, figures, rows = window.text.toggles, window.status.figures, window.merges.table.verticalHeader()
    muted = [label for label in window.configure.findChildren(QLabel) if label.property("role") == "muted"]
    hidden = [label for label in window.configure.more.findChildren(QLabel) if label.property("role") == "muted"]
    seen = [label for label in muted if label.isVisible()]
    assert hidden
    assert seen
    assert not any(label.isVisible() for label in hidden)
    size = hidden[0].font().pixelSize()

    def measures():
        QApplication.processEvents()
        return [button.isVisible() for button in buttons], figures.text()

    table = window.merges.table

    def look():
        selected = sorted(index.row() for index in table.selectionModel().selectedRows())
        widths = {pane.objectName(): pane.width() for pane in window.panes if not pane.visibleRegion().isEmpty()}
        columns = [table.columnWidth(at) for at in range(table.model().columnCount())]
        return selected, rows.defaultSectionSize(), window.size(), widths, columns

    def select_rows():
        settle(qtbot, window)
        table.selectRow(7)
        more = QItemSelectionModel.SelectionFlag.Select | QItemSelectionModel.SelectionFlag.Rows
        table.selectionModel().select(table.model().index(9, 0), more)
        return look()

    def change(act):
        with qtbot.waitSignal(theme.settled):
            act()
        settle(qtbot, window)
        return look()

    def enlarge_text():
        theme.set_text_size(BODY_PIXELS + 5)
        assert {label.font().pixelSize() for label in seen} == {theme.scaled(12)}
        assert hidden[0].font().pixelSize() != theme.scaled(12), "it costs the time of those in sight"

    def reset_text():
        actions["text_reset"].trigger()
        assert measures() == before
        actions["more_settings"].trigger()
        assert {label.font().pixelSize() for label in hidden if label.isVisible()} == {size}
        actions["more_settings"].trigger()

    # What is chosen, and every size, is as before after larger text and back.
    window.resize(1440, 900)
    first = select_rows()
    assert change(actions["theme_dark"].trigger) == first
    window.resize(1024, 640)
    first, before = select_rows(), measures()
    chosen, high, *_ = change(enlarge_text)
    assert chosen == [7, 9]
    assert high > first[1]
    assert size != hidden[0].font().pixelSize() == theme.scaled(12)
    assert measures() != before
    assert figures.width() >= figures.sizeHint().width(), "no figure is cut"
    assert change(reset_text) == first

    def enlarge():
        actions["text_larger"].trigger()
        assert theme.text_size == BODY_PIXELS + 1
        window.windowHandle().resize(1250, 840)

    change(enlarge)
    assert window.size() == QSize(1250, 840), "a size given meanwhile stays"


@at_window("{book}")
def test_help_that_fits_is_there_and_a_hidden_hint_has_its_size_after_a_change_of_text_size(qtbot, window):
    theme, pane, own = window.theme, window.configure, window.compare.words.own
    trained(qtbot, window, 270)
    window.show_workspace("train")

    def shown_after(act):
        act()
        settle(qtbot, window)
        fields = pane.size_field, pane.frequency_field, pane.pattern.choice, pane.algorithm.choice
        return [field.note.isVisible() for field in fields]

    def set_text(size):
        with qtbot.waitSignal(theme.settled):
            theme.set_text_size(size)

    for height in (720, 760, 800):
        window.resize(1440, height)
        before = shown_after(lambda: set_text(BODY_PIXELS + 3))
        after = shown_after(lambda: set_text(BODY_PIXELS - 2))
        assert own.viewport().font().pixelSize() == own.font().pixelSize() == BODY_PIXELS - 2
        assert sum(after) > sum(before)
        shown_after(lambda: window.resize(1440, 600))
        assert shown_after(partial(window.resize, 1440, height)) == after, height
