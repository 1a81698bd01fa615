"""The session with every kind of training: base units, special tokens, counts, documents, samples."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
import pytest

from tests.gui.person import TEXT
from tokstudio import Corpus, TrainingConfig, train
from tokstudio.core.base.resources import sample_text
from tokstudio.core.training.forecast import Forecast
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.training_settings import Settings

LINES = "".join(f"line {n}: the cat sat on the mat <|end|>\n" for n in range(60))


def ended(qtbot, session: Session) -> None:
    qtbot.waitUntil(lambda: session.training.current is None)


def trained(qtbot, session: Session, text: str, settings: Settings) -> None:
    session.corpus.add_text(text)
    session.training.set_settings(settings)
    session.training.start()
    ended(qtbot, session)


def foreseen(session: Session, sample: int) -> Forecast:
    forecast = Forecast(1.0, 10**10, 10**9, sample, "This training would take too much: train on a sample.")
    session.training.set_forecast(forecast)
    return forecast


@pytest.mark.parametrize(
    "settings",
    [
        Settings(320, pattern="gpt2", special_tokens=("<|end|>", "<pad>")),
        Settings(320, special_tokens=("<|end|>",), special_placement="first", tie_break="huggingface"),
        Settings(80, base="characters", special_tokens=("<|end|>",), max_token_bytes=5),
        Settings(60, base="characters", base_vocabulary=("<?>", *"abcdehilmnost :"), unknown_token="<?>"),
    ],
)
def test_a_training_gives_what_the_core_gives(qtbot, session, settings):
    trained(qtbot, session, LINES, settings)
    expected = train(Corpus.from_text(LINES), settings.config())
    run = session.runs.active
    for of_run, of_core in (
        (run.merges, expected.run.merges),
        (run.log.count, expected.run.counts),
        (run.log.tokens_after, expected.run.tokens_after),
    ):
        assert np.array_equal(of_run, of_core)
    assert session.view.playhead == len(run)
    assert run.base_size == expected.run.base_size
    assert run.special_tokens == expected.special_tokens
    assert run.vocabulary_size == len(expected)
    assert run.log.tokens_before == expected.run.tokens_before
    assert run.bytes_per_token(len(run)) == expected.run.bytes_per_token()
    assert run.tokenizer.encode("the cat", "all") == expected.encode("the cat", "all")
    uses = expected.run.uses(3)
    for token in (run.base_size, run.base_size + 2, int(uses[: run.base_size].argmax())):
        if token not in run.special_tokens.values():
            assert run.uses.of(token, 3) == uses[token]


def test_the_current_special_token_stays_the_same_while_the_run_grows(qtbot, session, step_to):
    session.corpus.add_text(LINES)
    session.training.set_settings(Settings(400, special_tokens=("<|end|>", "<|pad|>")))
    step_to(1)
    session.view.set_target(session.runs.active.special_tokens["<|pad|>"])
    session.view.look_at(session.runs.active.special_tokens["<|end|>"])
    session.training.resume()
    ended(qtbot, session)
    assert len(session.runs.active) > 1
    assert session.view.token == session.runs.active.special_tokens["<|end|>"]
    assert session.view.target == session.runs.active.special_tokens["<|pad|>"]


def test_a_training_stopped_during_preparation_leaves_no_run(qtbot, session):
    session.corpus.add_text(TEXT)
    session.training.start()
    session.training.current.job.pause()
    session.training.stop()
    ended(qtbot, session)
    assert all(run.uses.base is not None for run in session.runs.all)


def test_an_error_in_the_corpus_is_reported_and_leaves_no_run(qtbot, session):
    told = []
    session.jobs.failed.connect(told.append)
    trained(qtbot, session, "a b", Settings(pattern=r"\w+"))
    assert session.runs.all == []
    assert session.runs.active is None
    assert told[0].text.startswith('The pattern drops " "')


def test_word_counts_are_trained_on_as_the_core_does(qtbot, session, tmp_path):
    path = tmp_path / "words.tsv"
    path.write_text("the\t10\nthen\t5\ncat\t2\n")
    session.corpus.open_counts([path])
    qtbot.waitUntil(lambda: len(session.corpus.sources) == 1 and session.corpus.statistics is not None)
    assert session.corpus.statistics.characters == 56
    session.training.set_settings(Settings(None, 2))
    session.training.start()
    ended(qtbot, session)
    expected = train(Corpus.from_counts(path), TrainingConfig(min_frequency=2))
    assert np.array_equal(session.runs.active.merges, expected.run.merges)
    assert session.runs.active.corpus_bytes == 56
    path.write_text("cat\t2\n")
    session.corpus.reread(0, None)
    qtbot.waitUntil(lambda: session.corpus.current.bytes == 6)
    assert session.corpus.sources[0].counts.tolist() == [2]


def test_lines_as_documents_divide_present_and_later_sources(qtbot, session, tmp_path):
    session.corpus.add_text("a\nb\nc\n")
    session.training.set_settings(Settings(documents="line"))
    assert session.training.obstacle == "The corpus is being divided into documents."
    qtbot.waitUntil(lambda: session.training.obstacle is None)
    session.corpus.add_text("d\ne\n")
    (tmp_path / "f.txt").write_text("f\ng\n")
    session.corpus.open_paths([tmp_path / "f.txt"])
    qtbot.waitUntil(lambda: len(session.corpus.sources) == 3)
    assert [source.documents for source in session.corpus.sources] == [3, 2, 2]
    session.training.set_settings(Settings(documents="file"))
    qtbot.waitUntil(lambda: [source.documents for source in session.corpus.sources] == [1, 1, 1])


def test_the_last_setting_of_documents_counts(qtbot, session):
    session.corpus.add_text("a\nb\n")
    for documents in ("line", "file", "line"):
        session.training.set_settings(Settings(documents=documents))
    qtbot.waitUntil(lambda: not session.jobs.running)
    assert session.corpus.sources[0].documents == 2


@pytest.mark.parametrize(("trained_by", "other"), [("file", "line"), ("line", "file")])
def test_a_run_can_continue_after_the_earlier_division_is_restored(qtbot, session, make_run, trained_by, other):
    session.training.set_settings(Settings(documents=trained_by))
    session.corpus.add_text("the cat sat\non the mat\n" * 9, "cat")
    session.corpus.add_text("the rat", "rat")
    run = make_run(vocabulary_size=270, documents=trained_by)
    session.training.set_settings(Settings(documents=other, vocabulary_size=280))
    qtbot.waitUntil(lambda: not session.jobs.running)
    assert not session.training.can_continue(run)
    for documents in (trained_by, other, trained_by):
        session.training.set_settings(Settings(documents=documents, vocabulary_size=280))
        qtbot.waitUntil(lambda: not session.jobs.running)
    assert session.training.can_continue(run)
    session.corpus.reread(0, None)
    session.corpus.add_text("a hat\n")
    assert not session.training.can_continue(run), "that is another corpus"


def test_too_little_memory_offers_a_sample_and_keeps_the_corpus(qtbot, session):
    session.corpus.add_text(LINES)
    session.training.set_settings(Settings(None, 2))
    forecast = foreseen(session, 400)
    assert session.training.obstacle == forecast.problem
    assert session.training.sample_size == 400
    sources = session.corpus.sources
    session.training.start()
    assert session.runs.all == []
    session.training.start_on_sample()
    qtbot.waitUntil(lambda: bool(session.runs.all))
    ended(qtbot, session)
    assert session.corpus.sources == sources
    size = session.runs.active.corpus_bytes
    assert session.runs.active.name == f"Run 1 (sample of {size} B)"
    assert 300 < size <= 500
    expected = train(session.runs.active.corpus, TrainingConfig(min_frequency=2))
    assert np.array_equal(session.runs.active.merges, expected.run.merges)


def test_a_forecast_is_forgotten_when_corpus_or_settings_change(session):
    session.corpus.add_text(LINES)
    foreseen(session, 400)
    session.training.set_settings(Settings(2000))
    assert session.training.forecast is None
    assert session.training.obstacle is None
    foreseen(session, 400)
    session.corpus.add_text("more")
    assert session.training.forecast is None


def test_word_counts_that_do_not_fit_cannot_be_trained_on_and_no_sample_is_offered(session):
    session.corpus.set_sources(Corpus.from_counts({"some": 10**9, "words": 3}).sources)
    session.training.set_forecast(Forecast(1.0, 10**10, 10**9, 0, "This training would take too much."))
    assert session.training.sample_size is None
    assert session.training.obstacle == "This training would take too much."
    session.training.set_forecast(Forecast(1.0, 1000, 10**9, 0, ""))
    assert session.training.sample_size is None
    assert session.training.obstacle is None


def test_no_result_of_a_quick_job_is_lost(qtbot, session, tmp_path):
    for number in range(12):
        path = tmp_path / f"{number}.tsv"
        path.write_text("a\t1\n")
        session.corpus.set_sources(())
        session.corpus.open_counts([path])
        qtbot.waitUntil(lambda: bool(session.corpus.sources) and session.corpus.statistics is not None)


def test_a_run_in_characters_can_be_shown_before_its_characters_are_known(qtbot, session):
    session.corpus.add_text(sample_text("scripts"))
    session.training.set_settings(Settings(2000, base="characters"))
    session.view.set_text("日本")
    session.training.start()
    run = session.runs.active
    assert run is not None
    assert not run.ready
    assert len(session.view.tokenizer) == 0
    assert run.vocabulary_size == 0
    ended(qtbot, session)
    assert run.ready
    assert run.tokenizer.decode(run.tokenizer.encode(sample_text("scripts"))) == sample_text("scripts")
