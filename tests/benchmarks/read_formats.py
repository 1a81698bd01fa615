"""Reading and counting the mixed text, a line a document, in every format, beside plain text and beside pyarrow."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse
import bz2
import csv
import gzip
import json
import lzma
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pyarrow.json
import pyarrow.parquet
import zstandard
from _common import in_fresh_process, is_installed, machine, parser, record, seconds, table, texts

_PLAIN = ("txt", "txt.gz", "txt.zst", "txt.xz", "txt.bz2")
_FORMATS = (*_PLAIN, "jsonl", "jsonl.zst", "jsonl.gz", "csv", "parquet", "arrow")


def _write(text: bytes, folder: Path) -> None:
    """Writes the text in every format; the documents are its lines."""
    documents = [line.decode() for line in text.split(b"\n") if line]
    plain = "\n".join(documents).encode()
    lines = "".join(json.dumps({"text": one}, ensure_ascii=False) + "\n" for one in documents).encode()
    content = pa.table({"text": documents})
    (folder / "a.txt").write_bytes(plain)
    (folder / "a.txt.gz").write_bytes(gzip.compress(plain, 6))
    (folder / "a.txt.zst").write_bytes(zstandard.ZstdCompressor().compress(plain))
    (folder / "a.txt.xz").write_bytes(lzma.compress(plain, preset=0))
    (folder / "a.txt.bz2").write_bytes(bz2.compress(plain))
    (folder / "a.jsonl").write_bytes(lines)
    (folder / "a.jsonl.zst").write_bytes(zstandard.ZstdCompressor().compress(lines))
    (folder / "a.jsonl.gz").write_bytes(gzip.compress(lines, 6))
    with (folder / "a.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "number"])
        writer.writerows((one, number) for number, one in enumerate(documents))
    pa.parquet.write_table(content, folder / "a.parquet")
    with pa.ipc.new_file(folder / "a.arrow", content.schema) as out:
        out.write_table(content)


def _ours(path: str) -> dict[str, float]:
    """Seconds to read a file and to count its pre-tokens."""
    from tokstudio import Corpus, Trainer, TrainingConfig, train

    config = TrainingConfig(pattern="cl100k", vocabulary_size=300)
    train(Corpus.from_text("a first call loads the compiled loops"), config)
    read, corpus = seconds(lambda: Corpus.from_files(path, documents="line"))
    trainer = Trainer(corpus, config)

    def count() -> None:
        while trainer.prepared is None:
            trainer.advance()

    return {"read": read, "count": seconds(count)[0], "documents": corpus.documents}


def _arrow(path: str) -> dict[str, float]:
    """Seconds in which pyarrow alone reads the same file into its table."""
    kind = Path(path).name.removeprefix("a.").split(".")[0]
    readers: dict[str, Callable[[pa.NativeFile], object]] = {
        "jsonl": pa.json.read_json,
        "csv": pa.csv.read_csv,
        "parquet": pa.parquet.read_table,
        "arrow": lambda file: pa.ipc.open_file(file).read_all(),
        "txt": lambda file: file.read(),
    }
    plain = path.endswith((".parquet", ".arrow", ".xz"))
    took, _ = seconds(lambda: readers[kind](pa.OSFile(path) if plain else pa.input_stream(path)))
    return {"read": took}


def _datasets(path: str) -> dict[str, float]:
    """Seconds in which the library `datasets` reads the same file into its cache."""
    import datasets

    kind = {"jsonl": "json", "csv": "csv", "parquet": "parquet"}[Path(path).name.split(".")[1]]
    with tempfile.TemporaryDirectory() as cache:
        took, _ = seconds(lambda: datasets.load_dataset(kind, data_files=path, cache_dir=cache))
    return {"read": took}


def _rows(arguments: argparse.Namespace) -> Iterator[list[str]]:
    has_datasets = is_installed("datasets")
    with texts(arguments, arguments.text) as (path,), tempfile.TemporaryDirectory() as folder:
        _write(path.read_bytes(), Path(folder))
        plain = 0.0
        for kind in _FORMATS:
            file = f"{folder}/a.{kind}"
            ours = in_fresh_process(__file__, ["ours", file])
            assert ours is not None
            total = ours["read"] + ours["count"]
            plain = plain or total
            row = [kind, f"{Path(file).stat().st_size / 1e6:.1f}", f"{ours['read']:.2f}", f"{total:.2f}"]
            row.append(f"{total / plain:.2f}")
            if kind == "jsonl.zst":
                record("read and count JSON Lines in zstd", path.name, total, "s", "plain text", plain, "0.5x")
            for name, fits in (("arrow", not kind.endswith("xz")), ("datasets", has_datasets)):
                fits = fits and (name == "arrow" or kind.split(".")[0] in ("jsonl", "csv", "parquet"))
                other = in_fresh_process(__file__, [name, file]) if fits else None
                row.append("" if other is None else f"{other['read']:.2f}")
            yield row


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--text", default="mixed_100mb.txt", help="which of the texts")
    arguments.add_argument("--one", help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.one:
        who, path = json.loads(given.one)
        print(json.dumps({"ours": _ours, "arrow": _arrow, "datasets": _datasets}[who](path)))
        return
    print(machine())
    heads = ("format", "MB on disk", "read, s", "read and count, s", "of plain text", "pyarrow reads, s", "datasets, s")
    table(heads, list(_rows(given)))


if __name__ == "__main__":
    sys.exit(main())
