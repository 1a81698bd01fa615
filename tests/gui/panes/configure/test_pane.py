"""The Configure pane: input, messages, and the buttons below."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QAbstractButton, QAbstractSpinBox, QComboBox, QLineEdit, QPlainTextEdit

from tests.gui.person import PATIENCE, TEXT
from tokstudio.core.base.errors import ConfigError
from tokstudio.core.model.config import TrainingConfig
from tokstudio.gui.panes.configure.pane import ConfigurePane
from tokstudio.gui.session.training.training import Settings


@pytest.fixture
def pane(session, theme, actions, dock) -> ConfigurePane:
    actions["more_settings"].setCheckable(True)
    training = session.training
    methods = {"train": training.start, "pause": training.pause, "resume": training.resume, "step": training.step}
    for key, method in (methods | {"stop": training.stop}).items():
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


def test_typed_values_apply_at_once(qtbot, pane, session):
    type_number(qtbot, pane.size_field, "32000")
    assert session.training.settings == Settings(32_000, None)
    assert pane.summary.text() == "At most 31,744 merges on top of 256 bytes."
    qtbot.keyClick(pane.size_field.number, Qt.Key.Key_Tab)
    assert pane.size_field.number.text() == "32,000"


def test_every_field_says_in_its_tool_tip_what_it_does(pane, session):
    session.training.set_settings(Settings(300, base="characters", base_vocabulary=("a", "b"), pattern=r"\w+|\W+"))
    kinds = (QAbstractButton, QAbstractSpinBox, QComboBox, QLineEdit, QPlainTextEdit)
    fields = [
        widget
        for parent in (pane.size_field, pane.frequency_field, pane.pattern, pane.more)
        for widget in (
            one for kind in kinds for one in parent.findChildren(kind) if not isinstance(one.parent(), QAbstractSpinBox)
        )
    ]
    assert len(fields) == 24
    for field in fields:
        tip, name = field.toolTip(), field.accessibleName() or field.text()
        assert tip.strip(), name
        assert tip.strip(".").casefold() not in {name.casefold(), getattr(field, "text", str)().casefold()}
        assert len(tip.split()) >= 5, tip
    assert len({field.toolTip() for field in fields}) == len(fields)


def test_a_number_may_be_typed_with_separators(qtbot, pane, session):
    type_number(qtbot, pane.size_field, "1,500")
    assert session.training.settings.vocabulary_size == 1500


def test_a_vocabulary_that_is_too_small_shows_the_message_of_the_core(qtbot, pane, session):
    session.corpus.add_text(TEXT)
    type_number(qtbot, pane.size_field, "256")
    words = core_words(vocabulary_size=256)
    assert words == "Vocabulary size must be greater than 256."
    assert pane.size_field.note.text() == words
    assert pane.size_field.note.property("role") == "error"
    assert pane.size_field.number.property("invalid") == "true"
    assert not pane.buttons["train"].isEnabled()
    assert pane.buttons["train"].toolTip() == words
    type_number(qtbot, pane.size_field, "257")
    assert pane.size_field.note.property("role") == "muted"
    assert pane.summary.text() == "At most 1 merge on top of 256 bytes."
    assert pane.buttons["train"].isEnabled()


def test_a_frequency_of_one_is_an_error_with_a_reason(qtbot, pane, session):
    qtbot.mouseClick(pane.frequency_field.check, Qt.MouseButton.LeftButton, pos=QPoint(8, 8))
    assert session.training.settings == Settings(1000, 2)
    type_number(qtbot, pane.frequency_field, "1")
    assert pane.frequency_field.note.text() == core_words(min_frequency=1)
    assert pane.size_field.note.property("role") == "muted"
    assert pane.summary.text() == "Fix the minimum frequency."
    assert pane.summary.property("role") == "error"


def test_without_any_limit_it_asks_for_one(qtbot, pane, session):
    session.corpus.add_text(TEXT)
    qtbot.mouseClick(pane.size_field.check, Qt.MouseButton.LeftButton, pos=QPoint(8, 8))
    assert not pane.size_field.number.isEnabled()
    assert pane.summary.text() == core_words()
    assert pane.summary.property("role") == "error"
    assert not pane.buttons["train"].isEnabled()


def test_a_limit_that_is_switched_off_keeps_its_number(qtbot, pane, session):
    type_number(qtbot, pane.size_field, "4096")
    for expected in (None, 4096):
        qtbot.mouseClick(pane.size_field.check, Qt.MouseButton.LeftButton, pos=QPoint(8, 8))
        assert session.training.settings.vocabulary_size == expected


def test_settings_from_elsewhere_are_shown(pane, session):
    session.training.set_settings(Settings(None, 12))
    assert not pane.size_field.check.isChecked()
    assert pane.frequency_field.check.isChecked()
    assert pane.frequency_field.number.value() == 12
    assert pane.summary.text() == "Ends when no pair occurs 12 times."


def test_both_limits_are_named_in_the_summary(pane, session):
    session.training.set_settings(Settings(1000, 3))
    assert pane.summary.text() == "At most 744 merges on top of 256 bytes; ends earlier when no pair occurs 3 times."


def test_without_a_corpus_it_says_what_to_do_first(pane, session):
    assert pane.reason.text() == "Open a text first."
    assert pane.reason.isVisible()
    assert not pane.buttons["train"].isEnabled()
    session.corpus.add_text(TEXT)
    assert not pane.reason.isVisible()
    assert pane.buttons["train"].isEnabled()


def test_the_buttons_follow_the_training(qtbot, pane, session):
    session.corpus.add_text(TEXT)
    session.training.set_settings(Settings(None, 2))
    assert shown_buttons(pane) == ["Train"]
    session.training.step()
    qtbot.waitUntil(lambda: session.training.state == "paused", timeout=PATIENCE)
    qtbot.waitUntil(lambda: shown_buttons(pane) == ["Resume", "Step", "Stop"])
    qtbot.mouseClick(pane.buttons["step"], Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: session.training.state == "paused" and len(session.runs.active) == 2, timeout=PATIENCE)
    qtbot.mouseClick(pane.buttons["stop"], Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: session.training.current is None, timeout=PATIENCE)
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
    qtbot.waitUntil(lambda: session.training.current is None, timeout=PATIENCE)
    assert pane.buttons["train"].hasFocus()


def test_a_run_that_can_continue_is_offered_and_continues(qtbot, pane, session):
    session.corpus.add_text(TEXT)
    session.training.set_settings(Settings(270, None))
    session.training.start()
    qtbot.waitUntil(lambda: session.training.current is None, timeout=PATIENCE)
    assert not pane.continue_button.isVisible()
    type_number(qtbot, pane.size_field, "280")
    assert pane.continue_button.isVisible()
    assert pane.continue_button.toolTip() == "Continue Run 1 to 280 tokens"
    qtbot.mouseClick(pane.continue_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: session.training.current is None, timeout=PATIENCE)
    assert len(session.runs.active) == 24
    assert session.runs.active.merges[:14].tolist() == session.runs.all[0].merges.tolist()
    assert not pane.continue_button.isVisible()


def test_every_control_has_a_name(pane):
    assert pane.size_field.number.accessibleName() == "Vocabulary size"
    assert pane.frequency_field.number.accessibleName() == "Minimum frequency"
    assert pane.size_field.check.accessibleName() == "Limit by vocabulary size"


def test_a_pause_does_not_widen_the_pane_and_no_text_is_cut(qtbot, pane, session):
    session.corpus.add_text(TEXT)
    session.training.set_settings(Settings(None, 2))
    narrowest = pane.widget().minimumSizeHint().width()
    pane.window().resize(narrowest, 500)
    session.training.step()
    qtbot.waitUntil(lambda: session.training.state == "paused" and shown_buttons(pane)[0] == "Resume", timeout=PATIENCE)
    assert pane.widget().minimumSizeHint().width() == narrowest
    for button in pane.buttons.values():
        if button.isVisible():
            qtbot.waitUntil(lambda button=button: button.width() >= button.sizeHint().width())
    session.training.stop()
    qtbot.waitUntil(lambda: session.training.current is None, timeout=PATIENCE)
