"""Why a merge of Picky BPE was made, and why its parts were removed or stayed."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from tests.core.project.test_picky import TEXT, config_of
from tokstudio import Corpus, train
from tokstudio.core.analysis.why_this_merge import why_work
from tokstudio.core.base.progress import finish


def test_each_answer_is_that_of_the_run():
    corpus = Corpus.from_text(TEXT)
    run = train(corpus, config_of()).run
    for number in range(1, len(run) + 1):
        why = finish(why_work(corpus, run, number))
        assert [why.chosen.left, why.chosen.right] == run.merges[number - 1].tolist()
        removed = {each.token: each.uses for each in why.judged if each.is_removed}
        pair, row = run.merges[number - 1].tolist(), run.removals[number - 1].tolist()
        assert removed == {part: uses for part, uses in zip(pair, row[2:], strict=True) if uses >= 0}
        assert ("was removed" in why.reason) == bool(removed)


def test_the_shares_are_told():
    corpus = Corpus.from_texts(["abc"] * 10 + ["abd"] * 9 + ["ab"])
    run = train(corpus, config_of()).run
    assert finish(why_work(corpus, run, 2)).reason == (
        "It occurs 10 times, more often than any other pair: the next has 9. "
        "Its left part was removed: 50.00 % of it was merged, more than 40 %, and 10 fell apart."
    )
