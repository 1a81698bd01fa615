"""Opening data sets: asked for once, read the same way after that, and changed later."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton

from tests.gui.person import TEXT, asked_to_import, at_the_window, at_window, drop, quiet
from tokstudio import Corpus, count
from tokstudio.core.corpus.readers.contents import Reading
from tokstudio.gui.dialogs.corpus_import.dialog import ImportDialog

pytestmark = pytest.mark.usefixtures("unstyled")


def write(path: Path, *, names: tuple[str, str, str] = ("lang", "title", "body")) -> Path:
    rows = [dict(zip(names, (("de", "en")[n % 2], f"Part {n}", f"the cat {n} "), strict=True)) for n in range(4)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def texts(window) -> dict[str, bytes]:
    return {source.name: source.data.tobytes() for source in window.session.corpus.sources}


def asks(window) -> bool:
    return any(dialog.isVisible() for dialog in window.findChildren(ImportDialog))


def choose(dialog: ImportDialog, column: str, split_by: str = "") -> None:
    dialog.text.setCurrentIndex([choice.value for choice in dialog.text.choices].index(column))
    dialog.divisor.setCurrentIndex([choice.value for choice in dialog.divisor.choices].index(split_by))
    dialog.import_button.click()


TITLES = b"Part 0Part 1Part 2Part 3"
BODIES = b"the cat 0 the cat 1 the cat 2 the cat 3 "


def by_menu(window, answers, path: Path) -> None:
    answers.files = [path]
    window.actions_by_id["open_corpus"].trigger()


def by_dropping(window, answers, path: Path) -> None:
    drop(window, path)


def by_recent_files(window, answers, path: Path) -> None:
    window.preferences.add_recent([path], "text")
    window.recent.menu.aboutToShow.emit()
    window.recent.menu.actions()[0].trigger()


@at_window()
def test_a_data_set_is_asked_for_and_replaces_a_sample_which_can_be_kept(qtbot, tmp_path, window, answers):
    window.actions_by_id["sample_article"].trigger()
    assert window.status.currentMessage().startswith("Added the sample How tokenizers work to the corpus.")
    quiet(qtbot, window)
    names = []
    for opened in (by_menu, by_dropping, by_recent_files):
        # Other columns, since the choice for these would be remembered.
        names.append(f"{opened.__name__}.jsonl")
        path = write(tmp_path / names[-1], names=("lang", "title", f"body {opened.__name__}"))
        opened(window, answers, path)
        choose(asked_to_import(qtbot, window), "title")
        quiet(qtbot, window)
        assert texts(window) == dict.fromkeys(names, TITLES)
        if opened is by_menu:
            keep = [button for button in window.notices.findChildren(QPushButton) if button.text() == "Keep Both"]
            keep[0].click()
            quiet(qtbot, window)
            assert list(texts(window)) == ["How tokenizers work", *names]
            window.session.corpus.remove_sources([0])


def test_the_same_columns_are_asked_for_once_and_the_next_start_proposes_the_choice_and_asks_for_others(
    qtbot, monkeypatch, tmp_path
):
    first, second, third = (write(tmp_path / f"{name}.jsonl") for name in "abc")
    (tmp_path / "plain.txt").write_text(TEXT)

    def begin(window, answers):
        dialog = asked_to_import(qtbot, window)
        assert dialog.text.value == "body"
        assert "1 other file with the same columns" in dialog.facts.text()
        choose(dialog, "title")
        quiet(qtbot, window)
        assert texts(window) == {"a.jsonl": TITLES, "plain.txt": TEXT.encode(), "b.jsonl": TITLES}
        window.opening.open_paths([third])
        quiet(qtbot, window)
        assert not asks(window)
        assert texts(window)["c.jsonl"] == TITLES
        assert 'the column "title" is read' in window.notices.text.text()

    def go_on(window, answers):
        recent = window.preferences.recent
        other = write(tmp_path / "other.jsonl", names=("language", "name", "words"))
        window.opening.open_paths([first, other])
        dialog = asked_to_import(qtbot, window)
        assert (dialog.headline.text(), dialog.text.value) == ("a.jsonl", "title")
        # What is cancelled is left out.
        dialog.cancel.click()
        dialog = asked_to_import(qtbot, window)
        assert dialog.headline.text() == "other.jsonl"
        choose(dialog, "name")
        quiet(qtbot, window)
        assert texts(window) == {"other.jsonl": TITLES}
        assert window.preferences.recent == [(other, "text"), *recent]
        window.session.corpus.set_sources(())
        first.write_text(first.read_text() + '{"id": 3}\n')
        window.opening.open_paths([first])
        choose(asked_to_import(qtbot, window), "title", "lang")
        quiet(qtbot, window)
        model = window.corpus.source_list.sources_model
        tip = model.data(model.index(0, 0), Qt.ItemDataRole.ToolTipRole)
        assert "JSON Lines, column title, lang de · 12 bytes" in tip
        assert "1 row without the column dropped" in tip

    assert at_the_window(monkeypatch, begin, [str(first), str(tmp_path / "plain.txt"), str(second)]) == 0
    assert at_the_window(monkeypatch, go_on) == 0


@at_window()
def test_columns_are_changed_brought_back_by_undo_and_read_again_in_a_changed_file_and_a_project(
    qtbot, tmp_path, window, answers
):
    path = write(tmp_path / "a.jsonl")
    (tmp_path / "plain.txt").write_text(TEXT)
    corpus, change = window.session.corpus, window.actions_by_id["change_columns"]
    assert not change.isEnabled()
    window.opening.open_paths([path, tmp_path / "plain.txt"])
    choose(asked_to_import(qtbot, window), "body")
    quiet(qtbot, window)
    before = corpus.sources
    corpus.set_weights((2000, 1000))
    window.corpus.source_list.select_rows([0])
    menu = window.corpus.make_menu()
    assert change in menu.actions()
    menu.close()
    change.trigger()
    dialog = asked_to_import(qtbot, window)
    assert dialog.text.value == "body"
    choose(dialog, "title", "lang")
    quiet(qtbot, window)
    parts = {"a.jsonl: de": b"Part 0Part 2", "a.jsonl: en": b"Part 1Part 3"}
    assert texts(window) == {**parts, "plain.txt": TEXT.encode()}
    assert corpus.weights == (2000, 2000, 1000)
    # One part stands for all parts of its file.
    window.corpus.source_list.select_rows([1])
    change.trigger()
    choose(asked_to_import(qtbot, window), "body")
    quiet(qtbot, window)
    assert texts(window)["a.jsonl"] == BODIES
    window.session.history.undo()
    quiet(qtbot, window)
    assert list(texts(window)) == [*parts, "plain.txt"]
    window.session.history.undo()
    quiet(qtbot, window)
    assert corpus.sources == before
    assert corpus.weights == (2000, 1000)
    window.corpus.source_list.select_rows([1])
    change.trigger()
    assert "Select a data set" in window.status.currentMessage()

    # A changed file and a project are read in the same way, without a question.
    corpus.set_sources(())
    names = ("lang", "title", "words")
    path, project = write(tmp_path / "a.jsonl", names=names), tmp_path / "kept.tokstudio"
    window.opening.open_paths([path])
    choose(asked_to_import(qtbot, window), "title", "lang")
    quiet(qtbot, window)
    answers.target = project
    window.actions_by_id["save_project_as"].trigger()
    quiet(qtbot, window)
    path.write_text('{"lang": "en", "title": "New", "words": "b"}\n')
    window.session.corpus.reread(1, None)
    quiet(qtbot, window)
    assert texts(window) == {"a.jsonl: de": b"Part 0Part 2", "a.jsonl: en": b"New"}
    write(path, names=names)
    window.opening.open_paths([project])
    quiet(qtbot, window)
    assert texts(window) == {"a.jsonl: de": b"Part 0Part 2", "a.jsonl: en": b"Part 1Part 3"}
    assert not asks(window)


@at_window()
def test_what_is_truncated_or_read_as_plain_text_is_read_by_column_again_and_without_text_refused(
    qtbot, tmp_path, window, answers
):
    path = tmp_path / "a.jsonl.gz"
    rows = "".join(json.dumps({"text": f"the cat {n:,} sat {n * 7919:x}", "name": "A"}) + "\n" for n in range(1_500))
    path.write_bytes(gzip.compress(rows.encode())[:-1_000])
    window.opening.open_paths([path])
    asked_to_import(qtbot, window).import_button.click()
    quiet(qtbot, window)
    assert texts(window) == {}
    [problem] = window.corpus.problems.problems
    assert "ends too early" in problem
    assert "without the rest" not in problem
    buttons = [one for one in window.corpus.problems.findChildren(QPushButton) if one.isVisible()]
    assert [button.accessibleName() for button in buttons] == ["Keep what was whole of a.jsonl.gz"]
    buttons[0].click()
    quiet(qtbot, window)
    assert not asks(window)
    [source] = window.session.corpus.sources
    assert source.data[:9].tobytes() == b"the cat 0"
    assert source.reading == Reading(field="text", keep_truncated=True)
    assert "ends too early" in source.note
    window.actions_by_id["change_columns"].trigger()
    choose(asked_to_import(qtbot, window), "name")
    quiet(qtbot, window)
    assert window.corpus.problems.problems[0].startswith("a.jsonl.gz: the compressed data ends too early")
    [source] = window.session.corpus.sources
    assert source.reading == Reading(field="name", keep_truncated=True)
    window.session.corpus.set_sources(())
    path = write(tmp_path / "a.jsonl")
    window.opening.open_paths([path])
    asked_to_import(qtbot, window).plain_button.click()
    quiet(qtbot, window)
    assert texts(window) == {"a.jsonl": path.read_bytes()}
    window.corpus.source_list.select_rows([0])
    window.actions_by_id["change_columns"].trigger()
    asked_to_import(qtbot, window).import_button.click()
    quiet(qtbot, window)
    assert texts(window) == {"a.jsonl": BODIES}
    window.session.corpus.set_sources(())

    # JSON without text is refused; a table of counted words opens as its sources.
    path = tmp_path / "a.jsonl"
    path.write_text(text := '["the", 12]\n["cat", 3]\n')
    window.opening.open_paths([path])
    quiet(qtbot, window)
    assert texts(window) == {}
    assert window.corpus.problems.problems == (
        "a.jsonl: no column of this JSON holds text; if these are word counts, open them as such (train --counts).",
    )
    [button] = [one for one in window.corpus.problems.findChildren(QPushButton) if one.isVisible()]
    assert (button.text(), button.accessibleName()) == ("Read as Plain Text", "Read a.jsonl as plain text")
    button.click()
    quiet(qtbot, window)
    assert texts(window) == {"a.jsonl": text.encode()}
    assert window.corpus.problems.problems == ()
    window.session.corpus.set_sources(())
    window.recent.menu.aboutToShow.emit()
    window.recent.menu.actions()[0].trigger()
    quiet(qtbot, window)
    assert texts(window) == {"a.jsonl": text.encode()}
    window.session.corpus.set_sources(())
    for name in ("a", "b"):
        (tmp_path / f"{name}.txt").write_text(f"the cat {name} " * 5)
    table = tmp_path / "counts.parquet"
    count(Corpus.from_files([tmp_path / "a.txt", tmp_path / "b.txt"]), pattern="gpt2").save(table)
    answers.files = [table]
    window.actions_by_id["open_counts"].trigger()
    quiet(qtbot, window)
    assert window.corpus.problems.problems == ()
    assert [source.name for source in window.session.corpus.sources] == ["a.txt", "b.txt"]
    assert all(source.counts is not None for source in window.session.corpus.sources)
    assert window.status.currentMessage() == "Pattern gpt2 taken over from counts.parquet."
    assert window.actions_by_id["train"].isEnabled()
    window.session.corpus.reread(1, None)
    quiet(qtbot, window)
    assert [source.name for source in window.session.corpus.sources] == ["a.txt", "b.txt"]
