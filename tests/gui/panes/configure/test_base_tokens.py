"""Base tokens from a file and from the corpus, by the actions of the window."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json

import pytest

from tests.gui.person import PATIENCE, at_the_window

pytestmark = pytest.mark.usefixtures("unstyled")


def an_invalid_file_is_an_error_and_changes_nothing(qtbot, window, answers, path):
    path.write_text("{}")
    answers.files = [path]
    window.actions_by_id["load_base_tokens"].trigger()
    qtbot.waitUntil(window.messages.isVisible, timeout=PATIENCE)
    assert "own.json: a base vocabulary must be a JSON list of strings." in window.messages.text.text()
    assert window.session.training.settings.base == "bytes"


def a_list_from_a_file_makes_characters_the_base(qtbot, window, answers, path):
    path.write_text("a\nb\n")
    answers.files = [path]
    window.actions_by_id["load_base_tokens"].trigger()
    qtbot.waitUntil(lambda: window.session.training.settings.base == "characters", timeout=PATIENCE)
    assert window.session.training.settings.base_vocabulary == ("a", "b")


def a_list_is_loaded_from_a_file(qtbot, window, answers, path, content):
    path.write_text(content)
    answers.files = [path]
    window.actions_by_id["load_base_tokens"].trigger()
    more = window.configure.more
    qtbot.waitUntil(more.entries.isVisible, timeout=PATIENCE)
    wanted = ("a", "b", "\n", "<?>")
    qtbot.waitUntil(lambda: window.session.training.settings.base_vocabulary == wanted, timeout=PATIENCE)
    assert more.entries.text() == "a\nb\n\\n\n<?>"
    assert more.entries.count.text() == "4, 1 of them special"


def a_list_begins_with_the_characters_of_the_corpus(qtbot, window, path):
    path.write_bytes("za\nbé太a".encode() + b"\xff")
    window.opening.open_paths([path])
    qtbot.waitUntil(lambda: bool(window.session.corpus.sources), timeout=PATIENCE)
    window.session.corpus.reread(0, "utf-8")
    window.actions_by_id["base_tokens_of_corpus"].trigger()
    wanted = tuple("za\nbé太\ufffd")
    qtbot.waitUntil(lambda: window.session.training.settings.base_vocabulary == wanted, timeout=PATIENCE)


def a_long_list_can_be_edited(qtbot, window, answers, path):
    entries = [chr(0x4E00 + number) for number in range(20_000)]
    path.write_text(json.dumps(entries))
    answers.files = [path]
    window.actions_by_id["load_base_tokens"].trigger()
    edit = window.configure.more.entries.edit
    qtbot.waitUntil(lambda: edit.blockCount() == len(entries), timeout=PATIENCE)
    edit.setFocus()
    qtbot.keyClicks(edit, "x")
    assert window.session.training.settings.base_vocabulary == ("x" + entries[0], *entries[1:])


def test_base_tokens_are_loaded_from_files_and_from_the_corpus_and_edited(qtbot, monkeypatch, tmp_path):
    def act(window, answers):
        an_invalid_file_is_an_error_and_changes_nothing(qtbot, window, answers, tmp_path / "own.json")
        a_list_from_a_file_makes_characters_the_base(qtbot, window, answers, tmp_path / "own.txt")
        a_list_begins_with_the_characters_of_the_corpus(qtbot, window, tmp_path / "book.txt")
        window.actions_by_id["more_settings"].trigger()
        a_list_is_loaded_from_a_file(qtbot, window, answers, tmp_path / "own.txt", "a\nb\n\\n\n<?>\n")
        a_long_list_can_be_edited(qtbot, window, answers, tmp_path / "own.json")
        a_list_is_loaded_from_a_file(qtbot, window, answers, tmp_path / "own.json", '["a", "b", "\\n", "<?>"]')

    assert at_the_window(monkeypatch, act) == 0
