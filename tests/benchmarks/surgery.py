"""Changing tokenizers that exist: GPT-2 extended by German, and cl100k by mixed text.

German: 1,000 tokens from 150 kB, beside the usual way, in which the merges of a German vocabulary trained alone are
appended to GPT-2; counted are the tokens of the text that was trained on. The time of an extension is held against a
training on the same text from nothing, with as many merges.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse
import sys
from typing import Any

import numpy as np
from _common import (
    in_fresh_process,
    parser,
    record,
    run_parts,
    seconds,
    table,
    texts,
    tokenizer_file,
    training_by_phase,
)

from tokstudio import Corpus, Tokenizer, TrainingConfig, extend, load, train

_NEW = 1_000
_GERMAN = 150_000  # bytes to train on
_ADDED = 10_000


def appended(old: Tokenizer, fresh: Tokenizer) -> Tokenizer:
    """The merges of another vocabulary after the old ones, without those whose token is there."""
    ids = {token: number for number, token in enumerate(old.tokens) if token is not None}
    first = len(old.tokens)
    rows: list[tuple[int, int]] = []
    for left, right in fresh.merges.tolist():
        a, b = fresh.tokens[left] or b"", fresh.tokens[right] or b""
        if a + b not in ids:
            rows.append((ids[a], ids[b]))
            ids[a + b] = first + len(rows) - 1
    return old.extended(np.array(rows, np.int32), first)


def german(chosen: argparse.Namespace) -> None:
    """GPT-2 extended by German, beside the usual way."""
    with texts(chosen, "help/de.txt") as (file,):
        seen = file.read_bytes()[:_GERMAN].decode("utf-8", "ignore")
    old = load(tokenizer_file(chosen, "gpt2"))
    corpus = Corpus.from_text(seen)

    def fresh(merges: int) -> Tokenizer:
        return train(corpus, TrainingConfig(vocabulary_size=256 + merges, pattern=old.pattern))

    fresh(1)  # loads the compiled loops
    size = len(old) + _NEW
    ways = {
        "GPT-2": lambda: old,
        "extended": lambda: extend(old, corpus, TrainingConfig(vocabulary_size=size, pattern=old.pattern)),
        "merges appended": lambda: appended(old, fresh(_NEW)),
    }
    rows: list[list[str]] = []
    tokens: dict[str, int] = {}
    for name, way in ways.items():
        took, made = seconds(way)
        tokens[name] = len(made.encode(seen))
        rows.append([name, f"{len(made):,}", f"{took:.2f} s", f"{tokens[name]:,}"])
    table(["tokenizer", "tokens", "time", "German"], rows)
    given, (_, ours, usual) = "150 kB, 1,000 tokens", tokens.values()
    record("German tokens of GPT-2 extended", given, ours, "tokens", "merges appended", usual, "1.18x")


def one(file: str, start: str) -> dict[str, Any]:
    """Trains here on a file, from nothing or from the tokenizer `start`."""
    old = load(start) if start else None
    size = _ADDED + (256 if old is None else len(old))
    made, trainer = training_by_phase([file], start=old, vocabulary_size=size, pattern="cl100k")
    return {**made, "merges": trainer.merges_made}


def extended(chosen: argparse.Namespace) -> None:
    """The extension of cl100k beside a training from nothing, each in a fresh process."""
    ways = {"trained from nothing": "", "cl100k extended": str(tokenizer_file(chosen, "cl100k_base.tiktoken"))}
    rows: list[list[str]] = []
    took: list[float] = []
    with texts(chosen, chosen.text) as (file,):
        for name, start in ways.items():
            if (made := in_fresh_process(one, str(file), start)) is None:
                sys.exit(f"{name}: failed, see above.")
            took.append(made["seconds"])
            phases = [f"{phase:.2f} s" for phase in (*made["phases"].values(), made["seconds"])]
            rows.append([name, f"{made['merges']:,}", *phases, f"{made['memory'] / 1e6:,.0f} MB"])
    table(["training", "merges", "reading", "counting", "merging", "all", "peak memory"], rows)
    record("extend cl100k by 10,000 tokens", chosen.text, took[1], "s", "trained from nothing", took[0], "0.33x")


if __name__ == "__main__":
    arguments = parser(__doc__)
    arguments.add_argument("--text", default="mixed_100mb.txt", help="what cl100k is extended by")
    run_parts(arguments, german=german, extended=extended)
