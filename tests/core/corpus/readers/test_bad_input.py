"""Damaged, broken and hostile files: one clear sentence each, and what is whole is read."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import os
import random
import subprocess
import sys
import tarfile
import zipfile
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as parquet
import pytest
import zstandard

from tests.core.corpus.readers.written import (
    COMPRESSIONS,
    DOCUMENTS,
    FORMATS,
    json_lines,
    of_arrow,
    of_parquet,
    tarred,
    texts_of,
    zipped,
)
from tokstudio import (
    ConfigError,
    Corpus,
    CorpusError,
    Reading,
    Tokenizer,
    encode_dataset,
    load_experiment,
)
from tokstudio.core.base.errors import BinaryError, EmptyError
from tokstudio.core.base.progress import finish
from tokstudio.core.base.wording import several
from tokstudio.core.corpus.open_sources import look_work, read_again_work, read_work
from tokstudio.core.corpus.readers import collect, columnar, compression, csv_rows, datasets, files, json_rows
from tokstudio.core.corpus.readers.compression import TruncatedError
from tokstudio.core.corpus.readers.datasets import NoColumnOfTextError
from tokstudio.core.corpus.readers.folders import read_folder_work
from tokstudio.core.corpus.source import CountedWith, row_of
from tokstudio.core.pretokenization.count_words import Counting


def refused(path, **options):
    with pytest.raises(CorpusError) as caught:
        Corpus.from_files(path, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_broken_lines_are_named_and_the_rest_is_read(write):
    lines = json_lines(DOCUMENTS).splitlines()
    lines[4] = lines[4][:20]
    lines.insert(9, b"")
    lines[30] = b'{"text": "a", }'
    source = Corpus.from_files(write("a.jsonl", b"\n".join(lines))).sources[0]
    wanted = [text for number, text in enumerate(DOCUMENTS) if number not in (4, 29)]
    assert texts_of(source) == wanted
    assert source.note == "2 broken rows dropped (line 5, 31)"


ROWS = [{"text": "one"}, {"id": 1}, {"text": None}, {"text": 5}, {"text": ["two", "three"]}, {"text": {"a": 1}}]


@pytest.mark.parametrize(
    ("name", "data", "texts", "note"),
    [
        (
            "a.jsonl",
            "".join(json.dumps(row) + "\n" for row in ROWS) + '"text"\n[1]\nnull\n',
            ["one", "two\nthree"],
            "5 rows without the column dropped; 2 rows with no text in the column dropped",
        ),
        (
            "a.csv",
            "id,text\n1,one\n2\n3,two\n4,x,y\n5,three\n6,a\n7,b\n8,c\n9,d\n",
            ["one", "two", "three", *"abcd"],
            "2 broken rows dropped (row 3, 5)",
        ),
        # A quote within a value is no quotation.
        ("b.csv", 'id,text\n1,"two\nlines"\n2,one\n3,a 5" disk\n', ["two\nlines", "one", 'a 5" disk'], ""),
        ("a.tsv", 'id\ttext\n1\t"Hi," he said.\n2\t"Open\n3\tplain', ['"Hi," he said.', '"Open', "plain"], ""),
    ],
)
def test_what_is_no_text_of_the_column_is_dropped_and_counted(write, name, data, texts, note):
    source = Corpus.from_files(write(name, data.encode()), field="text").sources[0]
    assert (texts_of(source), source.note) == (texts, note)


@pytest.mark.parametrize("begin", ["null\n", "\n \r\nnull\n", "\ufeffnull\r\n", "null\nnull\n"])
def test_a_block_that_begins_with_null_is_read_as_any_other(write, begin):
    """In a process of its own, as pyarrow would end it."""
    lines = 3 * '{"text": "a"}\n'
    for data in (begin + lines, ('{"text": "%s"}\n' % ("x" * 1_009)) * 1_024 + begin + lines):
        program = "import sys, tokstudio; s = tokstudio.Corpus.from_files(sys.argv[1]).sources[0]; print(len(s.ends))"
        command = [sys.executable, "-c", f"{program}; print(s.note)", str(write("a.jsonl", data.encode()))]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        nulls = several(begin.count("null"), "row without the column dropped", "rows without the column dropped")
        assert done.stdout.splitlines() == [f"{data.count('text')}", nulls]


LONG_NUMBER, DEEP = "9" * 5_000, "[" * 600 + "]" * 600


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ('{"text": "a"}{"text": "b"}', None),
        (f'{{"text": "a", "size": {LONG_NUMBER}}}', "a"),
        (f'{{"text": "a", "size": -{LONG_NUMBER}}}', "a"),
        (f'{{"text": "a", "deep": {DEEP}}}', "a"),
        (f'{{"text": {DEEP}}}', None),
        ('{"text": "a", "size": NaN}', "a"),
        ('{"text": "a", "size": Inf}', "a"),
        ('\ufeff{"text": "a"}', "a"),
    ],
)
@pytest.mark.parametrize("others", ["", "\n", "[\n", '{"text": 5}\n', '{"text":\n"joined"}\n'])
def test_a_line_is_read_the_same_whatever_else_is_in_its_block(write, line, text, others):
    good = '{"text": "good"}'
    [source] = Corpus.from_files(write("a.jsonl", f"{good}\n{line}\n{others}{good}\n".encode())).sources
    read = {row_of(source, number)[1]: one for number, one in enumerate(texts_of(source))}
    last = 3 + others.count("\n")
    assert read == ({1: "good", 2: text, last: "good"} if text else {1: "good", last: "good"})


def test_a_list_with_a_number_of_very_many_digits_is_read(write):
    data = f'[{{"text": "a", "size": {LONG_NUMBER}}}, {{"text": "b", "size": 1}}]'
    assert texts_of(Corpus.from_files(write("a.json", data.encode())).sources[0]) == ["a", "b"]


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        (
            "a.csv",
            'id,text\n1,"two\nlines"\n2,one\n3,"never closed\n4,five\n5,six\n',
            "a quote in the row at line 5 is never closed; close it, or read the file as plain text (--as-text).",
        ),
        ("a.json", '[{"text": "a"},\n{"text": "b"},\n{"text": c}]', "the JSON is broken at line 3;"),
        ("a.csv", 'id,text\r1,one\r2,"open\r', "a quote in the row at line 3 is never closed;"),
        ("a.csv", 'id,text\n1,"a"\n2,"two\n""lines""","open\n3,x', "a quote in the row at line 3 is never closed;"),
        ("a.csv", f'id,text\n1,"a"\n2,"{"long " * 40_000}\n', "a quote in the row at line 3 is never closed;"),
        ("a.json", '[{"text": "a"},\n{"text": "b"}', "the JSON ends too early;"),
        ("a.json", '[{"text": "a"}]\nx', "the JSON is broken at line 2;"),
        ("a.json", '{"text": "a"}\n{"text": "b"', "the JSON ends too early;"),
    ],
)
def test_what_breaks_the_rest_is_named_with_its_line(write, name, data, words):
    assert refused(write(name, data.encode())).startswith(f"{name}: {words}")


