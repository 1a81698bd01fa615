"""Pattern, the settings under More, and the forecast, field by field."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QLabel, QWidget

from tests.gui.person import PAUSES, TEXT
from tokstudio import Corpus
from tokstudio.core.pretokenization.patterns import NAMES, REGEX, splitter
from tokstudio.core.training.forecast import Forecast
from tokstudio.gui.panes.configure.pane import ConfigurePane
from tokstudio.gui.state.training_settings import Settings
from tokstudio.gui.widgets.controls import ChoiceBox

SPECIAL = "<|end|>"

forecast_at_once = pytest.mark.parametrize("pauses", [replace(PAUSES, forecast=5)], indirect=True)


@pytest.fixture
def pane(session, theme, actions, dock) -> ConfigurePane:
    actions["more_settings"].setCheckable(True)
    actions["train"].triggered.connect(lambda: session.training.start())
    actions["train_on_sample"].triggered.connect(lambda: session.training.start_on_sample())
    actions["train_anyway"].triggered.connect(lambda: session.training.start(anyway=True))
    pane = ConfigurePane(session, theme, actions)
    dock(pane, 320, 1500)
    return pane


@pytest.fixture
def more(qtbot, pane):
    qtbot.mouseClick(pane.more_button, Qt.MouseButton.LeftButton)
    return pane.more


def choose(qtbot, box: ChoiceBox, name: str) -> None:
    """Goes to a choice by the keyboard."""
    box.setFocus()
    names = [choice.name for choice in box.choices]
    key = Qt.Key.Key_Down if names.index(name) > box.currentIndex() else Qt.Key.Key_Up
    while box.currentIndex() != names.index(name):
        qtbot.keyClick(box, key)


def type_into(qtbot, edit, text: str) -> None:
    edit.setFocus()
    edit.selectAll()
    for number, line in enumerate(text.split("\n")):
        if number:
            qtbot.keyClick(edit, Qt.Key.Key_Return)
        qtbot.keyClicks(edit, line)


def pieces(view) -> list[bytes]:
    table = view.table
    return [table.data[a:b] for a, b in zip(table.edges[:-1], table.edges[1:], strict=True)]


def test_more_is_closed_until_it_is_opened(qtbot, pane, actions):
    assert not pane.more.isVisible()
    qtbot.mouseClick(pane.more_button, Qt.MouseButton.LeftButton)
    assert pane.more.isVisible()
    assert actions["more_settings"].isChecked()
    actions["more_settings"].trigger()
    assert not pane.more.isVisible()
    assert not pane.more_button.isChecked()


def test_each_named_pattern_explains_itself_and_shows_how_it_splits(qtbot, pane, session):
    session.corpus.add_text("It's 1984,\n  in  the year.\nAgain.")
    whole = "The text is not split: one pre-token per document."
    for name in NAMES:
        choose(qtbot, pane.pattern.choice.combo, name)
        assert session.training.settings.pattern == name
        assert pane.pattern.choice.note.text().endswith(".")
        # What is said of no pattern does not stay until the new one has split the text.
        assert name == "none" or pane.pattern.caption.text() != whole
        assert not pane.pattern.own.isVisible()
        expected = splitter(name).split("It's 1984,\n  in  the year.\nAgain.")
        said = whole if name == "none" else f"{len(expected)} pre-tokens in the corpus's first lines."
        shown = expected, said
        qtbot.waitUntil(lambda shown=shown: (pieces(pane.pattern.preview), pane.pattern.caption.text()) == shown)
        # A single piece would be one block of colour.
        assert pane.pattern.preview.isVisible() == (name != "none"), name


def test_a_custom_expression_is_reached_by_keys_or_the_list_and_kept_while_a_preset_is_chosen(qtbot, pane, session):
    choose(qtbot, pane.pattern.choice.combo, "gpt2")
    qtbot.keyClick(pane.pattern.choice.combo, Qt.Key.Key_End)
    assert pane.pattern.own.isVisible()
    assert session.training.settings.pattern == REGEX["gpt2"]
    combo, edit = pane.pattern.choice.combo, pane.pattern.own.edit
    choose(qtbot, combo, "qwen2")
    for _ in range(3):
        qtbot.keyClick(combo, Qt.Key.Key_Down)
    assert combo.hasFocus()
    assert session.training.settings.pattern == REGEX["o200k"]
    qtbot.keyClick(combo, Qt.Key.Key_Up)
    assert session.training.settings.pattern == "o200k"
    choose(qtbot, combo, "llama3")
    qtbot.keyClick(combo, Qt.Key.Key_End)
    assert edit.text() == REGEX["llama3"]
    qtbot.keyClick(combo, Qt.Key.Key_Return)
    assert edit.hasFocus()
    choose(qtbot, combo, "gpt2")
    combo.showPopup()
    qtbot.waitUntil(combo.view().isVisible)
    qtbot.keyClick(combo.view(), Qt.Key.Key_End)
    qtbot.keyClick(combo.view(), Qt.Key.Key_Return)
    qtbot.waitUntil(edit.hasFocus)
    assert edit.text() == REGEX["gpt2"]
    choose(qtbot, combo, "Expression")
    type_into(qtbot, edit, r"\w+|\W")
    choose(qtbot, combo, "cl100k")
    choose(qtbot, combo, "Expression")
    assert session.training.settings.pattern == r"\w+|\W"


def test_an_expression_that_other_libraries_refuse_has_a_hint(qtbot, pane, session):
    session.corpus.add_text(TEXT)
    choose(qtbot, pane.pattern.choice.combo, "Expression")
    edit, note = pane.pattern.own.edit, pane.pattern.own.note
    type_into(qtbot, edit, r"\p{N}{1,3}+|\P{N}+")
    qtbot.waitUntil(lambda: "Hugging Face" in note.text())
    assert note.property("role") == "muted"
    assert pane.buttons["train"].isEnabled()
    type_into(qtbot, edit, r"\p{N}{1,3}|\P{N}+")
    assert "Hugging Face" not in note.text()
    qtbot.waitUntil(lambda: not session.jobs.running)
    assert "Hugging Face" not in note.text()


def test_a_custom_expression_is_checked_while_typing(qtbot, pane, session):
    session.corpus.add_text(TEXT)
    choose(qtbot, pane.pattern.choice.combo, "Expression")
    edit = pane.pattern.own.edit
    type_into(qtbot, edit, r"\w+|(")
    assert pane.pattern.own.note.text().startswith("The pattern does not compile at the end: ")
    assert edit.property("invalid")
    assert pane.buttons["train"].toolTip() == pane.pattern.own.note.text()
    assert not pane.buttons["train"].isEnabled()
    qtbot.keyClicks(edit, r"\s+)|.")
    assert session.training.settings.pattern == r"\w+|(\s+)|."
    assert not edit.property("invalid")
    assert pane.buttons["train"].isEnabled()
    qtbot.waitUntil(lambda: pieces(pane.pattern.preview)[:3] == [b"the", b" ", b"cat"])


def test_text_dropped_by_an_expression_is_reported_at_the_field_and_at_train(qtbot, pane, session):
    session.corpus.add_text("one two")
    choose(qtbot, pane.pattern.choice.combo, "Expression")
    type_into(qtbot, pane.pattern.own.edit, r"\w+")
    words = 'The pattern drops " " (first at character 4): it must cover all text.'
    qtbot.waitUntil(lambda: pane.pattern.own.note.text() == words)
    qtbot.waitUntil(lambda: not pane.buttons["train"].isEnabled())
    assert pane.buttons["train"].toolTip() == words
    assert pane.summary.text() == "Fix the pattern."
    said = [label.text() for label in pane.findChildren(QLabel) if label.isVisible()]
    assert not any(text.startswith(("Limit", "Estimate")) for text in said)


def test_the_preview_follows_the_corpus_and_its_documents(qtbot, pane, session):
    session.corpus.add_text("a b\nc d\n")
    session.training.set_settings(Settings(pattern="whitespace"))
    by_file, by_line = [b"a", b" b", b"\nc", b" d", b"\n"], [b"a", b" b", b"\n", b"c", b" d", b"\n"]
    qtbot.waitUntil(lambda: pieces(pane.pattern.preview) == by_file)
    session.training.set_settings(Settings(pattern="whitespace", documents="line"))
    qtbot.waitUntil(lambda: pieces(pane.pattern.preview) == by_line)
    session.corpus.set_sources(Corpus.from_counts({"a": 2}).sources)
    qtbot.waitUntil(lambda: pane.pattern.caption.text().startswith("Word counts are already split"))


def test_base_units_show_their_fields(qtbot, more, session):
    assert not more.vocabulary.isVisible()
    choose(qtbot, more.named["base"].combo, "Characters")
    assert session.training.settings.base == "characters"
    assert more.vocabulary.isVisible()
    assert more.unknown.isVisible()
    assert not more.entries.isVisible()
    choose(qtbot, more.vocabulary.combo, "Own list")
    assert more.entries.isVisible()
    assert more.entries.note.text() == "The base vocabulary has no characters."
    type_into(qtbot, more.entries.edit, "a\nb\n\\n\n<?>\n")
    assert session.training.settings.base_vocabulary == ("a", "b", "\n", "<?>")
    assert more.entries.count.text() == "4, 1 of them special"
    assert more.entries.note.property("role") == "muted"
    qtbot.keyClicks(more.entries.edit, "a")
    assert more.entries.note.text() == 'The base vocabulary must not contain "a" twice.'
    choose(qtbot, more.named["base"].combo, "Bytes")
    assert session.training.settings.problem is None


def test_the_unknown_token_is_one_of_the_special_ones(qtbot, more, session):
    choose(qtbot, more.named["base"].combo, "Characters")
    type_into(qtbot, more.specials.edit, "<?>\n<pad>")
    choose(qtbot, more.unknown.combo, "<?>")
    assert session.training.settings.unknown_token == "<?>"
    type_into(qtbot, more.specials.edit, "<pad>")
    assert more.unknown.note.text() == 'The unknown token "<?>" must be one of the special tokens.'
    choose(qtbot, more.unknown.combo, "None")
    assert session.training.settings.unknown_token is None
    assert session.training.settings.problem is None


def test_special_tokens_are_checked_while_typing_and_have_a_position(qtbot, more, pane, session):
    assert not more.named["special_placement"].isEnabled()
    type_into(qtbot, more.specials.edit, f"{SPECIAL}\na")
    assert session.training.settings.special_tokens == (SPECIAL, "a")
    assert more.specials.note.text() == 'Special token "a" is already a base token: choose another text.'
    assert pane.buttons["train"].isEnabled() is False
    qtbot.keyClick(more.specials.edit, Qt.Key.Key_Backspace)
    assert session.training.settings.special_tokens == (SPECIAL,)
    assert more.specials.text() == f"{SPECIAL}\n"
    assert pane.summary.text() == "At most 743 merges on top of 256 bytes and 1 special token."
    choose(qtbot, more.named["special_placement"].combo, "First")
    assert session.training.settings.special_placement == "first"


def test_a_share_is_held_out_in_percent_with_decimals_where_wanted(qtbot, more, session):
    for typed, share in (("20", 0.2), ("5", 0.05), ("0.1", 0.001), ("12.5", 0.125), ("0,5", 0.005), ("99", 0.99)):
        more.named["held_out"].number.setFocus()
        more.named["held_out"].number.selectAll()
        qtbot.keyClicks(more.named["held_out"].number, typed)
        assert session.training.settings.held_out == share
    session.training.set_settings(Settings(held_out=1 / 3))
    choose(qtbot, more.named["tie_break"].combo, "Bytes")
    assert session.training.settings.held_out == 1 / 3


def test_word_counts_disable_the_held_out_share_with_a_reason(qtbot, more, pane, session):
    session.training.set_settings(Settings(held_out=0.1))
    session.corpus.set_sources(Corpus.from_counts({"a": 2}).sources)
    words = "Word counts have no lines, so nothing can be held out of them: set the held-out share to 0."
    assert more.named["held_out"].note.text() == words
    assert more.named["held_out"].note.property("role") == "error"
    assert pane.summary.text() == "Fix the held-out share."
    assert not pane.buttons["train"].isEnabled()
    assert pane.buttons["train"].toolTip() == words
    more.named["held_out"].number.setFocus()
    more.named["held_out"].number.selectAll()
    qtbot.keyClicks(more.named["held_out"].number, "0")
    assert not more.named["held_out"].number.isEnabled()
    assert more.named["held_out"].note.text() == "Word counts have no lines to hold out."
    assert pane.buttons["train"].isEnabled()
    qtbot.mouseClick(pane.more_button, Qt.MouseButton.LeftButton)
    session.training.set_settings(Settings(held_out=0.1))
    assert pane.summary.text() == words
    session.training.set_settings(Settings())
    qtbot.mouseClick(pane.more_button, Qt.MouseButton.LeftButton)
    session.corpus.set_sources(())
    assert more.named["held_out"].number.isEnabled()
    assert more.named["held_out"].note.text() == "Share that is measured, not trained on."


def test_reset_puts_everything_back(qtbot, more, pane, session):
    assert not more.reset.isEnabled()
    type_into(qtbot, more.specials.edit, SPECIAL)
    choose(qtbot, more.named["tie_break"].combo, "Bytes")
    choose(qtbot, pane.pattern.choice.combo, "cl100k")
    qtbot.mouseClick(more.named["max_token_bytes"].check, Qt.MouseButton.LeftButton, pos=QPoint(8, 8))
    assert session.training.settings.max_token_bytes == 16
    qtbot.mouseClick(more.reset, Qt.MouseButton.LeftButton)
    assert session.training.settings == Settings()
    assert more.specials.text() == ""
    assert more.named["tie_break"].combo.currentIndex() == 0
    assert pane.pattern.choice.value == "none"


ELSEWHERE = Settings(
    None,
    7,
    "a|[^a]",
    base="characters",
    base_vocabulary=("a", "\n", "<?>"),
    unknown_token="<?>",
    special_tokens=(SPECIAL,),
    special_placement="first",
    tie_break="bytes",
    max_token_bytes=9,
    held_out=0.125,
    documents="line",
)


def test_settings_from_elsewhere_are_shown_in_every_field_and_named_while_more_is_closed(qtbot, pane, session):
    assert not pane.unusual.isVisible()
    session.training.set_settings(ELSEWHERE)
    assert pane.unusual.text() == (
        "Also set: characters from a list of 3, unknown token <?>, 1 special token first, ties by bytes, "
        "tokens of at most 9 bytes, documents by line, 12.5\u00a0% held out."
    )
    assert pane.unusual.isVisible()
    qtbot.mouseClick(pane.more_button, Qt.MouseButton.LeftButton)
    assert not pane.unusual.isVisible()
    assert pane.pattern.value == ELSEWHERE.pattern
    assert pane.pattern.own.isVisible()
    assert pane.more.entries.text() == "a\n\\n\n<?>"
    assert pane.more.taken_over(Settings(None, 7, ELSEWHERE.pattern)) == ELSEWHERE == session.training.settings


@forecast_at_once
def test_the_forecast_is_shown_above_train(qtbot, pane, session):
    session.corpus.add_text(TEXT)
    qtbot.waitUntil(lambda: session.training.forecast is not None)
    assert pane.forecast.isVisible()
    assert pane.forecast.text() == "Estimate: < 1 s, < 10 MB of memory."
    session.training.set_forecast(Forecast(2.6, 1_234_000_000, None, session.corpus.current.bytes, ""))
    assert pane.forecast.text() == "Estimate: 3 s, 1.2 GB of memory."
    session.training.set_settings(Settings(None, None))
    assert not pane.forecast.isVisible()


def test_too_little_memory_is_reported_and_a_sample_is_offered(qtbot, pane, session):
    session.corpus.add_text(TEXT)
    assert not pane.sample_button.isVisible()
    words = "This training would take about 9.0 GB of memory, but only 1.0 GB is free: train on a sample of 0 MB."
    session.training.set_forecast(Forecast(60.0, 9 * 10**9, 10**9, 1000, words))
    assert pane.summary.text() == words
    assert pane.summary.property("role") == "error"
    assert not pane.forecast.isVisible()
    assert not pane.buttons["train"].isEnabled()
    assert pane.buttons["train"].toolTip() == words
    assert pane.sample_button.toolTip() == "Train on a sample of 1.0 kB"
    shown = []
    session.training.state_changed.connect(lambda: shown.append(pane.summary.text()))
    qtbot.mouseClick(pane.sample_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: bool(session.runs.all))
    assert "At most 744 merges on top of 256 bytes." in shown
    qtbot.waitUntil(lambda: session.training.current is None and bool(session.runs.all))
    assert session.runs.active.name.startswith("Run 1 (sample of 1.")


@forecast_at_once
def test_a_training_can_start_in_spite_of_too_little_memory(qtbot, pane, session):
    session.corpus.add_text(TEXT)
    qtbot.waitUntil(lambda: session.training.forecast is not None)
    assert not pane.anyway_button.isVisible()
    session.training.set_forecast(Forecast(60.0, 9 * 10**9, 10**9, 1000, "Too little memory."))
    qtbot.mouseClick(pane.anyway_button, Qt.MouseButton.LeftButton)
    assert session.training.current is not None
    assert not pane.anyway_button.isVisible()
    qtbot.waitUntil(lambda: session.training.current is None and bool(session.runs.all))
    assert session.runs.active.corpus_bytes == len(TEXT)


def test_an_expression_that_takes_for_ever_cannot_be_trained_with(qtbot, pane, session, monkeypatch):
    monkeypatch.setattr("tokstudio.core.pretokenization.custom_regex.SECONDS_OF_A_MATCH", 0.02)
    session.corpus.add_text("a" * 5000)
    session.training.set_settings(Settings(pattern="(?:(?:a|a)*)*c|(?s)."))
    qtbot.waitUntil(lambda: pane.pattern.own.is_invalid)
    # Not even where a sample could be split.
    session.training.set_forecast(Forecast(0.1, 1000, 10**9, 5000, ""))
    assert not pane.buttons["train"].isEnabled()
    assert pane.buttons["train"].toolTip() == pane.pattern.own.note.text()
    assert pane.summary.text() == "Fix the pattern."
    assert not pane.forecast.isVisible()
    session.training.set_settings(Settings(pattern="gpt2"))
    assert pane.buttons["train"].isEnabled()


def test_the_preview_stays_pale_in_its_place_while_an_expression_is_wrong(qtbot, pane, session):
    session.corpus.add_text("one two")
    session.training.set_settings(Settings(pattern=r"\w+|\W"))
    qtbot.waitUntil(lambda: pieces(pane.pattern.preview) == [b"one", b" ", b"two"])
    qtbot.keyClick(pane.pattern.own.edit, Qt.Key.Key_End)
    qtbot.keyClicks(pane.pattern.own.edit, "+(")
    QApplication.processEvents()
    assert pane.pattern.own.is_invalid
    assert pane.pattern.preview.isVisible()
    assert pieces(pane.pattern.preview) == [b"one", b" ", b"two"]
    assert pane.pattern.caption.text() == "Split by the last expression that worked."


@forecast_at_once
def test_a_missing_character_is_named_at_the_list(qtbot, more, pane, session):
    session.corpus.add_text("abc " * 20)
    own = Settings(base="characters", base_vocabulary=("a", "b", " ", "<?>"))
    session.training.set_settings(own)
    qtbot.waitUntil(lambda: more.entries.is_invalid)
    assert 'The character "c" (U+0063) is not in the base vocabulary' in more.entries.note.text()
    assert pane.summary.text() == "Fix the base tokens."
    assert not pane.buttons["train"].isEnabled()
    choose(qtbot, more.unknown.combo, "<?>")
    assert not more.entries.is_invalid
    qtbot.waitUntil(lambda: pane.buttons["train"].isEnabled() and session.training.forecast is not None)


def test_special_tokens_are_read_back_with_marks_for_blanks(qtbot, more):
    assert not more.specials.read_as.isVisible()
    type_into(qtbot, more.specials.edit, "<a>\n  \nend ")
    assert more.specials.read_as.text() == "3 special tokens: <a>, ··, end·"


def test_more_is_scrolled_into_view_when_it_is_opened(qtbot, pane):
    pane.window().resize(320, 420)
    qtbot.mouseClick(pane.more_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: not pane.more.named["base"].note.visibleRegion().isEmpty())


def test_with_characters_the_number_of_merges_is_known_after_counting(qtbot, pane, session):
    session.corpus.add_text(TEXT)
    session.training.set_settings(Settings(40, base="characters"))
    qtbot.waitUntil(lambda: session.corpus.statistics is not None)
    distinct = len(set(TEXT))
    assert pane.summary.text() == f"At most about {40 - distinct} merges on top of {distinct} base tokens."


def test_the_reason_stays_visible_in_a_small_pane(qtbot, pane, session):
    pane.resize(250, 240)
    pane.window().resize(260, 250)
    session.corpus.add_text(TEXT)
    session.training.set_settings(Settings(None, None))
    QApplication.processEvents()
    area = pane.summary.geometry()
    assert pane.summary.heightForWidth(area.width()) <= area.height()
    assert not pane.summary.visibleRegion().isEmpty()


def test_tab_visits_the_fields_in_their_order(qtbot, more, pane, session):
    session.training.set_settings(
        Settings(1000, 2, "a|.", base="characters", base_vocabulary=("a",), max_token_bytes=9)
    )
    pane.size_field.check.setFocus()
    seen: list[QWidget] = []
    for _ in range(40):
        seen.append(QGuiApplication.focusObject())
        if seen[-1] is more.reset:
            break
        qtbot.keyClick(seen[-1], Qt.Key.Key_Tab)
    places = [widget.mapTo(pane, widget.rect().center()).y() for widget in seen]
    # A check box and its number are side by side.
    assert all(later >= place - 4 for place, later in pairwise(places))
    for control in (
        pane.pattern.own.edit,
        pane.more_button,
        more.entries.edit,
        more.specials.edit,
        more.named["tie_break"].combo,
    ):
        assert control in seen
