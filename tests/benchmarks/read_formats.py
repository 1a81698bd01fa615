"""Reading and counting the mixed text, a line a document, in every format, beside plain text.

Also the header of a GGUF file of 40 GB, beside reading as many bytes; the file is sparse, and takes little of the disk.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse
import bz2
import csv
import gzip
import json
import lzma
import os
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet
import zstandard
from _common import in_fresh_process, parser, record, run_parts, seconds, table, texts

_PLAIN = ("txt", "txt.gz", "txt.zst", "txt.xz", "txt.bz2")
_FORMATS = (*_PLAIN, "jsonl", "jsonl.zst", "jsonl.gz", "csv", "parquet", "arrow")
_GGUF_TOKENS, _GGUF_BYTES = 128_000, 40_000_000_000
_TURNS = 9


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


def read_and_count(path: str) -> list[float]:
    """Seconds to read a file, and to count its pre-tokens too."""
    from tokstudio import Corpus, Trainer, TrainingConfig, train

    config = TrainingConfig(pattern="cl100k", vocabulary_size=300)
    train(Corpus.from_text("a first call loads the compiled loops"), config)
    read, corpus = seconds(lambda: Corpus.from_files(path, documents="line"))
    trainer = Trainer(corpus, config)

    def count() -> None:
        while trainer.prepared is None:
            trainer.advance()

    return [read, read + seconds(count)[0]]


def formats(chosen: argparse.Namespace) -> None:
    """Prints a row for each format."""
    rows: list[list[str]] = []
    took: dict[str, float] = {}
    with texts(chosen, chosen.text) as (path,), tempfile.TemporaryDirectory() as folder:
        _write(path.read_bytes(), Path(folder))
        for kind in _FORMATS:
            file = Path(folder) / f"a.{kind}"
            measured = in_fresh_process(read_and_count, str(file))
            assert measured is not None
            read, took[kind] = measured
            cells = [f"{value:.2f}" for value in (read, took[kind], took[kind] / took["txt"])]
            rows.append([kind, f"{file.stat().st_size / 1e6:.1f}", *cells])
    table(["format", "MB on disk", "read, s", "read and count, s", "of plain text"], rows)
    packed, plain = took["jsonl.zst"], took["txt"]
    record("read and count JSON Lines in zstd", chosen.text, packed, "s", "plain text", plain, "0.5x")


def write_gguf(text: str, path: str) -> list[int]:
    """Writes a GGUF file with a tokenizer of the text; gives the bytes of its header, and how many tokens it has."""
    from tokstudio import Corpus, TrainingConfig, train
    from tokstudio.core.formats.known_formats import FORMATS

    config = TrainingConfig(pattern="llama3", vocabulary_size=_GGUF_TOKENS, special_tokens=("<s>", "</s>"))
    tokenizer = train(Corpus.from_files(text), config)
    [pieces] = FORMATS["gguf"].contents(tokenizer).values()
    size = Path(path).write_bytes(b"".join(pieces))
    # What follows the header stands for tensors.
    os.truncate(path, _GGUF_BYTES)
    return [size, len(tokenizer.tokens)]


def read_header(path: str, size: int) -> list[float]:
    """Seconds to read the header of a GGUF file, and as many bytes, the best of several turns."""
    from tokstudio.core.base.progress import finish
    from tokstudio.core.formats.gguf.header import header_work
    from tokstudio.core.formats.gguf.reader import is_wanted

    def plain() -> int:
        with Path(path).open("rb") as file:
            return len(file.read(size))

    turns: list[tuple[float, float]] = []
    for _ in range(_TURNS):
        ours = seconds(lambda: finish(header_work(Path(path), "model.gguf", is_wanted)))[0]
        turns.append((ours, seconds(plain)[0]))
    return [min(side) for side in zip(*turns, strict=True)]


def gguf(chosen: argparse.Namespace) -> None:
    """Prints how long the header of a large model takes."""
    with texts(chosen, chosen.text) as (text,), tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "model.gguf")
        size, tokens = in_fresh_process(write_gguf, str(text), path) or (0, 0)
        measured = in_fresh_process(read_header, path, size)
    assert measured is not None
    ours, plain = measured
    given = f"GGUF of 40 GB, {tokens:,} tokens"
    table([given, "s"], [["read the header", f"{ours:.4f}"], [f"read its {size / 1e6:.1f} MB", f"{plain:.4f}"]])
    record("read the header", given, ours, "s", "plain reading", plain, "0.2 s")


def main() -> None:
    """Prints both tables."""
    arguments = parser(__doc__)
    arguments.add_argument("--text", default="mixed_100mb.txt", help="which of the texts")
    run_parts(arguments, formats=formats, gguf=gguf)


if __name__ == "__main__":
    main()