ONE_AFTER_ANOTHER = {
    "p.json": "\n".join(json.dumps({"text": text}, indent=2) for text in DOCUMENTS),
    "p.jsonl": "\n".join(json.dumps({"text": text}, indent=2) for text in DOCUMENTS),
    "lists.json": "".join(json.dumps([{"text": text}]) + "\n" for text in DOCUMENTS),
    "sets.json": "".join(json.dumps({"v": 1, "data": [{"text": text}], "n": [1]}) for text in DOCUMENTS),
    "long.json": "".join(json.dumps({"text": text, "no": "x" * (1 << 16)}) + "\n" for text in DOCUMENTS),
}


@pytest.mark.parametrize("name", ONE_AFTER_ANOTHER)
@pytest.mark.parametrize("block", [1 << 6, 1 << 20])
def test_json_values_one_after_another_are_all_read(write, monkeypatch, name, block):
    monkeypatch.setattr(json_rows, "BLOCK", block)
    [source] = Corpus.from_files(write(name, ONE_AFTER_ANOTHER[name].encode())).sources
    assert (texts_of(source), source.kind, source.note) == (list(DOCUMENTS), "JSON", "")


@pytest.mark.parametrize(
    ("data", "texts", "unread"),
    [
        ({"train": [{"text": "a"}], "test": [{"text": "b"}]}, ["a"], '"test"'),
        ({"about": [1], "a": [{"text": "a"}], "b": [{}], "c": [[{}]], "text": "t"}, ["a"], '"b", "text"'),
        ({"a": [{"text": "a"}], **{f"b{n}": [{}] for n in range(7)}}, ["a"], '"b0", "b1", "b2", "b3", "b4" and 2 more'),
        ({"text": "whole", "pages": [{"text": "a"}]}, ["whole"], ""),
    ],
)
def test_lists_of_objects_beside_the_first_are_said_not_to_be_read(write, data, texts, unread):
    [source] = Corpus.from_files(write("a.json", (2 * json.dumps(data)).encode()), field="text").sources
    said = f"of each object, only the first list of objects is read, not {unread}" if unread else ""
    assert (texts_of(source), source.note) == (texts * 2, said)


def test_values_over_several_blocks_are_read_or_named(write, monkeypatch):
    monkeypatch.setattr(collect, "MOST_VALUES", 20)
    message = refused(write("a.csv", FORMATS["a.csv"](DOCUMENTS)), split_by="id")
    assert message == 'a.csv: the column "id" has more than 20 values; divide by a column with fewer.'
    monkeypatch.setattr(csv_rows, "BLOCKS", (1_000, 1_000_000))
    rows = "".join(f"{number},some words\n" for number in range(2_000))
    assert "at line 2 is never closed" in refused(write("a.csv", f'id,text\n0,"open\n{rows}'.encode()))
    long = f'id,text\n0,"{"long " * 1_000}"\n{rows}'
    assert Corpus.from_files(write("b.csv", long.encode())).documents == 2_001
    monkeypatch.setattr(csv_rows, "BLOCKS", (100, 1_000))
    rows = "".join(f"{n},x\n" if n not in (3, 60, 61, 90) else f"{n}\n" for n in range(2, 99))
    source = Corpus.from_files(write("a.csv", f"id,text\n{rows}".encode())).sources[0]
    assert source.note == "4 broken rows dropped (row 3, 60, 61 and others)"


def test_escapes_are_decoded_and_halves_of_characters_counted(write):
    lines = rb'{"text": "\u3042\ud83d\ude00\/\n"}' + b"\n" + rb'{"text": "a\ud800b\udc00"}' + b"\n"
    for name, data in (("a.jsonl", lines), ("a.json", b"[" + lines.strip().replace(b"\n", b",") + b"]")):
        source = Corpus.from_files(write(name, data)).sources[0]
        assert texts_of(source) == ["あ😀/\n", "a\ufffdb\ufffd"]
        assert source.note == "2 halves of characters became U+FFFD"


