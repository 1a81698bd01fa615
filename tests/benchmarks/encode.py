"""Encoding beside other libraries, in one thread: by GPT-2, and by tokenizers trained here with and without a pattern.

Each library has a process of its own, on one processor. With empty caches: the first encoding of the text by an encoder
just made (its tables stand, it has seen one other word). With warm ones: the second. Each encoding gets a string of its
own: Python keeps the UTF-8 of a string that most libraries have asked for, and these would not convert it again.
Without a pattern, where a file of the tokenizer could take gigabytes, both encode in one process.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse
import base64
import json
import os
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from _common import in_fresh_process, is_installed, machine, parser, record, seconds, table, texts

from tokstudio import Corpus, Tokenizer, TrainingConfig, load, save, train
from tokstudio.core.text.byte_level import to_characters

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
_STATES = ("empty", "warm")


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


def measured(
    folder: Path, pattern: str, file: Path, libraries: list[str], runs: int
) -> dict[str, dict[str, float | bool]]:
    """Megabytes a second of each library, and whether its ids are those of the first."""
    size, speeds = file.stat().st_size / 1e6, dict[str, dict[str, float | bool]]()
    for library in libraries:
        given = [library, str(folder), pattern, str(file), 1 if library == _SLOW else runs]
        result = in_fresh_process(__file__, given, RAYON_NUM_THREADS="1", TOKENIZERS_PARALLELISM="false")
        if result is None:
            print(f"{library}: failed, see above", flush=True)
        else:
            speeds[library] = {state: size / took for state, took in result.items()}
    expected = np.load(folder / f"{next(iter(speeds))}.npy")
    for library, row in speeds.items():
        row["same"] = np.array_equal(np.load(folder / f"{library}.npy"), expected)
    return speeds


def show(name: str, text: str, speeds: dict[str, dict[str, float | bool]], bars: dict[str, str]) -> None:
    """Prints the table of a tokenizer, beside the first library, and keeps our results where there are bars."""
    first = next(iter(speeds))
    rows: list[list[str]] = []
    for library, row in speeds.items():
        cells = [library]
        for state in _STATES:
            cells += [f"{row[state]:.1f} MB/s", f"{row[state] / speeds[first][state]:.1f}x"]
        rows.append([*cells, "yes" if row["same"] else "NO"])
        for state in bars if library != "TokStudio" and "TokStudio" in speeds else ():
            ours, bar = speeds["TokStudio"][state], bars[state] if library == "tiktoken" else ""
            if state == "empty" or library == "tiktoken":
                record(f"encode, {state} caches", f"{text}, {name}", ours, "MB/s", library, row[state], bar)
    table([f"{name}, {text}", "empty caches", f"to {first}", "warm caches", f"to {first}", "same ids"], rows)


def with_patterns(chosen: argparse.Namespace, libraries: list[str], file: Path, folder: Path) -> None:
    """GPT-2, and a tokenizer trained on the text with the pattern cl100k."""
    config = TrainingConfig(vocabulary_size=chosen.vocabulary_size, pattern="cl100k")
    ways = {
        "GPT-2": (gpt2(Path(chosen.data)), "gpt2"),
        f"cl100k, {chosen.vocabulary_size:,} tokens": (train(Corpus.from_files([file]), config), "cl100k"),
    }
    for name, (tokenizer, pattern) in ways.items():
        if tokenizer is not None:
            lay_out(tokenizer, folder / pattern)
            speeds = measured(folder / pattern, pattern, file, libraries, chosen.runs)
            bars = {"empty": "3x", "warm": "5x"}
            show(name, file.name, speeds, bars if pattern == "gpt2" else {})


def as_huggingface(tokenizer: Tokenizer) -> Callable[[str], list[int]]:
    """The same tokens and merges in `tokenizers`; its file could take gigabytes, as tokens may be long."""
    import tokenizers

    names = [to_characters(token or b"") for token in tokenizer.tokens]
    merges = [(names[left], names[right]) for left, right in tokenizer.merges.tolist()]
    model = tokenizers.models.BPE(vocab={name: number for number, name in enumerate(names)}, merges=merges)
    made = tokenizers.Tokenizer(model)
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    return lambda text: made.encode(text).ids


def without_pattern(file: Path, size: int, runs: int) -> None:
    """A tokenizer trained without a pattern, in this process: the whole text, and its beginning beside `tokenizers`."""
    tokenizer = train(Corpus.from_files([file], encoding="bytes"), TrainingConfig(vocabulary_size=size))
    whole = file.read_bytes().decode()
    part = whole.encode()[:1_000_000].decode("utf-8", "ignore")
    rows: list[list[str]] = []
    for name, text in ((file.name, whole), ("its first 1 MB", part)):
        speed = len(text.encode()) / 1e6 / min(seconds(lambda: tokenizer.encode_array(text))[0] for _ in range(runs))  # noqa: B023
        rows.append([f"TokStudio, {name}", f"{speed:.1f} MB/s", ""])
    rival = as_huggingface(tokenizer)
    took, theirs = seconds(lambda: rival(part))
    other = len(part.encode()) / 1e6 / took
    rows.append(
        ["tokenizers, its first 1 MB", f"{other:.1f} MB/s", "yes" if theirs == tokenizer.encode(part) else "NO"]
    )
    table([f"no pattern, {len(tokenizer):,} tokens", "speed", "same ids"], rows)
    record("encode without a pattern", f"the first 1 MB of {file.name}", speed, "MB/s", "tokenizers", other, "15 MB/s")


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--vocabulary-size", type=int, default=32768, help="of the tokenizers trained here")
    arguments.add_argument("--runs", type=int, default=5, help="of each but tokenizers; the fastest counts")
    arguments.add_argument("--only", nargs="*", choices=ENCODERS, metavar="LIBRARY", help=", ".join(ENCODERS))
    arguments.add_argument("--one", help="used by itself")
    chosen = arguments.parse_args()
    if chosen.one:
        print(json.dumps(measure(*json.loads(chosen.one))))
        return
    asked = ENCODERS if chosen.only is None else chosen.only
    libraries = [name for name in ENCODERS if name in asked and (name == "TokStudio" or is_installed(name))]
    print(f"Encoding in one thread; {machine()}\n")
    with texts(chosen, "mixed_10mb.txt") as (file,), tempfile.TemporaryDirectory() as folder:
        if libraries:
            with_patterns(chosen, libraries, file, Path(folder))
        if "TokStudio" in libraries:
            without_pattern(file, chosen.vocabulary_size, chosen.runs)


if __name__ == "__main__":
    main()
