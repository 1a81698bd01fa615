"""Special Tokens: preview, bad input, and what it makes."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json

import pytest
from PySide6.QtCore import Qt

from tests.gui.dialogs.surgery.dialogs import made_by, settled
from tokstudio import load, save
from tokstudio.gui.dialogs.surgery.specials import ID, KIND, ROLE, TOKEN, SpecialsDialog
from tokstudio.gui.state.run import StudioRun


@pytest.fixture
def specials(session, theme, make_run, opened):
    run = make_run(vocabulary_size=280, pattern="gpt2", special_tokens=("<|end|>", "<|reserved_0|>"))
    return opened(SpecialsDialog(session, run, theme))


def edit(dialog, row, column, text):
    dialog.model.setData(dialog.model.index(row, column), text)


def test_special_tokens_are_renamed_added_and_get_roles(qtbot, session, specials):
    run = session.runs.active
    assert not specials.apply_button.isEnabled()
    settled(qtbot, specials)
    assert specials.note.text().startswith("Nothing is changed yet")
    edit(specials, 1, TOKEN, "<|user|>")
    qtbot.mouseClick(specials.add_button, Qt.MouseButton.LeftButton)
    assert specials.model.rows[2].id == len(run.tokenizer)
    specials.table.setFocus()
    edit(specials, 2, TOKEN, "<|pad|>")
    edit(specials, 2, ID, "290")
    specials.role.setCurrentIndex(specials.role.findData("pad_token"))
    specials._set_role()
    settled(qtbot, specials)
    assert specials.note.text() == ""
    assert specials.view.tokens.toPlainText().splitlines() == [
        "<|reserved_0|> becomes <|user|>",
        "<|pad|> is added with the id 290",
        "<|pad|> is pad",
    ]
    made = made_by(qtbot, specials).tokenizer
    ids = run.special_tokens
    assert made.special_tokens == {"<|end|>": ids["<|end|>"], "<|user|>": ids["<|reserved_0|>"], "<|pad|>": 290}
    assert made.roles["pad_token"] == "<|pad|>"
    assert made.origin.old is run.tokenizer
    assert specials.apply_button.text() == "&Change Special Tokens"


def test_special_tokens_that_cannot_be_are_said(qtbot, specials):
    edit(specials, 1, TOKEN, "<|end|>")
    settled(qtbot, specials)
    assert specials.problem.text() == 'Two special tokens cannot both be "<|end|>".'
    assert not specials.apply_button.isEnabled()
    edit(specials, 1, TOKEN, "<|reserved_0|>")
    qtbot.mouseClick(specials.add_button, Qt.MouseButton.LeftButton)
    edit(specials, 2, ID, "5")
    settled(qtbot, specials)
    assert "is not free" in specials.problem.text()
    assert marked(specials) == {(2, ID)}
    assert "is not free" in specials.model.data(specials.model.index(2, ID), Qt.ItemDataRole.ToolTipRole)
    edit(specials, 2, TOKEN, "the")
    assert specials.problem.text().startswith('"the" is an ordinary token already, with the id ')
    assert marked(specials) == {(2, TOKEN), (2, ID)}
    specials.table.setCurrentIndex(specials.model.index(2, 0))
    qtbot.mouseClick(specials.remove_button, Qt.MouseButton.LeftButton)
    assert len(specials.model.rows) == 2
    assert marked(specials) == set()
    assert not specials.problem.isVisible()


def test_roles_flags_and_the_chat_template_of_its_files_are_shown(qtbot, session, theme, make_run, opened, tmp_path):
    specials = ("<|end|>", "<|user|>", "<|think|>")
    save(make_run(vocabulary_size=280, pattern="gpt2", special_tokens=specials).tokenizer, tmp_path)
    file = json.loads((tmp_path / "tokenizer.json").read_bytes())
    file["added_tokens"][1] |= {"rstrip": True}
    file["added_tokens"][2] |= {"special": False, "single_word": True}
    (tmp_path / "tokenizer.json").write_text(json.dumps(file))
    roles = {"eos_token": "<|end|>", "pad_token": "<|end|>", "image_token": "<|user|>"}
    config = {**roles, "chat_template": "{{ eos_token }}", "model_max_length": 512, "tokenizer_class": "GPT2Tokenizer"}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config | {"bos_token": None, "unk_token": None}))
    tokenizer = load(tmp_path)
    dialog = opened(SpecialsDialog(session, StudioRun.opened(7, "chat", tokenizer), theme))
    shown = [[dialog.model.data(dialog.model.index(row, column)) for column in (TOKEN, ROLE, KIND)] for row in range(3)]
    assert shown == [
        ["<|end|>", "eos, pad", "special"],
        ["<|user|>", "image", "special, rstrip"],
        ["<|think|>", "", "not special, single word"],
    ]
    told = dialog.files.text()
    assert told == (
        "Its files also have a chat template, the class GPT2Tokenizer and a limit of 512 tokens; they stay, with the "
        "new names."
    )
    edit(dialog, 0, TOKEN, "<|stop|>")
    edit(dialog, 2, TOKEN, "<|thought|>")
    settled(qtbot, dialog)
    assert dialog.view.tokens.toPlainText().splitlines() == [
        "<|end|> becomes <|stop|>",
        "<|think|> becomes <|thought|>",
    ]
    made = made_by(qtbot, dialog).tokenizer
    assert made.roles == {"eos_token": "<|stop|>", "pad_token": "<|stop|>", "image_token": "<|user|>"}
    assert made.preparation.ordinary == made.preparation.words == {"<|thought|>"}
    assert made.settings.chat_templates == tokenizer.settings.chat_templates


def marked(specials):
    """The places of the cells in the colour of errors."""
    red = Qt.ItemDataRole.ForegroundRole
    model, places = specials.model, [(row, column) for row in range(3) for column in range(3)]
    return {
        place for place in places if place[0] < len(model.rows) and model.data(model.index(*place), red) is not None
    }
