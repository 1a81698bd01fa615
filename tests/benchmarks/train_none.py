"""Training without pre-tokenization: beside rustbpe on the same texts, and how time and memory grow with the text.

To rustbpe the whole text is one sequence too; both train in one process, in turns. It knows no minimum frequency. For
the growth from 10 to 100 MB each training has a process of its own; the corpus is part of its memory.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse
import json

from _common import in_fresh_process, is_installed, machine, parser, record, seconds, table, texts, training_by_phase

from tokstudio import Corpus, TrainingConfig, train

_SIZE = 32_768


def by_rustbpe(text: str, size: int) -> list[bytes]:
    """The tokens that rustbpe makes, in order."""
    import rustbpe

    rival = rustbpe.Tokenizer()
    rival.train_from_iterator(iter([text]), size, pattern=r"[\s\S]+")
    ranks = sorted(rival.get_mergeable_ranks(), key=lambda entry: entry[1])
    return [bytes(token) for token, _ in ranks]


def beside_rustbpe(chosen: argparse.Namespace) -> None:
    """The best of some trainings of ours, and one of rustbpe, whose tokens must be ours by its tie rule."""
    config = TrainingConfig(vocabulary_size=_SIZE)
    train(Corpus.from_text("a first call loads the compiled loops"), config)
    rows: list[list[str]] = []
    with texts(chosen, "shakespeare.txt", "mixed_10mb.txt") as files:
        for file in files:
            corpus, text = Corpus.from_files([file], encoding="bytes"), file.read_bytes().decode()
            ours = min(seconds(lambda: train(corpus, config))[0] for _ in range(chosen.runs))  # noqa: B023
            theirs, tokens = seconds(lambda: by_rustbpe(text, _SIZE))  # noqa: B023
            same = train(corpus, TrainingConfig(vocabulary_size=len(tokens), tie_break="lowest-id")).tokens == tokens
            name = f"{file.name}, {_SIZE:,} tokens"
            rows.append([name, f"{ours:.3f} s", f"{theirs:.2f} s", f"{theirs / ours:.1f}x", "yes" if same else "NO"])
            record("train without a pattern", name, ours, "s", "rustbpe", theirs, "40x")
    table(["text and limit", "TokStudio", "rustbpe", "faster", "same tokens by lowest id"], rows)


def growth(chosen: argparse.Namespace) -> None:
    """Time and memory for 10 and for 100 MB, by size and by frequency."""
    ways: dict[str, dict[str, int]] = {
        f"{_SIZE:,} tokens": {"vocabulary_size": _SIZE},
        "frequency 2": {"min_frequency": 2},
    }
    rows: list[list[str]] = []
    with texts(chosen, "mixed_10mb.txt", "mixed_100mb.txt") as files:
        if chosen.bytes:
            files[0].write_bytes(files[1].read_bytes()[: chosen.bytes // 10].decode(errors="ignore").encode())
        for name, limits in ways.items():
            less, more = (
                min(
                    (in_fresh_process(__file__, [str(file), limits]) or {} for _ in range(chosen.runs)),
                    key=lambda made: made["seconds"],
                )
                for file in files
            )
            grows, share = more["seconds"] / less["seconds"], more["memory"] / more["bytes"]
            times = [f"{less['seconds']:.2f} s", f"{more['seconds']:.2f} s", f"{grows:.1f}x"]
            rows.append([name, f"{more['merges']:,}", *times, f"{more['memory'] / 1e6:,.0f} MB", f"{share:.2f}"])
            if "min_frequency" not in limits:
                record(
                    "peak memory without a pattern, a byte of text",
                    f"{files[1].name}, {name}",
                    share,
                    "bytes",
                    bar="20",
                )
                record("time for ten times the text, no pattern", f"{files[1].name}, {name}", grows, "times", bar="12")
    table(["limits", "merges", "10 MB", "100 MB", "time grows", "peak memory", "bytes a corpus byte"], rows)


def one(file: str, limits: dict[str, int]) -> dict[str, float]:
    """Trains here: seconds without reading, and bytes of memory above what the process held before the corpus."""
    made, trainer = training_by_phase([file], **limits)
    took = made["seconds"] - made["phases"]["reading"]
    return {"seconds": took, "memory": made["memory"], "bytes": trainer.corpus.bytes, "merges": trainer.merges_made}


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--runs", type=int, default=3, help="of ours; the best counts")
    arguments.add_argument("--only", choices=("rustbpe", "growth"), help="one of the tables")
    arguments.add_argument("--one", help="used by itself")
    chosen = arguments.parse_args()
    if chosen.one:
        print(json.dumps(one(*json.loads(chosen.one))))
        return
    print(f"{machine()}\n")
    if chosen.only != "growth" and is_installed("rustbpe"):
        beside_rustbpe(chosen)
    if chosen.only != "rustbpe":
        growth(chosen)


if __name__ == "__main__":
    main()
