"""Explanations of merges, compared with a slow count of all pairs."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace as changed
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.algorithms import PICKY_TEXT, SUPERBPE_TEXT, picky, superbpe
from tests.core.reference import (
    HUGGINGFACE_ORDER,
    count_pairs,
    encode_by_rank,
    named_pattern,
    pieces,
    pre_tokens,
    replace,
)
from tests.core.texts import config_by_name, documents, settings_of_runs
from tokstudio import ConfigError, Corpus, CorpusError, ParityAware, Tokenizer, TrainingConfig, train
from tokstudio.core.algorithms.common.prepare_corpus import prepare_corpus_work
from tokstudio.core.analysis import why_this_merge
from tokstudio.core.analysis.why_this_merge import why_work
from tokstudio.core.base.progress import finish
from tokstudio.core.corpus.sampling import hold_out_work
from tokstudio.core.corpus.source import Source
from tokstudio.core.model.algorithms import SECOND_PATTERN, TIE_BREAKS
from tokstudio.core.text.byte_level import to_characters

POEM = "she sells sea shells by the sea shore, and the shells she sells are sea shells\n"


def contest(run, sequences, number):
    """All pairs that merge `number` was chosen from, with their counts, in the order of each rule.

    `sequences` are lists of base ids with how often each occurs.
    """
    tokens = list(Tokenizer.from_run(run).tokens)
    for place, pair in enumerate(run.merges[: number - 1].tolist()):
        sequences = [(replace(ids, *pair, run.base_size + place), weight) for ids, weight in sequences]
    counts = {}
    for ids, weight in sequences:
        for pair in pairwise(ids):
            counts[pair] = counts.get(pair, 0) + weight
    longest = run.config.max_token_bytes or 1 << 30
    counts = {pair: n for pair, n in counts.items() if sum(len(tokens[part]) for part in pair) <= longest}
    if run.config.base == "bytes":
        order = {byte: place for place, byte in enumerate(HUGGINGFACE_ORDER)}
    else:
        points = sorted(range(run.base_size), key=lambda token: tokens[token].decode())
        order = {token: place for place, token in enumerate(points)}
    by_first = list(counts)
    ranked = {
        "first": sorted(by_first, key=lambda pair: -counts[pair]),
        "lowest-id": sorted(counts, key=lambda pair: (-counts[pair], pair)),
        "huggingface": sorted(counts, key=lambda pair: (-counts[pair], [order.get(part, part) for part in pair])),
        "bytes": sorted(counts, key=lambda pair: (counts[pair], [tokens[part] for part in pair]), reverse=True),
    }
    mapped = to_characters if run.config.base == "bytes" else bytes.decode
    ranked["mapped-strings"] = sorted(
        counts, key=lambda pair: (counts[pair], [mapped(tokens[part]) for part in pair]), reverse=True
    )
    return counts, ranked


def assert_explained(corpus, run, sequences, number, most=20):
    why = finish(why_work(corpus, run, number, most))
    counts, ranked = contest(run, sequences, number)
    rule = run.config.tie_break
    found = [why.chosen, *why.runners_up]
    expected = [(*pair, counts[pair]) for pair in ranked[rule][: most + 1]]
    assert [(pair.left, pair.right, pair.count) for pair in found] == expected
    assert [why.chosen.left, why.chosen.right] == run.merges[number - 1].tolist()
    assert why.tied == sum(count == why.chosen.count for count in counts.values())
    assert {rule: (pair.left, pair.right) for rule, pair in why.choices.items()} == {
        rule: ranked[rule][0] for rule in TIE_BREAKS
    }
    assert (why.number, why.rule) == (number, rule)


def in_bytes(texts):
    return [(list(text), 1) for text in texts]


@given(documents, settings_of_runs, st.sampled_from(["none", "none", "gpt2", "cl100k"]), st.integers(1, 25), st.data())
def test_every_merge_is_explained_as_the_recount_explains_it(texts, chosen, pattern, most, data):
    corpus = Corpus.from_texts(texts)
    run = train(corpus, TrainingConfig(**chosen, pattern=pattern)).run
    if len(run):
        number = data.draw(st.one_of(st.just(1), st.just(len(run)), st.integers(1, len(run))))
        split = (lambda text: [text]) if pattern == "none" else (lambda text: pre_tokens(text, named_pattern(pattern)))
        assert_explained(corpus, run, in_bytes(word for text in texts for word in split(text)), number, most)


@given(st.lists(st.text("abé日😀 ", max_size=25), max_size=5), st.sampled_from(TIE_BREAKS), st.data())
def test_characters(texts, tie_break, data):
    alphabet = list(dict.fromkeys("".join(texts)))
    if not alphabet:
        return
    corpus = Corpus.from_texts(texts)
    config = TrainingConfig(vocabulary_size=len(alphabet) + 12, base="characters", tie_break=tie_break)
    run = train(corpus, config).run
    if len(run):
        sequences = [([alphabet.index(character) for character in text], 1) for text in texts]
        assert_explained(corpus, run, sequences, data.draw(st.integers(1, len(run))))


@pytest.mark.parametrize("tie_break", TIE_BREAKS)
def test_the_first_merge_and_the_last_of_a_longer_text(tie_break):
    corpus = Corpus.from_text(POEM * 3)
    run = train(corpus, TrainingConfig(vocabulary_size=290, tie_break=tie_break)).run
    for number in (1, 2, len(run) // 2, len(run)):
        assert_explained(corpus, run, in_bytes([POEM.encode() * 3]), number)


def test_what_is_held_out_is_not_counted():
    lines = [f"line {n} of many, {n * n} and {n % 7}\n" for n in range(60)]
    corpus = Corpus.from_text("".join(lines))
    run = train(corpus, TrainingConfig(vocabulary_size=280, held_out=0.25)).run
    (trained_on,), _ = finish(hold_out_work(corpus.sources, 0.25))
    texts = np.split(trained_on.data, trained_on.ends[:-1])
    assert_explained(corpus, run, in_bytes(text.tobytes() for text in texts), 10)


def test_pairs_across_special_tokens_and_unknown_characters_are_not_counted():
    text = "abxab<s>ab?ab<s>bab"
    config = TrainingConfig(
        base="characters",
        base_vocabulary=["b", "a"],
        unknown_token="<u>",
        special_tokens=["<u>", "<s>"],
        special_placement="first",
        vocabulary_size=5,
    )
    corpus = Corpus.from_text(text)
    why = finish(why_work(corpus, train(corpus, config).run, 1))
    assert [(pair.left, pair.right, pair.count) for pair in (why.chosen, *why.runners_up)] == [(3, 2, 5), (2, 3, 1)]


def test_given_word_counts():
    words = {"low": 5, "lower": 2, "newest": 6, "widest": 3}
    corpus = Corpus.from_counts(words)
    run = train(corpus, TrainingConfig(vocabulary_size=262, tie_break="bytes")).run
    for number in range(1, len(run) + 1):
        assert_explained(corpus, run, [(list(word.encode()), count) for word, count in words.items()], number)


LOWEST = "3 pairs occur once; of those, the pair with the lowest left id, then the lowest right id is merged."


@pytest.mark.parametrize(
    ("text", "number", "tie_break", "reason"),
    [
        ("ababc", 1, "first", "It occurs 2 times, more often than any other pair: the next has 1."),
        ("ababa", 1, "first", "2 pairs occur 2 times; of those, the pair that comes first in the corpus is merged."),
        ("dcba", 1, "lowest-id", LOWEST),
        ("abc", 2, "first", "It occurs once, and no other pair is left."),
    ],
)
def test_the_reason(text, number, tie_break, reason):
    corpus = Corpus.from_text(text)
    run = train(corpus, TrainingConfig(vocabulary_size=300, tie_break=tie_break)).run
    assert finish(why_work(corpus, run, number)).reason == reason
    for unknown in (0, -1, len(run) + 1):
        with pytest.raises(ConfigError, match=f"There is no merge {unknown}: this run has {len(run)}"):
            finish(why_work(corpus, run, unknown))


def test_a_corpus_that_changed_is_refused():
    run = train(Corpus.from_text("abab"), TrainingConfig(vocabulary_size=258)).run
    with pytest.raises(CorpusError, match="The corpus has changed since this run was trained"):
        finish(why_work(Corpus.from_text("ababa"), run, 1))


def test_too_little_memory_is_refused_before_counting(monkeypatch):
    corpus = Corpus.from_texts([POEM] * 20_000)
    monkeypatch.setattr("tokstudio.core.analysis.why_this_merge.free_memory", lambda: 10_000_000)
    run = train(corpus, TrainingConfig(vocabulary_size=260)).run
    with pytest.raises(ConfigError, match=r"about 21 MB of memory, but only 10 MB is free\."):
        next(why_work(corpus, run, 2))
    # Each word is laid out once: that takes little.
    run = train(corpus, TrainingConfig(vocabulary_size=260, pattern="gpt2")).run
    assert finish(why_work(corpus, run, 2)).number == 2
    monkeypatch.setattr("tokstudio.core.analysis.why_this_merge.free_memory", lambda: None)
    run = train(Corpus.from_text(POEM), TrainingConfig(vocabulary_size=260)).run
    assert finish(why_work(Corpus.from_text(POEM), run, 2)).number == 2


def test_merges_that_do_not_follow_are_refused():
    corpus = Corpus.from_text("abcabc")
    run = train(corpus, TrainingConfig(vocabulary_size=259)).run
    for merges in ([[98, 99], [97, 256], [97, 97]], [[97, 98], [257, 97], [97, 97]]):
        with pytest.raises(CorpusError, match="do not match this corpus"):
            finish(why_work(corpus, changed(run, merges=np.array(merges, np.int32)), 2))


def test_a_recount_does_not_change_later_merges():
    """Counting anew in the middle of a training changes none of the merges after it."""
    from tokstudio.core.algorithms.bpe.engine import PairEngine

    config = TrainingConfig(vocabulary_size=310)
    corpus = Corpus.from_text(POEM * 2)
    expected = train(corpus, config).merges
    _, units = finish(prepare_corpus_work(corpus, config))
    engine = PairEngine(units, "first", 1, None)
    made = []
    while (merges := engine.advance(5)) is not None:
        made += zip(merges.left.tolist(), merges.right.tolist(), strict=True)
        if len(merges.left):
            finish(engine.recount_work(1))
    assert made[: len(expected)] == [tuple(pair) for pair in expected.tolist()]


def test_counts_of_weighted_sources_are_told_in_whole_units():
    corpus = Corpus((Source.from_texts("abab", "a"), Source.from_texts("abc", "b"))).with_weights({"b": 0.25})
    run = train(corpus, TrainingConfig(vocabulary_size=257)).run
    why = finish(why_work(corpus, run, 1))
    assert (why.chosen.count, why.scale) == (2250, 1000)
    assert why.reason == "It occurs 2.25 times, more often than any other pair: the next has 1."
    run = train(corpus.with_weights({"a": 0.5, "b": 0}), TrainingConfig(vocabulary_size=257)).run
    assert finish(why_work(corpus, run, 1)).reason.startswith("It occurs once, ")


# --- Why a merge of parity-aware BPE was made: who chose, and the candidates in its text ------------------------------

LANGUAGES = {
    "de.txt": "der dachs und der fuchs und der igel, und noch ein dachs. " * 4,
    "en.txt": "the badger and the fox and the hedgehog, and another badger. " * 4,
    "fi.txt": "mäyrä ja kettu ja siili, ja vielä toinen mäyrä. " * 4,
}
PARALLEL = {"de": "der fuchs", "en": "the fox", "fi": "kettu ja siili"}
BY_LANGUAGE = Corpus(tuple(Source.from_texts([text], name) for name, text in LANGUAGES.items()))


def by_turns(**more):
    return train(BY_LANGUAGE, config_by_name("parity", vocabulary_size=320, **more)).run


@pytest.mark.parametrize("tie_break", TIE_BREAKS)
@pytest.mark.parametrize("more", [{}, {"parallel": PARALLEL}, {"window": 6, "alpha": 1.2, "global_merges": 4}])
def test_the_candidates_are_those_of_the_language_that_chose(tie_break, more):
    run = by_turns(tie_break=tie_break, **more)
    for number in (1, 3, 8, 25, 60):
        why = finish(why_work(BY_LANGUAGE, run, number, 5))
        language = int(run.columns["chosen_by"][number - 1])
        ids = [list(text.encode()) for text in LANGUAGES.values()]
        for place, pair in enumerate(run.merges[: number - 1].tolist()):
            ids = [replace(document, *pair, 256 + place) for document in ids]
        counts = count_pairs(ids if language < 0 else [ids[language]], [1] * 3 if language < 0 else [1])
        assert (why.chosen.left, why.chosen.right) == tuple(run.merges[number - 1].tolist())
        assert why.chosen.count == max(counts.values()) == counts[why.chosen.left, why.chosen.right]
        assert sorted((pair.count for pair in why.runners_up), reverse=True) == sorted(counts.values())[-2:-7:-1]
        assert all(counts[pair.left, pair.right] == pair.count for pair in why.runners_up)
        assert why.choosing.number == language


def test_the_words_for_a_parallel_text():
    why = finish(why_work(BY_LANGUAGE, by_turns(parallel=PARALLEL), 1))
    assert why.choosing.scores == (9, 7, 14)
    assert why.reason.startswith(
        "fi.txt chose: its parallel text is 40 % longer than the mean. In its text: It occurs "
    )
    # One that never chooses is no part of the mean.
    why = finish(why_work(BY_LANGUAGE, by_turns(parallel={"de": PARALLEL["de"], "fi": PARALLEL["fi"]}), 1))
    assert why.choosing.scores == (9, pytest.approx(float("nan"), nan_ok=True), 14)
    assert why.reason.startswith("fi.txt chose: its parallel text is 22 % longer than the mean. ")


def test_the_words_for_bytes_per_token_and_for_all_together():
    run = by_turns(global_merges=1, ratios={"en": 2})
    assert finish(why_work(BY_LANGUAGE, run, 1)).reason.startswith(
        "All languages chose together, as in plain BPE. 3 pairs occur 24 times; "
    )
    why = finish(why_work(BY_LANGUAGE, run, 2))
    assert why.reason.startswith("en.txt chose: its 0.5")
    assert "bytes per token (divided by its ratio) are the fewest. In its text: " in why.reason
    reason = finish(why_work(BY_LANGUAGE, by_turns(), 1)).reason
    assert " bytes per token are the fewest. In its text: " in reason
    assert "ratio" not in reason


def test_the_words_where_one_was_passed_over():
    run = by_turns(window=4, alpha=0.9, ratios={"fi": 50})
    reasons = [finish(why_work(BY_LANGUAGE, run, number)).reason for number in range(1, 6)]
    assert any("of those that may choose. fi.txt chose too often lately. " in reason for reason in reasons)
    assert run.columns["chosen_by"][:2].tolist() == [2, 2]


def test_a_language_without_a_pair_is_no_problem():
    texts = [Source.from_texts(["a b"], "a"), Source.from_texts(["xyxyxyxy zyzyzy"], "b")]
    corpus = Corpus(tuple(texts))
    run = train(
        corpus,
        TrainingConfig(min_frequency=2, algorithm=ParityAware(parallel={"a": "a" * 23, "b": "b"})),
    ).run
    assert set(run.columns["chosen_by"].tolist()) == {1}
    assert finish(why_work(corpus, run, 1)).choosing.number == 1


# --- Why a merge of Picky BPE was made, and why its parts were removed or stayed --------------------------------------


def test_each_answer_is_that_of_the_run():
    corpus = Corpus.from_text(PICKY_TEXT)
    run = train(corpus, picky()).run
    for number in range(1, len(run) + 1, 4):
        why = finish(why_work(corpus, run, number))
        assert [why.chosen.left, why.chosen.right] == run.merges[number - 1].tolist()
        removed = {each.token: each.uses for each in why.judged if each.is_removed}
        pair, row = run.merges[number - 1].tolist(), run.removals[number - 1].tolist()
        assert removed == {part: uses for part, uses in zip(pair, row[2:], strict=True) if uses >= 0}
        assert ("was removed" in why.reason) == bool(removed)


def test_the_shares_are_told():
    corpus = Corpus.from_texts(["abc"] * 10 + ["abd"] * 9 + ["ab"])
    run = train(corpus, picky()).run
    assert finish(why_work(corpus, run, 2)).reason == (
        "It occurs 10 times, more often than any other pair: the next has 9. "
        "Its left part was removed: 50.00 % of it was merged, more than 40 %, and 10 fell apart."
    )


# --- Why a merge of SuperBPE was made: the stage, its candidates, and those it dropped --------------------------------

SUPERBPE_CORPUS = Corpus.from_text(SUPERBPE_TEXT)


@pytest.mark.parametrize("tie_break", TIE_BREAKS)
@pytest.mark.parametrize("most", [1, 2])
def test_the_candidates_are_those_of_the_stage_that_chose(tie_break, most):
    made = train(SUPERBPE_CORPUS, superbpe(tie_break=tie_break, max_words=most))
    run, merges = made.run, made.merges.tolist()
    for number in (1, 20, 34, 35, 36, 45, 56):
        why = finish(why_work(SUPERBPE_CORPUS, run, number, 5))
        stage = 1 if number <= 34 else 2
        words = Counter(pieces(SUPERBPE_TEXT.encode(), named_pattern("gpt2") if stage == 1 else SECOND_PATTERN))
        ranks = {tuple(pair): rank for rank, pair in enumerate(merges[: number - 1])}
        counts = count_pairs([encode_by_rank(word, ranks) for word in words], list(words.values()))
        dropped = dict[tuple[int, int], int]()
        for pair in list(counts) if stage == 2 else ():
            token = b"".join(made.tokens[part] for part in pair)
            if b": " in token or len(re.findall(rb"[^ ]+", token)) > most:
                dropped[pair] = counts.pop(pair)
        assert [why.chosen.left, why.chosen.right] == merges[number - 1]
        assert why.chosen.count == max(counts.values()) == run.counts[number - 1]
        assert [pair.count for pair in why.runners_up] == sorted(counts.values())[-2:-7:-1]
        above = sorted((count for count in dropped.values() if count >= why.chosen.count), reverse=True)
        assert [pair.count for pair in why.vetoed] == above
        assert all(dropped[pair.left, pair.right] == pair.count for pair in why.vetoed)
        assert why.stage == stage


def test_the_words():
    run = train(SUPERBPE_CORPUS, superbpe(max_words=1)).run
    assert finish(why_work(SUPERBPE_CORPUS, run, 3)).reason.startswith("Stage 1 chose, within words. ")
    why = finish(why_work(SUPERBPE_CORPUS, run, 35))
    assert re.match(
        rf"Stage 2 chose, across words\. {len(why.vetoed)} pairs were dropped that occur as often or more, "
        rf"up to {why.vetoed[0].count} times: with too many words, or a colon before a space\. ",
        why.reason,
    )
    free = train(Corpus.from_text("a b a b c"), superbpe(259, 257, max_words=100)).run
    assert finish(why_work(Corpus.from_text("a b a b c"), free, 2)).reason.startswith(
        "Stage 2 chose, across words. 2 pairs occur 2 times; "
    )


def test_too_little_memory_for_stage_2_is_told(monkeypatch):
    run = train(SUPERBPE_CORPUS, superbpe()).run
    monkeypatch.setattr(why_this_merge, "free_memory", lambda: 1000)
    assert finish(why_work(SUPERBPE_CORPUS, run, 34)).stage == 1
    with pytest.raises(ConfigError, match="Counting the pairs again would take"):
        finish(why_work(SUPERBPE_CORPUS, run, 35))
