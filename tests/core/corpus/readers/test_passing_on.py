"""Documents that are passed on while they are read are those that are read as a whole, in every format."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import pytest

from tests.core.corpus.readers.written import (
    COMPRESSIONS,
    DOCUMENTS,
    FORMATS,
    FORMATS_PACKED,
    json_lines,
    tarred,
    zipped,
)
from tokstudio import ConfigError, Corpus, CorpusError, Reading
from tokstudio.core.base.progress import finish
from tokstudio.core.corpus import open_sources
from tokstudio.core.corpus.open_sources import pass_on_work, read_work
from tokstudio.core.corpus.readers import csv_rows
from tokstudio.core.corpus.readers.collect import PassOn
from tokstudio.core.corpus.readers.files import Budget
from tokstudio.core.corpus.readers.folders import expand_work


class Received:
    """What was passed on, and the sources that say how it was read."""

    def __init__(self, path, skip=0, **options):
        self.texts, self.most = list[bytes](), 0
        self.pass_on = PassOn(self.receive, skip)
        self.sources = []
        for entry in finish(expand_work([path])):
            self.sources += finish(pass_on_work(entry, self.pass_on, **options))

    def receive(self, data, ends):
        borders = zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True)
        self.texts += [data[start:end].tobytes() for start, end in borders]
        self.most = max(self.most, len(data))


def same_as_whole(path, **options):
    received = Received(path, **options)
    sources = finish(read_work(path, **options))
    assert received.texts == [bytes(document) for document in Corpus(sources).iter_documents()]
    assert (received.pass_on.documents, received.pass_on.bytes) == (len(received.texts), sum(map(len, received.texts)))
    facts = [(one.name, one.note, one.encoding, one.reading, one.kind) for one in sources]
    assert [(one.name, one.note, one.encoding, one.reading, one.kind) for one in received.sources] == facts
    assert all(not len(source.data) for source in received.sources)
    return received


@pytest.mark.parametrize(("name", "compression"), FORMATS_PACKED)
def test_every_format_and_compression(write, name, compression):
    data = FORMATS[name](DOCUMENTS)
    path = write(name + compression, COMPRESSIONS[compression](data) if compression else data)
    assert same_as_whole(path).texts == [text.encode() for text in DOCUMENTS]
    assert Received(path, skip=7).texts == [text.encode() for text in DOCUMENTS[7:]]
    assert Received(path, skip=len(DOCUMENTS)).texts == []


def test_archives_folders_and_shards(write, tmp_path):
    members = {"one.txt": b"one text", "b/two.jsonl": json_lines(DOCUMENTS), "b/c.png": b"\x89PNG\r\n\x1a\n", "e": b""}
    same_as_whole(write("a.zip", zipped(**members)))
    same_as_whole(write("a.tar.xz", tarred("w:xz", **members)))
    for number in range(3):
        write(f"data/part-{number}.jsonl", json_lines(DOCUMENTS[number::3]))
    same_as_whole(tmp_path / "data")


@pytest.mark.parametrize("documents", ["file", "line"])
@pytest.mark.parametrize("ending", ["", "\n", "the last line has no end"])
def test_plain_text_in_any_encoding_and_place(write, monkeypatch, documents, ending):
    monkeypatch.setattr(open_sources, "_PIECE", 100)
    text = "".join(f"Zeile {number}: ä, ö und 日本." + "x" * (number % 7 * 40) + "\n" for number in range(300)) + ending
    for encoding in ("utf-8", "utf-16", "utf-8-sig"):
        path = write("a.txt", text.encode(encoding))
        received = same_as_whole(path, documents=documents)
        assert b"".join(received.texts) == text.encode()
    packed = write("a.txt.zst", COMPRESSIONS[".zst"](text.encode()))
    same_as_whole(packed, documents=documents)
    # A text beyond the budget is unpacked to the disk, and read from there in pieces.
    received = Received(packed, documents=documents, budget=Budget(1_000))
    assert b"".join(received.texts) == text.encode()
    assert documents == "file" or received.most < 1_000


def test_filters_and_what_is_dropped(write):
    documents = ["日本語です", "ab", "a long document", "ab", "日本語です", "x"]
    reading = Reading(least_characters=2, most_characters=4, deduplicate=True)
    for name in ("a.jsonl", "a.parquet", "a.csv"):
        path = write(name, FORMATS[name](documents))
        same_as_whole(path, reading=reading)
        same_as_whole(path, reading=Reading(most_bytes=19))
    lines = write("a.txt", "日本語です\nab\nab\nx\n".encode())
    same_as_whole(lines, documents="line", reading=reading)
    same_as_whole(lines, documents="line", reading=Reading(most_bytes=17))
    broken = write("b.jsonl", b'{"text": "one"}\n{"text": 2}\n{"text": null}\nnot JSON\n{"text": "five"}\n')
    assert same_as_whole(broken).texts == [b"one", b"five"]


def test_a_table_with_a_very_long_row_is_passed_on_once(write, monkeypatch):
    monkeypatch.setattr(csv_rows, "BLOCKS", (300, 100_000))
    documents = [f"short {number}" for number in range(100)] + ["long " * 200] + ["after"] * 3
    path = write("a.csv", FORMATS["a.csv"](documents))
    assert Received(path).texts == [text.encode() for text in documents]
    assert Received(path, skip=20).texts == [text.encode() for text in documents[20:]]


def test_rows_without_text_are_no_error_but_are_said(write):
    path = write("a.jsonl", b'{"text": ""}\n{"text": null}\n{"text": ""}\n')
    received = Received(path)
    assert received.texts == [b"", b""]
    assert [source.note for source in received.sources] == ["1 row without the column dropped"]
    with pytest.raises(CorpusError, match="has no text"):
        finish(read_work(path))


def test_a_column_cannot_divide_what_is_passed_on(write):
    path = write("a.jsonl", json_lines(DOCUMENTS))
    with pytest.raises(ConfigError, match="divide them by no column"):
        Received(path, reading=Reading(split_by="lang"))
