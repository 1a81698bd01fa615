"""The Import dialog: what it shows of a data set, what it answers, and the choices that were made before."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
from PySide6.QtCore import Qt
from shiboken6 import isValid

from tokstudio.core.base.progress import finish
from tokstudio.core.corpus.readers.contents import Reading
from tokstudio.gui.dialogs.corpus_import.dialog import ImportDialog
from tokstudio.gui.dialogs.corpus_import.question import Choices, DataSetPlace, ImportQuestion, look_all_work

ROWS = [
    {"id": number, "lang": ("de", "en")[number % 2], "title": f"Part {number}", "body": f"the cat\nsat {number}"}
    for number in range(12)
]


@pytest.fixture
def ask(qtbot, session, theme):
    """Opens the dialog for files, and gives it with the list of its answers."""
    dialogs: list[ImportDialog] = []

    def ask(*paths: Path, reading: Reading | None = None) -> tuple[ImportDialog, list[Reading | None]]:
        looks = finish(look_all_work([DataSetPlace(path) for path in paths], {}))
        answers: list[Reading | None] = []
        dialog = ImportDialog(ImportQuestion(looks, reading or Reading()), session.jobs, theme)
        dialogs.append(dialog)
        dialog.answered.connect(answers.append)
        dialog.open()
        qtbot.waitExposed(dialog)
        return dialog, answers

    yield ask
    for dialog in dialogs:
        if isValid(dialog):
            dialog.close()


@pytest.fixture
def lines(tmp_path) -> Path:
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


def shown(dialog: ImportDialog) -> list[str]:
    return [dialog.preview.item(row).text() for row in range(dialog.preview.count())]


def names(box) -> list[str]:
    return [choice.value for choice in box.choices]


def test_one_enter_imports_the_column_that_the_preview_shows_and_escape_nothing(qtbot, ask, lines):
    dialog, answers = ask(lines)
    assert dialog.focusWidget() is dialog.text
    assert shown(dialog) == [f"the cat↵sat {number}" for number in range(10)]
    qtbot.keyClick(dialog.text, Qt.Key.Key_Return)
    assert answers == [Reading(field="body")]
    dialog, answers = ask(lines)
    qtbot.keyClick(dialog.text, Qt.Key.Key_Escape)
    assert answers == [None]
    dialog, answers = ask(lines)
    assert names(dialog.text) == ["lang", "title", "body"]
    qtbot.keyClick(dialog.text, Qt.Key.Key_Up)
    assert shown(dialog)[:2] == ["Part 0", "Part 1"]
    assert dialog.preview.accessibleName() == "First texts of the column title"
    qtbot.keyClick(dialog.text, Qt.Key.Key_Return)
    assert answers == [Reading(field="title")]
    dialog, answers = ask(lines, reading=Reading(most_bytes=7))
    dialog.plain_button.click()
    assert answers == [Reading(as_text=True, most_bytes=7)]


def test_kind_rows_other_files_and_the_detected_delimiter_are_said(ask, tmp_path):
    for name in ("a.parquet", "b.parquet"):
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(ROWS), tmp_path / name)
    dialog, _ = ask(tmp_path / "a.parquet", tmp_path / "b.parquet")
    assert dialog.headline.text() == "a.parquet"
    assert dialog.facts.text() == "Parquet · 12 rows · 1 other file with the same columns"
    # Its bytes are no text to anybody.
    assert not dialog.plain_button.isVisible()
    path = tmp_path / "<b>a.jsonl"
    path.write_text('{"text": "<i>one</i>"}\n{"text": "two"}\n')
    dialog, _ = ask(path)
    assert dialog.headline.text() == "<b>a.jsonl"
    assert dialog.headline.textFormat() == Qt.TextFormat.PlainText
    assert "<" not in dialog.preview.item(0).toolTip()
    path = tmp_path / "a.csv"
    path.write_text("name;text\n" + "A;the cat\n" * 6)
    dialog, answers = ask(path)
    dialog.import_button.click()
    assert answers == [Reading(field="text")]


def test_a_column_that_is_the_text_does_not_divide_it(qtbot, ask, lines):
    dialog, answers = ask(lines, reading=Reading(field="body", split_by="lang"))
    assert names(dialog.divisor) == ["", "id", "lang", "title"]
    assert dialog.divisor.value == "lang"
    dialog.text.setCurrentIndex(names(dialog.text).index("lang"))
    assert names(dialog.divisor) == ["", "id", "title", "body"]
    assert dialog.divisor.value == ""
    dialog.import_button.click()
    assert answers == [Reading(field="lang")]


def test_parts_with_the_same_value_are_joined_by_one_choice(qtbot, ask, lines):
    dialog, answers = ask(lines)
    assert not dialog.joins.isVisible()
    qtbot.keyClick(dialog.divisor, Qt.Key.Key_Down)
    qtbot.keyClick(dialog.divisor, Qt.Key.Key_Down)
    assert dialog.divisor.value == "lang"
    assert dialog.joins.isVisible()
    dialog.joins.setFocus()
    qtbot.keyClick(dialog.joins, Qt.Key.Key_Space)
    qtbot.keyClick(dialog.joins, Qt.Key.Key_Return)
    chosen = Reading(field="body", split_by="lang", join_values=True)
    assert answers == [chosen]
    again, _ = ask(lines, reading=chosen)
    assert again.joins.isVisible()
    assert again.joins.isChecked()
    assert again.reading == chosen
    again.divisor.setCurrentIndex(0)
    assert again.reading == Reading(field="body")


def test_another_delimiter_gives_other_columns(qtbot, ask, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("name;line|end\n" + "A;the cat|sat\n" * 6)
    dialog, answers = ask(path)
    assert names(dialog.text) == ["name", "line|end"]
    assert dialog.delimiter.value == ";"
    dialog.delimiter.setCurrentIndex(names(dialog.delimiter).index("|"))
    assert not dialog.import_button.isEnabled()
    qtbot.waitUntil(lambda: names(dialog.text) == ["name;line", "end"])
    assert shown(dialog)[0] == "A;the cat"
    dialog.import_button.click()
    assert answers == [Reading(field="name;line", delimiter="|")]


def test_filters_are_folded_away_until_one_is_used(ask, lines):
    dialog, answers = ask(lines)
    assert not dialog.filters.isVisible()
    dialog.more_button.click()
    assert dialog.filters.isVisible()
    dialog.filters.least.check.click()
    dialog.filters.least.number.setValue(3)
    dialog.filters.duplicates.click()
    dialog.import_button.click()
    chosen = Reading(field="body", least_characters=3, deduplicate=True)
    assert answers == [chosen]
    again, _ = ask(lines, reading=chosen)
    assert again.filters.isVisible()
    assert again.reading == chosen


def test_every_control_has_a_name_is_reached_by_tab_and_fits_into_a_small_window(qtbot, ask, lines):
    dialog, _ = ask(lines)
    dialog.more_button.click()
    dialog.activateWindow()
    qtbot.waitUntil(dialog.isActiveWindow)
    reached = []
    for _ in range(20):
        reached.append(dialog.focusWidget())
        qtbot.keyClick(dialog.focusWidget(), Qt.Key.Key_Tab)
    for control in (dialog.text, dialog.divisor, dialog.preview, dialog.more_button, dialog.filters.duplicates):
        assert control in reached
        assert control.accessibleName() or control.text()
    assert dialog.filters.least.number.accessibleName() == "Fewest characters of a document"
    dialog, _ = ask(lines)
    dialog.more_button.click()
    assert dialog.minimumSizeHint().height() <= 560
    assert dialog.minimumSizeHint().width() <= 900


def test_a_choice_is_kept_for_the_next_start_but_is_of_this_one_only_here(preferences):
    first = Choices(preferences)
    first.remember("a", Reading(field="body", keep_truncated=True))
    assert first.of_this_start("a") == Reading(field="body")
    second = Choices(preferences)
    assert second.all == {"a": Reading(field="body")}
    assert second.of_this_start("a") is None


def test_only_the_newest_fifty_are_kept(preferences):
    choices = Choices(preferences)
    for number in range(60):
        choices.remember(f"key {number}", Reading(field="body"))
    assert list(Choices(preferences).all) == [f"key {number}" for number in range(10, 60)]


def test_settings_that_are_damaged_are_left_out_and_a_valid_choice_beside_them_stays(preferences):
    for stored in ("no json", "[]", '{"a": 3}', '{"a": {"field": 3}}', '{"a": {"most_bytes": -1}}', "[" * 5000):
        preferences.set("imports", stored)
        assert Choices(preferences).all == {}, stored
    preferences.set("imports", json.dumps({"a": {"field": 3}, "b": {"field": "body"}}))
    assert Choices(preferences).all == {"b": Reading(field="body")}
