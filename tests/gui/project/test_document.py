"""Projects in the window: saving, opening, continuing, missing files, and questions before losing work."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import errno
import os
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt

from tests.gui.person import at_the_window, drop, quiet, trained
from tests.gui.project.behind import BOOK, at_a_session
from tokstudio import Corpus, TrainingConfig, count, extend, train
from tokstudio import save as save_tokenizer
from tokstudio.core.base.progress import Progress, finish
from tokstudio.core.project import open_work, save_work
from tokstudio.gui.dialogs.export.dialog import ExportDialog
from tokstudio.gui.project.snapshot import adopt, project_work, reopen_work, snapshot
from tokstudio.gui.session.common.view_state import Chat
from tokstudio.gui.session.measuring.compared import file_set, parallel_set
from tokstudio.gui.session.preferences import ASK_BEFORE_CLOSING
from tokstudio.gui.state.training_settings import Settings

pytestmark = pytest.mark.usefixtures("unstyled")
CHAT = Chat((("system", "Be brief.\n日本"), ("user", "Hello")), prompt=True)


@pytest.fixture
def book(tmp_path):
    path = tmp_path / "книга one.txt"
    path.write_text(BOOK, encoding="utf-8")
    return path


@pytest.fixture
def project(tmp_path):
    return tmp_path / "my cats.tokstudio"


def step(qtbot, window, made):
    window.actions_by_id["step"].trigger()
    session = window.session
    qtbot.waitUntil(lambda: session.training.state == "paused" and len(session.runs.active) == made)


def saved(qtbot, window, answers, path):
    answers.target = path
    window.actions_by_id["save_project"].trigger()
    quiet(qtbot, window)
    assert path.exists(), window.messages.text.text()


def opened(qtbot, window, path):
    qtbot.waitUntil(lambda: window.projects.path == path)
    quiet(qtbot, window)


def make(qtbot, book, project, size=300):
    """A project with a run on a book."""

    def act(behind):
        behind.train(size)
        behind.save(project)
        assert not behind.projects.unsaved

    at_a_session(qtbot, act, [book])


def is_dropped_after_one_question(qtbot, window, answers, book, project):
    session = window.session
    session.corpus.add_text("other text " * 50)
    trained(qtbot, window, 260)
    answers.yes = False
    drop(window, project)
    qtbot.waitUntil(lambda: bool(answers.asked))
    assert answers.asked == ["Run 1 has not been saved or exported."]
    quiet(qtbot, window)
    assert window.projects.path is None
    step(qtbot, window, 1)
    answers.yes = True
    drop(window, project, book)
    qtbot.waitUntil(lambda: len(answers.asked) == 2)
    assert "in progress" in answers.asked[1]
    assert "Run 1 has not been saved or exported." in answers.asked[1]
    opened(qtbot, window, project)
    told = f"Opened {project.name}. Other files are not opened with a project."
    assert window.status.currentMessage() == told
    assert [run.name for run in session.runs.all] == ["Run 1"]
    assert len(session.runs.all[0]) == 44
    assert [source.name for source in session.corpus.sources] == [book.name]
    save_tokenizer(session.runs.all[0].tokenizer, book.parent / "tokenizer", accept_loss=True)
    with qtbot.waitSignal(window.projects.done) as again:
        drop(window, project, book.parent / "tokenizer")
    assert again.args == [told]
    quiet(qtbot, window)
    assert [run.name for run in session.runs.all] == ["Run 1"], "no tokenizer, either"

    # What is open already is listed among the recent ones.
    window.recent.menu.aboutToShow.emit()
    assert str(project) in [action.text() for action in window.recent.menu.actions()]


def test_a_project_is_dropped_after_one_question_and_the_texts_of_compare_come_back_or_are_said_to_be_missing(
    qtbot, monkeypatch, tmp_path, book, project
):
    parallel, notes = tmp_path / "story", tmp_path / os.fsdecode(b"notes \xff.txt")
    parallel.mkdir()
    for name, text in (("eng_Latn.txt", "One.\nTwo.\n"), ("deu_Latn.txt", "Eins.\nZwei.\n")):
        (parallel / name).write_text(text, encoding="utf-8")
    notes.write_text("some notes\n")

    def save(behind):
        compare = behind.session.comparison
        behind.train(300)
        behind.save(project)
        assert not behind.projects.modified
        compare.add_texts(file_set([notes]))
        assert behind.projects.modified
        compare.add_texts(parallel_set(parallel))
        compare.set_seen(True)
        qtbot.waitUntil(lambda: len(compare.rows or ()) == 2)
        compare.choose_figure("premium")
        compare.choose_base("German deu_Latn")
        compare.set_own_words("cat hat")
        compare.set_simple({"Bytes"})
        compare.show_intervals(True)
        behind.save(project)
        assert not behind.projects.modified

    dropped = tmp_path / "dropped.tokstudio"
    make(qtbot, book, dropped)

    def reopen(window, answers):
        is_dropped_after_one_question(qtbot, window, answers, book, dropped)
        compare, model = window.session.comparison, window.compare.matrix.model

        def open_and_show(path, rows):
            answers.files = [path]
            window.projects.ask_and_open()
            opened(qtbot, window, path)
            shows(rows)

        def shows(rows):
            window.show_compare()
            qtbot.waitUntil(lambda: [model.index(row, 0).data() for row in range(model.rowCount())] == rows)

        open_and_show(project, both := ["German deu_Latn (base)", "English eng_Latn"])
        assert [each.title for each in compare.sets[4:]] == ["notes \ufffd.txt", "story"]
        assert (compare.figure, compare.base, compare.own_words) == ("premium", "German deu_Latn", "cat hat")
        assert compare.simple == {"Bytes"}
        assert compare.intervals
        assert window.actions_by_id["show_intervals"].isChecked()
        assert not window.projects.modified
        assert not window.messages.isVisible()
        window.compare.texts.setCurrentIndex(4)
        shows(["notes \ufffd.txt (base)"])
        parallel.rename(tmp_path / "moved")
        open_and_show(project, [])
        said = "story was not found. Compare still lists the text, and can read it when it is back."
        assert window.messages.text.text() == said
        assert [each.title for each in compare.sets[4:]] == ["notes \ufffd.txt", "story"]
        qtbot.waitUntil(lambda: "story" in window.compare.problem.text())
        (tmp_path / "moved").rename(parallel)
        qtbot.mouseClick(window.compare.measure, Qt.MouseButton.LeftButton)
        shows(both)
        # Of a project without them, such as one of an earlier version, nothing is left of the last.
        kept = finish(open_work(project))
        state = {key: value for key, value in kept.state.items() if key != "comparison"}
        finish(save_work(replace(kept, state=state), tmp_path / "earlier.tokstudio"))
        open_and_show(tmp_path / "earlier.tokstudio", [book.name])
        assert len(compare.sets) == 4
        assert not compare.intervals
        assert not window.actions_by_id["show_intervals"].isChecked()

    at_a_session(qtbot, save, [book])
    assert at_the_window(monkeypatch, reopen) == 0


@pytest.mark.parametrize(
    "kept",
    [
        7,
        {"sets": 1, "texts": [], "figure": ["x"], "base": 1, "against": {}, "simple": "Bytes", "intervals": 1},
        {"words": 4},
        {"sets": [None, {}, {"parallel": 1, "paths": ["a"]}, {"parallel": True, "paths": ["a", "b"]}], "figure": "no"},
        {"sets": [{"parallel": False, "paths": [7, "", "a\0b"]}, {"parallel": False, "paths": "abc"}], "simple": [[]]},
    ],
)
def test_wrong_values_of_compare_in_a_project_are_as_at_the_start(session, kept):
    before = session.comparison.to_plain()
    session.comparison.restore(kept)
    assert session.comparison.to_plain() == before
    assert len(session.comparison.sets) == 4


def test_everything_is_saved_and_opened_again(qtbot, monkeypatch, tmp_path, book, project):
    def save(window, answers):
        session = window.session
        first = trained(qtbot, window, 300)
        answers.files = [tmp_path / "classic" / "merges.json"]
        save_tokenizer(first.tokenizer, tmp_path / "classic", "classic", accept_loss=True)
        window.actions_by_id["open_tokenizer"].trigger()
        qtbot.waitUntil(lambda: len(session.runs.all) == 2)
        session.corpus.add_text("pasted \ud800 text. " * 30)
        session.training.set_settings(Settings(280, pattern="gpt2", special_tokens=("<|end|>",)))
        session.training.start()
        quiet(qtbot, window)
        session.runs.rename(first, "日本 <b>first</b>")
        session.runs.show_curves({session.runs.all[1]: False, session.runs.all[2]: False})
        session.runs.activate(first)
        session.view.set_playhead(17)
        session.view.set_text("the cat \n 🌍 sat")
        session.view.set_chat(CHAT)
        session.training.set_settings(Settings(None, 5, base="characters", held_out=0.25))
        window.token.close()
        window.merges.raise_()
        saved(qtbot, window, answers, project)
        assert window.windowTitle() == "my cats[*] – 日本 <b>first</b> – TokStudio"
        assert not window.isWindowModified()
        session.view.set_text("something else")
        assert window.isWindowModified()
        session.view.set_text("the cat \n 🌍 sat")
        assert not window.isWindowModified()
        session.view.set_chat(Chat())
        assert window.isWindowModified()
        session.view.set_chat(CHAT)
        assert not window.isWindowModified()

    def look(window, answers):
        opened(qtbot, window, project)
        session = window.session
        assert not window.isWindowModified()
        assert [source.name for source in session.corpus.sources] == [book.name, "Pasted text"]
        assert session.corpus.current.bytes == len(BOOK) + len("pasted � text. ".encode() * 30)
        assert [run.name for run in session.runs.all] == ["日本 <b>first</b>", "classic/vocabulary.json", "Run 2"]
        assert [run.marks.curve_hidden for run in session.runs.all] == [False, True, True]
        assert session.runs.active is session.runs.all[0]
        assert session.view.playhead == 17
        assert session.view.text == "the cat \n 🌍 sat"
        assert window.text.chat.list.chat == session.view.chat == CHAT
        assert session.training.settings == Settings(None, 5, base="characters", held_out=0.25)
        expected = train(Corpus.from_text(BOOK), TrainingConfig(vocabulary_size=300)).run
        assert np.array_equal(session.runs.active.merges, expected.merges)
        assert np.array_equal(session.runs.active.log.count, expected.counts)
        assert np.array_equal(session.runs.active.uses.at(17), expected.uses(17))
        assert session.runs.all[1].tokenizer.encode("the cat") == session.runs.all[0].tokenizer.encode("the cat")
        assert session.runs.all[2].special_tokens == {"<|end|>": 279}
        assert [(run.number, run.hue) for run in session.runs.all] == [(1, 0), (0, -2), (2, 1)]
        assert window.token.isHidden()
        assert not any(run.unsaved for run in session.runs.all)

    assert at_the_window(monkeypatch, save, [str(book)]) == 0
    for file in (tmp_path / "classic").iterdir():
        file.unlink()
    assert at_the_window(monkeypatch, look, [str(project)]) == 0


def test_a_stopped_run_that_was_opened_continues_as_if_uninterrupted(qtbot, book, project):
    def save(behind):
        behind.session.training.set_settings(Settings(330))
        behind.step(3)
        behind.session.training.stop()
        behind.wait()
        behind.save(project)

    def go_on(behind):
        session = behind.session
        behind.open(project)
        assert session.runs.active.ended == "stopped"
        behind.go_on()
        expected = train(Corpus.from_text(BOOK), TrainingConfig(vocabulary_size=330)).run
        assert [run.name for run in session.runs.all] == ["Run 1", "Run 2"]
        assert [len(run) for run in session.runs.all] == [3, len(expected)]
        assert np.array_equal(session.runs.active.merges, expected.merges)
        assert np.array_equal(session.runs.active.log.tokens_after, expected.tokens_after)
        assert behind.projects.modified

    at_a_session(qtbot, save, [book])
    at_a_session(qtbot, go_on)


def test_a_run_from_a_tokenizer_is_saved_with_it_and_continues(qtbot, book, project):
    start = train(Corpus.from_text("a rat, a cat and the mat: " * 20), TrainingConfig(vocabulary_size=270))

    def save(behind):
        session = behind.session
        session.training.start_from(start, TrainingConfig(vocabulary_size=290), session.corpus.current, "")
        behind.wait()
        session.view.set_playhead(20)
        behind.save(project)

    def go_on(behind):
        session = behind.session
        behind.open(project)
        run = session.runs.active
        assert (run.before, len(run), session.view.playhead) == (14, 34, 20)
        assert run.tokenizer.at(14).encode(BOOK) == start.encode(BOOK)
        assert not run.unsaved
        session.training.set_settings(Settings(300))
        behind.go_on()
        expected = extend(start, Corpus.from_text(BOOK), TrainingConfig(vocabulary_size=300))
        assert session.runs.active.merges.tolist() == expected.merges.tolist()
        assert session.runs.active.log.tokens_after[14:].tolist() == expected.run.tokens_after.tolist()

    at_a_session(qtbot, save, [book])
    at_a_session(qtbot, go_on)


def test_a_run_in_training_is_saved_with_its_merges_so_far(qtbot, behind, book, project):
    behind.read(book)
    behind.step(4)
    behind.save(project)
    assert behind.session.training.state == "paused"
    assert not behind.projects.modified
    behind.session.training.step()
    qtbot.waitUntil(lambda: len(behind.session.runs.active) == 5)
    assert behind.projects.modified
    (entry,) = finish(open_work(project)).runs
    assert (len(entry.run), entry.run.ended) == (4, "stopped")
    expected = train(Corpus.from_text(BOOK), TrainingConfig(vocabulary_size=260)).run
    assert np.array_equal(entry.run.merges, expected.merges)


def test_a_changed_or_missing_file_has_a_message_its_run_stays_usable_and_reload_finds_it(
    qtbot, monkeypatch, book, project
):
    make(qtbot, book, project)
    away = book.with_name("away.txt")
    book.write_text(BOOK.replace("cat", "dog") + "more", encoding="utf-8")

    def act(window, answers):
        session = window.session
        opened(qtbot, window, project)
        assert window.corpus.problems.problems == (f"{book.name} has changed on disk since the project was saved.",)
        assert session.corpus.current.bytes == len(BOOK) + 4
        assert session.runs.active.tokenizer.decode(session.runs.active.tokenizer.encode("the cat")) == "the cat"
        session.training.set_settings(Settings(400))
        assert not window.actions_by_id["continue_run"].isEnabled()
        reason = window.actions_by_id["continue_run"].toolTip()
        assert reason == f"{book.name} has changed on disk since the project was saved; Run 1 cannot continue."

        away.write_text(BOOK, encoding="utf-8")
        book.unlink()
        before, answers.files = session.runs.active, [project]
        window.projects.ask_and_open()
        qtbot.waitUntil(lambda: session.runs.active is not before)
        quiet(qtbot, window)
        assert [source.name for source in session.corpus.sources] == [book.name]
        assert window.corpus.problems.problems == (f"{book.name}: no such file or folder.",)
        assert window.corpus.source_list.sources_model.index(0, 1).data() == "missing"
        assert len(session.runs.active) == 44
        assert session.training.obstacle == (
            f"{book.name} is missing: restore and reload it, or remove it from the corpus."
        )
        saved(qtbot, window, answers, project)
        away.rename(book)
        window.corpus.source_list.select_rows([0])
        window.actions_by_id["reload_source"].trigger()
        qtbot.waitUntil(lambda: session.corpus.current.bytes == len(BOOK))
        quiet(qtbot, window)
        assert window.corpus.problems.problems == ()
        session.training.set_settings(Settings(310))
        window.actions_by_id["continue_run"].trigger()
        quiet(qtbot, window)
        assert len(session.runs.active) == 54

    assert at_the_window(monkeypatch, act, [str(project)]) == 0


def test_a_project_that_is_saved_while_a_file_is_changed_keeps_the_text_of_its_run(qtbot, book, project):
    def save(behind):
        behind.open(project)
        assert behind.session.runs.active.corpus_problem is not None
        behind.save(project)

    def again(behind):
        behind.open(project)
        assert behind.session.runs.active.corpus_problem is None

    make(qtbot, book, project)
    book.write_text(BOOK.replace("cat", "dog") + "more", encoding="utf-8")
    at_a_session(qtbot, save)
    book.write_text(BOOK, encoding="utf-8")
    at_a_session(qtbot, again)


@pytest.mark.parametrize("found", ["by opening", "by reload"])
def test_a_file_that_is_missing_while_the_corpus_is_divided_anew_is_kept(qtbot, book, project, found):
    away = book.with_name("away.txt")
    make(qtbot, book, project)
    book.rename(away)

    def divide(behind):
        session = behind.session
        behind.open(project)
        session.training.set_settings(replace(session.training.settings, documents="line"))
        behind.wait()
        behind.save(project)
        if found == "by reload":
            away.rename(book)
            session.corpus.reread(0, None)
            check(behind)

    def look(behind):
        behind.open(project)
        check(behind)

    def check(behind):
        session = behind.session
        qtbot.waitUntil(lambda: session.corpus.current.bytes == len(BOOK))
        behind.wait()
        (source,) = session.corpus.sources
        assert session.training.settings.documents == "line"
        assert source.documents == BOOK.count("\n")
        assert session.runs.active.corpus.documents == 1, "the run was trained on the whole file"

    at_a_session(qtbot, divide)
    if found == "by opening":
        away.rename(book)
    at_a_session(qtbot, look)


def test_a_file_that_has_grown_is_what_it_was_and_marked_as_changed(qtbot, behind, book, project):
    make(qtbot, book, project)
    with book.open("a") as file:
        file.write("more of it")
    behind.open(project)
    assert behind.session.corpus.current.bytes == len(BOOK)
    assert behind.session.corpus.sources[0].changed_on_disk()
    assert behind.session.runs.active.corpus_problem is None


@pytest.mark.parametrize("answer", ["discard", "save", None])
def test_a_project_that_is_opened_twice_at_once_is_asked_about_once(qtbot, behind, tmp_path, book, project, answer):
    make(qtbot, book, project)
    asked = []

    def soon():
        yield Progress("looking")

    behind.read(book)
    jobs = behind.session.jobs

    def ask(title, question, changed):
        asked.append(question())
        # As in a dialog, what else there is to do is done meanwhile; what asks is the end of a job itself.
        if len(asked) == 1:
            qtbot.waitUntil(lambda: len(jobs.running) == 1)
        return answer

    behind.train(290)
    behind.answers.target = tmp_path / "other.tokstudio"
    behind.answers.save_or_not = ask
    for _ in range(2):
        jobs.start(soon, lambda _: behind.projects.open(project))
    qtbot.waitUntil(lambda: bool(asked))
    if answer is not None:
        qtbot.waitUntil(lambda: behind.projects.path == project)
    behind.wait()
    assert behind.projects.path == (None if answer is None else project)
    assert asked == ["Run 1 has not been saved or exported."]


@pytest.mark.parametrize(
    ("gone", "said"),
    [(0, ""), (1, " 1 file of the corpus is missing."), (2, " 2 files of the corpus are missing.")],
)
def test_it_is_told_how_many_files_of_an_opened_project_are_missing(behind, book, project, gone, said):
    other = book.with_name("other.txt")
    other.write_text("other text", encoding="utf-8")
    behind.read(book, other)
    behind.save(project)
    for path in (book, other)[:gone]:
        path.unlink()
    told = []
    behind.projects.done.connect(told.append)
    behind.open(project)
    assert told == [f"Opened {project.name}.{said}"]


@pytest.mark.parametrize(
    ("of_runs", "said"), [(True, "Run 1 has not been saved or exported."), (False, "The training has ended.")]
)
def test_the_question_before_closing_follows_the_end_of_the_training(qtbot, behind, book, of_runs, said):
    asked = []

    def ask(title, question, changed):
        changed.connect(lambda: asked.append(question()))
        asked.append(question())
        behind.session.training.resume()
        behind.wait()

    behind.read(book)
    behind.step(4)
    behind.projects._preferences.set(ASK_BEFORE_CLOSING.key, of_runs)
    behind.answers.save_or_not = ask
    assert not behind.projects.may_leave("Quit", lambda: None, closing=True)
    in_progress = "Training is in progress and will stop. Save keeps its merges so far, Don't Save loses them."
    assert (asked[0], asked[-1]) == (in_progress, said)


def test_unsaved_work_is_saved_on_closing_which_can_be_cancelled_and_its_text_is_found_from_everywhere(
    qtbot, monkeypatch, tmp_path, book, project
):
    def act(window, answers):
        trained(qtbot, window)
        answers.save, answers.target = True, None
        assert not window.close()
        quiet(qtbot, window)
        assert window.isVisible()
        saved(qtbot, window, answers, project)
        assert window.isVisible(), "what was given up is not done later"
        window.actions_by_id["export_classic"].trigger()
        dialog = next(dialog for dialog in window.findChildren(ExportDialog) if dialog.isVisible())
        assert Path(dialog.folder.edit.text()) == tmp_path / "Run 1"
        dialog.close()
        for made in (1, 2):
            step(qtbot, window, made)
        answers.asked.clear()
        assert not window.close()
        qtbot.waitUntil(lambda: not window.isVisible())
        assert [question for question in answers.asked if question.startswith("Training")] == [
            "Training is in progress and will stop. Save keeps its merges so far, Don't Save loses them."
        ]

    def look(behind):
        session = behind.session
        behind.open(project)
        assert session.training.obstacle is None
        assert [source.path for source in session.corpus.sources] == [book]
        assert session.corpus.current.bytes == len(BOOK)
        assert [len(run) for run in session.runs.all] == [44, 2]

    monkeypatch.chdir(tmp_path)
    assert at_the_window(monkeypatch, act, [book.name]) == 0
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    at_a_session(qtbot, look)


def test_a_name_without_extension_gets_it_with_a_question(behind, book, project):
    project.write_text("mine")
    behind.read(book)
    answers = behind.answers
    behind.train(260)
    answers.target, answers.yes = project.with_suffix(""), False
    behind.projects.save_as()
    behind.wait()
    assert "my cats.tokstudio already exists." in answers.asked
    assert project.read_text() == "mine"
    answers.yes = True
    behind.projects.save_as()
    behind.wait()
    assert behind.projects.path == project
    assert len(finish(open_work(project)).runs) == 1


def test_what_is_asked_for_during_a_save_is_done_when_it_has_ended(behind, tmp_path, book):
    projects, answers, told = behind.projects, behind.answers, []
    projects.done.connect(told.append)
    behind.read(book)
    behind.train(260)
    first, second, third = (tmp_path / f"{name}.tokstudio" for name in "abc")
    answers.target = first
    projects.save()
    behind.session.view.set_text("more")
    projects.save()
    behind.wait()
    assert answers.asked == ["Save Project"], "the file is known, though it is not yet written"
    assert (projects.path, projects.modified) == (first, False)
    assert told == ["Saved a.tokstudio.", "Saved a.tokstudio."]
    projects.save()
    for answers.target in (second, third):
        projects.save_as()
    projects.save()
    behind.wait()
    assert (projects.path, projects.modified) == (third, False)
    assert told[2:] == ["Saved a.tokstudio.", "Saved c.tokstudio."], "the file that was chosen last"
    assert len(finish(open_work(third)).runs) == 1
    assert not second.exists()


def test_a_damaged_project_is_one_sentence_and_changes_nothing(qtbot, behind, book, project):
    make(qtbot, book, project)
    damaged = project.with_name("damaged.tokstudio")
    damaged.write_bytes(project.read_bytes()[:-5000])
    behind.open(project)
    behind.projects.open(damaged)
    behind.wait()
    (problem,) = behind.problems
    assert problem.startswith("damaged.tokstudio: the project is damaged")
    assert behind.projects.path == project
    assert len(behind.session.runs.all) == 1
    assert behind.session.training.obstacle is None


def test_opening_can_be_cancelled(qtbot, behind, book, project):
    make(qtbot, book, project)
    session = behind.session
    session.corpus.add_text("mine")
    behind.projects.open(project)
    job = session.jobs.running[-1]
    job.cancel()
    behind.wait()
    if behind.projects.path is None:
        assert [source.name for source in session.corpus.sources] == ["Pasted text"]
    assert not session.training.opening


def full_disk(*_):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_leaves_the_old_file_whole_and_everything_unsaved(behind, monkeypatch, book, project):
    behind.read(book)
    behind.train(260)
    behind.save(project)
    before = project.read_bytes()
    behind.session.view.set_text("more")
    with monkeypatch.context() as broken:
        broken.setattr("os.replace", full_disk)
        behind.projects.save()
        behind.wait()
    (problem,) = behind.problems
    assert "no space left" in problem
    assert project.read_bytes() == before
    assert behind.projects.modified
    assert [path for path in project.parent.iterdir() if path.name.startswith(".")] == []
    behind.save(project)
    assert not behind.projects.modified


def test_a_missing_drive_is_an_error_and_another_folder_works(behind, tmp_path, book):
    drive = tmp_path / "drive"
    drive.mkdir()
    behind.read(book)
    behind.train(260)
    behind.save(drive / "a.tokstudio")
    shutil.rmtree(drive)
    behind.session.view.set_text("more")
    behind.projects.save()
    behind.wait()
    assert behind.problems == [f"a.tokstudio: the folder {drive} does not exist: create it, or choose another."]
    behind.answers.target = tmp_path / "b.tokstudio"
    behind.projects.save_as()
    behind.wait()
    assert behind.projects.path == behind.answers.target
    assert not behind.projects.modified


def test_changes_saved_by_another_window_are_not_overwritten(qtbot, behind, tmp_path, book, project):
    make(qtbot, book, project)
    other = tmp_path / "other.tokstudio"
    behind.open(project)
    theirs = project.read_bytes()
    os.utime(project, (1, 1))
    behind.session.view.set_text("mine")
    behind.projects.save()
    behind.wait()
    (problem,) = behind.problems
    assert "another program has changed it" in problem
    assert project.read_bytes() == theirs
    behind.answers.target = other
    behind.projects.save_as()
    behind.wait()
    assert behind.projects.path == other


def test_weights_of_the_corpus_and_of_a_run_are_restored(session, make_run):
    session.corpus.add_text("the cat and the hat " * 9, "en")
    session.corpus.add_text("die Katze und der Hut " * 9, "de")
    session.corpus.set_weights((2000, 500))
    run = make_run(vocabulary_size=262, pattern="gpt2")
    session.corpus.set_weights((1000, 250))
    project = finish(project_work(snapshot(session, ""), session.corpus.kept))
    assert [source.weight for source in project.sources] == [1000, 250]
    session.corpus.set_sources(())
    adopt(session, finish(reopen_work(project)))
    assert session.corpus.weights == (1000, 250)
    again = session.runs.active
    assert again is not run
    assert (again.corpus.weights, again.weight_scale) == ((2000, 500), 1000)
    larger = TrainingConfig(vocabulary_size=270, pattern="gpt2")
    assert not again.may_continue(larger, session.corpus.current)
    session.corpus.set_weights((2000, 500))
    assert again.may_continue(larger, session.corpus.current)


def test_counts_of_files_with_one_name_are_told_apart_after_opening(qtbot, session, tmp_path):
    paths = [tmp_path / folder / "a.txt" for folder in ("x", "y")]
    for path in paths:
        path.parent.mkdir()
        path.write_text(f"{path.parent.name} " * 5)
    count(Corpus.from_files(paths), pattern="gpt2").save(tmp_path / "counts.parquet")
    session.corpus.open_counts([tmp_path / "counts.parquet"])
    qtbot.waitUntil(lambda: len(session.corpus.sources) == 2)
    project = finish(project_work(snapshot(session, ""), session.corpus.kept))
    finish(save_work(project, tmp_path / "p.tokstudio"))
    session.corpus.set_sources(())
    adopt(session, finish(reopen_work(finish(open_work(tmp_path / "p.tokstudio")))))
    session.corpus.reread(1, None)
    qtbot.waitUntil(lambda: not session.jobs.running)
    assert [bytes(source.data) for source in session.corpus.sources] == [b"x x ", b"y y "]
    assert [source.member for source in session.corpus.sources] == ["0", "1"]
