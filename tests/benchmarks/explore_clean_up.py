"""Finding what to leave out: exact duplicates and repeated lines, near duplicates, and each other rule.

Lines are the documents. Beside near duplicates stands the plain count of pre-tokens of the same text in the same run.
With --large, the same on the text several times, each time with other words, so that it grows and repeats as little.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
from _common import costs, in_fresh_process, parser, record, run_parts, table, texts

from tokstudio import Corpus, count
from tokstudio.core.base.progress import finish
from tokstudio.core.corpus.rules import RULES, marks_work

_ROW = 1 << 20


def one(file: str, rules: list[str], counts: bool) -> dict[str, float]:
    """What it costs here to leave out what rules find, or to count pre-tokens."""
    small = Corpus.from_texts(["a line that loads the compiled loops"] * 2 + ["and another one that is not the same"])
    if counts:
        count(small, "gpt2")
    else:
        small.without(rules)
    corpus = Corpus.from_files(file, documents="line")
    if counts:
        cost, _ = costs(lambda: count(corpus, "gpt2", threads=1))
        return cost | {"bytes": float(corpus.bytes)}
    cost, made = costs(lambda: corpus.without(rules))
    return cost | {"bytes": float(corpus.bytes), "left_out": float(corpus.bytes - made.bytes)}


def measured(file: Path, name: str) -> None:
    """Measures the groups of rules on a text."""
    rows: list[list[str]] = []
    groups = {
        "exact duplicates and repeated lines": (["duplicates", "repeated-lines"], "2 s for 100 MB"),
        "near duplicates": (["near-duplicates"], "30 s for 100 MB"),
    }
    plain = in_fresh_process(one, str(file), [], True)
    for work, (rules, bar) in groups.items():
        if (cost := in_fresh_process(one, str(file), rules, False)) is None:
            continue
        share = cost["left_out"] / cost["bytes"]
        rows.append([work, f"{cost['seconds']:.2f} s", f"{cost['memory'] / 1e6:,.0f} MB", f"{share:.1%}"])
        theirs = None if plain is None else plain["seconds"]
        record(
            work, name, cost["seconds"], "s", "" if theirs is None else "counting pre-tokens, one thread", theirs, bar
        )
    if plain is not None:
        rows.append(
            ["counting pre-tokens, one thread", f"{plain['seconds']:.2f} s", f"{plain['memory'] / 1e6:,.0f} MB", ""]
        )
    table([name, "time", "memory", "left out"], rows)


def mixed(chosen: argparse.Namespace) -> None:
    """The rules of documents and repeated lines on 100 MB."""
    with texts(chosen, "mixed_100mb.txt") as (file,):
        measured(file, "mixed 100 MB, lines as documents")


def each_rule(chosen: argparse.Namespace) -> None:
    """Each rule alone, here."""
    with texts(chosen, "mixed_100mb.txt") as (file,):
        corpus = Corpus.from_files(file, documents="line")
        rows: list[list[str]] = []
        for rule in RULES:
            finish(marks_work(Corpus.from_text("a line"), rule))
            cost, marks = costs(lambda rule=rule: finish(marks_work(corpus, rule)))
            rows.append([rule, f"{cost['seconds']:.2f} s", f"{len(marks):,}", f"{int(marks.bytes.sum()):,}"])
        table(["rule, mixed 100 MB", "time", "found", "bytes"], rows)


def large(chosen: argparse.Namespace) -> None:
    """The rules of documents and repeated lines on ten times as much text."""
    with texts(chosen, "mixed_100mb.txt") as (file,), tempfile.TemporaryDirectory() as folder:
        text, grown = np.fromfile(file, np.uint8), Path(folder) / "large.txt"
        letters = np.flatnonzero((np.arange(256) >= ord("a")) & (np.arange(256) <= ord("z")))
        with grown.open("wb") as to:
            for turn in range(10):
                # Other letters in place of these make other words of the same lengths.
                other = np.arange(256, dtype=np.uint8)
                other[letters] = np.roll(letters, turn)
                for at in range(0, len(text), _ROW):
                    to.write(other[text[at : at + _ROW]].tobytes())
        measured(grown, "1 GB of ten times mixed 100 MB, with other words")


if __name__ == "__main__":
    run_parts(parser(__doc__), mixed=mixed, each_rule=each_rule, large=large)
