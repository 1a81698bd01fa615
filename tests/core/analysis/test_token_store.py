"""The store of tokens: asked twice, found once; other texts and tokenizers have other keys; memory is bounded."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from tokstudio import ByteTokenizer, ConfigError, Corpus, TrainingConfig, WordTokenizer, load, save, train
from tokstudio.core.analysis import token_store
from tokstudio.core.analysis.token_counts import count_uses_work
from tokstudio.core.analysis.token_store import TokenStore
from tokstudio.core.base.progress import Progress, finish
from tokstudio.core.comparison.alignment import text_tokens_work
from tokstudio.core.comparison.counts import counts_work
from tokstudio.core.comparison.texts import text_work

TEXT = "the cat sat on the mat, <s> the rat sat. "


def trained(**settings):
    config = TrainingConfig(**{"vocabulary_size": 280, "pattern": "gpt2", **settings})
    return train(Corpus.from_text(TEXT * 20), config)


@pytest.fixture
def encoded(monkeypatch):
    """Each corpus that was encoded."""
    found = []

    def counted(tokenizer, corpus, *more):
        found.append(corpus)
        return (yield from count_uses_work(tokenizer, corpus, *more))

    monkeypatch.setattr(token_store, "count_uses_work", counted)
    return found


def test_a_text_is_encoded_once_for_all_who_ask(encoded, tmp_path):
    store, tokenizer = TokenStore(), trained()
    save(tokenizer, tmp_path / "tokenizer.json")
    text = finish(text_work("text", TEXT))
    of_compare = finish(counts_work(tokenizer, text, store))
    of_runs = finish(text_tokens_work(load(tmp_path / "tokenizer.json"), [(Corpus.from_text(TEXT), 3)], store))
    of_prune = finish(store.counts_work(trained(), Corpus.from_text(TEXT)))
    assert len(encoded) == 1, "equal texts and tokenizers are known by what they hold"
    assert of_compare.tokens * 3 == of_runs.tokens == of_prune.tokens * 3 == 3 * len(tokenizer.encode(TEXT))
    uses = of_compare.by_id(len(tokenizer.tokens))
    assert uses.tolist() == np.bincount(tokenizer.encode(TEXT), minlength=len(uses)).tolist()


def test_each_entry_counts_as_often_as_its_weight_says(encoded):
    store, tokenizer, texts = TokenStore(), trained(), [TEXT, "the mat and the cat ", "of none"]
    sources = tuple(Corpus.from_text(text).sources[0] for text in texts)
    corpus, size = Corpus(sources), len(tokenizer.tokens)
    one, other, _ = (np.bincount(tokenizer.encode(text), minlength=size) for text in texts)
    plain = finish(store.counts_work(tokenizer, corpus))
    assert plain.tokens == sum(len(tokenizer.encode(text)) for text in texts)
    for weights, scale, wanted in (((1, 2, 0), 1, one + 2 * other), ((0.5, 1, 0), 1000, 500 * one + 1000 * other)):
        weighted = corpus.with_weights_in_order(weights)
        assert weighted.weight_scale == scale
        assert finish(store.counts_work(tokenizer, weighted)).by_id(size).tolist() == wanted.tolist()
    assert len(encoded) == len(texts), "other weights need no new count"


def test_a_changed_text_or_tokenizer_is_not_served_the_old_figure(encoded):
    store, tokenizer = TokenStore(), trained()
    asked = [(tokenizer, TEXT), (tokenizer, TEXT + "."), (tokenizer.at(9), TEXT), (tokenizer.at(0), TEXT)]
    asked += [(tokenizer.with_dropout(0.9, 3), TEXT), (tokenizer.changed(pattern="none"), TEXT)]
    for each, text in asked:
        counts = finish(store.counts_work(each, Corpus.from_text(text)))
        anew = finish(count_uses_work(each, Corpus.from_text(text), recognise=False))
        assert counts.by_id(len(anew)).tolist() == anew.tolist()
    assert len(encoded) == len(asked)


def test_documents_and_special_tokens_are_parts_of_the_key(encoded):
    store, tokenizer = TokenStore(), trained(special_tokens=["<s>"])
    corpora = [Corpus.from_texts(["the ca", "t sat"]), Corpus.from_texts(["the cat sat"])]
    one, other = (finish(store.counts_work(tokenizer, corpus)).tokens for corpus in corpora)
    assert one == len(tokenizer.encode("the ca")) + len(tokenizer.encode("t sat")) != other
    special = finish(store.counts_work(tokenizer, Corpus.from_text(TEXT), recognise=True))
    plain = finish(store.counts_work(tokenizer, Corpus.from_text(TEXT)))
    assert special.tokens == len(tokenizer.encode(TEXT, "all")) != plain.tokens == len(tokenizer.encode(TEXT))
    finish(store.counts_work(trained(), Corpus.from_text(TEXT), recognise=True))
    finish(store.counts_work(trained(), Corpus.from_text(TEXT), recognise=False))
    assert len(encoded) == 5, "where there are no special tokens, nothing is to be recognised"


def test_the_entries_of_a_corpus_are_known_in_another_one(encoded):
    store, tokenizer = TokenStore(), trained()
    first, second = (Corpus.from_text(text).sources[0] for text in ("the cat", " sat on the mat"))
    alone = [finish(store.counts_work(tokenizer, Corpus((source,)))).tokens for source in (first, second)]
    together = finish(store.counts_work(tokenizer, Corpus((first, second), (1000, 5000))))
    assert together.tokens == alone[0] + 5 * alone[1]
    assert len(encoded) == 2
    assert finish(store.counts_work(tokenizer, Corpus(()))).tokens == 0


def test_simple_tokenizers_are_told_apart_by_their_segments():
    store, corpus = TokenStore(), Corpus.from_text("a b c")
    for tokenizer in (ByteTokenizer(), WordTokenizer(("a", " ")), WordTokenizer(("a", " ", "b"))):
        counts = finish(store.counts_work(tokenizer, corpus))
        assert counts.by_id(256).tolist() == np.bincount(tokenizer.encode("a b c"), minlength=256).tolist()


def test_threads_that_ask_the_same_wait_for_one_answer():
    store, tokenizer, asked = TokenStore(), trained(), []

    def find():
        asked.append(1)
        for _ in range(20):
            yield Progress("finding")
        return np.arange(3)

    def ask(_):
        return finish(store.answer_work("numbers", tokenizer, Corpus.from_text(TEXT).sources, find))

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(ask, range(32)))
    assert len(asked) == 1
    assert all(answer is answers[0] for answer in answers)
    assert not answers[0].flags.writeable


def test_after_a_failed_or_cancelled_attempt_the_next_one_finds_the_answer():
    store, tokenizer = TokenStore(), trained(vocabulary_size=None, min_frequency=2, base="characters")
    for _ in range(2):
        with pytest.raises(ConfigError, match="vocabulary"):
            finish(store.counts_work(tokenizer, Corpus.from_text("Ü")))
    cancelled = store.counts_work(tokenizer, Corpus.from_text(TEXT))
    next(cancelled)
    cancelled.close()
    assert finish(store.counts_work(tokenizer, Corpus.from_text(TEXT))).tokens == len(tokenizer.encode(TEXT))


def test_the_answers_that_were_not_asked_for_the_longest_go_first():
    store, tokenizer, asked = TokenStore(most_bytes=30_000), trained(), []

    def ask(name):
        def find():
            asked.append(name)
            yield Progress("finding")
            return replace(made, ids=np.zeros(1000, np.int64))

        return finish(store.answer_work(name, tokenizer, (), find))

    made = finish(TokenStore().counts_work(tokenizer, Corpus.from_text("a")))
    for name in "abcadaba":
        ask(name)
        assert store.bytes <= store.most_bytes
    assert "".join(asked) == "abcdb"
    large = finish(store.answer_work("large", tokenizer, (), lambda: _large()))
    assert len(large) == 9_000
    assert store.bytes == 0, "an answer that is larger than all that may be kept is not kept"


def _large():
    yield Progress("finding")
    return np.zeros(9_000, np.int64)
