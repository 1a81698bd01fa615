"""The page Lines of the Token pane: finding, scrolling, stopping, copying."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest
import tokenizers
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QAbstractItemModelTester

from tests.gui.token_table.test_rows import lefts
from tokstudio import load
from tokstudio.core.algorithms.common.prepare_corpus import prepare_corpus_work
from tokstudio.core.base.progress import Progress, finish
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.exploration.search import Search
from tokstudio.core.exploration.token_finder import TokenFinder
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.core.training.trainer import TrainingConfig, train
from tokstudio.gui.panes.token.pane import TokenPane
from tokstudio.gui.project.snapshot import run_state
from tokstudio.gui.session.session import Session
from tokstudio.gui.token_table.hits_table import LEFT, PLACE, RIGHT, TOKEN, WIDTH, FoundHits, HitRows, HitSearch

ARABIC = "كان الولد يقرأ، الكتاب في المدرسة كل صباح، وكانت المعلمة تسأل التلاميذ عن الجديد.\n"
CORPUS = "the cat sat on the mat\n\tand the cat ate the rat;\r\nthat is that. naïve 太阳\n" * 30


@pytest.fixture
def pane(qtbot, session, theme, actions, show) -> TokenPane:
    pane = TokenPane(session, theme, actions)
    show(pane, 520, 420)
    pane.tabs.setCurrentIndex(1)
    return pane


@pytest.fixture
def trained(make_run, pane) -> TokenPane:
    make_run(CORPUS, vocabulary_size=330)
    return pane


def settled(qtbot, pane: TokenPane) -> list:
    qtbot.waitUntil(lambda: not pane.lines.searching)
    return [pane.lines.model.line(row) for row in range(pane.lines.model.rowCount())]


def token_of(session: Session, raw: bytes) -> int:
    return session.view.tokenizer.tokens.spelling(raw)[0]


def lines_with(corpus: Corpus, tokenizer: Tokenizer, token: int) -> FoundHits:
    finder = TokenFinder(tokenizer, [token])
    return finish(HitSearch(corpus, lambda: Search(corpus, finder, width=WIDTH), (tokenizer, token)).more_work())


def test_every_use_is_a_line_with_the_token_in_its_middle(qtbot, session, trained):
    QAbstractItemModelTester(
        trained.lines.model, QAbstractItemModelTester.FailureReportingMode.Warning, trained.lines.model
    )
    session.view.set_playhead(20)
    token = max(range(256, 276), key=lambda one: session.runs.active.uses.at(20)[one])
    session.view.look_at(token)
    lines = settled(qtbot, trained)
    uses = session.runs.active.uses.of(token, 20)
    raw = session.view.tokenizer.tokens[token].decode()
    text = CORPUS.split("\n")
    while len(lines) < uses:
        trained.lines.table.verticalScrollBar().setValue(trained.lines.table.verticalScrollBar().maximum())
        lines = settled(qtbot, trained)
    assert len(lines) == uses
    assert trained.lines.note.text() == f"{uses:,} places"
    for line in lines:
        # Tabs and other signs apart, the three together are the line that the number says, or a part of it.
        whole = (line.left + raw + line.right).replace("⇥", "\t").rstrip("\r")
        assert whole.split("\n")[0] in text[line.number - 1] + "\n"
    assert trained.lines.stack.currentWidget() is trained.lines.table


def test_lines_come_at_the_playhead_as_one_scrolls_and_are_copied(qtbot, session, trained):
    trained.tabs.setCurrentIndex(0)
    session.view.look_at(token_of(session, b"t"))
    assert not trained.lines.searching
    session.view.set_playhead(0)
    trained.tabs.setCurrentIndex(1)
    assert trained.lines.searching
    assert len(settled(qtbot, trained)) == CORPUS.count("t")
    assert trained.lines.note.text() == f"{CORPUS.count('t'):,} places"
    session.view.look_at(ord("a"))
    session.view.set_playhead(len(session.runs.active))
    uses = session.runs.active.uses.of(ord("a"), session.view.playhead)
    assert len(settled(qtbot, trained)) == uses
    session.view.set_playhead(0)
    assert len(settled(qtbot, trained)) >= min(200, CORPUS.count("a")) > uses
    session.view.look_at(ord("t"))
    session.view.set_playhead(0)
    assert len(settled(qtbot, trained)) == CORPUS.count("t")
    session.view.look_at(ord("a"))
    session.view.set_playhead(0)
    lines = settled(qtbot, trained)
    table = trained.lines.table
    table.setFocus()
    qtbot.keyClick(table, Qt.Key.Key_Home)
    qtbot.keyClick(table, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
    trained.copy()
    copied = [one.split("\t") for one in QGuiApplication.clipboard().text().split("\n")]
    assert copied == [[line.left, line.token, line.right, line.source, str(line.number)] for line in lines[:2]]
    assert trained.lines.note.text() == "Copied 2 lines."


def test_an_empty_page_explains_why_for_each_run(qtbot, session, trained):
    words = trained.lines.empty.label
    session.view.look_at(ord("Z"))
    settled(qtbot, trained)
    assert "does not occur in the corpus" in words.text()
    session.view.look_at(300)
    session.view.set_playhead(10)
    settled(qtbot, trained)
    assert "not made yet" in words.text()
    session.runs.active.corpus_problem = "text.txt has changed"
    session.view.look_at(256)
    settled(qtbot, trained)
    assert words.text() == "text.txt has changed."
    session.runs.active.corpus_problem = None
    session.runs.active.corpus = None
    session.view.look_at(ord("t"))
    session.runs.changed.emit()
    assert words.text() == "The corpus of this run is no longer available."


def test_an_opened_tokenizer_is_searched_in_the_open_corpus(qtbot, session, pane):
    session.runs.add_tokenizer(Tokenizer(np.array([[97, 98]], np.int32)), "small")
    session.view.look_at(256)
    assert "open a text" in pane.lines.empty.label.text()
    session.corpus.add_text("cab ab\nab", "first")
    assert [line.number for line in settled(qtbot, pane)] == [1, 1, 2]
    session.corpus.set_sources(())
    assert pane.lines.model.rowCount() == 0
    session.corpus.add_text("no such", "second")
    settled(qtbot, pane)
    assert "does not occur" in pane.lines.empty.label.text()


def test_a_tokenizer_of_another_library_has_lines_too(qtbot, session, pane, tmp_path):
    bpe = tokenizers.Tokenizer(tokenizers.models.BPE({"a": 0, "b": 1, "c": 2, "bc": 3, " ": 4, "\n": 5}, [("b", "c")]))
    bpe.normalizer = tokenizers.normalizers.Lowercase()
    bpe.save(str(tmp_path / "tokenizer.json"))
    session.corpus.add_text("a BC\nbc ab\n" * 3, "first")
    session.runs.add_tokenizer(load(tmp_path), "small letters")
    assert session.runs.active.no_playhead
    session.view.look_at(3)
    lines = settled(qtbot, pane)
    assert [(line.left, line.token, line.right, line.number) for line in lines[:2]] == [
        ("a ", "BC", "", 1),
        ("", "bc", " ab", 2),
    ]
    assert pane.lines.note.text() == "6 places"


def test_scrolling_lists_more_lines_and_the_note_says_so(qtbot, make_run, session, pane):
    make_run(CORPUS * 36, vocabulary_size=258, pattern="gpt2")
    session.view.set_playhead(0)
    session.view.look_at("太".encode()[0])
    found = len(settled(qtbot, pane))
    assert pane.lines.note.text() == f"The first {found:,} of 1,080 places; scroll for more"
    qtbot.keyClick(pane.lines.table, Qt.Key.Key_End)
    assert len(settled(qtbot, pane)) > found


def test_a_line_from_right_to_left_begins_on_the_right(qtbot, make_run, session, pane):
    make_run(ARABIC * 9, vocabulary_size=1000, pattern="gpt2")
    for raw, row in ((" الكتاب", 0), (" ", 1), ("،", 2)):
        session.view.set_playhead(len(session.runs.active) if len(raw) > 1 else 0)
        session.view.look_at(token_of(session, raw.encode()) if len(raw) > 1 else ord(" "))
        line = settled(qtbot, pane)[row]
        # The rows hold the order of the text.
        assert [pane.lines.model.index(row, column).data() for column in (LEFT, TOKEN)] == [line.left, line.token]
        (behind, on_left), (before, on_right) = drawn(pane, row, LEFT), drawn(pane, row, RIGHT)
        # What is behind begins at the token, with its last letter or the dots outermost; so does what is before.
        assert behind.endswith("…")
        assert line.right.replace(" ", "·", 1).startswith(behind[:3].replace(" ", "·", 1))
        assert before[-4:].rstrip("·") in line.left
        for places in (on_left, on_right):
            assert (places[0], places[-1]) == (max(places), min(places))


def test_a_token_without_letters_has_the_direction_of_the_nearest_text(qtbot, session, pane):
    session.runs.add_tokenizer(Tokenizer(np.empty((0, 2), np.int32)), "bytes")
    session.corpus.add_text("the cat - كتاب, قلم - book\nكتاب: the cat\n12 - 3", "mixed")
    session.view.look_at(ord("-"))
    # Between both, what is before it decides; where there are no letters, it is from left to right.
    assert [line.right_to_left for line in settled(qtbot, pane)] == [False, True, False]
    session.view.look_at(ord(","))
    assert [line.right_to_left for line in settled(qtbot, pane)] == [True]


def test_the_texts_touch_the_token_and_white_space_there_is_marked(qtbot, session, pane, theme):
    session.runs.add_tokenizer(Tokenizer(np.array([[97, 98]], np.int32)), "small")
    session.corpus.add_text("one ab,two\nxab\ty z\n" + "long " * 30 + "ab " + "line " * 30, "first")
    session.view.look_at(256)
    settled(qtbot, pane)
    table = pane.lines.table
    assert [drawn(pane, 0, column)[0] for column in (LEFT, TOKEN, RIGHT)] == ["one·", "ab", ",two"]
    assert [drawn(pane, 1, column)[0] for column in (LEFT, TOKEN, RIGHT)] == ["x", "ab", "⇥y z"]
    before, behind = (drawn(pane, 2, column)[0] for column in (LEFT, RIGHT))
    assert before[0] == "…" == behind[-1]
    assert before.endswith("g long·")
    assert behind.startswith("·line l")
    # As wide a pane as there is shows what is cut off as well.
    assert pane.lines.model.line(2).left == "…" + ("long " * 30)[-60:]
    picture = table.viewport().grab().toImage()
    scale = picture.devicePixelRatio()
    edges = [round(table.columnViewportPosition(column) * scale) for column in (LEFT, TOKEN, RIGHT, PLACE)]
    rect = table.visualRect(pane.lines.model.index(1, TOKEN))
    rows = range(round(rect.top() * scale), round(rect.bottom() * scale))
    paper = picture.pixel(edges[1] - 60, rows[0])
    ink = [x for x in range(edges[0], edges[2]) if any(picture.pixel(x, y) != paper for y in rows)]
    # Of "xab", from letter to letter.
    letter = table.fontMetrics().horizontalAdvance("x") * scale
    assert max(b - a for a, b in pairwise(ink)) < letter


def drawn(pane: TokenPane, row: int, column: int):
    """What a cell shows, and where each character stands."""
    table = pane.lines.table
    layout = table.itemDelegate().laid_out(row, column, table.columnWidth(column))
    return layout.text(), lefts(layout)


def test_hiding_the_page_or_stop_ends_the_search(qtbot, monkeypatch, session, trained):
    def for_ever(search: HitSearch, most: int):
        while True:
            yield Progress("searching")

    monkeypatch.setattr(HitSearch, "more_work", for_ever)
    lines = trained.lines
    session.view.look_at(ord("t"))
    qtbot.waitUntil(lambda: bool(session.jobs.running))
    trained.tabs.setCurrentIndex(0)
    assert not lines.searching
    qtbot.waitUntil(lambda: not session.jobs.running)
    trained.tabs.setCurrentIndex(1)
    qtbot.waitUntil(lambda: bool(session.jobs.running))
    qtbot.mouseClick(lines.stop, Qt.MouseButton.LeftButton)
    assert not lines.searching
    assert "Stopped" in lines.empty.label.text()
    qtbot.waitUntil(lambda: not session.jobs.running)
    assert lines.model.rowCount() == 0


def test_a_part_of_a_character_is_shown_by_its_bytes():
    corpus = Corpus.from_text("a 日\nb 旦 c")
    assert "日".encode() == b"\xe6\x97\xa5"
    assert "旦".encode() == b"\xe6\x97\xa6"
    lines = lines_with(corpus, Tokenizer(np.empty((0, 2), np.int32)), 0x97)
    shown = [(line.left, line.token, line.right, line.number) for line in lines]
    assert shown == [("a  E6 ", "97", " A5 ", 1), ("b  E6 ", "97", " A6  c", 2)]


def test_a_line_of_word_counts_has_the_word_and_its_count():
    corpus = Corpus.from_counts({"sea": 5, "shells": 3, "sells": 3, "shore": 1})
    tokenizer = train(corpus, TrainingConfig(vocabulary_size=258))
    lines = lines_with(corpus, tokenizer, ord("h"))
    assert [(line.left, line.token, line.number, line.count) for line in lines] == [("s", "h", 2, 3), ("s", "h", 4, 1)]
    model = HitRows()
    model.show(lines)
    assert model.index(0, LEFT).data(Qt.ItemDataRole.ToolTipRole).endswith("word 2, which occurs 3 times")
    assert model.index(1, LEFT).data(Qt.ItemDataRole.ToolTipRole).endswith("word 4, which occurs once")
    assert [model.index(0, column).data() for column in (LEFT, TOKEN, RIGHT, PLACE)] == ["s", "h", "ells", "2"]


def test_lines_keep_the_numbers_of_rows_and_of_lines_that_are_left_out(tmp_path):
    """Not the line in the joined texts, also where rows have several lines, are left out, or are of several files."""
    for number, missing in enumerate((2, 3)):
        rows = [{"text": f"one\ntwo {n} of three" if n != missing else None} for n in range(1, 6)]
        (tmp_path / f"part-{number}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    corpus = Corpus.from_files(tmp_path)
    tokenizer = train(Corpus.from_text("of of"), TrainingConfig(vocabulary_size=257, pattern="gpt2"))
    lines = lines_with(corpus, tokenizer, 256)
    assert [(line.left, line.source, line.number) for line in lines] == [
        (f"two {n} ", f"part-{number}.jsonl", n)
        for number, missing in enumerate((2, 3))
        for n in range(1, 6)
        if n != missing
    ]
    model = HitRows()
    model.show(lines)
    assert model.index(4, PLACE).data() == "1"
    assert model.index(4, PLACE).data(Qt.ItemDataRole.ToolTipRole).endswith("part-1.jsonl, row 1")
    (tmp_path / "a.txt").write_text("x\nmany of them\ny\n\nmany of these\nz\nof all of them\n")
    corpus = Corpus.from_files(tmp_path / "a.txt", "line", least_characters=5)
    tokenizer = train(Corpus.from_text("of of"), TrainingConfig(vocabulary_size=257, pattern="gpt2"))
    lines = lines_with(corpus, tokenizer, 256)
    assert [line.number for line in lines] == [2, 5, 7, 7]


def test_a_byte_at_the_end_of_a_word_is_shown_alone(tmp_path):
    vocabulary = {"a": 0} | {f"<0x{byte:02X}>": number for number, byte in enumerate("é".encode(), 1)}
    bpe = tokenizers.Tokenizer(tokenizers.models.BPE(vocabulary, [], byte_fallback=True))
    bpe.normalizer = tokenizers.normalizers.Lowercase()
    bpe.save(str(tmp_path / "tokenizer.json"))
    corpus = Corpus.from_counts({"aÉ": 5, "a": 3, "É": 2})
    lines = lines_with(corpus, load(tmp_path), 2)
    assert [(line.left, line.token, line.right, line.number, line.count) for line in lines] == [
        ("aÉ", "A9", "", 1, 5),
        ("É", "A9", "", 3, 2),
    ]


@pytest.mark.parametrize("pattern", ["none", "gpt2"])
def test_uses_of_an_unknown_token_are_its_lines_also_where_it_is_written_out(
    qtbot, session, pane, pattern, unknown_run
):
    text = "the cat<unk> and the cap<unk><unk>\nthe act\n" * 3
    unknown_run(text, pattern=pattern)
    unknown = session.view.tokenizer.special_tokens["<unk>"]
    uses = session.view.tokenizer.encode(text, "all").count(unknown)
    assert uses > text.count("<unk>") > 0
    session.view.look_at(unknown)
    assert len(settled(qtbot, pane)) == uses
    assert f"{uses} uses in the training text" in pane.facts.text()
    assert run_state(session.runs.active)["written"] == text.count("<unk>")


def test_an_unknown_token_that_is_written_out_in_given_word_counts_is_counted_as_often_as_its_words():
    config = TrainingConfig(
        base="characters", base_vocabulary=["a", "b"], special_tokens=["<u>"], unknown_token="<u>", min_frequency=2
    )
    corpus = Corpus.from_counts({"ab<u>a<u>": 5, "aba": 3, "<u>": 2, "ac": 7})
    prepared, _ = finish(prepare_corpus_work(corpus, config))
    assert (prepared.cut_out, prepared.unknown) == ({"<u>": 12}, 7)