def test_invalid_utf8_is_replaced_and_counted(write):
    lines = json_lines(["Größe"] * 50, ensure_ascii=False) + b'{"text": "a\xff\xfeb"}\n'
    source = Corpus.from_files(write("a.jsonl", lines)).sources[0]
    assert texts_of(source)[-1] == "a\ufffd\ufffdb"
    assert source.note == "2 byte sequences are not valid utf-8; shown as U+FFFD"
    raw = pa.array([b"good", b"b\xffd"], pa.binary())
    file = io.BytesIO()
    invalid = pa.Array.from_buffers(pa.string(), 2, raw.buffers())
    parquet.write_table(pa.table({"text": invalid}), file)
    source = Corpus.from_files(write("a.parquet", file.getvalue())).sources[0]
    assert texts_of(source) == ["good", "b\ufffdd"]
    assert source.note == "1 byte sequence is not valid utf-8; shown as U+FFFD"


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.parquet", "a.json", "stream.arrow"])
def test_a_wrong_column_is_refused_with_those_that_there_are(write, name):
    path = write(name, FORMATS[name](DOCUMENTS))
    assert refused(path, field="texts").startswith(f'{name}: there is no column "texts"; there are "id", "text"')
    assert 'there is no column "language"' in refused(path, split_by="language")
    if "csv" not in name:
        assert refused(path, field="id").startswith(f'{name}: the column "id" holds no text (')


