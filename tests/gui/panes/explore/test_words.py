"""The pages Words and Compare Sources of the Explore pane: lists, filters, sides, the table and the dot plot."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections import Counter

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QAbstractItemModelTester

from tests.gui.tables import column_texts, titles
from tokstudio.core.corpus.source import Source
from tokstudio.core.exploration.exploration import explore
from tokstudio.gui.session.measuring.compared import file_set

CATS = [f"the cat number {number} sat on the mat with {'another ' * (number % 3)}cat.\n" for number in range(30)]
HUNDE = [f"der hund nummer {number} liegt auf dem boden, nicht auf dem sofa.\n" for number in range(30)]
FOOTER = "all rights are reserved by the owner of this page and of all the others\n"


def opened(explored, page: str, **settings: object):
    """Trains on two sources, and turns to a page."""
    cats = Source.from_texts([text + FOOTER for text in CATS], "cats")
    explored.train(cats, Source.from_texts(HUNDE, "hunde"), vocabulary_size=330, pattern="gpt2", **settings)
    return explored.turn_to(page)


def choose(explored, box, name: str) -> None:
    box.setCurrentIndex([each.name for each in box.choices].index(name))
    explored.settle()


def texts(model) -> list[str]:
    return [text.strip("\u2068\u2069").replace("·", " ") for text in column_texts(model, 0)]


def test_words_and_runs_are_listed_with_counts_documents_and_tokens(qtbot, explored):
    page = opened(explored, "words")
    QAbstractItemModelTester(page.rows, page.rows)
    exploration = explored.session.exploring.exploration
    words = exploration.words()
    assert titles(page.rows) == ["Word", "Count", "Documents", "Pieces", "Tokens"]
    assert texts(page.rows) == [text.replace("\n", "↵") for text in words["text"]]
    assert column_texts(page.rows, 1) == [f"{count:,}" for count in words["count"]]
    assert column_texts(page.rows, 2) == [f"{count:,}" for count in words["documents"]]
    tokenizer = exploration.tokenizer
    assert column_texts(page.rows, 4) == [str(len(tokenizer.encode(text))) for text in words["text"]]
    assert page.count.text() == f"{len(words)} words"
    page.split.click()
    explored.settle()
    split = [text for text in words["text"] if len(tokenizer.encode(text)) > 1]
    assert texts(page.rows) == [text.replace("\n", "↵") for text in split]
    page.split.click()
    choose(explored, page.runs, "Runs of 2")
    assert page.rows.count() == len(exploration.words(2))
    assert page.note.text() == exploration.words(2).note != ""
    assert page.split.isHidden()


def test_words_are_filtered_as_in_vocabulary_sorted_by_titles_and_shown_as_tokens(qtbot, explored):
    page = opened(explored, "words")
    whole = page.rows.count()
    page.filter.setFocus()
    qtbot.keyClicks(page.filter, "/^.?[hs]o/")
    qtbot.waitUntil(lambda: page.rows.count() < whole)
    explored.settle()
    assert set(texts(page.rows)) == {" sofa"}
    qtbot.keyClick(page.filter, Qt.Key.Key_Down)
    page.items.setCurrentIndex(page.rows.index(0, 0))
    qtbot.keyClick(page.items, Qt.Key.Key_Return)
    assert explored.session.view.text == " sofa"
    page.filter.setText("/(/")
    qtbot.waitUntil(lambda: "xpression" in page.problem.text())
    page.filter.setText("")
    qtbot.waitUntil(lambda: page.rows.count() == whole)
    header = page.items.horizontalHeader()
    at = QPoint(header.sectionViewportPosition(2) + 8, header.height() // 2)
    qtbot.mouseClick(header.viewport(), Qt.MouseButton.LeftButton, pos=at)
    explored.settle()
    counts = [int(text) for text in column_texts(page.rows, 2)]
    assert counts == sorted(counts, reverse=True)
    qtbot.mouseClick(header.viewport(), Qt.MouseButton.LeftButton, pos=at)
    explored.settle()
    assert [int(text) for text in column_texts(page.rows, 2)] == sorted(counts)
    words = sorted(explored.session.exploring.exploration.words()["text"], key=str.encode)
    for listed in (words, words[::-1]):
        title = QPoint(header.sectionViewportPosition(0) + 8, header.height() // 2)
        qtbot.mouseClick(header.viewport(), Qt.MouseButton.LeftButton, pos=title)
        explored.settle()
        assert texts(page.rows) == [text.replace("\n", "↵") for text in listed]
        assert header.sortIndicatorSection() == 0
    page.items.selectAll()
    page.items.setFocus()
    qtbot.keyClick(page.items, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    copied = QGuiApplication.clipboard().text().split("\n")
    assert copied[0].split("\t") == titles(page.rows)
    assert len(copied) == 1 + whole


def test_tokens_follow_a_chosen_source_and_boilerplate_is_found(qtbot, explored, tmp_path):
    page = opened(explored, "words")
    session = explored.session
    choose(explored, page.of, "Tokens")
    session.exploring.limit([session.exploring.sources[1]])
    explored.settle()
    tokenizer = session.exploring.exploration.tokenizer
    uses = Counter(token for text in HUNDE for token in tokenizer.encode(text))
    listed = dict(zip(page.rows.items.ids[page.rows.rows].tolist(), column_texts(page.rows, 1), strict=True))
    assert listed == {token: f"{count:,}" for token, count in uses.items()}
    page.items.opened.emit(0)
    assert session.view.chosen == int(page.rows.items.ids[page.rows.rows[0]])
    session.exploring.limit(())
    choose(explored, page.of, "Boilerplate")
    assert not page.runs.isEnabled()
    found = explore(session.exploring.exploration.corpus, tokenizer).boilerplate()
    assert page.rows.count() == len(found) > 0
    assert any("all rights are reserved" in text for text in texts(page.rows))
    rows = explored.written()
    assert [int(row["documents"]) for row in rows] == [each.documents for each in found]
    assert rows[0]["text"] == found[0].text


def test_what_is_typical_of_each_side_is_a_table_and_a_plot_that_arrow_keys_walk(qtbot, explored):
    page = opened(explored, "compare-sources")
    QAbstractItemModelTester(page.rows, page.rows)
    assert [each.name for each in page.second.choices] == ["all other sources", "hunde"]
    choose(explored, page.of, "Words")
    keyness = explored.session.exploring.exploration.keyness(0, of="words")
    first, second = keyness.strongest()
    expected = [keyness.text(row) for row in [*first.tolist(), *second.tolist()]]
    assert [dot.text.strip("\u2068\u2069").replace("·", " ").replace("↵", "\n") for dot in page.plot.dots] == expected
    assert page.plot.isVisible()
    assert page.plot.accessibleDescription() == page.plot.row_text(0)
    page.plot.setFocus()
    qtbot.keyClick(page.plot, Qt.Key.Key_Down)
    assert page.plot.current == 1
    qtbot.keyClick(page.plot, Qt.Key.Key_Left)
    assert page.plot.current == len(first) + 1
    qtbot.keyClick(page.plot, Qt.Key.Key_End)
    assert page.plot.current == len(first) + len(second) - 1
    said = page.plot.accessibleDescription()
    assert said == page.plot.row_text(page.plot.current)
    assert "typical of all other sources." in said
    qtbot.keyClick(page.plot, Qt.Key.Key_Right)
    assert page.plot.dots[page.plot.current].is_first
    qtbot.keyClick(page.plot, Qt.Key.Key_Return)
    assert explored.session.view.text == expected[page.plot.current]
    page.plot.copy()
    assert not QGuiApplication.clipboard().pixmap().isNull()
    choose(explored, page.views, "Table")
    column = titles(page.rows).index("Log-likelihood")
    figures = [float(text.replace(",", "")) for text in column_texts(page.rows, column)]
    assert figures == sorted(figures, reverse=True)
    assert min(figures) > 0
    choose(explored, page.side, "Typical of B")
    figures = [float(text.replace(",", "")) for text in column_texts(page.rows, column)]
    assert figures == sorted(figures)
    assert max(figures) < 0
    assert page.note.text().startswith(f"A: cats, {keyness.totals[0]:,} words.")


def test_words_are_compared_only_while_there_is_no_tokenizer(qtbot, explored):
    sources = Source.from_texts(CATS, "cats"), Source.from_texts(HUNDE, "hunde")
    explored.session.corpus.set_sources(sources)
    page = explored.turn_to("compare-sources")
    assert (page.of.value, page.of.isEnabled()) == ("words", False)
    assert page.asked.answer.totals == explored.session.exploring.exploration.keyness(0, of="words").totals
    explored.train(*sources, vocabulary_size=330, pattern="gpt2")
    explored.settle()
    assert (page.of.value, page.of.isEnabled()) == ("tokens", True)
    assert page.asked.answer.totals == explored.session.exploring.exploration.keyness(0, of="tokens").totals
    choose(explored, page.of, "Words")
    explored.train(*sources, vocabulary_size=340, pattern="gpt2")
    explored.settle()
    assert page.of.value == "words"


def test_n_changes_ratios_and_sides_may_be_held_out_or_opened_texts(qtbot, explored, tmp_path):
    page = opened(explored, "compare-sources", held_out=0.2)
    session = explored.session
    choose(explored, page.views, "Table")
    ratios = column_texts(page.rows, 3)
    choose(explored, page.smoothing, "N = 100")
    exploration = session.exploring.exploration
    smooth = exploration.keyness(0, of="tokens", smoothing=100)
    assert column_texts(page.rows, 3)[0] == f"{smooth['ratio'][0]:,.2f}" != ratios[0]
    choose(explored, page.first, "Held-out text")
    assert [each.name for each in page.second.choices] == ["the rest of the corpus"]
    assert page.listing.answer.keyness.totals == exploration.keyness(of="tokens", held_out=0.2).totals
    path = tmp_path / "other.txt"
    path.write_text("a very different text about ships and the sea. " * 30)
    session.comparison.add_texts(file_set([path]))
    explored.settle()
    choose(explored, page.first, "other.txt")
    assert page.second.choices[0].name == "the whole corpus"
    shown_items = [dot.text for dot in page.plot.dots if dot.is_first]
    assert shown_items
    assert page.problem.text() == ""


def test_both_sides_are_written_with_what_they_are_typical_of(qtbot, explored, tmp_path):
    page = opened(explored, "compare-sources")
    exploration = explored.session.exploring.exploration
    for of, name in (("tokens", "Tokens"), ("words", "Words")):
        choose(explored, page.of, name)
        keyness = exploration.keyness(0, of=of)
        rows = explored.written()
        assert [int(row["uses a"]) for row in rows] == keyness["a"].tolist()
        assert [int(row["uses b"]) for row in rows] == keyness["b"].tolist()
        likelihood = keyness["log_likelihood"].tolist()
        sides = ["cats" if each > 0 else "all other sources" if each < 0 else "" for each in likelihood]
        assert [row["typical of"] for row in rows] == sides
        assert {"cats", "all other sources"} <= set(sides)
        if of == "tokens":
            assert [int(row["id"]) for row in rows] == keyness["ids"][:, 0].tolist()
    page.filter.setText("hund")
    qtbot.waitUntil(lambda: page.listing.answer.asked.query.text == "hund")
    explored.settle()
    rows = explored.written()
    assert [row["word"] for row in rows] == [" hund"]


def test_one_text_alone_and_no_tokenizer_are_said(qtbot, explored):
    explored.session.corpus.set_sources((Source.from_texts(CATS, "cats"),))
    page = explored.turn_to("compare-sources")
    assert page.alone.isVisible()
    explored.session.corpus.set_sources((Source.from_texts(CATS, "cats"), Source.from_texts(HUNDE, "hunde")))
    explored.settle()
    assert not page.of.isEnabled()
    assert page.of.choices[page.of.currentIndex()].name == "Words"
    assert len(page.plot.dots) > 4
    page = explored.turn_to("words")
    assert titles(page.rows) == ["Word", "Count", "Documents", "Pieces"]
    choose(explored, page.of, "Tokens")
    assert "Tokens need a tokenizer" in page.problem.text()
