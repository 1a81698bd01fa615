"""Training without pre-tokenization: beside rustbpe on the same texts, and how time and memory grow with the text.

To rustbpe the whole text is one sequence too; both train in one process, in turns. For the growth from 10 to 100 MB
each training has a process of its own; the corpus is part of its memory.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse

from _common import (
    in_fresh_process,
    is_installed,
    parser,
    record,
    run_parts,
    seconds,
    table,
    texts,
    training_by_phase,
)

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
    if not is_installed("rustbpe"):
        return
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
    """Time and memory for 10 and for 100 MB."""
    with texts(chosen, "mixed_10mb.txt", "mixed_100mb.txt") as files:
        if chosen.bytes:
            files[0].write_bytes(files[1].read_bytes()[: chosen.bytes // 10].decode(errors="ignore").encode())
        less, more = (
            min((in_fresh_process(one, str(file)) for _ in range(chosen.runs)), key=lambda made: made["seconds"])
            for file in files
        )
    grows, share = more["seconds"] / less["seconds"], more["memory"] / more["bytes"]
    cells = [f"{less['seconds']:.2f} s", f"{more['seconds']:.2f} s", f"{grows:.1f}x", f"{more['memory'] / 1e6:,.0f} MB"]
    heads = ["limits", "10 MB", "100 MB", "time grows", "peak memory", "bytes a corpus byte"]
    table(heads, [[f"{_SIZE:,} tokens", *cells, f"{share:.2f}"]])
    given = f"mixed_100mb.txt, {_SIZE:,} tokens"
    record("peak memory without a pattern, a byte of text", given, share, "bytes", bar="20")
    record("time for ten times the text, no pattern", given, grows, "times", bar="12")


def one(file: str) -> dict[str, float]:
    """Trains here: seconds without reading, and bytes of memory above what the process held before the corpus."""
    made, trainer = training_by_phase([file], vocabulary_size=_SIZE)
    took = made["seconds"] - made["phases"]["reading"]
    return {"seconds": took, "memory": made["memory"], "bytes": trainer.corpus.bytes}


if __name__ == "__main__":
    arguments = parser(__doc__)
    arguments.add_argument("--runs", type=int, default=3, help="of ours; the best counts")
    run_parts(arguments, rustbpe=beside_rustbpe, growth=growth)
