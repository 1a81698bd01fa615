"""What Stayed the Same: nine points, changed lines, the embedding map."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import Qt

from tests.gui.dialogs.surgery.dialogs import GERMAN, made_by, settled
from tokstudio import Corpus, TrainingConfig, embedding_map, extend, train
from tokstudio.core.corpus.source import Source
from tokstudio.gui.dialogs.surgery.proof import OF_CORPUS, OF_FILE, OF_TEXT, ProofDialog
from tokstudio.gui.dialogs.surgery.prune import PruneDialog
from tokstudio.gui.dialogs.surgery.works import at_merge


@pytest.fixture
def proving(qtbot, session, theme, make_run, opened, preferences, answers):
    run = make_run(vocabulary_size=280, pattern="gpt2")
    dialog = opened(PruneDialog(session, run, theme))
    dialog.size_limit.setValue(270)
    settled(qtbot, dialog)
    session.runs.add_tokenizer(made_by(qtbot, dialog).tokenizer, "pruned")
    session.view.set_text("the cat sat\nx y z\nthe rat")
    proof = opened(ProofDialog(session, session.runs.active, theme, preferences, answers))
    proved(qtbot, proof)
    return proof, answers


def proved(qtbot, proof):
    qtbot.waitUntil(lambda: not proof.verdict.text().endswith("…"))


def test_the_nine_points_hold_and_changed_lines_of_any_text_stand_side_by_side(qtbot, proving, session, tmp_path):
    proof, answers = proving
    assert proof.verdict.text().startswith("All 9 points hold.")
    assert len(proof.labels) == 18
    changed = [line.number for line in proof.model.lines]
    assert changed
    assert 2 not in changed
    assert proof.model.text(0, 1) != proof.model.text(0, 2)
    assert "·" in proof.model.text(0, 1) + proof.model.text(len(changed) - 1, 1)
    choose(qtbot, proof, 1)
    assert proof.verdict.text().startswith("All 9 points hold.")
    # Each row of a data set is a line.
    session.corpus.set_sources((Source.from_texts(["the cat sat", "x y z\n", "the rat"]),))
    choose(qtbot, proof, 1)
    assert [line.number for line in proof.model.lines] == changed
    assert proof.proof.points[5].sentence == f"{len(changed)} of 3 lines."
    answers.files = []
    choose(qtbot, proof, 2)
    assert proof.reference.currentIndex() == 1  # nothing was chosen: the last text stays
    book = tmp_path / "book.txt"
    book.write_text("x y z\n" * 9 + "the cat sat\nthe rat\n")
    answers.files = [book]
    choose(qtbot, proof, 2)
    assert [proof.reference.itemText(row) for row in range(4)] == [OF_TEXT, OF_CORPUS, "book.txt", OF_FILE]
    assert proof.reference.currentText() == "book.txt"
    assert f"{len(changed)} of 11 lines" in proof.proof.points[5].sentence
    assert {line.number for line in proof.model.lines} <= {10, 11}
    assert len(proof.model.lines) == len(changed)


def test_all_points_are_in_sight_the_map_is_written_and_both_can_be_compared(qtbot, proving, qapp, tmp_path, session):
    proof, answers = proving
    proof.resize(920, 576)  # on a screen of 1024 x 640
    qtbot.waitUntil(lambda: all(label.visibleRegion().boundingRect() == label.rect() for label in proof.labels))
    assert proof.table.height() > 100
    answers.target = tmp_path / "map"
    qtbot.mouseClick(proof.map_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: proof.note.text() == "Wrote map.npz.")
    with np.load(tmp_path / "map.npz") as table:
        assert int(table["size"]) == 270
    qtbot.mouseClick(proof.python_button, Qt.MouseButton.LeftButton)
    assert "resize_token_embeddings" in qapp.clipboard().text()
    assert str(tmp_path / "map.npz") in qapp.clipboard().text()
    with qtbot.waitSignal(proof.compareAsked) as signal:
        qtbot.mouseClick(proof.compare_button, Qt.MouseButton.LeftButton)
    old, run = signal.args
    assert old is session.runs.all[0].tokenizer
    assert run.name == "pruned"


def choose(qtbot, proof, row):
    """Chooses a reference text as a person does."""
    proof.reference.setCurrentIndex(row)
    proof.reference.activated.emit(row)
    proved(qtbot, proof)


def test_the_map_of_a_fork_is_of_the_whole_tokenizer():
    whole = train(Corpus.from_text(GERMAN * 9), TrainingConfig(vocabulary_size=280, special_tokens=["<|a|>"]))
    start = at_merge(whole, 5, "gpt2")
    forked = extend(start, Corpus.from_text("x y x y x y"), TrainingConfig(vocabulary_size=264, pattern="gpt2"))
    assert forked.special_tokens == {"<|a|>": 261}
    table = embedding_map(forked)
    assert table.before == 280
    row = table.old_ids.tolist().index(whole.special_tokens["<|a|>"])
    assert table.new_ids[row] == 261
