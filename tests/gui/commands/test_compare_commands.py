"""The Compare menu: texts that are opened for measuring only, and parallel sets."""

from __future__ import annotations

import csv
import hashlib
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtGui import QGuiApplication

from tokstudio import __version__, compare
from tokstudio.core.analysis.token_store import hash_work
from tokstudio.core.base.progress import finish
from tokstudio.core.comparison.intervals import NOT_DRAWN
from tokstudio.gui.commands.compare_commands import CompareCommands
from tokstudio.gui.panes.compare.pane import ComparePane
from tokstudio.gui.session.availability import no_intervals, nothing_compared
from tokstudio.gui.session.measuring.compared import file_set, parallel_set, story_set
from tokstudio.gui.session.preferences import Preferences
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.run import RunOrigin
from tokstudio.gui.widgets.file_dialogs import Choosers


class Chosen(Choosers):
    def __init__(self, *paths: Path) -> None:
        super().__init__()
        self.paths = list(paths)
        self.began: list[Path] = []  # the folders that were shown first

    def open_files(self, title: str, folder: Path, filters: str = "") -> list[Path]:
        self.began.append(folder)
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
def folder(tmp_path) -> Path:
    for name, text in (("eng_Latn.txt", "One.\nTwo.\n"), ("deu_Latn.txt", "Eins.\nZwei.\n")):
        (tmp_path / name).write_text(text)
    return tmp_path


def test_texts_for_measuring_do_not_enter_the_corpus_and_are_looked_for_where_they_were_opened_last(
    qtbot, session, folder
):
    made, window = commands(session, folder, folder / "eng_Latn.txt", folder / "deu_Latn.txt")
    made.open_texts()
    assert window.shown == 1
    assert session.comparison.texts.title == "eng_Latn.txt and 1 more"
    session.comparison.set_seen(True)
    qtbot.waitUntil(lambda: session.comparison.rows is not None)
    assert [row.name for row in session.comparison.rows or ()] == ["eng_Latn.txt", "deu_Latn.txt"]
    assert session.corpus.sources == ()
    preferences, chosen = Preferences(folder / "settings.ini"), Chosen(folder / "eng_Latn.txt")
    made = CompareCommands(session, preferences, chosen, Shown(), session)  # pyright: ignore[reportArgumentType]
    preferences.folder = folder / "tokenizers"
    made.open_texts()
    preferences.folder = folder / "tokenizers"
    made.open_texts()
    assert chosen.began == [folder / "tokenizers", folder], "the first time, texts were not opened anywhere"


def test_a_parallel_folder_names_its_languages(qtbot, session, folder):
    made, _ = commands(session, folder, folder)
    made.open_parallel_folder()
    session.comparison.set_seen(True)
    qtbot.waitUntil(lambda: session.comparison.rows is not None)
    rows = session.comparison.rows or ()
    assert [(row.name, row.lines) for row in rows] == [("German deu_Latn", 2), ("English eng_Latn", 2)]
    comparison = session.comparison.comparison
    assert comparison.base == 1  # English


def test_a_cancelled_dialog_changes_nothing_and_the_story_is_a_set(session, tmp_path):
    made, window = commands(session, tmp_path)
    before = session.comparison.texts
    made.open_texts()
    made.open_parallel_folder()
    made.open_parallel_table()
    assert (session.comparison.texts, window.shown) == (before, 0)
    made, window = commands(session, tmp_path)
    made.compare_on_story()
    assert session.comparison.texts.is_parallel
    assert window.shown == 1
    texts = finish(story_set().read())
    assert story_set().title == f"Our story in {len(texts.named)} languages"
    assert {source.documents for _, source in texts.named} == {20}


