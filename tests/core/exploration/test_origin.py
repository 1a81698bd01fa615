"""Where a token comes from, and how often it was made, against the steps of the encoding."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from math import isnan

import numpy as np
import pytest
from hypothesis import given, settings

from tests.core.exploration.test_dispersion import (
    KINDS,
    TEXT,
    TOKENIZERS,
    corpora,
    corpus_of,
    documents_of,
    tokenizer_of,
)
from tokstudio import Corpus, explore
from tokstudio.core.analysis.encoding_steps import steps_work
from tokstudio.core.base.progress import finish
from tokstudio.core.corpus.source import Source

some = settings(max_examples=8)  # with each tokenizer
MERGED = [name for name in TOKENIZERS if name not in ("bytes", "code points", "words", "picky")]


def made_in(tokenizer, document: bytes) -> np.ndarray:
    """How often each token was made, by the steps of the encoding."""
    if tokenizer.alphabet.base == "characters":
        document = document.decode("utf-8", "replace").encode()
    made = np.zeros(len(tokenizer.tokens), np.int64)
    if document:
        ids = finish(steps_work(tokenizer, document, allowed_special="all")).pieces.ids
        np.add.at(made, ids[ids >= 0], 1)
    return made


@pytest.mark.parametrize("name", MERGED)
@some
@given(texts=corpora)
def test_emitted_and_made_equal_the_steps(name, texts):
    tokenizer, corpus = tokenizer_of(name), corpus_of(*texts)
    here, made = explore(corpus, tokenizer), [made_in(tokenizer, each) for each in documents_of(corpus)]
    total = sum(made, np.zeros(len(tokenizer.tokens), np.int64))
    expected = np.divide(here.tokens["uses"], total, out=np.full(len(total), np.nan), where=total > 0)
    np.testing.assert_allclose(here.tokens["emitted"], expected, rtol=1e-12)
    for token in np.flatnonzero(total)[-3:].tolist():
        origin = here.origin(token)
        assert origin.made == total[token]
        assert [each.made for each in origin.documents] == [made[each.document][token] for each in origin.documents]
        first = len(texts[0])
        assert origin.made_by_source.tolist() == [
            sum(each[token] for each in part) for part in (made[:first], made[first:])
        ]


@pytest.mark.parametrize("name", KINDS)
@some
@given(texts=corpora)
def test_the_documents_with_most_uses_come_first(name, texts):
    corpus = corpus_of(*texts)
    here = explore(corpus, tokenizer_of(name))
    for token in np.flatnonzero(here.tokens["uses"])[-2:].tolist():
        origin, uses = here.origin(token), here.uses_by_document(token).tolist()
        order = sorted(range(len(uses)), key=lambda row: (-uses[row], row))[:10]
        assert [each.document for each in origin.documents] == [row for row in order if uses[row]]
        assert [each.uses for each in origin.documents] == [uses[row] for row in order if uses[row]]
        assert origin.uses == sum(uses) == origin.bars.sum() == origin.uses_by_source.sum()


def test_where_it_is_in_words(tmp_path):
    (tmp_path / "forum.jsonl").write_text("".join(f'{{"text": "row {row}"}}\n' for row in range(400)))
    path = tmp_path / "odd.jsonl"
    path.write_text('{"text": ""}\n{"text": "qqqqqqqqq"}\n{"text": "q"}\n')
    corpus = Corpus.from_files([tmp_path / "forum.jsonl", path])
    here = explore(corpus, tokenizer_of("bytes"))
    origin = here.origin(ord("q"))
    assert origin.sentence() == "90\xa0% of its 10 uses are in one of 402 documents: odd.jsonl, row 2."
    assert here.origin(ord("Q")).sentence() == "The text has no use of it."
    assert explore(Corpus.from_text("qq"), tokenizer_of("bytes")).origin(ord("q")).sentence() == (
        "It is used 2 times in the one document."
    )
    assert isnan(explore(Corpus.from_text("qq"), tokenizer_of("bytes")).origin(1).bunched)


def test_the_bars_say_where_uses_begin():
    texts = Source.from_texts(["q" + "x" * 499, "x" * 250 + "q" * 2 + "x" * 248])
    bars = explore(Corpus((texts,)), tokenizer_of("bytes")).origin(ord("q")).bars
    assert np.flatnonzero(bars).tolist() == [0, 750, 751]


def test_tokens_are_made_in_the_text_that_it_was_trained_on():
    corpus, tokenizer = Corpus.from_text(TEXT), tokenizer_of("cl100k")
    run, here = tokenizer.run, explore(corpus, tokenizer)
    for row in range(0, len(run.merges), 7):
        token = int(tokenizer.merge_results[row])
        assert here.origin(token).made == run.counts[row]
