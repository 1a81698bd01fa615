"""The export into a copy of a GGUF model."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication

from tests.core.formats.gguf.files import byte_pairs, gguf
from tests.core.formats.trained import TEXT, trained
from tests.gui.dialogs.export.conftest import settle
from tests.gui.dialogs.export.test_dialog import press, press_export
from tokstudio import load
from tokstudio.gui.dialogs.export.format_list import SignedLine

SIZE = 270


def model(folder, rows=SIZE):
    """A model with one tensor and another tokenizer."""
    path = folder / f"model{rows}.gguf"
    values = byte_pairs(trained(TEXT, 2), "qwen2") | {"llama.vocab_size": ("u32", rows)}
    path.write_bytes(gguf(values, [("token_embd.weight", (2, rows), bytes(range(8)) * rows)]))
    return path


@pytest.fixture
def dialog(make_run, opened):
    make_run(vocabulary_size=SIZE, pattern="gpt2", special_tokens=("<s>", "</s>"))
    return opened("gguf")


@pytest.fixture
def choose(qtbot, session, dialog, answers, monkeypatch):
    """Chooses models in the row of the format."""

    def choose(*paths):
        monkeypatch.setattr(answers, "open_files", lambda title, folder, filters="": [*paths])
        qtbot.mouseClick(dialog.list.into.choose, Qt.MouseButton.LeftButton)
        settle(qtbot, session)
        QApplication.processEvents()  # shows the new sentences

    return choose


def said(dialog):
    """The sentence about the model."""
    lines = dialog.list.into.findChildren(SignedLine)
    return [line.label.text() for line in lines if not line.isHidden()]


def test_a_copy_of_a_model_gets_the_tokenizer(qtbot, session, dialog, choose, out, tmp_path):
    into, path = dialog.list.into, model(tmp_path)
    assert into.isVisible()
    assert not into.leave.isVisible()
    choose(path)
    assert not into.pad.isVisible()
    assert said(dialog) == []
    press_export(qtbot, session, dialog)
    written = out / f"{path.stem}-new-tokenizer.gguf"
    assert written.name in dialog.folder.note.text()
    assert written.read_bytes().endswith(bytes(range(8)) * SIZE)
    assert load(written).special_tokens == {"<s>": 268, "</s>": 269}
    # Without a model it is another file, which can be written again.
    qtbot.mouseClick(into.leave, Qt.MouseButton.LeftButton)
    settle(qtbot, session)
    assert into.model is None
    press_export(qtbot, session, dialog)
    written = out / "tokenizer.gguf"
    assert len(written.read_bytes()) < path.stat().st_size + 8 * SIZE
    assert not written.read_bytes().endswith(bytes(range(8)) * SIZE)


def test_the_model_is_asked_for_only_where_the_format_is_chosen(qtbot, session, dialog, choose, tmp_path):
    choose(model(tmp_path, 200))
    assert dialog.note.text() == "Choose another model."
    press(qtbot, session, dialog.list.rows["gguf"].check)
    assert not dialog.list.into.isVisible()
    press(qtbot, session, dialog.list.rows["huggingface"].check)
    assert dialog.export_button.isEnabled()


def test_a_larger_model_is_filled_up_only_if_asked(qtbot, session, dialog, choose, out, tmp_path):
    choose(model(tmp_path, 300))
    [sentence] = said(dialog)
    assert sentence.startswith("The tokenizer has 270 tokens, and model300.gguf has 300: let it be filled up")
    assert dialog.list.into.pad.isVisible()
    assert not dialog.export_button.isEnabled()
    assert dialog.note.text() == "Tick the box to fill it up, or choose another model."
    press(qtbot, session, dialog.list.into.pad)
    press_export(qtbot, session, dialog)
    written = out / "model300-new-tokenizer.gguf"
    assert len(load(written).tokens) == 270
    assert b"[PAD299]" in written.read_bytes()
    choose(model(tmp_path))
    assert not dialog.list.into.pad.isVisible()


def test_what_does_not_fit_is_said_in_words(qtbot, session, dialog, choose, out, tmp_path):
    choose(model(tmp_path, 200))
    assert said(dialog) == ["The tokenizer has ids up to 269, and model200.gguf has only 200 tokens."]
    assert not dialog.list.into.pad.isVisible()
    (tmp_path / "text.gguf").write_text("hello")
    choose(tmp_path / "text.gguf")
    assert said(dialog) == ["text.gguf: this is not a GGUF file."]
    assert not dialog.export_button.isEnabled()
    choose(tmp_path / "text.gguf", tmp_path / "other.gguf")
    assert dialog.note.text() == "Choose one model."
    choose(tmp_path / "gone.gguf")
    assert said(dialog)[0].startswith("gone.gguf: ")
    assert not out.exists()
    qtbot.mouseClick(dialog.list.into.leave, Qt.MouseButton.LeftButton)
    settle(qtbot, session)
    assert dialog.export_button.isEnabled()


def test_the_model_itself_is_never_replaced(qtbot, session, dialog, choose, out):
    out.mkdir()
    path = model(out)
    before = path.read_bytes()
    choose(path)
    press_export(qtbot, session, dialog)
    assert [file.name for file in sorted(out.iterdir())] == [f"{path.stem}-new-tokenizer.gguf", path.name]
    assert path.read_bytes() == before