@pytest.mark.parametrize("suffix", COMPRESSIONS)
def test_truncated_data_is_refused_and_its_whole_part_offered(write, suffix):
    text = "".join(f"line {number * number}\n" for number in range(30_000))
    data = COMPRESSIONS[suffix](text.encode())
    path = write(f"a.txt{suffix}", data[: len(data) * 2 // 3])
    if suffix == ".bz2":  # a block of it is longer than this text
        for keep in (False, True):
            message = refused(path, keep_truncated=keep)
            assert message == "a.txt.bz2: the bzip2 data ends too early; nothing before that is whole."
        return
    with pytest.raises(TruncatedError, match=r"data ends too early; [\d,]+ bytes before that are whole"):
        Corpus.from_files(path)
    source = Corpus.from_files(path, keep_truncated=True).sources[0]
    assert source.bytes > 10_000
    assert text.startswith(source.data.tobytes().decode())
    assert "the compressed data ends too early; what was whole is read" in source.note
    lines = COMPRESSIONS[suffix](json_lines(DOCUMENTS * 8))
    source = Corpus.from_files(write("a.jsonl", lines[: len(lines) // 2]), keep_truncated=True).sources[0]
    assert texts_of(source)[: len(DOCUMENTS)] == list(DOCUMENTS)


def test_the_whole_members_of_a_truncated_archive_are_read(write):
    members = {f"{number}.jsonl": json_lines([f"{os.urandom(9_000).hex()}"]) for number in range(20)}
    data = tarred("w:gz", **members)
    path = write("a.tar.gz", data[: len(data) // 2])
    with pytest.raises(TruncatedError, match="are whole, and can be read without the rest"):
        Corpus.from_files(path)
    sources = Corpus.from_files(path, keep_truncated=True).sources
    assert 8 <= len(sources) <= 10
    for source in sources:
        assert source.data.tobytes().decode() in members[source.name].decode()
        assert len(source.data) == 18_000
    assert sources[0].note == "the compressed data ends too early; what was whole is read"
    assert [column.name for column in finish(look_work(path)).columns][:2] == ["id", "text"]
    assert "no texts in this archive" in refused(write("a.tar.gz", data[:3_000]), keep_truncated=True)


@pytest.mark.parametrize("suffix", COMPRESSIONS)
def test_damaged_compressed_data_is_named(write, suffix):
    text = "".join(f"line {number * number}\n" for number in range(30_000)).encode()
    whole = COMPRESSIONS[suffix](text)
    data = bytearray(whole)
    data[len(data) // 2] ^= 0xFF
    data[len(data) // 2 + 1] ^= 0xFF
    assert "data is damaged after" in refused(write("a.txt", bytes(data)))
    after = whole + b"garbage, not zeros"
    assert "something follows that is not" in refused(write("a.txt", after))
    padded = whole + bytes(512)
    assert Corpus.from_files(write("a.txt", padded)).bytes == len(text)


@pytest.mark.parametrize("cut", [8, 100, 1_000])
def test_invalid_tables_are_named(write, cut):
    for name, data in (("a.parquet", of_parquet(DOCUMENTS)), ("a.arrow", of_arrow(DOCUMENTS))):
        message = refused(write(name, data[:-cut]))
        assert "file is damaged or not complete" in message
        assert message.startswith(f"{name}: the ")
    footer = bytearray(of_parquet(DOCUMENTS))
    footer[-30:-10] = b"\xff" * 20
    assert "the Parquet file is damaged" in refused(write("a.parquet", bytes(footer)))
    archive = zipped(**{f"{number}.txt": b"some text " * 500 for number in range(50)})
    assert "archive is damaged" in refused(write("a.zip", archive[:-cut]))


def test_bombs_are_refused(write, small_bombs):
    zeros = b"a" * 4_000_000
    for data in (zstandard.ZstdCompressor().compress(zeros), bz2.compress(zeros), gzip.compress(zeros)):
        if len(zeros) / len(data) > 1_000:
            assert "as only a bomb does" in refused(write("a.txt", data))
    with zipfile.ZipFile(file := io.BytesIO(), "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("a.txt", zeros)
    assert "as only a bomb does" in refused(write("a.zip", file.getvalue()))
    deep = b"text"
    for _ in range(6):
        deep = gzip.compress(deep)
    assert "compressed more than 4 times over" in refused(write("a.gz", deep))


def of_sparse(data, size, places):
    with tarfile.open(fileobj=(made := io.BytesIO()), mode="w", format=tarfile.PAX_FORMAT) as archive:
        member = tarfile.TarInfo("a.txt")
        member.size = len(data)
        member.pax_headers = {"GNU.sparse.map": places, "GNU.sparse.size": str(size), "GNU.sparse.numblocks": "1"}
        archive.addfile(member, io.BytesIO(data))
    return made.getvalue()


BOMB = "text " * 20_000


def of_one_text(kind, compression, text=BOMB):
    """A table with one text in each of 20 rows, in the way that takes the least room."""
    made, rows = io.BytesIO(), pa.table({"text": [text] * 20})
    shared = pa.table({"text": pa.DictionaryArray.from_arrays(pa.array([0] * 2_000, pa.int32()), pa.array([text]))})
    if kind == "parquet":
        parquet.write_table(rows, made, compression=compression, use_dictionary=False)
    elif kind == "dictionary.parquet":
        options = {"compression": compression, "store_schema": False, "dictionary_pagesize_limit": 1 << 30}
        parquet.write_table(shared, made, **options)
    else:
        content = shared if kind == "dictionary.arrow" else rows
        with (ipc.new_stream if kind == "stream.arrow" else ipc.new_file)(
            made, content.schema, options=ipc.IpcWriteOptions(compression=compression)
        ) as writer:
            writer.write_table(content)
    return made.getvalue()


@pytest.mark.parametrize("kind", ["parquet", "dictionary.parquet", "arrow", "stream.arrow", "dictionary.arrow"])
def test_bombs_of_tables_are_refused_before_they_are_unpacked(write, monkeypatch, small_bombs, kind):
    data = of_one_text(kind, "zstd", BOMB * 10 if kind.startswith("dictionary") else BOMB)
    collected = []
    monkeypatch.setattr(collect.Collector, "add_columns", lambda self, texts, keys: collected.append(len(texts[0])))
    assert "as only a bomb does; if it is none, write it again" in refused(write(f"a.{kind}", data))
    # Of rows that share their text, the file does not say how long they are.
    assert sum(collected) == 0 or (kind.startswith("dictionary") and sum(collected) < 1_000)
    monkeypatch.undo()
    if not kind.startswith("dictionary"):
        assert Corpus.from_files(write(f"a.{kind}", data)).bytes == 20 * len(BOMB)


def test_rows_that_share_a_large_text_are_read_few_at_a_time(write, monkeypatch):
    text = BOMB[:10_000]
    monkeypatch.setattr(columnar, "AT_ONCE", 5 * len(text))
    monkeypatch.setattr(compression, "PLAUSIBLE", 100 * len(text))
    collected = []
    add = collect.Collector.add_columns

    def noted(self, texts, keys):
        collected.append(texts[0].nbytes)
        add(self, texts, keys)

    monkeypatch.setattr(collect.Collector, "add_columns", noted)
    for kind in ("dictionary.parquet", "dictionary.arrow"):
        refused(write(f"a.{kind}", of_one_text(kind, None if kind.endswith("arrow") else "none", text)))
    assert collected
    assert max(collected) < 7 * len(text)


def test_pages_of_negative_sizes_are_refused(write):
    """A step back by the length of the header would be one of no bytes, for ever."""
    made = io.BytesIO()
    parquet.write_table(pa.table({"text": ["a text", "more"]}), made, use_dictionary=False, compression="none")
    data = made.getvalue()
    assert (data[4], data[6], data[8]) == (0x15,) * 3, "the type and both sizes of the first page, each of one byte"
    for place in (7, 9):  # what it unpacks to, and what it has
        for size in range(1, 64):
            less = data[:place] + bytes([2 * size - 1]) + data[place + 1 :]
            assert "a page has a negative size" in refused(write("a.parquet", less))


def test_a_description_with_values_of_other_kinds_is_refused(write):
    """Such as a list where a number must be."""
    made, causes = io.BytesIO(), set()
    parquet.write_table(pa.table({"text": ["a text", "more"] * 3}), made, row_group_size=3)
    data = made.getvalue()
    begin = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    for at in range(begin, begin + 80):
        try:
            Corpus.from_files(write("a.parquet", data[:at] + bytes([data[at] ^ 4]) + data[at + 1 :]))
        except CorpusError as error:
            causes.add(type(error.__cause__))
    assert causes >= {TypeError, ValueError, KeyError}


def test_columns_of_one_name_are_refused_only_where_they_are_read(write):
    columns = [pa.array(["a", "b"]), pa.array(["c", "d"]), pa.array(["e", "f"])]
    table = pa.table(columns, names=["text", "x", "x"])
    parquet.write_table(table, made := io.BytesIO())
    files = {"a.parquet": made.getvalue()}
    for name, new in (("a.arrow", ipc.new_file), ("stream.arrow", ipc.new_stream)):
        with new(made := io.BytesIO(), table.schema) as writer:
            writer.write_table(table)
        files[name] = made.getvalue()
    inside = pa.table({"s": pa.StructArray.from_arrays(columns, names=["t", "x", "x"]), "text": ["a", "b"]})
    with ipc.new_file(made := io.BytesIO(), inside.schema) as writer:
        writer.write_table(inside)
    files["inside.arrow"] = made.getvalue()
    for name, data in files.items():
        path, field = write(name, data), "s.x" if name == "inside.arrow" else "x"
        assert texts_of(Corpus.from_files(path).sources[0]) == ["a", "b"]
        wanted = f'{name}: 2 columns have the name "{field}"; give them different names, or choose another column.'
        assert refused(path, field=field) == wanted
        assert refused(path, split_by=field) == wanted


def test_bombs_in_archives_are_refused(write, small_bombs):
    text = b"hello world text \n" * 1_000
    assert "as only a bomb does" in refused(write("a.tar", of_sparse(text, 100_000_000, f"0,{len(text)}")))
    assert "as only a bomb does" in refused(
        write("a.tar.gz", gzip.compress(of_sparse(text, 100_000_000, f"0,{len(text)}")))
    )
    # Each layer alone stays within the limit.
    inner = gzip.compress(gzip.compress(b"text " * 4_000_000))
    assert "as only a bomb does" in refused(write("a.zip", zipped(**{"a.txt.gz": inner})))
    # As do several members of a few bytes.
    several = {f"{number}.gz": gzip.compress(b"text " * 190_000) for number in range(8)}
    assert "as only a bomb does" in refused(write("a.zip", zipped(**several)))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_wide_text_without_a_mark_is_read(write, encoding):
    text = "ein Satz und noch einer\n" * 3
    for order in ("-le", "-be"):
        for name in ("a.txt", "a.csv"):
            made = Corpus.from_files(write(name, text.encode(encoding + order)), encoding=encoding)
            assert (texts_of(made.sources[0]), made.sources[0].encoding) == ([text], encoding + order)
    (source,) = Corpus.from_files(write("a.txt", b"hello hello"), encoding=encoding).sources
    assert "not valid" in source.note


@pytest.mark.parametrize("quoting", [csv.QUOTE_ALL, csv.QUOTE_MINIMAL, csv.QUOTE_NONNUMERIC])
def test_values_that_end_in_a_backslash_are_read_as_the_csv_module_does(write, quoting):
    values = ["C:\\texts\\", "line", "a \\ b, c", 'say "\\"', "two\nlines\\", "\\", '"', "x" * 50]
    chance = random.Random(f"{quoting}")
    for seed in range(25):
        rows = [("id", "text", "z"), *((str(n), chance.choice(values), chance.choice(values)) for n in range(12))]
        made = io.StringIO(newline="")
        csv.writer(made, quoting=quoting, lineterminator="\n").writerows(rows)
        wanted = [row[1] for row in csv.reader(io.StringIO(made.getvalue(), newline=""))][1:]
        (source,) = Corpus.from_files(write(f"{seed}.csv", made.getvalue().encode()), field="text").sources
        assert (texts_of(source), source.note) == (wanted, "")


def test_quotes_behind_backslashes_are_read_where_nothing_else_fits(write):
    rows = [("id", "text"), *((str(n), 'he said "no", and left' if n % 5 == 4 else "a line") for n in range(400))]
    made = io.StringIO(newline="")
    csv.writer(made, quoting=csv.QUOTE_ALL, doublequote=False, escapechar="\\").writerows(rows)
    (source,) = Corpus.from_files(write("a.csv", made.getvalue().encode()), field="text").sources
    assert texts_of(source) == [row[1] for row in rows[1:]]


LONG_VALUE = "long " * 40_000  # more than the csv module reads


@pytest.mark.parametrize(
    ("name", "data", "texts"),
    [
        ("a.csv", f'text,n\nfoo,1\n{LONG_VALUE},2\n5" disk,3\n', ["foo", LONG_VALUE, '5" disk']),
        ("b.csv", f'text,n\n"{LONG_VALUE}\n""yes""",2\n5" disk,3\n', [f'{LONG_VALUE}\n"yes"', '5" disk']),
        ("c.csv", f'text|n\n"say \\"no\\""|1\n{LONG_VALUE},|2\n5" disk|3', ['say "no"', f"{LONG_VALUE},", '5" disk']),
        ("a.tsv", f'text\tn\n"a ""b"" c"\t1\n{LONG_VALUE}\t2\n', ['a "b" c', LONG_VALUE]),
    ],
)
def test_a_value_that_is_longer_than_the_csv_module_reads_changes_no_quotes(write, name, data, texts):
    (source,) = Corpus.from_files(write(name, data.encode()), field="text").sources
    assert (texts_of(source), source.note) == (texts, "")


@pytest.mark.parametrize("end", ["", "\n", "\r", "\r\n"])
@pytest.mark.parametrize("name", ["a.csv", "a.tsv"])
def test_a_table_of_names_alone_has_no_text(write, tmp_path, name, end):
    path = write(name, ("text,n" if name == "a.csv" else "text\tn").encode() + end.encode())
    with pytest.raises(EmptyError, match=r"the file has no text\.$"):
        Corpus.from_files(path)
    path.with_name("b.txt").write_bytes(b"Some text.")
    [empty, text] = finish(Corpus.from_files_work(tmp_path, keep_empty=True)).sources
    assert (empty.documents, text.documents) == (0, 1)


@pytest.mark.parametrize("blank", ["\n", "\r\n\n\r\n", "\n" * 30_000])
@pytest.mark.parametrize(("name", "delimiter"), [("a.csv", ","), ("a.tsv", "\t")])
def test_blank_lines_before_the_names_of_columns_are_skipped(write, blank, name, delimiter):
    data = blank + "n,text\n1,foo\n\n2\n3,bar\n".replace(",", delimiter)
    (source,) = Corpus.from_files(write(name, data.encode())).sources
    assert (texts_of(source), source.note) == (["foo", "bar"], "1 broken row dropped (row 3)")
    assert [row_of(source, number)[1] for number in (0, 1)] == [2, 4]


@pytest.mark.parametrize("block", [1 << 6, 1 << 20])
def test_a_table_whose_rows_end_in_carriage_returns_is_read(write, monkeypatch, block):
    monkeypatch.setattr(csv_rows, "BLOCKS", (block, 1 << 20))
    monkeypatch.setattr(datasets, "MOST_COLUMNS", 10)
    data = "text,n\r" + "".join(f'"two,\rlines",{number}\r' for number in range(99)) + '5" disk,99'
    (source,) = Corpus.from_files(write("a.csv", data.encode())).sources
    assert (texts_of(source), source.note) == (["two,\rlines"] * 99 + ['5" disk'], "")


def test_tables_of_very_many_columns_are_read_or_refused(write, monkeypatch):
    for number, digits in ((20_000, 1), (10_000, 110)):  # the second row of names is longer than a megabyte
        names, values = (",".join(f"{kind}{at:0{digits}}" for at in range(number)) for kind in ("column", "value"))
        path = write("a.csv", f"{names}\n{values}\n".encode())
        (source,) = Corpus.from_files(path, field=f"column{7:0{digits}}").sources
        assert texts_of(source) == [f"value{7:0{digits}}"]
    data = b",".join([b"same"] * 3_000) + b"\n" + b",".join([b"text"] * 3_000) + b"\n"
    assert Corpus.from_files(write("a.csv", data), field="same 3000").bytes == 4
    monkeypatch.setattr("tokstudio.core.corpus.readers.datasets.MOST_COLUMNS", 1_000)
    assert "a.csv: its first row has more than 1,000 columns" in refused(write("a.csv", data))


def test_archives_of_names_and_headers_that_no_library_expects(write):
    text = b"hello hello "
    data = zipped(**{"a.txt": text, "b.txt": text})
    made = Corpus.from_files(write("a.zip", data.replace(b"b.txt", b"\0.txt")))
    assert [source.note for source in made.sources] == ["1 member skipped (1 without a name)"]
    assert "a.tar: the archive is damaged" in refused(write("a.tar", of_sparse(text, 12, "0,5,x")))
    long = tarfile.TarInfo("././@LongLink")
    long.type, long.size = tarfile.GNUTYPE_LONGNAME, 1 << 30
    header = long.tobuf(tarfile.GNU_FORMAT) + bytes(1 << 20)
    assert "a header is longer than 16,777,216 bytes" in refused(write("a.tar", header))


def test_archives_of_nothing_to_read_are_refused(write):
    inner = zipped(**{"a.txt": b"text"})
    assert "no texts in this archive: 1 member skipped" in refused(write("a.zip", zipped(**{"inner.zip": inner})))
    assert "no texts in this archive" in refused(write("a.tar", tarred(**{"a.png": b"\x89PNG\r\n\x1a\n"})))
    with pytest.raises(BinaryError, match="this is an Office document"):
        Corpus.from_files(write("a.docx", zipped(**{"[Content_Types].xml": b"<a/>", "word.xml": b"<b/>"})))
    # A member outside of the folder is read under its name, and written nowhere.
    [source] = Corpus.from_files(write("b.zip", zipped(**{"../../up.txt": b"text"}))).sources
    assert source.name == "../../up.txt"


@pytest.mark.parametrize("suffix", COMPRESSIONS)
def test_compressed_nothing_is_an_empty_file(write, tmp_path, suffix):
    nothing, text = COMPRESSIONS[suffix](b""), COMPRESSIONS[suffix](b"some text")
    alone = write(f"a.txt{suffix}", nothing)
    assert refused(alone) == f"a.txt{suffix}: the file has no text."
    with pytest.raises(EmptyError):
        Corpus.from_files(write("a", nothing + nothing + bytes(512)))
    for data in (nothing + text, text + nothing, nothing + text + bytes(512)):
        assert Corpus.from_files(write("a.txt", data)).bytes == len("some text")
    assert "after 0 bytes of text, something follows that is not" in refused(write("a", nothing + b"garbage, no zeros"))
    archive = write("a.zip", zipped(**{"a.txt": nothing, "b.txt": text}))
    assert [(one.name, one.note) for one in Corpus.from_files(archive).sources] == [
        ("b.txt", "1 member skipped (1 empty)")
    ]
    one, other = write("folder/a.txt", b"text"), write(f"folder/b.txt{suffix}", nothing)
    assert [source.name for source in Corpus.from_files(one.parent).sources] == ["a.txt"]
    tokenizer = Tokenizer.from_parts({n: bytes([n]) for n in range(256)}, [])
    encoded = encode_dataset([one, other], tokenizer, tmp_path / "ids")
    assert [(file.bytes, file.notes) for file in encoded.files] == [(4, ()), (0, ("it has no text",))]


def without_text():
    """Files that are not empty, but have no text, with how they are read."""
    parquet.write_table(pa.table({"text": pa.array([], pa.string())}), made := io.BytesIO())
    office = zipped(**{"[Content_Types].xml": b"<a/>", "word.xml": b"<b/>"})
    return {
        "names.csv": (b"text,lang\n", {}),
        "mark.txt": (b"\xef\xbb\xbf", {}),
        "rows.parquet": (made.getvalue(), {}),
        "rows.jsonl": (b'{"text":""}\n', {}),
        "short.txt": (b"a", {"least_characters": 2}),
        "letter.docx": (office, {}),
        "pictures.zip": (zipped(**{"a.png": b"\x89PNG\r\n\x1a\n"}), {}),
    }


@pytest.mark.parametrize("name", without_text())
def test_what_has_no_text_in_a_folder_or_an_archive_is_skipped_and_said(write, tmp_path, name):
    data, options = without_text()[name]
    good = "a.parquet" if name == "rows.parquet" else "a.txt"
    text = b"some text" if good == "a.txt" else of_parquet(["some text"])
    write(f"folder/{good}", text)
    path = write(f"folder/{name}", data)
    [source] = Corpus.from_files(path.parent, **options).sources
    assert (source.name, source.bytes, source.note) == (good, 9, f"1 file without text skipped ({name})")
    assert [one.name for one in finish(read_work(path.parent, reading=Reading(**options)))] == [good]
    archive = write("a.zip", zipped(**{good: text, name: data}))
    [source] = Corpus.from_files(archive, **options).sources
    why = "no text" if name in ("letter.docx", "pictures.zip") else "empty"
    assert (source.name, source.bytes, source.note) == (good, 9, f"1 member skipped (1 {why})")
    # What the user names is an error, as is a folder with nothing else.
    assert refused([path, path.parent / good], **options).startswith(f"{name}: ")
    assert refused(write(f"only/{name}", data).parent, **options) == f"{name}: the file has no text."
    if options:
        return
    part = finish(Counting(CountedWith("gpt2", ())).count_work([path.parent]))
    assert [(one.name, one.note) for one in part.sources] == [(good, f"1 file without text skipped ({name})")]
    assert part.counts.facts.totals[0].bytes == 9
    tokenizer = Tokenizer.from_parts({n: bytes([n]) for n in range(256)}, [])
    encoded = encode_dataset(path.parent, tokenizer, tmp_path / "ids")
    assert sum(file.bytes for file in encoded.files) == 9
    experiment = "experiment = 1\n\n[settings]\nvocabulary_size = 300\n\n[[source]]\npath = 'folder'\n"
    [source] = load_experiment(write("e.toml", experiment.encode())).corpus().sources
    assert (source.name, source.note) == (good, f"1 file without text skipped ({name})")


def test_the_descriptions_beside_the_tables_of_dask_are_no_data(write, tmp_path):
    table, folder, facts = pa.table({"text": ["a", "b"]}), tmp_path / "folder", []
    folder.mkdir()
    for number in range(2):
        parquet.write_table(table, folder / f"part.{number}.parquet", metadata_collector=facts)
        facts[-1].set_file_path(f"part.{number}.parquet")
    parquet.write_metadata(table.schema, folder / "_common_metadata")
    parquet.write_metadata(table.schema, folder / "_metadata", facts)
    [source] = Corpus.from_files(folder).sources
    assert (source.name, texts_of(source)) == ("folder", ["a", "b"] * 2)
    assert finish(read_folder_work(folder)).remark == (
        "folder: 2 files skipped: _common_metadata (beside a data set), _metadata (beside a data set)."
    )
    members = {f"set/{path.name}": path.read_bytes() for path in sorted(folder.iterdir())}
    made = Corpus.from_files(write("a.zip", zipped(**members))).sources
    assert [(source.name, source.bytes) for source in made] == [("set/part.0.parquet", 2), ("set/part.1.parquet", 2)]
    assert made[0].note == "2 members skipped (2 empty)"


def test_a_file_that_changes_while_it_is_streamed_is_named(write):
    lines = json_lines(DOCUMENTS * 20)
    data = zstandard.ZstdCompressor().compress(lines)
    path = write("a.jsonl.zst", data)
    work = read_work(path)
    next(work)
    with path.open("ab") as file:
        file.write(b"more")
    with pytest.raises(
        CorpusError, match=r"^a\.jsonl\.zst: (the file changed while it was being read|after .* something)"
    ):
        finish(work)
    path = write("b.jsonl", lines)
    work = read_work(path)
    next(work)
    os.utime(path, (1, 1))
    with pytest.raises(CorpusError, match=r"^b\.jsonl: the file changed while it was being read; try again\."):
        finish(work)


def test_a_full_disk_is_one_sentence_and_leaves_nothing(write, monkeypatch, kept_texts):
    kept = kept_texts()
    monkeypatch.setattr(files.shutil, "disk_usage", lambda folder: SimpleNamespace(free=200_000_500))
    message = refused(write("a.jsonl", json_lines(DOCUMENTS)))
    assert "does not fit into the free memory, and the disk with" in message
    assert list(kept.iterdir()) == []


WITHOUT_TEXT = {
    "a.jsonl": b'{"text": 5}\n{"text": 6}\n',
    "b.ndjson": b'["the", 12]\n["cat", 3]\n',
    "c.json": b'{\n"size": 2\n}\n',
    "d.json": b'["one", "two"]',
    "e.jsonl": b'"one"\n"two"\n',
}


@pytest.mark.parametrize("name", WITHOUT_TEXT)
def test_json_without_a_column_of_text_is_refused_unless_it_is_asked_for(write, name):
    data = WITHOUT_TEXT[name]
    for path in (write(name, data), write(f"{name}.gz", gzip.compress(data))):
        assert refused(path) == (
            f"{path.name}: no column of this JSON holds text; if these are word counts, open them as such "
            "(train --counts), else read the file as plain text, with its braces and names."
        )
        with pytest.raises(NoColumnOfTextError):
            finish(read_work(path))
        [source] = Corpus.from_files(path, as_text=True).sources
        assert (source.data.tobytes(), source.is_rows, source.note) == (data, False, "")


@pytest.mark.parametrize("name", WITHOUT_TEXT)
def test_json_without_a_column_of_text_in_a_folder_or_an_archive_is_plain_text(write, tmp_path, name):
    data, note = WITHOUT_TEXT[name], "no column holds text; read as plain text"
    archive = write("all.zip", zipped(**{name: data}))
    (folder := tmp_path / "folder").mkdir()
    (folder / name).write_bytes(data)
    for path in (archive, folder):
        [source] = Corpus.from_files(path).sources
        assert (source.data.tobytes(), source.is_rows, source.note) == (data, False, note)
    again = finish(read_again_work(folder / name, reading=Reading(least_characters=1)))
    assert again.data.tobytes() == data


@pytest.mark.parametrize(
    ("name", "data", "fault"),
    [
        ("a.jsonl", '{"text": "a\tb"}\n', "line 1 is broken at character 12 (Invalid control character)"),
        ("a.jsonl", '\n{"text": "a"}}\n', "line 2 is broken at character 14 (Extra data)"),
        ("a.jsonl", f'{{"text": {DEEP}}}', "line 1 is nested too deeply"),
        ("a.json", '[\n{"text": "a\tb"}]', "the JSON is broken at line 2"),
        ("a.json", '[{"text": "a"', "the JSON is broken at line 1"),
        ("a.json", '{"text": "a"', "the JSON ends too early"),
        ("a.json", f'[{{"text": "{"a" * 3_000}"}}]', "its first row has more than 2,000 bytes"),
        ("a.jsonl", f'{{"text": "{"a" * 3_000}"}}', "its first row has more than 2,000 bytes"),
    ],
)
def test_json_without_a_whole_row_is_refused_with_what_is_wrong(write, monkeypatch, tmp_path, name, data, fault):
    monkeypatch.setattr(datasets, "_HEADS_OF_ROWS", (500, 1_000))
    monkeypatch.setattr(datasets, "_LONGEST_ROW", 2_000)
    path = write(name, data.encode())
    assert refused(path, field="text") == f"{name}: {fault}; mend it, or read the file as plain text (--as-text)."
    with pytest.raises(NoColumnOfTextError) as caught:
        finish(read_work(path))
    assert (
        str(caught.value) == f"{name}: {fault}; mend it, else read the file as plain text, with its braces and names."
    )
    [source] = Corpus.from_files(tmp_path).sources
    assert (texts_of(source), source.note) == ([data], f"{fault}; read as plain text")


@pytest.mark.parametrize("name", ["a.jsonl", "a.json"])
def test_a_first_row_that_is_longer_than_what_is_usually_looked_at_is_read(write, monkeypatch, name):
    monkeypatch.setattr(datasets, "_HEADS_OF_ROWS", (1_000, 2_000))
    texts = ["a" * 3_000, "b"]
    rows = [{"text": text} for text in texts]
    data = json.dumps(rows) if name == "a.json" else "\n".join(map(json.dumps, rows))
    assert texts_of(Corpus.from_files(write(name, data.encode())).sources[0]) == texts


def test_a_column_of_rows_without_columns_is_refused(write):
    message = refused(write("a.jsonl", b"{}\n{}\n"), field="text")
    assert message == 'a.jsonl: there is no column "text"; there are no columns.'


def test_columns_that_are_chosen_of_plain_text_are_said_to_be_unused(write):
    path = write("a.txt", b"Once upon a time\n")
    for options, names in (
        ({"field": "text"}, '"text"'),
        ({"split_by": "lang"}, '"lang"'),
        ({"field": "text", "split_by": "lang", "encoding": "bytes"}, '"text" and "lang"'),
    ):
        [source] = Corpus.from_files(path, **options).sources
        assert source.data.tobytes() == b"Once upon a time\n"
        assert source.note.startswith(f"plain text has no column {names}; all of it is read")


def test_data_without_a_column_of_text_is_said_where_its_name_says_nothing(write):
    [source] = Corpus.from_files(write("a.txt", data := b'{"id": 1}\n{"id": 2}\n')).sources
    assert (source.data.tobytes(), source.is_rows) == (data, False)
    assert source.note == "no column holds text; read as plain text"
    for name in ("a.json", "a.jsonl"):
        assert Corpus.from_files(write(name, b"Once upon a time\n")).sources[0].note == ""
    file = io.BytesIO()
    parquet.write_table(pa.table({"id": [1, 2]}), file)
    assert "no column of this Parquet file holds text" in refused(write("a.parquet", file.getvalue()))


def test_readings_out_of_range_are_refused():
    for wrong in (
        {"delimiter": "ab"},
        {"delimiter": "\n"},
        {"least_characters": -1},
        {"most_characters": 0},
        {"most_bytes": 0},
        {"as_text": True, "field": "text"},
    ):
        with pytest.raises(ConfigError):
            Reading(**wrong)


POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"ab" * 32 + b"\nsize 4997\n"
FETCH = 'this is a Git LFS pointer, not the file itself: fetch that with "git lfs pull"'


@pytest.mark.parametrize("name", ["a.txt", "a.parquet", "a.jsonl", "a.json", "a.csv", "a.zip", "a.txt.gz", "a"])
def test_a_git_lfs_pointer_is_no_text(write, name):
    path = write(name, POINTER)
    assert refused(path) == f'{name}: {FETCH}; use the encoding "bytes" to read it anyway.'
    assert refused(path, encoding="utf-8").startswith(f"{name}: {FETCH}")
    with pytest.raises(BinaryError, match="git lfs pull"):
        finish(look_work(path))
    [source] = Corpus.from_files(path, encoding="bytes").sources
    assert bytes(source.data) == POINTER
    with pytest.raises(CorpusError) as caught:
        Corpus.from_counts(path)
    assert str(caught.value) == f"{name}: {FETCH}."
    about = write("about.md", b"A pointer begins so:\n" + POINTER)
    assert texts_of(Corpus.from_files(about).sources[0]) == ["A pointer begins so:\n" + POINTER.decode()]


def test_pointers_in_a_folder_are_skipped_by_name_and_in_an_archive_too(write, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "part.parquet").write_bytes(POINTER)
    with pytest.raises(CorpusError, match=r"part\.parquet \(a Git LFS pointer: run git lfs pull\)"):
        Corpus.from_files(folder)
    (folder / "b.txt").write_bytes(b"a text")
    assert [source.name for source in Corpus.from_files(folder).sources] == ["b.txt"]
    path = write("a.zip", zipped(**{"a.txt": b"a text", "b.txt": POINTER}))
    [source] = Corpus.from_files(path).sources
    assert "1 no text" in source.note