def test_a_set_that_is_opened_again_replaces_itself_and_keys_of_sets_differ(session, folder):
    made, _ = commands(session, folder, folder / "eng_Latn.txt")
    made.open_texts()
    before = len(session.comparison.sets)
    made.open_texts()
    assert len(session.comparison.sets) == before
    keys = {parallel_set(folder).key, file_set([folder]).key, story_set().key}
    assert len(keys) == 3


@pytest.fixture
def compared(qtbot, session, make_run) -> Session:
    session.corpus.add_texts([("eng", "the cat sat on the mat\n" * 5), ("deu", "die Katze saß auf der Matte\n" * 5)])
    make_run(vocabulary_size=280)
    session.comparison.set_seen(True)
    qtbot.waitUntil(lambda: nothing_compared(session) is None and not session.jobs.running)
    return session


def test_the_shown_figure_is_copied_all_are_written_as_csv_and_a_failure_is_said(qtbot, compared, tmp_path):
    made, _ = commands(compared, tmp_path)
    comparison = compared.comparison.comparison
    clipboard = QGuiApplication.clipboard()
    clipboard.clear()
    made.copy_markdown()
    assert clipboard.text() == ""  # a job makes the table
    qtbot.waitUntil(lambda: clipboard.text() == comparison.to_markdown(["bytes_per_token"]))
    assert "| eng" in clipboard.text()
    made.copy_csv()
    qtbot.waitUntil(lambda: clipboard.text() == comparison.to_csv(figures=["bytes_per_token"]))
    made.copy_latex()
    qtbot.waitUntil(lambda: clipboard.text() == comparison.to_latex(["bytes_per_token"]))
    compared.comparison.choose_figure("words_split")
    made.copy_csv()
    qtbot.waitUntil(lambda: "words_split,eng" in clipboard.text())
    row = next(line for line in clipboard.text().splitlines() if line.startswith("words_split,eng"))
    assert row[-1].isdigit()  # the words are encoded in the job
    made, _ = commands(compared, tmp_path, tmp_path / "out.csv")
    made.save_csv()
    qtbot.waitUntil((tmp_path / "out.csv").exists)
    qtbot.waitUntil(lambda: not compared.jobs.running)
    rows = list(csv.DictReader((tmp_path / "out.csv").read_text().splitlines()))
    words = compare({"Run 1": compared.runs.all[0].tokenizer}, {"eng": "the cat sat on the mat\n" * 5})
    row = next(row for row in rows if "words_split" in row.values() and "eng" in row.values())
    assert float(row["Run 1 (280 tokens)"]) == pytest.approx(float(words.figure("words_split")[0, 0]))
    made, _ = commands(compared, tmp_path, tmp_path / "missing" / "out.html")
    with qtbot.waitSignal(compared.jobs.failed):
        made.save_report()


def test_intervals_are_shown_in_tips_and_dots_and_copied_where_they_are_asked_for(
    qtbot, session, make_run, tmp_path, theme, actions
):
    lines = "".join(f"the cat {'and the dog ' * (number % 4)}sat\n" for number in range(20))
    session.corpus.add_texts([("long", lines), ("short", "the cat\n")])
    make_run(vocabulary_size=280)
    state, pane = session.comparison, ComparePane(session, theme, actions)
    qtbot.addWidget(pane)
    state.set_seen(True)
    pane.show()
    qtbot.waitUntil(lambda: nothing_compared(session) is None and not session.jobs.running)
    made, _ = commands(session, tmp_path)
    assert no_intervals(session) is None
    state.show_intervals(True)
    qtbot.waitUntil(lambda: state.comparison.known_intervals("bytes_per_token") is not None)
    qtbot.waitUntil(lambda: pane.dots.row_text(0).count("[") == 1)
    low, high = state.comparison.intervals("bytes_per_token")[0, 0]
    said = f"[{low:.2f}, {high:.2f}]"
    model = pane.matrix.model
    assert f"Interval: {said}" in model.tip(0, 1)
    assert "Interval" not in model.tip(1, 1)
    assert NOT_DRAWN in pane.meaning.text()
    assert NOT_DRAWN in pane.matrix.summary_model.tip(0, 0)
    assert (
        "resamples, seed 0. No interval where a text has fewer than 10 lines: short has 1 line." in pane.meaning.text()
    )
    clipboard = QGuiApplication.clipboard()
    clipboard.clear()
    made.copy_latex()
    qtbot.waitUntil(lambda: said in clipboard.text())
    reports, _ = commands(session, tmp_path, tmp_path / "with.html")
    reports.save_report()
    qtbot.waitUntil(lambda: (tmp_path / "with.html").exists() and not session.jobs.running)
    assert said in (tmp_path / "with.html").read_text(encoding="utf-8")
    state.choose_figure("tokens_per_line")
    qtbot.waitUntil(lambda: state.comparison.known_intervals("tokens_per_line") is not None)
    state.choose_figure("fertility")
    state.show_intervals(False)
    assert no_intervals(session) == "Intervals are known of these figures: Bytes per token, Tokens per line, Premium."
    state.choose_figure("bytes_per_token")
    assert "Interval" not in model.tip(0, 1)
    assert "[" not in pane.dots.row_text(0)


