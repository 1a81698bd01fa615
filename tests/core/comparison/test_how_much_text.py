"""How much text: parts within each other, trainings that are those of the parts, and what is held out."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokstudio import ConfigError, Corpus, CorpusError, TrainingConfig, how_much_text, train
from tokstudio.core.base.progress import finish
from tokstudio.core.comparison.how_much_text import SHARES, HowMuchText, TextAmount, how_much_text_work
from tokstudio.core.corpus.sampling import hold_out_work, nested_samples_work
from tokstudio.core.pretokenization import count_words

CONFIG = TrainingConfig(vocabulary_size=300, pattern="gpt2")


def lines(count: int, seed: int = 0) -> list[str]:
    """Texts of a line, each another."""
    chosen = np.random.default_rng(seed)
    words = ["".join(chosen.choice(list("abcdefgh"), chosen.integers(2, 7))) for _ in range(90)]
    return [f"{number} {' '.join(chosen.choice(words, 12))}\n" for number in range(count)]


def two_texts() -> Corpus:
    """A text of 19 lines and one of 50."""
    return Corpus(tuple(source for count in (19, 50) for source in Corpus.from_texts(lines(count)).sources))


def texts_in(sources) -> list[bytes]:
    found = []
    for source in sources:
        found += [bytes(source.data[start:end]) for start, end in pairwise([0, *source.ends.tolist()])]
    return found


@given(
    st.lists(st.lists(st.text("ab\n", max_size=30), min_size=1, max_size=20), min_size=1, max_size=3),
    st.integers(0, 5),
)
def test_each_sample_is_within_the_next_and_rests_complete_it(texts, seed):
    sources = tuple(source for documents in texts for source in Corpus.from_texts(documents).sources)
    nested = finish(nested_samples_work(sources, SHARES[0], seed))
    samples = [(finish(nested.sample_work(share)), finish(nested.sample_work(share, rest=True))) for share in SHARES]
    size = sum(source.bytes for source in sources)
    for (share, (sample, rest)), larger in zip(zip(SHARES, samples, strict=True), [*samples[1:], None], strict=True):
        assert sum(one.bytes for one in (*sample, *rest)) == size
        assert sum(one.bytes for one in sample) == nested.bytes_of(share)
        longest = max((int(np.diff(source.ends, prepend=0).max(initial=0)) for source in sources), default=0)
        for one, source in zip(sample, sources, strict=True):
            assert abs(one.bytes - share * source.bytes) <= longest
        if larger is not None:
            for one, two in zip(sample, larger[0], strict=True):
                # What is chosen stays in its order.
                left = iter(texts_in([two]))
                assert all(text in left for text in texts_in([one]) if text)


def test_of_equal_documents_a_sample_has_its_share_exactly():
    sources = Corpus.from_texts([f"{number:02d}" for number in range(64)]).sources
    nested = finish(nested_samples_work(sources, SHARES[0], 5))
    assert [nested.bytes_of(share) for share in SHARES] == [2, 4, 8, 16, 32, 64, 128]
    kept = [set(texts_in(finish(nested.sample_work(share)))) for share in SHARES]
    assert all(smaller < larger for smaller, larger in pairwise(kept))
    assert len(kept[-1]) == 64


def test_a_row_is_the_training_on_its_part():
    corpus = Corpus.from_texts(lines(400)).with_weights({0: 2})
    found = how_much_text(corpus, replace(CONFIG, held_out=0.5), held_out=0.25, seed=3)
    trained, held = finish(hold_out_work(corpus.sources, 0.25, corpus.weights))
    nested = finish(nested_samples_work(trained, SHARES[0], 3))
    samples = [finish(nested.sample_work(share)) for share in SHARES]
    made = []
    for row, sample in zip(found.rows, samples, strict=True):
        tokenizer = train(Corpus(sample, corpus.weights), CONFIG)
        made.append({tokenizer.bytes_of(token) for token in range(256, 300)})
        assert row.bytes == sum(source.bytes for source in sample)
        counted = sum(len(tokenizer.encode(text)) for text in texts_in(held))
        assert row.bytes_per_token == pytest.approx(sum(map(len, texts_in(held))) / counted)
    assert [row.kept for row in found.rows] == [len(each & made[-1]) / 44 for each in made]
    assert [row.share for row in found.rows] == list(SHARES)
    other = train(Corpus(finish(nested.sample_work(0.5, rest=True)), corpus.weights), CONFIG)
    assert found.halves == len(made[-2] & {other.bytes_of(token) for token in range(256, 300)}) / 44
    assert found.held_out_bytes == sum(source.bytes for source in held)
    # Not the share that was asked for, since whole documents are held out.
    share = sum(source.bytes for source in held) / sum(len(text) for text in texts_in(corpus.sources))
    assert found.held_out.endswith(f", {100 * share:.1f}\u00a0% of the text.")
    assert f"{100 * share:.1f}" != "25.0"
    assert not set(texts_in(held)) & {text for sample in samples for text in texts_in(sample)}


def test_a_token_that_was_removed_is_none_that_two_trainings_share():
    letters = [chr(code) for code in range(33, 123)]
    # No two texts share a character.
    corpus = Corpus.from_texts("".join(letters[first : first + 3]) * 8 + "\n" for first in range(0, 90, 3))
    picky = TrainingConfig(min_frequency=2, algorithm="picky")
    tokenizer = train(corpus, picky)
    assert not set(tokenizer.merge_results.tolist()) <= set(tokenizer.tokens.ids().tolist())
    assert how_much_text(corpus, picky).halves == 0


def test_it_is_the_same_with_any_number_of_threads_and_another_by_another_seed(monkeypatch):
    corpus = Corpus.from_texts(lines(300))
    found, pools = [], []

    def pool(threads: int) -> ThreadPoolExecutor:
        pools.append(threads)
        return ThreadPoolExecutor(threads)

    monkeypatch.setattr(count_words, "ThreadPoolExecutor", pool)
    monkeypatch.setattr(count_words, "CHUNK", 20)  # else a short text is counted by one thread
    for threads in (1, 5):
        monkeypatch.setattr("tokstudio.core.base.machine.processors", lambda threads=threads: threads)
        monkeypatch.setattr(count_words, "processors", lambda threads=threads: threads)
        found.append(how_much_text(corpus, CONFIG))
    assert set(pools) == {5}
    assert found[0] == found[1]
    assert how_much_text(corpus, CONFIG, seed=1) != found[0]


def test_a_short_text_has_fewer_parts():
    found = how_much_text(Corpus.from_text("".join(lines(24))), CONFIG)
    assert found.rows[-1].share == 1
    assert 2 <= len(found.rows) < len(SHARES)
    assert all(before.bytes < after.bytes for before, after in pairwise(found.rows))


def test_a_source_of_weight_0_is_no_text_of_a_part():
    texts = lines(200)
    two = Corpus((*Corpus.from_texts(texts).sources, *Corpus.from_texts(lines(99, 5)).sources))
    assert how_much_text(two.with_weights({1: 0}), CONFIG) == how_much_text(Corpus.from_texts(texts), CONFIG)


def test_a_part_without_a_character_of_the_held_out_text_has_no_ratio():
    texts = [*lines(100), *(f"{chr(0x4E00 + number)}\n" * 9 for number in range(60))]
    found = how_much_text(Corpus.from_texts(texts), TrainingConfig(vocabulary_size=200, base="characters"))
    assert found.rows[0].bytes_per_token is None


def test_the_sentence_names_the_first_amount_from_which_on_little_changes():
    rows = [TextAmount(0.25, 10_000_000, 3.9, 0.97), TextAmount(0.5, 20_000_000, 4.0, 0.997)]
    whole = TextAmount(1.0, 40_000_000, 4.01, 1.0)
    told = "From 20.0 MB on, more text of this kind changes 0.3 % of the tokens; two halves agree in 97.3 %."
    assert HowMuchText((*rows, whole), 0.973, 4_000_000).sentence == told
    # An amount counts only if all larger ones change little, too.
    lucky = TextAmount(0.125, 5_000_000, 3.8, 0.995)
    assert HowMuchText((lucky, *rows, whole), 0.973, 4_000_000).sentence == told
    told = (
        "More text of this kind still changes the tokens: from 10.0 MB to 40.0 MB, 3.0 % of them; "
        "two halves agree in 90.0 %."
    )
    assert HowMuchText((rows[0], whole), 0.9, 4_000_000).sentence == told


@pytest.mark.parametrize(
    ("corpus", "held_out", "message"),
    [
        (Corpus.from_texts(["one\n"] * 19), 0.1, "at least 20 lines are needed"),
        (Corpus.from_texts([]), 0.1, "at least 20 lines are needed"),
        (two_texts().with_weights({1: 0}), 0.1, "at least 20 lines are needed"),
        (two_texts().with_weights({0: 0, 1: 0}), 0.1, "The weights of all sources are 0"),
        (Corpus.from_counts({"the": 3}), 0.1, "Word counts have no documents to choose from"),
        (Corpus.from_texts(lines(50)), 0.0, "must be above 0 and below 1, not 0"),
        (Corpus.from_texts(lines(50)), 1.0, "must be above 0 and below 1, not 1"),
    ],
)
def test_what_cannot_be_divided_is_told(corpus, held_out, message):
    with pytest.raises((ConfigError, CorpusError), match=message):
        how_much_text(corpus, CONFIG, held_out)


def test_it_can_be_ended_between_two_pieces_and_tells_how_far_it_is():
    work = how_much_text_work(Corpus.from_texts(lines(300)), CONFIG)
    told = []
    for progress in work:
        told.append(progress)
        if progress.phase == "training on parts" and progress.done:
            break
    work.close()
    assert told[-1].done
    assert {progress.phase for progress in told} > {"holding out", "sampling"}
    assert all(progress.done <= progress.total for progress in told)
