"""Places in a corpus are told by the row of a data set, or the line of a text, in its own file."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import io
import json

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from tokstudio import ConfigError, Corpus, TrainingConfig, train
from tokstudio.core.base.progress import finish
from tokstudio.core.corpus import source as sources
from tokstudio.core.corpus.readers import collect, columnar, csv_rows, json_rows
from tokstudio.core.corpus.sampling import sample_work
from tokstudio.core.corpus.source import document_place, first_occurrence_work, known_line, row_of

# Texts by their rows; those of other types, or of none, are left out.
TEXTS = [f"row {number}\nwith ä line" if number % 3 else f"row {number}" for number in range(400)]
LANGUAGES = ["de", "en", "ja"]


def rows():
    return [{"text": text, "lang": LANGUAGES[n * n % 11 % 3]} for n, text in enumerate(TEXTS)]


def write(path, kind, some):
    """Writes rows, of which every 7th has no text, and where the kind has lines, broken and blank ones; the rows."""
    known = {}
    if kind == "jsonl":
        lines = []
        for n, row in enumerate(some):
            lines += [""] * (n % 11 == 5) + ["{broken"] * (n % 13 == 4)
            lines.append(json.dumps(row if n % 7 else {"lang": "de"}))
            known[row["text"]] = len(lines) if n % 7 else None
        path.write_text("\n".join(lines) + "\n")
    elif kind == "json":
        path.write_text(json.dumps([row if n % 7 else {"lang": "de"} for n, row in enumerate(some)]))
        known = {row["text"]: n + 1 if n % 7 else None for n, row in enumerate(some)}
    elif kind == "csv":
        lines = ["text,lang"]
        for n, row in enumerate(some):
            lines += ["one,two,three"] * (n % 13 == 4)
            lines.append(f'"{row["text"]}",{row["lang"]}')
            known[row["text"]] = len(lines)
        path.write_text("\n".join(lines) + "\n")
    else:
        texts = [row["text"] if n % 7 else None for n, row in enumerate(some)]
        table = pa.table({"text": texts, "lang": [row["lang"] for row in some]})
        made = io.BytesIO()
        parquet.write_table(table, made, row_group_size=30)
        path.write_bytes(made.getvalue())
        known = {row["text"]: n + 1 if n % 7 else None for n, row in enumerate(some)}
    return {text: row for text, row in known.items() if row is not None}


def told(source):
    """The file and the row of each document, by its text."""
    begins = np.concatenate(([0], source.ends[:-1])).tolist()
    texts = [source.data[start:end].tobytes().decode() for start, end in zip(begins, source.ends, strict=True)]
    return {text: row_of(source, number) for number, text in enumerate(texts)}


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    monkeypatch.setattr(json_rows, "BLOCK", 1 << 10)
    monkeypatch.setattr(json_rows, "ROWS", 7)
    monkeypatch.setattr(columnar, "ROWS", 9)
    monkeypatch.setattr(csv_rows, "BLOCKS", (1 << 11, 1 << 20))
    monkeypatch.setattr(sources, "_LOCATED_PIECE", 1 << 6)


@pytest.mark.parametrize("kind", ["jsonl", "json", "csv", "parquet"])
@pytest.mark.parametrize("filters", [{}, {"split_by": "lang"}, {"least_characters": 8}, {"deduplicate": True}])
def test_each_document_knows_its_row(tmp_path, kind, filters):
    path = tmp_path / f"a.{kind}"
    known = write(path, kind, rows())
    if "deduplicate" in filters:  # the first of equal rows stays
        write(path, kind, [*rows(), *rows()[1:4]])
    sources = Corpus.from_files(path, field="text", **filters).sources
    assert len(sources) == (3 if "split_by" in filters else 1)
    found = {text: place for source in sources for text, place in told(source).items()}
    kept = {text: row for text, row in known.items() if len(text) >= filters.get("least_characters", 0)}
    assert {text: row for text, (_, row) in found.items()} == kept
    assert {name for name, _ in found.values()} == {source.name for source in sources}


def test_of_shards_the_file_is_told(tmp_path):
    known = {}
    for number in range(3):
        some = [{**row, "text": f"{row['text']} of {number}"} for row in rows()[: 50 + number]]
        made = write(tmp_path / f"a-{number}.jsonl", "jsonl", some)
        known |= {text: (f"a-{number}.jsonl", row) for text, row in made.items()}
    (source,) = Corpus.from_files(tmp_path, field="text").sources
    assert told(source) == known
    german = next(
        one for one in Corpus.from_files(tmp_path, field="text", split_by="lang").sources if one.value == "de"
    )
    assert told(german).items() <= known.items()


def test_what_is_whole_needs_no_table_of_rows(tmp_path):
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"text": TEXTS}), path)
    (source,) = Corpus.from_files(path).sources
    assert source.rows is None
    assert told(source)[TEXTS[17]] == ("a.parquet", 18)


def test_the_lines_of_a_text_stay_its_own_where_some_are_left_out(tmp_path):
    lines = [f"line {n} {'x' * (n % 9)}\n" for n in range(1, 300)]
    (tmp_path / "a.txt").write_text("".join(lines))
    (source,) = Corpus.from_files(tmp_path / "a.txt", "line", least_characters=12).sources
    for whole in (source, finish(source.split_work("file"))):
        at = 0
        for number, line in enumerate(lines, 1):
            if len(line) >= 12:
                start, known = known_line(whole, at)
                assert known + whole.data[start:at].tobytes().count(b"\n") == number
                at += len(line)


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet", "txt"])
def test_a_character_is_placed_in_its_own_file(tmp_path, kind):
    path = tmp_path / f"a.{kind}"
    some = [{"text": f"text {n}\nof {'ä€' if n == 162 else 'no'} line", "lang": "de"} for n in range(200)]
    if kind == "txt":
        path.write_text("".join(f"{row['text']}\n" for row in some))
        place, least = "line 326, character 5", 0
    else:
        known, least = write(path, kind, some), 16
        place = f"row {known[some[162]['text']]}, character 14"
    corpus = Corpus.from_files(path, least_characters=least)
    assert finish(first_occurrence_work(corpus.sources, "€")) == f"a.{kind}, {place}"


@pytest.mark.parametrize("kind", ["jsonl", "txt", "lines"])
def test_a_sample_keeps_the_rows_and_lines_of_the_file(tmp_path, kind):
    path = tmp_path / ("a.jsonl" if kind == "jsonl" else "a.txt")
    lines = [f"text number {n}, which is of some length {'and longer ' * (n % 4)}\n" for n in range(1, 3_000)]
    numbered = {f"text number {n}, ": n for n in range(1, 3_000)}
    if kind == "jsonl":
        path.write_text("".join(json.dumps({"text": line} if n % 5 else {}) + "\n" for n, line in enumerate(lines, 1)))
    else:
        path.write_text("".join(lines))
    options = {"documents": "line", "least_characters": 50} if kind == "lines" else {}
    corpus = finish(sample_work(Corpus.from_files(path, **options), 40_000))
    (source,) = corpus.sources
    text, at, seen = source.data.tobytes().decode(), 0, 0
    while (at := text.find("text number", at)) >= 0:
        number = numbered[text[at : text.index(",", at) + 2]]
        if kind == "jsonl":
            assert row_of(source, int(np.searchsorted(source.ends, at, side="right"))) == ("a.jsonl", number)
        else:
            start, known = known_line(source, at)
            assert known + text[start:at].count("\n") == number
        at, seen = at + 1, seen + 1
    assert 300 < seen < 2_000


@pytest.mark.parametrize("kind", ["jsonl", "parquet", "txt", "line"])
def test_an_error_of_a_pattern_names_the_row_or_line(tmp_path, kind):
    path = tmp_path / f"a.{'txt' if kind == 'line' else kind}"
    some = [{"text": f"word {n} {'x' if n in (162, 170) else 'no'} end of it", "lang": "de"} for n in range(200)]
    place, options, character = "a.txt", {}, 10
    if kind in ("txt", "line"):
        path.write_text("".join(f"{row['text']}\n" for row in some))
        if kind == "line":
            place, options = "a.txt, line 163", {"documents": "line", "least_characters": 13}
        character += sum(len(row["text"]) + 1 for row in some[:162]) if kind == "txt" else 0
    else:
        known = write(path, kind, some)
        place = f"a.{kind}, row {known[some[162]['text']]}"
    corpus = Corpus.from_files(path, **options)
    with pytest.raises(ConfigError) as caught:
        train(corpus, TrainingConfig(vocabulary_size=300, pattern="[^xy]+"))
    place += f': The pattern drops "x" (first at character {character:,})'
    assert str(caught.value) == f"{place}: it must cover all text."


def test_an_empty_document_is_the_row_that_it_is_in_the_file(tmp_path):
    texts, path = ["", "alpha", "", "", "beta", "", "gamma", ""], tmp_path / "a.jsonl"
    path.write_text(
        "".join(json.dumps({"text": text, "lang": "xy"[n % 3 == 0]}) + "\n" for n, text in enumerate(texts))
    )
    wanted = [f"a.jsonl, row {n}" for n in range(1, 9)]
    (source,) = Corpus.from_files(path).sources
    assert [document_place(source, n) for n in range(8)] == wanted
    parts = Corpus.from_files(path, split_by="lang").sources
    places = [document_place(part, n) for part in parts for n in range(part.documents)]
    assert sorted(place.rpartition(", ")[2] for place in places) == [place.rpartition(", ")[2] for place in wanted]


def test_rows_of_long_texts_keep_their_places(tmp_path, monkeypatch):
    """Small numbers take less memory; beyond them, all are kept."""
    known = write(tmp_path / "a.jsonl", "jsonl", rows())
    kept = []
    for largest in ((1 << 31) - 1, 500):
        monkeypatch.setattr(collect, "_LARGEST_INT32", largest)
        (source,) = Corpus.from_files(tmp_path / "a.jsonl", field="text").sources
        assert {text: row for text, (_, row) in told(source).items()} == known
        kept.append(source.rows.dtype)
    assert kept == [np.int32, np.int64]
