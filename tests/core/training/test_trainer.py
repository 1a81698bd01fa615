"""Training, compared with a recount before each merge."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import itertools
from itertools import groupby

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.reference import assert_recounted, train_slowly
from tests.core.texts import documents, few_examples, settings_of_runs, zipf_text
from tokstudio.core.base.arrays import in_eight_bytes, in_four_bytes
from tokstudio.core.base.errors import ConfigError, CorpusError, TokStudioError
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.source import Source
from tokstudio.core.model.algorithms import TIE_BREAKS, ParityAware, Picky
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.model.run import NOTHING_LEFT, REACHED_SIZE, STOPPED
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.core.training.trainer import Trainer, train


def run_of(texts, **settings_of_run):
    trainer = Trainer(Corpus.from_texts(texts), TrainingConfig(**settings_of_run))
    list(trainer)
    return trainer.run


def assert_same_merges(run, other):
    assert run.merges.tolist() == other.merges.tolist()
    assert run.counts.tolist() == other.counts.tolist()
    assert run.tokens_after.tolist() == other.tokens_after.tolist()


few_words = st.lists(st.sampled_from([b"ab", b"ba", b"b", b"cab"]), min_size=1, max_size=60)


@few_examples
@given(documents | few_words, settings_of_runs)
def test_a_run_is_the_recount(texts, chosen):
    run, recount = run_of(texts, **chosen), train_slowly(texts, **chosen)
    assert_recounted(run, recount)
    assert run.ended == recount.ended
    assert run.tokens_before == sum(map(len, texts))
    assert run.uses().tolist() == recount.uses()
    assert run.merged.sum() == run.tokens_before - sum(map(len, recount.documents))


@pytest.mark.parametrize("tie_break", TIE_BREAKS)
@pytest.mark.parametrize("length", [0, 1, 2, 3, 4, 5, 7, 8, 64, 1000])
def test_one_byte_over_and_over(tie_break, length):
    chosen = {"vocabulary_size": 300, "tie_break": tie_break}
    run = run_of([b"a" * length], **chosen)
    assert_recounted(run, train_slowly([b"a" * length], **chosen))
    assert run.ended == NOTHING_LEFT


@pytest.mark.parametrize("texts", [[], [b""], [b"", b"", b""], [b"a"], [b"a", b"b", b"", b"a"]])
@pytest.mark.parametrize("limit", [{"vocabulary_size": 1000}, {"min_frequency": 2}])
def test_a_corpus_without_pairs_ends_at_once(texts, limit):
    run = run_of(texts, **limit)
    assert (len(run), run.ended, run.tokens_before) == (0, NOTHING_LEFT, sum(map(len, texts)))
    assert run.bytes_per_token() == (1.0 if run.tokens_before else 0.0)


def test_merges_never_cross_documents():
    # Only within a document do "b" and "a" stand side by side.
    run = run_of([b"ab", b"ab", b"ab", b"xba"], vocabulary_size=10_000)
    assert run.merges.tolist() == [[97, 98], [120, 98], [257, 97]]


@pytest.mark.parametrize(
    ("tie_break", "expected"),
    [
        ("first", b"yx"),
        ("lowest-id", b"\0y"),
        ("huggingface", b"!\xa1"),  # "!" is its first character, and a NUL shows as U+0100
        ("bytes", b"\xff\0"),
    ],
)
def test_the_tie_rules_differ(tie_break, expected):
    run = run_of([b"yx", b"!\xa1", b"!\xff", b"\xff\0", b"\0y"], vocabulary_size=257, tie_break=tie_break)
    assert bytes(run.merges[0].tolist()) == expected


def test_ties_by_bytes_compare_the_left_token_whole_and_then_the_right():
    # The left tokens share more than the seven bytes that a tie's key holds.
    texts = [word for word in (b"abcdefgh1x", b"abcdefgh2x", b"abcdefghx") for _ in range(3)]
    for size in range(257, 275):
        chosen = {"vocabulary_size": size, "tie_break": "bytes"}
        assert_recounted(run_of(texts, **chosen), train_slowly(texts, **chosen))


@pytest.mark.parametrize("longest", [2, 3, 4, 5])
def test_the_longest_allowed_token_is_inclusive(longest):
    run = run_of([b"abcdefghijk" * 20], vocabulary_size=1000, max_token_bytes=longest)
    lengths = [len(token) for token in Tokenizer.from_run(run).tokens if token is not None]
    assert max(lengths) == longest
    assert run.ended == NOTHING_LEFT


@pytest.mark.parametrize(
    ("text", "limits", "ended"),
    [
        ("abcabc", {"vocabulary_size": 258}, REACHED_SIZE),
        # The size comes before nothing left, and before the frequency.
        ("ab", {"vocabulary_size": 257}, REACHED_SIZE),
        ("abab", {"vocabulary_size": 257, "min_frequency": 2}, REACHED_SIZE),
        # The size alone goes on where pairs occur once.
        ("abcd", {"vocabulary_size": 1000}, NOTHING_LEFT),
        ("abcabd", {"min_frequency": 2}, "no pair occurs 2 times"),
        ("abab", {"min_frequency": 1234}, "no pair occurs 1,234 times"),
        ("abcabd" * 3, {"vocabulary_size": 10_000, "min_frequency": 3}, "no pair occurs 3 times"),
        ("abab", {"min_frequency": 2**62}, "no pair occurs 4,611,686,018,427,387,904 times"),
        # Pairs that are too long do not count as left.
        ("abababab", {"min_frequency": 2, "max_token_bytes": 2}, NOTHING_LEFT),
    ],
)
def test_the_end_of_a_training(text, limits, ended):
    run = run_of([text], **limits)
    assert run.ended == ended
    assert (ended == REACHED_SIZE) == (256 + len(run) == limits.get("vocabulary_size"))
    assert not len(run) or run.counts.min() >= limits.get("min_frequency", 1)
    # In fractions, no count is as large as the largest frequency.
    halved = train(Corpus.from_texts([text, text]).with_weights({0: 0.5}), TrainingConfig(**limits)).run
    assert (halved.ended, halved.merges.tolist()) == (ended, run.merges.tolist())


def test_nothing_left_comes_before_the_frequency():
    assert run_of([b"abab", b"abab"], min_frequency=2).ended == NOTHING_LEFT


def test_a_training_is_stopped_once():
    for size, ended in ((300, STOPPED), (257, REACHED_SIZE)):
        trainer = Trainer(Corpus.from_text("abcabc"), TrainingConfig(vocabulary_size=size))
        next(iter(trainer))
        if size == 257:
            list(trainer)
        trainer.stop()
        assert trainer.run.ended == ended
        assert list(trainer) == []


class TestStepping:
    @few_examples
    @given(documents, settings_of_runs, st.data())
    def test_steps_of_any_size_make_the_same_run_and_progress_never_exceeds_its_total(self, texts, chosen, data):
        trainer = Trainer(Corpus.from_texts(texts), TrainingConfig(**chosen))
        made = []
        while trainer.ended is None:
            progress = trainer.progress
            assert 0 <= progress.done <= progress.total
            step = data.draw(st.integers(1, 5))
            batch = trainer.advance(step)
            assert len(batch) <= step
            assert batch.first == len(made) + 1
            made += batch.left.tolist()
        assert made == trainer.run.merges[:, 0].tolist()
        assert_same_merges(trainer.run, run_of(texts, **chosen))
        assert trainer.run.ended == run_of(texts, **chosen).ended

    @pytest.mark.parametrize("merges", [0, -1])
    def test_fewer_than_one_merge_is_refused(self, merges):
        trainer = Trainer(Corpus.from_text("abab"), TrainingConfig(vocabulary_size=300))
        with pytest.raises(ConfigError, match=f"At least one merge must be requested, not {merges}"):
            trainer.advance(merges)

    def test_leaving_the_loop_loses_nothing(self):
        trainer = Trainer(Corpus.from_text("abcabcabd"), TrainingConfig(vocabulary_size=300))
        first = next(iter(trainer))
        rest = list(trainer)
        lefts = [*first.left.tolist(), *itertools.chain.from_iterable(batch.left.tolist() for batch in rest)]
        assert lefts == trainer.run.merges[:, 0].tolist()

    def test_the_run_so_far_is_a_run(self):
        whole = run_of(["the cat in the hat"], vocabulary_size=270)
        trainer = Trainer(Corpus.from_text("the cat in the hat"), TrainingConfig(vocabulary_size=270))
        while trainer.merges_made < 5:
            trainer.advance(1)
        run = trainer.run
        assert (run.ended, run.merges.tolist()) == (STOPPED, whole.merges[:5].tolist())
        assert len(trainer.tokenizer()) == 261

    def test_a_run_that_was_stopped_before_it_was_laid_out_is_empty(self):
        trainer = Trainer(Corpus.from_texts(["the cat", "", "in the hat"]), TrainingConfig(vocabulary_size=300))
        assert trainer.prepared is None
        trainer.stop()
        run = trainer.run
        assert (len(run), run.ended, run.tokens_before, run.bytes_per_token()) == (0, STOPPED, 0, 0.0)
        assert run.base_counts.tolist() == run.uses().tolist() == [0] * 256


class TestPrefixes:
    @few_examples
    @given(documents, st.sampled_from(TIE_BREAKS), st.one_of(st.none(), st.integers(2, 5)), st.data())
    def test_the_first_merges_are_the_shorter_run(self, texts, tie_break, longest, data):
        chosen = {"tie_break": tie_break, "max_token_bytes": longest}
        run = run_of(texts, vocabulary_size=400, **chosen)
        if len(run):
            merges = data.draw(st.integers(1, len(run)))
            shorter = run_of(texts, vocabulary_size=256 + merges, **chosen)
            assert shorter.merges.tolist() == run.merges[:merges].tolist()
            assert shorter.uses().tolist() == run.uses(merges).tolist()
            assert shorter.bytes_per_token() == run.bytes_per_token(merges)

    @few_examples
    @given(documents, settings_of_runs)
    def test_tokens_differ_and_are_used_as_often_as_encoding_every_document_gives(self, texts, chosen):
        run = run_of(texts, **chosen)
        tokenizer = Tokenizer.from_run(run)
        ids = [token for text in texts for token in tokenizer.encode(text)]
        assert run.uses().tolist() == np.bincount(np.array(ids, np.int64), minlength=len(tokenizer)).tolist()
        assert len(ids) == (run.tokens_after[-1] if len(run) else run.tokens_before)
        assert len(set(tokenizer.tokens)) == len(tokenizer)


class TestResuming:
    @few_examples
    @given(documents, settings_of_runs, st.integers(0, 40), st.data())
    def test_a_resumed_run_equals_an_uninterrupted_one(self, texts, chosen, merges, data):
        """From every kind of end: stopped, its size, nothing left, too rare."""
        corpus = Corpus.from_texts(texts)
        earlier = Trainer(corpus, TrainingConfig(**chosen))
        while earlier.ended is None and earlier.merges_made < merges:
            earlier.advance(data.draw(st.integers(1, 9)))
        earlier.stop()
        run = earlier.run
        size = data.draw(st.integers(max(257, 256 + len(run)), 400))
        config = TrainingConfig(**{**chosen, "vocabulary_size": size, "min_frequency": None})
        resumed = Trainer.resume(corpus, run, config)
        batches = list(resumed)
        unbroken = Trainer(corpus, config)
        list(unbroken)
        assert_same_merges(resumed.run, unbroken.run)
        assert resumed.run.ended == unbroken.run.ended
        assert resumed.run.config == config
        # What the run had already is not given out again.
        assert sum(map(len, batches)) == len(resumed.run) - len(run)
        assert not batches or batches[0].first == len(run) + 1

    def test_a_lower_frequency_goes_on_from_a_higher_one(self):
        corpus = Corpus.from_text("she sells sea shells by the sea shore")
        run = train(corpus, TrainingConfig(min_frequency=4)).run
        resumed = Trainer.resume(corpus, run, TrainingConfig(min_frequency=2))
        list(resumed)
        assert_same_merges(resumed.run, train(corpus, TrainingConfig(min_frequency=2)).run)
        assert len(resumed.run) > len(run)

    @pytest.mark.parametrize("texts", [["ababa"], ["a", "bab"]])
    def test_another_corpus_is_refused(self, texts):
        run = run_of(["ab", "ab"], vocabulary_size=257)
        with pytest.raises(CorpusError, match="The corpus has changed since this run was trained: train again"):
            Trainer.resume(Corpus.from_texts(texts), run, TrainingConfig(vocabulary_size=258))

    @pytest.mark.parametrize("other", [{"tie_break": "bytes"}, {"max_token_bytes": 3}])
    def test_other_settings_are_refused(self, other):
        run = run_of(["abab"], vocabulary_size=257)
        with pytest.raises(ConfigError, match="Only the limits can change when a run is resumed"):
            Trainer.resume(Corpus.from_text("abab"), run, TrainingConfig(vocabulary_size=258, **other))

    def test_limits_that_the_run_has_passed_are_refused(self):
        corpus = Corpus.from_text("abcabcabc")
        run = train(corpus, TrainingConfig(vocabulary_size=259)).run
        assert run.counts.tolist() == [3, 3, 2]
        with pytest.raises(ConfigError, match="Vocabulary size must be at least 259: the run already has that many"):
            Trainer.resume(corpus, run, TrainingConfig(vocabulary_size=258))
        with pytest.raises(ConfigError, match="Minimum frequency must be at most 2: the run already went down to that"):
            Trainer.resume(corpus, run, TrainingConfig(min_frequency=3))

    @pytest.mark.parametrize("change", ["merges", "counts", "tokens_after", "longer"])
    def test_a_run_that_does_not_follow_from_the_corpus_is_refused(self, change):
        corpus = Corpus.from_text("abcabc")
        run = train(corpus, TrainingConfig(vocabulary_size=400)).run
        arrays = {name: getattr(run, name).copy() for name in ("merges", "counts", "tokens_after")}
        if change == "longer":
            arrays = {name: np.concatenate([array, array[-1:]]) for name, array in arrays.items()}
        else:
            arrays[change][-1] += 1
        forged = type(run)(**{**vars(run), **arrays})
        with pytest.raises(CorpusError, match="do not match this corpus"):
            list(Trainer.resume(corpus, forged, TrainingConfig(vocabulary_size=500)))


def test_a_corpus_that_is_too_large_is_refused(monkeypatch):
    monkeypatch.setattr("tokstudio.core.algorithms.common.symbols.LARGEST_CORPUS", 10)
    with pytest.raises(CorpusError, match="The corpus is too large: 10 bytes, and at most 10 can be merged at once"):
        list(Trainer(Corpus.from_text("0123456789"), TrainingConfig(vocabulary_size=300)))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"pattern": r"\w+"}, "drops"),
        ({"base": "characters", "base_vocabulary": ["a"]}, 'The character "b"'),
        ({"held_out": 0.5}, "at least 20"),
    ],
)
def test_a_trainer_that_failed_fails_again_with_the_same_words(settings, words):
    trainer = Trainer(Corpus.from_text("ab ab"), TrainingConfig(min_frequency=2, **settings))
    for _ in range(3):
        with pytest.raises(TokStudioError, match=words):
            list(trainer)
    assert trainer.run.tokens_before == 0


def test_before_the_corpus_is_laid_out_the_alphabet_is_that_of_the_base_vocabulary():
    config = TrainingConfig(min_frequency=2, base="characters", base_vocabulary=["a", "<u>", "b"])
    tokenizer = Trainer(Corpus.from_text("ab"), config).tokenizer()
    assert [bytes(token) for token in tokenizer.tokens] == [b"a", b"<u>", b"b"]
    assert len(Trainer(Corpus.from_text("ab"), TrainingConfig(min_frequency=2, base="characters")).tokenizer()) == 0


# --- Weights in four bytes: those that do not fit are in an array of their own, which changes no training -------------

TEXTS = {
    "english": "the cat sat on the mat, and the other cat sat on the hat; " * 9,
    "german": "die Katze saß auf der Matte, und die andere Katze saß auf dem Hut; " * 7,
    "greek": "η γάτα κάθισε στο χαλάκι και η άλλη γάτα στο καπέλο; " * 5,
}
CORPUS = Corpus(tuple(Source.from_texts(text, name) for name, text in TEXTS.items()))
PARALLEL = {"english": "a cat " * 3, "german": "eine Katze " * 3}
TRAININGS = {
    **{tie_break: {"tie_break": tie_break} for tie_break in TIE_BREAKS},
    "characters": {"base": "characters"},
    "whole characters": {"algorithm": "whole-characters"},
    "Picky BPE": {"algorithm": Picky(threshold=0.3)},
    "parity-aware BPE": {"algorithm": ParityAware(global_merges=5)},
    "BoundlessBPE": {"algorithm": "boundless"},
    "parallel texts": {"algorithm": ParityAware(parallel=PARALLEL)},
    "from a tokenizer": {},
}


def merges_of(corpus, config, start):
    trainer = Trainer(corpus, config, start=start)
    list(trainer)
    run = trainer.run
    return run.merges.tolist(), run.counts.tolist(), run.tokens_after.tolist(), trainer.tokenizer().tokens[300:320]


@given(st.lists(st.integers(0, 5) | st.integers((1 << 31) - 2, 1 << 62)), st.integers(0, 3))
def test_weights_in_four_bytes_are_what_they_were(weights, known):
    short, heavy = in_four_bytes(np.array(weights, np.int64), known)
    assert short.dtype == np.int32
    assert (short < 0).sum() == len(heavy) == sum(weight >= 1 << 31 for weight in weights)
    before = np.arange(known)
    assert in_eight_bytes(short, np.concatenate([before, heavy])).tolist() == weights


@pytest.mark.parametrize("name", TRAININGS)
def test_weights_that_do_not_fit_change_no_training(name, monkeypatch):
    config = TrainingConfig(vocabulary_size=330, pattern="gpt2", **TRAININGS[name])
    start = None
    if name == "from a tokenizer":
        start = Tokenizer(train(CORPUS, TrainingConfig(vocabulary_size=280, pattern="gpt2")).merges, pattern="gpt2")
    before = merges_of(CORPUS, config, start)
    # Only weights of 1 and 2 fit.
    monkeypatch.setattr("tokstudio.core.base.arrays._LARGEST_INT32", 2)
    assert merges_of(CORPUS, config, start) == before


@pytest.mark.parametrize("algorithm", ["bpe", "picky"])
def test_words_may_occur_more_often_than_31_bits_can_count(algorithm):
    words, times = {" low": 5, " lower": 2, " newest": 6, " widest": 3, "!": 1}, 1 << 33
    config = TrainingConfig(vocabulary_size=266, pattern="gpt2", algorithm=algorithm)
    few = train(Corpus.from_counts(words), config).run
    many = train(Corpus.from_counts({word: count * times for word, count in words.items()}), config).run
    assert many.merges.tolist() == few.merges.tolist()
    for name in ("counts", "tokens_after", "tokens_before"):
        assert np.array_equal(getattr(many, name), times * getattr(few, name)), name


# --- The estimated progress of merging, compared with its work: replaced places and rounds ----------------------------


ZIPF_TEXT = zipf_text(200_000, 3_000)


def followed(**limits):
    """Each share that was said while merging, with the tokens that the merges took until then."""
    trainer = Trainer(Corpus.from_text(ZIPF_TEXT), TrainingConfig(**limits))
    shares, removed, tokens = [], [], 0
    while trainer.ended is None:
        batch = trainer.advance(20)
        if len(batch):
            tokens = int(batch.tokens_after[-1])
        progress = trainer.progress
        if trainer.merges_made and trainer.ended is None:
            assert progress.phase == "merging"
            shares.append(progress.done / progress.total)
            removed.append(trainer.tokens_before - tokens)
    return np.array(shares), np.array(removed) / (trainer.tokens_before - tokens)


@pytest.mark.parametrize(
    "limits",
    [
        {"vocabulary_size": 1_500},
        {"vocabulary_size": 5_000},
        {"min_frequency": 20},
        {"vocabulary_size": 1_500, "min_frequency": 2},
        {"vocabulary_size": 5_000, "pattern": "gpt2"},
    ],
)
def test_the_share_only_grows_from_little_to_nearly_all(limits):
    shares, removed = followed(**limits)
    assert shares.tolist() == sorted(shares.tolist())
    assert shares[0] < 0.3
    assert 0.9 < shares[-1] <= 1
    if len(limits) == 1 and "vocabulary_size" in limits:
        # Where half of the tokens are taken. By merges it would be 1 to 3 %.
        assert 0.1 < shares[np.searchsorted(removed, 0.5)] < 0.8


@pytest.mark.parametrize("pattern", ["none", "cl100k", r"\s*\S+|\s+"])
@pytest.mark.parametrize("others", [{}, {"base": "characters", "held_out": 0.1, "special_tokens": ["<e>"]}])
def test_before_merging_each_phase_comes_once_and_goes_forward_over_all_sources(pattern, others):
    sources = [Source.from_texts([ZIPF_TEXT[at : at + 700_000].replace(" o", "\no")]) for at in (0, 20_000, 50_000)]
    trainer = Trainer(Corpus(tuple(sources)), TrainingConfig(vocabulary_size=400, pattern=pattern, **others))
    seen = []
    trainer.advance()
    while trainer.prepared is None:
        seen.append(trainer.progress)
        trainer.advance()
    phases = [phase for phase, _ in groupby(progress.phase for progress in seen)]
    assert len(phases) == len(set(phases)), "no phase comes back"
    for phase in phases:
        done = [progress.done for progress in seen if progress.phase == phase]
        assert done == sorted(done)
        assert len({progress.total for progress in seen if progress.phase == phase}) == 1
