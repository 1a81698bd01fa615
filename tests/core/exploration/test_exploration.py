"""An exploration of a corpus: what it refuses, and what it shares."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import pytest

from tokstudio import ConfigError, Corpus, CorpusError, TrainingConfig, explore, train
from tokstudio.core.analysis import token_store
from tokstudio.core.analysis.document_encoder import DocumentEncoder
from tokstudio.core.analysis.token_store import TokenStore
from tokstudio.core.base.progress import finish
from tokstudio.core.corpus.source import Source
from tokstudio.core.exploration import exploration
from tokstudio.core.exploration.exploration import Exploration


def test_word_counts_have_no_documents():
    with pytest.raises(CorpusError, match="word counts, which have no documents"):
        explore(Corpus.from_counts({"a": 2}))


def test_another_tokenizer_has_the_same_documents_which_are_read_once(monkeypatch):
    corpus = Corpus.from_texts(["the cat", "a cat", ""])
    first = explore(corpus)
    texts = first.documents
    tokenizer = train(corpus, TrainingConfig(vocabulary_size=260))
    monkeypatch.setattr(exploration, "columns_work", None)
    other = first.at(tokenizer)
    assert other.documents["tokens"].tolist() == [len(tokenizer.encode(text)) for text in ("the cat", "a cat", "")]
    assert {name: other.documents[name] for name in texts} == texts
    assert "tokens" not in other.at(None).documents


def test_what_it_counts_is_known_to_others(monkeypatch):
    store = TokenStore()
    corpus = Corpus((*Corpus.from_texts(["the cat", "a cat<s>"]).sources, *Corpus.from_text("the dog").sources))
    tokenizer = train(corpus, TrainingConfig(vocabulary_size=265, special_tokens=["<s>"]))
    expected = finish(TokenStore().counts_work(tokenizer, corpus, recognise=True))
    measured = finish(Exploration(corpus, tokenizer, store).tokens_work())
    monkeypatch.setattr(token_store, "count_uses_work", None)
    known = finish(store.counts_work(tokenizer, corpus, recognise=True))
    assert known.by_id(len(tokenizer)).tolist() == expected.by_id(len(tokenizer)).tolist() == measured["uses"].tolist()
    again = Exploration(corpus, tokenizer, store)
    monkeypatch.setattr(DocumentEncoder, "ids_work", None)
    assert finish(again.tokens_work())["range"].tolist() == measured["range"].tolist()


def test_one_thing_is_searched_for_in_chosen_sources():
    corpus = Corpus((Source.from_texts(["the cat", "a cat"], "one"), Source.from_texts(["The catalogue"], "two")))
    tokenizer = train(corpus, TrainingConfig(vocabulary_size=270, pattern="gpt2"))
    here = explore(corpus, tokenizer)
    assert here.search(text="cat").by_source == {"one": 2, "two": 1}
    assert here.search(text="the", case=False).total == 2
    assert here.search(text="cat", whole_words=True, sources=["one"]).by_source == {"one": 2}
    assert [hit.source for hit in here.search(regex="c.t", sources=[1])] == [1]
    cat = tokenizer.encode(" cat")
    assert here.search(ids=cat).total == 2
    assert here.search(token=cat[0]).total == here.search(ids=cat[:1]).total == 2
    assert explore(corpus).search(text="cat").total == 3
    tokens = here.source_tokens()
    assert tokens.tolist() == [sum(len(tokenizer.encode(text)) for text in texts) for texts in (
        ["the cat", "a cat"], ["The catalogue"])]  # fmt: skip
    assert here.search(text="cat").per_million(tokens).tolist() == [2e6 / tokens[0], 1e6 / tokens[1]]
    for wrong, message in (
        ({}, "one thing"),
        ({"text": "a", "regex": "a"}, "one thing"),
        ({"token": 97, "case": False}, "as they are"),
        ({"ids": []}, "no ids"),
        ({"token": 5000}, "Id 5000 is not in the vocabulary"),
        ({"text": "a", "sources": ["three"]}, "no source"),
        ({"text": "a", "sources": [2]}, "no source 2"),
    ):
        with pytest.raises(ConfigError, match=message):
            here.search(**wrong)
    with pytest.raises(ConfigError, match="need a tokenizer"):
        explore(corpus).search(token=97)
    with pytest.raises(ConfigError, match="no tokenizer"):
        explore(corpus).source_tokens()
    with pytest.raises(ConfigError, match="2 sources"):
        explore(Corpus(corpus.sources * 2)).search(text="a", sources=["one"])