def test_what_is_copied_names_the_size_at_the_playhead(qtbot, compared, tmp_path):
    made, _ = commands(compared, tmp_path)
    compared.view.set_playhead(5)
    at_playhead = compared.runs.all[0].tokenizer.at(5)
    qtbot.waitUntil(lambda: nothing_compared(compared) is None and not compared.jobs.running)
    digest, clipboard = finish(hash_work(at_playhead)), QGuiApplication.clipboard()
    for copy in (made.copy_markdown, made.copy_csv, made.copy_latex):
        clipboard.clear()
        copy()
        qtbot.waitUntil(lambda: bool(clipboard.text()))
        text = clipboard.text()
        assert text.count("Run 1 (261 tokens)") == 2
        assert text.count("Run 1") == 2
        assert f"Run 1 (261 tokens), SHA-256 {digest}" in text
        assert f"TokStudio {__version__}" in text
        assert all(row.text_sha256 in text for row in compared.comparison.rows or ())
    made, _ = commands(compared, tmp_path, tmp_path / "out.html")
    made.save_report()
    qtbot.waitUntil((tmp_path / "out.html").exists)
    qtbot.waitUntil(lambda: not compared.jobs.running)
    page = (tmp_path / "out.html").read_text()
    assert "Run 1 (261 tokens)" in page
    assert digest in page
    assert "† Trained on this text" in page
    assert "tokstudio run experiment.toml\n" in page


@pytest.mark.parametrize("ending", ["svg", "pdf"])
def test_the_dots_are_written_with_what_they_are_of(qtbot, compared, tmp_path, theme, actions, ending):
    made, window = commands(compared, tmp_path, tmp_path / f"dots.{ending}")
    window.compare = ComparePane(compared, theme, actions)
    qtbot.addWidget(window.compare)
    compared.comparison.choose_figure("words_split")
    made.save_dots()
    qtbot.waitUntil((tmp_path / f"dots.{ending}").exists)
    qtbot.waitUntil(lambda: not compared.jobs.running)
    drawn = (tmp_path / f"dots.{ending}").read_bytes().decode("utf-8", "replace")
    assert drawn.startswith({"svg": "<?xml", "pdf": "%PDF-"}[ending])
    for _, fact in compared.comparison.comparison.facts:
        assert fact in drawn
    if ending == "svg":
        assert ">deu</text>" in re.sub(r"\s*(?=</text>)", "", drawn)
        assert "Words split" in drawn
        assert drawn.count("<path") > 2


