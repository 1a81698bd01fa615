"""The whole window, from `main()` to the exported files."""

from __future__ import annotations

import gc
import json
import sys
import time

import numpy as np
import pytest
from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtWidgets import QAbstractButton, QApplication, QDockWidget, QTabBar, QTableView
from tokenizers import Tokenizer as HuggingFaceTokenizer

from tests.gui.person import at_the_window, at_window, drop, export, quiet
from tests.gui.project.behind import BOOK
from tokstudio import Corpus, TrainingConfig, load, train
from tokstudio.cli import main
from tokstudio.core.base.progress import Progress
from tokstudio.core.base.resources import sample_text
from tokstudio.gui.app import app
from tokstudio.gui.dialogs.export.dialog import ExportDialog
from tokstudio.gui.session.preferences import settings_file
from tokstudio.gui.state.training_settings import Settings
from tokstudio.gui.window.main_window import Menu
from tokstudio.gui.window.panes import KINDS

pytestmark = pytest.mark.usefixtures("unstyled")

SENTENCE = "the cat sat on 北京 🌍 and the mat\n"


@pytest.fixture
def book(tmp_path):
    path = tmp_path / "книга one.txt"
    path.write_text(BOOK, encoding="utf-8")
    return path


def trained(qtbot, window, answers, book):
    """Opens a file by the menu, types 400 as the vocabulary size and presses Train."""
    answers.files = [book]
    window.actions_by_id["open_corpus"].trigger()
    qtbot.waitUntil(lambda: len(window.session.corpus.sources) == 1)
    field = window.configure.size_field.number
    field.setFocus()
    field.selectAll()
    qtbot.keyClicks(field, "400")
    qtbot.keyClick(field, Qt.Key.Key_Tab)
    qtbot.keyClick(window, Qt.Key.Key_R, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: window.session.runs.active is not None and window.session.training.current is None)


@at_window()
def test_opening_training_and_exporting_by_the_menus_after_which_closing_does_not_ask(
    qtbot, tmp_path, book, window, answers
):
    expected = train(Corpus.from_text(BOOK), TrainingConfig(vocabulary_size=400))
    session = window.session
    trained(qtbot, window, answers, book)
    run = session.runs.active
    assert np.array_equal(run.merges, expected.merges)
    assert run.ended == "reached vocabulary size"

    # Their own sentence, typed.
    field = window.text.encode.input
    field.setFocus()
    qtbot.keyClicks(field, "the cat sat")
    assert session.view.text == "the cat sat"
    qtbot.waitUntil(lambda: window.text.page.state[0] == "good")

    # The playhead by keys: the text falls apart with it.
    window.corpus.setFocus()
    qtbot.keyClick(window, Qt.Key.Key_Home, Qt.KeyboardModifier.AltModifier)
    assert session.view.playhead == 0
    qtbot.keyClick(window, Qt.Key.Key_BracketRight)
    qtbot.keyClick(window, Qt.Key.Key_BracketRight)
    assert session.view.playhead == 2
    assert session.view.tokenizer.encode("the cat sat") == expected.at(2).encode("the cat sat")
    qtbot.keyClick(window, Qt.Key.Key_End, Qt.KeyboardModifier.AltModifier)
    assert session.view.playhead == 144

    # The files.
    folder = tmp_path / "out"
    folder.mkdir()
    export(qtbot, window, "classic", folder)
    merges = [[pair, 256 + k] for k, pair in enumerate(expected.merges.tolist())]
    assert json.loads((folder / "merges.json").read_text()) == {"merges": merges}
    vocabulary = json.loads((folder / "vocabulary.json").read_text())
    assert [bytes(token["bytes"]) for token in vocabulary.values()] == list(expected.tokens)

    export(qtbot, window, "huggingface", folder)
    theirs = HuggingFaceTokenizer.from_file(str(folder / "tokenizer.json"))
    assert theirs.encode(SENTENCE).ids == expected.encode(SENTENCE)
    assert "Read back: identical on " in window.status.currentMessage()
    # The menu opens the dialog with the last ones.
    window.actions_by_id["export_tokenizer"].trigger()
    dialog = next(dialog for dialog in window.findChildren(ExportDialog) if dialog.isVisible())
    assert dialog.windowModality() == Qt.WindowModality.WindowModal
    assert dialog.list.chosen == ("huggingface",)
    assert dialog.folder.folder == folder / "Run 1"
    dialog.reject()

    for name in ("merges.csv", "merges.jsonl", "vocabulary.csv"):
        answers.target = folder / name
        window.actions_by_id[f"export_{name.replace('.', '_')}"].trigger()
        qtbot.waitUntil(lambda: not session.jobs.running)
    assert (folder / "merges.csv").read_text(encoding="utf-8").count("\n") == 145
    assert (folder / "merges.jsonl").read_text(encoding="utf-8").count("\n") == 144
    assert (folder / "vocabulary.csv").read_text(encoding="utf-8").count("\n") == 401

    answers.target = folder / "plot.png"
    window.actions_by_id["export_plot_png"].trigger()
    qtbot.waitUntil(lambda: not session.jobs.running)
    assert QImage(str(answers.target)).width() == 1600
    answers.target = folder / "plot.svg"
    window.actions_by_id["export_plot_svg"].trigger()
    qtbot.waitUntil(lambda: not session.jobs.running)
    assert b"<svg" in answers.target.read_bytes()

    # And open them again.
    answers.files = [folder / "merges.json"]
    window.actions_by_id["open_tokenizer"].trigger()
    qtbot.waitUntil(lambda: len(session.runs.all) == 2)
    assert session.runs.active.tokenizer.encode(SENTENCE) == expected.encode(SENTENCE)
    assert not any(path.name.startswith(".") for path in folder.iterdir())
    assert load(tmp_path / "out").encode(SENTENCE) == expected.encode(SENTENCE)
    answers.asked.clear()
    assert window.close()
    assert answers.asked == []


