"""Changing tokenizers that exist: GPT-2 extended by German and pruned, and cl100k extended by mixed text.

German: 1,000 tokens from 150 kB, beside the usual way, in which the merges of a German vocabulary trained alone are
appended to GPT-2. Tokens are counted in the text that was trained on, and in as much German after it. The time of an
extension is held against a training on the same text from nothing, with as many merges.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from _common import in_fresh_process, machine, parser, record, seconds, table, texts, training_by_phase

if TYPE_CHECKING:
    from tokstudio import Tokenizer

_NEW = 1_000
_GERMAN = 150_000  # bytes to train on; as many after them are measured too
_PRUNED = 25_000
_ADDED = 10_000


def unreachable(tokenizer: Tokenizer) -> int:
    from tokstudio.core.analysis.reachability import REACHED, reachability_work
    from tokstudio.core.base.progress import finish

    return int(np.count_nonzero(finish(reachability_work(tokenizer)) != REACHED))


def appended(old: Tokenizer, fresh: Tokenizer, most: int | None = None) -> Tokenizer:
    """The merges of another vocabulary after the old ones, without those whose token is there; at most so many."""
    ids = {token: number for number, token in enumerate(old.tokens) if token is not None}
    first = len(old.tokens)
    rows: list[tuple[int, int]] = []
    for left, right in fresh.merges.tolist():
        a, b = fresh.tokens[left] or b"", fresh.tokens[right] or b""
        if a + b not in ids and len(rows) != most:
            rows.append((ids[a], ids[b]))
            ids[a + b] = first + len(rows) - 1
    return old.extended(np.array(rows, np.int32), first)


def changed_lines(old: Tokenizer, new: Tokenizer, text: str) -> float:
    lines = text.splitlines()
    return sum(old.encode(line) != new.encode(line) for line in lines) / len(lines)


def german(gpt2: Path, de: Path, english: Path) -> None:
    """GPT-2 extended by German, beside the usual ways."""
    from tokstudio import Corpus, TrainingConfig, extend, load, train

    old = load(gpt2)
    raw = de.read_bytes()
    seen, unseen = (raw[at : at + _GERMAN].decode("utf-8", "ignore") for at in (0, _GERMAN))
    corpus, reference = Corpus.from_text(seen), english.read_text(encoding="utf-8")

    def fresh(merges: int) -> Tokenizer:
        return train(corpus, TrainingConfig(vocabulary_size=256 + merges, pattern=old.pattern))

    fresh(1)  # loads the compiled loops
    old.encode(seen)
    size = len(old) + _NEW
    ways = {
        "GPT-2": lambda: old,
        "GPT-2 extended": lambda: extend(old, corpus, TrainingConfig(vocabulary_size=size, pattern=old.pattern)),
        f"{_NEW:,} German merges appended": lambda: appended(old, fresh(_NEW)),
        f"German merges appended, {_NEW:,} of them new": lambda: appended(old, fresh(2 * _NEW), _NEW),
    }
    rows: list[list[str]] = []
    tokens: dict[str, int] = {}
    for name, way in ways.items():
        took, made = seconds(way)
        tokens[name] = len(made.encode(seen))
        rows.append(
            [
                name,
                f"{len(made):,}",
                f"{took:.2f} s",
                f"{unreachable(made):,}",
                f"{tokens[name]:,}",
                f"{len(made.encode(unseen)):,}",
                f"{changed_lines(old, made, reference):.2%}",
            ]
        )
    table(["tokenizer", "tokens", "time", "unreachable", "German", "other German", "English lines changed"], rows)
    ours, usual = tokens["GPT-2 extended"], tokens[f"{_NEW:,} German merges appended"]
    record("German tokens of GPT-2 extended", "150 kB, 1,000 tokens", ours, "tokens", "merges appended", usual, "1.18x")


def pruned(gpt2: Path, english: Path) -> None:
    """GPT-2 made smaller, by the highest ids and by use in English."""
    from tokstudio import load, prune

    old = load(gpt2)
    uses = np.bincount(old.encode(english.read_text(encoding="utf-8")))
    rows: list[list[str]] = []
    for name, counts in {"GPT-2 pruned": None, "GPT-2 pruned by use in English": uses}.items():
        took, made = seconds(lambda counts=counts: prune(old, _PRUNED, counts).tokenizer)
        rows.append([name, f"{len(made):,}", f"{took:.2f} s", f"{unreachable(made):,}"])
    table(["tokenizer", "tokens", "time", "unreachable"], rows)


def one(given: dict[str, Any]) -> dict[str, Any]:
    """Trains here on a file, from nothing or from the tokenizer `start`."""
    from tokstudio import load

    start = load(given["start"]) if given["start"] else None
    made, trainer = training_by_phase(
        [given["file"]], start=start, vocabulary_size=_ADDED + (256 if start is None else len(start)), pattern="cl100k"
    )
    return {**made, "merges": trainer.merges_made}


def extended(cl100k: Path, file: Path) -> None:
    """The extension of cl100k beside a training from nothing, each in a fresh process."""
    ways = {"trained from nothing": "", "cl100k extended": str(cl100k)}
    rows: list[list[str]] = []
    took: list[float] = []
    for name, start in ways.items():
        made = in_fresh_process(__file__, {"file": str(file), "start": start})
        if made is None:
            sys.exit(f"{name}: failed, see above.")
        took.append(made["seconds"])
        phases = [f"{made['phases'][phase]:.2f} s" for phase in ("reading", "counting", "merging")]
        time, memory = f"{made['seconds']:.2f} s", f"{made['memory'] / 1e6:,.0f} MB"
        rows.append([name, f"{made['merges']:,}", time, f"{made['seconds'] / took[0]:.2f}x", *phases, memory])
    heads = ["training", "merges", "time", "to the first", "reading", "counting", "merging", "peak memory"]
    table(heads, rows)
    record("extend cl100k by 10,000 tokens", file.name, took[1], "s", "trained from nothing", took[0], "0.33x")


def main() -> None:
    """Prints three tables."""
    arguments = parser(__doc__)
    arguments.add_argument("--text", default="mixed_100mb.txt", help="what cl100k is extended by")
    arguments.add_argument("--only", choices=("german", "pruned", "extended"), nargs="*", help="some of the tables")
    arguments.add_argument("--one", help="used by itself")
    chosen = arguments.parse_args()
    if chosen.one:
        print(json.dumps(one(json.loads(chosen.one))))
        return
    parts = chosen.only or ("german", "pruned", "extended")
    print(f"{machine()}\n")
    with texts(chosen, "shakespeare.txt", "help/de.txt") as (english, de):
        tokenizers = Path(chosen.data) / "tokenizers"
        if "german" in parts:
            german(tokenizers / "gpt2", de, english)
        if "pruned" in parts:
            pruned(tokenizers / "gpt2", english)
    if "extended" in parts:
        with texts(chosen, chosen.text) as (file,):
            extended(tokenizers / "cl100k_base.tiktoken", file)


if __name__ == "__main__":
    main()
