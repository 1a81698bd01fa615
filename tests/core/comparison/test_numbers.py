from __future__ import annotations

import re
from collections import Counter
from functools import cache
from math import log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokstudio import ByteTokenizer, CharacterTokenizer, Corpus, Tokenizer, WordTokenizer, compare
from tokstudio.core.analysis.baselines import AnyTokenizer
from tokstudio.core.comparison.numbers import LONGEST
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.training.trainer import train

NUMBERS = "1234567 12 1999 2000 2001 2024 314159 1,000,000 é7 x12y 100 1000 " * 3


@cache
def trained(pattern: str, base: str = "bytes") -> Tokenizer:
    config = TrainingConfig(vocabulary_size=300 if base == "bytes" else 40, pattern=pattern, base=base)  # pyright: ignore[reportArgumentType]
    return train(Corpus.from_text(NUMBERS), config)


def naive(tokenizer: AnyTokenizer, documents: list[str]) -> tuple[float, float]:
    """F1 and entropy, number by number."""
    found = threes = both = 0
    splits = Counter[tuple[int, tuple[int, ...]]]()
    for document in documents:
        begins, at = set[int](), 0
        for token in tokenizer.encode(document):
            begins.add(at)
            at += len(tokenizer.decode_bytes([token]))
        for match in re.finditer(rb"[0-9]{2,}", document.encode()):
            size = match.end() - match.start()
            own = {place for place in range(1, size) if match.start() + place in begins}
            ideal = {place for place in range(1, size) if (size - place) % 3 == 0}
            found, threes, both = found + len(own), threes + len(ideal), both + len(own & ideal)
            if size <= LONGEST:
                splits[size, tuple(sorted(own))] += 1
    entropy, numbers = 0.0, splits.total()
    for (size, _), count in splits.items():
        entropy -= count / numbers * log2(count / sum(n for (other, _), n in splits.items() if other == size))
    nan = float("nan")
    return 2 * both / (found + threes) if found + threes else nan, entropy if numbers else nan


@given(
    st.lists(st.text("0123456789,. aé\n", max_size=40), max_size=5),
    st.sampled_from(["gpt2", "none", "cl100k", "bytes", "characters"]),
)
def test_splits_of_numbers_are_those_of_a_recount(documents: list[str], name: str) -> None:
    simple = {"bytes": ByteTokenizer(), "characters": CharacterTokenizer()}
    tokenizer = simple.get(name) or trained(name)
    made = compare({"one": tokenizer}, {"text": documents}, threads=1)
    values = [made.figure(figure)[0, 0] for figure in ("number_boundaries", "number_splits")]
    assert values == pytest.approx(naive(tokenizer, documents), nan_ok=True)


def test_values_worked_out_by_hand() -> None:
    made = compare({"bytes": ByteTokenizer(), "words": WordTokenizer.from_text(NUMBERS)}, {"text": "1234567 12"})
    # Boundaries of tokens: 6 and 1; of three digits: 1|234|567, 2; both: 2.
    assert made.figure("number_boundaries")[0, 0] == pytest.approx(2 * 2 / (7 + 2))
    assert made.figure("number_splits")[0, 0] == 0
    assert np.isnan([made.figure(name)[0, 1] for name in ("number_boundaries", "number_splits")]).all()
    # 12|34 and 1234, and 56 whole.
    pairs = Tokenizer(np.array([[49, 50], [51, 52], [53, 54], [256, 257]]), pattern="cl100k")
    whole = Tokenizer(np.array([[49, 50], [51, 52], [53, 54], [256, 257]]), pattern="gpt2")
    made = compare({"threes": pairs, "whole": whole}, {"text": "1234 5634 56"})
    assert [pairs.decode([token]) for token in pairs.encode("1234")] == ["12", "3", "4"]
    assert made.figure("number_splits")[0].tolist() == [0, pytest.approx(2 / 3)]


def test_characters_and_documents_end_numbers() -> None:
    made = compare({"bytes": ByteTokenizer()}, {"parts": ["12", "34"], "whole": ["1234"], "none": ["1", "2 3"]})
    assert made.figure("number_boundaries")[:, 0].tolist() == [0, 0.5, pytest.approx(float("nan"), nan_ok=True)]
    assert np.isnan(made.figure("number_splits")[2, 0])
    assert made.totals("number_boundaries")[0] == pytest.approx(2 * 1 / (5 + 1))


def test_all_texts_together_count_equal_splits_together() -> None:
    tokenizer = trained("gpt2")
    texts = {"a": "1234567 1999 2000", "b": "2001 99999 1999", "c": "no number"}
    made = compare({"one": tokenizer}, texts)
    expected = naive(tokenizer, list(texts.values()))
    assert [made.totals(name)[0] for name in ("number_boundaries", "number_splits")] == pytest.approx(expected)


def test_long_numbers_have_boundaries_but_no_split() -> None:
    made = compare({"bytes": ByteTokenizer()}, {"long": "1" * (LONGEST + 1), "longest": "1" * LONGEST})
    assert made.figure("number_boundaries")[:, 0] == pytest.approx([2 * 21 / (64 + 21), 2 * 21 / (63 + 21)])
    assert np.isnan(made.figure("number_splits")[0, 0])
    assert made.figure("number_splits")[1, 0] == 0


def test_a_tokenizer_of_characters_splits_numbers_beside_bytes_that_are_no_text() -> None:
    tokenizer = trained("gpt2", "characters")
    made = compare({"one": tokenizer}, {"text": "é1999 x12y"})
    assert made.figure("number_boundaries")[0, 0] == pytest.approx(naive(tokenizer, ["é1999 x12y"])[0])
    made = compare({"characters": CharacterTokenizer()}, {"text": [b"\xff1234", b"\xc312"]})
    assert made.figure("number_boundaries")[0, 0] == pytest.approx(2 * 1 / (4 + 1))
