"""The right column in low and high windows, also after the user has rearranged it."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import itertools

import pytest
from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractScrollArea,
    QApplication,
    QComboBox,
    QLabel,
    QLineEdit,
    QTableView,
    QWidget,
)

from tests.gui.person import at_the_window, at_window, quiet, trained
from tests.gui.window.test_little_room import body_of, in_sight, settle, tabs
from tokstudio.gui.window.dock_sizes import tab_bars

CENTRE = {"Compression Distribution", "Merges Vocabulary Tokenizers"}
HIGH, LOW = CENTRE | {"Token Why"}, CENTRE | {"Text Token Why"}


def places(window) -> dict[str, QRect]:
    """Where the panes are that stand in front."""
    return {pane.objectName(): pane.geometry() for pane in window.panes if not pane.visibleRegion().isEmpty()}


def set_height(qtbot, window, height: int) -> None:
    window.resize(1440, height)
    qtbot.waitUntil(lambda: window.height() == height)
    settle(qtbot, window)


def begin_high(qtbot, window) -> None:
    """Makes the window high, with the panes in their first places."""
    set_height(qtbot, window, 900)
    window.reset_layout()
    settle(qtbot, window)


def put_below_configure(qtbot, window) -> None:
    """Puts the corpus below Configure, as by dragging its title."""
    window.splitDockWidget(window.configure, window.corpus, Qt.Orientation.Vertical)
    settle(qtbot, window)


def widen_left(qtbot, window, by: int) -> None:
    """Moves the border beside the left column."""
    border = QPoint(window.corpus.geometry().right() + 4, window.corpus.geometry().center().y())
    qtbot.mousePress(window, Qt.MouseButton.LeftButton, pos=border)
    qtbot.mouseMove(window, border + QPoint(by, 0))
    QApplication.processEvents()
    qtbot.mouseRelease(window, Qt.MouseButton.LeftButton, pos=border + QPoint(by, 0))
    settle(qtbot, window)


@at_window()
def test_only_a_right_column_that_was_not_rearranged_is_split_in_a_high_window_whatever_is_closed(
    qtbot, unstyled, window
):
    begin_high(qtbot, window)
    window.why.raise_()
    usual = places(window)
    assert "why" in usual
    set_height(qtbot, window, 660)
    qtbot.waitUntil(lambda: tabs(window) == LOW)
    set_height(qtbot, window, 900)
    qtbot.waitUntil(lambda: tabs(window) == HIGH)
    qtbot.waitUntil(lambda: places(window) == usual)
    set_height(qtbot, window, 660)
    qtbot.waitUntil(lambda: tabs(window) == LOW)
    widen_left(qtbot, window, 120)
    put_below_configure(qtbot, window)
    wide = window.corpus.width()
    assert wide > usual["corpus"].width() + 100
    set_height(qtbot, window, 900)
    qtbot.waitUntil(lambda: tabs(window) == HIGH)
    assert window.configure.y() < window.corpus.y()
    qtbot.waitUntil(lambda: abs(window.corpus.width() - wide) < 3)
    qtbot.waitUntil(lambda: abs(window.text.height() - usual["text"].height()) < 12)
    for changed in ("distribution", "corpus", "why"):
        set_height(qtbot, window, 660)
        window.reset_layout()
        qtbot.waitUntil(lambda: tabs(window) == LOW)
        pane = getattr(window, changed)
        if changed == "corpus":
            pane.setFloating(True)
        else:
            pane.close()
        set_height(qtbot, window, 900)
        assert not {"Text Token", "Text Token Why"} & tabs(window), changed
        assert window.token.y() > window.text.geometry().bottom(), changed
        assert pane.isFloating() is (changed == "corpus"), changed
        assert pane.isHidden() is (changed != "corpus"), changed
    window.show_why()
    qtbot.waitUntil(lambda: tabs(window) == HIGH)
    # A right column that the user has rearranged stays at every height.
    window.why.setFloating(True)
    set_height(qtbot, window, 640)
    assert tabs(window) == CENTRE
    window.actions_by_id["reset_layout"].trigger()
    qtbot.waitUntil(lambda: tabs(window) == LOW)
    assert not window.text.visibleRegion().isEmpty()
    window.arrange(window.arrangement())
    settle(qtbot, window)
    assert tabs(window) == LOW
    window.why.setFloating(True)
    set_height(qtbot, window, 900)
    assert tabs(window) == CENTRE | {"Text Token"}
    window.reset_layout()
    window.resize(1440, 900)
    window.places.begin_runs()
    window.actions_by_id["workspace_learn"].trigger()
    settle(qtbot, window)
    high = tabs(window)
    window.resize(1024, 640)
    qtbot.waitUntil(lambda: tabs(window) != high)
    window.resize(1440, 900)
    qtbot.waitUntil(lambda: tabs(window) == high)
    QApplication.processEvents()
    assert window.size() == QSize(1440, 900)


def test_a_layout_from_a_low_window_is_kept_in_a_high_one_and_configure_starts_at_its_top_with_more_open(
    qtbot, monkeypatch, unstyled
):
    def bar(window):
        return body_of(window.configure.size_field).verticalScrollBar()

    def arrange(window, answers):
        begin_high(qtbot, window)
        pane = window.configure
        assert pane.pattern.preview.isHidden()
        qtbot.waitUntil(lambda: in_sight(pane.more_button))
        assert bar(window).maximum() == 0
        window.actions_by_id["more_settings"].trigger()
        qtbot.waitUntil(lambda: bar(window).value() > 0)
        settle(qtbot, window)
        # It follows while the layout settles, in the event after the one that moves the button.
        content = body_of(pane.size_field).widget()
        qtbot.waitUntil(
            lambda: bar(window).value() == min(pane.more_button.mapTo(content, QPoint()).y(), bar(window).maximum())
        )
        put_below_configure(qtbot, window)
        set_height(qtbot, window, 660)
        window.places.maximise(window.vocabulary)

    def look(window, answers):
        qtbot.waitUntil(lambda: tabs(window) == LOW)
        assert not window.actions_by_id["maximise_pane"].isChecked()
        pane = window.configure
        assert pane.y() < window.corpus.y()
        assert pane.more.isVisible()
        qtbot.waitUntil(lambda: in_sight(pane.size_field.number))
        settle(qtbot, window)
        assert bar(window).value() == 0
        for _ in range(2):
            window.actions_by_id["more_settings"].trigger()
        qtbot.waitUntil(lambda: bar(window).value() > 0)
        window.actions_by_id["more_settings"].trigger()
        qtbot.waitUntil(lambda: in_sight(pane.size_field.number))
        set_height(qtbot, window, 900)
        assert tabs(window) == HIGH
        assert pane.y() < window.corpus.y()
        assert window.text.y() < window.token.y()
        assert window.text.height() > window.token.height()

    assert at_the_window(monkeypatch, arrange) == 0
    assert at_the_window(monkeypatch, look) == 0


@at_window()
def test_no_parts_of_a_page_of_explore_overlap_and_none_needs_more_than_640_pixels_of_height(qtbot, window):
    window.actions_by_id["sample_rubbish"].trigger()
    trained(qtbot, window)
    window.session.corpus.add_texts([(f"{number}.txt", "the cat sat on the rat. " * 9) for number in range(2)])
    for size in (QSize(1440, 900), QSize(1024, 640)):
        window.resize(size)
        window.actions_by_id["workspace_explore"].trigger()
        for number, page in enumerate(window.explore.pages):
            window.explore.tabs.setCurrentIndex(number)
            if page.titled == "Search":
                page.field.setText("cat")
                qtbot.waitUntil(lambda page=page: page.rows.count() > 0)
            qtbot.waitUntil(lambda page=page: not page.busy)
            settle(qtbot, window)
            for one, other in itertools.combinations(placed(page), 2):
                assert not shown_area(one).intersects(shown_area(other)), (page.titled, size, one, other)
            is_low = size.height() == 640
            for rule in range(page.rows.count() if page.titled == "Clean Up" and is_low else 0):
                page.findings.selectRow(rule)
                QApplication.processEvents()
                assert window.size() == size, rule
            assert window.size() == size, page.titled


def placed(page: QWidget) -> list[QWidget]:
    """The widgets in sight that hold no other placed ones."""
    inner = (QAbstractScrollArea, QLineEdit, QComboBox, QAbstractButton, QLabel)
    found = [one for one in page.findChildren(QWidget) if isinstance(one, inner) and one.isVisible()]
    return [one for one in found if not any(other is not one and other.isAncestorOf(one) for other in found)]


def shown_area(widget: QWidget) -> QRect:
    return QRect(widget.mapToGlobal(QPoint(0, 0)), widget.size())


def the_right_column_becomes_one_place(qtbot, window) -> None:
    """Makes the window low, and high again: what is in its right column has room, and stays in front."""
    window.resize(1024, 640)
    qtbot.waitUntil(lambda: tabs(window) == LOW)
    window.session.view.look_at(256)
    window.actions_by_id["step_through_text"].trigger()
    steps = window.text.steps
    qtbot.waitUntil(lambda: steps.table.model().rowCount() > 2)
    window.actions_by_id["why_merge"].trigger()
    why = window.why
    qtbot.waitUntil(lambda: why.table.isVisible() and why.table.model().rowCount() > 2)
    window.token.raise_()
    qtbot.waitUntil(window.token.tree.isVisible)
    window.text.raise_()
    qtbot.waitUntil(steps.table.isVisible)
    QApplication.processEvents()
    assert body_of(steps.table).verticalScrollBar().maximum() == 0
    assert steps.splitter.height() >= 0.6 * window.text.height()
    for pane, content in ((window.token, window.token.views), (why, why.table)):
        pane.raise_()
        QApplication.processEvents()
        assert content.height() >= 0.55 * pane.height()
    assert body_of(why.table).verticalScrollBar().maximum() == 0
    window.resize(1440, 900)
    qtbot.waitUntil(lambda: tabs(window) == HIGH)
    assert not why.visibleRegion().isEmpty(), "what was in front stays in front"
    assert window.text.y() < why.y()
    window.text.tabs.setCurrentIndex(0)


@pytest.fixture
def long_name(tmp_path):
    """A text whose file has a long name."""
    name = "Rindfleischetikettierungsüberwachungsaufgabenübertragungsgesetz (Entwurf für die zweite Lesung).txt"
    (tmp_path / name).write_text("the cat sat on the mat. " * 60)
    return tmp_path / name


@at_window("{long_name}")
def test_every_pane_fits_into_a_low_window_whatever_is_in_front_and_however_long_names_are(qtbot, long_name, window):
    low = QSize(1024, 640)
    assert tabs(window) == HIGH
    for size in (300, 320):
        window.session.runs.rename(trained(qtbot, window, size), long_name.name * 2)
    window.session.view.set_text("the cat sat on the rat. " * 20)
    the_right_column_becomes_one_place(qtbot, window)
    for workspace in ("learn", "train", "explore", "compare"):
        window.resize(1440, 900)
        window.actions_by_id[f"workspace_{workspace}"].trigger()
        quiet(qtbot, window)
        shared = [[pane, *window.tabifiedDockWidgets(pane)] for pane in window.panes if pane.seen]
        # Each pane of Learn and Explore is raised below, or is in Train too.
        for turn in range(max(map(len, shared)) if workspace in ("train", "compare") else 1):
            window.resize(1440, 900)
            settle(qtbot, window)
            front = [place[turn % len(place)] for place in shared]
            for pane in front:
                pane.raise_()
            QApplication.processEvents()
            assert all(pane.seen for pane in front), (workspace, turn)
            for _ in range(2):  # as a border is dragged, a column of two places becomes one on the way
                window.resize(low)
                settle(qtbot, window)
            assert window.size() == low, (workspace, [pane.objectName() for pane in front])
        if workspace == "explore":
            continue
        if workspace == "learn":
            window.actions_by_id["guide"].trigger()
            settle(qtbot, window)
            assert not window.guide.visibleRegion().isEmpty()
        for pane in window.places.panes:
            if not pane.isHidden():
                pane.raise_()
                QApplication.processEvents()
                assert window.minimumSizeHint().height() <= 640, (workspace, pane.objectName())
                if pane is window.sizes:
                    settle(qtbot, window)
                    assert rows_in_sight(pane.table) >= 5, "also with what is said below the table"
        if not window.text.visibleRegion().isEmpty():
            text = window.text.encode.input
            assert text.viewport().height() >= 3 * text.fontMetrics().lineSpacing(), workspace
        for table in (pane.table for pane in (window.merges, window.vocabulary, window.runs)):
            assert table.visibleRegion().isEmpty() or rows_in_sight(table) >= 5, (workspace, table.accessibleName())
        assert window.size() == low, workspace
    window.actions_by_id["workspace_train"].trigger()
    settle(qtbot, window)
    before = places(window)
    window.session.jobs.notify("Removed book.txt.", "Undo", lambda: None, lambda: True)
    QApplication.processEvents()
    assert window.notices.isVisible()
    assert window.status.rect().contains(window.notices.geometry())
    assert places(window) == before, "a notice covers no table"


def rows_in_sight(table: QTableView) -> int:
    return table.viewport().height() // table.verticalHeader().defaultSectionSize()


@pytest.mark.parametrize("screen", [QSize(1008, 592)], indirect=True)  # of 1024 x 640, without title bar and borders
@at_window("{book}")
def test_large_text_makes_no_window_larger_than_its_screen_and_cuts_no_tab_and_small_text_gives_the_places_back(
    qtbot, screen, window
):
    for number in range(3):
        window.session.corpus.add_text("a short text", f"Text {number}")
    trained(qtbot, window, 270)
    window.resize(screen)
    window.actions_by_id["workspace_train"].trigger()
    settle(qtbot, window)
    usual = tabs(window)

    def enlarge(size):
        with qtbot.waitSignal(window.theme.settled):
            window.preferences.set("text_size", size)
        settle(qtbot, window)

    def least_widths():
        return [pane.minimumSizeHint().width() for pane in window.panes if pane.objectName() in ("configure", "merges")]

    least = least_widths()
    enlarge(26)
    assert least_widths() != least
    enlarge(13)
    qtbot.waitUntil(lambda: least_widths() == least)
    window.actions_by_id["workspace_learn"].trigger()
    enlarge(21)
    for workspace in ("learn", "train"):
        window.actions_by_id[f"workspace_{workspace}"].trigger()
        settle(qtbot, window)
        assert window.minimumSizeHint().width() <= screen.width(), workspace
        assert window.size() == screen, workspace
    assert tabs(window) != usual
    enlarge(13)
    qtbot.waitUntil(lambda: tabs(window) == usual)
    assert window.size() == screen
    enlarge(26)
    for workspace in ("learn", "train", "compare", "explore"):
        window.actions_by_id[f"workspace_{workspace}"].trigger()
        settle(qtbot, window)
        assert window.size() == screen, workspace
        assert window.minimumSizeHint().height() <= 560, (workspace, "also where the desktop has a bar")
        bars = [bar for bar in tab_bars(window) if bar.isVisible() and bar.count() > 1]
        assert bars, workspace
        for bar in bars:
            assert bar.elideMode() == Qt.TextElideMode.ElideNone, workspace
    pages = window.explore.tabs
    for page in range(pages.count()):
        pages.setCurrentIndex(page)
        settle(qtbot, window)
        assert window.minimumSizeHint().width() <= screen.width(), pages.tabText(page)
