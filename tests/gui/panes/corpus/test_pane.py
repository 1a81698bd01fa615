"""The Corpus pane: adding, previewing, removing and reloading sources, and messages about unreadable files."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
import unicodedata
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QObject, QPoint, Qt
from PySide6.QtGui import QTextCursor
from PySide6.QtTest import QAbstractItemModelTester
from PySide6.QtWidgets import QApplication, QLabel, QPushButton, QToolButton

from tests.gui.tables import click, column_texts
from tests.gui.window.test_little_room import body_of
from tokstudio.core.base.progress import finish
from tokstudio.core.base.resources import sample_text
from tokstudio.core.base.wording import size_text
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.leaving_out import LeavingOut
from tokstudio.core.corpus.open_sources import read_source
from tokstudio.core.corpus.source import Source
from tokstudio.core.corpus.statistics import statistics_work
from tokstudio.gui.panes.configure.pane import ConfigurePane
from tokstudio.gui.panes.corpus.pane import CorpusPane
from tokstudio.gui.panes.corpus.views import NAME, RELOAD, SIZE, StatisticsTable, beginning, encoding_text, scripts_text
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.problems import Problem

ADDING = ("open_corpus", "open_folder", "open_counts", "paste_corpus")
SAMPLES = ("sample_article", "sample_scripts", "sample_python", "sample_rubbish")
ACTIONS = (*ADDING, *SAMPLES)


@pytest.fixture
def asked() -> list[str]:
    return []


@pytest.fixture
def pane(session, theme, actions, dock, asked) -> CorpusPane:
    for key in (*ACTIONS, "clear_corpus"):
        actions[key].triggered.connect(lambda _checked, key=key: asked.append(key))
    pane = CorpusPane(session, theme, actions)
    QAbstractItemModelTester(pane.source_list.sources_model, QAbstractItemModelTester.FailureReportingMode.Fatal, pane)
    dock(pane, 300, 700)
    return pane


def settled(qtbot, session: Session) -> None:
    qtbot.waitUntil(
        lambda: not session.jobs.running and (session.corpus.statistics is not None or not session.corpus.sources)
    )


def names(pane: CorpusPane) -> list[str]:
    return column_texts(pane.source_list.model(), NAME)


def visible_words(widget) -> str:
    return "\n".join(label.text() for label in widget.findChildren(QLabel) if label.isVisible())


def changed_file(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    os.utime(path, (1, 1))


def test_an_empty_pane_offers_every_way_to_add_and_shows_no_buttons_of_others(qtbot, pane, asked):
    assert "The text a tokenizer learns from." in visible_words(pane)
    buttons = [button for button in pane.findChildren(QPushButton) if button.isVisible()]
    for button in buttons:
        qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    assert asked == ["open_corpus", *SAMPLES]
    assert buttons[0].text() == "open_corpus"
    assert pane.add_button.popupMode() == QToolButton.ToolButtonPopupMode.InstantPopup
    offered = [action.text() for action in pane.add_button.menu().actions() if not action.isSeparator()]
    assert offered == list(ACTIONS)
    row = pane.problems.layout().itemAt(1).widget()
    seen = []

    class Watch(QObject):
        def eventFilter(self, watched, event):
            if event.type() == QEvent.Type.Show:
                seen.extend(one.text() for one in row.findChildren(QPushButton) if one.isVisibleTo(row))
            return False

    watch = Watch(pane)
    row.installEventFilter(watch)
    for text in ("One.", "Two."):
        pane.problems.add(Problem(text))
    assert row.isVisible()
    assert seen == []


def test_sources_are_listed_with_their_sizes(qtbot, pane, session, tmp_path):
    (tmp_path / "a.txt").write_text("x" * 1_115_394)
    session.corpus.open_paths([tmp_path / "a.txt"])
    settled(qtbot, session)
    session.corpus.add_text("pasted")
    model = pane.source_list.model()
    assert names(pane) == ["a.txt", "Pasted text"]
    assert column_texts(model, SIZE) == ["1.1 MB", "6 B"]
    tip = model.index(0, NAME).data(Qt.ItemDataRole.ToolTipRole)
    assert str(tmp_path / "a.txt") in tip
    assert "UTF-8 · 1,115,394 bytes" in tip


def test_the_chosen_source_limits_explore_also_where_it_was_marked_before(qtbot, pane, session):
    line = "a line that is in both of the two texts\n"
    for number, name in enumerate(("first", "second")):
        session.corpus.add_text(f"{line}text {number}\n", name)
    settled(qtbot, session)
    rows, limits = pane.source_list, session.exploring
    assert rows.selected_rows() == [1]
    assert limits.limits is None, "nobody has chosen it"
    at = rows.visualRect(rows.model().index(1, NAME)).center()
    qtbot.mouseClick(rows.viewport(), Qt.MouseButton.LeftButton, pos=at)
    assert limits.limit_names == ("second",)
    limits.limit(())
    qtbot.mouseClick(rows.viewport(), Qt.MouseButton.LeftButton, pos=at)
    assert limits.limit_names == ("second",)
    # With Ctrl, keys move the keyboard alone; the figures and the text below stay those of the source that is chosen.
    qtbot.keyClick(rows, Qt.Key.Key_Home, Qt.KeyboardModifier.ControlModifier)
    assert rows.currentIndex().row() == 0
    assert rows.selected_rows() == [1]
    assert (pane.whose.text(), pane.caption.text().split(" · ")[0]) == ("Of second", "second")
    session.corpus.leave_out(LeavingOut((("repeated-lines", 20.0),)))
    settled(qtbot, session)
    size = f"1 line, {len(line)} B"
    assert pane.whose.text() == f"Of second · left out: {size}"
    rows.select_rows([0])
    assert pane.whose.text() == "Of first · left out: nothing"
    assert pane.left_out.text() == f"Left out: {size}"
    rows.select_rows([0, 1])
    assert pane.whose.text() == "Of all 2 sources"


def test_the_statistics_are_those_of_the_core(qtbot, pane, session):
    text = sample_text("scripts")
    session.corpus.add_text(text)
    assert pane.statistics.shown()["Characters"] == "…"
    assert pane.statistics.shown()["Bytes"] == f"{len(text.encode()):,}"
    settled(qtbot, session)
    counted = finish(statistics_work(Corpus.from_text(text)))
    shown = pane.statistics.shown()
    assert shown["Characters"] == f"{counted.characters:,}"
    assert shown["Distinct characters"] == f"{counted.distinct_characters:,}"
    assert shown["Lines"] == f"{counted.lines:,}"
    assert shown["Scripts"].startswith(counted.scripts[0][0])
    assert shown["Encoding"] == "UTF-8"
    assert "Documents" not in shown
    assert "Not UTF-8" not in shown
    session.corpus.add_text("second")
    pane.source_list.clearSelection()
    settled(qtbot, session)
    assert pane.statistics.shown()["Documents"] == "2"
    session.corpus.set_sources((Source.from_texts([b"\xff\xfe" + b"a" * 12_000]),))
    settled(qtbot, session)
    shown = pane.statistics.shown()
    assert shown["Not UTF-8"] == "2 bytes"
    assert shown["Longest line"] == "12,002 bytes"
    assert shown["Encoding"] == "Bytes, not decoded"
    session.corpus.set_sources((*Corpus.from_counts({"a": 5}).sources, *Corpus.from_texts(["b\n", "c\n"]).sources))
    pane.source_list.clearSelection()
    settled(qtbot, session)
    shown = pane.statistics.shown()
    assert (shown["Words, counted"], shown["Documents"], shown["Lines"]) == ("1", "2", "2")
    assert (shown["Bytes"], shown["Characters"], shown["Encoding"]) == ("9", "9", "UTF-8")


def test_facts_below_a_chosen_source_are_its_own(qtbot, pane, session):
    session.corpus.add_texts([("one.txt", "one\ntwo\n"), ("two.txt", "\u0434\u0430")])
    settled(qtbot, session)
    assert pane.whose.isVisible()
    assert (pane.whose.text(), pane.statistics.shown()["Lines"]) == ("Of one.txt", "2")
    pane.source_list.select_rows([1])
    qtbot.waitUntil(lambda: pane.statistics.shown()["Characters"] == "2")
    assert (pane.whose.text(), pane.statistics.shown()["Scripts"]) == ("Of two.txt", "Cyrillic\u00a0100\u00a0%")
    for rows in ([0, 1], []):
        pane.source_list.select_rows(rows)
        shown = pane.statistics.shown()
        assert (pane.whose.text(), shown["Bytes"], shown["Lines"]) == ("Of all 2 sources", "12", "3")
    session.corpus.remove_sources([1])
    settled(qtbot, session)
    assert not pane.whose.isVisible()
    assert pane.statistics.shown()["Lines"] == "2"


def test_no_view_scrolls_inside_the_scrolling_part(qtbot, pane, session):
    session.corpus.add_text("\n".join(f"line {number}" for number in range(200)), "long.txt")
    settled(qtbot, session)
    assert pane.preview.verticalScrollBar().maximum() == 0
    body = body_of(pane.preview)
    assert not body.isAncestorOf(pane.source_list)
    # No line is cut at the lower edge.
    for height in range(260, 520, 13):
        pane.window().resize(300, height)
        QApplication.processEvents()
        QApplication.processEvents()
        edge = body.viewport().height()
        for label in body.findChildren(QLabel):
            top = label.mapTo(body.viewport(), QPoint()).y()
            assert not label.isVisible() or not top < edge < top + label.height()
        begin = pane.preview.cursorRect(QTextCursor(pane.preview.document())).topLeft()
        first = pane.preview.viewport().mapTo(body.viewport(), begin).y()
        line = pane.preview.fontMetrics().lineSpacing()
        assert edge < first + line or (edge - first) % line == 0
    pane.preview.setFocus()
    pane.preview.moveCursor(QTextCursor.MoveOperation.End)
    qtbot.waitUntil(lambda: body.verticalScrollBar().value() > body.verticalScrollBar().maximum() / 2)


def test_the_preview_shows_the_selected_source_with_its_note(qtbot, pane, session, tmp_path):
    (tmp_path / "bom.txt").write_bytes(b"\xef\xbb\xbffirst line\nsecond")
    session.corpus.add_text("other")
    session.corpus.open_paths([tmp_path / "bom.txt"])
    settled(qtbot, session)
    assert pane.preview.toPlainText() == "first line\nsecond"
    assert pane.caption.text() == "bom.txt · UTF-8 · byte order mark dropped"
    pane.source_list.setFocus()
    qtbot.keyClick(pane.source_list, Qt.Key.Key_Up)
    assert pane.preview.toPlainText() == "other"


def test_the_beginning_of_a_source_is_short_and_shows_control_characters():
    source = Source.from_texts(["ab" * 25_000_000])
    shown = beginning(source)
    assert shown.startswith("abab")
    assert shown.endswith(" …")
    assert len(shown) < 20_000
    assert beginning(Source.from_texts([b"a\0b\tc\x1b"])) == "a␀b\tc␛"


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("a\n" * 199, False),
        ("a\n" * 200, False),
        ("a\n" * 200 + "b", True),
        ("a\n" * 201, True),
        ("é" * 4001, True),
        ("é\n" * 8000, True),
    ],
)
def test_the_preview_says_whether_there_is_more(text, cut):
    assert beginning(Source.from_texts([text])).endswith("…") == cut


def test_delete_removes_the_selected_sources(qtbot, pane, session):
    for name in "abcd":
        session.corpus.add_text(name, name)
    pane.source_list.setFocus()
    pane.source_list.select_rows([1, 2])
    qtbot.keyClick(pane.source_list, Qt.Key.Key_Delete)
    assert names(pane) == ["a", "d"]
    assert pane.preview.toPlainText() == "d"
    qtbot.mouseClick(pane.remove_button, Qt.MouseButton.LeftButton)
    qtbot.mouseClick(pane.remove_button, Qt.MouseButton.LeftButton)
    assert session.corpus.sources == ()
    assert "The text a tokenizer learns from." in visible_words(pane)
    assert not pane.remove_button.isVisible()


def test_several_files_are_read_again_in_a_chosen_encoding_which_pasted_text_has_not(qtbot, pane, session, tmp_path):
    texts = {"one.txt": "Füße", "two.txt": "Größe"}
    for name, text in texts.items():
        (tmp_path / name).write_bytes(text.encode("latin-1"))
    session.corpus.open_paths([tmp_path / name for name in texts])
    session.corpus.add_text("pasted")
    settled(qtbot, session)
    pane.source_list.select_rows([0, 1, 2])
    menu = pane.make_menu()
    encodings = next(action for action in menu.actions() if action.text() == "Encoding").menu()
    assert encodings.actions()[0].text() == "Detect"
    next(action for action in encodings.actions() if action.text() == "cp437").trigger()
    settled(qtbot, session)
    expected = [finish(read_source(tmp_path / name, encoding="cp437")).data.tobytes() for name in texts]
    read = {source.name: source for source in session.corpus.sources}
    assert [read[name].data.tobytes() for name in texts] == expected
    assert {read[name].encoding for name in texts} == {"cp437"}
    assert len(session.corpus.sources) == 3
    menu.close()
    session.corpus.set_sources(())
    session.corpus.add_text("pasted")
    menu = pane.make_menu()
    assert [action.text() for action in menu.actions() if action.isVisible() and action.text()] == [
        "Remove",
        "clear_corpus",
    ]
    menu.close()


def test_a_changed_file_is_marked_and_reloaded_by_a_click_or_in_the_encoding_that_was_chosen(
    qtbot, pane, session, tmp_path
):
    path = tmp_path / "book.txt"
    path.write_text("before")
    session.corpus.open_paths([path])
    settled(qtbot, session)
    assert pane.source_list.isColumnHidden(RELOAD)
    changed_file(path, b"after that")
    QApplication.sendEvent(pane, QEvent(QEvent.Type.WindowActivate))
    model = pane.source_list.sources_model
    qtbot.waitUntil(lambda: model.any_changed)
    assert model.index(0, SIZE).data() == "changed"
    assert "changed on disk" in pane.caption.text()
    settled(qtbot, session)
    click(qtbot, pane.source_list, 0, RELOAD)
    qtbot.waitUntil(lambda: session.corpus.sources[0].bytes == 10)
    settled(qtbot, session)
    assert pane.preview.toPlainText() == "after that"
    assert not model.any_changed
    assert pane.source_list.isColumnHidden(RELOAD)
    menu = pane.make_menu()
    encodings = next(action for action in menu.actions() if action.text() == "Encoding").menu()
    next(action for action in encodings.actions() if action.text() == "cp437").trigger()
    menu.close()
    settled(qtbot, session)
    changed_file(path, b"after \x81")
    QApplication.sendEvent(pane, QEvent(QEvent.Type.WindowActivate))
    qtbot.waitUntil(lambda: pane.source_list.sources_model.any_changed)
    settled(qtbot, session)
    again = pane.make_menu()
    next(action for action in again.actions() if action.text() == "Reload").trigger()
    again.close()
    qtbot.waitUntil(lambda: pane.preview.toPlainText() == "after ü")
    settled(qtbot, session)


def test_a_missing_file_is_marked_with_the_text_that_training_uses(
    qtbot, pane, session, theme, actions, dock, tmp_path
):
    configure = ConfigurePane(session, theme, actions)
    dock(configure, 320, 900)
    paths = [tmp_path / "mine.txt", tmp_path / "yours.txt"]
    for path in paths:
        path.write_text("before")
    session.corpus.open_paths(paths)
    settled(qtbot, session)
    assert not configure.outdated.isVisible()
    model = pane.source_list.sources_model

    def looked_at(said):
        QApplication.sendEvent(pane, QEvent(QEvent.Type.WindowActivate))
        qtbot.waitUntil(lambda: configure.outdated.text() == said)
        settled(qtbot, session)

    changed_file(paths[1], b"after that")
    looked_at("yours.txt has changed on disk: training uses the text as it was read.")
    assert configure.outdated.isVisible()
    paths[0].unlink()
    looked_at("2 files have changed on disk or are gone from it: training uses the text as it was read.")
    assert column_texts(model, SIZE) == ["gone", "changed"]
    assert "gone from disk since it was read" in pane.caption.text()
    assert model.index(0, NAME).data(Qt.ItemDataRole.ToolTipRole).endswith("Gone from disk since it was read.")
    session.corpus.reread(1, None)
    said = "mine.txt is gone from disk: training uses the text as it was read."
    qtbot.waitUntil(lambda: configure.outdated.text() == said)
    settled(qtbot, session)
    paths[0].write_text("there again")
    session.corpus.reread(0, None)
    qtbot.waitUntil(lambda: not configure.outdated.isVisible())
    settled(qtbot, session)


def test_a_file_that_cannot_be_read_is_one_sentence_until_it_can_be_and_the_others_stay(qtbot, pane, session, tmp_path):
    good, empty = tmp_path / "good.txt", tmp_path / "empty.txt"
    good.write_text("good")
    empty.touch()
    session.corpus.open_paths([empty, good, tmp_path / "gone.txt"])
    settled(qtbot, session)
    assert names(pane) == ["good.txt"]
    words = visible_words(pane.problems)
    assert "empty.txt: the file is empty." in words
    assert "gone.txt: " in words
    assert len(pane.problems.problems) == 2
    empty.write_text("not any longer")
    session.corpus.open_paths([empty])
    settled(qtbot, session)
    assert [text.split(":")[0] for text in pane.problems.problems] == ["gone.txt"]
    session.corpus.open_paths([tmp_path / "gone.txt"])
    settled(qtbot, session)
    assert len(pane.problems.problems) == 1


def test_problems_are_stacked_and_dismissed(qtbot, pane, session):
    assert not pane.problems.isVisible()
    for number in range(5):
        session.corpus.problem.emit(Problem(f"{number}.txt: <i>odd</i>"))
    session.corpus.problem.emit(Problem("4.txt: <i>odd</i>"))
    assert visible_words(pane.problems) == "\n".join(
        ["4.txt: <i>odd</i>", "3.txt: <i>odd</i>", "2.txt: <i>odd</i>", "and 2 more"]
    )
    close = next(b for b in pane.problems.findChildren(QToolButton) if b.accessibleName().startswith("Dismiss: 3"))
    qtbot.mouseClick(close, Qt.MouseButton.LeftButton)
    assert pane.problems.problems == tuple(f"{number}.txt: <i>odd</i>" for number in (4, 2, 1, 0))
    every = next(button for button in pane.problems.findChildren(QPushButton) if button.isVisible())
    qtbot.mouseClick(every, Qt.MouseButton.LeftButton)
    assert not pane.problems.isVisible()
    session.corpus.add_text("one\ntwo")
    session.corpus.problem.emit(Problem("gone.txt: the file is not there.", path=Path("gone.txt")))
    session.corpus.set_documents("line")
    settled(qtbot, session)
    assert pane.problems.isVisible()
    session.corpus.set_sources(())
    assert not pane.problems.isVisible()
    session.corpus.add_text("one")
    for number in range(2):
        session.corpus.problem.emit(Problem(f"{number}.txt: odd"))
    pane.preview.setFocus()
    qtbot.keyClick(pane.preview, Qt.Key.Key_Escape)
    assert not pane.problems.isVisible()


def test_a_reload_error_disappears_after_a_reload_or_a_removal(qtbot, pane, session, tmp_path):
    path = tmp_path / "book.txt"
    path.write_text("before")
    session.corpus.open_paths([path])
    session.corpus.add_text("another")
    settled(qtbot, session)
    for mended in (lambda: path.write_text("after"), None):
        path.unlink()
        session.corpus.reread([source.path for source in session.corpus.sources].index(path), None)
        settled(qtbot, session)
        assert len(pane.problems.problems) == 1
        row = [source.path for source in session.corpus.sources].index(path)
        if mended is not None:
            mended()
            session.corpus.reread(row, None)
        else:
            session.corpus.remove_sources([row])
        settled(qtbot, session)
        assert not pane.problems.isVisible()


def test_names_of_sources_are_cut_kept_in_order_and_fit_a_narrow_pane(qtbot, pane, session):
    name = "a-very-long-name-" * 8 + "v2.txt"
    session.corpus.add_text("text", name)
    settled(qtbot, session)
    said = pane.caption.text()
    assert said.startswith("a-very-long")
    assert said.endswith("v2.txt · UTF-8")
    assert "…" in said
    assert pane.caption.toolTip() == name
    pane.window().resize(2400, 700)
    QApplication.processEvents()
    assert pane.caption.text() == f"{name} · UTF-8"
    session.corpus.add_text("text", "סיפור.txt")
    session.corpus.problem.emit(Problem("קצר.txt: the file is empty."))
    settled(qtbot, session)
    for label in (pane.caption, *(one for one in pane.problems.findChildren(QLabel) if one.isVisible())):
        assert ".txt" in label.text()
        # The first character with a direction decides about all of them.
        assert unicodedata.bidirectional(label.text()[0]) == "L"
    session.corpus.add_text(sample_text("scripts"), "A name that is much longer than the column is wide.txt")
    settled(qtbot, session)
    pane.window().resize(250, 240)
    qtbot.waitUntil(lambda: pane.height() <= 240)
    content = pane.statistics.parentWidget()
    assert content.width() <= content.parentWidget().width()
    right = pane.statistics.mapTo(content, QPoint(pane.statistics.width(), 0)).x()
    assert right <= content.parentWidget().width()


def test_the_last_opened_source_is_selected_also_in_a_hidden_pane(qtbot, pane, session):
    session.corpus.add_text("one", "one")
    pane.hide()
    session.corpus.add_text("two", "two")
    assert pane.preview.toPlainText() == "one"
    pane.show()
    assert pane.preview.toPlainText() == "two"


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (999_949, "999.9 kB"),
        (999_951, "1.0 MB"),
        (5 * 10**15, "5,000.0 TB"),
    ],
)
def test_sizes_are_written_as_people_say_them(size, text):
    assert size_text(size) == text


def test_encodings_and_scripts_are_written_as_people_write_them():
    assert [encoding_text(name) for name in ("utf-8", "utf-16-le", "windows-1252", "bytes")] == [
        "UTF-8",
        "UTF-16 LE",
        "windows-1252",
        "Bytes, not decoded",
    ]
    assert scripts_text((("Latin", 0.98), ("Greek", 0.02)))[0] == "Latin\u00a098\u00a0%, Greek\u00a02\u00a0%"
    assert scripts_text((("Latin", 0.999), ("Greek", 0.001)))[0] == "Latin\u00a0>\u00a099\u00a0%, 1\u00a0more"
    many = ("Latin", 0.94), ("Cyrillic", 0.02), ("Han", 0.01), ("Greek", 0.007), *((f"s{n}", 1e-4) for n in range(40))
    text, tip = scripts_text(many)
    assert text == "Latin\u00a094\u00a0%, Cyrillic\u00a02\u00a0%, Han\u00a01\u00a0%, 41\u00a0more"
    assert len(tip.split(", ")) == 44
    assert scripts_text(())[0] == "none"


def test_word_counts_are_shown_as_words_with_how_often_each_occurs(qtbot, pane, session, tmp_path):
    (tmp_path / "words.tsv").write_text("the\t-3\n")
    session.corpus.open_counts([tmp_path / "words.tsv"])
    qtbot.waitUntil(lambda: "words.tsv: line 1: the count -3 must be at least 1." in visible_words(pane))
    assert session.corpus.sources == ()
    (tmp_path / "words.tsv").write_text(" the\t1200\nca\\nt\t3\n")
    session.corpus.open_counts([tmp_path / "words.tsv"])
    qtbot.waitUntil(lambda: bool(session.corpus.sources))
    settled(qtbot, session)
    model = pane.source_list.model()
    assert names(pane) == ["words.tsv"]
    assert model.index(0, SIZE).data() == "2 words"
    assert "2 words, counted · 4,812 bytes" in model.index(0, NAME).data(Qt.ItemDataRole.ToolTipRole)
    assert pane.caption.text() == "words.tsv · 2 words, counted"
    assert pane.preview.toPlainText() == "1,200\t·the\n3\tca↵t"
    shown = pane.statistics.shown()
    assert shown["Words, counted"] == "2"
    assert shown["Characters"] == "4,812"
    assert shown.keys().isdisjoint({"Lines", "Documents", "Encoding", "Longest line", "Not UTF-8"})
    # What has no encoding cannot be read in another.
    pane.source_list.select_rows([0])
    assert "Encoding" not in [action.text() for action in pane.make_menu().actions()]


def test_no_number_is_cut_beside_a_short_name_in_a_narrow_pane(qtbot, session, theme):
    """Beside *Bytes*, a number had only the room that *Distinct characters* left: 45,000 was shown as 5,000."""
    table = StatisticsTable(theme)
    qtbot.addWidget(table)
    session.corpus.add_text("three words here\n" * 120_000, "text")
    session.corpus.add_text("a" * 2_000_000, "line")
    settled(qtbot, session)
    table.show_corpus(session.corpus.current, session.corpus.statistics)
    names = {label.text(): label for label in table.findChildren(QLabel) if not label.isHidden()}
    assert names.keys() >= {"4,040,000", "2,000,000 bytes"}
    width = table.minimumSizeHint().width()
    table.setFixedSize(width, table.heightForWidth(width))
    table.show()
    for label in names.values():
        words = label.text().split() if label.wordWrap() else [label.text()]
        assert label.width() >= max(map(label.fontMetrics().horizontalAdvance, words)), label.text()
        assert label.height() >= label.heightForWidth(label.width()), label.text()
