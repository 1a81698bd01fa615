"""Compare Sizes: the table of the library, a click that takes a size, other reference texts, Cancel and refusals."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel

from tests.gui.dialogs.surgery.dialogs import settled, train_by
from tokstudio import Corpus, TrainingConfig, extension_sheet
from tokstudio.core.corpus.source import Source
from tokstudio.gui.dialogs.surgery import sheet as sheets
from tokstudio.gui.dialogs.surgery.extend import ExtendDialog
from tokstudio.gui.dialogs.surgery.sheet import SheetDialog
from tokstudio.gui.session.measuring.compared import file_set

WORDS = ["der", "Hund", "und", "die", "Katze", "und", "der", "Vogel", "sind", "im", "Garten", "am", "Haus"]
TEXT = "the cat sat\nder Hund und\nx y z\n"
SPECIALS = ("<|endoftext|>", "<|reserved_0|>", "<|reserved_1|>")


def german(lines=60):
    chosen = np.random.default_rng(1)
    return "".join(f"{' '.join(chosen.choice(WORDS, 9))}\n" for _ in range(lines))


@pytest.fixture
def extending(session, theme, make_run, opened):
    run = make_run(vocabulary_size=270, pattern="gpt2", special_tokens=SPECIALS)
    session.corpus.set_sources(())
    session.corpus.add_text(german(), "german.txt")
    session.view.set_text(TEXT)
    dialog = opened(ExtendDialog(session, run, theme, None))
    dialog.size_limit.number.setValue(300)
    return dialog


@pytest.fixture
def comparing(qtbot, extending, opened):
    """Opens the dialog as the button does."""

    def comparing():
        extending.sizes_button.click()
        dialog = extending.findChildren(SheetDialog)[-1]
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
        qtbot.waitUntil(lambda: not dialog.is_busy)
        return dialog

    return comparing


def expected(session, run, references, held_out=0.1, size=300, fill=()):
    config = TrainingConfig(vocabulary_size=size, pattern="gpt2", min_frequency=None)
    return extension_sheet(run.tokenizer, session.corpus.current, config, references, held_out, fill)


def click(qtbot, dialog, row):
    place = dialog.table.visualRect(dialog.model.index(row, 0)).center()
    qtbot.mouseClick(dialog.table.viewport(), Qt.MouseButton.LeftButton, pos=place)


def test_the_table_is_that_of_the_library_and_a_click_takes_a_size(qtbot, session, extending, comparing):
    assert not extending.findChildren(SheetDialog), "nothing is made before it is needed"
    run = session.runs.active
    dialog = comparing()
    assert dialog.reference.value.title == "Text"
    wanted = expected(session, run, {"Text": TEXT})
    assert dialog.model.sheet == wanted
    cells = [[dialog.model.text(row, column) for column in range(7)] for row in range(dialog.model.count())]
    assert cells == [[*wanted.cells(row)] for row in wanted.rows]
    titles = [dialog.model.headerData(column, Qt.Orientation.Horizontal) for column in (0, 2, 6)]
    assert titles == ["Added", "Tokens saved: german.txt", "Lines changed: Text"]
    assert dialog.note.text() == "8 sizes. A click on a row takes its size."
    click(qtbot, dialog, 3)
    assert dialog.note.text() == "Extend adds 5 tokens now."
    assert extending.size_limit.value == 275
    qtbot.keyClick(dialog.table, Qt.Key.Key_Down)
    qtbot.keyClick(dialog.table, Qt.Key.Key_Return)
    assert extending.size_limit.value == 277, "Enter takes the row, and closes"
    settled(qtbot, extending)
    assert "Vocabulary; 270; 277;" in extending.view.text
    train_by(qtbot, session, extending)
    assert session.runs.active.vocabulary_size == 277


def test_other_reference_texts_need_no_other_training(qtbot, session, extending, comparing, tmp_path, monkeypatch):
    for folder, text in (("a", "the cat\n"), ("b", "der Hund\nund\n")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "same.txt").write_text(text)
    session.comparison.add_texts(file_set([tmp_path / "a" / "same.txt", tmp_path / "b" / "same.txt"]))
    dialog = comparing()
    names = [choice.name for choice in dialog.reference.combo.choices]
    assert names[:3] == ["None", "Text", "Our story in 31 languages"]
    assert "Corpus" not in names
    assert "Held-out text" not in names
    monkeypatch.setattr(sheets, "trained_for_sheet_work", None)
    dialog.reference.combo.setCurrentIndex(0)
    qtbot.waitUntil(lambda: not dialog.is_busy)
    assert dialog.model.sheet == expected(session, session.runs.active, {})
    dialog.reference.combo.setCurrentIndex(3)
    qtbot.waitUntil(lambda: not dialog.is_busy)
    texts = dialog.model.sheet.texts[1:]
    assert sorted(text.lines for text in texts) == [1, 2]
    assert len({text.name for text in texts}) == 2


def test_the_share_of_configure_and_filled_ids_count(qtbot, session, extending, comparing, monkeypatch):
    session.training.set_settings(replace(session.training.settings, held_out=0.3))
    extending.reserved.list.item(0).setCheckState(Qt.CheckState.Checked)
    monkeypatch.setattr(sheets, "LARGEST_REFERENCE", 12)
    dialog = comparing()
    run = session.runs.active
    wanted = expected(session, run, {"Text (the first 12 B)": TEXT[:12]}, 0.3, 301, ["<|reserved_0|>"])
    assert [text.lines for text in dialog.model.sheet.texts] == [None, 1]
    assert dialog.model.sheet.rows == wanted.rows
    about = [label.text() for label in dialog.findChildren(QLabel)]
    assert any("70" in text and "of the corpus" in text for text in about)
    click(qtbot, dialog, dialog.model.count() - 1)
    assert extending.size_limit.value == 300 == wanted.rows[-1].vocabulary_size


def test_cancel_ends_the_work_and_then_the_dialog(qtbot, session, extending):
    extending.sizes_button.click()
    dialog = extending.findChildren(SheetDialog)[-1]
    assert dialog.is_busy
    assert dialog.close_button.text() == "Cancel"
    dialog.close_button.click()
    assert dialog.note.text() == "Cancelled."
    assert dialog.close_button.text() == "Close"
    assert dialog.isVisible()
    assert dialog.model.count() == 0
    dialog.close_button.click()
    qtbot.waitUntil(lambda: not session.jobs.running)
    assert extending.size_limit.value == 300


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (Corpus.from_text("eine Zeile und eine Zeile und").sources[0], "which needs at least 20 lines."),
        (Corpus.from_counts({" und": 30, " der": 20}).sources[0], "Word counts have no lines to hold out"),
    ],
)
def test_one_sentence_where_nothing_can_be_held_out(qtbot, session, theme, make_run, opened, source, told):
    run = make_run(vocabulary_size=270, pattern="gpt2")
    session.corpus.set_sources((source,) if isinstance(source, Source) else source)
    extending = opened(ExtendDialog(session, run, theme, None))
    extending.sizes_button.click()
    dialog = extending.findChildren(SheetDialog)[-1]
    qtbot.waitUntil(lambda: not dialog.is_busy)
    assert told in dialog.note.text()
    assert dialog.model.count() == 0
    dialog.close_button.click()


def test_sizes_are_compared_only_with_valid_settings(qtbot, session, extending, comparing):
    extending.size_limit.number.setValue(260)
    assert not extending.sizes_button.isEnabled()
    extending.size_limit.check.setChecked(False)
    extending.frequency.check.setChecked(True)
    extending.frequency.number.setValue(30)
    assert extending.sizes_button.isEnabled()
    dialog = comparing()
    assert "pair occurs 30 times" in dialog.model.sheet.ended
    assert dialog.note.text().startswith(f"{dialog.model.count()} sizes.")


def test_a_training_that_ends_early_says_why(qtbot, extending, comparing):
    extending.frequency.check.setChecked(True)
    extending.frequency.number.setValue(100)
    dialog = comparing()
    made = dialog.model.sheet.rows[-1].added
    assert made < 30
    assert dialog.note.text().endswith(f" It ends after {made}: no pair occurs 100 times.")


def test_a_fork_is_compared_from_its_merge(qtbot, session, theme, make_run, opened):
    run = make_run(vocabulary_size=280, pattern="gpt2")
    session.corpus.add_text(german(), "german.txt")
    forking = opened(ExtendDialog(session, run, theme, 5))
    forking.size_limit.number.setValue(285)
    forking.sizes_button.click()
    dialog = forking.findChildren(SheetDialog)[-1]
    qtbot.waitUntil(lambda: not dialog.is_busy)
    assert [row.vocabulary_size for row in dialog.model.sheet.rows][-1] == 285
    assert dialog.model.sheet.rows[-1].added == 285 - 261
    dialog.close_button.click()
