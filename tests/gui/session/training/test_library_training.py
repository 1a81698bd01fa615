"""Training by other libraries in the window: a run of what they make, stop, a library that dies, projects, settings."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.gui.project.behind import at_a_session
from tests.processes import started_processes
from tokstudio.core.base.errors import CorpusError
from tokstudio.core.base.progress import Progress
from tokstudio.core.base.resources import sample_text
from tokstudio.core.model.settings import ALGORITHM_TITLES, LIBRARY_ALGORITHMS
from tokstudio.gui.panes.runs.model import ALGORITHM, COLUMNS, MERGES
from tokstudio.gui.session import availability
from tokstudio.gui.session.training import control
from tokstudio.gui.state.training_plans import TrainingPlan, problem_of_plans
from tokstudio.gui.state.training_settings import Settings

TEXT = sample_text("article")
WORDPIECE = Settings(400, algorithm="wordpiece")
SENTENCE = "tokenizers split the text"


@pytest.fixture
def processes(monkeypatch):
    """The processes of libraries that were started."""
    return started_processes(monkeypatch)


def begun(session, algorithm="wordpiece", text=TEXT, **settings):
    session.corpus.add_text(text)
    session.training.set_settings(Settings(algorithm=algorithm, vocabulary_size=400, **settings))
    assert session.training.obstacle is None
    session.training.start()
    assert session.training.busy


def ended(qtbot, session):
    qtbot.waitUntil(lambda: not session.training.busy and not session.jobs.running)


@pytest.mark.parametrize("algorithm", LIBRARY_ALGORITHMS)
def test_a_library_makes_a_run_that_its_library_encodes_for_and_that_comes_back_when_it_was_deleted(
    qtbot, session, algorithm
):
    begun(session, algorithm)
    ended(qtbot, session)
    (run,) = session.runs.all
    assert session.runs.active is run
    assert session.training.failure is None
    assert run.unsaved
    assert run.vocabulary_size <= 400
    assert COLUMNS[ALGORITHM].text(run) == ALGORITHM_TITLES[algorithm]
    assert (COLUMNS[MERGES].text(run) == "–") == (algorithm != "sentencepiece-bpe")
    assert run.tokenizer.decode(run.tokenizer.encode(SENTENCE)) == SENTENCE
    session.history.delete_run(run)
    assert not session.runs.all
    session.history.undo()
    assert [one.name for one in session.runs.all] == [run.name]


def test_stop_ends_the_process_and_adds_no_run(qtbot, session, processes):
    # Its time grows with the square of this text: it would take some seconds.
    begun(session, "sentencepiece-unigram", "ab" * 12_000)
    qtbot.waitUntil(lambda: bool(processes))
    session.training.stop()
    ended(qtbot, session)
    qtbot.waitUntil(lambda: processes[0].poll() is not None)
    assert not session.runs.all
    assert session.training.failure is None


def test_a_library_that_is_killed_is_told_and_nothing_is_lost(qtbot, session, processes):
    begun(session, "sentencepiece-unigram", "ab" * 12_000)
    qtbot.waitUntil(lambda: bool(processes))
    processes[0].kill()
    ended(qtbot, session)
    assert "ended while it trained" in session.training.failure.text
    assert not session.runs.all
    assert len(session.corpus.sources) == 1
    assert session.training.obstacle is None


def test_a_library_that_refuses_is_told(qtbot, session):
    begun(session, "sentencepiece-bpe", TEXT + "".join(map(chr, range(0x4E00, 0x5200))), character_coverage=1.0)
    ended(qtbot, session)
    assert "vocabulary size must be at least" in session.training.failure.text
    assert not session.runs.all


def test_held_out_text_is_measured(qtbot, session):
    begun(session, held_out=0.2)
    ended(qtbot, session)
    qtbot.waitUntil(lambda: session.runs.all[0].held_out.ratio is not None)


def test_an_error_stands_at_its_field():
    settings = Settings(algorithm="sentencepiece-bpe", vocabulary_size=400)
    assert set(replace(settings, character_coverage=0.5).faults) == {"character_coverage"}
    assert set(replace(settings, vocabulary_size=2).faults) == {"vocabulary_size"}
    assert set(replace(settings, algorithm="wordpiece", vocabulary_size=None).faults) == {"vocabulary_size"}


def test_a_project_keeps_it(qtbot, tmp_path):
    project, made = tmp_path / "p.tokstudio", []

    def save(behind):
        begun(behind.session)
        behind.wait()
        (run,) = behind.session.runs.all
        made.extend(run.tokenizer.encode(SENTENCE))
        behind.save(project)
        assert not run.unsaved

    def look(behind):
        behind.open(project)
        (run,) = behind.session.runs.all
        assert list(run.tokenizer.encode(SENTENCE)) == made
        assert behind.session.training.settings.algorithm == "wordpiece"
        assert run.origin is not None
        assert "trained by tokenizers" in run.origin.change

    at_a_session(qtbot, save)
    at_a_session(qtbot, look)


def test_train_several_trains_it_between_others(qtbot, session):
    session.corpus.add_text(TEXT)
    plain = Settings(vocabulary_size=300, pattern="gpt2")
    plans = [
        TrainingPlan(one)
        for one in (
            plain,
            replace(plain, algorithm="wordpiece", vocabulary_size=400),
            replace(plain, vocabulary_size=310),
        )
    ]
    assert problem_of_plans(plans, session.corpus.current) is None
    session.queue.start(plans)
    qtbot.waitUntil(lambda: not session.queue.total and not session.jobs.running)
    assert [run.vocabulary_size for run in session.runs.all] == [300, 310, 400], "those that share a count first"


def test_what_a_whole_training_cannot_do_is_not_offered(qtbot, session, monkeypatch):
    session.corpus.add_text(TEXT)
    session.training.set_settings(WORDPIECE)
    assert availability.cannot_step(session) == (
        "The tokenizers library trains WordPiece as a whole: it cannot pause."
    )  # fmt: skip
    assert session.live.obstacle == "The weights apply at the next Train."
    made = []

    def never_ends(*_):
        while True:
            made.append(1)
            yield Progress("training")

    monkeypatch.setattr(control, "train_for_runs_work", never_ends)
    session.training.step()
    assert not session.training.busy
    session.training.start()
    assert availability.no_training(session) is None
    assert availability.cannot_pause(session) == "Another library trains, as a whole: it cannot pause."
    session.training.start()
    assert sum(not job.quiet for job in session.jobs.running) == 1
    session.training.stop()
    ended(qtbot, session)


def test_other_settings_are_kept_while_a_library_is_chosen(session):
    before = replace(Settings(500, 3, "gpt2"), max_token_bytes=9, tie_break="bytes")
    chosen = before.with_algorithm("unigram", Settings())
    assert chosen.problem is None
    assert chosen.with_algorithm("bpe", Settings()) == before
    again = Settings.from_text(replace(chosen, character_coverage=0.99, byte_fallback=True).to_text())
    assert (again.algorithm, again.character_coverage, again.byte_fallback) == ("unigram", 0.99, True)


def test_a_failed_training_in_a_queue_does_not_keep_others_from_starting(qtbot, session, monkeypatch):
    def fails(corpus, config, name):
        yield Progress("training")
        raise CorpusError("The library refuses the text.")

    monkeypatch.setattr(control, "train_for_runs_work", fails)
    session.corpus.add_text(TEXT)
    shown, failed = [], []
    session.jobs.failed.connect(failed.append)
    session.queue.start([TrainingPlan(WORDPIECE), TrainingPlan(Settings(270))], lambda runs: shown.append(list(runs)))
    qtbot.waitUntil(lambda: not session.queue.total)
    assert [[run.name for run in runs] for runs in shown] == [[run.name for run in session.runs.all]]
    assert len(session.runs.all) == 1
    assert failed[-1].text == "1 of 2 trainings failed. WordPiece, size 400: The library refuses the text."
