"""Base tokens from a file and from the corpus, by the actions of the window."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json

import pytest

from tests.gui.person import PATIENCE, at_the_window

pytestmark = pytest.mark.usefixtures("unstyled")


@pytest.mark.parametrize(
    ("name", "content"), [("own.json", '["a", "b", "\\n", "<?>"]'), ("own.txt", "a\nb\n\\n\n<?>\n")]
)
def test_a_list_of_base_tokens_is_loaded_from_a_file(qtbot, monkeypatch, tmp_path, name, content):
    path = tmp_path / name
    path.write_text(content)

    def act(window, answers):
        answers.files = [path]
        window.actions_by_id["more_settings"].trigger()
        window.actions_by_id["load_base_tokens"].trigger()
        more = window.configure.more
        qtbot.waitUntil(more.entries.isVisible, timeout=PATIENCE)
        assert window.session.training.settings.base_vocabulary == ("a", "b", "\n", "<?>")
        assert more.entries.text() == "a\nb\n\\n\n<?>"
        assert more.entries.count.text() == "4, 1 of them special"

    at_the_window(monkeypatch, act)


def test_an_invalid_file_is_an_error_and_changes_nothing(qtbot, monkeypatch, tmp_path):
    path = tmp_path / "own.json"
    path.write_text("{}")

    def act(window, answers):
        answers.files = [path]
        window.actions_by_id["load_base_tokens"].trigger()
        qtbot.waitUntil(window.messages.isVisible, timeout=PATIENCE)
        assert "own.json: a base vocabulary must be a JSON list of strings." in window.messages.text.text()
        assert window.session.training.settings.base == "bytes"

    at_the_window(monkeypatch, act)


def test_a_list_begins_with_the_characters_of_the_corpus(qtbot, monkeypatch, tmp_path):
    path = tmp_path / "book.txt"
    path.write_bytes("za\nbé太a".encode() + b"\xff")

    def act(window, answers):
        window.opening.open_paths([path])
        qtbot.waitUntil(lambda: bool(window.session.corpus.sources), timeout=PATIENCE)
        window.session.corpus.reread(0, "utf-8")
        window.actions_by_id["base_tokens_of_corpus"].trigger()
        qtbot.waitUntil(lambda: window.session.training.settings.base == "characters", timeout=PATIENCE)
        assert window.session.training.settings.base_vocabulary == tuple("za\nbé太\ufffd")

    at_the_window(monkeypatch, act)


def test_a_long_list_can_be_edited(qtbot, monkeypatch, tmp_path):
    entries = [chr(0x4E00 + number) for number in range(20_000)]
    path = tmp_path / "own.json"
    path.write_text(json.dumps(entries))

    def act(window, answers):
        answers.files = [path]
        window.actions_by_id["more_settings"].trigger()
        window.actions_by_id["load_base_tokens"].trigger()
        edit = window.configure.more.entries.edit
        qtbot.waitUntil(lambda: edit.blockCount() == len(entries), timeout=PATIENCE)
        edit.setFocus()
        qtbot.keyClicks(edit, "x")
        assert window.session.training.settings.base_vocabulary == ("x" + entries[0], *entries[1:])

    at_the_window(monkeypatch, act)
