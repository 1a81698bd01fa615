"""The Configure pane: input, messages, the buttons below, and base tokens from a file and from the corpus."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
from dataclasses import replace

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QAbstractButton, QAbstractSpinBox, QApplication, QComboBox, QLineEdit, QPlainTextEdit

from tests.gui.languages import PARALLEL, TEXTS
from tests.gui.person import PAUSES, TEXT, at_window
from tokstudio.core.base.errors import ConfigError
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.training.forecast import Forecast
from tokstudio.gui.panes.configure.pane import ConfigurePane
from tokstudio.gui.session.training.training import Settings

FORECAST, NEVER = Forecast(0.5, 1_000, None, len(TEXT), ""), 2**31 - 1


@pytest.fixture
def pane(session, theme, actions, dock) -> ConfigurePane:
    actions["more_settings"].setCheckable(True)
    training = session.training
    methods = {"train": training.start, "step": training.step, "stop": training.stop}
    methods["pause"] = lambda: training.resume() if training.state == "paused" else training.pause()
    for key, method in methods.items():
        actions[key].triggered.connect(lambda _checked, method=method: method())
    actions["continue_run"].triggered.connect(lambda: training.continue_run(session.runs.active))
    pane = ConfigurePane(session, theme, actions)
    dock(pane, 300, 500)
    return pane


def type_number(qtbot, field, text: str) -> None:
    field.number.setFocus()
    field.number.selectAll()
    qtbot.keyClicks(field.number, text)


def core_words(**limits) -> str:
    with pytest.raises(ConfigError) as raised:
        TrainingConfig(**limits)
    return str(raised.value)


def shown_buttons(pane) -> list[str]:
    return [button.text() for button in pane.buttons.values() if button.isVisible()]


def test_limits_that_cannot_be_show_the_message_of_the_core(qtbot, pane, session):
    qtbot.mouseClick(pane.frequency_field.check, Qt.MouseButton.LeftButton, pos=QPoint(8, 8))
    assert session.training.settings == Settings(1000, 2)
    type_number(qtbot, pane.frequency_field, "1")
    assert pane.frequency_field.note.text() == core_words(min_frequency=1)
    assert pane.size_field.note.property("role") == "muted"
    assert pane.summary.text() == "Fix the minimum frequency."
    assert pane.summary.property("role") == "error"
    session.training.set_settings(Settings())
    session.corpus.add_text(TEXT)
    type_number(qtbot, pane.size_field, "256")
    words = core_words(vocabulary_size=256)
    assert words == "Vocabulary size must be greater than 256."
    assert pane.size_field.note.text() == words
    assert pane.size_field.note.property("role") == "error"
    assert pane.size_field.number.property("invalid")
    assert not pane.buttons["train"].isEnabled()
    assert pane.buttons["train"].toolTip() == words
    type_number(qtbot, pane.size_field, "257")
    assert pane.size_field.note.property("role") == "muted"
    assert pane.summary.text() == "At most 1 merge on top of 256 bytes."
    assert pane.buttons["train"].isEnabled()
    qtbot.mouseClick(pane.size_field.check, Qt.MouseButton.LeftButton, pos=QPoint(8, 8))
    assert not pane.size_field.number.isEnabled()
    assert pane.summary.text() == core_words()
    assert pane.summary.property("role") == "error"
    assert not pane.buttons["train"].isEnabled()


def test_without_a_corpus_it_says_what_to_do_first_and_every_field_what_it_does(pane, session):
    assert pane.reason.text() == "Open a text first."
    assert pane.reason.isVisible()
    assert not pane.buttons["train"].isEnabled()
    session.corpus.add_text(TEXT)
    assert not pane.reason.isVisible()
    assert pane.buttons["train"].isEnabled()
    session.training.set_settings(Settings(300, base="characters", base_vocabulary=("a", "b"), pattern=r"\w+|\W+"))
    kinds = (QAbstractButton, QAbstractSpinBox, QComboBox, QLineEdit, QPlainTextEdit)
    fields = [
        widget
        for parent in (pane.size_field, pane.frequency_field, pane.pattern, pane.more)
        for widget in (
            one for kind in kinds for one in parent.findChildren(kind) if not isinstance(one.parent(), QAbstractSpinBox)
        )
    ]
    assert len(fields) == 25
    for field in fields:
        tip, name = field.toolTip(), field.accessibleName() or field.text()
        assert tip.strip(), name
        assert tip.strip(".").casefold() not in {name.casefold(), getattr(field, "text", str)().casefold()}
        assert len(tip.split()) >= 5, tip
    assert len({field.toolTip() for field in fields}) == len(fields)


def test_the_buttons_follow_the_training(qtbot, pane, session):
    session.corpus.add_text(TEXT)
    session.training.set_settings(Settings(None, 2))
    assert shown_buttons(pane) == ["Train"]
    session.training.step()
    qtbot.waitUntil(lambda: session.training.state == "paused")
    qtbot.waitUntil(lambda: shown_buttons(pane) == ["Resume", "Step", "Stop"])
    qtbot.mouseClick(pane.buttons["step"], Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: session.training.state == "paused" and len(session.runs.active) == 2)
    qtbot.mouseClick(pane.buttons["stop"], Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: session.training.current is None)
    assert shown_buttons(pane) == ["Train"]
    assert session.runs.active.ended == "stopped"


def test_train_begins_a_training_and_the_keyboard_stays_with_the_buttons(qtbot, pane, session):
    session.corpus.add_text(TEXT * 200)
    session.training.set_settings(Settings(None, 2))
    pane.buttons["train"].setFocus()
    qtbot.keyClick(pane.buttons["train"], Qt.Key.Key_Space)
    assert shown_buttons(pane) == ["Pause", "Stop"]
    assert pane.buttons["pause"].hasFocus()
    session.training.stop()
    qtbot.waitUntil(lambda: session.training.current is None)
    assert pane.buttons["train"].hasFocus()


def test_a_run_that_can_continue_is_offered_and_continues(qtbot, pane, session, make_run):
    session.corpus.add_text(TEXT)
    make_run(vocabulary_size=270)
    assert not pane.continue_button.isVisible()
    type_number(qtbot, pane.size_field, "280")
    assert pane.continue_button.isVisible()
    assert pane.continue_button.toolTip() == "Continue Run 1 to 280 tokens"
    qtbot.mouseClick(pane.continue_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: session.training.current is None)
    assert len(session.runs.active) == 24
    assert session.runs.active.merges[:14].tolist() == session.runs.all[0].merges.tolist()
    assert not pane.continue_button.isVisible()


def test_limits_are_typed_switched_and_shown_as_they_are_set_and_controls_have_names(pane, qtbot, session):
    assert pane.size_field.number.accessibleName() == "Vocabulary size"
    assert pane.frequency_field.number.accessibleName() == "Minimum frequency"
    assert pane.size_field.check.accessibleName() == "Limit by vocabulary size"
    type_number(qtbot, pane.size_field, "32000")
    assert session.training.settings == Settings(32_000, None)
    assert pane.summary.text() == "At most 31,744 merges on top of 256 bytes."
    qtbot.keyClick(pane.size_field.number, Qt.Key.Key_Tab)
    assert pane.size_field.number.text() == "32,000"
    type_number(qtbot, pane.size_field, "1,500")
    assert session.training.settings.vocabulary_size == 1500
    type_number(qtbot, pane.size_field, "4096")
    for expected in (None, 4096):
        qtbot.mouseClick(pane.size_field.check, Qt.MouseButton.LeftButton, pos=QPoint(8, 8))
        assert session.training.settings.vocabulary_size == expected
    session.training.set_settings(Settings(None, 12))
    assert not pane.size_field.check.isChecked()
    assert pane.frequency_field.check.isChecked()
    assert pane.frequency_field.number.value() == 12
    assert pane.summary.text() == "Ends when no pair occurs 12 times."
    session.training.set_settings(Settings(1000, 3))
    assert pane.summary.text() == "At most 744 merges on top of 256 bytes; ends earlier when no pair occurs 3 times."


def test_a_pause_does_not_widen_the_pane_and_no_text_is_cut(qtbot, pane, session):
    session.corpus.add_text(TEXT)
    session.training.set_settings(Settings(None, 2))
    narrowest = pane.widget().minimumSizeHint().width()
    pane.window().resize(narrowest, 500)
    session.training.step()
    qtbot.waitUntil(lambda: session.training.state == "paused" and shown_buttons(pane)[0] == "Resume")
    assert pane.widget().minimumSizeHint().width() == narrowest
    for button in pane.buttons.values():
        if button.isVisible():
            qtbot.waitUntil(lambda button=button: button.width() >= button.sizeHint().width())
    session.training.stop()
    qtbot.waitUntil(lambda: session.training.current is None)


def at_heights(pane, look):
    """What `look` gives at heights of the window that leave room for more and more help."""
    found = []
    for height in range(320, 460, 20):
        pane.window().resize(300, height)
        for _ in range(2):  # help that has gone leaves room in the next turn
            QApplication.processEvents()
        found.append(look())
    return found


@pytest.mark.parametrize("pauses", [replace(PAUSES, forecast=NEVER)], indirect=True)
def test_no_control_moves_with_the_forecast_or_around_a_training(qtbot, pane, session):
    controls = pane.size_field, pane.frequency_field, pane.pattern, pane.algorithm, pane.more_button

    def places():
        return at_heights(pane, lambda: [(control.y(), control.height()) for control in controls])

    session.corpus.add_text(TEXT)
    qtbot.waitUntil(lambda: bool(pane.pattern.caption.text()))
    before = places()
    assert len({*map(tuple, before)}) == 6, "each height but one leaves room for more"
    session.training.set_forecast(FORECAST)
    assert pane.forecast.isVisible()
    assert places() == before
    session.training.step()
    qtbot.waitUntil(lambda: session.training.state == "paused")
    assert places() == before
    session.training.stop()
    qtbot.waitUntil(lambda: session.training.current is None and pane.continue_button.isVisible())
    assert places() == before


@pytest.mark.parametrize("pauses", [replace(PAUSES, changes=NEVER, forecast=NEVER)], indirect=True)
def test_no_help_goes_when_the_text_has_been_split(qtbot, pane, session):
    notes = pane.size_field.note, pane.frequency_field.note, pane.algorithm.choice.note

    def shown():
        return at_heights(pane, lambda: [note.isVisible() for note in notes])

    session.corpus.add_text(TEXT)
    session.training.set_forecast(FORECAST)
    before = shown()
    assert not pane.pattern.caption.text()
    pane.pattern._split()
    qtbot.waitUntil(lambda: bool(pane.pattern.caption.text()))
    assert shown() == before


def an_invalid_file_is_an_error_and_changes_nothing(qtbot, window, answers, path):
    path.write_text("{}")
    answers.files = [path]
    window.actions_by_id["load_base_tokens"].trigger()
    qtbot.waitUntil(window.messages.isVisible)
    assert "own.json: a base vocabulary must be a JSON list of strings." in window.messages.text.text()
    assert window.session.training.settings.base == "bytes"


def a_list_is_loaded_from_a_file(qtbot, window, answers, path, content):
    path.write_text(content)
    answers.files = [path]
    window.actions_by_id["load_base_tokens"].trigger()
    more = window.configure.more
    qtbot.waitUntil(more.entries.isVisible)
    wanted = ("a", "b", "\n", "<?>")
    qtbot.waitUntil(lambda: window.session.training.settings.base_vocabulary == wanted)
    assert more.entries.text() == "a\nb\n\\n\n<?>"
    assert more.entries.count.text() == "4, 1 of them special"


def a_list_begins_with_the_characters_of_the_corpus(qtbot, window, path):
    path.write_bytes("za\nbé太a".encode() + b"\xff")
    window.opening.open_paths([path])
    qtbot.waitUntil(lambda: bool(window.session.corpus.sources))
    window.session.corpus.reread(0, "utf-8")
    window.actions_by_id["base_tokens_of_corpus"].trigger()
    wanted = tuple("za\nbé太\ufffd")
    qtbot.waitUntil(lambda: window.session.training.settings.base_vocabulary == wanted)


def a_long_list_can_be_edited(qtbot, window, answers, path):
    entries = [chr(0x4E00 + number) for number in range(2_000)]
    path.write_text(json.dumps(entries))
    answers.files = [path]
    window.actions_by_id["load_base_tokens"].trigger()
    edit = window.configure.more.entries.edit
    qtbot.waitUntil(lambda: edit.blockCount() == len(entries))
    edit.setFocus()
    qtbot.keyClicks(edit, "x")
    assert window.session.training.settings.base_vocabulary == ("x" + entries[0], *entries[1:])


def parallel_texts_are_loaded(qtbot, tmp_path, window, answers):
    corpus, texts = tmp_path / "corpus", tmp_path / "texts"
    for folder, content in ((corpus, TEXTS), (texts, PARALLEL)):
        folder.mkdir()
        for name, text in content.items():
            (folder / f"{name}.txt").write_text(text, encoding="utf-8")
    table = tmp_path / "table.tsv"
    table.write_text("de\ten\tfi\nein\tone\tyksi\n", encoding="utf-8")
    session = window.session
    assert not window.actions_by_id["load_parallel_files"].isEnabled()
    window.opening.open_paths(sorted(corpus.iterdir()))
    qtbot.waitUntil(lambda: len(session.corpus.sources) == 3)
    answers.folder = texts
    window.actions_by_id["load_parallel_texts_folder"].trigger()
    qtbot.waitUntil(lambda: len(session.training.settings.parallel) == 3)
    assert session.training.settings.algorithm == "parity"
    loaded = session.training.settings
    (texts / "fi.txt").write_text("yksi\nkaksi\n", encoding="utf-8")
    answers.files = sorted(texts.iterdir())
    window.actions_by_id["load_parallel_files"].trigger()
    qtbot.waitUntil(window.messages.isVisible)
    assert "each needs the same lines" in window.messages.text.text()
    assert session.training.settings == loaded
    answers.files = [table]
    window.actions_by_id["load_parallel_files"].trigger()
    qtbot.waitUntil(lambda: session.training.settings != loaded)
    assert session.training.settings.parallel == (("de.txt", "ein"), ("en.txt", "one"), ("fi.txt", "yksi"))
    window.actions_by_id["remove_parallel_texts"].trigger()
    assert session.training.settings.parallel == ()
    assert not window.actions_by_id["remove_parallel_texts"].isEnabled()


@at_window()
def test_base_tokens_and_parallel_texts_are_loaded_by_the_menu(qtbot, tmp_path, unstyled, window, answers):
    an_invalid_file_is_an_error_and_changes_nothing(qtbot, window, answers, tmp_path / "own.json")
    window.actions_by_id["more_settings"].trigger()
    a_list_is_loaded_from_a_file(qtbot, window, answers, tmp_path / "own.txt", "a\nb\n\\n\n<?>\n")
    a_list_begins_with_the_characters_of_the_corpus(qtbot, window, tmp_path / "book.txt")
    a_long_list_can_be_edited(qtbot, window, answers, tmp_path / "own.json")
    a_list_is_loaded_from_a_file(qtbot, window, answers, tmp_path / "own.json", '["a", "b", "\\n", "<?>"]')
    window.messages.clear()
    window.session.corpus.set_sources(())
    window.session.training.set_settings(Settings())
    parallel_texts_are_loaded(qtbot, tmp_path, window, answers)


def test_a_large_text_without_a_pattern_is_told_what_most_tokenizers_do(qtbot, pane, session):
    field = pane.pattern
    session.corpus.add_text(TEXT)
    qtbot.waitUntil(lambda: field.caption.text().startswith("The text is not split: one"))
    assert field.usual.isHidden()
    session.corpus.add_text(TEXT * 600)
    qtbot.waitUntil(lambda: "Most tokenizers first split it into pre-tokens" in field.caption.text())
    assert not field.usual.isHidden()
    qtbot.mouseClick(field.usual, Qt.MouseButton.LeftButton)
    assert session.training.settings.pattern == "gpt2"
    assert field.usual.isHidden()


def test_the_size_that_fits_the_text_stands_below_the_field(qtbot, pane, session):
    said = "Base tokens, merges and special tokens."
    assert pane.size_field.note.text() == said
    session.corpus.add_text("x" * 3_000)
    assert pane.size_field.note.text() == f"{said} About 466 fit 3.0 kB of text, by a rule of thumb."
    session.training.set_settings(Settings(base="characters"))
    assert pane.size_field.note.text() == said, "how many base tokens there are is not known"
    session.training.set_settings(Settings())
    session.corpus.set_sources(())
    assert pane.size_field.note.text() == said
