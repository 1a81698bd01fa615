"""An exploration of a corpus: what it refuses, and what it shares."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import pytest

from tokstudio import Corpus, CorpusError, TrainingConfig, explore, train
from tokstudio.core.analysis import token_store
from tokstudio.core.analysis.document_encoder import DocumentEncoder
from tokstudio.core.analysis.token_store import TokenStore
from tokstudio.core.base.progress import finish
from tokstudio.core.exploration.exploration import Exploration


def test_word_counts_have_no_documents():
    with pytest.raises(CorpusError, match="word counts, which have no documents"):
        explore(Corpus.from_counts({"a": 2}))


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
