"""The comparison in the session: what is measured, when, and what stays known."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

import numpy as np
import pytest
from pytestqt.qtbot import QtBot

from tokstudio import compare
from tokstudio.core.analysis.token_store import TokenCounts
from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.comparison.figures import Cell
from tokstudio.core.comparison.texts import ComparedText, held_out_marks
from tokstudio.core.corpus.source import Source
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.gui.session.availability import nothing_compared, nothing_to_measure
from tokstudio.gui.session.measuring import compared as module
from tokstudio.gui.session.measuring import comparison
from tokstudio.gui.session.measuring.comparison import ComparisonState
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.run import RunOrigin, StudioRun

ENGLISH, GERMAN = "the cat sat on the mat\n" * 5, "die Katze saß auf der Matte\n" * 5


@pytest.fixture
def two_texts(session) -> Session:
    session.corpus.add_texts([("eng", ENGLISH), ("deu", GERMAN)])
    return session


def complete(session: Session) -> bool:
    state = session.comparison
    made = state.comparison
    if made is None or state.busy:
        return False
    return all(
        made.result(row, column) is not None for row in range(len(made.texts)) for column in range(len(made.tokenizers))
    )


def wait(qtbot: QtBot, session: Session) -> None:
    qtbot.waitUntil(lambda: complete(session))


def seen(qtbot: QtBot, session: Session) -> ComparisonState:
    """The state of the comparison once somebody looks, and all is measured."""
    session.comparison.set_seen(True)
    wait(qtbot, session)
    return session.comparison


def test_what_was_cancelled_is_measured_later(qtbot, two_texts, make_run, monkeypatch):
    make_run(vocabulary_size=270)
    state, original = two_texts.comparison, module.counts_work

    def held(*_: object) -> Work[TokenCounts]:
        while True:
            yield Progress("held")

    monkeypatch.setattr(module, "counts_work", held)
    state.set_seen(True)
    qtbot.waitUntil(lambda: state.rows is not None)
    two_texts.jobs.running[-1].cancel()
    qtbot.waitUntil(lambda: state.cancelled and not state.busy)
    assert "not complete" in (nothing_compared(two_texts) or "")
    assert nothing_to_measure(two_texts) is None
    monkeypatch.setattr(module, "counts_work", original)
    state.measure()
    wait(qtbot, two_texts)
    assert not state.cancelled
    assert nothing_compared(two_texts) is None
    assert nothing_to_measure(two_texts) == "Everything is measured."


def test_what_failed_is_tried_again(qtbot, two_texts, make_run, monkeypatch):
    make_run(vocabulary_size=270)
    state, original = two_texts.comparison, module.counts_work

    def dies(tokenizer: object, text: ComparedText, store: object) -> Work[TokenCounts]:
        if text.name == "deu":
            raise FormatError("The library ended.")
        return (yield from original(tokenizer, text, store))  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(module, "counts_work", dies)
    state.set_seen(True)
    wait(qtbot, two_texts)

    assert state.comparison.errors == (("deu", "Run 1", "The library ended."),)
    monkeypatch.setattr(module, "counts_work", original)
    assert nothing_to_measure(two_texts) is None
    state.measure()
    wait(qtbot, two_texts)
    assert state.comparison.errors == ()


def test_each_source_is_measured_by_each_shown_run(qtbot, two_texts, make_run):
    one, two = make_run(vocabulary_size=270), make_run(vocabulary_size=290)
    seen(qtbot, two_texts)
    made = two_texts.comparison.comparison
    assert made is not None
    expected = compare({"Run 1": one.tokenizer, "Run 2": two.tokenizer}, {"eng": ENGLISH, "deu": GERMAN})
    assert (made.tokenizers, made.texts) == (expected.tokenizers, expected.texts)
    assert np.array_equal(made.tokens, expected.tokens)


def test_nothing_is_measured_until_somebody_looks(qtbot, two_texts, make_run):
    make_run(vocabulary_size=270)
    qtbot.wait(100)  # many times as long as it waits after the last change, here
    assert two_texts.comparison.comparison is None
    seen(qtbot, two_texts)


def test_what_is_known_stays_when_a_tokenizer_is_added(qtbot, two_texts, make_run, monkeypatch):
    make_run(vocabulary_size=270)
    state = seen(qtbot, two_texts)
    measured: list[object] = []
    original = module.counts_work

    def noted(tokenizer: object, *more: object) -> Work[TokenCounts]:
        measured.append(tokenizer)
        return original(tokenizer, *more)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(module, "counts_work", noted)
    state.show_simple("Bytes", True)
    wait(qtbot, two_texts)
    assert measured == [state.columns[1].tokenizer] * 2
    made = state.comparison
    assert made.tokens[:, 1].tolist() == [len(ENGLISH.encode()), len(GERMAN.encode())]


def test_all_positions_of_the_playhead_follow_from_one_encoding(qtbot, two_texts, make_run, monkeypatch):
    run = make_run(vocabulary_size=290)
    state = seen(qtbot, two_texts)

    def refused(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(module, "counts_work", refused)
    two_texts.view.set_playhead(9)
    wait(qtbot, two_texts)
    for merges in (0, 1, 8, len(run) - 1):
        two_texts.view.set_playhead(merges)
        made = state.comparison  # at once
        assert made is not None
        expected = compare({"Run 1": run.tokenizer.at(merges)}, {"eng": ENGLISH, "deu": GERMAN})
        assert np.array_equal(made.tokens, expected.tokens)
        for name in ("renyi", "vocabulary_used", "not_utf8"):
            assert np.allclose(made.figure(name, encode=False), expected.figure(name, encode=False), equal_nan=True)


def test_what_is_cut_of_text_that_is_not_utf8_is_measured_at_each_position(qtbot, session, make_run):
    texts = {"not": (GERMAN + "é").encode() + b"\xe2\x82 x\xe9", "deu": GERMAN}
    session.corpus.set_sources(tuple(Source.from_texts([text], name) for name, text in texts.items()))
    run = make_run(vocabulary_size=290)
    state = seen(qtbot, session)
    for merges in (1, len(run) - 1):
        session.view.set_playhead(merges)
        expected = compare({"Run 1": run.tokenizer.at(merges)}, texts)
        for name in ("characters_cut", "crosses_characters"):
            values = expected.figure(name).tolist()
            qtbot.waitUntil(lambda name=name, values=values: state.comparison.figure(name).tolist() == values)


def test_a_hidden_run_is_left_out_unless_it_is_active(qtbot, two_texts, make_run):
    one, two = make_run(vocabulary_size=270), make_run(vocabulary_size=290)
    state = two_texts.comparison
    told = list[str]()
    two_texts.runs.changed.connect(lambda: told.append("changed"))
    two_texts.runs.show_curves({one: False, two: False})
    two_texts.runs.show_curves({one: False, two: False})
    assert [column.name for column in state.columns] == ["Run 2"]
    assert told == ["changed"]


def test_any_number_of_tokenizers_is_compared(two_texts, make_run):
    run, others = make_run(vocabulary_size=270), [f"opened {number}" for number in range(13)]
    for name in others:
        two_texts.runs.add_tokenizer(run.tokenizer.compact(), name)
    assert [column.name for column in two_texts.comparison.columns] == ["Run 1", *others]


def test_held_out_text_is_marked_for_all_that_were_trained_on_it(qtbot, session, make_run):
    lines = [f"the cat {number} sat on the mat {number % 7}\n" for number in range(60)]
    session.corpus.add_texts([("one", "".join(lines)), ("two", "".join(reversed(lines)))])
    all_of_it, more = make_run(vocabulary_size=270), make_run(vocabulary_size=270, held_out=0.5)
    held_out = make_run(vocabulary_size=270, held_out=0.2)
    marks = held_out_marks(held_out.corpus.sha256, None, 0.2)
    for name, texts in (("by a library", marks), ("by another", ())):
        hashes = (*held_out.corpus.text_hashes, *texts)
        origin = RunOrigin(Path("x"), (), "", True, None, "trained by it", trained_on=hashes)
        session.runs.add_tokenizer(held_out.tokenizer.changed(run=None), name, origin)
    session.runs.activate(held_out)
    state = session.comparison
    state.choose_texts(next(each for each in state.sets if each.key == "held out"))
    state.set_seen(True)
    qtbot.waitUntil(lambda: state.is_measured)

    assert state.comparison.tokenizers == (all_of_it.name, more.name, held_out.name, "by a library", "by another")
    assert state.comparison.trained_on.tolist() == [[True, True, False, False, True]] * 2


def test_words_are_encoded_only_for_figures_that_need_them_and_another_corpus_anew(qtbot, two_texts, make_run):
    make_run(vocabulary_size=280)
    state = seen(qtbot, two_texts)

    def words() -> list[bool]:
        made = state.comparison
        cells = [made.result(row, 0) for row in range(2)]
        return [isinstance(cell, Cell) and cell.words is not None for cell in cells]

    assert words() == [False, False]
    state.choose_figure("words_split")
    qtbot.waitUntil(lambda: words() == [True, True])
    state.show_simple("Words and marks", True)
    state.set_seen(True)
    wait(qtbot, two_texts)
    made = state.comparison
    assert made.tokenizers == ("Run 1", "Words and marks")
    assert made.tokens[0, 1] == 5 * 11  # six words with five spaces; line feeds are dropped
    two_texts.corpus.set_sources(two_texts.corpus.sources[:1])
    wait(qtbot, two_texts)
    made = state.comparison
    assert made.texts == ("eng",)


def test_what_was_read_of_an_earlier_corpus_is_not_taken_for_this_one(qtbot, session, make_run):
    session.corpus.add_texts([("eng", ENGLISH)])
    make_run(vocabulary_size=270)
    state, jobs = session.comparison, session.jobs

    def add_while_it_reads() -> None:
        jobs.busy_changed.disconnect(add_while_it_reads)
        jobs.running[-1].wait()  # it has emitted its texts, which are not delivered yet
        session.corpus.add_texts([("deu", GERMAN)])

    qtbot.waitUntil(lambda: not jobs.running)
    jobs.busy_changed.connect(add_while_it_reads)
    state.set_seen(True)
    qtbot.waitUntil(lambda: len(state.rows or ()) == 2)
    wait(qtbot, session)


def test_an_error_of_earlier_texts_is_not_shown(qtbot, two_texts, make_run, monkeypatch):
    make_run(vocabulary_size=270)
    state, jobs, problems = two_texts.comparison, two_texts.jobs, list[str]()
    original = comparison.text_work

    def refused(*_: object) -> Work[None]:
        yield Progress("reading")
        raise FormatError("The text cannot be read.")

    monkeypatch.setattr(comparison, "text_work", refused)

    def change_while_it_reads() -> None:
        jobs.busy_changed.disconnect(change_while_it_reads)
        jobs.running[-1].wait()  # it has failed, which is not delivered yet
        monkeypatch.setattr(comparison, "text_work", original)
        state.changed.connect(lambda: problems.append(state.problem))
        two_texts.corpus.add_texts([("fra", "le chat\n")])

    qtbot.waitUntil(lambda: not jobs.running)
    jobs.busy_changed.connect(change_while_it_reads)
    state.set_seen(True)
    wait(qtbot, two_texts)
    assert state.rows is not None
    assert [row.name for row in state.rows] == ["eng", "deu", "fra"]
    assert set(problems) == {""}


def test_the_text_of_the_text_pane_is_measured(qtbot, two_texts, make_run):
    run = make_run(vocabulary_size=270)
    state = two_texts.comparison
    state.set_seen(True)
    state.choose_texts(next(each for each in state.sets if each.key == "text"))
    wait(qtbot, two_texts)
    made = state.comparison
    assert made.texts == ()
    two_texts.view.set_text("the cat")
    qtbot.waitUntil(lambda: complete(two_texts) and state.comparison.texts == ("Text",))  # pyright: ignore[reportOptionalMemberAccess]
    made = state.comparison
    assert made.tokens.tolist() == [[len(run.tokenizer.encode("the cat"))]]


def test_held_out_text_is_that_of_the_active_run(qtbot, session, make_run):
    session.corpus.add_texts([(f"{number}", f"the cat number {number} sat on the mat") for number in range(60)])
    state = session.comparison
    state.set_seen(True)
    run = make_run(vocabulary_size=270, held_out=0.2)
    state.choose_texts(next(each for each in state.sets if each.key == "held out"))
    wait(qtbot, session)
    qtbot.waitUntil(lambda: run.held_out.tokens is not None)
    made = state.comparison
    assert made.bytes.sum() == run.held_out.bytes
    assert made.tokens[:, 0].sum() == run.held_out.tokens[-1]  # pyright: ignore[reportOptionalSubscript]
    make_run(vocabulary_size=270, held_out=0.0)
    qtbot.waitUntil(lambda: state.rows == ())


def test_a_run_of_another_project_is_not_confused_with_an_earlier_one(qtbot, two_texts, make_run):
    run = make_run(vocabulary_size=270)
    state = seen(qtbot, two_texts)
    # As many merges, of bytes that the texts do not have, and the same key and name.
    merges = np.array([(0, byte) for byte in range(len(run))], np.int32)
    other = StudioRun.opened(run.key, run.name, Tokenizer(merges))
    released = weakref.ref(state.columns[0].tokenizer)
    two_texts.runs.replace_all([other])
    compared = state.columns[0].tokenizer
    assert isinstance(compared, Tokenizer)
    assert compared.merges.tolist() == merges.tolist()
    two_texts.runs.activate(other)
    wait(qtbot, two_texts)

    assert state.comparison.figure("tokens")[:, 0].tolist() == [len(ENGLISH.encode()), len(GERMAN.encode())]
    del run
    gc.collect()
    assert released() is None


def test_a_column_is_the_same_until_its_run_changes(qtbot, two_texts, make_run):
    run, state = make_run(vocabulary_size=270), two_texts.comparison
    two_texts.view.set_playhead(5)
    before = state.columns
    assert [len(column.tokenizer.merges) for column in before] == [5]  # pyright: ignore[reportOptionalMemberAccess]
    assert all(one is other for one, other in zip(before, state.columns, strict=True))
    two_texts.runs.rename(run, "other")
    assert [column.name for column in state.columns] == ["other"]
    two_texts.view.set_playhead(6)
    assert state.columns != before


def test_no_two_tokenizers_have_a_name_by_which_they_are_compared(two_texts, make_run):
    run, runs = make_run(vocabulary_size=270), two_texts.runs
    for merges in (3, 5):
        runs.add_tokenizer(run.tokenizer.at(merges), "model")
    runs.add_tokenizer(run.tokenizer, "Bytes")
    first, second = runs.all[1:3]
    assert [each.name for each in runs.all] == ["Run 1", "model", "model (2)", "Bytes (2)"]
    runs.rename(run, "model")
    assert run.name == "model (3)"
    runs.rename(run, "model (3)")
    assert run.name == "model (3)"
    runs.delete(first)
    runs.rename(second, "model")
    runs.bring_back(first, 1)
    assert [each.name for each in runs.all] == ["model (3)", "model (2)", "model", "Bytes (2)"]
    for each in runs.all:
        each.identify(name="the same")  # as an older project may have them
    runs.replace_all(list(runs.all))
    assert [each.name for each in runs.all] == ["the same", *(f"the same ({number})" for number in (2, 3, 4))]
