"""Counts of tokens in a corpus, compared with encoding each document and with the counts of training."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest

from tokstudio import Corpus, SuperBPE, Tokenizer, TrainingConfig, train
from tokstudio.core.analysis import document_encoder
from tokstudio.core.analysis.token_counts import count_uses_work, measure_work
from tokstudio.core.base.progress import finish

TEXTS = ["she sells sea shells by the sea shore\n" * 30, "", "the <|end|> of the sea <|end|>", "naïve 日本 shells"]


def without_run(tokenizer: Tokenizer) -> Tokenizer:
    """The tokenizer as a file would hold it."""
    return Tokenizer(
        tokenizer.merges,
        pattern=tokenizer.pattern,
        special_tokens=tokenizer.special_tokens,
        alphabet=tokenizer.alphabet,
    )


@pytest.mark.parametrize("pattern", ["none", "gpt2"])
def test_counts_equal_those_of_separately_encoded_documents(pattern):
    corpus = Corpus.from_texts(TEXTS)
    tokenizer = train(
        corpus,
        TrainingConfig(vocabulary_size=300, pattern=pattern, special_tokens=["<|end|>"], special_placement="last"),
    )
    expected = Counter(token for text in TEXTS for token in tokenizer.encode(text, "all"))
    uses = finish(count_uses_work(tokenizer, corpus))
    assert {token: int(n) for token, n in enumerate(uses) if n} == dict(expected)
    assert uses[tokenizer.special_tokens["<|end|>"]] == 2
    seen = list(count_uses_work(tokenizer, corpus))
    assert seen[-1].done == seen[-1].total == corpus.bytes
    assert [progress.done for progress in seen] == sorted(progress.done for progress in seen)


@pytest.mark.parametrize("algorithm", ["bpe", "boundless", SuperBPE(transition=280)])
def test_no_token_reaches_over_the_end_of_a_document(algorithm):
    """Whoever counts asks for no marks between documents."""
    texts = ["she sells sea", " shells", "by", "", "the sea", " shore", "<|end|>", "the <|end|>", "<|end|>sea"]
    config = TrainingConfig(vocabulary_size=300, pattern="gpt2", algorithm=algorithm, special_tokens=["<|end|>"])
    tokenizer = train(Corpus.from_text(TEXTS[0]), config)
    for recognise in (True, False):
        expected = Counter(token for text in texts for token in tokenizer.encode(text, "all" if recognise else ()))
        uses = finish(count_uses_work(tokenizer, Corpus.from_texts(texts), recognise))
        assert {token: int(n) for token, n in enumerate(uses) if n} == dict(expected)


@pytest.mark.parametrize("pattern", ["none", "gpt2"])
def test_counts_on_the_training_text_equal_those_of_the_run(pattern):
    corpus = Corpus.from_texts(TEXTS)
    tokenizer = train(corpus, TrainingConfig(vocabulary_size=320, pattern=pattern))
    for merges in (0, 7, len(tokenizer.merges)):
        counted = finish(count_uses_work(without_run(tokenizer.at(merges)), corpus))
        followed = tokenizer.run.uses(merges)
        assert counted[: len(followed)].tolist() == followed.tolist()


def test_words_count_as_often_as_they_occur():
    corpus = Corpus.from_counts({"sea": 5, "shell": 3, "sells": 3, "日": 1})
    tokenizer = train(Corpus.from_texts(TEXTS), TrainingConfig(vocabulary_size=290, pattern="gpt2"))
    expected = Counter()
    for word, times in {"sea": 5, "shell": 3, "sells": 3, "日": 1}.items():
        for token in tokenizer.encode(word):
            expected[token] += times
    uses = finish(count_uses_work(tokenizer, corpus))
    assert {token: int(n) for token, n in enumerate(uses) if n} == dict(expected)


def test_invalid_utf8_is_replaced_with_base_characters():
    corpus = Corpus.from_texts(["abab \ufffd"])
    tokenizer = train(corpus, TrainingConfig(vocabulary_size=7, base="characters", pattern="none"))
    broken = Corpus.from_texts([b"ab\xff"])
    uses = finish(count_uses_work(tokenizer, broken))
    assert uses.sum() == len(tokenizer.encode("ab\ufffd"))


def test_differences_at_a_cut_are_corrected(monkeypatch):
    monkeypatch.setattr(document_encoder, "LONGEST_SEQUENCE", 110)
    monkeypatch.setattr(document_encoder, "LAST_LINES", 60)
    monkeypatch.setattr(document_encoder, "BESIDE", 50)
    text = "naïve 日本\n  the sea\n" * 60
    corpus = Corpus.from_text(text)
    tokenizer = train(corpus, TrainingConfig(vocabulary_size=290, pattern="none"))
    tokenizer = tokenizer.at(20)
    assert any(b"\n " in (token or b"") for token in tokenizer.tokens)
    uses = finish(count_uses_work(tokenizer, corpus))
    seen = [progress.done for progress in count_uses_work(tokenizer, corpus)]
    assert uses.tolist() == np.bincount(tokenizer.encode(text), minlength=len(uses)).tolist()
    assert seen == sorted(seen)
    assert seen[-1] == corpus.bytes


@pytest.mark.parametrize("base", ["bytes", "characters"])
def test_held_out_text_is_measured_as_its_pieces_between_special_tokens_are_encoded(base):
    specials = {"special_tokens": ["<s>", "<u>"]} | ({"unknown_token": "<u>"} if base == "characters" else {})
    config = TrainingConfig(vocabulary_size=300 if base == "bytes" else 40, base=base, pattern="gpt2", **specials)
    tokenizer = train(Corpus.from_texts(["the cat <s> sat on the mat. " * 9]), config)
    texts = [b"the cat<s> the<s><u>", b"", b"<s>", "é\xff the mat".encode("latin-1"), b"on the ", b"mat"]
    held_out = Corpus.from_texts(texts).sources
    pieces = [piece for text in texts for piece in re.split(b"<s>|<u>", text)]
    if base == "characters":
        pieces = [piece.decode("utf-8", "replace").encode() for piece in pieces]
    measured = finish(measure_work(tokenizer, held_out, config))
    assert measured.bytes == sum(map(len, pieces))
    read = [piece.decode() if base == "characters" else piece for piece in pieces]
    assert measured.tokens == sum(len(tokenizer.encode(piece)) for piece in read)
