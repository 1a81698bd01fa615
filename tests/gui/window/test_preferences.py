"""The page of preferences as a person uses it, and what a settings file may hold."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, QSettings, Qt
from PySide6.QtGui import QAction, QFontDatabase, QFontInfo
from PySide6.QtWidgets import QApplication, QCheckBox

from tests.gui.person import at_the_window, at_window, quiet, trained
from tokstudio.core.algorithms.common import prepare_corpus
from tokstudio.gui.session.preferences import ENTRIES, THEME, Preferences, settings_file
from tokstudio.gui.state.training_settings import Settings
from tokstudio.gui.style.theme import BODY_PIXELS
from tokstudio.gui.window.preferences import PreferencesDialog

pytestmark = pytest.mark.usefixtures("unstyled")


def opened(qtbot, window) -> PreferencesDialog:
    window.actions_by_id["preferences"].trigger()
    dialog = next(dialog for dialog in window.findChildren(PreferencesDialog) if dialog.isVisible())
    qtbot.waitUntil(dialog.isActiveWindow)
    return dialog


def choose(dialog, key: str, value: str) -> None:
    box = dialog.controls[key]
    box.setCurrentIndex([choice.value for choice in box.choices].index(value))


def type_into(qtbot, dialog, key: str, text: str) -> None:
    number = dialog.controls[key]
    number.setFocus()
    number.selectAll()
    qtbot.keyClicks(number, text)
    qtbot.keyClick(number, Qt.Key.Key_Return)


def damaged(values: dict[str, str]) -> Preferences:
    file = settings_file()
    store = QSettings(str(file), QSettings.Format.IniFormat)
    for key, value in values.items():
        store.setValue(key, value)
    store.sync()
    return Preferences(file)


def test_appearance_changes_at_once_the_next_start_has_the_defaults_and_closing_asks_only_where_one_wants_it(
    qtbot, monkeypatch, tmp_path, book
):
    kept, mine = [], Settings(2500, pattern="gpt2", tie_break="lowest-id")

    def act(window, answers):
        training = window.session.training
        before = training.settings
        dialog = opened(qtbot, window)
        choose(dialog, "default_pattern", "gpt2")
        type_into(qtbot, dialog, "default_vocabulary_size", "2500")
        choose(dialog, "default_tie_break", "lowest-id")
        dialog.close_button.click()
        assert training.settings == before, "what is set already stays"
        assert window.configure.more.reset.isEnabled()
        window.configure.more.reset.click()
        assert training.settings == mine
        assert not window.configure.more.reset.isEnabled()
        dialog = opened(qtbot, window)
        choose(dialog, "theme", "dark")
        assert window.theme.palette.dark
        assert window.actions_by_id["theme_dark"].isChecked()
        type_into(qtbot, dialog, "text_size", "17")
        assert window.theme.text_size == 17
        assert QApplication.font().pixelSize() == 17
        assert dialog.isVisible(), "Enter in a field closes nothing"
        window.actions_by_id["theme_light"].trigger()
        assert dialog.controls["theme"].currentText().startswith("Light")
        qtbot.keyClick(dialog, Qt.Key.Key_Escape)
        assert not dialog.isVisible()

    def again(window, answers):
        assert window.theme.text_size == 17
        assert window.theme.mode == "light"
        assert window.session.training.settings == mine
        trained(qtbot, window)
        dialog = opened(qtbot, window)
        # Its text may end left of the middle.
        qtbot.mouseClick(dialog.controls["ask_before_closing"], Qt.MouseButton.LeftButton, pos=QPoint(8, 8))
        dialog.close_button.click()
        assert isinstance(dialog.controls["ask_before_closing"], QCheckBox)
        answers.yes = False
        window.projects.open(tmp_path / "other.tokstudio")
        assert answers.asked == ["Run 1 has not been saved or exported."], "opening a project asks all the same"
        answers.asked.clear()
        kept.append(answers)

    assert at_the_window(monkeypatch, act) == 0
    assert at_the_window(monkeypatch, again, [str(book)]) == 0
    assert kept[0].asked == []


def test_after_a_damaged_settings_file_the_page_is_worked_by_keyboard_and_has_names(qtbot, monkeypatch):
    file = settings_file()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"\x00\xff[General\ntheme=mauve\ntext_size=huge\n=\n" + bytes(range(256)))

    def act(window, answers):
        assert window.theme.mode == "system"
        assert window.theme.text_size == BODY_PIXELS
        action = window.actions_by_id["preferences"]
        assert "Ctrl+," in {key.toString() for key in action.shortcuts()}
        assert action.menuRole() == QAction.MenuRole.PreferencesRole
        dialog = opened(qtbot, window)
        reached = set()
        for _ in range(3 * len(ENTRIES)):
            qtbot.keyClick(dialog.focusWidget() or dialog, Qt.Key.Key_Tab)
            reached.add(dialog.focusWidget())
        enabled = {control for control in dialog.controls.values() if control.isEnabled()}
        assert enabled | {dialog.close_button, dialog.reset_button} <= reached
        assert all(control.accessibleName() for control in dialog.controls.values())
        assert dialog.controls.keys() == {entry.key for entry in ENTRIES}
        qtbot.keyClick(dialog, Qt.Key.Key_Escape)
        assert not dialog.isVisible()

    assert at_the_window(monkeypatch, act) == 0


@at_window("{book}")
def test_autosave_threads_and_fonts_are_those_that_were_chosen_and_reset_asks_once_before_everything_is_default(
    qtbot, monkeypatch, window, answers
):
    recorder = window.session.recorder
    assert recorder is not None
    window.preferences.set("autosave", False)
    copies = []
    monkeypatch.setattr(recorder, "autosave_work", lambda project: copies.append(project) or iter(()))
    trained(qtbot, window)
    assert copies == []
    window.preferences.set("autosave", True)
    window.session.training.start()
    quiet(qtbot, window)
    # As the training begins, and once it has ended.
    assert len(copies) == 2
    used, count_work = [], prepare_corpus.count_work

    def counting(texts, settings, threads, **given):
        used.append(threads)
        return count_work(texts, settings, threads, **given)

    monkeypatch.setattr(prepare_corpus, "count_work", counting)
    training = window.session.training
    assert training.threads is None
    window.preferences.set("threads", 3)
    assert training.threads == 3
    quiet(qtbot, window)
    training.set_settings(Settings(300, pattern="gpt2"))
    training.start()
    quiet(qtbot, window)
    assert 3 in used
    family = next(name for name in QFontDatabase.families() if QFontDatabase.isFixedPitch(name))
    dialog = opened(qtbot, window)
    before = window.theme.monospace_font().families()
    choose(dialog, "interface_font", family)
    choose(dialog, "monospace_font", family)
    assert QApplication.font().families() == [family]
    assert window.theme.monospace_font().families() == [family]
    assert QFontInfo(window.theme.monospace_font()).pixelSize() == BODY_PIXELS
    choose(dialog, "monospace_font", "")
    assert window.theme.monospace_font().families() == before
    dialog.close_button.click()
    dialog = opened(qtbot, window)
    choose(dialog, "theme", "dark")
    dialog.controls["autosave"].click()
    assert not dialog.controls["autosave_seconds"].isEnabled()
    answers.yes = False
    dialog.reset_button.click()
    assert window.theme.palette.dark
    answers.yes = True
    dialog.reset_button.click()
    assert answers.asked == ["Everything on this page goes back to its default."] * 2
    assert window.theme.mode == "system"
    assert dialog.controls["autosave"].isChecked()
    assert dialog.controls["autosave_seconds"].isEnabled()
    dialog.close_button.click()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("theme", "mauve"),
        ("text_size", "huge"),
        ("text_size", "4000"),
        ("default_pattern", "("),
        ("default_vocabulary_size", "-5"),
        ("default_tie_break", ""),
        ("threads", "-1"),
        ("threads", "1e9"),
        ("autosave_seconds", "0"),
    ],
)
def test_a_value_that_cannot_be_read_is_the_default(tmp_path, monkeypatch, key, value):
    entry = next(entry for entry in ENTRIES if entry.key == key)
    assert damaged({key: value}).of(entry) == entry.default


def test_the_settings_of_version_0_1_are_read_and_every_default_is_allowed():
    preferences = damaged({"theme": "dark", "text_size": "16"})
    assert preferences.of(THEME) == "dark"
    assert preferences.get("text_size", BODY_PIXELS) == 16
    assert all(entry.allows(entry.default) for entry in ENTRIES)
