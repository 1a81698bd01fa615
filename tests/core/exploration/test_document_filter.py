"""The filter of documents: what it takes, what passes, and what it says of mistakes."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokstudio import ConfigError
from tokstudio.core.base.progress import finish
from tokstudio.core.corpus.source import Source
from tokstudio.core.exploration.document_filter import NUMBERS, Condition, DocumentFilter

TEXTS = ["The cat sat.", "THE STRASSE", "die Straße", "猫 sat", "buy  now", "buy now: http://a.b", ""]
SOURCES = (Source.from_texts(TEXTS[:3], "en.txt"), Source.from_texts(TEXTS[3:], "ja.txt"))
COLUMNS = {
    "source": np.array([0, 0, 0, 1, 1, 1, 1]),
    "script": np.array([0, 0, 0, 1, 0, 0, 2]),
    "bytes": np.array([len(text.encode()) for text in TEXTS]),
    "repeated": np.array([0, 0.5, 0.51, 1, 0.2, np.nan, np.nan]),
}
NAMES = {"source": ["en.txt", "ja.txt"], "script": ["Latin", "Han", "–"]}


def passing(text: str) -> list[int]:
    found = finish(DocumentFilter.parse(text).passing_work(SOURCES, COLUMNS, NAMES))
    return np.flatnonzero(found).tolist()


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("", [0, 1, 2, 3, 4, 5, 6]), ("sat", [0, 3]), ("SAT cat", [0]), ("strasse", [1, 2]), ("straße", [1, 2]),
        ('"buy now"', [5]), ("buy now", [4, 5]), ("http://a.b", [5]), ("script:han", [3]), ("script=Han sat", [3]),
        ("source:JA", [3, 4, 5, 6]), ("source:en bytes>11", [0]), ("bytes>=11", [0, 1, 2, 5]), ("bytes<1", [6]),
        ("bytes:0", [6]), ("bytes=0", [6]), ("bytes<1k", [0, 1, 2, 3, 4, 5, 6]), ("bytes>0.01kB", [0, 1, 2, 5]),
        ("repeated>50%", [2, 3]), ("repeated>50", [2, 3]), ("repeated>=50%", [1, 2, 3]),
        ("repeated<100%", [0, 1, 2, 4]), ('"script:Han"', []),
    ],
)  # fmt: skip
def test_conditions_and_words_must_all_hold(text, rows):
    assert passing(text) == rows


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("byts>3", 'There is no column "byts". Do you mean bytes? For the text itself: "byts>3".'),
        ("zzz=3", 'There is no column "zzz". Columns are source, script, number'),
        ("bytes>many", 'bytes needs a number, such as bytes>1,000, not "many".'),
        ("bytes>", "A value is missing after bytes>: write bytes>1,000."),
        ("bytes>5%", "bytes is no share"),
        ("script>3", "Write script:NAME, such as script:Han."),
        ("script:", "A value is missing after script:: write script:Han."),
        ('say "buy now', 'The quotation mark before "buy now" has no other'),
        ("scrip:Han", 'There is no column "scrip". Do you mean script?'),
    ],
)
def test_a_mistake_is_named_with_what_to_write(text, words):
    with pytest.raises(ConfigError) as error:
        DocumentFilter.parse(text)
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("tokens>3", "The column tokens needs a tokenizer"),
        ("uses>3", "Choose a token"),
        ("script:Thai", 'No document has the script "thai". There are: Latin, Han'),
        ("lines>3", "The column lines is not known here."),
    ],
)
def test_what_is_not_known_of_the_documents_is_said(text, words):
    with pytest.raises(ConfigError) as error:
        passing(text)
    assert words in str(error.value)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(sorted(NUMBERS)), st.sampled_from([">", "<", ">=", "<=", "="]), st.integers(0, 10**9)
        ),
        max_size=4,
    )
)
def test_every_column_of_numbers_can_be_written(terms):
    parsed = DocumentFilter.parse(" ".join(f"{name}{test}{value:,}" for name, test, value in terms))
    share = [0.01 if name == "repeated" else 1 for name, *_ in terms]
    expected = [
        Condition(NUMBERS[name], test, pytest.approx(value * unit))
        for (name, test, value), unit in zip(terms, share, strict=True)
    ]
    assert list(parsed.conditions) == expected


@given(st.text(max_size=30))
def test_any_text_is_parsed_or_refused(text):
    with suppress(ConfigError):
        DocumentFilter.parse(text)
