"""Error messages, one at a time, and notices about actions without a request, with a button that undoes them."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import pytest
from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QMainWindow

from tests.gui.person import TEXT, at_window, quiet, trained
from tokstudio.core.base.errors import CorpusError
from tokstudio.gui.session.common.corpus import sample_title
from tokstudio.gui.session.common.jobs import Notice
from tokstudio.gui.state.problems import Problem
from tokstudio.gui.state.training_settings import Settings
from tokstudio.gui.widgets.card import Strips
from tokstudio.gui.window.message_bar import MessageBar, NoticeLine

pytestmark = pytest.mark.usefixtures("unstyled")

TRAINING = Problem("The corpus is too large for the memory.", of_training=True)
FILE = Problem("merges.json: the file cannot be written.", CorpusError("merges.json"))


@at_window()
def test_the_question_before_a_corpus_is_replaced_says_how_many_sources_it_has(window, answers):
    answers.yes = False
    corpus = window.session.corpus
    asked = {2: "one.txt, one.txt", 3: "one.txt, one.txt, poem.txt", 308: "one.txt, one.txt, poem.txt and 305 more"}
    for sources, names in asked.items():
        corpus.set_sources(())
        for number in range(sources):
            corpus.add_text("some text", "one.txt" if number < 2 else "poem.txt")
        window.actions_by_id["sample_train_article"].trigger()
        assert answers.asked[-1] == f"The corpus ({names}) will be replaced by the sample."
        assert len(corpus.sources) == sources


@pytest.fixture
def bar(qtbot, theme, show):
    host = QMainWindow()
    show(host, 900, 400)
    return MessageBar(theme, Strips(host))


def test_a_newer_message_replaces_the_older_and_other_settings_hide_only_that_of_a_training(bar):
    bar.show_problem(FILE)
    bar.show_problem(TRAINING)
    bar.show_problem(TRAINING)
    assert bar.text.text() == TRAINING.text
    bar.details_button.click()
    assert bar.details.toPlainText() == f"Earlier: {FILE.text}"
    bar.close_button.click()
    assert not bar.isVisible()
    bar.show_problem(TRAINING)
    assert not bar.details_button.isVisible(), "what was closed is not told again"
    bar.show_problem(FILE)
    bar.clear_of_training()
    assert bar.isVisible()
    bar.show_problem(TRAINING)
    bar.clear_of_training()
    assert not bar.isVisible()


def names(window) -> list[str]:
    return [source.name for source in window.session.corpus.sources]


@at_window()
def test_a_text_of_one_s_own_replaces_a_sample_which_can_be_kept_and_whose_rows_stay_documents(
    qtbot, book, window, answers
):
    card, sample, session = window.notices, "A Python program", window.session
    window.actions_by_id["sample_rubbish"].trigger()
    (source,) = session.corpus.sources
    assert (source.name, source.documents, source.is_rows) == ("A corpus with rubbish", 275, True)
    assert sample_title(source) == source.name
    session.training.set_settings(Settings(documents="line"))
    quiet(qtbot, window)
    assert [one.documents for one in session.corpus.sources] == [275]
    window.actions_by_id["sample_python"].trigger()
    assert names(window) == ["A corpus with rubbish", sample]
    quiet(qtbot, window)
    session.corpus.set_sources(())
    card.clear()
    window.actions_by_id["sample_python"].trigger()
    assert not card.isVisible()
    answers.files = [book]
    window.actions_by_id["open_corpus"].trigger()
    quiet(qtbot, window)
    assert names(window) == ["book.txt"]
    qtbot.waitUntil(card.isVisible)
    assert card.text.text() == "book.txt replaced the sample A Python program."
    assert card.act_button.text() == "Keep Both"
    assert window.actions_by_id["undo"].text() == "&Undo Replace A Python program"
    qtbot.mouseClick(card.act_button, Qt.MouseButton.LeftButton)
    assert names(window) == [sample, "book.txt"]
    assert not card.isVisible()
    for after in (["book.txt"], [sample]):
        window.actions_by_id["undo"].trigger()
        assert names(window) == after
    # A pasted text is one's own too; the notice goes with what it is about.
    QGuiApplication.clipboard().setText(TEXT)
    window.actions_by_id["paste_corpus"].trigger()
    assert names(window) == ["Pasted text"]
    qtbot.waitUntil(card.isVisible)
    window.session.corpus.set_sources(())
    assert card.text.text() == "Removed Pasted text."
    window.actions_by_id["undo"].trigger()
    # Another sample is added without a word.
    card.clear()
    window.actions_by_id["sample_python"].trigger()
    assert names(window) == ["Pasted text", sample]
    quiet(qtbot, window)
    assert not card.text.text()


@pytest.mark.parametrize(("asks", "stays"), [(True, 60), (False, 10)])
def test_a_notice_that_asks_something_stays_longer(qtbot, theme, show, asks, stays):
    line = NoticeLine(theme, 10)
    show(line, 400, 30)
    line.tell(Notice("other.txt was added.", "Replace", lambda: None, lambda: True, asks))
    assert line.findChild(QTimer).interval() == stays
    qtbot.waitUntil(lambda: line.notice is None)


@at_window("{book}")
def test_a_text_that_is_added_beside_others_can_replace_them_and_a_step_after_another_run_can_be_undone(
    qtbot, tmp_path, book, window, answers
):
    other = tmp_path / "other.txt"
    other.write_text(TEXT + "more")
    card = window.notices
    qtbot.waitUntil(lambda: names(window) == ["book.txt"])
    for files, told in (
        ([other], "other.txt was added beside book.txt."),
        ([book, other], "2 texts were added beside 2 sources."),
    ):
        before = names(window)
        answers.files = files
        window.actions_by_id["open_corpus"].trigger()
        quiet(qtbot, window)
        assert names(window) == [*before, *(file.name for file in files)]
        qtbot.waitUntil(card.isVisible)
        assert card.text.text() == told
    assert card.act_button.text() == "Replace"
    qtbot.mouseClick(card.act_button, Qt.MouseButton.LeftButton)
    assert names(window) == ["book.txt", "other.txt"]
    assert card.text.text() == "Removed 2 sources."
    # Escape closes it; Edit still undoes the removal.
    qtbot.waitUntil(card.isVisible)
    qtbot.keyClick(window, Qt.Key.Key_Escape)
    assert not card.isVisible()
    window.actions_by_id["undo"].trigger()
    assert names(window) == ["book.txt", "other.txt", "book.txt", "other.txt"]
    quiet(qtbot, window)
    # A step has a notice only after another run; a stop hides it, or it is undone.
    session = window.session
    for number in range(2):
        window.actions_by_id["step"].trigger()
        qtbot.waitUntil(lambda: session.training.state == "paused")
        if number:
            qtbot.waitUntil(card.isVisible)
        assert card.isVisible() is (number > 0)
        window.actions_by_id["stop"].trigger()
        quiet(qtbot, window)
        assert not card.isVisible()
    finished = trained(qtbot, window)
    runs = session.runs.all
    assert len(runs) == 3
    merges = len(finished)
    session.view.set_playhead(7)
    window.actions_by_id["step"].trigger()
    qtbot.waitUntil(lambda: session.training.state == "paused" and len(session.runs.active) == 1)
    qtbot.waitUntil(card.isVisible)
    assert card.text.text() == "Step started Run 4. Run 3 is still in Tokenizers, unchanged."
    qtbot.mouseClick(card.act_button, Qt.MouseButton.LeftButton)
    quiet(qtbot, window)
    assert session.runs.all == runs
    assert session.runs.active is finished
    assert len(finished) == merges
    assert not card.isVisible()


@at_window()
def test_a_message_is_hidden_without_its_cause_and_a_sample_tells_of_settings_that_it_does_not_use(qtbot, window):
    with qtbot.waitSignal(window.session.jobs.busy_changed):
        window.session.jobs.failed.emit(FILE)
    assert window.messages.isVisible(), "also while loops are loaded"
    session, messages, card = window.session, window.messages, window.notices
    session.jobs.failed.emit(FILE)
    qtbot.keyClick(window.configure.size_field.number, Qt.Key.Key_Escape)
    assert not messages.isVisible()
    session.jobs.failed.emit(TRAINING)
    session.training.set_settings(Settings(270, None))
    assert not messages.isVisible()
    session.jobs.failed.emit(FILE)
    session.corpus.add_text("the cat sat on the mat " * 50)
    assert messages.isVisible(), "another corpus makes no file writable"
    session.training.start()
    assert not messages.isVisible()
    quiet(qtbot, window)
    session.corpus.set_sources(())
    session.training.set_settings(Settings())
    card.clear()
    window.actions_by_id["sample_train_article"].trigger()
    quiet(qtbot, window)
    QApplication.processEvents()
    assert not card.isVisible()
    for settings in (Settings(100_000, held_out=0.1), Settings(5_000, pattern="(")):
        session.training.set_settings(settings)
        window.actions_by_id["sample_train_article"].trigger()
        quiet(qtbot, window)
        assert session.runs.active.config == Settings().config(), settings
        assert len(session.runs.active) == 1_000 - 256
        qtbot.waitUntil(card.isVisible)
        assert card.text.text() == "The sample trains with the default settings."
        assert card.act_button.text() == "Restore Settings"
        qtbot.mouseClick(card.act_button, Qt.MouseButton.LeftButton)
        assert session.training.settings == settings
        assert not card.isVisible()
