"""The tour: every stop done by a person, left and continued, and with things in its way."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication

from tests.gui.person import at_the_window, at_window, quiet
from tests.gui.tour.steps import CONTROL, LAST, SHIFT, begin, lit, press, tab_to, told
from tokstudio.gui.dialogs.export.dialog import ExportDialog
from tokstudio.gui.panes.compression.curves import has_other_corpus
from tokstudio.gui.session.training.training import Settings
from tokstudio.gui.tour.stops import ENGLISH, JAPANESE, SETTINGS, STOPS

pytestmark = pytest.mark.usefixtures("unstyled")


@at_window()
def test_the_whole_tour_by_keyboard_alone(qtbot, window):
    begin(qtbot, window)
    card, session, written = window.tour.card, window.session, window.text.encode.input

    def go_on(title):
        assert card.next_button.text() == "&Next"
        tab_to(window, card.next_button)
        press(window, Qt.Key.Key_Space)
        assert card.title.text() == title
        assert window.focusWidget() is (written if title == "A sentence of yours" else card)
        assert card.task.text()
        assert card.next_button.text() == ("Fi&nish" if title == "Export" else "&Skip")
        assert card.leave_button.isVisible() == (title != "Export")

    assert card.accessibleDescription().startswith("1 of 9: Train. A language model")
    press(window, Qt.Key.Key_R, CONTROL)
    qtbot.waitUntil(lambda: window.tour.at == 1)
    sentence = "Space and “t” stand side by side 865 times, so they become one token."
    qtbot.waitUntil(lambda: card.caption.text() == sentence)
    tab_to(window, card.help_button)
    press(window, Qt.Key.Key_Space)
    told(qtbot, window, "744 merges were made, as many as the settings allow.")
    go_on("The playhead")
    tab_to(window, window.compression.bar.slider)
    press(window, Qt.Key.Key_Home)
    told(qtbot, window, "one byte: a token has 1.00 bytes on average, and after all 744 merges 3.15.")
    go_on("Why these two?")
    tab_to(window, window.merges.table)
    press(window, Qt.Key.Key_Down)
    press(window, Qt.Key.Key_Y, CONTROL | SHIFT)
    told(qtbot, window, "no pair stood side by side more often")
    run = session.runs.active
    (merge,) = (at + 1 for at, pair in enumerate(run.merges.tolist()) if pair == [ord("t"), ord("h")])
    assert f"second here, are not joined until merge {merge}." in card.text.text()
    go_on("A sentence of yours")
    assert session.view.playhead == 744
    # The old sentence is selected.
    qtbot.keyClicks(written, "The token is of the text.")
    told(qtbot, window, "Your 25 characters are")
    go_on("Pre-tokens")
    press(window, Qt.Key.Key_T, CONTROL | SHIFT)
    told(qtbot, window, "Step 1 shows the pre-tokens of your sentence")
    go_on("Japanese")
    tab_to(window, window.text.samples)
    menu = window.text.samples.menu()
    next(entry for entry in menu.actions() if entry.text() == "Japanese").trigger()
    told(qtbot, window, "These 22 characters are 66 tokens. In English, “I took a camera")
    go_on("Held-out text")
    held_out = run.held_out.bytes / (run.held_out.bytes + run.corpus_bytes)
    assert f"About {held_out:.0%}".replace("%", " %") in card.text.text()
    quiet(qtbot, window)
    tab_to(window, window.compression.bar.slider)
    press(window, Qt.Key.Key_Left)
    told(qtbot, window, "After 743 merges, a token has 3.15 bytes in the text that was learned from, and 2.90 in")
    go_on("Export")
    press(window, Qt.Key.Key_E, CONTROL)
    dialog = next(one for one in window.findChildren(ExportDialog) if one.isVisible())
    press(dialog, Qt.Key.Key_Escape)
    assert window.tour.running
    told(qtbot, window, "That was the tour")
    assert not card.leave_button.isVisible()
    tab_to(window, card.next_button)
    press(window, Qt.Key.Key_Space)
    assert not window.tour.running
    assert not card.isVisible()
    assert session.view.playhead == 744
    assert not window.actions_by_id["continue_tour"].isEnabled()


def test_escape_leaves_at_every_stop_and_the_tour_continues_there(qtbot, monkeypatch):
    def act(window, answers):
        begin(qtbot, window, 1)
        for at in range(1, LAST + 1):
            assert window.tour.at == at
            press(window, Qt.Key.Key_Escape)
            assert not window.tour.running
            assert not window.tour.shade.isVisible()
            window.actions_by_id["continue_tour"].trigger()
            assert window.tour.card.title.text() == STOPS[at].title
            window.tour.card.next_button.click()

    assert at_the_window(monkeypatch, act) == 0

    def next_time(window, answers):
        assert not window.actions_by_id["continue_tour"].isEnabled()
        begin(qtbot, window)
        press(window, Qt.Key.Key_Escape)
        assert not window.tour.running

    assert at_the_window(monkeypatch, next_time) == 0


def test_after_a_new_start_it_continues_once_the_tokenizer_is_trained_again(qtbot, monkeypatch):
    assert at_the_window(monkeypatch, lambda window, answers: begin(qtbot, window, 5)) == 0

    def act(window, answers):
        card = window.tour.card
        window.actions_by_id["continue_tour"].trigger()
        assert card.title.text() == "Pre-tokens"
        assert card.text.text() == "This stop needs the run of the tour."
        assert card.task.text() == ""
        card.help_button.click()
        told(qtbot, window, "This stop needs a trained tokenizer.")
        card.help_button.click()
        assert not window.session.training.played
        quiet(qtbot, window)
        told(qtbot, window, "training cuts the text into pre-tokens")

    assert at_the_window(monkeypatch, act) == 0


@at_window()
def test_only_the_lit_place_and_the_card_are_reached_and_a_second_start_or_a_closed_pane_changes_nothing(qtbot, window):
    begin(qtbot, window, 4)
    shade, card = window.tour.shade, window.tour.card
    place = lit(window)
    assert shade.place == place
    assert not card.geometry().intersects(place)
    assert window.childAt(place.center()) is not shade
    dark = window.configure.mapTo(window, window.configure.rect().center())
    assert window.childAt(dark) is shade
    before = window.session.training.settings
    box = window.configure.size_field.number
    qtbot.mouseClick(shade, Qt.MouseButton.LeftButton, pos=box.mapTo(window, box.rect().center()))
    assert window.session.training.settings == before
    assert not box.hasFocus()
    reached = set()
    for _ in range(40):
        press(window, Qt.Key.Key_Tab)
        if window.focusWidget() is window.text.encode.input:
            break
    for _ in range(40):
        window.focusNextPrevChild(True)
        reached.add(window.focusWidget())
    inside = (window.text, card)
    assert all(any(one is widget or one.isAncestorOf(widget) for one in inside) for widget in reached)
    assert {window.text.samples, card.next_button} <= reached
    runs = list(window.session.runs.all)
    window.text.encode.input.setFocus()
    window.actions_by_id["take_tour"].trigger()
    window.tour.resume()
    assert window.tour.at == 4
    assert window.session.runs.all == runs
    assert window.focusWidget() is window.tour.card
    window.text.close()
    told(qtbot, window, "The pane Text is closed or behind another.")
    assert window.tour.card.help_button.text() == "Show It"
    window.tour.card.help_button.click()
    told(qtbot, window, "The tokenizer now cuts any text")
    assert window.text.isVisible()
    window.text.setFloating(True)
    qtbot.waitUntil(lambda: window.tour.shade.place.isEmpty())
    window.text.setFloating(False)
    qtbot.waitUntil(lambda: not window.tour.shade.place.isEmpty())


@at_window()
def test_another_run_is_exchanged_for_that_of_the_tour(qtbot, window):
    begin(qtbot, window, 2)
    run = window.session.runs.active
    window.session.training.set_settings(Settings(300))
    window.actions_by_id["train"].trigger()
    told(qtbot, window, "Another run is shown.")
    quiet(qtbot, window)
    window.tour.card.help_button.click()
    told(qtbot, window, "The solid curve shows")
    assert window.session.runs.active is run
    window.session.training.set_settings(SETTINGS)
    window.actions_by_id["train"].trigger()
    told(qtbot, window, "A training is in progress.")
    quiet(qtbot, window)
    told(qtbot, window, "The solid curve shows")
    for one in list(window.session.runs.all):
        window.session.runs.delete(one)
    told(qtbot, window, "This stop needs a trained tokenizer.")


@at_window()
def test_the_welcome_offers_the_tour_and_undo_before_the_training_is_mended(qtbot, window):
    offer = window.compression.welcome.findChildren(type(window.tour.card.next_button))
    link = next(button for button in offer if "tour" in button.text())
    qtbot.waitUntil(window.isActiveWindow)
    qtbot.mouseClick(link, Qt.MouseButton.LeftButton)
    assert window.tour.at == 0
    assert QApplication.activeModalWidget() is None
    window.actions_by_id["undo"].trigger()
    told(qtbot, window, "The text or the settings are not those of the tour.")
    window.tour.card.help_button.click()
    told(qtbot, window, "A language model does not read letters.")
    window.tour.card.next_button.click()
    told(qtbot, window, "This stop needs a trained tokenizer.")
    window.tour.card.help_button.click()
    assert window.session.training.played
    quiet(qtbot, window)
    told(qtbot, window, "744 merges were made, as many as the settings allow.")


@at_window("{book}")
def test_an_own_corpus_is_kept_if_the_person_wants(qtbot, book, window, answers):
    qtbot.waitUntil(lambda: bool(window.session.corpus.sources))
    answers.yes = False
    window.actions_by_id["take_tour"].trigger()
    assert answers.asked == ["The corpus (book.txt) will be replaced by the sample."]
    assert not window.tour.running
    assert window.session.corpus.sources[0].name == "book.txt"


@at_window()
def test_at_the_end_all_merges_are_applied_and_the_english_sentence_comes_back(qtbot, window):
    view = window.session.view
    begin(qtbot, window, LAST - 1)
    view.set_playhead(100)
    window.tour.card.next_button.click()
    assert view.playhead == 744
    view.set_playhead(200)
    view.set_text(JAPANESE)
    window.tour.card.next_button.click()
    assert not window.tour.running
    assert view.playhead == 744
    assert view.text == ENGLISH
    view.set_text("My own sentence.")
    window.actions_by_id["take_tour"].trigger()
    press(window, Qt.Key.Key_Escape)
    assert view.text == "My own sentence."


@at_window()
def test_a_second_tour_has_the_corpus_of_the_first(qtbot, window):
    for _ in range(2):
        begin(qtbot, window, 2)
        press(window, Qt.Key.Key_Escape)
    first, second = window.session.runs.all
    assert first.corpus.sources[0].data is not second.corpus.sources[0].data
    assert not has_other_corpus(first, second, None)
    window.session.training.set_settings(Settings(300))
    window.session.corpus.add_text("another text")
    window.actions_by_id["train"].trigger()
    quiet(qtbot, window)
    assert has_other_corpus(first, window.session.runs.active, None)
