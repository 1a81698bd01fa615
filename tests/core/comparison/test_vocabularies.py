"""Two vocabularies: what only one has, what both have, ranks, scripts and shared uses."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tokstudio import ByteTokenizer, Corpus, Tokenizer, TrainingConfig, compare, train
from tokstudio.core.analysis.token_store import TokenStore
from tokstudio.core.base.progress import finish
from tokstudio.core.comparison.comparison import Comparison, cells_work, compare_work
from tokstudio.core.comparison.figures import Compared
from tokstudio.core.comparison.report.report import report_work
from tokstudio.core.comparison.sizes import (
    PERCENTS,
    embedding_parameters,
    merges_for,
    merges_like,
    parallel_curves_work,
    ratios_of,
    size_after,
    table_of_sizes,
    usual_sizes,
)
from tokstudio.core.comparison.texts import no_words, word_types_work
from tokstudio.core.comparison.vocabularies import NO_SCRIPT, vocabularies_work
from tokstudio.core.corpus.source import Source
from tokstudio.core.training.curves import SourceCurves

LATIN, MIXED = "the cat sat on the mat, the cat sat", "the cat, кот и кот и кот, the cat"


def trained(text: str, size: int = 280, specials: tuple[str, ...] = ()) -> Tokenizer:
    return train(Corpus.from_text(text), TrainingConfig(vocabulary_size=size, pattern="gpt2", special_tokens=specials))


def spelled(tokenizer: Tokenizer) -> dict[bytes, int]:
    specials = set(tokenizer.special_tokens.values())
    return {token: at for at, token in enumerate(tokenizer.tokens) if token and at not in specials}


def test_each_token_is_in_one_or_both() -> None:
    first, second = trained(LATIN, specials=("<|a|>",)), trained(MIXED)
    made = finish(vocabularies_work(first, second))
    ours, theirs = spelled(first), spelled(second)
    assert set(made.tokens) == set(ours) | set(theirs)
    for token, (one, other) in zip(made.tokens, made.ids.tolist(), strict=True):
        assert one == ours.get(token, -1)
        assert other == theirs.get(token, -1)
    assert made.jaccard == pytest.approx(len(set(ours) & set(theirs)) / len(set(ours) | set(theirs)))
    assert 0.5 < made.jaccard < 1


def test_a_rank_is_the_number_of_the_merge() -> None:
    first, second = trained(LATIN), trained(MIXED)
    made = finish(vocabularies_work(first, second))
    for which, tokenizer in enumerate((first, second)):
        results = tokenizer.merge_results.tolist()
        for number, rank in zip(made.ids[:, which].tolist(), made.ranks[:, which].tolist(), strict=True):
            assert rank == (-1 if number < 0 else results.index(number) + 1 if number in results else 0)


def test_scripts_are_those_of_the_first_letter() -> None:
    made = finish(vocabularies_work(trained(LATIN), trained(MIXED)))
    of = {token: made.script_names[script] for token, script in zip(made.tokens, made.scripts.tolist(), strict=True)}
    assert of[b" the"] == "Latin"
    assert of[" кот".encode()] == "Cyrillic"
    assert of[b","] == of[b"\xff"] == NO_SCRIPT


def test_shared_uses_are_weighted_by_the_text() -> None:
    first, second = trained(LATIN), trained(MIXED)
    made = finish(vocabularies_work(first, second))
    ids = second.encode(MIXED)
    ours = set(spelled(first))
    expected = sum(second.tokens[token] in ours for token in ids) / len(ids)
    assert made.shared_uses(np.bincount(ids)) == pytest.approx(expected)
    assert np.isnan(made.shared_uses(np.zeros(3, np.int64)))
    assert 0 < expected < 1


def test_the_overlap_of_several_is_that_of_each_two() -> None:
    tokenizers = {"latin": trained(LATIN, specials=("<|a|>",)), "mixed": trained(MIXED), "few": trained("aa aa", 258)}
    made = compare({**tokenizers, "simple": ByteTokenizer()}, {"one": LATIN, "two": MIXED})
    told = json.loads(made.to_json())["overlap"]
    assert told["tokenizers"] == list(tokenizers)
    for i, first in enumerate(tokenizers.values()):
        ids = [*first.encode(LATIN), *first.encode(MIXED)]
        for j, second in enumerate(tokenizers.values()):
            two = finish(vocabularies_work(second, first))
            assert told["jaccard"][i][j] == pytest.approx(two.jaccard)
            assert told["shared_uses"][i][j] == pytest.approx(two.shared_uses(np.bincount(ids)))
    assert "overlap" not in json.loads(made.to_json(["tokens"]))


def test_shared_uses_are_not_known_where_a_text_cannot_be_encoded() -> None:
    characters = train(Corpus.from_text("ab"), TrainingConfig(vocabulary_size=3, base="characters"))
    overlap = finish(compare({"ab": characters, "own": trained(LATIN)}, {"text": "abc"}).overlap_work())
    assert np.isnan(overlap.shared_uses).tolist() == [[True, True], [False, False]]
    assert not np.isnan(overlap.jaccard).any()


def test_tokenizers_of_one_name_stay_two() -> None:
    first, second, texts = trained(LATIN), trained(MIXED), {"text": LATIN}
    expected = finish(compare({"a": first, "b": second}, texts).overlap_work())
    made = finish(compare_work({"a": first, "b": second}, texts))
    both = [Compared("run", first), Compared("run", second)]
    twice = Comparison(both, made.measured, finish(cells_work(both, made.measured)))
    overlap = finish(twice.overlap_work())
    assert overlap.tokenizers == ("run", "run")
    assert np.array_equal(overlap.jaccard, expected.jaccard)
    assert np.array_equal(overlap.shared_uses, expected.shared_uses)
    assert finish(report_work(twice)).count("<h2>Tokenizer ") == 2


def test_a_vocabulary_equals_itself() -> None:
    tokenizer = trained(LATIN)
    made = finish(vocabularies_work(tokenizer, tokenizer))
    assert made.jaccard == 1
    assert made.is_in.all()


# --- Which size is enough: held against slow loops, over curves of any shape ------------------------------------------

#: Tokens of a text after 0, 1, ... merges: they never increase, and some stay.
curves = st.lists(st.integers(1, 10**15), min_size=1, max_size=30).map(lambda made: sorted(made, reverse=True))


@given(curves, st.integers(1, 100))
@example([100, 80, 60, 50], 95)
@example([19, 20 * 19 // 19, 19], 95)
@example([2**62, 2**62 - 1], 99)
def test_it_is_the_first_size_with_that_share_of_the_compression(made, percent):
    reached = [Fraction(1, now) >= Fraction(percent, 100) * Fraction(1, made[-1]) for now in made]
    assert merges_for(np.array(made, np.int64), percent) == reached.index(True)


@given(curves, st.data())
def test_the_figures_of_a_size_are_those_of_its_merges(made, data):
    merges = data.draw(st.integers(0, len(made) - 1))
    size = size_after(np.array(made, np.int64), 7_000, merges, 256 + np.arange(len(made)))
    assert (size.vocabulary, size.merges) == (256 + merges, merges)
    assert size.bytes_per_token == pytest.approx(7_000 / made[merges])
    assert size.of_end == pytest.approx(size.bytes_per_token / (7_000 / made[-1]))
    assert (size.last, size.saved) == (merges, made[0] - made[merges])
    assert size.saved_share == pytest.approx(1 - made[merges] / made[0])


def test_only_the_last_thousand_tokens_count_as_saved():
    tokens = np.arange(10_000, 7_000, -1)
    size = size_after(tokens, 20_000, 2_500, 256 + np.arange(len(tokens)))
    assert (size.last, size.saved) == (1_000, 1_000)
    assert size.saved_share == pytest.approx(1_000 / 8_500)


def test_usual_sizes_are_powers_of_two_and_round_numbers():
    assert usual_sizes(257, 5_000) == [512, 1_000, 1_024, 2_000, 2_048, 4_000, 4_096]
    assert usual_sizes(600, 999) == []
    wanted = {1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 50_000, 64_000, 100_000, 65_536, 131_072}
    assert wanted < set(usual_sizes(1, 131_072))


@given(curves.filter(lambda made: len(made) > 1), st.integers(1, 3_000), st.data())
def test_the_table_has_every_usual_size_the_shares_the_end_and_those_chosen(made, others, data):
    tokens, end = np.array(made, np.int64), len(made) - 1
    chosen = data.draw(st.sets(st.integers(0, end), max_size=3))
    table = table_of_sizes(tokens, 5_000, others + np.arange(len(tokens)), chosen)
    merges = [size.merges for size in table]
    assert merges == sorted(set(merges))
    usual = {k for k in range(end + 1) if others + k in usual_sizes(1, others + end)}
    assert set(merges) == usual | chosen | {end} | {merges_for(tokens, percent) for percent in PERCENTS}


def test_a_size_compresses_as_a_training_of_that_size_does():
    text = "the cat sat on the mat and the rat sat on the cat, the end. " * 30
    run = train(Corpus.from_text(text), TrainingConfig(vocabulary_size=300)).run
    tokens = np.array([run.tokens_before, *run.tokens_after], np.int64)
    merges = merges_for(tokens, 95)
    smaller = train(Corpus.from_text(text), TrainingConfig(vocabulary_size=256 + merges)).run
    size = size_after(tokens, run.corpus.bytes, merges, 256 + np.arange(len(tokens)))
    assert size.bytes_per_token == smaller.bytes_per_token() >= 0.95 * run.bytes_per_token()
    assert run.bytes_per_token(merges - 1) < 0.95 * run.bytes_per_token()
    assert len(Tokenizer.from_run(run).at(merges)) == size.vocabulary


def test_embeddings_that_are_not_tied_have_twice_the_parameters():
    assert embedding_parameters(50_257, 768, tied=True) == 38_597_376  # GPT-2's
    assert embedding_parameters(32_000, 4_096, tied=False) == 2 * 131_072_000


# --- The distinct words of a text, beside a dictionary ----------------------------------------------------------------


def test_more_words_than_are_counted_at_once_keep_their_order_and_counts():
    words = [f"word{number}" for number in range(10_000)] + ["often"] * 3 + [f"word{number}" for number in range(5_000)]
    types, units = finish(word_types_work(Source.from_texts([" ".join(words)], "text")))
    expected = Counter(f" {word}".encode() for word in words)
    assert units == "words"
    assert list(types) == list(expected)
    assert types.counts.tolist() == list(expected.values())
    assert (len(types), types.total()) == (10_001, 15_003)
    # Of words with equal counts, the first come first.
    assert types.most_common(5_100) == [word for word, _ in expected.most_common(5_100)]


def test_a_run_with_more_words_than_a_table_looks_up_at_once():
    """Without white space, all of them are found in one run."""
    latin = [f"w{number}" for number in range(70_000)]
    types, units = finish(word_types_work(Source.from_texts(["我".join(latin)], "text")))
    assert units == "words"
    expected = Counter([b" w0"] + [part for word in latin[1:] for part in ("我".encode(), word.encode())])
    assert list(types) == list(expected)
    assert types.counts.tolist() == list(expected.values())


def test_without_words_there_is_nothing():
    assert (list(none := no_words()), len(none), none.total(), none.most_common(3)) == ([], 0, 0, [])


# --- The size from which on a text has what the base has --------------------------------------------------------------

#: The bytes of some texts, and their tokens after 0, 1, ... merges, which some algorithms increase again; or no text.
several_curves = st.integers(1, 12).flatmap(
    lambda merges: st.lists(
        st.tuples(st.integers(1, 10**12), st.lists(st.integers(1, 10**12), min_size=merges, max_size=merges)).map(
            lambda text: (text[0], sorted(text[1], reverse=text[0] % 3 > 0))
        )
        | st.just((0, [0] * merges)),
        min_size=1,
        max_size=4,
    )
)


@given(several_curves, st.booleans(), st.data())
def test_a_text_has_what_the_base_has_from_the_first_size_with_it(texts, are_parallel, data):
    tokens = np.array([made for _, made in texts], np.int64).T
    curves = SourceCurves(
        tuple(map(str, range(len(texts)))), np.array([size for size, _ in texts]), tokens, lines=7 * are_parallel
    )
    base, merges = data.draw(st.integers(0, len(texts) - 1)), data.draw(st.integers(0, len(tokens) - 1))
    amounts = [1 if are_parallel else size for size, _ in texts]
    have = Fraction(int(tokens[merges, base]), amounts[base] or 1)
    expected = [
        next((at for at, now in enumerate(own.tolist()) if now and have and Fraction(now, amount) <= have), None)
        for own, amount in zip(tokens.T, amounts, strict=True)
    ]
    assert list(merges_like(curves, base, merges)) == expected
    ratios = ratios_of(curves)
    assert ratios_of(curves, merges).tolist() == ratios[merges].tolist()
    for (at, number), now in np.ndenumerate(tokens):
        expected_ratio = now / 7 if are_parallel else texts[number][0] / now if now else 0
        assert ratios[at, number] == pytest.approx(expected_ratio)


def test_parallel_texts_have_after_every_merge_the_tokens_that_they_are_encoded_to():
    tokenizer, lines = trained(MIXED), {"one": ["the cat sat", "", "on the mat <s>"], "two": ["die Katze", "a", "b"]}
    named = [(name, Source.from_texts(each, name)) for name, each in lines.items()]
    found = finish(parallel_curves_work(tokenizer, named, TokenStore()))
    assert (found.names, found.lines) == (("one", "two"), 3)
    assert found.bytes.tolist() == [sum(len(line.encode()) for line in each) for each in lines.values()]
    for merges in range(len(tokenizer.merges) + 1):
        smaller = tokenizer.at(merges)
        encoded = [sum(len(smaller.encode(line)) for line in each) for each in lines.values()]
        assert found.tokens[merges].tolist() == encoded, merges
