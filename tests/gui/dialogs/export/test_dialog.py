"""The export dialog: choosing formats, reading their losses, exporting, and the checked results."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import errno
import json
import threading
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QLabel, QMessageBox
from tokenizers import Tokenizer as HuggingFaceTokenizer

from tests.gui import picky
from tests.gui.dialogs.export.conftest import settle
from tests.gui.person import at_rest
from tokstudio import load, prune
from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.progress import Progress
from tokstudio.core.formats.huggingface.format import HuggingFace
from tokstudio.core.formats.known_formats import FORMATS
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.gui.dialogs.export import format_list
from tokstudio.gui.dialogs.export import queue as export_plan
from tokstudio.gui.dialogs.export.dialog import ExportDialog
from tokstudio.gui.dialogs.export.format_list import SignedLine
from tokstudio.gui.state.training_settings import Settings
from tokstudio.gui.widgets.file_dialogs import Choosers

SENTENCE = "the cat sat on the mat<|end|> and the rat\n"


@pytest.fixture
def plain(make_run):
    return make_run(vocabulary_size=280)


@pytest.fixture
def with_special(make_run):
    return make_run(vocabulary_size=270, pattern="gpt2", special_tokens=("<|end|>",))


def test_a_run_without_a_pattern_offers_one_for_the_next_training(qtbot, session, plain, opened):
    dialog = opened("huggingface")
    assert dialog.unsplit.isVisible()
    assert "Most tokenizers first split it into pre-tokens" in dialog.unsplit.text()
    qtbot.mouseClick(dialog.usual, Qt.MouseButton.LeftButton)
    assert session.training.settings.pattern == "gpt2"
    assert session.history.undo_text
    assert "Train again" in dialog.unsplit.text()
    assert not dialog.usual.isVisible()


def test_a_run_with_a_pattern_is_offered_none(with_special, opened):
    assert not opened("huggingface").unsplit.isVisible()


def tick(qtbot, session, dialog, name):
    press(qtbot, session, dialog.list.rows[name].check)


def press(qtbot, session, control):
    """Presses the space bar in a control, and waits for what follows."""
    control.setFocus()
    qtbot.keyClick(control, Qt.Key.Key_Space)
    settle(qtbot, session)


def press_export(qtbot, session, dialog):
    assert dialog.export_button.isEnabled(), dialog.note.text()
    qtbot.mouseClick(dialog.export_button, Qt.MouseButton.LeftButton)
    settle(qtbot, session)


def told(dialog, name):
    """All sentences on a format's row."""
    row = dialog.list.rows[name]
    return [line.label.text() for line in row.findChildren(SignedLine) if not line.isHidden()]


def test_one_tokenizer_is_written_into_the_folder_itself_and_checked(qtbot, session, with_special, opened, out):
    dialog = opened("huggingface")
    assert (
        dialog.folder.note.text()
        == "The folder will be created. The export writes tokenizer.json, tokenizer_config.json."
    )
    press_export(qtbot, session, dialog)
    assert told(dialog, "huggingface")[-1].startswith("identical on the test text and a sample of your text (")
    theirs = HuggingFaceTokenizer.from_file(str(out / "tokenizer.json"))
    assert theirs.encode(SENTENCE).ids == with_special.tokenizer.encode(SENTENCE, "all")
    assert with_special.marks.exported
    assert dialog.isVisible()
    assert not dialog.export_button.isEnabled()
    assert dialog.note.text() == "All files are written."


def test_several_tokenizers_get_a_folder_each_and_tables_none(qtbot, session, plain, opened, out):
    dialog = opened("huggingface")
    tick(qtbot, session, dialog, "classic")
    tick(qtbot, session, dialog, "merges-csv")
    assert "Each of these formats gets its own folder in it: huggingface, classic." in dialog.folder.note.text()
    sentences = []
    dialog.written.connect(sentences.append)
    press_export(qtbot, session, dialog)
    proved = ", ".join(FORMATS[name].title for name in ("huggingface", "classic"))
    assert sentences[-1] == f"Wrote 5 files in 3 formats to {out}. Read back and identical: {proved}."
    tick(qtbot, session, dialog, "vocabulary-csv")
    press_export(qtbot, session, dialog)
    assert sentences[-1] == f"Wrote vocabulary.csv to {out}.", "what was written before is not told again"
    assert (out / "huggingface" / "tokenizer.json").is_file()
    assert load(out / "classic").encode("the cat") == plain.tokenizer.encode("the cat")
    assert (out / "merges.csv").read_text(encoding="utf-8").count("\n") == 25
    assert told(dialog, "merges-csv") == ["written"]


