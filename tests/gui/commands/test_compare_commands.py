"""The Compare menu: texts that are opened for measuring only, and parallel sets."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot

from tests.gui.person import PATIENCE
from tokstudio import compare
from tokstudio.core.base.progress import finish
from tokstudio.gui.commands.compare_commands import CompareCommands
from tokstudio.gui.session.availability import nothing_compared
from tokstudio.gui.session.preferences import Preferences
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.state.text_set import file_set, parallel_set, story_set
from tokstudio.gui.widgets.file_dialogs import Choosers


class Chosen(Choosers):
    def __init__(self, *paths: Path) -> None:
        super().__init__()
        self.paths = list(paths)

    def open_files(self, title: str, folder: Path, filters: str = "") -> list[Path]:
        return self.paths

    def save_file(self, title: str, suggestion: Path, filters: str) -> Path | None:
        return next(iter(self.paths), None)

    def open_folder(self, title: str, folder: Path) -> Path | None:
        return next(iter(self.paths), None)


class Shown:
    shown = 0

    def show_compare(self) -> None:
        self.shown += 1


def commands(session: Session, folder: Path, *paths: Path) -> tuple[CompareCommands, Shown]:
    window = Shown()
    return CompareCommands(
        session, Preferences(folder.parent / f"{folder.name}.ini"), Chosen(*paths), window, session
    ), window  # pyright: ignore[reportArgumentType]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in (("eng_Latn.txt", "One.\nTwo.\n"), ("deu_Latn.txt", "Eins.\nZwei.\n")):
        (tmp_path / name).write_text(text)
    return tmp_path


def test_texts_for_measuring_do_not_enter_the_corpus(qtbot: QtBot, session: Session, folder: Path) -> None:
    made, window = commands(session, folder, folder / "eng_Latn.txt", folder / "deu_Latn.txt")
    made.open_texts()
    assert window.shown == 1
    assert session.comparison.texts.title == "eng_Latn.txt and 1 more"
    session.comparison.set_seen(True)
    qtbot.waitUntil(lambda: session.comparison.rows is not None, timeout=PATIENCE)
    assert [row.name for row in session.comparison.rows or ()] == ["eng_Latn.txt", "deu_Latn.txt"]
    assert session.corpus.sources == ()


def test_a_parallel_folder_names_its_languages(qtbot: QtBot, session: Session, folder: Path) -> None:
    made, _ = commands(session, folder, folder)
    made.open_parallel_folder()
    session.comparison.set_seen(True)
    qtbot.waitUntil(lambda: session.comparison.rows is not None, timeout=PATIENCE)
    rows = session.comparison.rows or ()
    assert [(row.name, row.lines) for row in rows] == [("German deu_Latn", 2), ("English eng_Latn", 2)]
    comparison = session.comparison.comparison
    assert comparison is not None
    assert comparison.base == 1  # English


def test_unequal_lengths_are_refused_in_the_pane(qtbot: QtBot, session: Session, folder: Path) -> None:
    (folder / "deu_Latn.txt").write_text("Eins.\n")
    made, _ = commands(session, folder, folder)
    made.open_parallel_folder()
    session.comparison.set_seen(True)
    qtbot.waitUntil(lambda: bool(session.comparison.problem), timeout=PATIENCE)
    assert "2" in session.comparison.problem
    assert "1" in session.comparison.problem


def test_the_story_is_a_set_from_the_beginning(session: Session, tmp_path: Path) -> None:
    made, window = commands(session, tmp_path)
    made.compare_on_story()
    assert session.comparison.texts.is_parallel
    assert window.shown == 1
    texts = finish(story_set().read())
    assert len(texts) >= 24
    assert {source.documents for _, source in texts} == {20}


def test_a_cancelled_dialog_changes_nothing(session: Session, tmp_path: Path) -> None:
    made, window = commands(session, tmp_path)
    before = session.comparison.texts
    made.open_texts()
    made.open_parallel_folder()
    made.open_parallel_table()
    assert (session.comparison.texts, window.shown) == (before, 0)


def test_a_set_that_is_opened_again_replaces_itself(session: Session, folder: Path) -> None:
    made, _ = commands(session, folder, folder / "eng_Latn.txt")
    made.open_texts()
    before = len(session.comparison.sets)
    made.open_texts()
    assert len(session.comparison.sets) == before


def test_keys_of_sets_differ(folder: Path) -> None:
    keys = {parallel_set(folder).key, file_set([folder]).key, story_set().key}
    assert len(keys) == 3


@pytest.fixture
def compared(qtbot: QtBot, session: Session, make_run: Callable[..., StudioRun]) -> Session:
    session.corpus.add_texts([("eng", "the cat sat on the mat\n" * 5), ("deu", "die Katze saß auf der Matte\n" * 5)])
    make_run(vocabulary_size=280)
    session.comparison.set_seen(True)
    qtbot.waitUntil(lambda: nothing_compared(session) is None and not session.jobs.running, timeout=PATIENCE)
    return session


def test_the_shown_figure_is_copied(compared: Session, tmp_path: Path) -> None:
    made, _ = commands(compared, tmp_path)
    made.copy_figure()
    comparison = compared.comparison.comparison
    assert comparison is not None
    assert QGuiApplication.clipboard().text() == comparison.to_markdown(["bytes_per_token"])
    assert "| eng" in QGuiApplication.clipboard().text()


def test_all_figures_are_written_as_csv(qtbot: QtBot, compared: Session, tmp_path: Path) -> None:
    made, _ = commands(compared, tmp_path, tmp_path / "out.csv")
    made.save_csv()
    qtbot.waitUntil((tmp_path / "out.csv").exists, timeout=PATIENCE)
    qtbot.waitUntil(lambda: not compared.jobs.running, timeout=PATIENCE)
    rows = list(csv.DictReader((tmp_path / "out.csv").read_text().splitlines()))
    words = compare({"Run 1": compared.runs.all[0].tokenizer}, {"eng": "the cat sat on the mat\n" * 5})
    row = next(row for row in rows if "words_split" in row.values() and "eng" in row.values())
    assert float(row["Run 1"]) == pytest.approx(float(words.figure("words_split")[0, 0]))


def test_the_report_is_written(qtbot: QtBot, compared: Session, tmp_path: Path) -> None:
    made, _ = commands(compared, tmp_path, tmp_path / "out.html")
    made.save_report()
    qtbot.waitUntil((tmp_path / "out.html").exists, timeout=PATIENCE)
    qtbot.waitUntil(lambda: not compared.jobs.running, timeout=PATIENCE)
    page = (tmp_path / "out.html").read_text()
    assert "Run 1" in page
    assert "<script" not in page


def test_a_report_that_cannot_be_written_is_said(qtbot: QtBot, compared: Session, tmp_path: Path) -> None:
    made, _ = commands(compared, tmp_path, tmp_path / "missing" / "out.html")
    with qtbot.waitSignal(compared.jobs.failed, timeout=PATIENCE):
        made.save_report()
