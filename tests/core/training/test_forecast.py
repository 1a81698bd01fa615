"""Forecasts of trainings."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import itertools
import time
import tracemalloc
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from tests.core.texts import zipf_text
from tokstudio import ConfigError, Corpus, Trainer, TrainingConfig, train
from tokstudio.core.base.progress import finish
from tokstudio.core.base.resources import sample_text
from tokstudio.core.corpus.sampling import sample_in_one, sample_work
from tokstudio.core.corpus.source import Source
from tokstudio.core.model.algorithms import algorithm_of
from tokstudio.core.training import forecast
from tokstudio.core.training.forecast import fitting_merges, fitting_sizes, forecast_work

WORDS = [f"word{n * n % 997}" for n in range(3_000)]
LARGE = "".join(f"{WORDS[n % 2_999]} and {WORDS[n * 7 % 3_000]}, {n % 9973}\n" for n in range(150_000))


SECONDS = 0.7  # that a forecast may take


def set_clock(monkeypatch, perf_counter, thread_time=time.thread_time):
    monkeypatch.setattr(forecast, "time", SimpleNamespace(perf_counter=perf_counter, thread_time=thread_time))


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """Time enough for all trials, however busy the machine is."""
    set_clock(monkeypatch, lambda: 0.0)


@pytest.fixture
def ticking(monkeypatch):
    """A clock by which so many pieces of work take the time there is; the pieces so far are its next number."""

    def begin(pieces):
        now = itertools.count()
        clock = lambda: next(now) * SECONDS / pieces  # noqa: E731
        set_clock(monkeypatch, clock, clock)
        return now

    return begin


@pytest.fixture
def tried(monkeypatch):
    """Lets two samples give these trials, on a corpus of so many bytes."""

    def begin(size, *trials):
        made = tuple(forecast._Trial(*trial) for trial in trials)

        def trials_work(corpus, config, size):
            yield from ()
            return made

        monkeypatch.setattr(forecast, "_trials_work", trials_work)
        monkeypatch.setattr(forecast, "refuse_overflow", lambda sources: None)
        monkeypatch.setattr(forecast, "processors", lambda: 2)
        document = SimpleNamespace(data=range(size), ends=np.array([size]), counts=None, bytes=size)
        return Corpus((document,))

    return begin


def forecast_of(corpus, **settings):
    return finish(forecast_work(corpus, TrainingConfig(**{"vocabulary_size": 400, **settings})))


@pytest.mark.parametrize("pattern", ["none", "gpt2"])
def test_the_work_of_a_large_corpus_is_judged_by_a_small_part_of_it(pattern, monkeypatch):
    corpus = Corpus.from_text(LARGE)
    sizes = []
    begin = Trainer.__init__

    def noted(self, corpus, config):
        sizes.append(corpus.bytes)
        begin(self, corpus, config)

    monkeypatch.setattr(Trainer, "__init__", noted)
    made = forecast_of(corpus, pattern=pattern)
    assert len(sizes) > 2
    assert max(sizes) < 1.2 * (1 << 20) < corpus.bytes
    assert made.seconds > 0
    assert made.fits
    assert made.sample == corpus.bytes


@pytest.mark.parametrize("pattern", ["none", "cl100k"])
def test_memory_is_at_least_what_the_arrays_take_and_not_many_times_that(pattern):
    corpus, config = Corpus.from_text(LARGE), TrainingConfig(vocabulary_size=400, pattern=pattern)
    trainer = Trainer(corpus, config)
    while trainer.merges_made == 0:
        trainer.advance(1)
    tables = trainer._engine.merger._tables
    least = tables.symbols.nbytes + tables.weights.nbytes
    assert least <= finish(forecast_work(corpus, config)).memory < 12 * least


def test_a_training_too_large_for_memory_names_a_sample(monkeypatch):
    monkeypatch.setattr(forecast, "free_memory", lambda: 20_000_000)
    corpus = Corpus.from_text(LARGE)
    made = forecast_of(corpus)
    assert not made.fits
    assert 0 < made.sample < corpus.bytes
    assert made.problem == (
        f"This training would take about {made.memory / 1e6:,.0f} MB of memory, but only 20 MB is free: "
        f"train on a sample of {made.sample / 1e6:,.1f} MB."
    )


def test_problems_are_reported_before_training():
    made = forecast_of(Corpus.from_text("some text\n" * 9), base="characters", base_vocabulary=list("some "))
    assert not made.fits
    assert 'The character "t"' in made.problem
    assert "drops" in forecast_of(Corpus.from_text("a b"), pattern=r"\w").problem


def test_a_sample_keeps_documents_and_given_counts():
    counts = {f"word{n}": n + 1 for n in range(50_000)}
    sample = sample_in_one(Corpus.from_counts(counts), 100_000)
    assert 50_000 < sum(len(source.data) for source in sample.sources) <= 100_000
    for source in sample.sources:
        starts = np.concatenate([[0], source.ends[:-1]])
        for start, end, count in zip(starts[:5], source.ends[:5], source.counts[:5], strict=True):
            assert counts[source.data[start:end].tobytes().decode()] == count
    lines = Corpus.from_texts([f"line {n}\n" for n in range(30_000)])
    for source in sample_in_one(lines, 50_000).sources:
        assert source.data[: source.ends[0]].tobytes().startswith(b"line ")
        assert source.data[source.ends[-2] : source.ends[-1]].tobytes().endswith(b"\n")


def test_a_place_in_a_sample_is_not_told_as_one_in_the_corpus():
    corpus = Corpus.from_text(LARGE)
    dropped = forecast_of(corpus, pattern="[^5]+").problem
    assert dropped == 'The pattern drops text, such as "5": it must cover all text.'
    with pytest.raises(ConfigError, match=f"at character {LARGE.index('5') + 1:,}"):
        train(corpus, TrainingConfig(vocabulary_size=400, pattern="[^5]+"))
    missing = forecast_of(corpus, base="characters", base_vocabulary=sorted(set(LARGE) - {"7"})).problem
    assert missing.startswith('The character "7" (U+0037) is not in the base vocabulary, and others may be')
    few = forecast_of(corpus, base="characters", vocabulary_size=5).problem
    assert few.endswith(", and likely more: each distinct character takes one.")


@pytest.mark.parametrize(
    ("pattern", "size", "times"),
    [("gpt2", 1 << 20, 4), ("gpt2", 64_000_000, 4), ("none", 1 << 20, 13), ("none", 64_000_000, 13 * 4**0.75)],
)
def test_picky_bpe_takes_many_times_the_merging_of_plain_bpe(tried, pattern, size, times):
    trial = (1 << 20, 1 << 20, 1, 10_000, 0.0, 1.0)
    corpus = tried(size, trial, trial)
    plain, picky = (
        forecast_of(corpus, pattern=pattern, algorithm=algorithm, vocabulary_size=10_000).seconds
        for algorithm in ("bpe", "picky")
    )
    assert picky == pytest.approx(times * plain + 10_000 * 25e-6)


# Tracing memory makes each match slow, so none of these has very many.
SENTENCES = "This sentence of some words stands here again and again." * 30_000


@pytest.mark.parametrize(
    ("text", "pattern"),
    [(LARGE[:1_200_000], r"[^\n]+\n?"), *((SENTENCES + rare, r"[^.]+\.?|\.") for rare in ("é", "日", "😀"))],
    ids=["distinct lines", "one byte", "two bytes", "four bytes"],
)
def test_the_memory_of_a_custom_expression_on_a_long_document_is_included(text, pattern):
    corpus = Corpus.from_text(text)
    config = TrainingConfig(vocabulary_size=400, pattern=pattern)
    made = finish(forecast_work(corpus, config))

    def prepare():
        trainer = Trainer(corpus, config)
        while trainer.prepared is None:
            trainer.advance()

    prepare()  # loads the loops, whose memory is no training's
    tracemalloc.start()
    prepare()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 0.9 * peak < made.memory < 2 * peak


def test_documents_that_are_short_take_little_to_be_matched():
    pattern, rare, text = r"\S+|\s+", "😀", LARGE[:100_000]
    whole = forecast_of(Corpus.from_text(text + rare), pattern=pattern)
    lines = forecast_of(Corpus.from_texts([*text.splitlines(keepends=True), rare]), pattern=pattern)
    held_out = forecast_of(Corpus.from_text(text + rare), pattern=pattern, held_out=0.01)
    assert lines.memory < whole.memory / 2
    assert held_out.memory - len(text) < whole.memory / 2


def test_an_empty_corpus_has_a_forecast_too():
    assert forecast_of(Corpus.from_text("")).fits


def test_a_share_is_held_out_of_the_corpus_not_of_its_samples():
    lines = "".join("the cat and the hat " * 2_000 + f"{n}\n" for n in range(60))
    made = forecast_of(Corpus.from_text(lines), held_out=0.1)
    assert made.problem == ""
    half = forecast_of(Corpus.from_text(lines), held_out=0.5)
    assert half.memory < 0.8 * made.memory


@pytest.mark.parametrize("length", [70_000, 20])
def test_too_few_lines_to_hold_some_out_are_told(length):
    texts = ["x" * length + "\n" + "y" * length, "", "z\n\n" * 3]
    made = forecast_of(Corpus.from_texts(texts), held_out=0.1)
    assert made.problem.startswith("The corpus has 8 lines, and holding out a share needs at least 20")
    enough = Corpus.from_texts([*texts, "\n" * 12])
    assert forecast_of(enough, held_out=0.1).fits
    counted = Corpus((*enough.sources, *Corpus.from_counts({"a": 1}).sources))
    assert "Word counts have no lines" in forecast_of(counted, held_out=0.1).problem


def test_of_given_counts_no_sample_is_offered(monkeypatch):
    counts = Corpus.from_counts({f"word{n}": 10**9 + n for n in range(2_000)})
    assert (forecast_of(counts).sample, forecast_of(counts).too_large) == (0, False)
    monkeypatch.setattr(forecast, "free_memory", lambda: 1_000)
    made = forecast_of(counts)
    assert (made.sample, made.too_large) == (0, True)
    assert made.problem.endswith("is free: leave out the rarest words.")
    mixed = forecast_of(Corpus((*Corpus.from_text("some text").sources, *counts.sources)))
    assert mixed.sample == 0
    assert mixed.problem.endswith("is free: leave out some of the corpus.")


def test_many_small_files_are_tried_as_one():
    corpus = Corpus(tuple(Source.from_texts([f"file {n}\n", "two\n"]) for n in range(600)))
    whole = sample_in_one(corpus, 1 << 20)
    assert len(whole.sources) == 1
    assert list(whole.iter_documents()) == list(corpus.iter_documents())
    part = sample_in_one(corpus, 5_000)
    assert len(part.sources) == 1
    assert 3_750 < part.bytes < 6_250
    assert {bytes(document) for document in part.iter_documents()} < {
        bytes(document) for document in corpus.iter_documents()
    }


def test_a_sample_of_many_sources_keeps_text_and_counts_apart():
    texts = tuple(Source.from_texts([f"file {n}\n" * 9]) for n in range(200))
    counted = tuple(Corpus.from_counts({f"word{n}": 7, f"other{n}": 9}).sources[0] for n in range(200))
    mixed = Corpus(tuple(part for pair in zip(texts, counted, strict=True) for part in pair))
    text, counts = sample_in_one(mixed, 1 << 20).sources
    assert text.counts is None
    assert text.data.tobytes() == b"".join(source.data.tobytes() for source in texts)
    assert counts.counts.tolist() == [7, 9] * 200
    assert counts.bytes == sum(source.bytes for source in counted)


def test_trials_end_when_time_is_over(ticking):
    now = ticking(200)
    slow = forecast_of(Corpus.from_text(LARGE), pattern=r"(?s).")
    assert next(now) < 1_000
    assert slow.seconds > SECONDS
    assert slow.fits


def test_a_slow_first_trial_is_judged_by_its_finished_part(ticking, monkeypatch):
    now = ticking(3)
    monkeypatch.setattr("tokstudio.core.pretokenization.custom_regex.MATCHES_IN_A_PIECE", 1)
    monkeypatch.setattr("tokstudio.core.pretokenization.patterns.SECONDS_OF_A_PIECE", 0)
    made = forecast_of(Corpus.from_text("some text " * 100_000), pattern=r"(?s).")
    assert next(now) < 100
    assert made.seconds > 1_000_000 / 100 * SECONDS / 3
    assert made.fits


def test_an_error_on_a_sample_of_a_small_corpus_does_not_count():
    # A document is whole in the corpus only: its samples end in the middle of it.
    corpus = Corpus.from_text("a" * 50_000 + "b")
    assert forecast_of(corpus, pattern="(?s).+b").problem == ""


def test_counts_that_overflow_together_are_told():
    corpus = Corpus(Corpus.from_counts({"ab": 2**60}).sources * 300)
    assert forecast_of(corpus).problem.startswith("The corpus is too large")


@pytest.mark.parametrize(("pattern", "more"), [("gpt2", 1.0), ("none", 1.0 + 3 * 2.0)])
def test_the_time_for_the_curve_of_held_out_text_is_part_of_it(tried, pattern, more):
    """A tenth held out is a ninth of the rest: it is split once more, and encoded whole where nothing splits it."""
    trial = (9_000, 9_000, 1_000, 50, 1.0, 2.0)
    tried(10_000, trial, trial)
    corpus = Corpus.from_text("123456789\n" * 1_000)
    made = forecast_of(corpus, vocabulary_size=300, pattern=pattern, held_out=0.1)
    assert made.seconds == pytest.approx(1.0 + 2.0 + more / 9)


@pytest.fixture
def by_work(monkeypatch):
    """A clock that counts work: a unit for each token that a merge replaces, and 150 for each merge by itself."""
    spent = [0.0]
    advance, left = Trainer.advance, dict[Trainer, int]()

    def advanced(trainer, *arguments):
        batch = advance(trainer, *arguments)
        if len(batch):
            before = left.get(trainer, trainer.tokens_before)
            left[trainer] = int(batch.tokens_after[-1])
            spent[0] += before - left[trainer] + 150 * len(batch)
        return batch

    monkeypatch.setattr(Trainer, "advance", advanced)
    set_clock(monkeypatch, lambda: 0.0, lambda: spent[0])
    return lambda: spent[0]


# What trials on samples of 100 MB of text took, and what all of it took: positions, merges, seconds, falls; seconds.
MEASURED = {
    1_000: (((16_721, 1_000, 0.0027, 3.12), (262_481, 1_000, 0.0131, 3.27), (1_049_864, 1_000, 0.0364, 3.29)), 4.1),
    32_000: (((16_721, 5_025, 0.0031, 3.46), (262_481, 32_000, 0.0399, 4.85), (1_049_864, 32_000, 0.1147, 5.17)), 4.7),
    100_000: (((16_721, 5_025, 0.0031, 3.46), (262_481, 62_635, 0.0475, 4.85), (1_049_864, 100_000, 0.1465, 5.5)), 6.5),
}


@pytest.mark.parametrize("merges", MEASURED)
def test_a_forecast_from_samples_is_within_a_factor_of_two(tried, merges):
    """Also where something else kept the processor busy, so that only smaller samples could be tried."""
    samples, seconds = MEASURED[merges]
    trials = [(size, size, 1, made, 0.0, taken, falls) for size, made, taken, falls in samples]
    for small, large in itertools.pairwise(trials):
        made = forecast_of(tried(100_000_000, small, large), vocabulary_size=256 + merges)
        assert seconds / 2 < made.seconds < 2 * seconds


# The same with the pattern gpt2, the last sample of 1 MB: positions, pre-tokens, merges, seconds to count and to merge,
# falls; and seconds of processor time that all of the text took, counted in two threads.
SPLIT = {
    ("bpe", 10, 100_000): ((289_869, 30_740, 54_422, 0.0093, 0.0396, 5.51), 0.31),
    ("bpe", 10, 8_000): ((289_869, 30_740, 7_744, 0.0089, 0.0264, 4.51), 0.23),
    ("bpe", 100, 1_000): ((314_201, 32_744, 744, 0.0098, 0.0125, 3.11), 0.66),
    ("bpe", 100, 32_000): ((314_201, 32_744, 31_744, 0.0096, 0.0345, 5.43), 0.94),
    ("superbpe", 10, 8_000): ((289_869, 30_740, 7_744, 0.0095, 0.0230, 4.51), 1.54),
    ("superbpe", 10, 32_000): ((289_869, 30_740, 31_744, 0.0093, 0.0328, 5.51), 1.66),
    ("boundless", 10, 8_000): ((289_869, 30_740, 7_744, 0.0096, 0.0227, 4.51), 0.40),
    ("boundless", 10, 32_000): ((289_869, 30_740, 31_744, 0.0094, 0.0337, 5.51), 0.49),
}


@pytest.mark.parametrize(("algorithm", "megabytes", "size"), SPLIT)
def test_a_forecast_of_text_that_is_split_is_within_a_factor_of_two(monkeypatch, tried, algorithm, megabytes, size):
    (positions, words, merges, counting, merging, falls), seconds = SPLIT[algorithm, megabytes, size]
    before = {10: (92_230, 10_660), 100: (100_906, 11_869)}[megabytes]
    small = (1 << 18, *before, min(merges, 20_387), 0.005, merging / 3, falls - 0.1)
    corpus = tried(megabytes * 1_000_000, small, (1 << 20, positions, words, merges, counting, merging, falls))
    # The memory of a second stage is found by splitting the text, which is not there.
    monkeypatch.setattr(forecast, "sample_in_one", lambda corpus, size: Corpus.from_text("some text"))
    more = {"transition": 3 * size // 4} if algorithm == "superbpe" else {}
    told = forecast_of(corpus, vocabulary_size=size, pattern="gpt2", algorithm=algorithm_of(algorithm, more)).seconds
    assert seconds / 2 < told < 2 * seconds


def test_a_sample_is_not_trained_to_counts_that_are_all_alike(monkeypatch):
    """The pairs that occur twice in a small part of a text say nothing of the text, and are slow to tell apart."""
    trained, advance = {}, Trainer.advance

    def noted(trainer):
        batch = advance(trainer, 20)
        trained[trainer.corpus] = trainer.merges_made
        return batch

    monkeypatch.setattr(Trainer, "advance", noted)
    text = zipf_text(250_000, 30_000)
    settings = {"vocabulary_size": 30_000, "tie_break": "bytes"}
    forecast_of(Corpus.from_text(text), **settings)
    monkeypatch.undo()
    samples = {sample: merges for sample, merges in trained.items() if sample.bytes > 1_000}
    assert len(samples) > 2
    for sample, merges in samples.items():
        frequent = len(train(sample, TrainingConfig(**settings, min_frequency=4)).run)
        assert frequent < merges <= frequent + 20


def test_other_load_of_the_computer_does_not_matter(by_work, monkeypatch):
    """A run that was interrupted may still be letting go of its memory, and held-out text may be measured."""
    corpus, config = Corpus.from_text(LARGE), TrainingConfig(vocabulary_size=2_000)
    alone = finish(forecast_work(corpus, config)).seconds
    clock = itertools.count()
    set_clock(monkeypatch, lambda: next(clock) * 1e-6, by_work)
    assert finish(forecast_work(corpus, config)).seconds == alone


def test_more_merges_and_more_text_never_take_less(by_work):
    text = zipf_text(100_000, 10_000)
    corpus = Corpus.from_text(text)
    said = [forecast_of(corpus, vocabulary_size=size).seconds for size in (300, 1_000, 4_000)]
    assert said == sorted(said)
    texts = [Corpus.from_text(text * times) for times in (1, 2, 4)]
    said = [forecast_of(text, vocabulary_size=1_000).seconds for text in texts]
    assert said == sorted(said)
    assert said[2] < 4.5 * said[0]


def test_no_more_merges_are_foreseen_than_the_vocabulary_has_room_for(tried):
    corpus = tried(100_000, (250, 250, 1, 600, 0.0, 1.0, 2.0), (1_000, 1_000, 1, 1_000, 0.0, 1.0, 2.0))
    bounded, free = (
        forecast_of(corpus, vocabulary_size=1_300, min_frequency=2),
        forecast_of(corpus, vocabulary_size=10**6),
    )
    room = forecast.merging_memory(100_000, 1_300, weighted=False)
    assert bounded.memory == room < free.memory


def test_a_sample_of_weighted_sources_has_their_weights():
    texts = [Source.from_texts([f"file {n}\n" * 9], str(n)) for n in range(200)]
    corpus = Corpus(tuple(texts)).with_weights({**dict.fromkeys(range(100), 0.5), 150: 3})
    sample = sample_in_one(corpus, 1 << 20)
    assert sample.weights == (500, 1000, 3000)
    assert [source.documents for source in sample.sources] == [100, 99, 1]
    assert sum(source.bytes for source in sample.sources) == corpus.bytes


@pytest.mark.parametrize("pattern", ["none", "gpt2"])
def test_text_that_does_not_count_takes_no_memory_of_merging_and_has_no_problems(pattern):
    little = Source.from_texts(["abc " * 20_000], "a")
    corpus = Corpus((little, Source.from_texts([LARGE[: 1 << 21] + "äöü"], "b")))
    settings = {"pattern": pattern, "base": "characters", "base_vocabulary": list("abc ")}
    assert not forecast_of(corpus, **settings).fits
    made = forecast_of(corpus.with_weights({"b": 0}), **settings)
    assert made.fits
    alone = forecast_of(Corpus((little,)).with_weights({"a": 2}), **settings)
    if pattern == "none":
        assert made.memory == alone.memory
    nothing = forecast_of(corpus.with_weights({"a": 0, "b": 0}), pattern=pattern)
    assert nothing.problem == "The weights of all sources are 0, so there is nothing to train on."


def test_a_sample_to_train_on_keeps_weights_and_places():
    lines = finish(Source.from_texts(["".join(f"line {n}\n" for n in range(30_000))], "a").split_work("line"))
    starts = np.concatenate([[0], lines.ends[:-1]])
    divided = replace(lines, places=starts + 7)
    counted = replace(
        Corpus.from_counts({f"word{n}": 2 for n in range(5_000)}).sources[0], name="b", places=np.arange(5_000) * 9
    )
    corpus = Corpus((divided, counted)).with_weights({"a": 2, "b": 0.5})
    sample = finish(sample_work(corpus, 200_000))
    assert sample.weights == (2000, 500)
    text, words = sample.sources
    for source, made in ((divided, text), (counted, words)):
        assert len(made.places) == made.documents
        begins = np.concatenate([[0], source.ends[:-1]])
        spans = zip(source.places.tolist(), begins, source.ends, strict=True)
        documents = {place: source.data[begin:end].tobytes() for place, begin, end in spans}
        for document, place in zip(Corpus((made,)).iter_documents(), made.places.tolist(), strict=True):
            assert documents[place] == bytes(document)


@pytest.mark.parametrize(("size", "merges"), [(3_000, 210), (31_000, 700), (1_000_000, 4_000), (1, 4), (0, 1)])
def test_so_many_merges_fit_a_text_that_each_joins_a_pair_that_occurs_twice(size, merges):
    assert fitting_merges(size) == merges
    text = sample_text("article")[:size]
    if 3_000 <= size <= len(text):
        run = train(Corpus.from_text(text), TrainingConfig(vocabulary_size=256 + merges)).run
        assert len(run) == merges
        assert int(run.counts[-1]) >= 2


def test_the_rule_of_thumb_is_said_in_numbers():
    rule, sizes = fitting_sizes().split("; ")
    assert rule == "four times the square root of the bytes, rounded down to two digits"
    assert sizes == "3 kB support 210 merges, 30 kB 690, 1 MB 4,000, 100 MB 40,000"
