"""Finding what to leave out: exact duplicates and repeated lines, near duplicates, and each other rule.

Lines are the documents. Beside near duplicates stands the plain count of pre-tokens of the same text in the same run.
Training without what was found: 50 MB in five files with planted duplicates, blobs and a nonsense word, cl100k, 32,000
tokens, from *Train Without These* to the finished run, in the library and in the window, beside the training before it.
With --large, the rules on the text several times, each time with other words, so that it grows and repeats as little.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse
import base64
import os
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import numpy as np
from _common import costs, cut, in_fresh_process, parser, record, run_parts, seconds, table, texts

from tokstudio import Corpus, TrainingConfig, count, explore, train
from tokstudio.core.base.progress import finish
from tokstudio.core.corpus.rules import RULES, marks_work

_ROW = 1 << 20
_MIXED, _FILES, _SIZE = 47_000_000, 5, 32_000
_BLOBS, _BLOB, _TWICE, _NONSENSE = 600, 3_000, 4_000, b"zorblax quindle " * 4_000 + b"\n"
_AT_MOST = 120.0  # seconds of each step in the window
_RULES = ["duplicates", "blobs", "repetition"]


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


def rubbish(text: bytes, folder: Path) -> list[str]:
    """Five files of a text with planted lines: some twice, base64 of noise, and a nonsense word 8,000 times."""
    chance = random.Random(41)
    lines = text[: text.rindex(b"\n", 0, _MIXED) + 1].splitlines(keepends=True)
    lines += chance.choices([line for line in lines if len(line) > 200], k=_TWICE)
    lines += [base64.b64encode(chance.randbytes(_BLOB)) + b"\n" for _ in range(_BLOBS)]
    chance.shuffle(lines)
    lines.insert(len(lines) // 3, _NONSENSE)
    return [str(path) for path in cut(b"".join(lines), _FILES, folder)]


def without(files: list[str]) -> dict[str, float]:
    """The seconds of a training here, of what the rules find, and of leaving that out and training again."""
    config = TrainingConfig(vocabulary_size=_SIZE, pattern="cl100k")
    small = Corpus.from_texts(["a line that loads the compiled loops", "zorblax " * 40, "zorblax " * 40])
    explore(small, train(small.without(_RULES), config)).findings()
    corpus = Corpus.from_files(files, documents="line")
    first, tokenizer = seconds(lambda: train(corpus, config))
    found, findings = seconds(lambda: explore(corpus, tokenizer).findings())
    left, rest = seconds(lambda: corpus.without(_RULES))
    again, _ = seconds(lambda: train(rest, config))
    tokens = sum(len(each.tokens) for each in findings if each.rule in _RULES)
    return {"first": first, "findings": found, "leaving out": left, "again": again, "living": tokens}


def without_in_window(files: list[str]) -> dict[str, float]:
    """The same with the actions of the window; the finished run counts, and the sentence about it."""
    from _window import Clock, busy, open_studio

    from tokstudio.gui.state.training_settings import Settings

    took: dict[str, float] = {}
    with open_studio() as studio:
        clock, session, window = Clock(), studio.session, studio.window

        def until(name: str, ready: Callable[[], bool]) -> None:
            began = time.perf_counter()
            clock.during(name, lambda: not ready() and time.perf_counter() - began < _AT_MOST)
            took[name], took[f"gap {name}"] = time.perf_counter() - began, max(clock.gaps)

        session.training.set_settings(Settings(vocabulary_size=_SIZE, pattern="cl100k", documents="line"))
        session.corpus.open_paths([Path(file) for file in files])
        clock.during("", busy(studio))
        window.actions_by_id["train"].trigger()
        until("first", lambda: session.runs.active is not None and not session.training.busy)
        window.actions_by_id["workspace_explore"].trigger()
        window.explore.arrive("clean-up")
        page = window.explore.page
        until("findings", lambda: page.rows.count() > 0 and not page.busy)
        clock.during("", busy(studio))
        for row, finding in enumerate(page.rows.findings):
            if finding.rule in _RULES:
                page.rows.toggle(row)
        clock.during("", busy(studio))
        before = session.runs.active
        page.train.click()
        until("again", lambda: session.runs.active is not before and not session.training.busy)
        until("compared", lambda: not session.cleaning.stage)
        outcome = session.cleaning.outcome
        took["gone"], took["come"] = (outcome.gone, outcome.come) if outcome is not None else (-1, -1)
    return took


def trained_without(chosen: argparse.Namespace) -> None:
    """Trains without what the rules find."""
    with texts(chosen, "mixed_100mb.txt") as (file,), tempfile.TemporaryDirectory() as folder:
        files = rubbish(file.read_bytes(), Path(folder))
        for where, work in (("the library", without), ("the window", without_in_window)):
            if (took := in_fresh_process(work, files)) is None:
                continue
            again = took["again"] + took.get("leaving out", 0)
            table([f"50 MB with rubbish, in {where}", ""], [[name, f"{value:,.2f}"] for name, value in took.items()])
            name = "from *Train Without These* to the finished run" + (", in the window" if "compared" in took else "")
            record(name, "50 MB with rubbish, cl100k, 32,000", again, "s", "the training before", took["first"], "3 s")


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
    run_parts(parser(__doc__), mixed=mixed, each_rule=each_rule, trained_without=trained_without, large=large)