@at_window("{book}")
def test_step_pause_resume_and_stop_by_keys_and_closing_ends_a_training_only_after_asking(qtbot, book, window, answers):
    session = window.session
    qtbot.waitUntil(lambda: len(session.corpus.sources) == 1)
    # A sample replaces a corpus, but not without asking.
    answers.yes = False
    window.actions_by_id["sample_train_python"].trigger()
    assert session.corpus.sources[0].name == book.name
    assert session.training.current is None
    answers.asked.clear()
    for made in (1, 2, 3):
        qtbot.keyClick(window, Qt.Key.Key_F10)
        qtbot.waitUntil(lambda made=made: session.runs.active is not None and len(session.runs.active) == made)
        qtbot.waitUntil(lambda: session.training.state == "paused")
    assert window.actions_by_id["pause"].text() == "&Resume"
    changed = []
    window.actions_by_id["pause"].changed.connect(lambda: changed.append(session.training.state))
    session.view.set_text("another text")
    assert not changed, "what stays the same is not set again: the tool bar would be laid out anew"
    qtbot.keyClick(window, Qt.Key.Key_F5, Qt.KeyboardModifier.ShiftModifier)
    qtbot.waitUntil(lambda: session.training.current is None)
    assert session.runs.active.ended == "stopped"
    assert len(session.runs.active) == 3
    qtbot.keyClick(window, Qt.Key.Key_F10)
    qtbot.waitUntil(lambda: session.training.state == "paused" and len(session.runs.active) == 1)
    qtbot.keyClick(window, Qt.Key.Key_F6)
    qtbot.waitUntil(lambda: session.training.current is None)
    assert session.runs.active.ended == "reached vocabulary size"
    assert np.array_equal(session.runs.active.merges[:3], session.runs.all[0].merges)
    session.training.set_settings(Settings(280))
    session.training.start()
    qtbot.waitUntil(lambda: session.training.current is None)
    shown = []
    for key in (Qt.Key.Key_PageUp, Qt.Key.Key_PageUp, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown):
        qtbot.keyClick(window, key, Qt.KeyboardModifier.AltModifier)
        shown.append(session.runs.active.name)
    assert shown == ["Run 2", "Run 1", "Run 3", "Run 1"]
    session.training.step()
    qtbot.waitUntil(lambda: session.training.state == "paused")
    qtbot.keyClick(window, Qt.Key.Key_PageUp, Qt.KeyboardModifier.AltModifier)
    assert session.runs.active is session.training.current.run
    assert "stays active" in window.actions_by_id["previous_run"].toolTip()
    assert not window.close()
    assert len(answers.asked) == 1
    assert "in progress" in answers.asked[0]
    assert session.training.state == "paused"
    answers.yes = True
    assert window.close()
    assert len(answers.asked) == 2