def test_closing_the_dialog_cancels_its_checks(qtbot, session, plain, opened, monkeypatch):
    begun = []

    def endless(tokenizer, name, *, sample):
        begun.append(name)
        while True:
            yield Progress("measuring")

    dialog = opened("huggingface")
    monkeypatch.setattr("tokstudio.gui.dialogs.export.queue.fit_work", endless)
    dialog.gaps.toggle()
    qtbot.waitUntil(lambda: bool(begun))
    qtbot.keyClick(dialog, Qt.Key.Key_Escape)
    settle(qtbot, session)
    assert len(begun) == 1


def test_losses_are_listed_and_must_be_accepted(qtbot, session, with_special, opened, out):
    dialog = opened("classic")
    losses = told(dialog, "classic")
    assert len(losses) >= 2
    assert any("<|end|>" in sentence for sentence in losses)
    assert "<|end|>" in dialog.list.rows["classic"].check.accessibleDescription()
    assert not dialog.export_button.isEnabled()
    assert "lost" in dialog.note.text()
    assert not out.exists()
    qtbot.keyClick(dialog.accept_loss, Qt.Key.Key_Space)
    press_export(qtbot, session, dialog)
    assert len(load(out).merges) == len(with_special)
    assert not with_special.marks.exported, "special tokens and pattern cannot be had back from this"


def test_an_unsuitable_format_says_why_and_cannot_be_chosen(qtbot, session, make_run, opened):
    make_run(vocabulary_size=30, base="characters")
    dialog = opened("classic", "huggingface")
    check = dialog.list.rows["classic"].check
    assert not check.isEnabled()
    assert not check.isChecked()
    assert told(dialog, "classic") == [FORMATS["classic"].problem(session.runs.active.tokenizer)]
    assert dialog.list.chosen == ("huggingface",)
    assert dialog.export_button.isEnabled()
    tick(qtbot, session, dialog, "huggingface")
    assert dialog.note.text() == "Choose a format."
    assert not dialog.export_button.isEnabled()


def test_the_only_possible_format_is_ticked(qtbot, session, opened, out, preferences):
    session.corpus.add_text("the cat sat on the mat " * 20)
    session.training.set_settings(Settings(60, algorithm="sentencepiece-bpe"))
    session.training.start()
    qtbot.waitUntil(lambda: not session.training.busy and session.runs.active is not None)
    preferences.set("export_formats", "huggingface")
    dialog = opened("huggingface")
    assert dialog.list.chosen == ("sentencepiece",)
    assert dialog.list.rows["sentencepiece"].check.isChecked()
    press_export(qtbot, session, dialog)
    assert [file.suffix for file in out.iterdir()] == [".model"]
    assert preferences.get("export_formats", "") == "huggingface"
    tick(qtbot, session, dialog, "sentencepiece")
    dialog.gaps.toggle()
    settle(qtbot, session)
    assert dialog.list.chosen == (), "the user does not want it"


def test_removed_tokens_are_in_the_loader_and_in_tables_and_other_formats_say_so(qtbot, session, opened, out):
    run = picky.trained(qtbot, session)
    dialog = opened("huggingface", "merges-csv", "vocabulary-csv")
    assert told(dialog, "huggingface") == [FORMATS["huggingface"].problem(run.tokenizer)]
    assert not dialog.list.rows["huggingface"].check.isEnabled()
    # The only one that can hold the tokenizer is offered.
    assert dialog.list.chosen == ("loader", "merges-csv", "vocabulary-csv")
    press_export(qtbot, session, dialog)
    assert load(out).encode("the tokenizer") == run.tokenizer.encode("the tokenizer")
    heading, *rows = (out / "merges.csv").read_text(encoding="utf-8").splitlines()
    assert heading.endswith(",left_removed,right_removed")
    gone = [["" if places < 0 else str(places) for places in row] for row in run.run.removals[:, 2:].tolist()]
    assert [row.split(",")[-2:] for row in rows] == gone
    assert (out / "vocabulary.csv").read_text(encoding="utf-8").count("\n") == 1 + run.vocabulary_size


