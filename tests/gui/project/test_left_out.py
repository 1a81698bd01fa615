"""What is left out of the corpus, in projects and after a crash: it comes back, and runs go on without it."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
import pytest

from tests.gui.project.behind import BOOK, at_a_session, killed
from tokstudio import Corpus, TrainingConfig, train
from tokstudio.core.corpus.leaving_out import LeavingOut
from tokstudio.gui.state.training_settings import Settings

pytestmark = pytest.mark.usefixtures("unstyled")

LINE = "the same line stands here again and again\n"
TEXT = BOOK + LINE * 5
WHAT = LeavingOut((("repeated-lines", 20.0),), lines=((0, 0, 0, 2),))
REST = "".join([*BOOK.splitlines(keepends=True)[:2], *BOOK.splitlines(keepends=True)[3:], LINE])


@pytest.fixture
def book(tmp_path):
    path = tmp_path / "book.txt"
    path.write_text(TEXT)
    return path


@pytest.fixture
def project(tmp_path):
    return tmp_path / "cats.tokstudio"


def leave_out(behind) -> None:
    behind.session.corpus.leave_out(WHAT)
    behind.wait()
    assert behind.session.corpus.left_out_text.startswith("5 lines, ")


def text_of(behind) -> str:
    return b"".join(source.data.tobytes() for source in behind.session.corpus.remaining).decode()


def test_a_project_has_it_and_its_runs_go_on_without(qtbot, book, project):
    def save(behind):
        leave_out(behind)
        behind.train(290)
        behind.save(project)
        assert not behind.projects.modified
        behind.session.corpus.leave_out(LeavingOut())
        behind.wait()
        assert behind.projects.modified
        behind.session.history.undo()
        behind.wait()
        assert not behind.projects.modified

    def go_on(behind):
        session = behind.session
        behind.open(project)
        assert not behind.projects.modified
        assert session.corpus.left_out == WHAT
        assert [source.path for source in session.corpus.sources] == [book]
        assert session.corpus.sources[0].data.tobytes().decode() == TEXT
        assert text_of(behind) == REST
        assert session.runs.active.corpus.sources == session.corpus.remaining
        assert session.runs.active.corpus_problem is None
        session.training.set_settings(Settings(310))
        behind.go_on()
        expected = train(Corpus.from_text(REST), TrainingConfig(vocabulary_size=310)).run
        assert np.array_equal(session.runs.active.merges, expected.merges)
        behind.save(project)

    at_a_session(qtbot, save, [book])
    at_a_session(qtbot, go_on)
    at_a_session(qtbot, lambda behind: behind.open(project))


def test_a_text_that_has_changed_says_that_nothing_is_left_out(qtbot, book, project):
    def save(behind):
        behind.session.corpus.leave_out(LeavingOut(lines=((0, 0, 0, 200),)))
        behind.wait()
        behind.train(290)
        behind.save(project)

    def look(behind):
        problems = list[str]()
        behind.session.corpus.problem.connect(lambda problem: problems.append(problem.text))
        behind.open(project)
        assert text_of(behind) == "another text\n"
        assert not behind.session.corpus.left_out
        assert any(text.startswith("Nothing is left out any more.") for text in problems)
        assert "cannot continue" in behind.session.runs.active.corpus_problem

    at_a_session(qtbot, save, [book])
    book.write_text("another text\n")
    at_a_session(qtbot, look)


def test_while_a_text_is_missing_what_is_left_out_waits_for_it(qtbot, book, project):
    def save(behind):
        leave_out(behind)
        behind.save(project)

    def look(behind):
        session = behind.session
        behind.open(project)
        assert session.corpus.left_out == WHAT
        assert session.corpus.remaining == session.corpus.sources
        book.write_text(TEXT)
        session.corpus.reread(0, None)
        behind.wait()
        assert text_of(behind) == REST

    at_a_session(qtbot, save, [book])
    book.unlink()
    at_a_session(qtbot, look)


def test_a_training_that_was_interrupted_goes_on_without_it(qtbot, book, tmp_path):
    def begin(behind):
        leave_out(behind)
        behind.session.training.set_settings(Settings(320))
        behind.step(5)

    def restore(behind):
        session = behind.session
        behind.restore()
        assert session.corpus.left_out == WHAT
        assert text_of(behind) == REST
        behind.go_on()
        expected = train(Corpus.from_text(REST), TrainingConfig(vocabulary_size=320)).run
        assert np.array_equal(session.runs.active.merges, expected.merges)

    killed(qtbot, tmp_path / "image", begin, [book])
    at_a_session(qtbot, restore)


def test_a_copy_of_unsaved_work_has_it_and_the_recorded_run_can_go_on(qtbot, book, tmp_path):
    def begin(behind):
        leave_out(behind)
        behind.train(290)
        behind.recovery.copy()
        behind.rest()
        behind.session.training.set_settings(Settings(320))
        behind.step(5)

    def restore(behind):
        behind.restore()
        assert behind.session.corpus.left_out == WHAT
        assert [len(run) for run in behind.session.runs.all] == [34, 5]
        behind.go_on()
        assert len(behind.session.runs.active) == 64

    killed(qtbot, tmp_path / "image", begin, [book])
    at_a_session(qtbot, restore)
