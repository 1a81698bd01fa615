"""The card of the tour: where it stands, what its buttons do, and what it says beside the window."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import time
from dataclasses import replace
from functools import partial

import pytest
from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtWidgets import QApplication, QTabBar

from tests.gui.person import at_window, quiet
from tests.gui.tour.steps import CONTROL, LAST, SHIFT, begin, lit, press, tab_to, told
from tokstudio.core.base.progress import Progress, Work
from tokstudio.gui.session.training import training as training_module
from tokstudio.gui.token_text.spelling import merge_sentence
from tokstudio.gui.tour.stops import ENGLISH, JAPANESE
from tokstudio.gui.window import status_bar


@at_window()
def test_it_stays_in_one_place_of_a_low_window_enter_goes_on_at_every_stop_and_space_and_focus_never_leave(
    qtbot, window
):
    window.resize(1024, 640)
    begin(qtbot, window)
    tour, card, view = window.tour, window.tour.card, window.session.view
    places, seen = set(), []
    while tour.running:
        qtbot.wait(1)
        quiet(qtbot, window)
        qtbot.waitUntil(lambda: tour.shade.place == lit(window))
        places.add(card.pos().toTuple())
        assert not any(card.geometry().intersects(one) for one in tour.shade.places)
        at = tour.at
        seen.append(at)
        assert not card.leave_button.hasFocus()
        if at == LAST:
            view.set_playhead(200)
            view.set_text(JAPANESE)
            card.next_button.click()
            break
        if at == LAST - 1:
            view.set_playhead(100)
            card.back_button.click()
            card.next_button.click()
            assert view.playhead == 744
        card.setFocus()
        for _ in range(2):
            press(window, Qt.Key.Key_Space)
        assert tour.at == at
        # Where the card offers a training, the first Enter is for that.
        for _ in range(2):
            if tour.at == at:
                press(window, Qt.Key.Key_Enter)
                qtbot.wait(1)
                quiet(qtbot, window)
                qtbot.wait(1)
        assert tour.at == at + 1
    assert len(places) == 1
    assert seen == list(range(LAST + 1))
    assert not tour.running
    assert (view.playhead, view.text) == (744, ENGLISH), "all merges are applied to the English sentence"


@at_window()
def test_card_status_bar_and_the_marked_row_have_the_same_merge(qtbot, monkeypatch, unstyled, window):
    monkeypatch.setattr(training_module, "played_interval", lambda made: 0.03)
    monkeypatch.setattr(training_module, "_HELD", 0.05)
    begin(qtbot, window)
    press(window, Qt.Key.Key_R, CONTROL)
    named: set[str] = set()

    def look() -> None:
        caption, table, number = window.tour.card.caption.text(), window.merges._merges, window.session.view.playhead
        if caption and window.session.training.played:
            assert caption == window.status.label.text() == merge_sentence(window.session.runs.active, number)
            assert (table.playhead, table.row_of_number(number)) == (number, 0)
            named.add(caption)

    window.session.training.merges_added.connect(look)
    qtbot.waitUntil(lambda: len(named) > 6)


@at_window()
def test_card_and_status_bar_count_the_loops_that_are_compiled_and_a_click_hides_neither(
    qtbot, monkeypatch, unstyled, window
):
    compiled = [3]

    def compiling(*, every: bool = True) -> Work[None]:
        while compiled[0] < 75:
            yield Progress("compiling", compiled[0], 75)
            time.sleep(0.01)

    monkeypatch.setattr(training_module, "prepare_work", compiling)
    status, jobs = window.status, window.session.jobs
    jobs.pauses = replace(jobs.pauses, shown_bar=10)
    begin(qtbot, window)
    press(window, Qt.Key.Key_R, CONTROL)
    for loops in (3, 20):
        compiled[0] = loops
        words = f"Getting ready, at the first start only: {loops} of 75 loops compiled"
        qtbot.waitUntil(lambda words=words: status.label.text() == words)
        qtbot.waitUntil(lambda words=words: window.tour.card.caption.text().startswith(words))
        qtbot.waitUntil(lambda loops=loops: status.bar.isVisible() and status.bar.value() == 1000 * loops // 75)
        for pane in (window.text, window.merges, window.compression):
            qtbot.mouseClick(pane, Qt.MouseButton.LeftButton)
        window.session.view.set_text(f"Another text, {loops}.")
        QApplication.processEvents()
        assert status.bar.isVisible()
        assert status.label.text() == words
        assert window.tour.card.caption.text().startswith(words)
    for name in ("_TIME_LEFT_AFTER", "_JUDGED_BY"):
        monkeypatch.setattr(status_bar, name, 0)
    compiled[0] = 40
    qtbot.waitUntil(lambda: " left" in status.left_over.text())
    qtbot.waitUntil(lambda: " left" in window.tour.card.caption.text())
    compiled[0] = 75
    qtbot.waitUntil(lambda: status.label.text().startswith("“e” and space"))


def covered(window, pane) -> bool:
    """Whether the shade is over a pane."""
    return window.childAt(pane.mapTo(window, pane.rect().center())) is window.tour.shade


@at_window()
def test_the_card_follows_size_and_theme_and_leaves_in_sight_what_it_speaks_of_and_what_is_to_be_watched(qtbot, window):
    reason = "no pair stood side by side more often"
    window.resize(1440, 870)
    begin(qtbot, window, 1)
    for at, watched in ((1, ("merges", "text")), (2, ("compression", "text")), (3, ("merges",))):
        while window.tour.at < at:
            window.tour.card.next_button.click()
        # Each stop is reached in the size in which the stop before it was left.
        for size in ((1440, 870), (1024, 640))[:: -1 if at % 2 else 1]:
            window.resize(*size)
            quiet(qtbot, window)
            qtbot.waitUntil(lambda: window.tour.shade.size() == window.size())
            qtbot.waitUntil(lambda: window.tour.shade.place == lit(window))
            assert window.rect().contains(window.tour.card.geometry())
            assert not window.tour.card.geometry().intersects(lit(window))
        if at == 2:
            window.actions_by_id["theme_dark"].trigger()
        for name in watched:
            pane = getattr(window, name)
            qtbot.waitUntil(lambda pane=pane: not covered(window, pane))
            assert not window.tour.holds_back(pane)
    assert covered(window, window.guide)
    window.tour.card.back_button.click()
    sentence = QRect(window.text.mapTo(window, QPoint()), window.text.size())
    for at in (2, 8):
        while window.tour.at < at:
            window.tour.card.next_button.click()
        quiet(qtbot, window)
        window.session.view.set_playhead(50)
        qtbot.waitUntil(lambda: window.tour.card.next_button.text() == "&Next")
        assert not window.tour.card.geometry().intersects(sentence)
    while window.tour.at > 3:
        window.tour.card.back_button.click()
    for size in ((1440, 870), (1024, 640)):
        window.resize(*size)
        window.reset_layout()
        window.tour.card.back_button.click()
        window.tour.card.next_button.click()
        qtbot.waitUntil(lambda: reason not in window.tour.card.text.text())
        window.actions_by_id["why_merge"].trigger()
        told(qtbot, window, reason)
        quiet(qtbot, window)
        qtbot.waitUntil(lambda: window.tour.shade.place.size() == window.why.size())
        assert not window.merges.visibleRegion().isEmpty(), size
        assert not window.tour.card.geometry().intersects(lit(window)), size
        assert not window.tour.card.geometry().intersects(window.tour.shade.place), size
        bars = window.findChildren(QTabBar)
        bar = next(one for one in bars if "Why" in map(one.tabText, range(one.count())) and one.isVisible())
        tabs = QRect(bar.mapTo(window, QPoint()), bar.size())
        assert size[1] < 870 or not window.tour.card.geometry().intersects(tabs), size


@at_window()
def test_the_link_to_the_end_is_as_high_as_its_text_and_no_button_is_too_narrow_or_keeps_focus_or_colour(qtbot, window):
    begin(qtbot, window)
    card, skip = window.tour.card, window.status.skip
    # At 1024x640 the last stop had "Ɔpen a Text.." on its main button.
    card.offer("Open a Text with a Long Name…", "Paste a Text that Was Copied", is_main=True)
    card.stand_beside(QRect(290, 110, 360, 300), (), 100)
    qtbot.waitUntil(lambda: all(button.width() >= button.sizeHint().width() for button in card.help_buttons))
    card.offer("Open a Text…", "Paste a Text", is_main=True)
    card.stand_beside(QRect(600, 110, 360, 300), (), 100)
    qtbot.waitUntil(lambda: card.help_buttons[0].y() == card.help_buttons[1].y())
    # Nor does a button keep the colour of a pointer that is elsewhere.
    buttons = window.toolbar.train_button, card.leave_button
    for button in buttons:
        button.setAttribute(Qt.WidgetAttribute.WA_UnderMouse)
    for act in (window.actions_by_id["train"].trigger, partial(window.theme.set_text_size, 15)):
        act()
        qtbot.waitUntil(skip.isVisible)
        qtbot.wait(1)
        assert skip.height() >= skip.sizeHint().height()
        assert window.status.rect().contains(skip.mapTo(window.status, skip.rect().bottomRight()))
    qtbot.waitUntil(lambda: window.tour.at == 1)
    assert not buttons[0].underMouse()
    skip.setFocus()
    skip.click()
    qtbot.waitUntil(skip.isHidden)
    quiet(qtbot, window)
    assert not card.leave_button.hasFocus()
    buttons[1].setAttribute(Qt.WidgetAttribute.WA_UnderMouse)
    buttons[1].click()
    assert not buttons[1].underMouse()


@pytest.mark.parametrize("screen", [QSize(900, 640)], indirect=True)
@at_window()
def test_in_a_narrow_window_the_answer_may_cover_the_merges(qtbot, screen, unstyled, window):
    window.resize(screen)
    begin(qtbot, window, 3)
    tab_to(window, window.merges.table)
    press(window, Qt.Key.Key_Down)
    press(window, Qt.Key.Key_Y, CONTROL | SHIFT)
    told(qtbot, window, "no pair stood side by side more often")
    assert window.merges.visibleRegion().isEmpty()
    qtbot.waitUntil(lambda: window.tour.shade.place.size() == window.why.size())