def test_only_up_to_the_playhead_with_gaps_or_without_and_a_table_keeps_its_counts(
    qtbot, session, with_special, opened, out
):
    session.view.set_playhead(10)
    dialog = opened("huggingface")
    assert dialog.part.text().replace("&", "") == "Only up to the playhead (10 of 13 merges)"
    assert dialog.gaps.isHidden()
    press(qtbot, session, dialog.part)
    assert not dialog.gaps.isHidden()
    press_export(qtbot, session, dialog)
    assert load(out).special_tokens == {"<|end|>": 269}
    assert not with_special.marks.exported
    press(qtbot, session, dialog.gaps)
    assert dialog.moves.text() == 'The special token "<|end|>" moves from 269 to 266.'
    assert told(dialog, "huggingface") == [], "what is written now is not what was proved"
    assert dialog.export_button.text() == "Rep&lace"
    press_export(qtbot, session, dialog)
    proof, moved = told(dialog, "huggingface")
    assert proof.endswith(" tokens) after renumbering")
    assert moved == "Id 269 became 266."
    assert load(out).special_tokens == {"<|end|>": 266}
    assert len(load(out)) == 267
    dialog = opened("merges-csv")
    for option in (dialog.part, dialog.gaps):
        press(qtbot, session, option)
    assert told(dialog, "merges-csv") == ["It keeps the ids as they are, gaps included."]
    press_export(qtbot, session, dialog)
    assert (out / "merges.csv").read_text(encoding="utf-8").count("\n") == 11
    dialog = opened("token-bytes")
    for option in (dialog.part, dialog.gaps):
        press(qtbot, session, option)
    assert told(dialog, "token-bytes") == []
    press_export(qtbot, session, dialog)
    assert len(json.loads((out / "token_bytes.json").read_bytes())) == 267, "ids are those of the tokenizers beside it"


def test_existing_files_are_counted_if_they_have_the_name_and_the_button_says_replace(
    qtbot, session, plain, opened, out
):
    out.mkdir()
    for name in ("merges.json", "vocabulary.json"):
        (out / name).write_text("mine")
    dialog = opened("classic")
    assert dialog.note.text() == "Replaces 2 files."
    assert dialog.export_button.text() == "Rep&lace"
    press_export(qtbot, session, dialog)
    assert len(load(out)) == len(plain.tokenizer)
    assert sorted(path.name for path in out.iterdir()) == ["merges.json", "vocabulary.json"]
    (out / "huggingface").mkdir(parents=True)
    (out / "tokenizer.json").write_text(json.dumps({}))
    dialog = opened("huggingface", "classic")
    assert dialog.note.text() == "", "two formats go into folders of their own"
    tick(qtbot, session, dialog, "classic")
    assert dialog.note.text() == "Replaces 1 file."


def test_a_folder_that_cannot_be_used_says_so_at_once_and_one_that_vanishes_is_made_again(
    qtbot, session, plain, opened, tmp_path, answers, out
):
    (tmp_path / "file.txt").write_text("text")
    dialog = opened("huggingface")
    for entered, problem in (
        (str(tmp_path / "file.txt"), "file.txt is a file, not a folder"),
        ("somewhere", "full path"),
        ("", "full path"),
    ):
        dialog.folder.edit.setText(entered)
        settle(qtbot, session)
        assert problem in dialog.folder.note.text()
        assert dialog.folder.is_invalid
        assert not dialog.export_button.isEnabled()
    answers.folder = tmp_path / "chosen"
    qtbot.mouseClick(dialog.folder.browse, Qt.MouseButton.LeftButton)
    settle(qtbot, session)
    assert not dialog.folder.is_invalid
    assert dialog.folder.folder == tmp_path / "chosen"
    assert dialog.export_button.isEnabled()
    dialog = opened("huggingface")
    dialog.folder.edit.setText(str(out / ("long" * 100)))
    settle(qtbot, session)
    press_export(qtbot, session, dialog)
    assert dialog.folder.note.text().endswith("the name is too long: choose a shorter one.")
    assert not out.exists()
    out.mkdir()
    dialog.folder.edit.setText(str(out / ("longer" * 100)))
    settle(qtbot, session)
    assert dialog.folder.note.text().endswith("the name is too long: choose a shorter one.")
    assert not dialog.export_button.isEnabled()
    out.rmdir()
    out.mkdir()
    (out / "classic").write_text("mine")
    dialog = opened("huggingface", "classic")
    assert dialog.folder.note.text() == "classic is a file, not a folder: choose another."
    assert not dialog.export_button.isEnabled()
    (out / "classic").unlink()
    out.rmdir()
    out.mkdir()
    dialog = opened("huggingface")
    out.rmdir()
    press_export(qtbot, session, dialog)
    assert len(load(out)) == 280


