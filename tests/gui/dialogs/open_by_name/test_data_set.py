"""Open Data Set by Name: the dialog, and what the window does with its answer."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

import pytest
from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QApplication, QDialog

from tests.core.corpus.remote.sets import card, parquet, texts
from tests.core.hub.local_hub import COMMIT, Hub, Repository, local_hub
from tests.gui.dialogs.open_by_name.test_tokenizer import dropped
from tests.gui.person import at_window
from tokstudio.core.hub.addresses import parse_address
from tokstudio.core.hub.kept_texts import kept_texts
from tokstudio.gui.dialogs.open_by_name.data_set import WELL_KNOWN, OpenDataSetDialog
from tokstudio.gui.dialogs.open_by_name.tokenizer import OpenByNameDialog
from tokstudio.gui.window.main_window import MainWindow

Dialog = TypeVar("Dialog", bound=QDialog)
pytestmark = pytest.mark.usefixtures("unstyled")


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    """Those of the data set."""
    shards = {f"data/deu/train-{number}.parquet": parquet(texts(3_000, number), 300) for number in range(3)}
    other = {"data/deu/test-0.parquet": parquet(["test"]), "data/fra/train-0.parquet": parquet(["un", "deux"])}
    return {"README.md": card("deu", "fra"), **shards, **other}


@pytest.fixture
def hub(tmp_path, monkeypatch, files) -> Iterator[Hub]:
    """A hub with the data set `me/set`, and with empty caches."""
    folder = tmp_path / "cache" / "tokstudio"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("tokstudio.core.hub.kept_texts.cache_folder", lambda: folder)
    with local_hub(monkeypatch) as made:
        monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
        made.repositories["datasets/me/set"] = Repository(dict(files), gated=True)
        yield made


def shown(window: MainWindow, kind: type[Dialog]) -> list[Dialog]:
    return [found for found in window.findChildren(kind) if found.isVisible()]


def dialog_of(qtbot, window: MainWindow) -> OpenDataSetDialog:
    """Chooses the action, and gives the dialog."""
    window.actions_by_id["open_data_set"].trigger()
    (dialog,) = shown(window, OpenDataSetDialog)
    qtbot.waitExposed(dialog)
    return dialog


@at_window()
def test_a_sample_is_opened_after_a_look_at_it(qtbot, window, hub):
    dialog = dialog_of(qtbot, window)
    assert hub.asked == [], "nothing is asked for before Look is pressed"
    qtbot.keyClicks(dialog.name, "me/set")
    qtbot.keyClick(dialog.name, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: not dialog.is_busy)
    note = dialog.note.text()
    assert "2 configurations: choose one" in note
    assert "licence odc-by" in note
    assert "its owner asks for consent" in note
    assert [choice.value for choice in dialog.configuration.choices] == ["", "deu", "fra"]
    dialog.configuration.setCurrentIndex(1)
    qtbot.waitUntil(lambda: not dialog.is_busy and bool(dialog.text.choices))
    assert dialog.texts.count() == 10
    assert dialog.texts.item(0).text().startswith(texts(1, 0)[0][:100])
    assert [choice.value for choice in dialog.split.choices] == ["train", "test"]
    assert "3 files of Parquet" in dialog.note.text()
    assert dialog.amount.value() == 100
    dialog.amount.setValue(1)
    dialog.seed.setValue(5)
    dialog.open_button.click()
    qtbot.waitUntil(lambda: any(one.origin for one in window.session.corpus.sources))
    [source] = [one for one in window.session.corpus.sources if one.origin is not None]
    assert source.name == "hf:datasets/me/set:deu/train"
    assert 900_000 < source.bytes <= 1_000_000
    request = source.origin.request
    assert (source.origin.commit, request.sample_bytes, request.seed) == (COMMIT, 1_000_000, 5)
    # The next time it is in the list, from which it is removed.
    dialog = dialog_of(qtbot, window)
    first = dialog.list.topLevelItem(0)
    assert first.text(1).startswith("in the cache: sample of 1.0 MB")
    first.setSelected(True)
    assert dialog.name.text() == f"hf:datasets/me/set:deu/train@{COMMIT}"
    dialog.remove_button.click()
    assert kept_texts() == []
    assert dialog.list.topLevelItemCount() == len(WELL_KNOWN)
    dialog.reject()


@at_window()
def test_a_dropped_link_to_a_data_set_or_a_tokenizer_fills_in_its_dialog_and_another_one_is_answered(window, hub):
    link = "https://huggingface.co/datasets/me/set"
    for links, text, name in (
        ([link], "", "hf:datasets/me/set"),
        ([f"{link}/viewer/deu/train"], "", "hf:datasets/me/set:deu/train"),
        ([], f"{link}/tree/v1/data\n", "hf:datasets/me/set/data@v1"),
        ([], " hf:datasets/me/set:deu ", "hf:datasets/me/set:deu"),
        (["hf:datasets/me/set"], "", "hf:datasets/me/set"),
        (["s3://bucket/a/*.txt"], "", "s3://bucket/a/*.txt"),
    ):
        assert dropped(window, links, text)
        (dialog,) = shown(window, OpenDataSetDialog)
        assert dialog.name.text() == name
        assert dialog.open_button.isEnabled()
        dialog.reject()
    assert not window.messages.isVisible()
    assert hub.asked == [], "nothing is asked for before Look is pressed"
    dropped(window, [], f"see {link}")
    assert [source.name for source in window.session.corpus.sources] == ["Dropped text"]
    window.session.corpus.set_sources(())

    # So does a link to a tokenizer in the other dialog; a link to something else is answered.
    there = "https://huggingface.co/me/tiny"

    for links, text, revision in (
        ([there], "", ""),
        ([f"{there}/tree/v1"], "", "v1"),
        (["https://example.org/x", f"{there}/resolve/v1/tokenizer.json?download=true"], "", "v1"),
        ([], f" {there}/blob/v1/tokenizer.json\n", "v1"),
        ([], "hf:me/tiny@v1", "v1"),
    ):
        assert dropped(window, links, text)
        (dialog,) = shown(window, OpenByNameDialog)
        assert (dialog.name.text(), dialog.revision.text()) == ("hf:me/tiny", revision)
        dialog.reject()
    for links, text in (
        (["https://example.org/owner/name"], ""),
        (["https://huggingface.co/datasets/me"], ""),
        (["s3://"], ""),
        ([], "https://example.org/owner/name"),
    ):
        window.messages.clear()
        dropped(window, links, text)
        assert window.messages.isVisible()
        told = window.messages.text.text()
        assert " is not opened. Drop files, folders, text, or a link to a tokenizer or a data set" in told
        assert not shown(window, OpenByNameDialog)
    assert not window.session.corpus.sources
    dropped(window, [], "hf: is short for Hugging Face, see https://huggingface.co/me/tiny")
    assert [source.name for source in window.session.corpus.sources] == ["Dropped text"]


@pytest.fixture
def dialog(qtbot, session, theme) -> Iterator[OpenDataSetDialog]:
    made = OpenDataSetDialog(session.jobs, theme)
    made.open()
    qtbot.waitExposed(made)
    yield made
    made.close()


def test_a_wrong_name_and_a_refusal_are_told_in_the_dialog(qtbot, dialog, hub):
    dialog.name.setText("nothing")
    dialog.open_button.click()
    assert "is not a data set of the Hugging Face Hub" in dialog.note.text()
    hub.repositories["datasets/me/set"].refusal = 401, "GatedRepo"
    dialog.name.setText("me/set:deu")
    dialog.open_button.click()
    qtbot.waitUntil(lambda: not dialog.is_busy)
    assert "accept the terms" in dialog.note.text()
    assert "HF_TOKEN" in dialog.note.text()


def test_cancel_ends_a_look_and_leaves_the_name(qtbot, dialog, hub):
    hub.stalled.add("README.md")
    dialog.name.setText("me/set")
    dialog.open_button.click()
    qtbot.waitUntil(hub.half_sent.is_set)
    dialog.close_button.click()
    assert dialog.isVisible()
    assert (dialog.note.text(), dialog.name.text()) == ("Cancelled.", "me/set")


def test_the_dialog_fits_any_screen_and_its_names_are_names(dialog, theme):
    names = [str(parse_address(f"hf:datasets/{known.name}")) for known in WELL_KNOWN]
    assert len(set(names)) == len(names)
    for mode in ("light", "dark"):
        theme.set_mode(mode)
        QApplication.processEvents()
        assert dialog.minimumSizeHint().boundedTo(QSize(960, 580)) == dialog.minimumSizeHint()


def test_no_row_of_the_list_is_cut_however_high_it_is(dialog):
    for height in range(dialog.height(), dialog.height() + 40, 7):
        dialog.resize(dialog.width(), height)
        QApplication.processEvents()
        row = dialog.list.sizeHintForRow(0)
        assert dialog.list.viewport().height() % row == 0
        assert dialog.list.viewport().height() > 3 * row
