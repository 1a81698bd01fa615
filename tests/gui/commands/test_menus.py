"""The menus: every entry has a key of its own, and says what it does or why it is grey; Measure On."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from PySide6.QtCore import SIGNAL, Qt
from PySide6.QtGui import QGuiApplication, QKeySequence, QStatusTipEvent
from PySide6.QtWidgets import QAbstractButton, QApplication, QComboBox, QDialog, QLabel, QMenu, QMenuBar, QTabBar

from tests.gui.person import TEXT, at_window, quiet, trained
from tokstudio.core.comparison.alignment import TextTokens
from tokstudio.core.guide.pages import read_pages
from tokstudio.gui.dialogs.checking.tokenizer import CheckTokenizerDialog
from tokstudio.gui.dialogs.checking.trained_on import TrainedOnDialog
from tokstudio.gui.dialogs.checking.training import CheckTrainingDialog, MakeExerciseDialog
from tokstudio.gui.dialogs.your_turn import YourTurnDialog
from tokstudio.gui.window.workspaces import WORKSPACES

ROOT = Path(__file__).resolve().parents[3]
pytestmark = pytest.mark.usefixtures("unstyled")


@at_window()
def test_every_entry_has_a_letter_and_says_what_it_does_menus_are_short_and_copying_needs_no_button(qtbot, window):
    window.resize(1024, 640)
    qtbot.waitUntil(lambda: window.width() == 1024)
    corpus, training, train = window.session.corpus, window.session.training, window.actions_by_id["train"]
    keys = train.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
    for _ in range(2):
        assert not train.isEnabled()
        assert train.toolTip() == train.statusTip() == training.obstacle
        corpus.add_text(TEXT)
        qtbot.waitUntil(lambda: training.obstacle is None)
        assert train.isEnabled()
        assert train.toolTip() == f"Train ({keys})"
        assert train.statusTip() == "Train a tokenizer on the corpus."
        training.start()
        # As where the mouse rests on it.
        QApplication.sendEvent(window, QStatusTipEvent(train.statusTip()))
        assert window.status.currentMessage() == training.obstacle == "Training is in progress."
        quiet(qtbot, window)
        assert window.status.currentMessage() != "Training is in progress."
        corpus.set_sources(())
    available = window.actions_by_id["open_corpus"]
    keys = available.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
    assert available.isEnabled()
    assert available.toolTip() == f"Open Corpus ({keys})"
    assert available.statusTip() not in ("", available.toolTip())
    for entry in window.menuBar().actions():
        menus = [entry.menu()]
        for menu in menus:
            shown = [action for action in menu.actions() if not action.isSeparator()]
            letters = [found.group(1).lower() for one in shown for found in re.finditer("&([^&])", one.text())]
            assert len(letters) == len(shown) or menu is not menus[0], "every entry has a letter"
            assert [letter for letter, times in Counter(letters).items() if times > 1] == [], menu.title()
            menus += [one.menu() for one in shown if one.menu() is not None]
    QGuiApplication.clipboard().setText("as before")
    qtbot.waitUntil(window.isActiveWindow)
    tried = 0
    for pane in window.panes:
        window.places.open(pane)
        for button in pane.findChildren(QAbstractButton):
            if button.isVisible() and button.focusPolicy() & Qt.FocusPolicy.StrongFocus:
                button.setFocus()
                tried += QApplication.focusWidget() is button
                qtbot.keyClick(button, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
                window.actions_by_id["copy"].trigger()
    assert tried > 10
    assert QGuiApplication.clipboard().text() == "as before"
    look_at_menus(window)
    changes_of_actions_do_not_add_up(window)


def look_at_menus(window) -> None:
    """They are short, and have one term, one way of capitals, and each entry that a document names."""
    bar = window.menuBar()
    for entry in bar.actions():
        menu, left = entry.menu(), bar.actionGeometry(entry).left()
        entries = [action for action in menu.actions() if not action.isSeparator()]
        assert len(entries) <= 14, entry.text()
        assert left + menu.sizeHint().width() <= 1024, entry.text()
        for each in (menu, *(action.menu() for action in entries if action.menu() is not None)):
            assert each.sizeHint().height() <= 600, (entry.text(), each.title())
    look_for_what_documents_name(bar)
    look_at_capitals_and_icons(window.toolbar.export_button.menu())
    texts = [text for action in window.actions_by_id.values() for text in (action.text(), action.toolTip())]
    texts += [pane.windowTitle() for pane in window.panes]
    texts += [label.text() for label in window.findChildren(QLabel)]
    texts += [page.text for page in read_pages()]
    # Tokenizers, and the tie rule.
    for words in (r"\bRuns\b(?! (the|a|in|on)\b)", r"^Ties:?$", r"\*Ties\*", r"\blearnt\b"):
        assert [text[:60] for text in texts if re.search(words, text, re.MULTILINE)] == [], words


def changes_of_actions_do_not_add_up(window) -> None:
    grown = []
    for name, action in window.actions_by_id.items():
        followers = []
        for _ in range(4):
            for enabled in (not action.isEnabled(), action.isEnabled()):
                action.setEnabled(enabled)
            followers.append(action.receivers(SIGNAL("changed()")))
        if followers[-1] > followers[0]:
            grown.append(name)
    assert not grown


def look_for_what_documents_name(menus: QMenuBar) -> None:
    def entries(menu):
        return {re.sub("&(?=[^&])", "", action.text()): action.menu() for action in menu.actions() if action.text()}

    def below(menu):
        """The texts of all entries of a menu and of the menus in it."""
        for text, inner in entries(menu).items():
            yield text.removesuffix("…")
            yield from below(inner) if inner is not None else ()

    texts = [page.text for page in read_pages()]
    texts += [path.read_text("utf-8") for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))]
    bar, named = entries(menus), 0
    for first, *path in (found.split(" > ") for text in texts for found in re.findall(r"\*(\w+ > [^*]+)\*", text)):
        menu = bar.get(first)  # others are in dialogs
        for entry in path if menu is not None else ():
            assert entry in entries(menu), (first, *path)
            menu, named = entries(menu)[entry], named + 1
    assert named > 5
    # Sentences of the program, too: "Change Pattern in the Tokenizer menu", "Help > Continue the Tour".
    texts += [re.sub(r'"\s*f?"', "", path.read_text("utf-8")) for path in sorted((ROOT / "tokstudio").rglob("*.py"))]
    names, named = "|".join(map(re.escape, bar)), 0
    for text in texts:
        plain = re.sub(r"\[([^\]]+)\]\([^)]*\)|[*`]", r"\1", text)
        for found in re.finditer(rf"…? in the (?:menu ({names})\b|({names}) menu)", plain):
            before, menu = plain[: found.start()], bar[found[1] or found[2]]
            assert any(map(before.endswith, below(menu))), (before[-40:], found[0])
            named += 1
        for found in re.finditer(rf"\b({names}) > (?=[A-Z])", plain):
            after = plain[found.end() :][:60]
            assert any(map(after.startswith, below(bar[found[1]]))), found[0] + after
            named += 1
    assert named > 10


def look_at_capitals_and_icons(menu: QMenu) -> None:
    """Of the menu of Export, where an icon says that an entry is for all formats."""
    entries = [action for action in menu.actions() if not action.isSeparator()]
    assert [action.text() for action in entries[1:] if not action.icon().isNull()] == []
    small = {"a", "as", "of", "the"}
    for action in entries:
        first, *others = action.text().replace("&", "").split()
        assert first[0].isupper() or first in ("minbpe…", "tiktoken…"), "their names are written so"
        assert all(word[0].isupper() for word in others if word not in small), action.text()
    icons = {action.icon().cacheKey() for action in entries if not action.icon().isNull()}
    assert len(icons) == 1


def letters_in_sight(window, root) -> list[str]:
    """The letters that reach a control of `root`, or a menu."""
    behind = [pane for pane in window.panes if pane.visibleRegion().isEmpty()]

    def is_behind(widget):
        return any(pane.isAncestorOf(widget) for pane in behind)

    texts = [each.text() for each in root.findChildren(QAbstractButton) if each.isVisible() and not is_behind(each)]
    labels = [each for each in root.findChildren(QLabel) if each.buddy() is not None]
    texts += [each.text() for each in labels if each.isVisible() and not is_behind(each)]
    for bar in root.findChildren(QTabBar):
        texts += [bar.tabText(at) for at in range(bar.count())] if bar.isVisible() and not is_behind(bar) else []
    texts += [entry.text() for entry in window.menuBar().actions()] if root is window else []
    return [found[1].lower() for text in texts for found in re.finditer("&([^&])", text.replace("&&", ""))]


@at_window()
def test_letters_of_controls_in_sight_and_menus_are_unique_in_every_state(qtbot, window):
    looked = []

    def look(state, root=window):
        QApplication.processEvents()
        found = Counter(letters_in_sight(window, root))
        assert [letter for letter, times in found.items() if times > 1] == [], state
        looked.append(len(found))

    def look_at_panes(state):
        look(state)
        for pane in [pane for pane in window.places.panes if pane.visibleRegion().isEmpty()]:
            window.places.open(pane)
            look((state, pane.objectName()))

    for name in WORKSPACES:
        window.show_workspace(name)
        look((name, "empty"))
    window.session.corpus.add_text(TEXT)
    run = trained(qtbot, window)
    window.actions_by_id["more_settings"].trigger()
    for name in WORKSPACES:
        window.show_workspace(name)
        look_at_panes(name)
    window.show_workspace("train")
    window.places.open(window.configure)
    algorithms = next(box for box in window.configure.findChildren(QComboBox) if "lgorithm" in box.accessibleName())
    for at in range(algorithms.count()):
        algorithms.setCurrentIndex(at)
        algorithms.activated.emit(at)
        look(algorithms.itemText(at))
    algorithms.setCurrentIndex(0)
    algorithms.activated.emit(0)
    window.dialogs.show_export(run, ["classic"])
    window.dialogs.show_train_several()
    window.show_preferences()
    beside = ("check_tokenizer", "check_training", "trained_on", "make_exercise")
    others = ("your_turn", "prune_tokenizer", "change_specials", "fork_tokenizer", "open_by_name")
    for name in (*beside, *beside, *others):
        if window.actions_by_id[name].isEnabled():
            window.actions_by_id[name].trigger()
    quiet(qtbot, window)
    dialogs = {type(each): each for each in window.findChildren(QDialog) if each.isVisible()}
    for dialog in dialogs.values():
        look(dialog.windowTitle(), dialog)
    # Those that do not block are shown once.
    for kind in (CheckTokenizerDialog, CheckTrainingDialog, TrainedOnDialog, MakeExerciseDialog):
        assert not dialogs[kind].isModal()
        assert len(window.findChildren(kind)) == 1
    qtbot.keyClick(dialogs[YourTurnDialog], Qt.Key.Key_Escape)
    assert not dialogs[YourTurnDialog].isVisible()
    for dialog in dialogs.values():
        dialog.close()
    assert len(dialogs) >= 8
    assert max(looked) > 10


@at_window()
def test_every_row_is_measured_on_the_chosen_text(qtbot, tmp_path, window, answers):
    other = tmp_path / "shakespeare.txt"
    other.write_text("To be, or not to be: that is the question.\n" * 9, encoding="utf-8")
    broken = tmp_path / "missing.txt"
    session, on_text = window.session, window.session.on_text
    session.corpus.add_text("the cat sat on the mat. " * 40)
    run = trained(qtbot, window)
    actions = window.actions_by_id

    def chosen(action, name):
        actions[action].trigger()
        qtbot.waitUntil(lambda: on_text.text is not None and on_text.text.name == name)
        qtbot.waitUntil(lambda: isinstance(on_text.found(run), TextTokens))
        return on_text.found(run)

    window.runs.show()
    window.runs.raise_()
    sources = session.corpus.sources
    before = on_text.text.name
    answers.files = [other]
    found = chosen("measure_on_file", "shakespeare.txt")
    assert found.tokens == len(run.tokenizer.encode(other.read_text(encoding="utf-8")))
    assert session.corpus.sources == sources, "it is measured on, not trained on"
    assert window.runs.text_button.text() == "Measured on shakespeare.txt"

    answers.files = [broken]
    actions["measure_on_file"].trigger()
    qtbot.waitUntil(lambda: not session.jobs.running)
    assert on_text.text.name == "shakespeare.txt", "the last text stays"
    answers.files = []
    actions["measure_on_file"].trigger()
    assert on_text.text.name == "shakespeare.txt"

    session.view.set_text("")
    assert not actions["measure_on_text"].isEnabled()
    session.view.set_text("the question")
    assert chosen("measure_on_text", "the text “the question”").tokens == len(run.tokenizer.encode("the question"))

    assert not actions["measure_on_held_out"].isEnabled()
    assert chosen("measure_on_corpus", before).tokens == run.log.tokens_at(len(run))
