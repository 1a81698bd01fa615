"""Searching a corpus, beside `grep -c` of the same file, and for tokens beside a plain encoding; and counting words.

The text is searched with lines as documents. The tokenizer of 32,000 tokens is trained on its beginning. Everything is
measured in one process, in turns with what it stands beside, with the loops loaded by a short text; the fastest of
three counts.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from _common import parser, record, run_parts, seconds, table, texts

from tokstudio import Corpus, Tokenizer, TrainingConfig, explore, train
from tokstudio.core.analysis.token_counts import count_uses_work
from tokstudio.core.base.progress import finish
from tokstudio.core.exploration.exploration import Exploration

_TRAINED_ON = 10_000_000  # bytes
_TIMES = 3
_SEARCHES: dict[str, dict[str, Any]] = {
    "a frequent text": {"text": " the "},
    "a rare text": {"text": "中国"},
    "a text that is not there": {"text": "zqzqzq"},
    "one letter, 6 million hits": {"text": "e"},
    "a text, without case": {"text": "straße", "case": False},
    "a whole word, without case": {"text": "the", "case": False, "whole_words": True},
    "a regular expression": {"regex": r"[A-Z]\w+ing\b"},
}
_BARS = {"a frequent text": "0.5 s", "a rare text": "0.5 s"}


def opened(chosen: argparse.Namespace, file: Path) -> tuple[Exploration, Tokenizer]:
    """The lines of a file, to be explored."""
    beginning = Corpus.from_text(file.read_bytes()[:_TRAINED_ON].decode("utf-8", "ignore"))
    tokenizer = train(beginning, TrainingConfig(vocabulary_size=32_000, pattern="cl100k"))
    small = explore(Corpus.from_texts(["a first call", "loads the compiled loops"] * 20), tokenizer)
    for wanted in ({"text": "a"}, {"text": "A", "case": False, "whole_words": True}, {"token": 97}):
        small.search(**wanted)
    small.boilerplate()
    return explore(Corpus.from_files(file, documents="line"), tokenizer), tokenizer


def beside(work: Callable[[], object], other: Callable[[], object] | None) -> tuple[float, float | None]:
    """The fastest seconds of a work, and of the one that it takes turns with."""
    times = [(seconds(work)[0], seconds(other)[0] if other is not None else None) for _ in range(_TIMES)]
    return min(time for time, _ in times), min((time for _, time in times if time is not None), default=None)


def first_hit(here: Exploration, wanted: dict[str, Any]) -> None:
    """Searches until there is a hit."""
    finish(here.begin_search(**wanted).find_work(1))


def text_search(chosen: argparse.Namespace) -> None:
    """Texts and expressions, counted by source, beside `grep -c`."""
    rows: list[list[str]] = []
    with texts(chosen, "mixed_100mb.txt") as (file,):
        here, _ = opened(chosen, file)
        for what, wanted in _SEARCHES.items():
            # Where its output goes nowhere, grep ends at the first line that it finds.
            options = ["-P"] if "regex" in wanted else ["-F"]
            options += ["-i"] * (wanted.get("case") is False) + ["-w"] * wanted.get("whole_words", False)
            command = ["grep", "-c", *options, wanted.get("regex") or wanted["text"], str(file)]
            grep = None
            if shutil.which("grep"):
                grep = lambda command=command: subprocess.run(command, stdout=subprocess.PIPE, check=False)  # noqa: E731
            took, other = beside(lambda wanted=wanted: here.search(**wanted), grep)
            first, _ = beside(lambda wanted=wanted: first_hit(here, wanted), None)
            rows.append([what, f"{1000 * first:.0f} ms", f"{took:.2f} s", "" if other is None else f"{other:.2f} s"])
            record(f"search: {what}", f"{file.name}, lines", took, "s", "grep -c", other, _BARS.get(what, ""))
    table(["search", "first hit", "all", "grep -c"], rows)


def token_search(chosen: argparse.Namespace) -> None:
    """Tokens, beside a plain encoding."""
    rows: list[list[str]] = []
    with texts(chosen, "mixed_100mb.txt") as (file,):
        here, tokenizer = opened(chosen, file)
        for text in (" the", " of the", "中国"):
            ids = tokenizer.encode(text)
            what = f'the token "{text}"' if len(ids) == 1 else f'{len(ids)} tokens in a row, "{text}"'
            took, plain = beside(
                lambda ids=ids: here.search(ids=ids), lambda: finish(count_uses_work(tokenizer, here.corpus))
            )
            rows.append([what, f"{took:.2f} s", f"{plain:.2f} s"])
            record(f"search: {what}", f"{file.name}, lines", took, "s", "plain encoding", plain, "")
    table(["search", "all", "plain encoding"], rows)


def words(chosen: argparse.Namespace) -> None:
    """Words, runs of them and boilerplate, beside a plain encoding."""
    rows: list[list[str]] = []
    with texts(chosen, "mixed_100mb.txt") as (file,):
        here, tokenizer = opened(chosen, file)
        works: dict[str, Callable[[], object]] = {
            "pre-tokens, read and counted": here.words,
            "runs of 2 pre-tokens": lambda: here.words(2),
            "runs of 5 pre-tokens": lambda: here.words(5),
            "boilerplate": here.boilerplate,
        }
        plain = seconds(lambda: finish(count_uses_work(tokenizer, here.corpus)))[0]
        for what, work in works.items():
            took = seconds(work)[0]  # once: the row of pre-tokens is kept
            rows.append([what, f"{took:.2f} s", f"{plain:.2f} s"])
            record(f"words: {what}", f"{file.name}, lines", took, "s", "plain encoding", plain, "")
    table(["work", "time", "plain encoding"], rows)


if __name__ == "__main__":
    run_parts(parser(__doc__), text=text_search, tokens=token_search, words=words)
