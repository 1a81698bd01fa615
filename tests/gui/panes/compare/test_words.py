"""Compare, Words: words with their pieces in each tokenizer."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from tokstudio.gui.panes.compare import words as module
from tokstudio.gui.panes.compare.words import LONGEST_WORD, MOST, WORD, WordsView

TEXT = "the cat sat on the mat and the rat sat on the cat\n" * 5


@pytest.fixture
def view(qtbot, session, pane, make_run) -> WordsView:
    session.corpus.add_texts([("eng", TEXT), ("deu", "die Katze die Katze")])
    make_run(vocabulary_size=262, pattern="gpt2")
    make_run(vocabulary_size=290, pattern="gpt2")
    pane.tabs.setCurrentIndex(4)
    qtbot.waitUntil(lambda: len(pane.words.rows.made.columns) == 2)
    return pane.words


def words(view: WordsView) -> list[str]:
    return [view.rows.made.words[at] for at in view.rows.order.tolist()]


def write(qtbot: QtBot, view: WordsView, text: str, first: str) -> None:
    view.own.setPlainText(text)
    qtbot.waitUntil(lambda: first in words(view))


def told(view: WordsView, word: str, column: int) -> str:
    index = view.rows.index(words(view).index(word), column)
    return str(index.data(Qt.ItemDataRole.AccessibleTextRole))


def test_the_most_frequent_words_or_own_ones_are_shown_in_pieces_those_split_most_first(qtbot, view, session, theme):
    assert sorted(words(view)) == sorted(set(TEXT.split()))
    assert view.texts.isVisible()
    view.texts.setCurrentIndex(1)
    qtbot.waitUntil(lambda: sorted(words(view)) == ["Katze", "die"])
    write(qtbot, view, "mat", "mat")
    assert not view.texts.isVisible()
    view.own.clear()
    qtbot.waitUntil(lambda: sorted(words(view)) == ["Katze", "die"])
    write(qtbot, view, "the,zebra  mat\nthe 猫", "zebra")
    assert sorted(words(view)) == sorted(["the", "zebra", "mat", "猫"])
    for number, run in enumerate(session.runs.shown):
        for word in words(view):
            ids = run.tokenizer.encode(f" {word}" if word != "猫" else word)
            text = told(view, word, MOST + 1 + number)
            assert text.startswith(f"{len(ids)}: ")
            assert all(str(token) in text for token in ids)
    write(qtbot, view, "the zebra cat quagga ox", "quagga")
    most = [max(len(run.tokenizer.encode(f" {word}")) for run in session.runs.shown) for word in words(view)]
    assert most == sorted(most, reverse=True)
    assert words(view)[0] == "quagga"
    view.table.sortByColumn(WORD, Qt.SortOrder.AscendingOrder)
    assert words(view) == ["cat", "ox", "quagga", "the", "zebra"]
    view.table.sortByColumn(MOST + 2, Qt.SortOrder.AscendingOrder)
    sizes = [len(session.runs.shown[1].tokenizer.encode(f" {word}")) for word in words(view)]
    assert sizes == sorted(sizes)
    write(qtbot, view, "zebra", "zebra")
    qtbot.waitUntil(lambda: words(view) == ["zebra"])
    area = view.table.visualRect(view.rows.index(0, MOST + 1))
    picture = view.table.viewport().grab(area).toImage()
    seen = {picture.pixelColor(x, y).name().upper() for x in range(picture.width()) for y in range(picture.height())}
    assert len(seen & set(theme.palette.tokens)) > 1


def test_words_that_are_one_token_everywhere_are_marked(qtbot, view, session):
    session.comparison.show_simple("Bytes", True)
    write(qtbot, view, "the zebra", "zebra")
    qtbot.waitUntil(lambda: len(view.rows.made.columns) == 3)
    whole = {
        word: all(len(run.tokenizer.encode(f" {word}")) == 1 for run in session.runs.shown) for word in words(view)
    }
    assert whole == {"the": True, "zebra": False}
    for row, word in enumerate(words(view)):
        assert (view.rows.index(row, WORD).data(Qt.ItemDataRole.DecorationRole) is not None) == whole[word]
    assert "1 is one token in every tokenizer, 1 is split in at least one." in view.note.text()


def test_words_of_a_file_are_shown_and_long_words_and_lists_are_cut(qtbot, monkeypatch, view, session, actions):
    monkeypatch.setattr(module, "MOST_WORDS", most := 1_200)
    with qtbot.waitSignal(actions["open_compared_words"].triggered):
        view.open.click()
    session.comparison.show_words("quagga\nzebra")
    qtbot.waitUntil(lambda: sorted(words(view)) == ["quagga", "zebra"])
    assert view.own.toPlainText() == "quagga\nzebra"
    write(qtbot, view, "mat " + "x" * (LONGEST_WORD + 1), "mat")
    qtbot.waitUntil(lambda: "Left out: 1 word of more" in view.note.text())
    assert words(view) == ["mat"]
    view.own.setPlainText(" ".join(map(str, range(most + 5))))
    qtbot.waitUntil(lambda: len(view.rows.order) == most)
    assert f"5 words after the first {most:,}" in view.note.text()
    view.own.setPlainText(" ".join(["x" * (LONGEST_WORD + 1), *map(str, range(most + 4))]))
    qtbot.waitUntil(lambda: "4 words after the first" in view.note.text())
    assert "Left out: 1 word of more" in view.note.text()


def test_a_word_that_a_vocabulary_lacks_has_a_dash(qtbot, session, pane, make_run):
    make_run("abc ab abc", vocabulary_size=6, base="characters")
    pane.tabs.setCurrentIndex(4)
    qtbot.waitUntil(lambda: "abc" in words(pane.words))
    write(qtbot, pane.words, "abc xyz", "xyz")
    assert told(pane.words, "abc", MOST + 1)[0] in "123"
    assert "x" in told(pane.words, "xyz", MOST + 1)
    assert pane.words.note.text().count("Run 1") == 1


def test_an_empty_list_says_what_is_shown(pane, session, qtbot, make_run):
    make_run()
    session.corpus.remove_sources([0])
    pane.tabs.setCurrentIndex(4)
    qtbot.waitUntil(pane.words.empty.isVisible)
    assert "Type or paste" in pane.words.empty.label.text()
    write(qtbot, pane.words, "mat", "mat")
    assert not pane.words.empty.isVisible()
