"""Many texts compared: parallel texts counted beside tiktoken, other libraries, and the matrix of the Compare pane.

The parallel texts are those of the folder `parallel`, or of `--texts`: a file a language with the same lines. The lines
of each are joined by single spaces, as in the published totals of FLORES-200, and repeated until all have 80 MB.
TokStudio uses two threads, with empty caches; `encode_ordinary` of tiktoken one. Every total must be equal.

Other libraries (`engines`) encode the parallel texts as they are, line by line, each in a process of its own; GPT-2.

The matrix has 24 texts cut from mixed 100 MB, and three tokenizers trained on it, with 1,000, 8,000 and 32,768 tokens,
beside GPT-2 and cl100k.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import numpy as np
from _common import is_installed, parser, record, run_parts, seconds, table, texts, tokenizer_file
from _window import HEAD, Clock, busy, open_studio
from encode import by_tiktoken, lay_out

from tokstudio import ByteTokenizer, Comparison, Tokenizer, compare, load
from tokstudio.core.base.progress import finish
from tokstudio.core.comparison.comparison import cells_work
from tokstudio.core.comparison.engines import engines_work
from tokstudio.core.comparison.figures import Cell, Compared
from tokstudio.core.comparison.parallel_set import open_parallel_work
from tokstudio.core.comparison.texts import ComparedText
from tokstudio.core.corpus.source import Source
from tokstudio.gui.app.app import Studio
from tokstudio.gui.session.measuring.compared import file_set
from tokstudio.gui.state.training_settings import Settings

_THREADS = 2
_TEXTS, _SIZE = 24, 1_000_000
_SIZES = (1_000, 8_000, 32_768)


def parallel(chosen: argparse.Namespace) -> None:
    """Counts the parallel texts."""
    joined = repeated(parallel_folder(chosen), chosen.megabytes * 1_000_000)
    size = sum(len(text.encode()) for text in joined.values()) / 1e6
    print(f"{len(joined)} languages, {size:.1f} MB\n")
    read, measured = seconds(lambda: compare({"bytes": ByteTokenizer()}, joined, threads=1).measured)
    rows = [["", "reading, words, characters", f"{read:.2f} s", f"{size / read:.1f} MB/s", "", ""]]
    for pattern, tokenizer in tokenizers(chosen).items():
        rows += count(pattern, tokenizer, measured)
    table(["tokenizer", "counted by", "time", "throughput", "to tiktoken", "same totals"], rows)


def count(name: str, tokenizer: Tokenizer, texts: Sequence[ComparedText]) -> list[list[str]]:
    """One row for TokStudio and one for tiktoken."""
    size = sum(text.bytes for text in texts) / 1e6
    finish(cells_work([Compared(name, tokenizer)], texts[:1], 1))  # loads the loops
    fresh = [Compared(name, tokenizer.at(len(tokenizer.merges)))]
    took, cells = seconds(lambda: finish(cells_work(fresh, texts, _THREADS)))
    ours = Comparison(fresh, texts, cells).tokens[:, 0]
    rows = [[name, f"TokStudio, {_THREADS} threads", f"{took:.2f} s", f"{size / took:.1f} MB/s", "", ""]]
    if is_installed("tiktoken"):
        with tempfile.TemporaryDirectory() as temporary:
            lay_out(tokenizer, Path(temporary) / name)
            encode = by_tiktoken(Path(temporary) / name, name)
            documents = [np.asarray(text.source.data).tobytes().decode() for text in texts]
            other, theirs = seconds(lambda: [len(encode(text)) for text in documents])
        rows[0][4:] = [f"{other / took:.1f}x", "yes" if np.array_equal(ours, theirs) else "NO"]
        given = f"{len(texts)} languages, {size:.0f} MB, {name}"
        record("count parallel texts, two threads", given, size / took, "MB/s", "tiktoken", size / other, "5x")
        rows.append([name, "tiktoken, 1 thread", f"{other:.2f} s", f"{size / other:.1f} MB/s", "1.0x", ""])
    return rows


def repeated(folder: Path, most: int) -> dict[str, str]:
    """Each language's lines joined by spaces, as often as all of them have so many bytes."""
    texts = finish(open_parallel_work(folder))
    joined = {code: b" ".join(lines).decode() for code, lines in zip(texts.languages, texts.lines, strict=True)}
    times = max(1, round(most / sum(len(text.encode()) for text in joined.values())))
    return {code: " ".join([text] * times) for code, text in joined.items()}


