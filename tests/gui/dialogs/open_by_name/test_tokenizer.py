"""Open by Name: the dialog with mouse and keyboard, and what the window does with its answer."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, QSize, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QApplication

from tests.core.hub.local_hub import Hub, Repository, local_hub
from tests.gui.person import TEXT, at_window
from tokstudio import Corpus, Tokenizer, TrainingConfig, save, train
from tokstudio.core.hub.names import parse_name
from tokstudio.gui.dialogs.open_by_name.tokenizer import WELL_KNOWN, OpenByNameDialog
from tokstudio.gui.panes.configure.pattern_field import PatternDialog
from tokstudio.gui.window.main_window import MainWindow

pytestmark = pytest.mark.usefixtures("unstyled")

SENTENCE = "the cat's hat sat on 1984 mats\n"


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train(Corpus.from_text(TEXT), TrainingConfig(vocabulary_size=300, pattern="gpt2"))


def files_of(tokenizer: Tokenizer, folder: Path, format: str = "huggingface") -> dict[str, bytes]:
    save(tokenizer, folder, format, accept_loss=True)
    return {file.name: file.read_bytes() for file in folder.iterdir()}


@pytest.fixture
def hub(tmp_path, monkeypatch, tokenizer) -> Iterator[Hub]:
    """A hub with the repository `me/tiny`, and with an empty cache."""
    with local_hub(monkeypatch) as made:
        monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
        made.repositories["me/tiny"] = Repository(files_of(tokenizer, tmp_path / "tiny"))
        yield made


def dialog_of(qtbot, window: MainWindow) -> OpenByNameDialog:
    """Chooses the action, and gives the dialog."""
    window.actions_by_id["open_by_name"].trigger()
    (dialog,) = (found for found in window.findChildren(OpenByNameDialog) if found.isVisible())
    qtbot.waitExposed(dialog)
    return dialog


def is_open(window: MainWindow) -> bool:
    return any(dialog.isVisible() for dialog in window.findChildren(OpenByNameDialog))


def runs(qtbot, window: MainWindow, count: int) -> None:
    qtbot.waitUntil(lambda: len(window.session.runs.all) == count)


@at_window()
def test_the_dialog_opens_runs_by_name_or_says_why_not_and_projects_and_recent_files_open_them_without_a_network(
    qtbot, hub, tokenizer, tmp_path, window, answers
):
    # Escape cancels a stalled connection, a link can be typed, and what is opened is saved in a project.
    hub.repositories["me/tiny"].revisions = ("main", "v1")
    hub.stalled.add("tokenizer.json")
    dialog = dialog_of(qtbot, window)
    qtbot.keyClicks(dialog.name, "me/tiny")
    qtbot.keyClick(dialog.name, Qt.Key.Key_Return)
    qtbot.waitUntil(hub.half_sent.is_set)
    qtbot.waitUntil(lambda: dialog.note.text().startswith("Downloading"))
    assert dialog.bar.isVisible()
    assert not dialog.name.isEnabled()
    qtbot.keyClick(dialog.focusWidget(), Qt.Key.Key_Escape)
    assert is_open(window)
    assert (dialog.note.text(), dialog.name.text()) == ("Cancelled.", "me/tiny")
    qtbot.waitUntil(lambda: not window.session.jobs.running)
    hub.stalled.clear()
    dialog.open_button.click()
    runs(qtbot, window, 1)
    assert not is_open(window)
    window.session.runs.delete(window.session.runs.active)

    dialog = dialog_of(qtbot, window)
    qtbot.keyClicks(dialog.name, "https://huggingface.co/me/tiny/tree/v1")
    qtbot.keyClick(dialog.name, Qt.Key.Key_Return)
    runs(qtbot, window, 1)
    assert "GET /api/models/me/tiny/revision/v1" in hub.asked
    answers.target = tmp_path / "work.tokstudio"
    window.actions_by_id["save_project_as"].trigger()
    qtbot.waitUntil(lambda: not window.session.jobs.running)
    hub.status = 500
    hub.asked.clear()
    window.projects.open(tmp_path / "work.tokstudio")
    qtbot.waitUntil(lambda: not window.session.jobs.running)
    runs(qtbot, window, 1)
    assert window.session.runs.active.name == "tiny"
    assert window.session.runs.active.tokenizer.encode(SENTENCE) == tokenizer.encode(SENTENCE)
    assert hub.asked == []

    # The dialog opens tokenizers by name or says why not, and recent files open them without a network.
    window.session.runs.replace_all([])
    hub.status = None
    hub.repositories["me/gated"] = Repository({"tokenizer.json": b"{}"}, refusal=(401, "GatedRepo"))
    hub.repositories["me/pair"] = Repository(files_of(tokenizer, tmp_path / "pair", "gpt2"))
    dialog = dialog_of(qtbot, window)
    for name, told in (("me/none", "no such repository"), ("me/gated", "HF_TOKEN"), ("nonsense", "neither")):
        dialog.name.setText(name)
        dialog.open_button.click()
        qtbot.waitUntil(dialog.name.isEnabled)
        assert told in dialog.note.text()
        assert dialog.note.property("role") == "error"
        assert dialog.name.text() == name
        assert dialog.focusWidget() is dialog.name
    dialog.name.setText("me/tiny")
    assert dialog.note.property("role") == "muted"
    dialog.reject()
    assert not is_open(window)
    assert window.session.runs.all == []
    hub.asked.clear()
    dialog = dialog_of(qtbot, window)
    assert dialog.focusWidget() is dialog.name
    qtbot.keyClicks(dialog.name, "me/tiny")
    assert hub.asked == []
    qtbot.keyClick(dialog.name, Qt.Key.Key_Return)
    runs(qtbot, window, 1)
    assert not is_open(window)
    run = window.session.runs.active
    assert run.name == "tiny"
    assert run.tokenizer.encode(SENTENCE) == tokenizer.encode(SENTENCE)
    assert f"Opened tiny: {len(tokenizer):,} tokens." in window.status.currentMessage()
    dialog = dialog_of(qtbot, window)
    dialog.name.setText("o200k_base")
    assert not dialog.revision.isEnabled()
    dialog.name.setText("me/tiny@main")
    dialog.revision.setText("v1")
    dialog.open_button.click()
    assert "given twice" in dialog.note.text()
    dialog.revision.setText("")
    dialog.name.setText("me/pair")
    dialog.open_button.click()
    asked = partial(window.findChildren, PatternDialog)
    qtbot.waitUntil(lambda: any(question.isVisible() for question in asked()))
    asked()[0].accept_button.click()
    runs(qtbot, window, 2)
    assert window.session.runs.active.name == "pair"
    hub.status = 503
    window.recent.menu.aboutToShow.emit()
    entry = next(entry for entry in window.recent.menu.actions() if entry.text() == "hf:me/tiny")
    entry.trigger()
    runs(qtbot, window, 3)
    assert window.session.runs.active.name.startswith("tiny")
    assert "this is the copy in the cache" in window.status.currentMessage()


def dropped(window: MainWindow, links: list[str], text: str = "") -> bool:
    """Drops links or a text on the window; returns whether the pointer showed that it takes them."""
    data = QMimeData()
    if links:
        data.setUrls([QUrl(link) for link in links])
    data.setText(text or "\n".join(links))
    action, left, none = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    enter = QDragEnterEvent(QPoint(20, 20), action, data, left, none)
    QApplication.sendEvent(window, enter)
    QApplication.sendEvent(window, QDropEvent(QPointF(20, 20), action, data, left, none))
    return enter.isAccepted()


@at_window("hf:gpt2", "hf:me/tiny", "{book}")
def test_a_name_is_an_argument_of_the_window_and_what_is_none_is_refused_in_a_sentence(qtbot, hub, window):
    told = []
    window.session.jobs.failed.connect(lambda problem: told.append(problem.text))
    runs(qtbot, window, 1)
    assert window.session.runs.active.name == "tiny"
    qtbot.waitUntil(lambda: len(window.session.corpus.sources) == 1)
    assert len(told) == 1
    assert told[0].startswith('"hf:gpt2" is not a repository of the Hugging Face Hub: write its owner and its name')
    assert not any("gpt2" in asked for asked in hub.asked)


@pytest.fixture
def dialog(qtbot, session, theme) -> Iterator[OpenByNameDialog]:
    made = OpenByNameDialog(lambda path: iter(()), session.jobs, theme)
    made.open()
    qtbot.waitExposed(made)
    yield made
    made.close()


def test_the_dialog_is_filled_in_by_keyboard_from_well_known_names_on_any_screen(qtbot, dialog, theme):
    dialog.name.setText("me/tiny")
    reached = []
    for _ in range(5):
        reached.append(dialog.focusWidget())
        qtbot.keyClick(dialog.focusWidget(), Qt.Key.Key_Tab)
    assert reached == [dialog.name, dialog.revision, dialog.list, dialog.close_button, dialog.open_button]
    assert dialog.focusWidget() is dialog.name
    dialog.name.clear()
    qtbot.keyClicks(dialog.name, "mine")
    qtbot.keyClick(dialog.name, Qt.Key.Key_Tab)
    qtbot.keyClick(dialog.focusWidget(), Qt.Key.Key_Tab)
    assert dialog.focusWidget() in (dialog.list, dialog.open_button)
    dialog.list.setFocus()
    assert dialog.name.text() == "mine"
    qtbot.keyClick(dialog.list, Qt.Key.Key_Down)
    assert dialog.name.text() in {known.name for known in WELL_KNOWN}
    qtbot.keyClick(dialog.list, Qt.Key.Key_End)
    assert dialog.name.text() == WELL_KNOWN[-1].name
    assert dialog.open_button.isEnabled()
    gated = next(known.name for known in WELL_KNOWN if known.gated)
    dialog.name.setText(gated)
    assert f"The owner of {gated} asks for consent" in dialog.note.text()
    dialog.name.setText("openai-community/gpt2")
    assert "consent" not in dialog.note.text()
    completer = dialog.name.completer()
    completer.setCompletionPrefix("qwen")
    assert completer.currentCompletion() == "Qwen/Qwen3-8B"
    names = [str(parse_name(known.name)) for known in WELL_KNOWN]
    assert len(set(names)) == len(names) == dialog.list.topLevelItemCount()
    for mode in ("light", "dark"):
        theme.set_mode(mode)
        QApplication.processEvents()
        assert dialog.minimumSizeHint().boundedTo(QSize(960, 560)) == dialog.minimumSizeHint()
