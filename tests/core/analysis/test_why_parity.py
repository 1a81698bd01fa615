"""Why a merge of parity-aware BPE was made: who chose, and the candidates in its text."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import pytest

from tests.core.reference import count_pairs, replace
from tests.core.texts import config_by_name
from tokstudio import Corpus, TrainingConfig, train
from tokstudio.core.analysis.why_this_merge import why_work
from tokstudio.core.base.progress import finish
from tokstudio.core.corpus.source import Source
from tokstudio.core.model.algorithms import TIE_BREAKS, ParityAware

TEXTS = {
    "de.txt": "der dachs und der fuchs und der igel, und noch ein dachs. " * 4,
    "en.txt": "the badger and the fox and the hedgehog, and another badger. " * 4,
    "fi.txt": "mäyrä ja kettu ja siili, ja vielä toinen mäyrä. " * 4,
}
PARALLEL = {"de": "der fuchs", "en": "the fox", "fi": "kettu ja siili"}
CORPUS = Corpus(tuple(Source.from_texts([text], name) for name, text in TEXTS.items()))


def run_of(**more):
    return train(CORPUS, config_by_name("parity", vocabulary_size=320, **more)).run


@pytest.mark.parametrize("tie_break", TIE_BREAKS)
@pytest.mark.parametrize("more", [{}, {"parallel": PARALLEL}, {"window": 6, "alpha": 1.2, "global_merges": 4}])
def test_the_candidates_are_those_of_the_language_that_chose(tie_break, more):
    run = run_of(tie_break=tie_break, **more)
    for number in (1, 3, 8, 25, 60):
        why = finish(why_work(CORPUS, run, number, 5))
        language = int(run.chosen.numbers[number - 1])
        ids = [list(text.encode()) for text in TEXTS.values()]
        for place, pair in enumerate(run.merges[: number - 1].tolist()):
            ids = [replace(document, *pair, 256 + place) for document in ids]
        counts = count_pairs(ids if language < 0 else [ids[language]], [1] * 3 if language < 0 else [1])
        assert (why.chosen.left, why.chosen.right) == tuple(run.merges[number - 1].tolist())
        assert why.chosen.count == max(counts.values()) == counts[why.chosen.left, why.chosen.right]
        assert sorted((pair.count for pair in why.runners_up), reverse=True) == sorted(counts.values())[-2:-7:-1]
        assert all(counts[pair.left, pair.right] == pair.count for pair in why.runners_up)
        assert why.choosing.number == language


def test_the_words_for_a_parallel_text():
    why = finish(why_work(CORPUS, run_of(parallel=PARALLEL), 1))
    assert why.choosing.scores == (9, 7, 14)
    assert why.reason.startswith(
        "fi.txt chose: its parallel text is 40 % longer than the mean. In its text: It occurs "
    )


def test_a_text_that_never_chooses_is_no_part_of_the_mean():
    why = finish(why_work(CORPUS, run_of(parallel={"de": PARALLEL["de"], "fi": PARALLEL["fi"]}), 1))
    assert why.choosing.scores == (9, pytest.approx(float("nan"), nan_ok=True), 14)
    assert why.reason.startswith("fi.txt chose: its parallel text is 22 % longer than the mean. ")


def test_the_words_for_bytes_per_token_and_for_all_together():
    run = run_of(global_merges=1, ratios={"en": 2})
    assert finish(why_work(CORPUS, run, 1)).reason.startswith(
        "All languages chose together, as in plain BPE. 3 pairs occur 24 times; "
    )
    why = finish(why_work(CORPUS, run, 2))
    assert why.reason.startswith("en.txt chose: its 0.5")
    assert "bytes per token (divided by its ratio) are the fewest. In its text: " in why.reason


def test_no_ratio_is_told_where_none_was_given():
    reason = finish(why_work(CORPUS, run_of(), 1)).reason
    assert " bytes per token are the fewest. In its text: " in reason
    assert "ratio" not in reason


def test_the_words_where_one_was_passed_over():
    run = run_of(window=4, alpha=0.9, ratios={"fi": 50})
    reasons = [finish(why_work(CORPUS, run, number)).reason for number in range(1, 6)]
    assert any("of those that may choose. fi.txt chose too often lately. " in reason for reason in reasons)
    assert run.chosen.numbers[:2].tolist() == [2, 2]


def test_a_language_without_a_pair_is_no_problem():
    texts = [Source.from_texts(["a b"], "a"), Source.from_texts(["xyxyxyxy zyzyzy"], "b")]
    corpus = Corpus(tuple(texts))
    run = train(
        corpus,
        TrainingConfig(min_frequency=2, algorithm=ParityAware(parallel={"a": "a" * 23, "b": "b"})),
    ).run
    assert set(run.chosen.numbers.tolist()) == {1}
    assert finish(why_work(corpus, run, 1)).choosing.number == 1
