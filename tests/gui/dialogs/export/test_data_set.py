"""Encode a Data Set: what the dialog writes is what the library writes, also after it was cancelled."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt

from tests.gui.person import at_window, drop, quiet, trained
from tokstudio import ConfigError, Corpus, Reading, encode_dataset
from tokstudio.core.base.progress import Progress
from tokstudio.core.shards.dataset import encode_dataset_work
from tokstudio.gui.dialogs.export import data_set
from tokstudio.gui.dialogs.export.data_set import EncodeDialog, files_of

LINES = "".join(f"the cat {number} sat on the mat\n" for number in range(200))


@pytest.fixture
def dialog(qtbot, session, theme, preferences, answers, tmp_path, make_run) -> Iterator[EncodeDialog]:
    """The dialog for a tokenizer of a file of two hundred lines."""
    path = tmp_path / "lines.txt"
    path.write_text(LINES)
    session.corpus.open_paths([path])
    qtbot.waitUntil(lambda: not session.jobs.running)
    make_run(vocabulary_size=300)
    made = EncodeDialog(session, theme, preferences, answers, None)
    made.show()
    qtbot.waitExposed(made)
    yield made
    made.close()


def enter(qtbot, dialog: EncodeDialog, folder: Path, tokens: int) -> None:
    """Types the folder and the tokens of a shard."""
    dialog.folder.edit.selectAll()
    qtbot.keyClicks(dialog.folder.edit, str(folder))
    dialog.tokens.lineEdit().selectAll()
    qtbot.keyClicks(dialog.tokens.lineEdit(), str(tokens))


def written(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@at_window()
def test_the_corpus_is_encoded_by_mouse_and_keyboard(qtbot, unstyled, window, tmp_path):
    assert not window.actions_by_id["encode_data_set"].isEnabled()
    path = tmp_path / "lines.txt"
    path.write_text(LINES)
    drop(window, path)
    quiet(qtbot, window)
    tokenizer = trained(qtbot, window).tokenizer
    window.actions_by_id["encode_data_set"].trigger()
    (dialog,) = window.findChildren(EncodeDialog)
    qtbot.waitExposed(dialog)
    assert dialog.given.text() == "1 file: lines.txt"
    enter(qtbot, dialog, tmp_path / "out", 500)
    parquet = dialog.formats["parquet"]
    qtbot.mouseClick(parquet, Qt.MouseButton.LeftButton, pos=QPoint(8, parquet.height() // 2))
    qtbot.keyClick(dialog.documents, Qt.Key.Key_Down)
    qtbot.mouseClick(dialog.encode_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: "Encoded 200 documents" in dialog.note.text())
    assert "No token ends the documents." in dialog.note.text()
    assert "tokens/s" in dialog.note.text()
    options = {"shard_tokens": 500, "formats": ("npy", "parquet"), "documents": "line"}
    assert len(encode_dataset([path], tokenizer, tmp_path / "whole", **options).shards) == 2
    assert written(tmp_path / "out") == written(tmp_path / "whole")
    dialog.encode_button.setFocus()
    qtbot.keyClick(dialog.encode_button, Qt.Key.Key_Space)
    qtbot.waitUntil(lambda: "has these shards already" in dialog.note.text())
    enter(qtbot, dialog, tmp_path / "out", 400)
    dialog.encode_button.click()
    qtbot.waitUntil(lambda: "its shards were made with shard_tokens 500, not 400" in dialog.note.text())
    for box in dialog.formats.values():
        box.setChecked(False)
    assert not dialog.encode_button.isEnabled()
    qtbot.keyClick(dialog, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: not [one for one in window.findChildren(EncodeDialog) if one.isVisible()])


def test_an_encoding_is_cancelled_and_goes_on(qtbot, session, dialog, tmp_path, monkeypatch):
    path, tokenizer = tmp_path / "lines.txt", session.runs.active.tokenizer
    out = tmp_path / "out"

    def until_second_shard(*arguments, **options):
        work = encode_dataset_work(*arguments, **options)
        for progress in work:
            yield progress
            while (out / "shard-00001.npy").exists():
                time.sleep(0.01)
                yield Progress("encoding", 1, 2, ", 12 tokens/s")

    other = tmp_path / "other.txt"
    other.write_text(LINES.upper())
    dialog._files = [path, other]
    dialog.text.setCurrentIndex(1)
    dialog.documents.setCurrentIndex(1)
    assert dialog.given.text() == "2 files: lines.txt, other.txt"
    enter(qtbot, dialog, out, 400)
    monkeypatch.setattr("tokstudio.core.shards.encoding.CHUNK", 1_000)
    with monkeypatch.context() as patch:
        patch.setattr(data_set, "encode_dataset_work", until_second_shard)
        dialog.encode_button.click()
        qtbot.waitUntil(lambda: dialog.note.text() == "Encoding, 12 tokens/s…")
        assert dialog.bar.value() == 500, "of a thousand"
        assert not dialog.folder.isEnabled()
        qtbot.keyClick(dialog, Qt.Key.Key_Escape)
        assert dialog.note.text() == "Cancelled. out: its complete shards stay, and Encode goes on after them."
        qtbot.waitUntil(lambda: not session.jobs.running)
    assert 2 <= len(list(out.glob("*.ends.npy"))) < 10
    dialog.encode_button.click()
    qtbot.waitUntil(lambda: not dialog.is_busy)
    assert "of which were there" in dialog.note.text()
    encode_dataset([path, other], tokenizer, tmp_path / "whole", shard_tokens=400, documents="line")
    assert written(out) == written(tmp_path / "whole")


def test_what_is_encoded_is_the_corpus_as_it_is_then(qtbot, session, dialog, tmp_path):
    path, tokenizer = tmp_path / "lines.txt", session.runs.active.tokenizer
    other = tmp_path / "other.txt"
    other.write_text(LINES.upper())
    session.corpus.open_paths([other])
    qtbot.waitUntil(lambda: dialog.given.text() == "2 files: lines.txt, other.txt")
    enter(qtbot, dialog, tmp_path / "out", 100_000)
    dialog.encode_button.click()
    qtbot.waitUntil(lambda: "Encoded 2 documents" in dialog.note.text())
    encode_dataset([path, other], tokenizer, tmp_path / "whole", shard_tokens=100_000)
    assert written(tmp_path / "out") == written(tmp_path / "whole")
    session.corpus.remove_sources([0, 1])
    qtbot.waitUntil(lambda: dialog.given.text() == "The corpus has no text.")
    assert not dialog.encode_button.isEnabled()


def test_that_merges_after_the_playhead_are_used_is_said(qtbot, session, dialog, tmp_path):
    run = session.runs.active
    assert not dialog.merges.isVisible()
    session.view.set_playhead(len(run) - 2)
    assert dialog.merges.text() == (
        f"All merges of {run.name} are used, also those after the playhead ({len(run) - 2} of {len(run)})."
    )
    assert dialog.merges.isVisible()
    dialog.documents.setCurrentIndex(1)
    enter(qtbot, dialog, tmp_path / "out", 100_000)
    dialog.encode_button.click()
    qtbot.waitUntil(lambda: "Encoded 200 documents" in dialog.note.text())
    whole = tmp_path / "whole"
    encode_dataset([tmp_path / "lines.txt"], run.tokenizer, whole, shard_tokens=100_000, documents="line")
    assert written(tmp_path / "out") == written(whole)
    session.view.set_playhead(len(run))
    assert not dialog.merges.isVisible()


def test_a_corpus_that_its_files_do_not_give_again_is_not_encoded(tmp_path):
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("the cat\nthe cat\n")
    paths = [tmp_path / "a.txt", tmp_path / "b.txt"]
    corpus = Corpus.from_files(paths)
    assert files_of(corpus) == (paths, Reading())
    whole = Corpus.from_files(paths, documents="line", deduplicate=True)
    assert files_of(whole) == (paths, Reading(deduplicate=True))
    for sources, says in (
        ((), "has no text"),
        ((*corpus.sources, *Corpus.from_text("pasted").sources), "is not a text in a file"),
        ((corpus.sources[0], whole.sources[1]), "in different ways"),
        (Corpus.from_files(paths, encoding="bytes").sources, "as bytes"),
        ((replace(corpus.sources[0], value="x"),), "a column divides"),
    ):
        with pytest.raises(ConfigError, match=says):
            files_of(Corpus(sources))
