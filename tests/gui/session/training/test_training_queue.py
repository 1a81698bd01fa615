"""Several trainings one after another: order, shared counts, stop, cancel and failures."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.gui.person import TEXT
from tokstudio import Corpus, TrainingConfig, train
from tokstudio.core.base.progress import finish
from tokstudio.core.base.resources import sample_text
from tokstudio.core.corpus.sampling import sample_work
from tokstudio.gui.session.training import training as training_module
from tokstudio.gui.state.training_plans import TrainingPlan, in_order_of_counts, names_of_plans, problem_of_plans
from tokstudio.gui.state.training_settings import Settings

GPT2 = Settings(vocabulary_size=280, pattern="gpt2")


@pytest.fixture
def queue(session):
    session.corpus.add_text(TEXT)
    return session.queue


@pytest.fixture
def counted(monkeypatch):
    """The patterns of the counts that trainings made and may keep."""
    made, count = [], training_module.count_text_work

    def counting(corpus, config, threads):
        made.append(config.pattern)
        return count(corpus, config, threads)

    monkeypatch.setattr(training_module, "count_text_work", counting)
    return made


def ended(qtbot, session):
    qtbot.waitUntil(lambda: not session.queue.total and not session.jobs.running)


def train_all(qtbot, session, *given):
    session.queue.start(*given)
    ended(qtbot, session)


def plans(*changes):
    return [TrainingPlan(replace(GPT2, **change)) for change in changes]


def test_each_plan_becomes_a_run_as_if_it_were_trained_alone(qtbot, session, queue):
    wanted = plans({}, {"tie_break": "lowest-id"}, {"pattern": "none"}, {"base": "characters", "vocabulary_size": 40})
    numbers = []
    queue.changed.connect(lambda: numbers.append((queue.number, queue.total)))
    train_all(qtbot, session, wanted)
    assert numbers == [(1, 4), (2, 4), (3, 4), (4, 4), (0, 0)]
    for run, plan in zip(session.runs.all, wanted, strict=True):
        alone = train(Corpus.from_text(TEXT), plan.settings.config()).run
        assert (run.run.merges == alone.merges).all()
        assert (run.run.counts == alone.counts).all()
    assert session.runs.all[1].name == "Run 2 (gpt2, size 280, bytes, ties lowest-id)"
    assert session.training.settings == Settings()


def test_what_several_share_is_counted_once_and_released(qtbot, session, queue, counted):
    ties = ("first", "lowest-id", "bytes")
    wanted = plans(*({"tie_break": tie, "pattern": pattern} for tie in ties for pattern in ("gpt2", "cl100k")))
    train_all(qtbot, session, wanted)
    assert counted == ["gpt2", "cl100k"]
    assert [run.config.pattern for run in session.runs.all] == ["gpt2"] * 3 + ["cl100k"] * 3
    assert session.corpus.counts.find(session.corpus.current, GPT2.config()) is None
    assert session.corpus.counts.find(session.corpus.current, replace(GPT2, pattern="cl100k").config()) is None


def test_each_plan_has_its_weights_on_one_count_also_of_a_sample(qtbot, session, queue, counted):
    session.corpus.add_text("", "nothing")  # which is not in a sample
    session.corpus.add_text("die Katze und der Hut\n" * 400, "de")
    session.corpus.set_weights((1_000, 1_000, 2_500))
    wanted = [
        TrainingPlan(GPT2, percent, weights) for weights in ("", "1, 1, 0.01", "0, 1, 3") for percent in (100, 50)
    ]
    train_all(qtbot, session, wanted)
    assert counted == ["gpt2", "gpt2"], "the corpus once, and the sample once"
    merges = []
    for run, plan in zip(session.runs.all, in_order_of_counts(wanted), strict=True):
        whole = plan.weighted(session.corpus.current)
        corpus = whole if plan.percent == 100 else finish(sample_work(whole, whole.bytes // 2))
        assert run.corpus.weights == corpus.weights, plan
        expected = train(corpus, GPT2.config()).run
        assert (run.run.merges == expected.merges).all(), plan
        merges.append(expected.merges.tolist())
    assert merges[0] != merges[1] != merges[2]
    assert session.runs.all[1].name == "Run 2 (whole corpus, weights 1, 1, 0.01)"


def test_the_kept_count_of_a_mixture_serves_the_queue_and_stays(qtbot, session, queue, counted):
    session.corpus.add_text("die Katze und der Hut " * 30)
    session.corpus.set_weights((1_000, 2_500))
    train_all(qtbot, session, plans({}, {"tie_break": "bytes"}))
    assert counted == ["gpt2"]
    assert session.corpus.counts.find(session.corpus.current, GPT2.config()) is not None
    assert [run.corpus.weights for run in session.runs.all] == [(1_000, 2_500)] * 2


def test_a_sample_is_taken_once_and_named(qtbot, session, queue, counted):
    session.corpus.set_sources(())
    session.corpus.add_text(sample_text("article"))
    queue.start(
        [
            TrainingPlan(GPT2, 25),
            TrainingPlan(GPT2),
            TrainingPlan(replace(GPT2, tie_break="bytes"), 25),
        ]
    )
    ended(qtbot, session)
    first, second, whole = session.runs.all
    assert first.corpus is second.corpus
    assert first.corpus.bytes == pytest.approx(whole.corpus.bytes / 4, rel=0.1)
    assert [run.name for run in session.runs.all] == [
        "Run 1 (ties first, 25 % sample)",
        "Run 2 (ties bytes, 25 % sample)",
        "Run 3 (ties first, whole corpus)",
    ]
    assert counted == ["gpt2"]


def test_stop_ends_the_current_training_and_the_next_begins(qtbot, session, queue):
    queue.start(plans({"pattern": "none", "vocabulary_size": 290}, {}))
    session.training.pause()
    session.training.stop()
    ended(qtbot, session)
    assert session.runs.all[-1].run.config == GPT2.config()
    assert session.runs.all[-1].ended == "nothing left to merge"


def test_what_was_stopped_is_not_done(qtbot, session, queue):
    told = []
    session.jobs.told.connect(told.append)
    queue.changed.connect(lambda: queue.number in (1, 3) and session.training.stop())
    queue.start(plans(*({"pattern": name} for name in ("gpt2", "cl100k", "o200k", "llama3"))))
    ended(qtbot, session)
    assert [run.config.pattern for run in session.runs.all] == ["cl100k", "llama3"]
    assert told[-1] == "2 trainings are done, 2 were stopped: compare them in Tokenizers."


def test_cancel_drops_the_rest_and_the_current_one_ends_by_itself(qtbot, session, queue):
    queue.start(plans({}, {"tie_break": "bytes"}, {"tie_break": "lowest-id"}))
    queue.cancel()
    assert (queue.number, queue.total, queue.waiting) == (1, 1, 0)
    ended(qtbot, session)
    assert [run.ended for run in session.runs.all] == ["nothing left to merge"]


def test_a_failure_is_shown_until_the_end_and_stops_no_other(qtbot, session, queue):
    problems = []
    session.jobs.failed.connect(lambda problem: problems.append(problem.text))
    wrong = {"base": "characters", "base_vocabulary": ("a", "b"), "vocabulary_size": 300}
    train_all(qtbot, session, plans(wrong, {}, {"tie_break": "bytes"}))
    assert [run.config.tie_break for run in session.runs.all] == ["first", "bytes"]
    assert problems[-1].startswith("1 of 3 trainings failed. Run 1 (")
    assert "base vocabulary" in problems[-1]
    assert problems[-1] == problems[-2]


def test_the_corpus_of_the_start_is_used_to_the_end(qtbot, session, queue):
    queue.start(plans({}, {"tie_break": "bytes"}))
    session.corpus.set_sources(())
    ended(qtbot, session)
    assert [run.corpus.bytes for run in session.runs.all] == [len(TEXT)] * 2


def test_nothing_starts_without_a_corpus_or_with_a_plan_that_cannot_work(session, queue):
    queue.start(plans({"vocabulary_size": 10}))
    session.corpus.set_sources(())
    queue.start(plans({}))
    assert (queue.total, session.training.current, session.runs.all) == (0, None, [])


def test_closing_the_session_ends_all(qtbot, session, queue):
    queue.start(plans({"pattern": "none", "vocabulary_size": 290}, {}, {"tie_break": "bytes"}))
    session.close()
    assert queue.total == queue.waiting == 0


@pytest.mark.parametrize(
    ("wanted", "problem"),
    [
        ([], "at least one row"),
        (plans({}, {"vocabulary_size": 200}), "Row 2: Vocabulary size must be greater than 256."),
        ([TrainingPlan(GPT2), TrainingPlan(GPT2, 0)], "Row 2: The sample must be from 1 to 100 %"),
        (plans({}, {"tie_break": "bytes"}, {}), "Row 3 is the same as row 1"),
    ],
)
def test_plans_that_cannot_work_are_named(wanted, problem):
    assert problem in problem_of_plans(wanted, Corpus.from_text(TEXT))
    assert problem_of_plans(plans({}, {"pattern": "none"}), Corpus.from_text(TEXT)) is None


def test_names_say_only_what_differs():
    assert names_of_plans(plans({})) == [""]
    assert names_of_plans(plans({"pattern": r"\w+|\W+"}, {})) == [r'"\w+|\W+"', "gpt2"]
    assert names_of_plans(plans({}, {"pattern": "none"})) == ["gpt2", "no pattern"]
    limits = plans({"min_frequency": 5}, {"vocabulary_size": None, "min_frequency": 2_000})
    assert names_of_plans(limits) == ["size 280, min. 5", "min. 2,000"]


def test_a_config_alone_is_enough_to_train(qtbot, session, queue):
    session.training.start_with(TrainingConfig(vocabulary_size=270), session.corpus.current, " (own)")
    qtbot.waitUntil(lambda: session.training.current is None)
    assert session.runs.all[0].name == "Run 1 (own)"


def test_runs_to_compare_are_named_by_what_sets_them_apart_and_given_at_the_end(qtbot, session, queue):
    given = []
    queue.start(plans({}, {"tie_break": "bytes"}), given.append)
    assert session.runs.all[0].name == "ties first (Run 1)"
    ended(qtbot, session)
    assert given == [session.runs.all]
    assert [run.name for run in session.runs.all] == ["ties first (Run 1)", "ties bytes (Run 2)"]
    train_all(qtbot, session, plans({"tie_break": "lowest-id"}))
    assert (len(given), session.runs.all[-1].name) == (1, "Run 3")
