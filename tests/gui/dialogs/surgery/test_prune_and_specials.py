"""Prune and Special Tokens: preview, bad input, and what they make, with its name."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json

import numpy as np
import pytest
from PySide6.QtCore import Qt

from tests.gui.dialogs.surgery.dialogs import made_by, settled
from tests.gui.person import TEXT
from tokstudio import load, save
from tokstudio.core.base.progress import finish
from tokstudio.gui.dialogs.surgery.prune import SCRIPT, SIZE, TOKENS, USES, PruneDialog
from tokstudio.gui.dialogs.surgery.specials import ID, KIND, ROLE, TOKEN, SpecialsDialog
from tokstudio.gui.dialogs.surgery.works import PruneChoice, PruneWork, name_with, remark_of, short_name
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.widgets.labels import is_right_to_left


@pytest.fixture
def pruning(session, theme, make_run, opened):
    run = make_run(TEXT + "кот и кот и кот", vocabulary_size=300, pattern="gpt2")
    return opened(PruneDialog(session, run, theme))


def test_pruning_to_a_size(qtbot, session, pruning):
    run = session.runs.active
    pruning.size_limit.setValue(len(run.tokenizer) - 3)
    settled(qtbot, pruning)
    assert pruning.view.heading.text() == "3 tokens go, the first:"
    assert len(pruning.view.tokens.toPlainText().splitlines()) == 3
    changed = made_by(qtbot, pruning)
    assert len(changed.tokenizer) == len(run.tokenizer) - 3
    assert changed.name == f"{run.name}, pruned to {len(changed.tokenizer)}"
    assert changed.tokenizer.origin.old is run.tokenizer


def test_tokens_from_right_to_left_turn_no_line_round(qtbot, session, theme, make_run, opened):
    run = make_run("سلام و سلام و سلام", vocabulary_size=262)
    dialog = opened(PruneDialog(session, run, theme))
    dialog.size_limit.setValue(256)
    settled(qtbot, dialog)
    assert is_right_to_left(dialog.view.tokens.toPlainText())
    document = dialog.view.tokens.document()
    lines = [document.findBlockByNumber(number).layout().lineAt(0) for number in range(document.blockCount())]
    places = [(line.cursorToX(0)[0], line.cursorToX(3)[0]) for line in lines]
    assert len(set(places)) == 1, "all ids stand below each other"
    assert places[0][0] < places[0][1]


def test_pruning_that_would_remove_nothing_is_refused_and_can_be_changed(qtbot, pruning):
    names = [choice.value for choice in pruning.script.choices]
    pruning.script.setCurrentIndex(names.index("Thai"))
    qtbot.mouseClick(pruning.apply_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: pruning.note.text() == "Nothing would be removed.")
    assert not pruning.apply_button.isEnabled()
    pruning.ways.button(SIZE).setChecked(True)
    assert pruning.apply_button.isEnabled()


def test_pruning_by_use_and_by_script_with_ids_that_stay(qtbot, session, pruning):
    run = session.runs.active
    pruning.least.setValue(10)
    assert pruning.ways.checkedId() == USES
    pruning.ids.combo.setCurrentIndex(1)
    settled(qtbot, pruning)
    uses = run.uses.at(len(run))
    gone = np.setdiff1d(run.tokenizer.tokens.ids(), made_by(qtbot, pruning).tokenizer.tokens.ids())
    assert len(gone)
    assert (uses[gone] < 10).all()
    names = [choice.value for choice in pruning.script.choices]
    pruning.script.setCurrentIndex(names.index("Cyrillic"))
    assert pruning.ways.checkedId() == SCRIPT
    settled(qtbot, pruning)
    left = [token.decode("utf-8", "replace") for token in made_by(qtbot, pruning).tokenizer.tokens if token]
    assert not any("кот" in token for token in left)


def test_uses_count_the_text_with_its_weight(qtbot, session, theme, make_run, opened):
    session.corpus.add_text("abab cdcdcd efef " * 3)
    session.corpus.set_weights((1_500,))
    run = make_run(vocabulary_size=262, pattern="gpt2")
    dialog = opened(PruneDialog(session, run, theme))
    dialog.least.setValue(5)
    settled(qtbot, dialog)
    lines = dialog.view.tokens.toPlainText().splitlines()
    assert [line.split()[1] for line in lines] == ["4.5×", "0×", "4.5×", "0×", "4.5×"]
    assert len(made_by(qtbot, dialog).tokenizer) == 257


@pytest.mark.parametrize("weights", [(1_000, 0), (2_000, 500)])
def test_uses_and_figures_of_the_corpus_count_its_texts_with_their_weights(session, make_run, weights):
    texts = "abab cdcdcd efef " * 3, "efef ghgh " * 40
    session.corpus.add_texts([("one", texts[0]), ("other", texts[1])])
    tokenizer = make_run(vocabulary_size=266, pattern="gpt2").tokenizer
    session.corpus.set_weights(weights)
    work = PruneWork(tokenizer, "run", session.corpus.current, None, session.store, 1)
    choice = PruneChoice(least_uses=1)
    figures = {figure.name: figure.before for figure in finish(work.effect_work(choice, "corpus")).figures}
    left = finish(work.result_work(choice, "corpus")).tokenizer.tokens if 0 in weights else tokenizer.tokens
    size = len(tokenizer.tokens)
    by_text = [np.bincount(tokenizer.encode(text), minlength=size) for text in texts]
    uses = sum(weight * counts for weight, counts in zip(weights, by_text, strict=True)) / 1000
    assert {tokenizer.tokens[token] for token in np.flatnonzero(uses >= 1).tolist()} <= set(left)
    assert (b" ghgh" in set(left)) == (b"gh" in set(left)) == bool(weights[1])
    length = sum(weight * len(text) for weight, text in zip(weights, texts, strict=True)) // 1000
    assert figures["Tokens of the corpus"] == f"{int(uses.sum()):,}"
    assert figures["Bytes per token"] == f"{length / int(uses.sum()):.2f}"


def test_selected_tokens_alone_go(qtbot, session, theme, make_run, opened):
    run = make_run(vocabulary_size=280, pattern="gpt2")
    last = int(run.tokenizer.merge_results[-1])
    dialog = opened(PruneDialog(session, run, theme, (last,), these=True))
    assert dialog.ways.checkedId() == TOKENS
    settled(qtbot, dialog)
    assert not made_by(qtbot, dialog).tokenizer.tokens.in_use(last)


def test_sizes_take_the_beginning_of_one_order_and_those_that_cannot_be_reached_are_said(pruning, qtbot, session):
    assert not pruning.ways.button(TOKENS).isEnabled()
    assert pruning.ways.checkedId() == SIZE
    size = len(session.runs.active.tokenizer)
    pruning.size_limit.setValue(size - 5)
    settled(qtbot, pruning)
    five = pruning.view.tokens.toPlainText().splitlines()
    pruning.size_limit.setValue(size - 3)
    settled(qtbot, pruning)
    assert [line.split()[0] for line in pruning.view.tokens.toPlainText().splitlines()] == [
        line.split()[0] for line in five[:3]
    ]
    pruning.uses.combo.setCurrentIndex(2)
    settled(qtbot, pruning)
    assert "×" not in pruning.view.tokens.toPlainText()
    assert pruning.view.tokens.isVisible()
    pruning.size_limit.setValue(100)
    assert not pruning.view.tokens.isVisible(), "no empty box"
    assert pruning.fields[SIZE].is_invalid
    assert pruning.size_limit.property("invalid")
    assert pruning.fields[SIZE].note.text() == "At least 256: the 256 bytes and 0 special tokens stay."
    assert not pruning.apply_button.isEnabled()
    pruning.size_limit.setValue(5000)
    assert pruning.fields[SIZE].note.text().startswith("At most ")
    pruning.least.setValue(0)
    assert not pruning.fields[SIZE].is_invalid
    assert pruning.fields[USES].note.text() == "At least 1: no token is used fewer times than 0."
    assert not pruning.apply_button.isEnabled()
    assert pruning.apply_button.toolTip() == pruning.fields[USES].note.text()


@pytest.fixture
def specials(session, theme, make_run, opened):
    run = make_run(vocabulary_size=280, pattern="gpt2", special_tokens=("<|end|>", "<|reserved_0|>"))
    return opened(SpecialsDialog(session, run, theme))


def test_all_columns_of_special_tokens_have_room_on_a_small_screen_with_large_text(qtbot, theme, specials):
    theme.set_text_size(16)
    specials.resize(760, 600)
    table, columns = specials.table, range(specials.model.columnCount())
    qtbot.waitUntil(lambda: all(table.columnWidth(at) >= table.sizeHintForColumn(at) for at in columns))
    assert table.horizontalScrollBar().maximum() == 0


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
    specials.role.activated.emit(specials.role.currentIndex())
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


def test_a_short_name_has_no_remark_and_a_change_of_one_kind_is_named_once():
    for name, short in (
        ("Run 2 (Run 1, extended)", "Run 2"),
        ("Run 2 (Run 1, extended), pruned to 1,300", "Run 2, pruned to 1,300"),
        ("Run 12 (sample of 1.0 MB)", "Run 12"),
        ("gpt2 (old)", "gpt2 (old)"),
        ("Run 3", "Run 3"),
    ):
        assert short_name(name) == short
    name = name_with("Run 2 (Run 1, extended)", "pruned to 1,300")
    assert name == "Run 2, pruned to 1,300"
    name = name_with(name_with(name, "other special tokens"), "pruned to 900")
    assert name == "Run 2, other special tokens, pruned to 900"
    assert name_with(name, "other special tokens") == "Run 2, pruned to 900, other special tokens"
    assert remark_of("Run 2 (Run 1, extended)", 2) == " (Run 1, extended)"
    assert remark_of("Run 2", 2) == ""
    assert remark_of("Run 20 (Run 1, extended)", 2) == ""
    assert remark_of("mine", 2) == ""
