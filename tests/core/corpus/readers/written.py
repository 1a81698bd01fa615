"""The same documents in every format and compression, each written by its own library."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import tarfile
import zipfile
from functools import partial
from itertools import cycle

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.ipc as ipc
import pyarrow.parquet as parquet
import zstandard

from tokstudio.core.corpus.corpus import Corpus

DOCUMENTS = (
    *('He said "no", and\nleft;\r\n', "あいう 😀", "", "a\tb | c", "it's", "naïve, \\ and / and \u2028"),
    *(f"The number {number} is the successor of {number - 1}, and {number % 7} is left over." for number in range(400)),
)
LANGUAGES = ("de", "en", "ja")


def rows(documents):
    return [
        {"id": n, "text": text, "meta": {"lang": LANGUAGES[n % 3]}, "lang": LANGUAGES[n % 3]}
        for n, text in enumerate(documents)
    ]


def lines_of(content, **options):
    return "".join(json.dumps(row, **options) + "\n" for row in content).encode()


def csv_of(content, delimiter=","):
    """A table with the names of the columns, where the cells are texts and numbers."""
    made = io.StringIO(newline="")
    writer = csv.DictWriter(made, [*content[0]], delimiter=delimiter, extrasaction="ignore")
    writer.writeheader()
    writer.writerows(content)
    return made.getvalue().encode()


def parquet_of(content, **options):
    made = io.BytesIO()
    parquet.write_table(pa.Table.from_pylist(content), made, **options)
    return made.getvalue()


def arrow_of(content, write=ipc.new_file, rows_at_once=90):
    made, table = io.BytesIO(), pa.Table.from_pylist(content)
    with write(made, table.schema) as writer:
        writer.write_table(table, max_chunksize=rows_at_once)
    return made.getvalue()


def json_lines(documents, **options):
    return lines_of(rows(documents), **options)


def table(documents, delimiter):
    return csv_of([{name: row[name] for name in ("id", "text", "lang")} for row in rows(documents)], delimiter)


def of_parquet(documents, **options):
    return parquet_of(rows(documents), row_group_size=100, **options)


def of_arrow(documents, write=ipc.new_file):
    return arrow_of(rows(documents), write)


def of_feather(documents):
    made = io.BytesIO()
    feather.write_feather(pa.Table.from_pylist(rows(documents)), made)
    return made.getvalue()


FORMATS = {
    "a.jsonl": json_lines,
    "raw.ndjson": lambda documents: json_lines(documents, ensure_ascii=False),
    "a.json": lambda documents: json.dumps(rows(documents), indent=1).encode(),
    "object.json": lambda documents: json.dumps({"version": 1, "tags": ["x"], "data": rows(documents)}).encode(),
    "a.csv": lambda documents: table(documents, ","),
    "semicolons.csv": lambda documents: table(documents, ";"),
    "a.tsv": lambda documents: table(documents, "\t"),
    "a.parquet": of_parquet,
    "a.arrow": of_arrow,
    "stream.arrow": lambda documents: of_arrow(documents, ipc.new_stream),
    "a.feather": of_feather,
}


def zst(data):
    return zstandard.ZstdCompressor().compress(data)


# By default, xz takes a hundred megabytes for its tables.
XZ = partial(lzma.compress, preset=0)
COMPRESSIONS = {".gz": gzip.compress, ".zst": zst, ".xz": XZ, ".bz2": bz2.compress}
# Each format as it is and in a compression: `test_a_format_is_recognised` has each in each.
FORMATS_PACKED = [(name, "") for name in FORMATS] + [*zip(FORMATS, cycle(COMPRESSIONS), strict=False)]


def zipped(**members):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return made.getvalue()


def tarred(mode="w", **members):
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode=mode) as archive:
        for name, data in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return made.getvalue()


def texts_of(source):
    """The documents of a source."""
    return [bytes(document).decode() for document in Corpus((source,)).iter_documents()]
