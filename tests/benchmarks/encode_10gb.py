"""Ten gigabytes encoded: 50 files of 200 MB in JSON Lines into shards of 100 million tokens, by GPT-2, a thread a core.

The text is made of 100,000 words of random letters, drawn as often as Zipf's law has it. Each file has 20 MB of it, ten
times with its letters permuted, so that there are ever more distinct pre-tokens. Files and shards need 17 GB of the
disk. It runs only by name, and is recorded only in full.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse
import shutil
import string
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from _common import costs, in_fresh_process, parser, record, run_parts, table, tokenizer_file
from count_10gb import permutation
from encode import lay_out

_WORDS, _IN_DOCUMENT, _PERMUTED = 100_000, 300, 10
_MEGABYTE = 1_000_000


def write_file(path: Path, number: int, megabytes: int) -> None:
    """Writes documents of synthetic text as rows."""
    drawn = np.random.default_rng(number)
    letters = np.array(list(string.ascii_lowercase))[drawn.integers(26, size=(_WORDS, 10))]
    words = ["".join(row[:size]) for row, size in zip(letters, drawn.integers(2, 11, _WORDS).tolist(), strict=True)]
    chances = np.cumsum(1 / np.arange(1, _WORDS + 1))
    each = drawn.random(megabytes * _MEGABYTE // _PERMUTED // 6) * chances[-1]
    chosen = np.searchsorted(chances, each).tolist()
    with path.open("wb") as file:
        texts = [
            " ".join(map(words.__getitem__, chosen[at : at + _IN_DOCUMENT]))
            for at in range(0, len(chosen), _IN_DOCUMENT)
        ]
        for seed in range(_PERMUTED):
            table_of_letters = permutation(number * _PERMUTED + seed)
            for text in texts:
                file.write(b'{"text": "' + text.encode().translate(table_of_letters) + b'"}\n')


def by_us(folder: str, files: list[str]) -> dict[str, float]:
    """Seconds and memory to encode the files into a folder, what is in them, and the longest time without a word."""
    from tokstudio import load
    from tokstudio.core.shards.dataset import encode_dataset_work
    from tokstudio.core.shards.inputs import EncodingSettings

    tokenizer = load(Path(folder) / "tokenizer.json")
    tokenizer.encode("Loads the loops. " * 40)
    silent, last = 0.0, time.perf_counter()

    def encode() -> object:
        nonlocal silent, last
        work = encode_dataset_work(files, EncodingSettings(tokenizer, formats=("bin",)), Path(folder) / "out")
        while True:
            try:
                next(work)
            except StopIteration as end:
                return end.value
            silent, last = max(silent, time.perf_counter() - last), time.perf_counter()

    cost, made = costs(encode)
    return {**cost, "bytes": made.bytes, "tokens": made.tokens, "shards": len(made.shards), "silent": silent}


def encode(chosen: argparse.Namespace) -> None:
    """Encodes all files, and prints time and memory."""
    from tokstudio import load

    with tempfile.TemporaryDirectory(prefix="tokstudio-benchmark-") as name:
        folder = Path(name) / "gpt2"
        lay_out(load(tokenizer_file(chosen, "gpt2")), folder)
        files = [folder / f"{number:03}.jsonl" for number in range(chosen.files)]
        for number, file in enumerate(files):
            write_file(file, number, chosen.megabytes)
        made = in_fresh_process(by_us, str(folder), [str(file) for file in files])
        shutil.rmtree(folder / "out", ignore_errors=True)
    if made is None:
        sys.exit("It failed, see above.")
    speed = made["bytes"] / 1e6 / made["seconds"]
    facts = [f"{made['seconds']:.1f} s", f"{speed:.1f} MB/s", f"{made['tokens'] / 1e6:,.0f} M", f"{made['shards']:,}"]
    more = [f"{made['memory'] / 1e6:,.0f} MB", f"{made['silent']:.2f} s"]
    heads = ["text", "time", "speed", "tokens", "shards", "peak memory", "longest between two reports"]
    table(heads, [[f"{made['bytes'] / 1e6:,.0f} MB in {chosen.files} files", *facts, *more]])
    if made["bytes"] >= 9e9:
        given = f"{made['bytes'] / 1e9:.0f} GB in {chosen.files} files, GPT-2"
        record("encode_dataset of many large files", given, speed, "MB/s")
        record("peak memory of it", given, made["memory"] / 1e6, "MB", bar="600 MB")


if __name__ == "__main__":
    arguments = parser(__doc__)
    arguments.add_argument("--files", type=int, default=50, help="how many files are encoded")
    arguments.add_argument("--megabytes", type=int, default=200, help="how large each is, about")
    run_parts(arguments, encode=encode)