@at_window()
def test_one_click_on_a_sample_of_the_welcome_trains_it(qtbot, window):
    session = window.session
    expected = train(Corpus.from_text(sample_text("python")), TrainingConfig(vocabulary_size=1000))
    for by in ("mouse", "Enter"):
        qtbot.waitUntil(window.compression.welcome.isVisible)
        buttons = window.compression.findChildren(QAbstractButton)
        card = next(one for one in buttons if one.isVisible() and "Python program" in one.accessibleName() + one.text())
        if by == "mouse":
            qtbot.mouseClick(card, Qt.MouseButton.LeftButton)
        else:
            card.setFocus()
            qtbot.keyClick(card, Qt.Key.Key_Return)
        qtbot.waitUntil(lambda: session.runs.active is not None and len(session.runs.active) > 0)
        if by == "Enter":
            session.training.stop()
        quiet(qtbot, window)
        made = session.runs.active.merges
        assert np.array_equal(made, expected.merges[: len(made)]), by
        assert by == "Enter" or len(made) == len(expected.merges)
        assert session.view.text, by
        session.runs.delete(session.runs.active)
        session.corpus.set_sources(())
        session.view.set_text("")


def test_the_window_remembers_what_was_changed_also_for_late_panes_until_the_settings_are_reset(qtbot, monkeypatch):
    def change(window, answers):
        window.token.close()
        window.actions_by_id["byte_level_characters"].trigger()
        window.sizes.model_width.setValue(768)
        window.actions_by_id["theme_dark"].trigger()
        window.actions_by_id["show_ids"].trigger()
        window.actions_by_id["more_settings"].trigger()
        window.session.training.set_settings(
            Settings(5000, 3, pattern="gpt2", special_tokens=("<|end|>",), documents="line")
        )
        window.show_workspace("learn")

    def look(window, answers):
        assert len(window._made) < len(KINDS)
        assert [window.make_some() for _ in range(7)] == [*[True] * 6, False]
        assert window.sizes.model_width.value() == 768
        texts = {menu.title(): menu for menu in window.menuBar().findChildren(Menu)}
        columns = next(menu for title, menu in texts.items() if title.replace("&", "") == "Columns of Vocabulary")
        columns.aboutToShow.emit()
        assert columns.actions() == window.vocabulary.table.columns_menu.actions()
        QApplication.processEvents()
        window.show_workspace("train")
        assert window.token.isHidden()
        assert window.theme.palette.dark
        assert window.actions_by_id["theme_dark"].isChecked()
        assert window.actions_by_id["show_ids"].isChecked()
        assert window.actions_by_id["byte_level_characters"].isChecked()
        assert window.actions_by_id["more_settings"].isChecked()
        assert window.configure.more.isVisible()
        assert window.session.training.settings == Settings(
            5000, 3, pattern="gpt2", special_tokens=("<|end|>",), documents="line"
        )

    def look_again(window, answers):
        assert window.actions_by_id["theme_system"].isChecked()

    assert at_the_window(monkeypatch, change) == 0
    assert at_the_window(monkeypatch, look) == 0
    assert "dark" in settings_file().read_text()
    assert at_the_window(monkeypatch, look_again, ["--reset-settings"]) == 0
    assert "dark" in settings_file().with_name("settings.ini.old").read_text()


