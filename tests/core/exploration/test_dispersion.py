"""The spread of tokens over a corpus, against a recount and published values."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import math
import re
from collections import Counter
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.algorithms import CASES
from tests.core.exploration.recount import by_line, close, dispersion, documents_of, encoded, pieces_of, spread
from tests.core.formats.without_merges import sentencepiece_unigram
from tests.core.picky_reference import train_picky_slowly
from tests.core.texts import document
from tokstudio import ByteTokenizer, CharacterTokenizer, Corpus, TrainingConfig, WordTokenizer, explore, load, train
from tokstudio.core.analysis import document_encoder
from tokstudio.core.corpus.source import Source
from tokstudio.core.exploration import dispersion as measured
from tokstudio.core.exploration.corpus_tokens import CorpusTokens
from tokstudio.core.exploration.exploration import Exploration
from tokstudio.core.model.algorithms import Picky
from tokstudio.core.pretokenization.preparation import Preparation
from tokstudio.core.tokenizer import encoder

some = settings(max_examples=8)  # with each tokenizer

TEXT = "the cat\nand the dog\n\n  naïve 日本本日本 aaaa abc\nbed <s> e\u0301e\u0301 \t abcabc \xff\n" * 5
COLUMNS = ("uses", "range", "top_part", "top_share", "bunched", "dp", "dp_norm")


@cache
def tokenizer_of(name: str):
    if name in CASES:
        return train(CASES[name].corpus, CASES[name].config(CASES[name].size))
    if name == "bytes":
        return ByteTokenizer()
    if name == "code points":
        return CharacterTokenizer()
    if name == "words":
        return WordTokenizer.from_text(TEXT)
    pattern = "none" if "none" in name else "cl100k"
    base = "characters" if "characters" in name else "bytes"
    unknown = {"unknown_token": "<u>", "special_tokens": ("<s>", "<u>")} if base == "characters" else {}
    config = TrainingConfig(
        vocabulary_size=330 if base == "bytes" else 60,
        pattern=pattern,
        base=base,
        **({"special_tokens": ("<s>",)} | unknown),
    )
    text = TEXT.replace("\n", "|") if "without lines" in name else TEXT
    tokenizer = train(Corpus.from_text(text), config)
    if "first" in name:
        return tokenizer.at(12)
    if "prepared" in name:
        special = frozenset(["<s>"])
        preparation = Preparation(nfc=True, prefix_space=True, strips_left=special, strips_right=special)
        return tokenizer.changed(preparation=preparation)
    return tokenizer


TOKENIZERS = (
    "cl100k",
    "cl100k, first merges",
    "none",
    "characters",
    "characters, none, without lines",
    "prepared",
    "bytes",
    "code points",
    "words",
    *CASES,
)

#: By how a token tells its place: it crosses lines, is unknown, is in changed text, is a word, is removed.
KINDS = ("none", "characters, none, without lines", "prepared", "words", "picky")

lines = st.lists(st.sampled_from(TEXT.splitlines(keepends=True)), max_size=12).map("".join).map(str.encode)
few = st.lists(st.one_of(document, lines, lines), max_size=6)
corpora = st.tuples(few, st.sampled_from([1, 1, 5]), few).map(lambda given: (given[0] * given[1], given[2]))


def corpus_of(first: list[bytes], second: list[bytes]) -> Corpus:
    return Corpus((Source.from_texts(first, "one"), Source.from_texts(second, "two")))


@pytest.mark.parametrize("name", TOKENIZERS)
@some
@given(texts=corpora)
def test_every_figure_equals_a_recount(name, texts):
    tokenizer, corpus = tokenizer_of(name), corpus_of(*texts)
    here, documents = explore(corpus, tokenizer), documents_of(corpus)
    counts = [Counter(encoded(tokenizer, each)) for each in documents]
    pieces = pieces_of(tokenizer, documents)
    units = [(number, each) for number, each in enumerate(counts) if each]
    assert here.documents["tokens"].tolist() == [each.total() for each in counts]
    assert here.pieces.tolist() == [piece.total() for piece in pieces]
    assert here.part_unit == ("documents" if len(units) >= 20 else "pieces")
    if len(units) < 20:
        units = list(enumerate(pieces))
    assert here.parts == len(units)
    tokens = here.tokens
    used = sorted(set().union(*counts)) if counts else []
    assert np.flatnonzero(tokens["uses"]).tolist() == used
    for token in [*used, *np.flatnonzero(tokens["uses"] == 0)[:1].tolist()]:
        naive = spread(token, units, pieces)
        for column in COLUMNS:
            assert close(float(tokens[column][token]), getattr(naive, column)), (column, token, naive)
    for token in used[:3]:
        assert here.pieces_of(token).tolist() == [piece[token] for piece in pieces]
        assert here.uses_by_document(token).tolist() == [each[token] for each in counts]


@pytest.mark.parametrize("name", TOKENIZERS)
def test_long_documents_are_encoded_in_threads_and_in_parts(monkeypatch, name):
    tokenizer, text = tokenizer_of(name), TEXT.encode() * 7
    texts = [text, b"", b"short", text + b"<s>" + text[:400]]
    expected = [Counter(encoded(tokenizer, each)) for each in texts]
    lines = [by_line(tokenizer, each) for each in texts]
    monkeypatch.setattr(encoder, "PART", 64)
    monkeypatch.setattr(document_encoder, "LONGEST_SEQUENCE", 400)
    monkeypatch.setattr(document_encoder, "LAST_LINES", 200)
    monkeypatch.setattr(document_encoder, "BESIDE", 120)
    monkeypatch.setattr(document_encoder, "_GROUP", 1000)
    here = explore(Corpus.from_texts(texts), tokenizer)
    for token in np.flatnonzero(here.tokens["uses"]).tolist():
        assert here.uses_by_document(token).tolist() == [each[token] for each in expected]
    starts = [len(ids) for each in lines for ids in each.values()]
    assert set(np.cumsum(here.pieces).tolist()) <= set(np.cumsum(starts).tolist())


@some
@given(texts=corpora, name=st.sampled_from(TOKENIZERS))
def test_tokens_that_do_not_fit_the_budget_are_found_again(texts, name):
    corpus, tokenizer = corpus_of(*texts), tokenizer_of(name)
    kept, again = Exploration(corpus, tokenizer), Exploration(corpus, tokenizer, most_kept=8)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measured, "_SMALL", 4)
        patch.setattr(measured, "_SIZES", 3)
        assert again.pieces.tolist() == kept.pieces.tolist()
    for column, values in kept.tokens.items():
        np.testing.assert_allclose(again.tokens[column], values, rtol=1e-12)
    for token in np.flatnonzero(kept.tokens["uses"])[:3].tolist():
        assert again.pieces_of(token).tolist() == kept.pieces_of(token).tolist()


@pytest.mark.parametrize(
    ("counts", "sizes", "dp", "norm"),
    [
        # Lyne's example as published by Gries; the norm after Egbert.
        (
            [2, 0, 1, 1, 3, 0, 3, 0, 0, 0],
            [8143, 8058, 8271, 8125, 7959, 7941, 8146, 8001, 8003, 7930],
            0.4990705,
            0.553769,
        ),
        ([0, 0, 1, 2, 5], [10] * 5, 0.475, 0.59375),
        ([1, 2, 3, 4, 5], [9, 10, 10, 10, 11], 0.18, 0.18 / 0.82),
        ([2, 1, 0], [10] * 3, 1 / 3, 1 / 2),
    ],
)
def test_dispersion_has_the_published_values(monkeypatch, counts, sizes, dp, norm):
    def piece_ends_work(text, total):
        yield from ()
        return np.cumsum(sizes)

    monkeypatch.setattr(measured, "_piece_ends_work", piece_ends_work)
    pieces = [b"x" * count + b"y" * (size - count) for count, size in zip(counts, sizes, strict=True)]
    here = explore(Corpus.from_text(b"".join(pieces)), ByteTokenizer()).tokens
    assert here["dp"][ord("x")] == pytest.approx(dp, abs=1e-6)
    assert here["dp_norm"][ord("x")] == pytest.approx(norm, abs=1e-6)
    assert dispersion(sizes, counts) == pytest.approx((dp, norm), abs=1e-6)


@pytest.fixture(scope="module")
def by_library(tmp_path_factory):
    """SentencePiece encodes for it: it puts a space before every text, and joins several of them."""
    path = tmp_path_factory.mktemp("model") / "small.model"
    sentences = ["the cat and the dog", "naïve 日本 abc bed"] * 20
    path.write_bytes(sentencepiece_unigram(sentences, 300, byte_fallback=True))
    tokenizer = load(path)
    assert tokenizer.library == "sentencepiece"
    return tokenizer


@pytest.mark.parametrize("times", [1, 12])
def test_figures_of_a_tokenizer_whose_library_encodes_equal_a_recount(by_library, times):
    texts = [TEXT.encode(), b"", b"the dog\n\nand  the cat\n\xff\xfe\n"] * times + [TEXT.encode() * 40]
    documents, here = texts, explore(Corpus.from_texts(texts), by_library)
    counts = [Counter(encoded(by_library, each)) for each in documents]
    pieces = pieces_of(by_library, documents)
    units = [(row, each) for row, each in enumerate(counts) if each] if times > 1 else list(enumerate(pieces))
    assert here.pieces.tolist() == [piece.total() for piece in pieces]
    for token in np.flatnonzero(here.tokens["uses"]).tolist():
        naive = spread(token, units, pieces)
        for column in COLUMNS:
            assert close(float(here.tokens[column][token]), getattr(naive, column)), (column, token)
    assert np.isnan(here.tokens["emitted"]).all()
    origin = here.origin(int(here.tokens["uses"].argmax()))
    assert origin.made is None
    assert origin.why_not_made == "How often it was made does not follow from the merges of this tokenizer."
    assert origin.documents[0].place == f"Pasted text, document {len(texts)}"


@given(
    st.lists(st.text("abc ", max_size=40), max_size=5),
    st.sampled_from([0.0, 0.2, 0.5, 0.75, 0.9]),
    st.booleans(),
    st.lists(st.text("abc ", max_size=40), max_size=4),
    st.data(),
)
def test_what_picky_bpe_emits_equals_a_replay(texts, threshold, by_words, others, data):
    def words(text):
        return [
            [bytes([each]) for each in part.encode()]
            for part in (re.findall(r" ?\w+|\s", text) if by_words else [text])
        ]

    pattern = r" ?\w+|\s" if by_words else "none"
    config = TrainingConfig(vocabulary_size=290, pattern=pattern, algorithm=Picky(threshold=threshold))
    tokenizer = train(Corpus.from_texts(texts), config)
    recount = train_picky_slowly([word for text in texts for word in words(text)], None, threshold, 34)
    at = data.draw(st.integers(0, len(recount.events)))
    earlier, total = tokenizer.at(at), Counter()
    for word in (word for text in [*others, *others] for word in words(text)):
        on = Counter()
        recount.encode(word, at, on)
        total += on
    exploration = explore(Corpus.from_texts([*others, *others]), earlier)
    here, origins = exploration.tokens, data.draw(st.sets(st.sampled_from(earlier.tokens.ids().tolist()), max_size=2))
    for token in earlier.tokens.ids().tolist():
        uses = int(here["uses"][token])
        made = uses + total[earlier.tokens[token]]
        assert close(float(here["emitted"][token]), uses / made if made else math.nan), token
        if token in origins:
            origin = exploration.origin(token)
            assert (origin.made, origin.made_by_source) == (made, None)
            assert all(each.made is None for each in origin.documents)
            assert origin.why_not_made.startswith("Picky BPE removes tokens again")


def test_work_can_be_cancelled_and_asked_for_again():
    tokenizer, corpus = tokenizer_of("cl100k"), Corpus.from_texts([TEXT] * 30)
    here = explore(corpus, tokenizer)
    for twin in (here.tokens_work, here.documents_work, here.findings_work, lambda: here.origin_work(97)):
        work = twin()
        assert next(work).phase
        work.close()
    assert here.tokens["uses"].sum() == here.documents["tokens"].sum()


@given(st.lists(st.integers(0, 5), min_size=1, max_size=30), st.integers(1, 7))
def test_the_document_that_reaches_a_token_is_found_piece_by_piece(tokens, piece):
    text = CorpusTokens(Corpus.from_texts(["a"] * len(tokens)), ByteTokenizer(), 0)
    text.tokens[:] = tokens
    ends = np.cumsum(tokens)
    targets = np.arange(1, sum(tokens) + 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tokstudio.core.exploration.corpus_tokens._PIECE", piece)
        documents, found = text.reaching(targets)
    expected = [next(number for number, end in enumerate(ends) if end >= target) for target in targets]
    assert documents.tolist() == expected
    assert found.tolist() == [ends[number] for number in expected]
