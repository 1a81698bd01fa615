"""The Text pane: typing, pasting, selecting, the playhead, decoding, dropped files."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QAction, QDragEnterEvent, QDropEvent, QGuiApplication
from PySide6.QtWidgets import QAbstractButton, QLineEdit
from tokenizers import Tokenizer as LibraryTokenizer
from tokenizers import models

from tokstudio import Corpus, load, train
from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.progress import Progress, Work, finish
from tokstudio.core.comparison.counts import tokens_of_text_work
from tokstudio.core.corpus.source import Source
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.gui.panes.text import encoding_job as encoded
from tokstudio.gui.panes.text.encoding_job import decode_work, encode_work
from tokstudio.gui.panes.text.pane import TextPane
from tokstudio.gui.session.availability import no_dropout
from tokstudio.gui.session.training.training import Settings
from tokstudio.gui.state.run import RunOrigin, StudioRun
from tokstudio.gui.style.icons import icon
from tokstudio.gui.token_text.blocks import EncodedText
from tokstudio.gui.token_text.token_view import MARGIN
from tokstudio.gui.widgets.layouts import in_tab_order

CORPUS = "the cat sat on the mat and the cat ate the rat; that is that. " * 40


@pytest.fixture
def actions(theme) -> dict[str, QAction]:
    names = {
        "show_white_space": "whitespace",
        "show_ids": "ids",
        "recognise_specials": "text",
        "byte_level_characters": "text",
        "encode_with_dropout": "text",
        "dropout_again": "text",
        "why_not_one_token": "text",
        "copy": "text",
        "copy_ids": "text",
    }
    made = {name: QAction(icon(drawing, theme), name) for name, drawing in names.items()}
    for action in made.values():
        action.setCheckable(True)
    return made


@pytest.fixture
def pane(qtbot, session, theme, actions) -> TextPane:
    pane = TextPane(session, theme, actions)
    qtbot.addWidget(pane)
    pane.resize(420, 520)
    pane.show()
    return pane


def settled(qtbot, pane: TextPane) -> None:
    qtbot.waitUntil(lambda: not pane.page.latest.busy and pane.page.state[0] != "busy")


@pytest.fixture
def trained(qtbot, make_run, pane) -> TextPane:
    """The pane with a run and a short text in it."""
    make_run(CORPUS, vocabulary_size=300)
    qtbot.keyClicks(pane.encode.input, "the cat is that")
    settled(qtbot, pane)
    return pane


def click(qtbot, widget, place: QPoint) -> None:
    qtbot.mouseClick(widget.viewport(), Qt.MouseButton.LeftButton, pos=place)


def drop(pane: TextPane, path: Path) -> None:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path))])
    copy, left, none = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    enter = QDragEnterEvent(QPoint(50, 200), copy, data, left, none)
    pane.dragEnterEvent(enter)
    assert enter.isAccepted()
    pane.dropEvent(QDropEvent(QPointF(50, 200), copy, data, left, none))


def test_the_text_to_read_is_a_beginning_only_where_something_is_left_out(session, pane):
    for text, said in (
        ("one\ntwo\n", "The whole text, 8 B."),
        ("a\n" * 2000, "The whole text, 4.0 kB."),
        ("a\n" * 2000 + "\nb", "The beginning of 4.0 kB."),
        ("a" * 70_000, "The beginning of 70.0 kB."),
    ):
        session.corpus.set_sources([Source.from_texts([text], "a.txt")])
        assert pane.reader.note.text() == said


def test_an_empty_pane_offers_a_sentence_and_counts_a_typed_text(qtbot, session, pane):
    assert pane.reader.isVisible(), "before there is a run, the corpus is there to read"
    entry = pane.samples.menu().actions()[2]
    entry.trigger()
    assert session.view.text == entry.data()
    assert pane.encode.input.toPlainText() == entry.data()
    assert pane.encode.input.isVisible()
    pane.encode.input.selectAll()
    pane.encode.input.insertPlainText("né")
    assert pane.encode.figures.values() == ("2", "3", "–", "–")
    assert "Train or open a tokenizer" in pane.encode.view.accessibleDescription()
    pane.encode.input.selectAll()
    pane.encode.input.insertPlainText("a\u00a0b\nc 🌍")
    assert session.view.text == "a\u00a0b\nc 🌍"
    assert pane.encode.figures.values()[:2] == ("7", "11")


def test_other_pages_are_made_when_they_are_first_seen_and_tab_reaches_them_after_encode(qtbot, session, trained):
    made = {"decode", "steps", "chat"}
    assert not made & vars(trained).keys()
    trained.encode.view.select(1, 1)
    behind = QLineEdit(trained)
    for number, (name, first) in enumerate({"decode": "input", "steps": "whole"}.items(), 1):
        trained.tabs.setCurrentIndex(number)
        settled(qtbot, trained)
        assert trained.pages.currentWidget() is vars(trained)[name]
        assert getattr(trained, name) is vars(trained)[name]
        order = [trained.encode.ids, getattr(trained.page, first), behind]
        assert [each for each in in_tab_order(trained) if each in order] == order
    assert trained.steps.note.text() == "The pre-token around the selection."
    assert made & vars(trained).keys() == {"decode", "steps"}


def test_tokens_are_those_of_the_core_at_the_playhead_and_round_trip(session, trained, qtbot, monkeypatch):
    ids = session.view.tokenizer.encode(session.view.text)
    assert session.view.text == "the cat is that"
    assert trained.encode.view.accessibleDescription().startswith(f"{len(ids)} tokens.")
    assert trained.encode.figures.values() == ("15", "15", str(len(ids)), f"{15 / len(ids):.2f}")
    assert trained.encode.state == ("good", "round trip")
    for merges in (0, 1, 7, len(session.runs.active)):
        session.view.set_playhead(merges)
        tokens = len(session.runs.active.tokenizer.at(merges).encode(session.view.text))
        assert trained.encode.figures.values()[2] == str(tokens)
    text = "a\r\nb\u00a0c\u2028d"
    session.view.set_text(text)
    assert session.view.text == text
    assert trained.encode.figures.values()[1] == str(len(text.encode()))

    def wrong(self: Tokenizer, ids: object) -> Work[bytes]:
        yield from ()
        return b"thX"

    monkeypatch.setattr(Tokenizer, "decode_bytes_work", wrong)
    session.view.set_text("the")
    assert trained.encode.state == ("bad", "differs at byte 2")
    assert trained.state_label.text() == "differs at byte 2"


def test_the_tokens_follow_a_running_training(qtbot, session, pane, step_to):
    session.view.set_text("the cat")
    session.corpus.add_text(CORPUS)
    session.training.set_settings(Settings(300))
    step_to(1)
    made = str(len(session.view.tokenizer.encode("the cat")))
    qtbot.waitUntil(lambda: pane.encode.figures.values()[2] == made)
    step_to(2)
    session.training.resume()
    qtbot.waitUntil(lambda: session.training.current is None)
    settled(qtbot, pane)
    assert int(pane.encode.figures.values()[2]) == len(session.runs.active.tokenizer.encode("the cat"))


def test_pieces_ids_and_the_current_token_are_chosen_together(qtbot, session, trained, actions, make_run):
    view = trained.encode.view
    qtbot.mouseMove(view.viewport(), view.token_rectangle(1).center().toPoint())
    assert session.view.token is None
    qtbot.waitUntil(lambda: session.view.token == session.view.tokenizer.encode(session.view.text)[1])
    assert not trained.encode.ids.isVisible()
    actions["show_ids"].setChecked(True)
    assert trained.encode.ids.isVisible()
    trained.copy_ids()
    assert QGuiApplication.clipboard().text() == " ".join(map(str, session.view.tokenizer.encode(session.view.text)))
    trained.encode.view.select(0, 0)
    qtbot.keyClick(trained.encode.ids, Qt.Key.Key_Right)
    assert trained.encode.view.selection() == (1, 1)
    qtbot.keyClick(trained.encode.ids, Qt.Key.Key_Right, Qt.KeyboardModifier.ShiftModifier)
    assert trained.encode.view.selection() == (1, 2)
    ids = trained.encode.ids
    click(qtbot, view, view.token_rectangle(2).center().toPoint())
    assert ids.selection() == (2, 2)
    expected = session.view.tokenizer.encode(session.view.text)
    assert session.view.token == expected[2]
    click(qtbot, ids, ids.place_of(0).center())
    assert view.selection() == (0, 0)
    assert session.view.token == expected[0]
    click(qtbot, view, view.token_rectangle(1).center().toPoint())
    assert view.selection() == (1, 1)
    make_run(vocabulary_size=280)
    settled(qtbot, trained)
    assert view.selection() is None
    assert trained.encode.ids.selection() is None
    assert session.view.token is None
    click(qtbot, view, view.token_rectangle(1).center().toPoint())
    session.runs.activate(session.runs.all[0])
    assert view.selection() is None
    assert session.view.token is None
    click(qtbot, view, view.token_rectangle(0).center().toPoint())
    before, text = session.view.token, view.selected_text()
    session.view.set_playhead(0)
    assert view.selected_text() == text
    assert session.view.token == before


def test_long_texts_are_encoded_whole_the_newest_is_shown_by_its_beginning(qtbot, session, trained):
    for size in (30_000, 40_000, 50_000):
        session.view.set_text("the cat " * (size // 8))
    settled(qtbot, trained)
    assert trained.encode.figures.values()[0] == "50,000"
    assert not trained.encode.input.isReadOnly()
    data = QMimeData()
    line = "the cat is that and so on\n"
    data.setText(line * 50_000)
    field = trained.encode.input
    field.selectAll()
    field.insertFromMimeData(data)
    assert session.view.text == line * 50_000
    settled(qtbot, trained)
    assert trained.encode.figures.values()[0] == "1,300,000"
    one = len(session.view.tokenizer.encode(line * 3)) - len(session.view.tokenizer.encode(line * 2))
    assert abs(int(trained.encode.figures.values()[2].replace(",", "")) - 50_000 * one) <= 2
    assert field.isReadOnly()
    assert len(field.toPlainText()) == 100_000
    assert trained.encode.note() == "The first 100,000 of 1,300,000 characters; all are used."
    buttons = trained.encode.findChildren(QAbstractButton)
    next(button for button in buttons if button.accessibleName() == "Clear the text").click()
    assert session.view.text == ""
    assert not field.isReadOnly()


def test_a_hidden_pane_is_updated_and_a_change_of_run_cancels_the_encoding_for_the_earlier_one(
    qtbot, session, trained, make_run
):
    trained.hide()
    before = trained.encode.figures.values()
    session.view.set_playhead(0)
    assert trained.encode.figures.values() == before
    trained.show()
    assert trained.encode.figures.values()[2] == "15"
    first = session.runs.active
    second = make_run(CORPUS, vocabulary_size=280)
    session.runs.activate(first)
    settled(qtbot, trained)
    session.view.set_text("the cat is that " * 40_000)
    assert trained.encode.latest.busy
    session.runs.activate(second)
    settled(qtbot, trained)
    assert trained.encode.figures.values()[2] == f"{len(second.tokenizer.encode(session.view.text)):,}"


def test_a_dropped_file_becomes_the_text_unless_it_is_too_long_or_cannot_be_read(
    qtbot, session, trained, tmp_path, monkeypatch
):
    drop(trained, tmp_path / "gone.txt")
    qtbot.waitUntil(lambda: "gone.txt:" in trained.encode.note())
    binary = tmp_path / "binary.dat"
    binary.write_bytes(bytes(range(256)) * 9)
    drop(trained, binary)
    qtbot.waitUntil(lambda: "binary.dat:" in trained.encode.note())
    assert trained.encode.note().endswith("this is binary data, not text."), "no encoding can be chosen here"
    assert session.view.text == "the cat is that"
    path = tmp_path / "note.txt"
    path.write_bytes(b"that\r\ncat")
    with monkeypatch.context() as patch:
        patch.setattr("tokstudio.gui.panes.text.pane.LONGEST", 5)
        drop(trained, path)
        qtbot.waitUntil(lambda: "too long" in trained.encode.note())
    assert session.view.text == "the cat is that"
    drop(trained, path)
    qtbot.waitUntil(lambda: session.view.text == "that\r\ncat")
    settled(qtbot, trained)
    assert trained.encode.figures.values()[1] == "9"


def test_decode_gives_the_text_back_up_to_the_playhead_and_names_unknown_ids(qtbot, session, trained):
    ids = session.view.tokenizer.encode(session.view.text)
    trained.tabs.setCurrentIndex(1)
    qtbot.keyClicks(trained.decode.input, str(ids))
    settled(qtbot, trained)
    assert trained.decode.output.toPlainText() == "the cat is that"
    assert trained.decode.figures.values()[:3] == (str(len(ids)), "15", "15")
    assert not trained.decode.problem.isVisible()
    said = trained.decode.canonical
    qtbot.waitUntil(lambda: said.text().startswith("Canonical: encoding gives these ids. The text has "))
    trained.decode.input.clear()
    assert not said.isVisible()
    qtbot.keyClicks(trained.decode.input, "116 104 101")
    qtbot.waitUntil(lambda: said.text().startswith("Not canonical: at id 1 encoding gives "))
    assert ' instead of 116 104 ("t|h"). The text has ' in said.text()
    assert said.isVisible()
    trained.decode.input.clear()
    qtbot.keyClicks(trained.decode.input, "104, 99999 105")
    settled(qtbot, trained)
    assert trained.decode.output.toPlainText() == "hi"
    assert trained.decode.problem.text() == "Id 99999 is not in the vocabulary."
    assert not said.isVisible()
    trained.decode.input.clear()
    qtbot.keyClicks(trained.decode.input, "260")
    settled(qtbot, trained)
    assert trained.decode.output.toPlainText() == session.runs.active.tokenizer.decode([260])
    session.view.set_playhead(4)
    assert trained.decode.problem.text() == "Id 260 is not in the vocabulary."
    session.view.set_playhead(5)
    assert not trained.decode.problem.isVisible()


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ("1 2", ""),
        ("300 301", "Ids 300 and 301 are not in the vocabulary."),
        ("-1 256", "Ids -1 and 256 are not in the vocabulary."),
        ("400 401 402 403 404 405 406", "Ids 400, 401, 402, 403, 404 and 2 more are not in the vocabulary."),
        ("1 abc", "“abc” is not an id."),
        ("x " + "9" * 5000, "“x” and “99999999999999999999…” are not ids."),
    ],
)
def test_every_kind_of_wrong_id_is_named(written, problem):
    assert finish(decode_work(Tokenizer(np.zeros((0, 2), np.int32)), written)).problem == problem


def test_ids_of_a_text_that_is_too_long_are_refused_before_decoding(monkeypatch):
    monkeypatch.setattr(encoded, "LONGEST", 100)
    chain = Tokenizer(np.array([[97, 97]] + [[256 + k, 256 + k] for k in range(5)], np.int32))
    with pytest.raises(ConfigError, match="at most"):
        finish(decode_work(chain, "261 261"))


@pytest.mark.parametrize("text", ["", "ab", "a🌍\u0000\r\n", "\ud83d\ude00", "é" * 300_000])
def test_encoding_is_checked_by_decoding(text):
    tokenizer = Tokenizer(np.array([[97, 98], [0xC3, 0xA9]], np.int32))
    result = finish(encode_work(tokenizer, text))
    assert result.differs is None
    assert tokenizer.decode_bytes(result.ids) == result.data
    assert result.ids.tolist() == tokenizer.encode(text)
    assert (int(result.ends[-1]) if len(result.ends) else 0) == len(result.data)


def test_controls_are_left_out_or_keep_their_size_as_the_pane_changes(trained, actions, qtbot):
    actions["show_ids"].setChecked(True)
    page = trained.encode
    trained.resize(trained.minimumSizeHint().width(), 300)
    assert not any(button.isVisible() for button in trained.toggles)
    assert trained.state_icon.isVisible()
    trained.resize(640, 500)
    assert all(button.isVisible() for button in trained.toggles)
    page = trained.encode
    page.splitter.setSizes([200, 100])
    page.splitter.splitterMoved.emit(200, 1)
    before = page.input.height()
    trained.resize(trained.width(), trained.height() + 60)
    assert abs(page.input.height() - before) <= 60
    assert page.input.height() > 150


def others(pane: TextPane) -> tuple[str, ...]:
    return pane.encode.others.shown() if pane.encode.others.isVisible() else ()


def test_counts_of_what_is_compared_elsewhere_are_shown(qtbot, session, trained, make_run):
    qtbot.waitUntil(lambda: others(trained) == ("Words and marks 7",))
    first = session.runs.active
    make_run(vocabulary_size=260)
    session.runs.rename(first, "First")
    count = len(first.tokenizer.encode("the cat is that"))
    qtbot.waitUntil(lambda: others(trained) == (f"First {count}", "Words and marks 7"))
    grid = trained.encode.others
    assert grid.tip_at(grid.place_of(0).center()) == f"First: {count} tokens of this text"
    session.runs.show_curve(first, False)
    session.comparison.show_simple("Bytes", True)
    qtbot.waitUntil(lambda: others(trained) == ("Bytes 15", "Words and marks 7"))
    with qtbot.waitSignal(session.comparison.stack_asked):
        trained.encode.caption.click()
    assert session.comparison.texts.key == "text"
    session.view.set_text("it's")
    qtbot.waitUntil(lambda: others(trained) == ("Bytes 4", "Words and marks 3"))
    session.view.set_text("")
    qtbot.waitUntil(lambda: others(trained) == ())


def test_a_run_of_another_project_is_not_confused_with_an_earlier_one(qtbot, session, trained):
    settled(qtbot, trained)
    # As many merges, of bytes that the text has not, and the same key.
    merges = np.array([(0, byte) for byte in range(len(session.runs.active))], np.int32)
    other = StudioRun.opened(session.runs.active.key, "other", Tokenizer(merges))
    trained.tabs.setCurrentIndex(1)
    session.runs.replace_all([other])
    session.runs.activate(other)
    trained.tabs.setCurrentIndex(0)
    qtbot.waitUntil(lambda: trained.encode.encoded.ids.tolist() == list(session.view.text.encode()))


def test_as_many_as_are_compared_are_counted(qtbot, session, trained, make_run):
    first = session.runs.active
    session.runs.add_tokenizer(first.tokenizer, "GPT-2")
    session.runs.add_tokenizer(first.tokenizer.at(3), "GPT-4")
    opened = session.runs.all[1:]
    for _ in range(3):
        make_run(vocabulary_size=260)
    grid = trained.encode.others
    expected = ["Run 1", "GPT-2", "GPT-4", "Run 2", "Run 3", "Words and marks"]
    qtbot.waitUntil(lambda: [name for name, _ in grid.counts] == expected)
    sizes = [len(run.tokenizer.encode("the cat is that")) for run in opened]
    assert [count for _, count in grid.counts[1:3]] == sizes
    trained.resize(280, 500)
    assert others(trained)[-1].endswith(" more")


def test_counts_do_not_change_the_minimum_size(qtbot, session, trained, make_run):
    smallest = trained.minimumSizeHint(), trained.encode.minimumSizeHint()
    for _ in range(2):
        make_run(vocabulary_size=260)
    session.runs.rename(session.runs.all[0], "A run whose name is as long as names of runs can be")
    session.view.set_text("the cat " * 13_000)
    settled(qtbot, trained)
    qtbot.waitUntil(lambda: len(trained.encode.others.counts) == 3)
    assert (trained.minimumSizeHint(), trained.encode.minimumSizeHint()) == smallest


def test_counts_of_other_tokenizers_fit_or_are_in_a_tip(qtbot, session, trained):
    qtbot.waitUntil(lambda: bool(others(trained)))
    trained.resize(294, 300)
    page = trained.encode
    qtbot.waitUntil(lambda: not page.others.isVisible())
    assert not page.specials.isVisible()
    assert page.figures.tip("tokens").endswith("Others: Words and marks 7")
    row = page.view.token_rectangle(0).height() + 5
    qtbot.waitUntil(lambda: page.view.viewport().height() >= 3 * row)
    assert page.view.height() > page.input.height()
    trained.resize(294, 340)
    qtbot.waitUntil(page.brief.isVisible)
    assert page.brief.text() == "Others: Words and marks 7"
    assert page.figures.geometry().bottom() <= page.figures.parentWidget().height()
    trained.resize(420, 520)
    qtbot.waitUntil(page.others.isVisible)
    grid = trained.encode.others
    grid.set_counts([(f"Run {number}", 1000 * number) for number in range(1, 9)] + [("Broken", None)])
    shown = grid.shown()
    assert shown[0] == "Run 1 1,000"
    assert shown[-1] == f"{9 - len(shown) + 1} more"
    tip = grid.tip_at(grid.place_of(len(shown) - 1).center())
    assert tip.startswith(f"Run {len(shown)}: {1000 * len(shown):,} tokens of this text\n")
    assert tip.endswith("\nBroken: cannot encode this text")
    assert grid.height() <= 2 * grid.place_of(0).height()


def test_tokens_of_the_earlier_run_cannot_be_chosen_while_a_long_text_is_encoded(qtbot, session, trained, make_run):
    def shows_the_active_run() -> bool:
        return trained.encode.figures.values()[2] == f"{len(session.view.tokenizer.encode(session.view.text)):,}"

    session.view.set_text("the cat is that " * 3000)
    make_run(vocabulary_size=257)
    qtbot.waitUntil(shows_the_active_run)
    session.runs.activate(session.runs.all[0])
    view = trained.encode.view
    view.select(2, 2)  # not by a click: while the mouse is waited for, the new tokens come
    assert session.view.token is None
    qtbot.waitUntil(shows_the_active_run)
    click(qtbot, view, view.token_rectangle(3).center().toPoint())
    assert session.view.token == session.view.tokenizer.encode(session.view.text)[3]


def test_special_tokens_look_different_and_the_menu_and_the_box_are_one_switch(
    qtbot, session, pane, actions, make_run, theme
):
    make_run(CORPUS, vocabulary_size=300, special_tokens=("<|end|>",))
    session.view.set_text("the cat<|end|>")
    settled(qtbot, pane)
    actions["recognise_specials"].setChecked(True)
    settled(qtbot, pane)
    assert pane.encode.specials.isChecked()
    assert pane.encode.figures.values()[2] == str(len(session.view.tokenizer.encode(session.view.text, "all")))
    qtbot.keyClick(pane.encode.specials, Qt.Key.Key_Space)
    assert not actions["recognise_specials"].isChecked()
    actions["show_ids"].setChecked(True)
    session.view.set_text("the cat<|end|>the")
    settled(qtbot, pane)
    page = pane.encode
    plain = len(page.encoded.ids)
    assert theme.palette.special.upper() not in {
        colour_at(page.view, page.view.token_rectangle(token).topLeft().toPoint() + QPoint(2, 4))
        for token in range(plain)
    }
    page.specials.setChecked(True)
    settled(qtbot, pane)
    ids = page.encoded.ids.tolist()
    end = ids.index(session.runs.active.special_tokens["<|end|>"])
    for token in range(len(ids)):
        piece = page.view.token_rectangle(token).topLeft().toPoint()
        framed = colour_at(page.view, piece + QPoint(2, 4)) == theme.palette.special.upper()
        assert framed == (token == end)
        place = page.ids.place_of(token)
        assert (colour_at(page.ids, place.topRight() + QPoint(2, 2)) == theme.palette.special.upper()) == (token == end)
    page.view.select(end, end)
    assert "special token" in page.view.accessibleDescription()
    pane.tabs.setCurrentIndex(1)
    qtbot.keyClicks(pane.decode.input, " ".join(map(str, ids)))
    settled(qtbot, pane)
    corner = pane.decode.view.token_rectangle(end).topLeft().toPoint() + QPoint(2, 4)
    assert colour_at(pane.decode.view, corner) == theme.palette.special.upper()


def colour_at(widget, place: QPoint) -> str:
    return widget.viewport().grab().toImage().pixelColor(place).name().upper()


def test_special_tokens_are_recognised_when_that_is_switched_on(qtbot, session, pane, make_run):
    box = pane.encode.specials
    make_run(CORPUS, vocabulary_size=300)
    assert not box.isEnabled()
    assert box.toolTip() == "The tokenizer has no special tokens."
    session.runs.add_tokenizer(session.view.tokenizer, "a copy")
    assert box.toolTip() == "None of the tokenizers has special tokens."
    make_run(vocabulary_size=300, special_tokens=("<|end|>",))
    assert box.isEnabled()
    tokenizer, text = session.view.tokenizer, "the cat<|end|>"
    session.view.set_text(text)
    settled(qtbot, pane)
    assert pane.encode.encoded.ids.tolist() == tokenizer.encode(text)
    box.setFocus()
    qtbot.keyClick(box, Qt.Key.Key_Space)
    settled(qtbot, pane)
    assert pane.encode.encoded.ids.tolist() == tokenizer.encode(text, "all")
    assert pane.encode.encoded.ids[-1] == 299
    # The switch is for those that are compared as well, whichever run is shown.
    assert pane.page.state[0] == "good"
    session.runs.activate(session.runs.all[0])
    settled(qtbot, pane)
    assert box.isEnabled()
    count = len(tokenizer.encode(text, "all"))
    qtbot.waitUntil(lambda: ("Run 2", count) in pane.encode.others.counts)
    assert pane.encode.encoded.ids.tolist() == session.view.tokenizer.encode(text)


def test_the_box_of_special_tokens_says_that_a_library_may_make_them_of_plain_text(session, pane, make_run, tmp_path):
    make_run(vocabulary_size=300, special_tokens=("<|end|>",))
    assert "library" not in pane.encode.specials.toolTip()
    file = LibraryTokenizer(models.Unigram([("<unk>", 0.0), ("<s>", -1.0), ("a", -9.0)], 0))
    file.add_special_tokens(["<s>"])
    file.save(str(tmp_path / "tokenizer.json"))
    origin = RunOrigin(tmp_path, (tmp_path / "tokenizer.json",), "x", False)
    session.runs.add_tokenizer(load(tmp_path / "tokenizer.json"), "unigram", origin)
    assert "Some tokenizers that a library encodes make these ids of plain text, too" in pane.encode.specials.toolTip()


def test_slow_preparation_runs_outside_the_gui_thread(qtbot, session, trained, monkeypatch):
    made: list[bool] = []

    def noted(table: EncodedText, *parts) -> None:
        made.append(threading.current_thread() is threading.main_thread())
        original(table, *parts)

    original = EncodedText.__init__
    monkeypatch.setattr(EncodedText, "__init__", noted)
    many = [(left, right) for left in range(256) for right in range(50, 120)]  # merges
    opened = Tokenizer(np.array(many, np.int32), pattern="gpt2")
    assert not opened.ready
    session.runs.add_tokenizer(opened, "File")
    settled(qtbot, trained)
    assert made[-1] is False
    assert trained.encode.figures.values()[2] == str(len(opened.encode(session.view.text)))
    session.view.set_playhead(5)
    assert made[-1] is True, "its table of merges is there now"
    assert trained.encode.figures.values()[2] == str(len(opened.at(5).encode(session.view.text)))


def test_earlier_figures_are_dimmed_until_there_are_new_ones(qtbot, session, trained, monkeypatch):
    page = trained.encode
    before = page.figures.values()
    qtbot.waitUntil(lambda: bool(page.others.counts))
    assert page.figures.isEnabled()
    go_on = threading.Event()

    def held(original):
        def work(*arguments, **others):
            while not go_on.wait(0.01):
                yield Progress("encoding")
            return (yield from original(*arguments, **others))

        return work

    for place in ("encode_work", "tokens_of_text_work"):
        name = f"tokstudio.gui.panes.text.pages.{place}"
        monkeypatch.setattr(name, held(encode_work if place == "encode_work" else tokens_of_text_work))
    QGuiApplication.clipboard().setText("the cat sat. " * 4000)
    page.input.selectAll()
    page.input.paste()
    qtbot.waitUntil(lambda: page.state == ("busy", "encoding…"))
    assert page.figures.values() == before
    assert not page.figures.isEnabled()
    qtbot.waitUntil(lambda: not page.others.isEnabled())
    go_on.set()
    settled(qtbot, trained)
    assert page.figures.isEnabled()
    assert page.figures.values()[0] == "52,000"
    qtbot.waitUntil(page.others.isEnabled)


def test_switching_to_the_byte_level_alphabet_keeps_position_and_selection(qtbot, session, trained, actions):
    session.view.set_text("the cat is that émission\n" * 400)
    settled(qtbot, trained)
    view = trained.encode.view
    bar = view.verticalScrollBar()
    bar.setValue(bar.maximum() // 2)
    top = QPoint(20, MARGIN)
    first = view.token_at(top)
    view.select(first + 3, first + 4)
    place, selected = view.token_at(top), view.selection()
    assert place > 100
    actions["byte_level_characters"].toggle()
    settled(qtbot, trained)
    assert "Ġ" in view.table.data.decode()
    assert view.selection() == selected
    assert view.token_at(top) == place


def test_a_tokenizer_of_another_library_has_no_dropout(qtbot, tmp_path, session, pane):
    LibraryTokenizer(models.WordPiece({"[UNK]": 0, "a": 1}, unk_token="[UNK]")).save(str(tmp_path / "tokenizer.json"))
    session.view.switch_dropout(True)
    session.runs.add_tokenizer(load(tmp_path / "tokenizer.json"), "WordPiece")
    session.view.set_text("a a")
    settled(qtbot, pane)
    assert pane.encode.encoded.ids.tolist() == session.view.tokenizer.encode("a a")
    assert "cannot be passed over" in no_dropout(session)


@pytest.mark.parametrize("allowed", [(), "all"])
def test_an_unknown_token_covers_the_character_it_replaces(allowed):
    settings = Settings(30, base="characters", base_vocabulary=("<?>", *"abct "), unknown_token="<?>")
    tokenizer = train(Corpus.from_text("a cat at a cab " * 9), settings.config())
    text = "a ¿cat<?>\n北🌍 at"
    result = finish(encode_work(tokenizer, text, allowed))
    starts = [0, *result.ends[:-1].tolist()]
    covered = [result.data[start:end].decode() for start, end in zip(starts, result.ends.tolist(), strict=True)]
    assert "".join(covered) == text
    unknown = [piece for piece, token in zip(covered, result.ids.tolist(), strict=True) if token == 0]
    assert unknown == (["¿", "<?>", "\n", "北", "🌍"] if allowed else ["¿", "<", "?", ">", "\n", "北", "🌍"])
    assert result.differs is not None