def test_a_folder_without_permission_is_refused_before_anything_is_written(
    qtbot, session, plain, opened, out, monkeypatch
):
    out.mkdir()
    monkeypatch.setattr("tokstudio.gui.dialogs.export.queue.os.access", lambda path, mode: False)
    dialog = opened("huggingface")
    assert dialog.folder.note.text() == f"The folder {out} is not writable: choose another."
    assert not dialog.export_button.isEnabled()


def test_a_folder_that_cannot_be_made_is_an_error_at_its_field(qtbot, session, plain, opened, out, tmp_path):
    dialog = opened("huggingface", "classic", "vocabulary-csv")
    out.write_text("in the way")
    dialog.resize(dialog.width(), 320)
    check = dialog.list.rows["huggingface"].check
    check.setFocus()
    settle(qtbot, session)
    qtbot.keyClick(check, Qt.Key.Key_Return)
    settle(qtbot, session)
    assert not check.visibleRegion().isEmpty(), "the list has not scrolled away"
    assert dialog.folder.is_invalid
    assert dialog.focusWidget() is dialog.folder.edit
    assert dialog.folder.note.text() == f"{out.name} is a file, not a folder: choose another."
    assert not any(told(dialog, name) for name in dialog.list.chosen)
    out.unlink()
    dialog.folder.edit.setText(str(tmp_path / "other"))
    settle(qtbot, session)
    assert not dialog.folder.is_invalid
    press_export(qtbot, session, dialog)
    assert (tmp_path / "other" / "classic" / "merges.json").is_file()


def test_a_folder_refused_by_the_system_is_one_error_and_nothing_is_written(
    qtbot, session, plain, opened, out, preferences, monkeypatch
):
    dialog = opened("huggingface", "classic")
    mkdir = Path.mkdir

    def refusing(self, *more, **options):
        if self.name == "classic":
            raise PermissionError(errno.EACCES, "Permission denied")
        mkdir(self, *more, **options)

    monkeypatch.setattr(Path, "mkdir", refusing)
    press_export(qtbot, session, dialog)
    assert dialog.folder.is_invalid
    assert dialog.folder.note.text() == (
        f"classic: the folder cannot be created: {out} cannot be written to: choose another."
    )
    assert not any(told(dialog, name) for name in dialog.list.chosen)
    assert not out.exists()
    assert preferences.get("export_folder", "") == "", "the next export does not propose it"
    monkeypatch.undo()
    assert dialog.export_button.isEnabled(), "it can be tried again"
    press_export(qtbot, session, dialog)
    assert not dialog.folder.is_invalid
    assert (out / "classic" / "merges.json").is_file()
    assert preferences.get("export_folder", "") == str(out)


@pytest.mark.parametrize("last", ["written", "failed"])
def test_the_result_is_visible_afterwards(qtbot, session, plain, opened, monkeypatch, last):
    dialog = opened("huggingface", "merges-jsonl", "vocabulary-csv")
    dialog.resize(dialog.width(), 320)
    name = "vocabulary-csv"
    if last == "failed":
        name = "merges-jsonl"
        monkeypatch.setattr(FORMATS[name], "contents", lambda tokenizer: {"merges.jsonl": broken()})
    check = dialog.list.rows["huggingface"].check
    check.setFocus()
    settle(qtbot, session)
    # Enter presses the button while the keyboard stays in the list.
    qtbot.keyClick(check, Qt.Key.Key_Return)
    assert dialog.focusWidget() is dialog.close_button
    settle(qtbot, session)
    shown = dialog.list.rows[name].findChildren(SignedLine)[-1]
    qtbot.waitUntil(lambda: shown.visibleRegion().boundingRect() == shown.rect())
    assert (shown.label.text() == "written") == (last == "written")
    for _ in range(20):  # whatever is laid out or scrolled later
        QApplication.processEvents()
    at_rest(qtbot, dialog)
    qtbot.waitUntil(lambda: shown.visibleRegion().boundingRect() == shown.rect())


def broken():
    raise OSError(errno.EIO, "Input/output error")
    yield b""


