"""The card of the tour: where it stands, what its buttons do, and what it says beside the window."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import QPoint, QRect, QSize, Qt, QTimer
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QTabBar

from tests.gui.person import PAUSES, at_window, quiet
from tests.gui.tour.steps import CONTROL, LAST, SHIFT, begin, lit, press, tab_to, told
from tokstudio.gui.session.training import training as training_module
from tokstudio.gui.session.training.training import Settings
from tokstudio.gui.tour.stops import SETTINGS


@at_window()
def test_the_card_follows_the_size_of_the_window_and_the_theme(qtbot, unstyled, window):
    for at in range(2, LAST + 1):
        if not window.tour.running:
            begin(qtbot, window, at)
        if at in (3, 5):
            window.actions_by_id["theme_dark" if at == 3 else "theme_light"].trigger()
        # Each stop is reached in the size in which the stop before it was left.
        for size in ((1440, 900), (1024, 640))[:: -1 if at % 2 else 1]:
            window.resize(*size)
            quiet(qtbot, window)
            qtbot.waitUntil(lambda: window.tour.shade.size() == window.size())
            qtbot.waitUntil(lambda: window.tour.shade.place == lit(window))
            assert window.rect().contains(window.tour.card.geometry())
            assert not window.tour.card.geometry().intersects(lit(window))
        window.tour.card.next_button.click()


@at_window()
def test_the_settings_of_before_are_offered_after_the_tour_and_not_in_it(qtbot, unstyled, window):
    own = Settings(5000, pattern="whitespace")
    window.session.training.set_settings(own)
    begin(qtbot, window, 1)
    assert window.session.training.settings == SETTINGS
    assert not window.notices.isVisible()
    for again in ("continue_tour", "take_tour"):
        press(window, Qt.Key.Key_Escape)
        qtbot.waitUntil(window.notices.isVisible)
        window.actions_by_id[again].trigger()
        assert not window.notices.isVisible()
    press(window, Qt.Key.Key_Escape)
    qtbot.waitUntil(window.notices.isVisible)
    assert window.notices.text.text() == "The tour has changed the training settings."
    window.notices.act_button.click()
    assert window.session.training.settings == own
    window.actions_by_id["undo"].trigger()
    assert not window.session.training.played


@at_window()
def test_its_buttons_have_no_letter_of_a_menu_and_ignore_clicks_meant_for_the_card_before(qtbot, unstyled, window):
    menus = {QKeySequence.mnemonic(entry.text()).toString() for entry in window.menuBar().actions()}
    assert "Alt+F" in menus
    begin(qtbot, window, LAST)
    card = window.tour.card
    buttons = (card.leave_button, card.back_button, card.next_button)
    assert menus.isdisjoint(QKeySequence.mnemonic(button.text()).toString() for button in buttons)
    while window.tour.at > 2:
        card.back_button.click()
    for button in (card.leave_button, card.next_button):
        card.say("3 of 9", "The playhead", f"Another text for {button.text()}")
        for click in (qtbot.mouseClick, qtbot.mouseDClick):
            click(button, Qt.MouseButton.LeftButton)
            assert window.tour.at == 2
    for timer in card.findChildren(QTimer):
        timer.stop()
    qtbot.mouseClick(card.leave_button, Qt.MouseButton.LeftButton)
    assert not window.tour.running


@pytest.mark.parametrize("pauses", [replace(PAUSES, caption=150)], indirect=True)
@at_window()
def test_the_card_and_the_status_bar_name_the_same_merge(qtbot, monkeypatch, pauses, unstyled, window):
    monkeypatch.setattr(training_module, "played_interval", lambda made: 0.03)
    begin(qtbot, window)
    press(window, Qt.Key.Key_R, CONTROL)
    named: set[str] = set()

    def some_merges() -> bool:
        caption = window.tour.card.caption.text()
        assert caption == window.status.captions.text
        assert caption in ("", window.status.label.text())
        named.add(caption)
        return len(named) > 6

    qtbot.waitUntil(some_merges)


@at_window()
def test_the_link_to_the_end_is_as_high_as_its_text_needs_and_focuses_no_button(qtbot, window):
    begin(qtbot, window)
    for larger in range(3):
        if larger:
            window.actions_by_id["text_larger"].trigger()
        else:
            window.actions_by_id["train"].trigger()
        qtbot.waitUntil(window.status.skip.isVisible)
        qtbot.wait(1)
        assert window.status.skip.height() >= window.status.skip.sizeHint().height()
        assert window.status.rect().contains(
            window.status.skip.mapTo(window.status, window.status.skip.rect().bottomRight())
        )
    window.status.skip.setFocus()
    window.status.skip.click()
    qtbot.waitUntil(lambda: window.status.skip.isHidden())
    quiet(qtbot, window)
    assert not window.tour.card.leave_button.hasFocus()


@at_window()
def test_the_card_leaves_in_sight_what_it_speaks_of(qtbot, window):
    reason = "no pair stood side by side more often"
    window.resize(1440, 870)
    begin(qtbot, window, 2)
    sentence = QRect(window.text.mapTo(window, QPoint()), window.text.size())
    for at in (2, 7):
        while window.tour.at < at:
            window.tour.card.next_button.click()
        quiet(qtbot, window)
        window.session.view.set_playhead(50)
        qtbot.waitUntil(lambda: window.tour.card.next_button.text() == "&Next")
        assert not window.tour.card.geometry().intersects(sentence)
    while window.tour.at > 3:
        window.tour.card.back_button.click()
    for size in ((1440, 870), (1440, 900), (1024, 640)):
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