@at_window()
def test_actions_are_in_menus_files_are_dropped_damaged_ones_refused_ids_written_and_each_pane_has_one_tab(
    qtbot, window, tmp_path, answers, book
):
    listed, names = set(), []
    waiting = [action.menu() for action in window.menuBar().actions()]
    while waiting:
        menu = waiting.pop()
        if menu.objectName() != "recent":
            menu.aboutToShow.emit()
        for action in menu.actions():
            listed.add(action.objectName())
            # What stands below "Recent" is the person's, and a speed is no deed.
            names += [action.text().replace("&", "")] if action.objectName() or action.menu() else []
            if action.menu() is not None:
                waiting.append(action.menu())
    assert set(window.actions_by_id) <= listed
    assert {name for name in names if names.count(name) > 1} == set(), "two entries would be called the same"
    for action in window.actions_by_id.values():
        assert action.statusTip().endswith(".")
        assert action.toolTip()
    keys = [key.toString() for action in window.actions_by_id.values() for key in action.shortcuts()]
    assert len(set(keys)) == len(keys)
    damaged = tmp_path / "tokenizer.json"
    damaged.write_text('{"model": {"type": "BPE", "vocab": {')
    answers.files = [damaged]
    window.actions_by_id["open_tokenizer"].trigger()
    qtbot.waitUntil(window.messages.isVisible)
    assert window.messages.text.text().startswith("tokenizer.json: ")
    assert "\n" not in window.messages.text.text()
    assert window.session.runs.all == []
    window.messages.copy_button.click()
    assert QGuiApplication.clipboard().text().startswith("tokenizer.json: ")
    window.messages.close_button.click()
    assert not window.messages.isVisible()
    drop(window, book)
    qtbot.waitUntil(lambda: len(window.session.corpus.sources) == 1)
    assert window.session.corpus.sources[0].bytes == len(BOOK)
    QGuiApplication.clipboard().setText("pasted text")
    window.actions_by_id["paste_corpus"].trigger()
    assert window.session.corpus.current.bytes == len(BOOK) + 11

    def tabs(window) -> list[str]:
        bars = window.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly)
        return sorted(bar.tabText(tab) for bar in bars if bar.isVisible() for tab in range(bar.count()))

    wanted = sorted(pane.windowTitle() for pane in window.panes if window.tabifiedDockWidgets(pane))
    assert {"Merges", "Vocabulary", "Tokenizers"} <= set(wanted)
    assert tabs(window) == wanted
    for change in (window.reset_layout, lambda: window.arrange(window.arrangement()), lambda: window.arrange("no")):
        change()
        qtbot.waitUntil(lambda: tabs(window) == wanted)
    the_ids_of_the_text_are_written_as_they_are_shown(qtbot, tmp_path, window, answers)
    controls_have_names_and_tab_visits_every_visible_one_and_no_hidden_one(qtbot, window)


def the_ids_of_the_text_are_written_as_they_are_shown(qtbot, tmp_path, window, answers):
    session, action = window.session, window.actions_by_id["export_ids"]
    session.training.set_settings(Settings(300, special_tokens=("<|end|>",)))
    qtbot.keyClick(window, Qt.Key.Key_R, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: session.runs.active is not None and session.training.current is None)
    assert not action.isEnabled()
    assert action.toolTip() == "The Text pane is empty."
    qtbot.keyClicks(window.text.encode.input, "the cat<|end|>")
    session.view.set_playhead(5)
    answers.target = tmp_path / "ids.json"
    action.trigger()
    qtbot.waitUntil(lambda: not session.jobs.running)
    assert json.loads(answers.target.read_text()) == session.view.tokenizer.encode("the cat<|end|>")
    window.actions_by_id["recognise_specials"].trigger()
    answers.target, told = tmp_path / "ids.npy", []
    session.jobs.told.connect(told.append)
    action.trigger()
    qtbot.waitUntil(lambda: not session.jobs.running)
    ids = np.load(answers.target)
    assert ids.dtype == np.uint16
    assert ids.tolist() == session.view.tokenizer.encode("the cat<|end|>", "all")
    assert told == [f"Wrote ids.npy to {tmp_path}."]


