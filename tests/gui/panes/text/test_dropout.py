"""Dropout in the Text pane: switched on in the menu, with another share, again, and off."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json

from tokenizers import Tokenizer as LibraryTokenizer
from tokenizers import models

from tests.gui.person import PATIENCE, TEXT, at_the_window, quiet, trained
from tokstudio.gui.panes.text.pages import DropoutBar

WORDS = "the cat is that, and that is what the mat was"


def shown(qtbot, window):
    """The ids that the page Encode shows."""
    page = window.text.encode
    qtbot.waitUntil(lambda: not page.latest.busy and page._encoded is not None, timeout=PATIENCE)
    return page._encoded.ids.tolist()


def test_the_text_is_encoded_with_dropout(qtbot, monkeypatch, tmp_path, unstyled):
    def act(window, answers):
        session, by_id = window.session, window.actions_by_id
        assert not by_id["encode_with_dropout"].isEnabled()
        session.corpus.add_text(TEXT)
        tokenizer = trained(qtbot, window).tokenizer
        session.view.set_text(WORDS)
        assert shown(qtbot, window) == tokenizer.encode(WORDS)
        bar = window.findChild(DropoutBar)
        assert not bar.isVisible()

        by_id["encode_with_dropout"].trigger()
        assert bar.isVisible()
        bar.share.setValue(50)
        first = shown(qtbot, window)
        assert first == tokenizer.with_dropout(0.5, 0).encode(WORDS) != tokenizer.encode(WORDS)
        bar.again.click()
        assert shown(qtbot, window) == tokenizer.with_dropout(0.5, 1).encode(WORDS) != first
        session.view.set_playhead(7)
        at_seven = tokenizer.at(7).with_dropout(0.5, 1).encode(WORDS)
        assert shown(qtbot, window) == at_seven

        answers.target = tmp_path / "ids.json"
        by_id["export_ids"].trigger()
        quiet(qtbot, window)
        assert json.loads(answers.target.read_text()) == at_seven

        by_id["step_through_text"].trigger()
        steps = window.text.steps
        qtbot.waitUntil(lambda: steps._rounds is not None, timeout=PATIENCE)
        steps.bar.slider.setValue(steps.bar.slider.maximum())
        assert steps._here.ids.tolist() == at_seven
        assert "are passed over (dropout)" in steps._note.text()
        steps.ask_why_not(0, 5, of_word=False)
        qtbot.waitUntil(lambda: "switch Dropout off" in steps.why_not.words.text(), timeout=PATIENCE)

        bar.off.click()
        assert not by_id["encode_with_dropout"].isChecked()
        session.view.set_playhead(len(tokenizer.merges))
        qtbot.waitUntil(lambda: steps._rounds.steps.tokenizer.dropout is None, timeout=PATIENCE)
        by_id["dropout_again"].trigger()
        assert by_id["encode_with_dropout"].isChecked()

    assert at_the_window(monkeypatch, act) == 0


def test_a_tokenizer_of_another_library_has_no_dropout(qtbot, monkeypatch, tmp_path, unstyled):
    LibraryTokenizer(models.WordPiece({"[UNK]": 0, "a": 1}, unk_token="[UNK]")).save(str(tmp_path / "tokenizer.json"))

    def act(window, answers):
        window.session.view.switch_dropout(True)
        window.opening.open_any([tmp_path / "tokenizer.json"])
        qtbot.waitUntil(lambda: len(window.session.runs.all) == 1, timeout=PATIENCE)
        window.session.view.set_text("a a")
        assert shown(qtbot, window)
        action = window.actions_by_id["encode_with_dropout"]
        qtbot.waitUntil(lambda: "cannot be passed over" in action.toolTip(), timeout=PATIENCE)

    assert at_the_window(monkeypatch, act) == 0
