"""An exploration of a corpus: what it refuses, and what it shares."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from math import inf, nan

import numpy as np
import pytest

from tokstudio import ConfigError, Corpus, CorpusError, TrainingConfig, explore, train
from tokstudio.core.analysis import token_store
from tokstudio.core.analysis.document_encoder import DocumentEncoder
from tokstudio.core.analysis.token_store import TokenStore
from tokstudio.core.base.progress import finish
from tokstudio.core.corpus.readers.folders import MOST_APART
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
    assert {name: other.documents[name].tolist() for name in texts} == {name: texts[name].tolist() for name in texts}
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


def test_each_text_of_a_large_folder_is_a_source_of_its_own(tmp_path):
    texts = [f"text {number} is {'red ' * (number % 7)}or blue\n" for number in range(MOST_APART + 2)]
    for number, text in enumerate([*texts, texts[5]]):
        (tmp_path / f"{number:02}.txt").write_text(text)
    corpus = Corpus.from_files([tmp_path])
    assert len({source.group for source in corpus.sources}) == 1, "they count together where weights are set"
    here = explore(corpus)
    for which in (11, "11.txt", np.int64(11)):
        assert here.search(text="red", sources=which).by_source == {"11.txt": texts[11].count("red")}
    assert [(found.rule, found.documents) for found in here.findings(("duplicates",), sources=[66])] == [
        ("duplicates", 1)
    ]
    assert not here.findings(("duplicates",), sources=[5])
    compared = here.keyness("11.txt", against=[0, 8], of="words")
    at = list(compared["text"]).index(" red")
    assert (compared["a"][at], compared["b"][at]) == (4, 1)
    with pytest.raises(ConfigError, match="no source 67: the corpus has 67"):
        here.search(text="red", sources=67)


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


NO_NUMBER = (
    "x", "", b"x", 1.5, -1, True, [], ["x"], {}, object(), 10**30, nan, inf, [None], np.array([1]), np.zeros((1, 1)),
)  # fmt: skip
NO_SEQUENCE = ("x", "", b"x", 1.5, -1, True, {}, object(), np.int64(0), nan)
NO_SOURCE = ("x", "", 1.5, -1, True, ["x"], (1.5,), {}, object(), b"x", 9, np.int64(9), nan, [None], np.zeros((1, 1)))
NO_NAME = (1.5, -1, True, [], {}, object(), "x", nan)
ARGUMENTS = {
    "corpus": (lambda here, value: explore(value), (None, *NO_SEQUENCE, [])),
    "tokenizer": (lambda here, value: explore(here.corpus, value), (*NO_SEQUENCE, [])),
    "at": (lambda here, value: here.at(value), NO_SEQUENCE),
    "pieces_of": (lambda here, value: here.pieces_of(value), (None, *NO_NUMBER)),
    "uses_by_document": (lambda here, value: here.uses_by_document(value), (None, *NO_NUMBER)),
    "origin": (lambda here, value: here.origin(value), (None, *NO_NUMBER)),
    "findings": (lambda here, value: here.findings(value), (None, *NO_SEQUENCE, ["x"], [None], "duplicates")),
    "text": (lambda here, value: here.search(text=value), ("", 1.5, 1, True, [], ["x"], {}, object(), np.array([1]))),
    "regex": (lambda here, value: here.search(regex=value), ("", b"x", 1.5, 1, True, [], ["x"], {}, object())),
    "token": (lambda here, value: here.search(token=value), NO_NUMBER),
    "ids": (lambda here, value: here.search(ids=value), (*NO_SEQUENCE, [], ["x"], [1.5], [None], [10**9], [-1])),
    "sources": (lambda here, value: here.search(text="cat", sources=value), NO_SOURCE),
    "width": (lambda here, value: here.begin_search(text="cat", width=value), (None, *NO_NUMBER)),
    "n of words": (lambda here, value: here.words(n=value), (None, 0, 6, *NO_NUMBER)),
    "of": (lambda here, value: here.words(of=value), (None, *NO_NAME)),
    "least": (lambda here, value: here.words(least=value), (0, *NO_NUMBER)),
    "n of boilerplate": (lambda here, value: here.boilerplate(n=value), (None, 7, *NO_NUMBER)),
    "documents of boilerplate": (lambda here, value: here.boilerplate(documents=value), (None, 1, *NO_NUMBER)),
    "source": (lambda here, value: here.keyness(value), (None, [], *NO_SOURCE)),
    "against": (lambda here, value: here.keyness("one", value), ("one", [0], [], *NO_SOURCE)),
    "of of keyness": (lambda here, value: here.keyness(0, of=value), (None, *NO_NAME)),
    "n of keyness": (lambda here, value: here.keyness(0, n=value), (None, 0, 6, *NO_NUMBER)),
    "smoothing": (lambda here, value: here.keyness(0, smoothing=value), (None, 0, -1, "x", True, [], {}, nan, inf)),
    "held_out": (lambda here, value: here.keyness(0, held_out=value), (None, -1, 2, "x", "", True, [], {}, nan)),
    "with_smoothing": (lambda here, value: here.keyness(0).with_smoothing(value), (None, 0, "x", True, [], nan, inf)),
    "strongest": (lambda here, value: here.keyness(0).strongest(value), (None, *NO_NUMBER)),
    "column of keyness": (lambda here, value: here.keyness(0)[value], (None, "text", *NO_NAME)),
    "column of words": (lambda here, value: here.words()[value], (None, "ids", *NO_NAME)),
    "order_work": (lambda here, value: finish(found(here).order_work(value)), (None, *NO_NAME)),
    "bars": (lambda here, value: found(here).bars(value), (None, 2, *NO_NUMBER)),
    "row_at": (lambda here, value: found(here).row_at(value, 0), (None, 2, *NO_NUMBER)),
    "per_million": (lambda here, value: found(here).per_million(value), (None, *NO_SEQUENCE, [1], ["x", "y"])),
    "span": (lambda here, value: found(here).span(value), (None, 3, *NO_NUMBER)),
    "hit": (lambda here, value: found(here).hit(value), (None, 3, *NO_NUMBER)),
    "hits": (lambda here, value: found(here).hits(value), (None, *NO_NUMBER)),
    "save_csv": (lambda here, value: found(here).save_csv(value), (None, 1, 1.5, [], {}, b"x")),
    "rules": (lambda here, value: here.corpus.without(value), (None, *NO_SEQUENCE, ["x"], [None], "duplicates")),
    "documents": (lambda here, value: here.corpus.without(documents=value), (None, *NO_SEQUENCE, ["one"], [("one",)])),
    "source of a document": (lambda here, value: here.corpus.without(documents=[(value, 0)]), (None, *NO_SOURCE)),
    "number of a document": (lambda here, value: here.corpus.without(documents=[(0, value)]), (None, 2, *NO_NUMBER)),
    "lines": (lambda here, value: here.corpus.without(lines=value), (None, *NO_SEQUENCE, [("one", 0)])),
    "number of a line": (lambda here, value: here.corpus.without(lines=[(0, 0, value)]), (None, 2, *NO_NUMBER)),
    "threshold": (lambda here, value: here.corpus.without(near_duplicates=value), (None, 0, 2, "x", [], {}, nan)),
    "numbers_of": (lambda here, value: here.corpus.numbers_of(value), (None, *NO_SOURCE)),
    "weights": (lambda here, value: here.corpus.with_weights(value), (None, "x", 1, [], {"x": 1}, {0: "x"}, {None: 1})),
}  # fmt: skip


def found(here: Exploration):
    return here.search(text="cat")


@pytest.fixture(scope="module")
def small():
    corpus = Corpus((Source.from_texts(["the cat", "a cat"], "one"), Source.from_texts(["The catalogue the"], "two")))
    return explore(corpus, train(corpus, TrainingConfig(vocabulary_size=270, pattern="gpt2")))


@pytest.mark.parametrize("name", ARGUMENTS)
def test_an_argument_that_cannot_be_is_told(name, small):
    call, values = ARGUMENTS[name]
    for value in values:
        with pytest.raises(ConfigError):
            call(small, value)


def test_numbers_of_numpy_and_single_sources_are_taken(small):
    assert small.search(text="cat", sources="one").total == small.search(text="cat", sources=np.int64(0)).total == 2
    assert small.origin(np.int32(99)).uses == small.search(token=np.uint32(99)).total
    assert small.keyness(np.int64(0)).totals == small.keyness("one").totals
    assert small.words(n=np.int64(2))["count"].tolist() == small.words(n=2)["count"].tolist()
    assert small.corpus.with_weights({np.int64(1): 2}).weights == (1000, 2000)
    message = r"^token must be a whole number, not 'x'\.$"
    with pytest.raises(ConfigError, match=message):
        small.search(token="x")
