"""A line in several tokenizers: borders, lines and differences, beside slow and obvious code."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokstudio import ByteTokenizer, CharacterTokenizer, ConfigError, Corpus, Tokenizer, TrainingConfig, train
from tokstudio.core.analysis.baselines import AnyTokenizer
from tokstudio.core.base.progress import finish
from tokstudio.core.comparison.alignment import (
    CutText,
    borders,
    cut_work,
    difference,
    line_text,
    lines_work,
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
