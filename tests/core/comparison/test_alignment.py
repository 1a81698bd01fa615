"""A line in several tokenizers, and a text after each merge, beside slow and obvious code."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokstudio import (
    ByteTokenizer,
    CharacterTokenizer,
    ConfigError,
    Corpus,
    Tokenizer,
    TrainingConfig,
    load,
    save,
    train,
)
from tokstudio.core.analysis.baselines import AnyTokenizer
from tokstudio.core.analysis.token_store import TokenStore
from tokstudio.core.base.progress import finish
from tokstudio.core.comparison.alignment import (
    CutText,
    borders,
    cut_work,
    difference,
    line_text,
    lines_work,
    text_tokens_work,
    tokens_of_lines_work,
)
from tokstudio.core.comparison.counts import ids_of_each_work
from tokstudio.core.corpus.source import Source

TEXT = "the cat sat on the mat, die Katze saß auf der Matte, 我家的猫, השועל, แมว 🦊\n" * 3
LINES = st.text(alphabet="abc de\u00e9\u05d0\u0e41\u0e33\u732b\U0001f98a\u0301,", max_size=30)


def trained(size: int, **settings: str) -> Tokenizer:
    return train(Corpus.from_text(TEXT), TrainingConfig(vocabulary_size=size, **settings))


TOKENIZERS: tuple[AnyTokenizer | None, ...] = (
    trained(262, pattern="gpt2"),
    trained(330, pattern="none"),
    CharacterTokenizer(),
    ByteTokenizer(),
    None,
)


@given(LINES)
def test_tokens_cover_the_text(line: str) -> None:
    data = line.encode()
    for tokenizer in TOKENIZERS:
        cut = finish(cut_work(tokenizer, line))
        starts = [0, *cut.ends.tolist()]
        pieces = [data[start:end] for start, end in pairwise(starts)]
        assert b"".join(pieces) == data
        if isinstance(tokenizer, Tokenizer):
            assert pieces == [tokenizer.tokens[token] for token in tokenizer.encode(line)]


@given(LINES)
def test_borders_are_those_of_any_tokenizer(line: str) -> None:
    cuts = [finish(cut_work(tokenizer, line)) for tokenizer in TOKENIZERS]
    places, counts = borders(cuts)
    size = len(line.encode())
    expected = [sum(place in cut.ends for cut in cuts) for place in range(1, size)]
    assert places.tolist() == [place for place, count in enumerate(expected, 1) if count]
    assert counts.tolist() == [count for count in expected if count]


def test_several_tokens_that_end_together_have_one_border() -> None:
    one = CutText(np.zeros(4, np.uint32), np.array([0, 3, 3, 6]))
    other = CutText(np.zeros(3, np.uint32), np.array([2, 3, 6]))
    places, counts = borders([one, other])
    assert (places.tolist(), counts.tolist()) == ([2, 3], [1, 2])
    assert borders([])[0].tolist() == []


@given(st.lists(st.text(alphabet="ab\n\ré", max_size=8), max_size=5))
def test_lines_are_those_of_the_documents(documents: list[str]) -> None:
    source = Source.from_texts(documents)
    lines = finish(lines_work(source))
    expected = []
    for document in documents:
        parts = document.split("\n")
        expected += parts if parts[-1] else parts[:-1]
    assert [line_text(source, line) for line in lines] == [line.removesuffix("\r") for line in expected]


@given(st.lists(LINES, min_size=1, max_size=6))
def test_each_line_is_counted_by_itself(texts: list[str]) -> None:
    source = Source.from_texts(["\n".join(texts)])
    lines = finish(lines_work(source))
    for tokenizer in TOKENIZERS[:-1]:
        assert tokenizer is not None
        counts = finish(tokens_of_lines_work(tokenizer, source, lines))
        assert counts.tolist() == [len(tokenizer.encode(line_text(source, line))) for line in lines]
        ids, sizes = finish(ids_of_each_work(tokenizer, [text.encode() for text in texts]))
        assert ids.tolist() == [token for text in texts for token in tokenizer.encode(text)]
        assert sizes.tolist() == [len(tokenizer.encode(text)) for text in texts]


@given(st.lists(st.lists(st.integers(0, 50), min_size=3, max_size=3), min_size=1, max_size=4))
def test_the_difference_is_the_most_tokens_by_the_fewest(counts: list[list[int]]) -> None:
    made = difference(np.array(counts, np.int64))
    for line, value in enumerate(made.tolist()):
        here = [max(row[line], 1) for row in counts]
        assert value == pytest.approx(float(Fraction(max(here), min(here))))


def test_bytes_that_are_not_text_are_replaced() -> None:
    source = Source.from_texts([b"a\xff\xc3\nb"])
    lines = finish(lines_work(source))
    assert [line_text(source, line) for line in lines] == ["a\ufffd\ufffd", "b"]


def test_a_character_that_is_not_in_the_vocabulary_is_an_error() -> None:
    tokenizer = train(Corpus.from_text("abc abc"), TrainingConfig(vocabulary_size=10, base="characters"))
    with pytest.raises(ConfigError):
        finish(cut_work(tokenizer, "xyz"))


# --- The tokens of a text after each merge: by runs, by opened tokenizers, and by those of a library ------------------

PARTS = ["the cat sat on the mat, ", "the rat <s> sat. ", "ein Satz für sich"]
CATS = Corpus.from_texts(["the cat sat on the mat, then the rat sat. " * 20])


def trained_on_cats(**settings):
    return train(CATS, TrainingConfig(**{"vocabulary_size": 290, "pattern": "gpt2", **settings}))


def parts(*weights):
    return [(Corpus.from_texts([text]), weight) for text, weight in zip(PARTS, weights, strict=True)]


def tokens(tokenizer, *weights):
    return sum(weight * len(tokenizer.encode(text)) for text, weight in zip(PARTS, weights, strict=True))


@pytest.mark.parametrize("weights", [(1, 1, 1), (3, 0, 500)])
def test_each_part_counts_as_often_as_it_is_weighted_after_each_merge(weights):
    tokenizer = trained_on_cats(special_tokens=["<s>"])
    found = finish(text_tokens_work(tokenizer, parts(*weights), TokenStore()))
    size = sum(weight * len(text.encode()) for text, weight in zip(PARTS, weights, strict=True))
    assert (found.bytes, found.tokens) == (size, tokens(tokenizer, *weights))
    assert found.by_merge is not None
    assert found.by_merge.tolist() == [tokens(tokenizer.at(k), *weights) for k in range(len(tokenizer.merges) + 1)]
    assert np.allclose(found.curve, size / found.by_merge)
    assert found.bytes_per_token == found.curve[-1]
    assert not found.loses_text


def test_a_text_of_weight_0_is_not_even_read():
    tokenizer = trained_on_cats(vocabulary_size=None, min_frequency=2, base="characters")
    assert finish(text_tokens_work(tokenizer, parts(1, 0, 0), TokenStore())).tokens == len(tokenizer.encode(PARTS[0]))
    with pytest.raises(ConfigError, match="vocabulary"):
        finish(text_tokens_work(tokenizer, parts(1, 0, 1), TokenStore()))


def test_no_text_has_no_tokens():
    found = finish(text_tokens_work(trained_on_cats(), [], TokenStore()))
    assert (found.bytes, found.tokens, found.bytes_per_token) == (0, 0, 0.0)
    assert not found.curve.any()


def test_a_tokenizer_of_a_library_has_its_tokens_but_no_curve(tmp_path):
    save(trained_on_cats(), tmp_path / "tokenizer.json")
    content = json.loads((tmp_path / "tokenizer.json").read_text(encoding="utf-8"))
    content["normalizer"] = {"type": "Lowercase"}
    (tmp_path / "tokenizer.json").write_text(json.dumps(content), encoding="utf-8")
    tokenizer = load(tmp_path / "tokenizer.json")
    found = finish(text_tokens_work(tokenizer, parts(1, 1, 1), TokenStore()))
    assert found.tokens == tokens(tokenizer, 1, 1, 1)
    assert found.loses_text, "the capital of Satz"
    assert not finish(text_tokens_work(tokenizer, parts(1, 1, 0), TokenStore())).loses_text
    assert found.by_merge is None
    assert not len(found.curve)
    assert found.no_curve.startswith("Only all merges can be counted together: its normalizer Lowercase changes")


def test_an_opened_tokenizer_has_the_curve_of_its_run(tmp_path):
    tokenizer = trained_on_cats()
    save(tokenizer, tmp_path / "tokenizer.json")
    opened = load(tmp_path / "tokenizer.json")
    assert isinstance(opened, Tokenizer)
    found = finish(text_tokens_work(opened, [(CATS, 1)], TokenStore()))
    run = tokenizer.run
    assert found.by_merge is not None
    assert found.by_merge.tolist() == [run.tokens_before, *run.tokens_after]
