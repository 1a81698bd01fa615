"""Training, compared with a recount before each merge."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import itertools
from itertools import groupby

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.reference import train_slowly
from tests.core.texts import documents, limits, patient, settings_of_runs
from tokstudio.core.base.arrays import in_eight_bytes, in_four_bytes
from tokstudio.core.base.errors import ConfigError, CorpusError, TokStudioError
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.source import Source
from tokstudio.core.model.algorithms import TIE_BREAKS, ParityAware, Picky
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.model.run import NOTHING_LEFT, REACHED_SIZE, STOPPED
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.core.training.trainer import Trainer, extend, train


def run_of(texts, **settings_of_run):
    trainer = Trainer(Corpus.from_texts(texts), TrainingConfig(**settings_of_run))
    for _ in trainer:
        pass
    return trainer.run


def assert_same_merges(run, other):
    assert run.merges.tolist() == other.merges.tolist()
    assert run.counts.tolist() == other.counts.tolist()
    assert run.tokens_after.tolist() == other.tokens_after.tolist()


@settings(patient, max_examples=120)
@given(documents, settings_of_runs)
def test_a_run_is_the_recount(texts, chosen):
    run, recount = run_of(texts, **chosen), train_slowly(texts, **chosen)
    assert run.merges.tolist() == [list(pair) for pair in recount.merges]
    assert run.counts.tolist() == recount.counts
    assert run.tokens_after.tolist() == recount.tokens_after
    assert run.ended == recount.ended
    assert run.tokens_before == sum(map(len, texts))
    assert run.uses().tolist() == recount.uses()
    assert run.merged.sum() == run.tokens_before - sum(map(len, recount.documents))


@settings(patient, max_examples=60)
@given(st.lists(st.sampled_from([b"ab", b"ba", b"b", b"cab"]), min_size=1, max_size=60), settings_of_runs)
def test_many_small_documents_are_the_recount(texts, chosen):
    run, recount = run_of(texts, **chosen), train_slowly(texts, **chosen)
    assert (run.merges.tolist(), run.ended) == ([list(pair) for pair in recount.merges], recount.ended)


@pytest.mark.parametrize("tie_break", TIE_BREAKS)
@pytest.mark.parametrize("length", [0, 1, 2, 3, 4, 5, 7, 8, 64, 1000])
def test_one_byte_over_and_over(tie_break, length):
    chosen = {"vocabulary_size": 300, "tie_break": tie_break}
    run, recount = run_of([b"a" * length], **chosen), train_slowly([b"a" * length], **chosen)
    assert (run.merges.tolist(), run.counts.tolist()) == ([list(pair) for pair in recount.merges], recount.counts)
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


def test_counts_include_overlapping_places_and_replacements_do_not():
    run = run_of([b"aaaaa"], vocabulary_size=257)
    assert (run.counts.tolist(), run.tokens_after.tolist(), run.merged.tolist()) == ([4], [3], [2])


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


def test_huggingface_orders_bytes_by_their_characters():
    # A space shows as U+0120 and 0xA1 as itself, so that "a\xa1" comes before "a ".
    texts = [b"a ", b"a\xa1"]
    assert run_of(texts, vocabulary_size=257, tie_break="lowest-id").merges.tolist() == [[97, 32]]
    assert run_of(texts, vocabulary_size=257, tie_break="huggingface").merges.tolist() == [[97, 161]]


def test_ties_by_bytes_compare_the_left_token_whole_and_then_the_right():
    # The left tokens share more than the seven bytes that a tie's key holds.
    words = [b"abcdefgh1x", b"abcdefgh2x", b"abcdefghx"]
    texts = [word for word in words for _ in range(3)]
    for size in range(257, 275):
        chosen = {"vocabulary_size": size, "tie_break": "bytes"}
        assert run_of(texts, **chosen).merges.tolist() == [list(p) for p in train_slowly(texts, **chosen).merges]


@pytest.mark.parametrize("longest", [2, 3, 4, 5])
def test_the_longest_allowed_token_is_inclusive(longest):
    run = run_of([b"abcdefghijk" * 20], vocabulary_size=1000, max_token_bytes=longest)
    lengths = [len(token) for token in Tokenizer.from_run(run).tokens if token is not None]
    assert max(lengths) == longest
    assert run.ended == NOTHING_LEFT


def test_three_bytes_at_most_gives_one_of_three_and_none_of_four():
    tokens = list(Tokenizer.from_run(run_of([b"abcd" * 5], vocabulary_size=400, max_token_bytes=3)).tokens)
    assert b"abc" in tokens
    assert not [token for token in tokens if len(token) > 3]


class TestEnding:
    def test_the_size_is_reached(self):
        run = run_of([b"abcabc"], vocabulary_size=258)
        assert (len(run), run.ended) == (2, REACHED_SIZE)

    def test_the_size_comes_before_nothing_left(self):
        assert run_of([b"ab"], vocabulary_size=257).ended == REACHED_SIZE

    def test_the_size_comes_before_the_frequency(self):
        assert run_of([b"abab"], vocabulary_size=257, min_frequency=2).ended == REACHED_SIZE

    def test_the_size_alone_goes_on_where_pairs_occur_once(self):
        run = run_of([b"abcd"], vocabulary_size=1000)
        assert (run.counts.tolist(), run.ended) == ([1, 1, 1], NOTHING_LEFT)

    def test_no_pair_is_frequent_enough(self):
        assert run_of([b"abcabd"], min_frequency=2).ended == "no pair occurs 2 times"

    def test_a_large_frequency_is_written_with_a_comma(self):
        assert run_of([b"abab"], min_frequency=1234).ended == "no pair occurs 1,234 times"

    def test_nothing_left_comes_before_the_frequency(self):
        assert run_of([b"abab", b"abab"], min_frequency=2).ended == NOTHING_LEFT

    def test_pairs_that_are_too_long_do_not_count_as_left(self):
        run = run_of([b"abababab"], min_frequency=2, max_token_bytes=2)
        assert (len(run), run.ended) == (1, NOTHING_LEFT)

    def test_both_limits_hold(self):
        run = run_of([b"abcabd" * 3], vocabulary_size=10_000, min_frequency=3)
        assert run.counts.min() == 3
        assert run.ended == "no pair occurs 3 times"

    def test_stopped(self):
        trainer = Trainer(Corpus.from_text("abcabc"), TrainingConfig(vocabulary_size=300))
        next(iter(trainer))
        trainer.stop()
        assert trainer.run.ended == STOPPED
        assert list(trainer) == []

    def test_stopping_an_ended_training_changes_nothing(self):
        trainer = Trainer(Corpus.from_text("abcabc"), TrainingConfig(vocabulary_size=257))
        list(trainer)
        trainer.stop()
        assert trainer.run.ended == REACHED_SIZE


class TestStepping:
    @settings(patient, max_examples=60)
    @given(documents, settings_of_runs, st.data())
    def test_steps_of_any_size_make_the_same_run(self, texts, chosen, data):
        trainer = Trainer(Corpus.from_texts(texts), TrainingConfig(**chosen))
        made = []
        while trainer.ended is None:
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

    @settings(patient, max_examples=40)
    @given(documents, limits)
    def test_progress_never_exceeds_its_total(self, texts, limit):
        trainer = Trainer(Corpus.from_texts(texts), TrainingConfig(**limit))
        while trainer.ended is None:
            progress = trainer.progress
            assert 0 <= progress.done <= progress.total
            trainer.advance(1)


class TestPrefixes:
    @settings(patient, max_examples=60)
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

    @settings(patient, max_examples=60)
    @given(documents, settings_of_runs)
    def test_no_two_ids_hold_the_same_bytes(self, texts, chosen):
        tokens = list(Tokenizer.from_run(run_of(texts, **chosen)).tokens)
        assert len(set(tokens)) == len(tokens)

    @settings(patient, max_examples=60)
    @given(documents, settings_of_runs)
    def test_uses_are_what_encoding_every_document_gives(self, texts, chosen):
        run = run_of(texts, **chosen)
        tokenizer = Tokenizer.from_run(run)
        ids = [token for text in texts for token in tokenizer.encode(text)]
        assert run.uses().tolist() == np.bincount(np.array(ids, np.int64), minlength=len(tokenizer)).tolist()
        assert len(ids) == (run.tokens_after[-1] if len(run) else run.tokens_before)

    @settings(patient, max_examples=40)
    @given(documents, settings_of_runs)
    def test_counts_never_rise(self, texts, chosen):
        counts = run_of(texts, **chosen).counts.tolist()
        assert counts == sorted(counts, reverse=True)


class TestResuming:
    @settings(patient, max_examples=80)
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

    def test_another_corpus_is_refused(self):
        run = run_of(["abab"], vocabulary_size=257)
        with pytest.raises(CorpusError, match="The corpus has changed since this run was trained: train again"):
            Trainer.resume(Corpus.from_text("ababa"), run, TrainingConfig(vocabulary_size=258))

    def test_documents_cut_elsewhere_are_another_corpus(self):
        run = run_of(["ab", "ab"], vocabulary_size=257)
        with pytest.raises(CorpusError):
            Trainer.resume(Corpus.from_texts(["a", "bab"]), run, TrainingConfig(vocabulary_size=258))

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


def test_the_same_corpus_and_settings_give_the_same_run():
    text = "It was the best of times, it was the worst of times, 日本語の本. " * 20
    one, other = run_of([text], vocabulary_size=500), run_of([text], vocabulary_size=500)
    assert_same_merges(one, other)
    assert one.corpus == other.corpus


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


def test_a_frequency_too_large_to_be_counted_in_fractions_is_never_reached():
    corpus = Corpus.from_texts(["abab"]).with_weights({0: 0.5})
    run = train(corpus, TrainingConfig(min_frequency=2**62)).run
    assert run is not None
    assert run.ended == "no pair occurs 4,611,686,018,427,387,904 times"


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
}


def merges_of(tokenizer):
    run = tokenizer.run
    return run.merges.tolist(), run.counts.tolist(), run.tokens_after.tolist(), tokenizer.tokens[300:320]


@pytest.fixture
def hardly_any_fit(monkeypatch):
    """Lets only weights of 1 and 2 fit."""
    return lambda: monkeypatch.setattr("tokstudio.core.base.arrays._LARGEST_INT32", 2)


@given(st.lists(st.integers(0, 5) | st.integers((1 << 31) - 2, 1 << 62)), st.integers(0, 3))
def test_weights_in_four_bytes_are_what_they_were(weights, known):
    short, heavy = in_four_bytes(np.array(weights, np.int64), known)
    assert short.dtype == np.int32
    assert (short < 0).sum() == len(heavy) == sum(weight >= 1 << 31 for weight in weights)
    before = np.arange(known)
    assert in_eight_bytes(short, np.concatenate([before, heavy])).tolist() == weights


@pytest.mark.parametrize("name", TRAININGS)
def test_weights_that_do_not_fit_change_no_training(name, hardly_any_fit):
    config = TrainingConfig(vocabulary_size=330, pattern="gpt2", **TRAININGS[name])
    before = merges_of(train(CORPUS, config))
    hardly_any_fit()
    assert merges_of(train(CORPUS, config)) == before


def test_weights_that_do_not_fit_change_no_training_by_parallel_texts(hardly_any_fit):
    texts = Corpus(CORPUS.sources[:2])
    config = TrainingConfig(vocabulary_size=300, pattern="gpt2", algorithm=ParityAware(parallel=PARALLEL))
    before = merges_of(train(texts, config))
    hardly_any_fit()
    assert merges_of(train(texts, config)) == before


def test_weights_that_do_not_fit_change_no_further_training(hardly_any_fit):
    config = TrainingConfig(vocabulary_size=330, pattern="gpt2")
    start = Tokenizer(train(CORPUS, TrainingConfig(vocabulary_size=280, pattern="gpt2")).merges, pattern="gpt2")
    before = merges_of(extend(start, CORPUS, config))
    hardly_any_fit()
    assert merges_of(extend(start, CORPUS, config)) == before


@pytest.mark.parametrize("algorithm", ["bpe", "picky"])
def test_words_may_occur_more_often_than_31_bits_can_count(algorithm):
    words, times = {" low": 5, " lower": 2, " newest": 6, " widest": 3, "!": 1}, 1 << 33
    config = TrainingConfig(vocabulary_size=266, pattern="gpt2", algorithm=algorithm)
    few = train(Corpus.from_counts(words), config).run
    many = Trainer(Corpus.from_counts({word: count * times for word, count in words.items()}), config)
    for _ in many:
        pass
    assert many.run.merges.tolist() == few.merges.tolist()
    assert many.run.counts.tolist() == [count * times for count in few.counts.tolist()]
    assert many.run.tokens_after.tolist() == [tokens * times for tokens in few.tokens_after.tolist()]
    assert many.tokens_before == times * few.tokens_before


# --- The estimated progress of merging, compared with its work: replaced places and rounds ----------------------------


def zipf_text(words):
    """Text with Zipf's spread of words, as languages have, of many lengths and with no two alike."""
    random = np.random.default_rng(3)
    vocabulary = ["".join(random.choice(list("etaoinshrdlu"), random.integers(1, 9))) for _ in range(3_000)]
    ranks = np.minimum(random.zipf(1.3, words) - 1, len(vocabulary) - 1)
    return " ".join(vocabulary[rank] for rank in ranks)


ZIPF_TEXT = zipf_text(200_000)


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
    shares, _ = followed(**limits)
    assert shares.tolist() == sorted(shares.tolist())
    assert shares[0] < 0.3
    assert 0.9 < shares[-1] <= 1


@pytest.mark.parametrize("size", [1_500, 5_000])
def test_half_of_the_tokens_taken_is_not_a_few_percent(size):
    """By merges it would be 1 to 3 %."""
    shares, removed = followed(vocabulary_size=size)
    half = shares[np.searchsorted(removed, 0.5)]
    assert 0.1 < half < 0.8


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
