"""Many short texts, and what comes back: batches, decoding and a comparison beside tiktoken and tokenizers, GPT-2.

The short texts are the lines of mixed 100 MB. Times are those of the processor; `batch` and `decode` have one thread.
For `compare_flores`, 204 texts of some thousand lines are cut from it, as many as FLORES-200 has languages. Two
tokenizers count them, and tiktoken counts them line by line in a loop. Totals and texts must be equal.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from _common import is_installed, parser, record, run_parts, table, texts, tokenizer_file
from encode import by_tiktoken, lay_out

from tokstudio import Tokenizer, compare, load

T = TypeVar("T")

_LANGUAGES = 204
_BYTES = 390_000  # of one of them
_IDS = 3_200_000


def processor(work: Callable[[], T]) -> tuple[float, T]:
    """Seconds of the processor that something takes, and what it gives."""
    started = time.process_time()
    made = work()
    return time.process_time() - started, made


def encoding_of(tokenizer: Tokenizer, pattern: str) -> Any:
    """The same tokenizer in tiktoken."""
    with tempfile.TemporaryDirectory() as folder:
        lay_out(tokenizer, Path(folder) / pattern)
        return by_tiktoken(Path(folder) / pattern, pattern).__self__  # pyright: ignore[reportFunctionMemberAccess]


def batch(chosen: argparse.Namespace) -> None:
    """Encodes lines, each by itself."""
    tokenizer = load(tokenizer_file(chosen, "gpt2"))
    with texts(chosen, "mixed_100mb.txt") as (file,):
        lines = file.read_bytes()[: chosen.megabytes * 1_000_000].decode("utf-8", "ignore").split("\n")
    given = f"{len(lines):,} lines, {chosen.megabytes} MB, GPT-2"
    tokenizer.encode_batch(lines[:10])  # loads the loops
    ours, made = processor(lambda: tokenizer.encode_batch(lines, threads=1))
    alone = load(tokenizer_file(chosen, "gpt2"))
    alone.encode(lines[0])
    looped, ids = processor(lambda: [alone.encode(line) for line in lines])
    equal = all(row.tolist() == other for row, other in zip(made, ids, strict=True))
    rows = [["TokStudio, encode_batch", f"{ours:.2f} s", "", ""]]
    rows.append(["TokStudio, a loop", f"{looped:.2f} s", f"{looped / ours:.1f}x", "yes" if equal else "NO"])
    rivals: dict[str, tuple[str, Callable[[], Any]]] = {}
    if is_installed("tiktoken"):
        encoding = encoding_of(tokenizer, "gpt2")
        rivals["tiktoken, a loop"] = "tiktoken", lambda: [encoding.encode_ordinary(line) for line in lines]
        rivals["tiktoken, its batch"] = "", lambda: encoding.encode_ordinary_batch(lines, num_threads=1)
    if is_installed("tokenizers"):
        rivals["tokenizers, its fast batch"] = "tokenizers", lambda: _by_tokenizers(tokenizer, lines)
    for name, (library, work) in rivals.items():
        took, theirs = processor(work)
        same = len(theirs) == len(made) and all(row.tolist() == other for row, other in zip(made, theirs, strict=True))
        rows.append([name, f"{took:.2f} s", f"{took / ours:.1f}x", "yes" if same else "NO"])
        if library == "tiktoken":
            record("encode lines one by one", given, looped, "s", library, took, "0.5x")
        if library:
            record("encode a batch of lines", given, ours, "s", library, took, "4x" if library == "tiktoken" else "")
    table([given, "processor", "to ours", "same ids"], rows)


def _by_tokenizers(tokenizer: Tokenizer, lines: list[str]) -> list[list[int]]:
    import tokenizers

    with tempfile.TemporaryDirectory() as folder:
        lay_out(tokenizer, Path(folder) / "gpt2")
        library = tokenizers.Tokenizer.from_file(str(Path(folder) / "gpt2" / "tokenizer.json"))
    return [each.ids for each in library.encode_batch_fast(lines, add_special_tokens=False)]


def decode(chosen: argparse.Namespace) -> None:
    """Decodes a list of ids to one text."""
    tokenizer = load(tokenizer_file(chosen, "gpt2"))
    with texts(chosen, "mixed_100mb.txt") as (file,):
        ids: list[int] = tokenizer.encode_array(file.read_bytes()[:20_000_000])[:_IDS].tolist()
    tokenizer.decode(ids[:1000])  # loads the loop
    ours, text = min((processor(lambda: tokenizer.decode(ids)) for _ in range(3)), key=lambda result: result[0])
    rows = [["TokStudio", f"{ours:.3f} s", "", ""]]
    if is_installed("tiktoken"):
        encoding = encoding_of(tokenizer, "gpt2")
        took, theirs = min((processor(lambda: encoding.decode(ids)) for _ in range(3)), key=lambda result: result[0])
        rows.append(["tiktoken", f"{took:.3f} s", f"{took / ours:.1f}x", "yes" if theirs == text else "NO"])
        record("decode a list of ids", f"{len(ids):,} ids, GPT-2", ours, "s", "tiktoken", took, "1x")
    table(["decode", "processor", "to ours", "same text"], rows)


def compare_flores(chosen: argparse.Namespace) -> None:
    """Counts the tokens of as many texts as FLORES-200 has languages, by two tokenizers."""
    with texts(chosen, "mixed_100mb.txt") as (file,):
        raw = file.read_bytes()
    cut = [raw[at * _BYTES : (at + 1) * _BYTES].decode("utf-8", "ignore").split("\n") for at in range(_LANGUAGES)]
    cut = [lines for lines in cut if lines != [""]]
    languages = {f"text {number}": lines for number, lines in enumerate(cut)}
    size = sum(len(line.encode()) for lines in languages.values() for line in lines) / 1e6
    tokenizers = {
        "gpt2": load(tokenizer_file(chosen, "gpt2")),
        "cl100k": load(tokenizer_file(chosen, "cl100k_base.tiktoken")),
    }
    compare({name: each.at(len(each.merges)) for name, each in tokenizers.items()}, {"a": "Loads the loops."})
    ours, comparison = processor(lambda: compare(tokenizers, languages))
    rows = [["TokStudio, compare", f"{ours:.2f} s", "", ""]]
    if is_installed("tiktoken"):
        encodings = [encoding_of(tokenizer, name) for name, tokenizer in tokenizers.items()]
        took, theirs = processor(
            lambda: [
                [sum(len(each.encode_ordinary(line)) for line in lines) for each in encodings]
                for lines in languages.values()
            ]
        )
        same = np.array_equal(comparison.tokens, theirs)
        rows.append(["tiktoken, a loop", f"{took:.2f} s", f"{took / ours:.1f}x", "yes" if same else "NO"])
        given = f"{len(languages)} texts, {size:.0f} MB, GPT-2 and cl100k"
        record("compare texts of many lines", given, ours, "s", "tiktoken", took, "5x")
    table([f"{len(languages)} texts, {size:.1f} MB", "processor", "to ours", "same totals"], rows)


if __name__ == "__main__":
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    arguments = parser(__doc__)
    arguments.add_argument("--megabytes", type=int, default=52, help="of lines, for batch")
    run_parts(arguments, batch=batch, decode=decode, compare_flores=compare_flores)
