"""Why a merge of SuperBPE was made: the stage, its candidates, and those it dropped."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
from collections import Counter

import pytest

from tests.core.reference import count_pairs, encode_by_rank, named_pattern, pieces
from tests.core.training.test_superbpe import TEXT, superbpe
from tokstudio import Corpus, train
from tokstudio.core.analysis import why_this_merge
from tokstudio.core.analysis.why_this_merge import why_work
from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.progress import finish
from tokstudio.core.model.algorithms import SECOND_PATTERN, TIE_BREAKS

CORPUS = Corpus.from_text(TEXT)


@pytest.mark.parametrize("tie_break", TIE_BREAKS)
@pytest.mark.parametrize("most", [1, 2])
def test_the_candidates_are_those_of_the_stage_that_chose(tie_break, most):
    made = train(CORPUS, superbpe(tie_break=tie_break, max_words=most))
    run, merges = made.run, made.merges.tolist()
    for number in (1, 20, 34, 35, 36, 45, 56):
        why = finish(why_work(CORPUS, run, number, 5))
        stage = 1 if number <= 34 else 2
        words = Counter(pieces(TEXT.encode(), named_pattern("gpt2") if stage == 1 else SECOND_PATTERN))
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
    run = train(CORPUS, superbpe(max_words=1)).run
    assert finish(why_work(CORPUS, run, 3)).reason.startswith("Stage 1 chose, within words. ")
    why = finish(why_work(CORPUS, run, 35))
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
    run = train(CORPUS, superbpe()).run
    monkeypatch.setattr(why_this_merge, "free_memory", lambda: 1000)
    assert finish(why_work(CORPUS, run, 34)).stage == 1
    with pytest.raises(ConfigError, match="Counting the pairs again would take"):
        finish(why_work(CORPUS, run, 35))
