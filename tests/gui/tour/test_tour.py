"""The tour: every stop done by a person, left and continued, and with things in its way."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QApplication

from tests.gui.person import at_the_window, at_window, quiet
from tests.gui.tour.steps import CONTROL, LAST, SHIFT, begin, lit, press, tab_to, told
from tokstudio.core.base.resources import sample_text
from tokstudio.core.guide.pages import read_pages
from tokstudio.gui.dialogs.export.dialog import ExportDialog
from tokstudio.gui.panes.compression.curves import has_other_corpus
from tokstudio.gui.session.preferences import Preferences
from tokstudio.gui.session.training.training import Settings
from tokstudio.gui.tour.stops import ENGLISH, JAPANESE, PRE_TOKENS, SETTINGS, STOPS

pytestmark = pytest.mark.usefixtures("unstyled")


@at_window()
def test_the_whole_tour_by_keyboard_alone(qtbot, window):
    window.resize(1440, 900)
    begin(qtbot, window)
    card, session, written = window.tour.card, window.session, window.text.encode.input
    places = set()

    def go_on(title):
        assert card.next_button.text() == "&Next"
        press(window, Qt.Key.Key_Return)
        assert card.title.text() == title
        assert window.focusWidget() is (written if title == "A sentence of yours" else card)
        assert card.task.text()
        assert card.next_button.text() == ("Fi&nish" if title == "Now your text" else "&Skip")
        assert card.leave_button.isVisible() == (title != "Now your text")
        qtbot.waitUntil(lambda: window.tour.shade.place == lit(window))
        places.add(card.pos().toTuple())
        assert not any(card.geometry().intersects(one) for one in window.tour.shade.places), title

    assert card.accessibleDescription().startswith("1 of 11: Train. A language model cannot read")
    press(window, Qt.Key.Key_R, CONTROL)
    qtbot.waitUntil(lambda: window.tour.at == 1)
    sentence = "“e” and space stand side by side 927 times, so they become one token."
    qtbot.waitUntil(lambda: card.caption.text() == sentence)
    tab_to(window, card.help_button)
    press(window, Qt.Key.Key_Space)
    told(qtbot, window, "744 merges were made: with the 256 bytes from which all text is made")
    assert window.focusWidget() is card, "the button is gone, and no other is chosen"
    go_on("The playhead")
    tab_to(window, window.compression.bar.slider)
    press(window, Qt.Key.Key_Home)
    told(qtbot, window, "one byte: a token of the article has 1.00 bytes on average, and after all 744 merges 3.14.")
    go_on("Why these two?")
    tab_to(window, window.merges.table)
    press(window, Qt.Key.Key_Down)
    press(window, Qt.Key.Key_Y, CONTROL | SHIFT)
    told(qtbot, window, "no pair stood side by side more often")
    run = session.runs.active
    assert run.config == Settings().config()
    assert run.merges[2].tolist() == [ord("t"), ord("h")]
    assert [ord(" "), ord("t")] not in run.merges.tolist()
    assert "space and “t”, second here, are never joined" in card.text.text()
    go_on("A sentence of yours")
    assert session.view.playhead == 744
    # The old sentence is selected.
    qtbot.keyClicks(written, "The token is of the text.")
    assert card.next_button.text() == "&Skip", "it is not said while one writes, so that Enter does not pass it over"
    press(window, Qt.Key.Key_Return)
    told(qtbot, window, "Your 25 characters are")
    assert window.focusWidget() is written
    go_on("Pre-tokens")
    press(window, Qt.Key.Key_Return)
    told(qtbot, window, "one below the other: 6 tokens without pre-tokens, 7 tokens with them.")
    second = session.runs.active
    assert second.config == PRE_TOKENS.config()
    assert second.name == "Run 2 (split)"  # short enough for the lists of tokenizers
    made = [{one.tokenizer.bytes_of(256 + merge) for merge in range(744)} for one in (run, second)]
    assert [[token in tokens for tokens in made] for token in (b"e the ", b" the")] == [[True, False], [False, True]]
    assert window.compare.isVisible()
    assert [column.name for column in session.comparison.columns] == [run.name, second.name]
    go_on("Japanese")
    assert session.runs.active is run
    assert window.places.workspace == "learn"
    tab_to(window, window.text.samples)
    menu = window.text.samples.menu()
    next(entry for entry in menu.actions() if entry.text() == "Japanese").trigger()
    told(qtbot, window, "22 characters are 66 tokens. In English, “I took a camera")
    assert "is 31 tokens" in card.text.text()
    go_on("Held-out text")
    press(window, Qt.Key.Key_Return)
    told(qtbot, window, "After 744 merges a token has 3.08 bytes in the text that was learned from, and 2.77 in")
    assert "the held-out text, 2,277 of 30,965 bytes." in card.text.text()
    assert "%" not in card.text.text(), "two shares side by side would differ"
    go_on("How large?")
    assert session.runs.active is run
    quiet(qtbot, window)
    tab_to(window, window.compression.bar.slider)
    press(window, Qt.Key.Key_Home)
    told(qtbot, window, "The first 372 merges bring a token from 1 byte to 2.51, the other 372 only to 3.14.")
    go_on("Export")
    press(window, Qt.Key.Key_E, CONTROL)
    dialog = next(one for one in window.findChildren(ExportDialog) if one.isVisible())
    press(dialog, Qt.Key.Key_Escape)
    assert window.tour.running
    told(qtbot, window, "One stop is left")
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    go_on("Now your text")
    QApplication.clipboard().setText("the cat sat on the mat and the rat sat on the cat. " * 60)
    tab_to(window, card.help_buttons[1])
    press(window, Qt.Key.Key_Space)
    told(qtbot, window, "3.1 kB of text support about 220 merges, so the vocabulary size is 476")
    assert card.text.text().count("no pair was left to join") == 1
    assert "more often" not in card.text.text()
    own = session.runs.active
    assert own.config == replace(PRE_TOKENS, vocabulary_size=476).config()
    assert not any(b" " in own.tokenizer.bytes_of(token)[1:] for token in range(256, len(own.tokenizer)))
    assert [source.name for source in own.corpus.sources] == ["Pasted text"]
    press(window, Qt.Key.Key_Return)
    assert not window.tour.running
    assert not card.isVisible()
    assert session.runs.active is own, "it is theirs, and stays"
    assert session.training.settings == replace(PRE_TOKENS, vocabulary_size=476)
    assert not window.actions_by_id["continue_tour"].isEnabled()
    assert len(places) == 1, "the card stays where it covers nothing"


def leave_by_the_button(qtbot, tour) -> None:
    """Leaves by a click, which the card takes once it has stood for a while: others were meant for that before it."""
    card = tour.card
    for button in (card.leave_button, card.next_button):
        card.say("3 of 9", "The playhead", f"Another text for {button.text()}")
        for click in (qtbot.mouseClick, qtbot.mouseDClick):
            click(button, Qt.MouseButton.LeftButton)
            assert tour.at == 2
    for timer in card.findChildren(QTimer):
        timer.stop()
    qtbot.mouseClick(card.leave_button, Qt.MouseButton.LeftButton)


@at_window()
def test_escape_or_a_button_leaves_at_every_stop_and_the_tour_continues_there(qtbot, window):
    menus = {QKeySequence.mnemonic(entry.text()).toString() for entry in window.menuBar().actions()}
    assert "Alt+F" in menus
    window.places.enter("learn")  # where the tour is: nothing is arranged anew
    begin(qtbot, window, 1)
    for at in range(1, LAST + 1):
        assert window.tour.at == at
        buttons = (window.tour.card.leave_button, window.tour.card.back_button, window.tour.card.next_button)
        assert menus.isdisjoint(QKeySequence.mnemonic(button.text()).toString() for button in buttons)
        if at == 2:
            leave_by_the_button(qtbot, window.tour)
        else:
            press(window, Qt.Key.Key_Escape)
        assert not window.tour.running
        assert not window.tour.shade.isVisible()
        assert Preferences(window.preferences.file).get("tour_stop", 0) == at, "for the next start"
        told = f"The tour stopped at {at + 1} of {LAST + 1}. Help > Continue the Tour goes on there."
        assert window.notices.text.text() == told
        qtbot.waitUntil(window.notices.isVisible)
        if at % 2:
            window.notices.act_button.click()
        else:
            window.actions_by_id["continue_tour"].trigger()
        assert not window.notices.isVisible()
        assert window.tour.card.title.text() == STOPS[at].title
        window.tour.card.next_button.click()
    # The next start has nothing to continue either.
    assert Preferences(window.preferences.file).get("tour_stop", LAST) == 0
    assert not window.actions_by_id["continue_tour"].isEnabled()
    begin(qtbot, window)
    press(window, Qt.Key.Key_Escape)
    assert not window.tour.running
    # There was no corpus and no text before, so that those of the tour stay.
    assert [source.name for source in window.session.corpus.sources] == ["How tokenizers work"]
    assert window.session.view.text == ENGLISH
    words = next(page.words for page in read_pages() if page.name == "window")
    assert "as they were before; without a corpus or text before, those of the tour stay." in words
    assert "stop 7 shows Japanese" in STOPS[1].text
    assert STOPS[7 - 1].title == "Japanese"


def test_after_a_new_start_it_continues_once_the_tokenizer_is_trained_again(qtbot, monkeypatch):
    before = Preferences()
    before.set("tour_stop", 5)
    before.flush()

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
        told(qtbot, window, "merges cross the spaces between words")

    assert at_the_window(monkeypatch, act) == 0


def only_the_lit_place_and_the_card_are_reached(qtbot, window) -> None:
    """Looks at the stop of the text: a second start or a closed pane changes nothing."""
    while window.tour.at < 4:
        window.tour.card.next_button.click()
    qtbot.wait(1)
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
def test_the_welcome_offers_the_tour_which_mends_what_was_changed_and_of_which_only_the_lit_place_is_reached(
    qtbot, window
):
    offer = window.compression.welcome.findChildren(type(window.tour.card.next_button))
    link = next(button for button in offer if button.text() == "Show Me")
    qtbot.waitUntil(window.isActiveWindow)
    qtbot.mouseClick(link, Qt.MouseButton.LeftButton)
    assert window.tour.at == 0
    assert QApplication.activeModalWidget() is None
    window.actions_by_id["undo"].trigger()
    told(qtbot, window, "The text or the settings are not those of the tour.")
    window.tour.card.help_button.click()
    told(qtbot, window, "A language model cannot read")
    window.tour.card.next_button.click()
    qtbot.waitUntil(lambda: window.tour.at == 1)
    assert window.session.training.played
    quiet(qtbot, window)
    told(qtbot, window, "744 merges were made: with the 256 bytes from which all text is made")
    window.tour.card.next_button.click()
    run = window.session.runs.active
    window.session.training.set_settings(Settings(300))
    window.actions_by_id["train"].trigger()
    told(qtbot, window, "Another run is shown.")
    quiet(qtbot, window)
    window.tour.card.help_button.click()
    told(qtbot, window, "The curve shows")
    assert window.session.runs.active is run
    window.session.training.set_settings(SETTINGS)
    window.actions_by_id["train"].trigger()
    window.session.training.pause()  # else it may have ended before it is looked at
    told(qtbot, window, "A training is in progress.")
    window.session.training.resume()
    quiet(qtbot, window)
    told(qtbot, window, "The curve shows")
    only_the_lit_place_and_the_card_are_reached(qtbot, window)
    for one in list(window.session.runs.all):
        window.session.runs.delete(one)
    told(qtbot, window, "This stop needs a trained tokenizer.")


@at_window("{book}")
def test_what_it_has_changed_is_put_back_and_an_own_corpus_is_replaced_only_if_the_person_wants(
    qtbot, book, tmp_path, window, answers
):
    session, own = window.session, Settings(5000, pattern="whitespace", held_out=0.2)
    qtbot.waitUntil(lambda: bool(session.corpus.sources))
    answers.yes = False
    window.actions_by_id["take_tour"].trigger()
    assert answers.asked == ["The corpus (book.txt) will be replaced by the sample."]
    assert not window.tour.running
    assert session.corpus.sources[0].name == "book.txt"
    answers.yes = True
    session.training.set_settings(own)
    session.view.set_text("My own sentence.")
    before = session.corpus.sources
    for leave in (0, LAST):
        begin(qtbot, window, leave)
        assert session.training.settings == SETTINGS == Settings()
        assert session.corpus.sources != before
        assert window.places.workspace == "learn"
        session.view.set_text(JAPANESE)
        if leave == LAST:
            window.tour.card.next_button.click()
        else:
            press(window, Qt.Key.Key_Escape)
        assert not window.tour.running
        assert session.training.settings == own
        assert session.corpus.sources == before
        assert session.view.text == "My own sentence."
        assert window.places.workspace == "train"
        assert not session.training.played
    session.training.set_settings(Settings(300))
    window.actions_by_id["train"].trigger()
    quiet(qtbot, window)
    first, mine = session.runs.all
    assert has_other_corpus(first, mine, None)
    # The last stop trains on a text of one's own, and on that alone.
    begin(qtbot, window, LAST)
    second = session.runs.active
    assert first.corpus.sources[0].data is not second.corpus.sources[0].data
    assert not has_other_corpus(first, second, None)
    answers.files = []
    window.tour.card.help_button.click()
    assert session.training.current is None, "no file was chosen"
    assert [source.name for source in session.corpus.sources] == ["How tokenizers work"]
    mine = tmp_path / "mine.txt"
    mine.write_text("some text of mine. " * 500, encoding="utf-8")
    answers.files = [mine]
    window.tour.card.help_button.click()
    told(qtbot, window, "9.5 kB of text support about 380 merges, so the vocabulary size is 636")
    assert [source.name for source in session.runs.active.corpus.sources] == ["mine.txt"]
    press(window, Qt.Key.Key_Return)
    assert [source.name for source in session.corpus.sources] == ["mine.txt"]


def drawn(window):
    """The runs whose curves are drawn."""
    active = window.session.runs.active
    return [run for run in window.session.runs.all if run is active or not run.marks.curve_hidden]


@at_window()
def test_only_curves_that_a_stop_speaks_of_are_drawn_and_closing_asks_only_for_runs_of_the_person(qtbot, window):
    session, card = window.session, window.tour.card
    session.corpus.add_text("an earlier text of my own " * 40)
    for size in (300, 310):
        session.training.set_settings(Settings(size))
        window.actions_by_id["train"].trigger()
        quiet(qtbot, window)
    hidden, shown = session.runs.all
    for run in session.runs.all:
        run.note(exported=True)
    session.runs.show_curve(hidden, False)
    session.runs.activate(shown)
    begin(qtbot, window, 2)
    first = session.runs.active
    assert drawn(window) == [first]
    while window.tour.at < 5:
        card.next_button.click()
    card.help_button.click()
    told(qtbot, window, "one below the other")
    second = session.runs.active
    assert drawn(window) == [first, second], "the stop compares both"
    card.next_button.click()
    assert drawn(window) == [first]
    card.next_button.click()
    card.help_button.click()
    quiet(qtbot, window)
    third = session.runs.active
    assert third not in (first, second)
    qtbot.waitUntil(lambda: drawn(window) == [third])
    press(window, Qt.Key.Key_Escape)
    session.runs.activate(first)
    assert drawn(window) == [shown, first, second, third], "as before the tour"
    assert first.unsaved
    assert window.projects._question(True) is None
    session.history.rename_run(second, "Mine")
    assert window.projects._question(True) == "Mine has not been saved or exported."
    window.actions_by_id["continue_tour"].trigger()
    while window.tour.at < LAST:
        card.next_button.click()
    QApplication.clipboard().setText("the cat sat on the mat and the rat sat on the cat. " * 60)
    card.help_buttons[1].click()
    told(qtbot, window, "so the vocabulary size is")
    press(window, Qt.Key.Key_Escape)
    own = session.runs.active
    assert window.projects._question(True) == f"Mine and {own.name} have not been saved or exported."


@at_window()
def test_the_last_stop_says_what_stands_in_the_way_of_an_own_text(qtbot, monkeypatch, window):
    card, training = window.tour.card, window.session.training
    begin(qtbot, window)
    window.actions_by_id["train"].trigger()
    qtbot.waitUntil(lambda: window.tour.at == 1)
    while window.tour.at < LAST:
        card.next_button.click()
    # The first training is still played.
    told(qtbot, window, "A training is in progress. The tour goes on when it has ended.")
    assert not card.task.text()
    assert [button.text() for button in card.help_buttons if not button.isHidden()] == ["Jump to the End"]
    card.help_button.click()
    told(qtbot, window, "Train on a text of your own")
    assert training.current is None
    assert [button.text() for button in card.help_buttons] == ["Open a Text…", "Paste a Text"]
    QApplication.clipboard().clear()
    card.help_buttons[1].click()
    qtbot.waitUntil(lambda: card.caption.text() == "The clipboard has no text.")
    assert window.status.currentMessage() == "The clipboard has no text."
    QApplication.clipboard().setText(sample_text("article")[:1000])
    said, say = [], card.say
    monkeypatch.setattr(card, "say", lambda *texts: (said.append(texts[2]), say(*texts)))
    card.help_buttons[1].click()
    told(qtbot, window, "so the vocabulary size is")
    assert "The training on your text is in progress." in said
    assert not card.caption.text()
    run = window.session.runs.active
    last = int(run.log.count[-1])
    assert (len(run), last) == (120, 2)
    assert "120 merges were made. The last one joined a pair that occurred 2 times; no pair that is" in card.text.text()


@at_window()
def test_the_last_stop_trains_on_the_chosen_text_alone_and_on_nothing_where_none_is_chosen(
    qtbot, tmp_path, window, answers
):
    session, card = window.session, window.tour.card
    session.corpus.add_text("an earlier text of my own " * 40)
    begin(qtbot, window)
    window.tour._go_to(LAST)
    press(window, Qt.Key.Key_Escape)
    window.actions_by_id["continue_tour"].trigger()
    assert window.tour.at == LAST
    answers.files = []
    card.help_button.click()
    session.corpus.add_text("a text that was not asked for here " * 40)
    qtbot.wait(1)
    quiet(qtbot, window)
    assert not session.runs.all, "no text was chosen"
    mine = tmp_path / "mine.txt"
    mine.write_text("some text of mine. " * 500, encoding="utf-8")
    answers.files = [mine]
    card.help_button.click()
    told(qtbot, window, "so the vocabulary size is 636")
    (run,) = session.runs.all
    assert [source.name for source in run.corpus.sources] == ["mine.txt"]
