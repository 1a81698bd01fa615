"""Parallel texts counted by GPT-2 and cl100k, beside tiktoken; every total must be equal.

The texts are those of the folder `parallel`, or of `--texts`: a file a language with the same lines. The lines of each
are joined by single spaces, as in the published totals of FLORES-200, and repeated until all have `--megabytes`.
TokStudio uses two threads, with empty caches; `encode_ordinary` of tiktoken one.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from _common import is_installed, machine, parser, seconds, table
from encode_pattern import by_tiktoken, gpt2, lay_out

from tokstudio import ByteTokenizer, Comparison, Tokenizer, compare, load
from tokstudio.core.base.progress import finish
from tokstudio.core.comparison.comparison import cells_work
from tokstudio.core.comparison.figures import Compared
from tokstudio.core.comparison.parallel_set import open_parallel_work
from tokstudio.core.comparison.texts import ComparedText

_BAR = 5


def main() -> None:
    """Counts and prints times and throughput."""
    arguments = parser(__doc__)
    arguments.add_argument("--texts", type=Path, help="a folder with a file for each language, as FLORES-200")
    arguments.add_argument("--megabytes", type=int, default=80)
    arguments.add_argument("--threads", type=int, default=2)
    parsed = arguments.parse_args()
    data = Path(parsed.data)
    folder = parsed.texts or next(place for place in (data / "parallel", data / "corpora/parallel") if place.is_dir())
    texts = repeated(folder, parsed.megabytes * 1_000_000)
    size = sum(len(text.encode()) for text in texts.values()) / 1e6
    print(f"{len(texts)} languages, {size:.1f} MB; {machine()}\n")
    read, measured = seconds(lambda: compare({"bytes": ByteTokenizer()}, texts, threads=1).measured)
    rows = [["", "reading, words, characters", f"{read:.2f} s", f"{size / read:.1f} MB/s", "", ""]]
    for name, pattern, tokenizer in tokenizers(data):
        rows += count(name, pattern, tokenizer, measured, parsed.threads)
    table(["tokenizer", "counted by", "time", "throughput", f"to tiktoken (bar {_BAR})", "same totals"], rows)


def count(
    name: str, pattern: str, tokenizer: Tokenizer, texts: Sequence[ComparedText], threads: int
) -> list[list[str]]:
    """One row for TokStudio and one for tiktoken."""
    size = sum(text.bytes for text in texts) / 1e6
    finish(cells_work([Compared(name, tokenizer)], texts[:1], 1))  # loads the loops
    fresh = [Compared(name, tokenizer.at(len(tokenizer.merges)))]
    took, cells = seconds(lambda: finish(cells_work(fresh, texts, threads)))
    ours = Comparison(fresh, texts, cells).tokens[:, 0]
    rows = [[name, f"TokStudio, {threads} threads", f"{took:.2f} s", f"{size / took:.1f} MB/s", "", ""]]
    if is_installed("tiktoken"):
        with tempfile.TemporaryDirectory() as temporary:
            lay_out(tokenizer, Path(temporary) / name)
            encode = by_tiktoken(Path(temporary) / name, pattern)
            documents = [np.asarray(text.source.data).tobytes().decode() for text in texts]
            other, theirs = seconds(lambda: [len(encode(text)) for text in documents])
        rows[0][4:] = [f"{other / took:.1f}x", "yes" if np.array_equal(ours, theirs) else "NO"]
        rows.append([name, "tiktoken, 1 thread", f"{other:.2f} s", f"{size / other:.1f} MB/s", "1.0x", ""])
    return rows


def repeated(folder: Path, most: int) -> dict[str, str]:
    """Each language's lines joined by spaces, as often as all of them have so many bytes."""
    texts = finish(open_parallel_work(folder))
    joined = {code: b" ".join(lines).decode() for code, lines in zip(texts.languages, texts.lines, strict=True)}
    times = max(1, round(most / sum(len(text.encode()) for text in joined.values())))
    return {code: " ".join([text] * times) for code, text in joined.items()}


def tokenizers(data: Path) -> list[tuple[str, str, Tokenizer]]:
    """GPT-2 and cl100k, where they are in the folder."""
    made = [("gpt2", "gpt2", first)] if (first := gpt2(data)) is not None else []
    for place in (data, data / "tokenizers"):
        if (file := place / "cl100k_base.tiktoken").is_file():
            made.append(("cl100k", "cl100k", load(file)))
    return made


if __name__ == "__main__":
    main()