def test_the_report_has_the_hashes_of_opened_files(qtbot, compared, tmp_path):
    file, gone = tmp_path / "merges.txt", tmp_path / "vocab.json"
    file.write_bytes(b"some merges")
    origin = RunOrigin(tmp_path, (file, gone), "GPT-2", True)
    compared.runs.add_tokenizer(compared.runs.all[0].tokenizer, "opened", origin)
    qtbot.waitUntil(lambda: nothing_compared(compared) is None)
    made, _ = commands(compared, tmp_path, tmp_path / "out.html")
    made.save_report()
    qtbot.waitUntil((tmp_path / "out.html").exists)
    qtbot.waitUntil(lambda: not compared.jobs.running)
    page = (tmp_path / "out.html").read_text()
    assert hashlib.sha256(b"some merges").hexdigest() in page
    assert "vocab.json" not in page
    assert "Run 1" in page
    assert "<script" not in page


def test_words_are_read_from_a_file(qtbot, session, tmp_path, monkeypatch):
    file = tmp_path / "words.txt"
    file.write_text("quagga\nzebra")
    made, window = commands(session, tmp_path, file)
    with qtbot.waitSignal(session.comparison.words_asked):
        made.open_words()
    assert session.comparison.own_words == "quagga\nzebra"
    assert window.shown == 1
    assert Preferences(tmp_path.parent / f"{tmp_path.name}.ini").folder == tmp_path
    file.write_bytes(b"a " * 1_500_000)
    monkeypatch.setattr("tokstudio.gui.commands.compare_commands.read_source", lambda _: pytest.fail("it is read"))
    with qtbot.waitSignal(session.jobs.failed) as failed:
        made.open_words()
    assert "at most 2 MB" in failed.args[0].text
    assert session.comparison.own_words == "quagga\nzebra"


def test_notes_of_parallel_texts_and_files_are_told(qtbot, session, folder):
    (folder / "deu_Latn.txt").write_bytes("Ein schöner Tag für große Bäume.\nZwei Mäuse.\n".encode("windows-1252"))
    made, _ = commands(session, folder, folder)
    made.open_parallel_folder()
    with qtbot.waitSignal(session.jobs.told) as told:
        session.comparison.set_seen(True)
    assert "deu_Latn.txt: read as windows-1252" in told.args[0]
    assert session.comparison.notes == (told.args[0],)
    made, _ = commands(session, folder, folder / "eng_Latn.txt", folder / "deu_Latn.txt")
    with qtbot.waitSignal(session.jobs.told) as told:
        made.open_texts()
    assert "deu_Latn.txt: read as windows-1252" in told.args[0]


def test_an_empty_file_among_others_is_an_empty_text(qtbot, session, folder, make_run):
    make_run(vocabulary_size=270)
    (folder / "deu_Latn.txt").write_bytes(b"")
    made, _ = commands(session, folder, folder / "eng_Latn.txt", folder / "deu_Latn.txt")
    made.open_texts()
    session.comparison.set_seen(True)
    qtbot.waitUntil(lambda: session.comparison.is_measured)
    comparison = session.comparison.comparison
    assert comparison.tokens[:, 0].tolist()[1] == 0
    assert np.isnan(comparison.figure("bytes_per_token")[1, 0])


def test_a_report_describes_the_settings_that_its_runs_were_trained_with_or_none(qtbot, compared, tmp_path):
    def report(name):
        made, _ = commands(compared, tmp_path, tmp_path / name)
        made.save_report()
        qtbot.waitUntil((tmp_path / name).exists)
        qtbot.waitUntil(lambda: not compared.jobs.running)
        return (tmp_path / name).read_text()

    settings = compared.training.settings
    assert "vocabulary_size = 280" in report("same.html")
    compared.training.set_settings(replace(settings, vocabulary_size=5000))
    assert "tokstudio run" not in report("others.html")
    compared.training.set_settings(settings)
    compared.corpus.add_texts([("fra", "le chat")])
    qtbot.waitUntil(lambda: nothing_compared(compared) is None and not compared.jobs.running)
    assert "tokstudio run" not in report("more.html")
