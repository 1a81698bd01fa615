"""What is left out of the corpus of the window: what follows it, Undo and Redo, and sources that change."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import replace

import pytest

from tokstudio import Trainer
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.leaving_out import LeavingOut
from tokstudio.core.corpus.source import Source
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.training_settings import Settings

LINES = [f"line {number} of a text with a cat and a mat\n" for number in range(40)]
JUNK = "the same line again and again, in every document\n"
FIRST, SECOND = "".join([*LINES[:20], JUNK, JUNK]), "".join([*LINES[20:], JUNK])
SETTINGS = Settings(vocabulary_size=280, pattern="gpt2")
REPEATED = LeavingOut((("repeated-lines", 20.0),))


def idle(qtbot, session: Session) -> None:
    qtbot.waitUntil(lambda: session.training.current is None and not session.jobs.running)


def leave_out(qtbot, session: Session, what: LeavingOut) -> None:
    session.corpus.leave_out(what)
    idle(qtbot, session)


def text_of(corpus: Corpus) -> bytes:
    return b"|".join(source.data.tobytes() for source in corpus.sources)


def whole(*texts: str) -> bytes:
    return "|".join(texts).encode()


@pytest.fixture
def two(qtbot, session) -> Session:
    """Two sources of pasted text, not trained yet."""
    session.corpus.add_text(FIRST, "first")
    session.corpus.add_text(SECOND, "second")
    session.training.set_settings(SETTINGS)
    idle(qtbot, session)
    return session


def test_what_is_left_out_goes_from_all_that_is_counted_and_trained_but_not_from_the_sources(qtbot, two):
    before = two.corpus.sources
    leave_out(qtbot, two, REPEATED)
    corpus = two.corpus
    assert corpus.sources == before
    assert text_of(corpus.current) == whole("".join([*LINES[:20], JUNK]), "".join(LINES[20:]))
    assert corpus.left_out_text == f"2 lines, {2 * len(JUNK)} B"
    assert corpus.left_out_texts() == [f"1 line, {len(JUNK)} B"] * 2
    assert corpus.statistics is not None
    assert corpus.statistics.lines == 41
    assert [corpus.whole(each) for each in corpus.remaining] == list(before)
    two.training.start()
    idle(qtbot, two)
    run = two.runs.active
    assert run is not None
    trainer = Trainer(Corpus(before).without(["repeated-lines"]), SETTINGS.config())
    for _ in trainer:
        pass
    assert run.merges.tolist() == trainer.run.merges.tolist()
    assert run.corpus_bytes == corpus.current.bytes


def test_undo_and_redo_say_what_and_give_back_the_same_sources(qtbot, two):
    leave_out(qtbot, two, REPEATED)
    assert two.history.undo_text == "Leave Out Repeated Lines"
    reduced = two.corpus.remaining
    two.training.start()
    idle(qtbot, two)
    two.training.set_settings(replace(SETTINGS, vocabulary_size=290))
    assert two.training.can_continue(two.runs.active)
    two.history.undo()  # of the setting
    two.history.undo()
    idle(qtbot, two)
    assert text_of(two.corpus.current) == whole(FIRST, SECOND)
    assert not two.corpus.left_out
    assert two.history.redo_text == "Leave Out Repeated Lines"
    two.history.redo()
    idle(qtbot, two)
    assert two.corpus.remaining == reduced, "the run can continue on them"
    named = LeavingOut(REPEATED.rules, lines=((0, 0, 0, 3),))
    leave_out(qtbot, two, named)
    assert two.history.undo_text == "Leave Out 1 Line"
    leave_out(qtbot, two, LeavingOut())
    assert two.history.undo_text == "Leave Nothing Out"
    two.history.undo()
    idle(qtbot, two)
    assert two.corpus.left_out == named
    two.history.undo()
    two.history.undo()
    idle(qtbot, two)
    assert not two.corpus.left_out
    assert two.history.redo_text == "Leave Out Repeated Lines"


def test_a_rule_that_leaves_nothing_changes_nothing_and_says_so(qtbot, two):
    problems = list[str]()
    two.corpus.problem.connect(lambda problem: problems.append(problem.text))
    entries = two.history.undo_text
    leave_out(qtbot, two, LeavingOut(documents=((0, 0, 0), (1, 0, 0))))
    assert "Nothing of the text would be left" in problems[-1] == two.corpus.leaving_problem
    assert text_of(two.corpus.current) == whole(FIRST, SECOND)
    assert two.history.undo_text == entries
    leave_out(qtbot, two, LeavingOut(documents=((0, 0, 7),)))
    assert "has no document 8" in two.corpus.leaving_problem
    assert two.training.obstacle is None


def test_what_is_named_stays_with_its_source_and_comes_back_with_it(qtbot, two):
    leave_out(qtbot, two, LeavingOut(lines=((0, 0, 0, 1), (1, 0, 0, 2))))
    expected = text_of(two.corpus.current)
    two.corpus.remove_sources([0])
    idle(qtbot, two)
    assert two.corpus.left_out == LeavingOut(lines=((0, 0, 0, 2),))
    assert text_of(two.corpus.current) == expected.partition(b"|")[2]
    assert two.history.undo_text == "Remove first"
    two.history.undo()
    idle(qtbot, two)
    assert text_of(two.corpus.current) == expected
    two.history.redo()
    idle(qtbot, two)
    assert text_of(two.corpus.current) == expected.partition(b"|")[2]


def test_rules_hold_for_a_text_that_is_added_and_not_for_another_corpus(qtbot, two):
    leave_out(qtbot, two, REPEATED)
    two.corpus.add_text(JUNK + "something else that is new\n", "third")
    idle(qtbot, two)
    assert two.corpus.current.sources[2].data.tobytes() == b"something else that is new\n"
    two.corpus.set_sources((Source.from_texts([JUNK * 3], "other"),))
    idle(qtbot, two)
    assert not two.corpus.left_out
    assert text_of(two.corpus.current) == whole(JUNK * 3)
    two.history.undo()
    idle(qtbot, two)
    assert two.corpus.left_out == REPEATED
    two.corpus.set_sources(())
    idle(qtbot, two)
    assert not two.corpus.left_out


def test_the_same_lines_are_left_out_where_each_becomes_a_document(qtbot, two):
    leave_out(qtbot, two, LeavingOut(lines=((0, 0, 0, 1), (1, 0, 0, 0))))
    expected = text_of(two.corpus.current)
    two.training.set_settings(replace(SETTINGS, documents="line"))
    idle(qtbot, two)
    assert two.corpus.left_out == LeavingOut(documents=((0, 0, 1), (1, 0, 0)))
    assert text_of(two.corpus.current) == expected
    assert two.corpus.current.documents == 43 - 2
    two.training.set_settings(SETTINGS)
    idle(qtbot, two)
    assert text_of(two.corpus.current) == expected
    leave_out(qtbot, two, LeavingOut(documents=((0, 0, 0),)))
    two.training.set_settings(replace(SETTINGS, documents="line"))
    idle(qtbot, two)
    assert text_of(two.corpus.current) == whole("", SECOND)


def test_weights_and_leaving_out_work_together(qtbot, two):
    leave_out(qtbot, two, REPEATED)
    two.training.start()
    idle(qtbot, two)
    assert two.live.obstacle is None
    two.corpus.set_weights((1000, 4000))
    idle(qtbot, two)
    run = two.runs.active
    assert run is not None
    assert len(two.runs.all) == 2
    trainer = Trainer(Corpus(two.corpus.sources, (1000, 4000)).without(["repeated-lines"]), SETTINGS.config())
    for _ in trainer:
        pass
    assert run.merges.tolist() == trainer.run.merges.tolist()
    leave_out(qtbot, two, LeavingOut())
    assert two.corpus.weights == (1000, 4000)
    assert two.corpus.current.weights == (1000, 4000)
    assert two.live.obstacle is not None, "the whole text is not counted"


def test_word_counts_have_nothing_to_leave_out(qtbot, two, tmp_path):
    path = tmp_path / "words.tsv"
    path.write_text("cat\t3\nmat\t2\n")
    two.corpus.open_counts([path])
    idle(qtbot, two)
    leave_out(qtbot, two, REPEATED)
    assert "has word counts" in two.corpus.leaving_problem
    assert not two.corpus.left_out


def test_a_text_that_is_added_is_said_to_lose_what_rules_leave_out(qtbot, two):
    told = []
    two.jobs.noticed.connect(lambda notice: told.append(notice.text))
    for what, too in ((LeavingOut(), ""), (REPEATED, "; what is left out by rules is left out of it, too")):
        leave_out(qtbot, two, what)
        two.corpus.add_text(JUNK, "third")
        idle(qtbot, two)
        assert told.pop() == f"third was added beside {len(two.corpus.sources) - 1} sources{too}."
    assert two.corpus.left_out_texts()[-1] == f"1 line, {len(JUNK)} B"


def test_until_it_is_left_out_no_training_can_start(qtbot, two):
    two.corpus.leave_out(REPEATED)
    assert two.corpus.is_leaving_out
    assert two.training.obstacle == "Documents and lines are being left out of the corpus."
    two.corpus.leave_out(LeavingOut())
    idle(qtbot, two)
    assert not two.corpus.is_leaving_out
    assert not two.corpus.left_out
    assert two.training.obstacle is None
    two.corpus.leave_out(REPEATED)
    two.jobs.running[-1].cancel()
    idle(qtbot, two)
    assert two.corpus.leaving_problem in ("Cancelled.", "")
    assert bool(two.corpus.left_out) == (not two.corpus.leaving_problem)
