"""Long documents, which are encoded in parts: their ids are those of the whole."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokstudio import ByteTokenizer, CharacterTokenizer, Corpus, Tokenizer, WordTokenizer
from tokstudio.core.analysis import document_encoder
from tokstudio.core.analysis.document_encoder import DocumentEncoder, check_fits, document_parts
from tokstudio.core.base.errors import CorpusError
from tokstudio.core.base.progress import finish
from tokstudio.core.corpus.source import Source
from tokstudio.core.exploration.exploration import Exploration, explore
from tokstudio.core.pretokenization import patterns
from tokstudio.core.pretokenization.preparation import Preparation

# Words and what stands between them, so that cuts are near special tokens, combining characters and bad bytes.
PIECES = ["the", "cat's", " ", "  ", "\n", "\t", "12", "345", "<s>", "<a b>", " x", "\n\n", "e\u0301", "\u0301", "日本",
          ",", "\u1100\u1161", "\u00a0", "\ud55c", "\x1c"]  # fmt: skip
TEXTS = st.lists(st.sampled_from([piece.encode() for piece in PIECES] + [b"\xff", b"\xe6\x97"]), max_size=60)
SPECIALS = {"<s>": 256, "<a b>": 257, " x": 258, "\n\n": 259}
NAMES = [name for name in patterns.NAMES if name != "none"]


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    """Documents of more than 8 bytes are long, and cut after 4 or more."""
    monkeypatch.setattr(document_encoder, "_GROUP", 4)
    monkeypatch.setattr(patterns, "_LOOKED_AT", 6)


def tokenizer_of(pattern: str, specials: Collection[str], preparation: Preparation) -> Tokenizer:
    vocabulary = {number: bytes([number]) for number in range(256)} | {260: b"th", 261: b"the", 262: b" c", 263: b"  "}
    merges = [(b"t", b"h"), (b"th", b"e"), (b" ", b"c"), (b" ", b" ")]
    special_tokens = {text: SPECIALS[text] for text in specials}
    tokenizer = Tokenizer.from_parts(vocabulary, merges, pattern=pattern, special_tokens=special_tokens)
    return tokenizer.changed(preparation=preparation.of({text: text for text in specials}))


def taken(encoder: DocumentEncoder, source: Source) -> list[int]:
    parts: list[np.ndarray] = []
    finish(encoder.take_work(source, parts.append))
    return np.concatenate([np.empty(0, np.uint32), *parts]).tolist()


def whole(encoder: DocumentEncoder, source: Source) -> list[int]:
    return np.concatenate(finish(encoder.ids_work(np.array(source.data), source.ends))).tolist()


PREPARATIONS = st.builds(
    Preparation,
    nfc=st.booleans(),
    prefix_space=st.booleans(),
    **{
        name: st.frozensets(st.sampled_from(sorted(SPECIALS)), max_size=2)
        for name in ("late", "strips_left", "strips_right", "words", "ordinary")
    },
)


@given(
    st.lists(TEXTS.map(b"".join), min_size=1, max_size=3),
    st.sampled_from(NAMES),
    st.sets(st.sampled_from(sorted(SPECIALS))),
    st.just(Preparation()) | PREPARATIONS,
    st.booleans(),
)
def test_the_ids_of_long_documents_are_those_of_the_whole(texts, pattern, specials, preparation, recognise):
    encoder = DocumentEncoder(tokenizer_of(pattern, specials, preparation), recognise)
    source = Source.from_texts(texts, "text")
    assert taken(encoder, source) == whole(encoder, source)


@given(TEXTS.map(b"".join), st.sampled_from([None, r"\w+|.", r"\w+ \w+|."]))
def test_the_ids_of_simple_tokenizers_are_those_of_the_whole(text, pattern):
    source = Source.from_texts([text, b"the end"], "text")
    words = WordTokenizer.from_text(b"the cat's 12 \xe6\x97\xa5\xe6\x9c\xac , 345 the 12", pattern)
    for tokenizer in (ByteTokenizer(), CharacterTokenizer(), words):
        encoder = DocumentEncoder(tokenizer)
        assert taken(encoder, source) == whole(encoder, source)


@pytest.mark.parametrize(
    ("preparation", "specials", "expected"),
    [
        (Preparation(), [], b" \n"),
        (Preparation(), ["<s>", " x", "\n\n", "\t "], b" \n"),
        (Preparation(nfc=True, ordinary=frozenset({"<s>"})), ["<s>"], b" "),
        (Preparation(prefix_space=True), [], b" "),
        (Preparation(), ["<a b>"], b""),
        (Preparation(), ["a\n"], b""),
        (Preparation(words=frozenset({" x"})), [" x"], b""),
        (Preparation(strips_right=frozenset({"<s>"})), ["<s>"], b""),
    ],
)
def test_where_a_text_may_be_cut(preparation, specials, expected):
    assert preparation.cut_before(specials) == expected


def test_a_long_document_is_read_part_by_part():
    source = Source.from_texts([b"one two three four five", b"", b"six"], "text")
    parts = [(part.data.tobytes(), part.ends.tolist(), part.is_end) for part in document_parts(source, b" \n")]
    assert parts == [
        (b"one two", [7], False),
        (b" three", [6], False),
        (b" four", [5], False),
        (b" five", [5], True),
        (b"six", [0, 3], True),
    ]
    [*whole_documents] = document_parts(source, b"")
    assert [part.data.tobytes() for part in whole_documents] == [b"one two three four five", b"six"]


def test_a_place_to_cut_is_found_across_windows_and_characters():
    raw = "日本日本\u3000 日".encode() + b"  \nx\n"
    data = np.frombuffer(raw, np.uint8)
    for at in range(len(raw)):
        assert patterns.place_to_cut(data, at, len(raw)) == patterns.cut(data, at, len(raw))
    assert patterns.place_to_cut(data, 0, len(raw), b"\n") == len(raw) - 1
    assert patterns.place_to_cut(data, 0, 9) == 9


def test_a_document_that_is_encoded_whole_and_does_not_fit_is_refused(monkeypatch):
    monkeypatch.setattr(document_encoder, "_LONG", 20)
    monkeypatch.setattr(document_encoder, "free_memory", lambda: 12 * 25)
    tokenizer = tokenizer_of("gpt2", [], Preparation())
    long = Source.from_texts(["x" * 26], "text")
    with pytest.raises(CorpusError, match="A document of 0 MB does not fit into the free memory"):
        taken(DocumentEncoder(tokenizer), long)
    assert taken(DocumentEncoder(tokenizer), Source.from_texts(["x x " * 26], "text"))
    check_fits(np.array([25, 50], np.int64))
    for free in (12 * 26, None):
        monkeypatch.setattr(document_encoder, "free_memory", lambda free=free: free)
        assert len(taken(DocumentEncoder(tokenizer), long)) == 27


def test_a_corpus_of_one_long_line_is_explored_in_parts(monkeypatch):
    tokenizer = tokenizer_of("gpt2", ["<s>"], Preparation())
    text = "the cat 12 the <s> cats, the 日本 " * 9
    monkeypatch.setattr(document_encoder, "_GROUP", 1 << 20)
    expected = explore(Corpus.from_texts([text, "the end"]), tokenizer)
    uses, words = expected.tokens, expected.words(1)
    rows = [words.texts(), words["count"].tolist(), words["documents"].tolist(), words["pieces"].tolist()]
    monkeypatch.setattr(document_encoder, "_GROUP", 4)
    for most_kept in (1 << 20, 8):
        here = Exploration(Corpus.from_texts([text, "the end"]), tokenizer, most_kept=most_kept)
        for name, column in uses.items():
            np.testing.assert_array_equal(here.tokens[name], column)
        words = here.words(1)
        assert rows == [words.texts(), words["count"].tolist(), words["documents"].tolist(), words["pieces"].tolist()]
