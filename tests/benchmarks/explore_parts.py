"""What is in each document of a corpus, and in which documents each token is used, beside a plain encoding of it.

The text is explored with lines as documents, by a tokenizer of 32,000 tokens that is trained on its beginning. Each row
is measured in a process of its own, with the loops loaded by a short text. The plain encoding counts the uses of all
tokens (`count_uses_work`) and keeps nothing; it is measured in the same process, before and after, and the faster
counts.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

from _common import costs, in_fresh_process, parser, record, run_parts, seconds, table, texts

from tokstudio import Corpus, TrainingConfig, explore, load, save, train
from tokstudio.core.analysis.token_counts import count_uses_work
from tokstudio.core.base.progress import finish

_TRAINED_ON = 10_000_000  # bytes


def measured(file: str, folder: str, what: str, repeats: int) -> dict[str, Any]:
    """Explores the lines of a file, given so many times, here; and encodes it."""
    tokenizer = load(folder)
    finish(explore(Corpus.from_texts(["a first call", "loads the compiled loops"] * 20), tokenizer).findings_work())
    corpus = Corpus.from_files([file] * repeats, documents="line")
    before = seconds(lambda: finish(count_uses_work(tokenizer, corpus)))[0]
    here = explore(corpus, tokenizer)
    if what == "findings":
        _ = here.tokens
    cost, _ = costs(here.findings if what == "findings" else lambda: getattr(here, what))
    after = seconds(lambda: finish(count_uses_work(tokenizer, corpus)))[0]
    return {**cost, "encode": min(before, after), "documents": corpus.documents, "parts": here.parts}


_BARS = {"tokens": "4 s, at most 2x", "documents": "6 s", "findings": ""}
_WORK = {
    "tokens": "range, top document, bunched, DP of all tokens",
    "documents": "table of documents, with tokens",
    "findings": "findings of all rules, with the tokens that live there",
}


def parts(chosen: argparse.Namespace) -> None:
    """Seconds and memory of each question, beside those of a plain encoding."""
    rows: list[list[str]] = []
    with texts(chosen, "mixed_100mb.txt") as (file,), tempfile.TemporaryDirectory() as name:
        beginning = Corpus.from_text(file.read_bytes()[:_TRAINED_ON].decode("utf-8", "ignore"))
        folder = Path(name) / "tokenizer"
        save(train(beginning, TrainingConfig(vocabulary_size=32_000, pattern="cl100k")), folder, format="huggingface")
        for what in chosen.questions:
            found = in_fresh_process(measured, str(file), str(folder), what, chosen.repeats)
            if found is None:
                continue
            took, plain = found["seconds"], found["encode"]
            cells = [f"{took:.2f} s", f"{plain:.2f} s", f"{took / plain:.2f}x", f"{found['memory'] / 1e9:.2f} GB"]
            rows.append([_WORK[what], f"{found['documents']:,}", *cells])
            given = f"{file.name}, {found['documents']:,} lines as documents"
            record(f"explore: {_WORK[what]}", given, took, "s", "plain encoding", plain, _BARS[what])
    table(["work", "documents", "time", "plain encoding", "ratio", "memory"], rows)


if __name__ == "__main__":
    arguments = parser(__doc__)
    arguments.add_argument("--questions", choices=_WORK, nargs="*", default=list(_WORK), help="some of the rows")
    arguments.add_argument("--repeats", type=int, default=1, help="times that the text is in the corpus")
    run_parts(arguments, parts=parts)
