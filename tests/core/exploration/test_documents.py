"""The table of documents, against a recount in Python."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.texts import document
from tokstudio import ByteTokenizer, CharacterTokenizer, ConfigError, Corpus, explore
from tokstudio.core.corpus.source import Source
from tokstudio.core.exploration import documents as table
from tokstudio.core.text.languages import SCRIPTS, script_of

PARTS = (
    "the cat ", "два слова", "日本 ", "\n", "\r\n", "\x1c", "\x85", "\u3000", "é", "e\u0301", "ا", "\n\n", "x" * 30,
)  # fmt: skip
mixed = st.lists(st.sampled_from(PARTS), max_size=20).map("".join).map(str.encode)
texts = st.lists(st.one_of(document, mixed, st.tuples(mixed, st.binary(max_size=5)).map(b"".join)), max_size=8)


def described(raw: bytes) -> dict[str, int]:
    text = raw.decode("utf-8", "surrogateescape")
    characters = [each for each in text if not "\udc80" <= each <= "\udcff"]
    lines = raw.split(b"\n")
    lines = lines if lines[-1] else lines[:-1]
    scripts = Counter(filter(None, map(script_of, characters)))
    most = max(scripts.values(), default=0)
    return {
        "bytes": len(raw),
        "characters": len(characters),
        "not_utf8": len(text) - len(characters),
        "lines": len(lines),
        "longest_line": max(map(len, lines), default=0),
        "longest_run": max((len(run.encode("utf-8", "surrogateescape")) for run in text.split()), default=0),
        "script": min((SCRIPTS.index(script) for script, count in scripts.items() if count == most), default=-1),
    }


def stripped(line: bytes) -> bytes:
    return line.decode("utf-8", "surrogateescape").strip().encode("utf-8", "surrogateescape")


@given(first=texts, second=texts, budget=st.sampled_from([1, 7, 1 << 20]), most=st.sampled_from([1, 3, 1 << 19]))
def test_every_column_equals_a_recount(first, second, budget, most):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table, "_BUDGET", budget)
        patch.setattr(table, "_DOCUMENTS", most)
        corpus = Corpus((Source.from_texts(first), Source.from_texts(second)))
        here = dict(explore(corpus, ByteTokenizer()).documents)
    rows = [described(raw) for raw in (*first, *second)]
    lines = [[(line, stripped(line)) for line in re.findall(rb"[^\n]*\n|[^\n]+", raw)] for raw in (*first, *second)]
    known = Counter(text for each in lines for _, text in each if len(text) >= 20)
    for row, each in zip(rows, lines, strict=True):
        row["repeated_bytes"] = sum(len(line) for line, text in each if known[text] > 1)
        row["tokens"], row["bytes_per_token"] = row["bytes"], 1 if row["bytes"] else np.nan
    for name in here.keys() - {"source", "shard", "number"}:
        np.testing.assert_array_equal(here[name], [row[name] for row in rows], name)
    assert here["source"].tolist() == [0] * len(first) + [1] * len(second)
    assert here["number"].tolist() == [*range(len(first)), *range(len(second))]


def test_documents_have_the_numbers_of_their_file(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "long enough"}\n{"text": "x"}\n{"text": "also long enough"}\n')
    corpus = Corpus.from_files([tmp_path / "a.jsonl"], least_characters=5)
    assert explore(corpus).documents["number"].tolist() == [0, 2]


@pytest.mark.parametrize("at_once", [1, 2, 100])
def test_numbers_and_files_are_told_in_pieces(monkeypatch, at_once):
    monkeypatch.setattr(table, "_DOCUMENTS", at_once)
    # Runs of documents that begin with this document, at this byte, are this row, in this file.
    runs = np.array([[0, 0, 4, 0], [2, 4, 1, 1], [3, 6, 7, 1]])
    rows = replace(Source.from_texts(["ab"] * 5), rows=runs, shards=("first", "second"))
    here = explore(Corpus((Source.from_texts(["c"] * 3), rows, Source.from_texts(["d"])))).documents
    assert here["source"].tolist() == [0, 0, 0, 1, 1, 1, 1, 1, 2]
    assert here["number"].tolist() == [0, 1, 2, 3, 4, 0, 6, 7, 0]
    assert here["shard"].tolist() == [0, 0, 0, 0, 0, 1, 1, 1, 0]
    assert here["bytes"].tolist() == [1, 1, 1, 2, 2, 2, 2, 2, 1]


def test_the_tokens_of_documents_need_a_tokenizer():
    corpus = Corpus.from_texts(["ab", "", "abc"])
    assert "tokens" not in explore(corpus).documents
    with pytest.raises(ConfigError, match="There is no tokenizer"):
        _ = explore(corpus).tokens
    here = explore(corpus, ByteTokenizer()).documents
    assert here["tokens"].tolist() == [2, 0, 3]
    np.testing.assert_array_equal(here["bytes_per_token"], [1, np.nan, 1])
    assert explore(Corpus.from_texts(["éab"]), CharacterTokenizer()).documents["bytes_per_token"].tolist() == [4 / 3]


def test_a_table_of_documents_holds_no_column_twice():
    texts = ["a", "bc", "", "def"] * 1_000
    exploration = explore(Corpus.from_texts(texts), ByteTokenizer())
    here, without = exploration.documents, exploration.at(None).documents
    assert set(here) - set(without) == {"tokens", "bytes_per_token"}
    # What is not held is computed for each call.
    held = {name for name in here if here[name] is here[name]}
    of_text = {"characters", "lines", "not_utf8", "longest_line", "longest_run", "script", "repeated_bytes"}
    assert held == of_text | {"tokens"}
    assert {name for name in of_text if here[name] is not without[name]} == set()
    assert here["tokens"] is exploration.documents["tokens"]
    assert sum(here[name].nbytes for name in held) <= len(texts) * (7 * 4 + 2)
    assert not any(here[name].flags.writeable for name in here)


def test_a_corpus_without_text_has_no_documents():
    here = explore(Corpus(()), ByteTokenizer())
    assert {len(column) for column in here.documents.values()} == {0}
    assert (here.parts, here.part_unit, here.pieces.tolist()) == (0, "pieces", [])
    assert not here.tokens["uses"].any()
    assert np.isnan(here.tokens["dp"]).all()


def test_one_line_has_one_piece():
    here = explore(Corpus.from_text("abc" * 100), ByteTokenizer())
    assert (here.parts, here.part_unit, here.pieces.tolist()) == (1, "pieces", [300])
    tokens = here.tokens
    assert (tokens["range"][97], tokens["top_share"][97], tokens["bunched"][97]) == (1, 1.0, 1.0)
    assert np.isnan([tokens["dp"][97], tokens["dp_norm"][97]]).all()


def test_empty_documents_are_no_parts():
    here = explore(Corpus.from_texts([""] * 100_000 + ["abc"]), ByteTokenizer())
    assert (here.parts, here.part_unit) == (1, "pieces")
    assert len(here.documents["bytes"]) == 100_001


@given(st.lists(st.lists(st.integers(0, 9), max_size=5), max_size=5), st.booleans())
def test_joined_columns_are_narrow_where_all_numbers_fit(parts, is_large):
    parts += [[3_000_000_000]] * is_large
    joined = table.joined((np.array(part, np.int64) for part in parts), sum(map(len, parts)))
    assert joined.tolist() == [number for part in parts for number in part]
    assert joined.dtype == (np.int64 if is_large else np.int32)