def test_a_failed_check_shows_the_first_difference_and_leaves_no_files(qtbot, session, plain, opened, out, monkeypatch):
    contents = HuggingFace.contents

    def wrong(self, tokenizer):
        return contents(self, tokenizer.at(10))

    monkeypatch.setattr(HuggingFace, "contents", wrong)
    dialog = opened("huggingface", "vocabulary-csv")
    press_export(qtbot, session, dialog)
    problem = told(dialog, "huggingface")[-1]
    assert "it differs at token" in problem
    assert "instead of" in problem
    assert told(dialog, "vocabulary-csv") == ["written"], "the others are written all the same"
    assert [path.name for path in out.iterdir()] == ["vocabulary.csv"]
    assert not plain.marks.exported
    assert dialog.export_button.isEnabled(), "it can be tried again"


def test_a_full_disk_is_one_sentence_and_leaves_no_folder(qtbot, session, plain, opened, out, monkeypatch):

    def full(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("tokstudio.core.base.atomic_files.os.fsync", full)
    dialog = opened("huggingface")
    press_export(qtbot, session, dialog)
    assert "no space left on the disk" in told(dialog, "huggingface")[-1]
    assert not out.exists()


@pytest.fixture
def held(monkeypatch):
    """The second format waits in the middle of being written, until it is let go or cancelled."""
    reached, go = threading.Event(), threading.Event()
    work = export_plan.save_proved_work

    def save_work(tokenizer, path, name, **more):
        if name == "classic":
            reached.set()
            while not go.wait(0.01):
                yield Progress("proving", 1, 3)
        return (yield from work(tokenizer, path, name, **more))

    monkeypatch.setattr(export_plan, "save_proved_work", save_work)
    yield reached, go
    go.set()


def test_cancel_in_the_middle_keeps_what_is_written(qtbot, session, plain, opened, out, held):
    dialog = opened("huggingface", "classic", "vocabulary-csv")
    qtbot.mouseClick(dialog.export_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(held[0].is_set)
    row = dialog.list.rows["classic"]
    # What the job said before may be shown first: it tells of each step when it has gone on to it.
    qtbot.waitUntil(lambda: row.state.text() == "Proving")
    assert row.bar.isVisible()
    assert dialog.list.rows["vocabulary-csv"].state.text() == "Waiting"
    assert not dialog.list.rows["huggingface"].check.isEnabled()
    assert dialog.close_button.text() == "Cancel"
    qtbot.mouseClick(dialog.close_button, Qt.MouseButton.LeftButton)
    settle(qtbot, session)
    assert told(dialog, "huggingface")[-1].startswith("identical")
    assert told(dialog, "classic") == told(dialog, "vocabulary-csv") == ["Cancelled. Nothing was changed."]
    assert [path.name for path in out.iterdir()] == ["huggingface"]
    assert dialog.isVisible()
    assert dialog.close_button.text() == "Close"


def test_closing_while_it_writes_asks_once(qtbot, session, plain, opened, out, held, answers):
    dialog = opened("huggingface", "classic")
    qtbot.mouseClick(dialog.export_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(held[0].is_set)
    answers.yes = False
    qtbot.keyClick(dialog, Qt.Key.Key_Escape)
    assert answers.asked == ["One format is not written yet. Files already written are kept."]
    assert dialog.isVisible()
    answers.yes = True
    qtbot.keyClick(dialog, Qt.Key.Key_Escape)
    assert not dialog.isVisible()
    settle(qtbot, session)
    assert [path.name for path in out.iterdir()] == ["huggingface"]


def test_a_folder_named_after_the_tokenizer_is_proposed_and_made_when_it_is_written(
    qtbot, session, make_run, theme, preferences, answers, tmp_path
):
    preferences.folder = tmp_path

    def shown(name):
        session.runs.rename(session.runs.active, name)
        dialog = ExportDialog(session, session.runs.active, ("classic",), theme, preferences, answers)
        qtbot.addWidget(dialog)
        dialog.open()
        # The first check begins after a pause, in which no job runs.
        qtbot.waitUntil(dialog.export_button.isEnabled)
        settle(qtbot, session)
        return dialog

    for number, (name, folder) in enumerate(
        (("a/b: «c».", "a-b- «c»"), ("CON", "tokenizer CON"), ("...", "tokenizer"))
    ):
        make_run(vocabulary_size=270 + number)
        dialog = shown(name)
        assert dialog.folder.folder == tmp_path / folder
        assert not (tmp_path / folder).exists()
        press_export(qtbot, session, dialog)
        assert (tmp_path / folder / "merges.json").is_file()
    # Where the user has chosen another folder, the next one is proposed in it.
    dialog = shown("last")
    dialog.folder.edit.setText(str(tmp_path / "mine"))
    settle(qtbot, session)
    press_export(qtbot, session, dialog)
    assert shown("next").folder.folder == tmp_path / "mine" / "next"


def test_the_rows_appear_with_their_final_height(qtbot, session, with_special, theme, preferences, answers):
    dialog = ExportDialog(session, session.runs.active, ("classic", "gpt2"), theme, preferences, answers)
    qtbot.addWidget(dialog)
    places = []
    refresh = dialog.list.set_fit

    def note(name, fit):
        refresh(name, fit)
        for _ in range(3):  # Qt lays out what is new in several turns before it paints
            QApplication.processEvents()
        if dialog.list.rows["classic"].isVisible():
            places.append([(row.y(), row.height()) for row in dialog.list.rows.values()])

    dialog.list.set_fit = note
    dialog.open()
    assert not dialog.list.rows["classic"].isVisible()
    qtbot.waitUntil(lambda: dialog.list.known)
    settle(qtbot, session)
    places.append([(row.y(), row.height()) for row in dialog.list.rows.values()])
    assert dialog.list.rows["gpt2"].isVisible()
    assert len({tuple(each) for each in places}) == 1
    assert dialog.list.rows["classic"].check.hasFocus() or not dialog.isActiveWindow()


def test_the_question_closes_when_everything_is_written(qtbot, session, plain, theme, preferences, out, held):
    dialog = ExportDialog(session, session.runs.active, ("huggingface", "classic"), theme, preferences, Choosers())
    dialog.folder.edit.setText(str(out))
    qtbot.addWidget(dialog)
    dialog.open()
    qtbot.waitUntil(dialog.export_button.isEnabled)
    qtbot.mouseClick(dialog.export_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(held[0].is_set)
    asked = []

    def look():
        asked.append(QApplication.activeModalWidget().text())
        held[1].set()

    QTimer.singleShot(0, look)
    qtbot.keyClick(dialog, Qt.Key.Key_Escape)
    assert asked == ["One format is not written yet. Files already written are kept."]
    settle(qtbot, session)
    assert dialog.isVisible(), "what came of it can be read"
    assert (out / "classic" / "merges.json").is_file()
    assert not [box for box in dialog.findChildren(QMessageBox) if box.isVisible()]


def test_a_change_of_the_active_run_does_not_change_the_exported_one(qtbot, session, make_run, opened, out):
    first = make_run(vocabulary_size=280)
    dialog = opened("huggingface")
    make_run(vocabulary_size=270)
    session.runs.delete(first)
    press_export(qtbot, session, dialog)
    assert len(load(out)) == 280
    assert not session.runs.active.marks.exported


def test_python_code_and_the_report_say_what_was_written_and_what_stayed_the_same(
    qtbot, session, with_special, opened, out, answers, monkeypatch
):
    monkeypatch.setattr(format_list, "COPIED_FOR", 5)
    dialog = opened("huggingface")
    row = dialog.list.rows["huggingface"]
    assert row.copy_button.isHidden()
    assert dialog.show_button.isHidden()
    sentences = []
    dialog.written.connect(sentences.append)
    press_export(qtbot, session, dialog)
    assert sentences[0].startswith("Wrote tokenizer.json and ")
    qtbot.mouseClick(row.copy_button, Qt.MouseButton.LeftButton)
    assert row.copy_button.text() == "Copied"
    assert dialog.note.text() == "Copied the Python code that loads Hugging Face."
    snippet = QGuiApplication.clipboard().text()
    assert "from_pretrained" in snippet
    qtbot.waitUntil(lambda: row.copy_button.text() == "Copy Python")
    assert str(out) in snippet
    qtbot.mouseClick(dialog.show_button, Qt.MouseButton.LeftButton)
    assert answers.shown == [out / "tokenizer.json"]
    answers.target = out / "REPORT.txt"
    qtbot.mouseClick(dialog.report_button, Qt.MouseButton.LeftButton)
    settle(qtbot, session)
    report = answers.target.read_text(encoding="utf-8")
    assert told(dialog, "huggingface")[-1] in report
    assert "tokenizer.json" in report
    assert sentences[-1] == f"Wrote REPORT.txt to {out}."
    session.runs.add_tokenizer(prune(with_special.tokenizer, 265).tokenizer, "Pruned")
    dialog = opened("huggingface", "vocabulary-csv")
    press_export(qtbot, session, dialog)
    answers.target = out / "REPORT.txt"
    qtbot.mouseClick(dialog.report_button, Qt.MouseButton.LeftButton)
    settle(qtbot, session)
    report = answers.target.read_text(encoding="utf-8")
    assert report.count("9. The owner's library reads the result the same") == 2


def test_after_an_export_its_report_or_folder_that_cannot_be_had_is_one_sentence(
    qtbot, session, plain, opened, out, answers
):
    dialog = opened("huggingface")
    press_export(qtbot, session, dialog)
    answers.target = out / "missing" / "REPORT.txt"
    qtbot.mouseClick(dialog.report_button, Qt.MouseButton.LeftButton)
    settle(qtbot, session)
    assert "does not exist" in dialog.note.text()
    dialog = opened("huggingface", "classic")
    press_export(qtbot, session, dialog)
    answers.can_show = False
    qtbot.mouseClick(dialog.show_button, Qt.MouseButton.LeftButton)
    assert answers.shown == [out]
    assert dialog.note.text() == "The folder could not be opened."


def test_a_tokenizer_is_checked_only_in_jobs(qtbot, session, opened, monkeypatch):
    rng = np.random.default_rng(3)
    merges = np.stack([rng.integers(0, 256, 2_000), np.arange(255, 2_255)], axis=1).astype(np.int32)
    session.runs.add_tokenizer(Tokenizer(merges, checked=True, special_tokens={"<|end|>": 3_000}), "made")
    looked_in = set()

    def watch(kind, name):
        original = getattr(kind, name)

        def watched(self, *given):
            looked_in.add(threading.current_thread())
            return original(self, *given)

        monkeypatch.setattr(kind, name, watched)

    watch(Tokenizer, "compact")
    for kind in {type(known) for known in FORMATS.values()}:
        watch(kind, "losses")
    dialog = opened("huggingface")
    press(qtbot, session, dialog.gaps)
    assert dialog.moves.text() == 'The special token "<|end|>" moves from 3,000 to 2,256.'
    assert looked_in
    assert threading.main_thread() not in looked_in


def test_an_error_of_a_check_is_shown_on_its_row_and_ten_thousand_losses_are_not(
    qtbot, session, plain, opened, monkeypatch
):

    def broken(self, tokenizer):
        raise FormatError("It is broken.")

    monkeypatch.setattr(type(FORMATS["classic"]), "losses", broken)
    dialog = opened("classic", "huggingface")
    assert told(dialog, "classic") == ["It is broken."]
    assert dialog.list.chosen == ("huggingface",)
    many = tuple(f"The special token {number} is lost." for number in range(10_000))
    monkeypatch.setattr(type(FORMATS["classic"]), "losses", lambda self, tokenizer: many)
    dialog = opened("classic")
    assert told(dialog, "classic") == [*many[:3], "And 9,997 more like these."]


def test_everything_can_be_reached_by_tab_and_has_a_name(qtbot, session, with_special, opened):
    session.view.set_playhead(10)
    dialog = opened("huggingface", "classic")
    press(qtbot, session, dialog.part)
    qtbot.keyClick(dialog.accept_loss, Qt.Key.Key_Space)
    first = dialog.list.rows["huggingface"].check
    first.setFocus()
    reached = []
    widget = first
    while widget not in reached and len(reached) < 60:
        reached.append(widget)
        qtbot.keyClick(widget, Qt.Key.Key_Tab)
        widget = dialog.focusWidget()
    wanted = [dialog.part, dialog.gaps, dialog.folder.edit, dialog.folder.browse, dialog.accept_loss]
    wanted += [dialog.close_button, dialog.export_button]
    wanted += [row.check for row in dialog.list.rows.values() if row.check.isEnabled()]
    assert set(wanted) <= set(reached)
    for widget in reached:
        assert widget.accessibleName() or widget.text(), widget


def test_the_dialog_follows_the_theme(qtbot, session, make_run, opened, theme):
    make_run(vocabulary_size=280, pattern="gpt2")
    dialog = opened("classic")
    sign = dialog.list.rows["classic"].findChild(SignedLine).findChildren(QLabel)[0]
    before = sign.pixmap().toImage()
    theme.set_mode("dark")
    assert sign.pixmap().toImage() != before
