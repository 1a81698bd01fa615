"""Your Turn in the window: choosing with mouse and keyboard, what is said, and the score as a file."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json

import pytest
from PySide6.QtCore import Qt

from tokstudio.core.teaching.your_turn import ROUNDS, TEXTS
from tokstudio.gui.dialogs.your_turn import YourTurnDialog


@pytest.fixture
def dialog(session, theme, preferences, answers, opened):
    made = opened(YourTurnDialog(session, theme, preferences, answers, None))
    made.board.setFocus()
    return made


def press(qtbot, dialog, *keys):
    for key in keys:
        qtbot.keyClick(dialog.board, key)


def test_a_pair_is_joined_by_keyboard_and_compared_with_the_most_frequent(qtbot, dialog):
    assert dialog.join_button.text() == "Join “s” and “h”"
    press(qtbot, dialog, Qt.Key.Key_Right, Qt.Key.Key_Right, Qt.Key.Key_Return)
    text = TEXTS["Sea shells"]
    times = text.count("e ")
    assert dialog.answer.text().startswith(
        f"“e” and space stood side by side {times} times. The most frequent pair was "
    )
    assert dialog.game.tokens.count("e ") == times
    assert dialog.score.text().startswith(f"1 merge of 10: {len(text) - times} tokens. With the most frequent pair")


def test_a_click_chooses_and_a_double_click_joins(qtbot, dialog):
    place = dialog.board.place_of(1).center()
    qtbot.mouseClick(dialog.board, Qt.MouseButton.LeftButton, pos=place)
    assert dialog.board.pair == ("h", "e")
    assert dialog.board.accessibleDescription() == "“h” and “e”"
    qtbot.mouseDClick(dialog.board, Qt.MouseButton.LeftButton, pos=place)
    assert [choice.pair for choice in dialog.game.choices] == [("h", "e")]
    assert dialog.game.tokens[:2] == ["s", "he"]


def test_arrows_go_to_every_row_and_stay_in_the_text(qtbot, dialog):
    board, last = dialog.board, len(dialog.game.tokens) - 2
    press(qtbot, dialog, Qt.Key.Key_Left)
    assert board.at == 0
    press(qtbot, dialog, Qt.Key.Key_Down)
    assert board.place_of(board.at).y() > board.place_of(0).y()
    press(qtbot, dialog, Qt.Key.Key_Up)
    assert board.at == 0
    press(qtbot, dialog, Qt.Key.Key_End, Qt.Key.Key_Right, Qt.Key.Key_Down)
    assert board.at == last


def test_after_ten_merges_the_game_is_over_and_the_score_can_be_handed_in(qtbot, dialog, answers, tmp_path):
    assert not dialog.save_button.isEnabled()
    for _ in range(ROUNDS):
        qtbot.mouseClick(dialog.join_button, Qt.MouseButton.LeftButton)
    assert dialog.score.text().startswith("10 merges of 10: ")
    assert dialog.score.text().endswith("The game is over.")
    assert not dialog.join_button.isEnabled()
    before = list(dialog.game.tokens)
    dialog.board.joined.emit()
    assert dialog.game.tokens == before
    answers.target = tmp_path / "mine"
    qtbot.keyClicks(dialog.name, "Ada")
    qtbot.mouseClick(dialog.save_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: dialog.answer.text() == "Wrote mine.json.")
    score = json.loads((tmp_path / "mine.json").read_text(encoding="utf-8"))
    assert (score["name"], score["tokens"], len(score["merges"])) == ("Ada", len(before), ROUNDS)
    qtbot.mouseClick(dialog.again_button, Qt.MouseButton.LeftButton)
    assert dialog.game.choices == []
    assert dialog.board.isEnabled()


def test_a_score_that_cannot_be_written_is_told(qtbot, dialog, answers, tmp_path):
    press(qtbot, dialog, Qt.Key.Key_Return)
    folder = tmp_path / "score.json"
    folder.mkdir()
    answers.target = folder
    qtbot.mouseClick(dialog.save_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: dialog.answer.text().startswith("score.json: "))


def test_another_text_begins_another_game(qtbot, dialog):
    press(qtbot, dialog, Qt.Key.Key_Return)
    dialog.texts.setCurrentText("Woodchuck")
    assert dialog.game.text == TEXTS["Woodchuck"]
    assert dialog.game.choices == []


@pytest.mark.parametrize(
    ("name", "file"),
    [("", "score.json"), (" Ada Lovelace ", "score Ada Lovelace.json"), ('a/b: "Ö"', "score a-b- -Ö-.json")],
)
def test_the_name_of_the_score_has_that_of_the_person(qtbot, dialog, answers, monkeypatch, name, file):
    asked = []
    monkeypatch.setattr(answers, "save_file", lambda title, suggestion, kinds: asked.append(suggestion.name))
    press(qtbot, dialog, Qt.Key.Key_Return)
    dialog.name.setText(name)
    qtbot.mouseClick(dialog.save_button, Qt.MouseButton.LeftButton)
    assert asked == [file]