def controls_have_names_and_tab_visits_every_visible_one_and_no_hidden_one(qtbot, window):
    quiet(qtbot, window)
    QApplication.processEvents()
    hidden = [pane for pane in window.panes if pane.visibleRegion().isEmpty()]
    assert hidden
    in_front = [pane for pane in window.panes if pane not in hidden]
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    focused = []
    noting = QApplication.instance().focusChanged.connect(lambda _, now: focused.append(now))
    for key in (Qt.Key.Key_Tab, Qt.Key.Key_Backtab):
        window.corpus.source_list.setFocus()
        seen = []
        while (now := window.focusWidget()) not in seen and len(seen) < 300:
            assert not any(pane.isAncestorOf(now) for pane in hidden), now
            seen.append(now)
            qtbot.keyClick(now, key)
        assert all(any(pane.isAncestorOf(widget) for widget in seen) for pane in in_front), key
    QObject.disconnect(noting)
    assert set(focused) >= set(seen)
    assert not any(pane.isAncestorOf(now) for pane in hidden for now in focused), "not for a moment"
    for pane in window.findChildren(QDockWidget):
        for widget in pane.findChildren(QTableView) + pane.findChildren(QAbstractButton):
            internal = widget.isHidden() or widget.objectName().startswith("qt_")
            if not internal and widget.focusPolicy() != Qt.FocusPolicy.NoFocus:
                text = getattr(widget, "text", lambda: "")()
                assert text or widget.accessibleName(), (pane.objectName(), widget)
    window.resize(1024, 640)
    qtbot.waitUntil(lambda: (window.width(), window.height()) == (1024, 640))
    assert window.minimumSizeHint().width() <= 1024
    assert window.minimumSizeHint().height() <= 640


def test_closing_asks_about_a_run_trained_after_the_demo_but_not_about_that_of_the_demo(qtbot, monkeypatch):
    asked = []

    def act(window, answers):
        asked.append(answers.asked)
        assert window.session.training.current is not None
        assert window.projects.may_leave("Quit", window.close, closing=True), "while it trains, too"
        quiet(qtbot, window)
        assert window.projects.may_leave("Quit", window.close, closing=True)
        window.session.training.set_settings(Settings(300))
        window.actions_by_id["train"].trigger()
        quiet(qtbot, window)

    assert at_the_window(monkeypatch, act, ["--demo"]) == 0
    assert asked == [["Run 2 has not been saved or exported."]]


def test_a_picture_that_cannot_be_written_is_an_error(qtbot, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(app, "_PICTURE_SETTLES", 0)
    assert main(["--demo", "--screenshot", str(tmp_path / "missing" / "demo.png")]) == 1
    assert "demo.png: the picture could not be written." in capsys.readouterr().err


def test_other_threads_and_garbage_collection_do_not_block_the_window(qtbot, monkeypatch, freeze):
    monkeypatch.setattr(gc, "freeze", freeze)
    over: list[bool] = []

    def endless():
        while not over:
            time.sleep(0.01)
            yield Progress("waiting")

    def act(window, answers):
        assert sys.getswitchinterval() == pytest.approx(0.00005)
        qtbot.waitUntil(lambda: gc.get_freeze_count() > frozen + 1000)
        over.append(True)

    monkeypatch.setattr(app, "prepare_work", endless)
    frozen = gc.get_freeze_count()
    sys.setswitchinterval(0.005)
    assert at_the_window(monkeypatch, act) == 0
