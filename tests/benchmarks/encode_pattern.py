"""Encoding with a pattern beside other libraries, in one thread: with GPT-2 and with a tokenizer trained here.

Each library has a process of its own, on one processor. With empty caches: the first encoding of the text by an encoder
just made (its tables stand, it has seen one other word). With warm ones: the second. Each encoding gets a string of its
own: Python keeps the UTF-8 of a string that most libraries have asked for, and these would not convert it again.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import base64
import json
import os
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from _common import in_fresh_process, is_installed, machine, parser, seconds, table, texts

from tokstudio import Corpus, Tokenizer, TrainingConfig, load, save, train

Encode = Callable[[str], Any]


def by_us(folder: Path, _: str) -> Encode:
    return partial(load(folder / "tokenizer.json").encode_array, threads=1)


def by_tiktoken(folder: Path, pattern: str) -> Encode:
    import tiktoken

    from tokstudio.core.pretokenization.patterns import REGEX

    lines = (line.split() for line in (folder / "ranks.tiktoken").read_bytes().splitlines())
    ranks = {base64.b64decode(token): int(rank) for token, rank in lines}
    return tiktoken.Encoding(
        folder.name, pat_str=REGEX[pattern], mergeable_ranks=ranks, special_tokens={}
    ).encode_ordinary


def by_gigatoken(folder: Path, pattern: str) -> Encode:
    import gigatoken

    return gigatoken.Tokenizer.from_tiktoken(folder / "ranks.tiktoken", pattern, {}).encode


def by_tokenizers(folder: Path, _: str) -> Encode:
    import tokenizers

    made = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    return lambda text: made.encode(text, add_special_tokens=False).ids


ENCODERS = {"tiktoken": by_tiktoken, "gigatoken": by_gigatoken, "tokenizers": by_tokenizers, "TokStudio": by_us}
_SLOW = "tokenizers"  # once is enough


def measure(library: str, folder: str, pattern: str, file: str, runs: int) -> dict[str, float]:
    """Seconds of the fastest run, with empty caches and with warm ones; the ids are left in the folder."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    raw = Path(file).read_bytes()
    empty, warm = [], []
    for _ in range(runs):
        encode = ENCODERS[library](Path(folder), pattern)
        encode("Beginning")
        for times in (empty, warm):
            ids, text = None, raw.decode()
            took, ids = seconds(lambda: encode(text))  # noqa: B023
            times.append(took)
    np.save(Path(folder) / f"{library}.npy", np.asarray(ids, np.uint32))
    return {"empty": min(empty), "warm": min(warm)}


def lay_out(tokenizer: Tokenizer, folder: Path) -> None:
    """Writes the tokenizer as each library reads it."""
    folder.mkdir()
    save(tokenizer, folder / "tokenizer.json")
    specials = set(tokenizer.special_tokens.values())
    with (folder / "ranks.tiktoken").open("wb") as file:
        for rank, token in enumerate(tokenizer.tokens):
            if token is not None and rank not in specials:
                file.write(base64.b64encode(token) + b" %d\n" % rank)


def gpt2(data: Path) -> Tokenizer | None:
    """GPT-2, from a folder of the texts' or beside it."""
    for place in (data, data / "tokenizers", data.parent / "tokenizers"):
        if (place / "gpt2").is_dir():
            return load(place / "gpt2")
    print(f"GPT-2 is left out: there is no folder gpt2 with encoder.json and vocab.bpe in {data}.", flush=True)
    return None


def rows(folder: Path, pattern: str, file: Path, libraries: list[str], runs: int) -> list[list[str]]:
    """One row a library, beside tiktoken where it is there."""
    size = file.stat().st_size / 1e6
    made: dict[str, dict[str, Any]] = {}
    for library in libraries:
        given = [library, str(folder), pattern, str(file), 1 if library == _SLOW else runs]
        result = in_fresh_process(__file__, given, RAYON_NUM_THREADS="1", TOKENIZERS_PARALLELISM="false")
        if result is None:
            print(f"{library}: failed, see above", flush=True)
        else:
            made[library] = result
    first = next(iter(made))
    expected = np.load(folder / f"{first}.npy")
    table_rows = []
    for library, took in made.items():
        same = np.array_equal(np.load(folder / f"{library}.npy"), expected)
        row = [library]
        for state in ("empty", "warm"):
            row += [f"{size / took[state]:.1f} MB/s", f"{made[first][state] / took[state]:.1f}x"]
        table_rows.append([*row, "yes" if same else "NO"])
    return table_rows


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--vocabulary-size", type=int, default=32768, help="of the tokenizer trained here")
    arguments.add_argument("--runs", type=int, default=5, help="of each but tokenizers; the fastest counts")
    arguments.add_argument("--only", nargs="*", choices=ENCODERS, metavar="LIBRARY", help=", ".join(ENCODERS))
    arguments.add_argument("--one", help="used by itself")
    chosen = arguments.parse_args()
    if chosen.one:
        print(json.dumps(measure(*json.loads(chosen.one))))
        return
    asked = ENCODERS if chosen.only is None else chosen.only
    libraries = [name for name in ENCODERS if name in asked and (name == "TokStudio" or is_installed(name))]
    if not libraries:
        sys.exit("None of these is installed.")
    with texts(chosen, "mixed_10mb.txt") as (file,), tempfile.TemporaryDirectory() as made:
        config = TrainingConfig(vocabulary_size=chosen.vocabulary_size, pattern="cl100k")
        tokenizers = {
            "GPT-2": (gpt2(Path(chosen.data)), "gpt2"),
            f"Trained on the text, {chosen.vocabulary_size:,} tokens": (
                train(Corpus.from_files([file]), config),
                "cl100k",
            ),
        }
        tables = {}
        for name, (tokenizer, pattern) in tokenizers.items():
            if tokenizer is not None:
                lay_out(tokenizer, Path(made) / pattern)
                tables[name] = rows(Path(made) / pattern, pattern, file, libraries, chosen.runs)
        size = file.stat().st_size / 1e6
    print(f"\nEncoding {size:.0f} MB of mixed text, pattern as named, one thread; {machine()}\n")
    first = libraries[0]
    for name, lines in tables.items():
        table([name, "empty caches", f"to {first}", "warm caches", f"to {first}", "same ids"], lines)


if __name__ == "__main__":
    main()