def tokenizers(chosen: argparse.Namespace) -> dict[str, Tokenizer]:
    """GPT-2 and cl100k, by the names of their patterns."""
    files = {"gpt2": "gpt2", "cl100k": "cl100k_base.tiktoken"}
    return {pattern: load(tokenizer_file(chosen, name)) for pattern, name in files.items()}


def engines(chosen: argparse.Namespace) -> None:
    """Compares the ids of other libraries with ours, with their starts."""
    read = finish(open_parallel_work(parallel_folder(chosen)))
    sources = {code: Source.from_texts(lines, code) for code, lines in zip(read.languages, read.lines, strict=True)}
    tokenizer = tokenizers(chosen)["gpt2"]
    tokenizer.encode("Loads the loops.")
    took, found = seconds(lambda: finish(engines_work(tokenizer, sources, "GPT-2")))
    table(
        ["library", "version", "lines that differ", "why not"],
        [[each.name, each.version, f"{each.differing:,}", each.problem] for each in found.columns],
    )
    print(f"{len(sources)} languages, {sum(row.lines for row in found.rows):,} lines: {took:.1f} s\n")
    record(
        "compare other libraries", f"{len(sources)} languages, {len(found.compared)} libraries", took, "s", bar="20 s"
    )


def parallel_folder(chosen: argparse.Namespace) -> Path:
    """The folder with a file for each language."""
    data = Path(chosen.data)
    return chosen.texts or next(place for place in (data / "parallel", data / "corpora/parallel") if place.is_dir())


def in_window(chosen: argparse.Namespace) -> None:
    """Fills the matrix in the window and prints times and gaps."""
    with tempfile.TemporaryDirectory() as folder, texts(chosen, "mixed_100mb.txt") as (mixed,):
        data, files = mixed.read_bytes(), []
        for number in range(_TEXTS):
            start = number * (len(data) // _TEXTS)
            files.append(Path(folder) / f"text{number + 1}.txt")
            files[-1].write_bytes(data[start : start + _SIZE].decode("utf-8", "ignore").encode())
        with open_studio() as studio:
            _fill(studio, files, tokenizers(chosen))


def _fill(studio: Studio, files: list[Path], opened: dict[str, Tokenizer]) -> None:
    clock, session = Clock(), studio.session
    session.corpus.open_paths(files[:4])
    clock.during("", busy(studio))
    for size in _SIZES:
        session.training.set_settings(Settings(vocabulary_size=size, pattern="cl100k"))
        session.training.start()
        clock.during("", lambda: session.training.current is not None)
    for name, tokenizer in opened.items():
        session.runs.add_tokenizer(tokenizer, name)
    clock.during("", busy(studio))
    session.comparison.add_texts(file_set(files))
    studio.window.show_compare()
    began = time.perf_counter()
    rows = [clock.during("the matrix fills", lambda: _known(studio) < _TEXTS * 5)]
    took = time.perf_counter() - began
    table(HEAD, rows)
    record("fill the matrix of Compare", f"{_TEXTS} texts of 1 MB, 5 tokenizers", took, "s", bar="10 s")


def _known(studio: Studio) -> int:
    made = studio.session.comparison.comparison
    if made is None:
        return 0
    cells = (made.result(row, column) for row in range(len(made.texts)) for column in range(len(made.tokenizers)))
    return sum(isinstance(cell, Cell) for cell in cells)


if __name__ == "__main__":
    arguments = parser(__doc__)
    arguments.add_argument("--texts", type=Path, help="a folder with a file for each language, as FLORES-200")
    arguments.add_argument("--megabytes", type=int, default=80)
    run_parts(arguments, parallel=parallel, engines=engines, window=in_window)
