"""Encoding beside other libraries, in one thread: by GPT-2, and by a tokenizer trained here without a pattern.

GPT-2 encodes a text in many languages and an English one. Each library has processes of its own, on one processor, in
turns with those of the others, as a shared computer is faster at one time than at another; the fastest run counts. With
empty caches: the first encoding of the text by an encoder just made (its tables stand, it has seen one other word).
With warm ones: the second. Each encoding gets a string of its own: Python keeps the UTF-8 of a string that most
libraries have asked for, and these would not convert it again. Without a pattern, where a file of the tokenizer could
take gigabytes, both encode in one process.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse
import base64
import os
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from _common import in_fresh_process, is_installed, parser, record, run_parts, seconds, table, texts, tokenizer_file

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
# The ratios that should be reached with empty and with warm caches; others are printed alone.
_BARS = {
    "mixed_10mb.txt": {"tiktoken": ("3x", "5x"), "gigatoken": ("1x", "0.8x"), "tokenizers": ("",)},
    "shakespeare.txt": {"gigatoken": ("0.8x", "0.8x")},
}


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


def with_pattern(chosen: argparse.Namespace) -> None:
    """By GPT-2: megabytes a second of each library, and whether its ids are those of the first."""
    with texts(chosen, *_BARS) as files, tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "gpt2"
        lay_out(load(tokenizer_file(chosen, "gpt2")), folder)
        for file in files:
            encode_beside(chosen, folder, file)


def encode_beside(chosen: argparse.Namespace, folder: Path, file: Path) -> None:
    """Encodes one text by all libraries, by the files in a folder."""
    speeds: dict[str, dict[str, float]] = {}
    libraries = [name for name in ENCODERS if name == "TokStudio" or is_installed(name)]
    for turn in range(chosen.runs):
        for library in libraries if turn == 0 else [name for name in speeds if name != _SLOW]:
            given = [library, str(folder), "gpt2", str(file), 1 if library == _SLOW else 2]
            result = in_fresh_process(measure, *given, RAYON_NUM_THREADS="1", TOKENIZERS_PARALLELISM="false")
            if result is None:
                print(f"{library}: failed, see above", flush=True)
                continue
            best = speeds.setdefault(library, {})
            for state, took in result.items():
                best[state] = max(best.get(state, 0.0), file.stat().st_size / 1e6 / took)
    ids = {library: np.load(folder / f"{library}.npy") for library in speeds}
    rows: list[list[str]] = []
    first = next(iter(speeds))
    for library, row in speeds.items():
        cells = [library]
        for state in row:
            cells += [f"{row[state]:.1f} MB/s", f"{row[state] / speeds[first][state]:.1f}x"]
        rows.append([*cells, "yes" if np.array_equal(ids[library], ids[first]) else "NO"])
        bars = _BARS[file.name].get(library, ()) if "TokStudio" in speeds else ()
        for state, bar in zip(row, bars, strict=False):
            ours, theirs = speeds["TokStudio"][state], row[state]
            record(f"encode, {state} caches", f"{file.name}, GPT-2", ours, "MB/s", library, theirs, bar)
    heads = [f"GPT-2, {file.name}", "empty caches", f"to {first}", "warm caches", f"to {first}", "same ids"]
    table(heads, rows)


def as_huggingface(tokenizer: Tokenizer) -> Callable[[str], list[int]]:
    """The same tokens and merges in `tokenizers`; its file could take gigabytes, as tokens may be long."""
    import tokenizers

    names = [to_characters(token or b"") for token in tokenizer.tokens]
    merges = [(names[left], names[right]) for left, right in tokenizer.merges.tolist()]
    model = tokenizers.models.BPE(vocab={name: number for number, name in enumerate(names)}, merges=merges)
    made = tokenizers.Tokenizer(model)
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    return lambda text: made.encode(text).ids


def without_pattern(chosen: argparse.Namespace) -> None:
    """A tokenizer trained without a pattern, in this process: the whole text, and its beginning beside `tokenizers`."""
    with texts(chosen, "mixed_10mb.txt") as (file,):
        corpus, whole = Corpus.from_files([file], encoding="bytes"), file.read_bytes().decode()
    tokenizer = train(corpus, TrainingConfig(vocabulary_size=chosen.vocabulary_size))
    part = whole.encode()[:1_000_000].decode("utf-8", "ignore")
    rows: list[list[str]] = []
    for name, text in ((file.name, whole), ("its first 1 MB", part)):
        took = min(seconds(lambda: tokenizer.encode_array(text))[0] for _ in range(chosen.runs))  # noqa: B023
        speed = len(text.encode()) / 1e6 / took
        rows.append([f"TokStudio, {name}", f"{speed:.1f} MB/s", ""])
    rival = as_huggingface(tokenizer)
    took, theirs = seconds(lambda: rival(part))
    other, same = len(part.encode()) / 1e6 / took, theirs == tokenizer.encode(part)
    rows.append(["tokenizers, its first 1 MB", f"{other:.1f} MB/s", "yes" if same else "NO"])
    table([f"no pattern, {len(tokenizer):,} tokens", "speed", "same ids"], rows)
    record("encode without a pattern", f"the first 1 MB of {file.name}", speed, "MB/s", "tokenizers", other, "15 MB/s")


if __name__ == "__main__":
    arguments = parser(__doc__)
    arguments.add_argument("--vocabulary-size", type=int, default=32768, help="of the tokenizer trained here")
    arguments.add_argument("--runs", type=int, default=5, help="turns of all but tokenizers; the fastest counts")
    run_parts(arguments, pattern=with_pattern, none=without_pattern)
