"""Damaged files of every kind that a corpus is read from: each is read, or refused in one sentence."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import gzip
import io
import random
import re
import tarfile
import zipfile
from collections.abc import Callable

import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as parquet
import pytest

from tests.core.corpus.readers.written import (
    COMPRESSIONS,
    FORMATS,
    of_arrow,
    of_parquet,
    tarred,
    zipped,
)
from tests.core.formats.file_mutants import mutant_of_bytes, mutant_of_lines, mutant_of_values
from tests.core.new_content import give
from tests.times import TIMES
from tokstudio import Corpus, Reading, TokStudioError, count
from tokstudio.core.base.progress import finish
from tokstudio.core.corpus.open_sources import look_work, read_work
from tokstudio.core.text.encodings import _CHARACTER_SETS

MUTANTS = 25 * TIMES
DOCUMENTS = ('He said "no", and\nleft;\r\n', "あいう 😀", "", "a\tb | c", "naïve, \\ and /", *map(str, range(9)))
TEXT = ("One line of a text, ça va?\r\n" * 9 + "日本語の文章。\n" * 5).encode()

Mutate = Callable[[bytes, random.Random], bytes]


def check_sentence(error: TokStudioError) -> None:
    """It begins with the name of a file or of a member of an archive."""
    assert re.fullmatch(r"[^\n:]+: [^\n]+\.", str(error)), str(error)


def opened_or_refused(path, **options) -> bool:
    """Whether a file is read; makes sure that any error is one sentence about it."""
    try:
        finish(look_work(path, options.get("encoding"), options.get("reading")))
        corpus = Corpus(finish(read_work(path, **options)))
    except TokStudioError as error:
        check_sentence(error)
        return False
    assert corpus.bytes == sum(map(len, corpus.iter_documents()))
    return True


def check(path, whole: bytes, mutate: Mutate, pack=lambda data: data, **options) -> None:
    """Opens mutants of a file, which are packed afterwards."""
    chance = random.Random(f"{path.name} {mutate.__name__}")
    path.write_bytes(pack(whole))
    assert opened_or_refused(path, **options)
    for _ in range(MUTANTS):
        give(path, pack(mutate(whole, chance)))
        opened_or_refused(path, **options)


def mutant_of_chunks(whole: bytes, chance: random.Random) -> bytes:
    """A binary file with bytes changed near its ends, where most of what describes it stands."""
    data = bytearray(whole)
    for _ in range(chance.randint(1, 3)):
        near = min(len(data), chance.choice([40, 200, 2000]))
        at = chance.randrange(near) if chance.random() < 0.5 else len(data) - 1 - chance.randrange(near)
        match chance.randrange(4):
            case 0:
                data[at] = chance.randrange(256)
            case 1:
                data[at] ^= 1 << chance.randrange(8)
            case 2:
                data[at : at + 4] = chance.choice(
                    [b"\xff\xff\xff\xff", b"\0\0\0\0", b"\xff\xff\xff\x7f", b"\0\0\0\x80"]
                )
            case _:
                size = chance.randint(1, 40)
                data[at : at + size] = chance.randbytes(size)
    return bytes(data)


@pytest.mark.parametrize("name", FORMATS)
def test_a_damaged_data_set_is_read_or_refused(tmp_path, name):
    check(tmp_path / name, FORMATS[name](DOCUMENTS), mutant_of_bytes)
    if not name.endswith(("parquet", "arrow", "feather")):
        check(tmp_path / name, FORMATS[name](DOCUMENTS), mutant_of_lines)


@pytest.mark.parametrize("name", ["a.json", "object.json"])
def test_a_json_file_with_other_values_is_read_or_refused(tmp_path, name):
    check(tmp_path / name, FORMATS[name](DOCUMENTS), mutant_of_values)


@pytest.mark.parametrize("ending", COMPRESSIONS)
@pytest.mark.parametrize("is_cut", [False, True])
def test_damaged_compressed_data_are_read_or_refused(tmp_path, ending, is_cut):
    pack = COMPRESSIONS[ending]
    reading = Reading(keep_truncated=is_cut)
    check(tmp_path / f"a.txt{ending}", pack(TEXT), mutant_of_bytes, reading=reading)
    check(tmp_path / f"a.txt{ending}", pack(TEXT), mutant_of_chunks, reading=reading)
    check(tmp_path / f"a.csv{ending}", FORMATS["a.csv"](DOCUMENTS), mutant_of_bytes, pack, reading=reading)


def archive(kind: str) -> bytes:
    members = {"a.txt": TEXT, "folder/b.csv": FORMATS["a.csv"](DOCUMENTS), "c.txt.gz": gzip.compress(TEXT)}
    if kind == "tar":
        return tarred(**members)
    if kind in ("pax", "gnu"):
        with tarfile.open(
            fileobj=(made := io.BytesIO()),
            mode="w",
            format=tarfile.PAX_FORMAT if kind == "pax" else tarfile.GNU_FORMAT,
        ) as archive:
            for name, data in members.items():
                entry = tarfile.TarInfo(f"{'é' * 120}/{name}")
                entry.size = len(data)
                sparse = {"GNU.sparse.map": f"0,{len(data)}", "GNU.sparse.size": str(len(data))}
                entry.pax_headers = {"mtime": "1.5", **(sparse if name == "a.txt" else {})}
                archive.addfile(entry, io.BytesIO(data))
        return made.getvalue()
    with zipfile.ZipFile(
        made := io.BytesIO(), "w", {"zip": zipfile.ZIP_DEFLATED, "lzma": zipfile.ZIP_LZMA}[kind]
    ) as of:
        for name, data in members.items():
            of.writestr(name, data)
    return made.getvalue()


@pytest.mark.parametrize(
    ("kind", "ending"), [("tar", ".bz2"), ("pax", ".gz"), ("gnu", ".zst"), ("zip", ".xz"), ("lzma", ".gz")]
)
def test_a_damaged_archive_is_read_or_refused_packed_or_not(tmp_path, kind, ending):
    for mutate, pack in ((mutant_of_bytes, bytes), (mutant_of_chunks, bytes), (mutant_of_bytes, COMPRESSIONS[ending])):
        check(tmp_path / f"a.{kind}", archive(kind), mutate, pack)


@pytest.mark.parametrize("inner", ["a.csv", "a.jsonl", "a.parquet", "stream.arrow", "a.json"])
def test_a_damaged_data_set_in_an_archive_is_read_or_refused(tmp_path, inner):
    whole = FORMATS[inner](DOCUMENTS)
    for pack in (lambda data: zipped(**{inner: data}), lambda data: tarred(**{inner: data})):
        check(tmp_path / "a", whole, mutant_of_bytes, pack)


def nested(write) -> bytes:
    """Columns of all the types that a text can stand in."""
    rows = {
        "text": pa.array(DOCUMENTS),
        "list": pa.array([[text, None, text] for text in DOCUMENTS], pa.list_(pa.large_string())),
        "inside": pa.array([{"a": [{"b": text}], "c": 1} for text in DOCUMENTS]),
        "dictionary": pa.array(DOCUMENTS).dictionary_encode(),
        "view": pa.array(DOCUMENTS, pa.string_view()),
        "bytes": pa.array([text.encode() for text in DOCUMENTS]),
        "time": pa.array(range(len(DOCUMENTS)), pa.timestamp("us", "UTC")),
    }
    table = pa.table(rows)
    made = io.BytesIO()
    write(table, made)
    return made.getvalue()


def written_by_ipc(new, compression):
    def write(table, made):
        options = ipc.IpcWriteOptions(compression=compression)
        with new(made, table.schema, options=options) as writer:
            writer.write_table(table)

    return write


FIELDS = ("text", "list", "inside.a.b", "dictionary", "view")
PACKED = {"parquet": ("none", "snappy", "zstd", "gzip", "brotli", "lz4"), "arrow": (None, "zstd", "lz4")}
PACKED["stream"] = ("lz4", None, "zstd")


# Each field in each kind of file, and each compression.
@pytest.mark.parametrize(
    ("kind", "compression", "field"),
    [
        (kind, packed[number % len(packed)], FIELDS[number % len(FIELDS)])
        for kind, packed in PACKED.items()
        for number in range(max(len(packed), len(FIELDS)))
    ],
)
def test_a_damaged_table_is_read_or_refused(tmp_path, kind, compression, field):
    if kind == "parquet":
        whole = nested(lambda table, made: parquet.write_table(table, made, compression=compression, row_group_size=5))
    else:
        whole = nested(written_by_ipc(ipc.new_file if kind == "arrow" else ipc.new_stream, compression))
    reading = Reading(field=field)
    check(tmp_path / f"{field}.{kind}", whole, mutant_of_bytes, reading=reading)
    check(tmp_path / f"{field}.{kind}", whole, mutant_of_chunks, reading=reading)


@pytest.mark.parametrize("divided", ["lang", "id"])
def test_a_damaged_data_set_that_is_divided_is_read_or_refused(tmp_path, divided):
    reading = Reading(field="text", split_by=divided)
    for name in ("a.csv", "a.jsonl", "a.parquet"):
        check(tmp_path / name, FORMATS[name](DOCUMENTS), mutant_of_bytes, reading=reading)


def test_any_bytes_are_read_in_any_encoding(tmp_path):
    chance = random.Random("encodings")
    names = sorted({*_CHARACTER_SETS, "utf-16", "utf-32", "bytes"})
    for at, encoding in enumerate(names):
        for number in range(4 * TIMES):
            data = chance.randbytes(chance.choice([1, 2, 3, 5, 300]))
            if (at + number) % 4:
                text = TEXT.decode()[: chance.randint(1, 400)]
                data = mutant_of_bytes(text.encode("utf-8" if encoding == "bytes" else encoding, "ignore"), chance)
            path = tmp_path / ("a.txt", "a.csv", "a.jsonl", "b.txt")[number % 4]
            give(path, data + b"\n" if number == 3 else data)
            opened_or_refused(path, encoding=encoding)


def test_bytes_in_which_an_encoding_is_detected_are_read_or_refused(tmp_path):
    chance = random.Random("detected")
    path = tmp_path / "a.txt"
    for encoding in ("utf-8", "utf-16", "utf-32", "utf-16-be", "shift_jis", "windows-1251", "latin-1"):
        whole = TEXT.decode().encode(encoding, "ignore") * 2
        for _ in range(MUTANTS // 4):
            give(path, mutant_of_bytes(whole, chance))
            opened_or_refused(path)


@pytest.mark.parametrize(
    ("name", "mutate", "whole"),
    [
        ("a.parquet", mutant_of_bytes, None),
        ("a.parquet", mutant_of_chunks, None),
        ("a.tsv", mutant_of_bytes, "the\t90\ncat\t12\n日本\t3\n"),
        ("a.csv", mutant_of_bytes, 'word,count\n"the",90\ncat,12\n'),
        ("a.json", mutant_of_bytes, '{"the": 90, "cat": 12, "日本": 3}'),
        ("a.txt", mutant_of_bytes, "90 the\n12 cat\n"),
    ],
)
def test_damaged_counts_of_words_are_read_or_refused(tmp_path, name, mutate, whole):
    path, chance, refused = tmp_path / name, random.Random(f"{name} {mutate.__name__}"), 0
    if whole is None:
        count(Corpus.from_texts(["the cat sat on the mat " * 9, "日本 日本"]), "gpt2").save(path)
    else:
        path.write_text(whole, "utf-8")
    content = path.read_bytes()
    for _ in range(5 * MUTANTS):
        give(path, mutate(content, chance))
        try:
            Corpus.from_counts(path)
        except TokStudioError as error:
            check_sentence(error)
            refused += 1
    assert refused > MUTANTS or whole is not None


def test_the_mutants_are_not_all_refused(tmp_path):
    chance, read = random.Random(1), 0
    for data in (of_parquet(DOCUMENTS), of_arrow(DOCUMENTS), FORMATS["a.csv"](DOCUMENTS)):
        for _ in range(20):
            give(tmp_path / "a", mutant_of_bytes(data, chance))
            read += opened_or_refused(tmp_path / "a")
    assert 5 < read < 60
