"""How much text a tokenizer needs: the time and the memory of all its trainings on parts, beside one on all the text.

Mixed 100 MB, 32,000 tokens, the pattern of GPT-2. The trainings are on 1/64, 1/32 ... 1 of the text and on two halves,
so on two and a half times the text. Each way is measured in a process of its own, with the text open.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse

from _common import costs, in_fresh_process, parser, record, run_parts, table, texts

_TEXT = "mixed_100mb.txt"
_SIZE = 32_000


def measured(file: str, of_parts: bool) -> dict[str, float]:
    """Trains on parts of a file, or on all of it once; seconds, and memory above what the open text takes."""
    from tokstudio import Corpus, TrainingConfig, how_much_text, train

    corpus, config = Corpus.from_files([file]), TrainingConfig(vocabulary_size=_SIZE, pattern="gpt2")
    train(
        Corpus.from_text("a first call loads the compiled loops"), TrainingConfig(vocabulary_size=260, pattern="gpt2")
    )
    return costs((lambda: how_much_text(corpus, config)) if of_parts else (lambda: train(corpus, config)))[0]


def parts(chosen: argparse.Namespace) -> None:
    """All trainings beside one."""
    with texts(chosen, _TEXT) as (file,):
        size = file.stat().st_size
        ours, once = (in_fresh_process(measured, str(file), of_parts) for of_parts in (True, False))
    if ours is None or once is None:
        return
    rows = [
        [way, f"{each['seconds']:.1f} s", f"{each['memory'] / 1e6:,.0f} MB"]
        for way, each in (("parts", ours), ("all of it once", once))
    ]
    table(["trainings", "time", "memory beside the text"], rows)
    given = f"mixed {size / 1e6:.0f} MB, {_SIZE:,} tokens, 1/64 to 1 and two halves"
    record("how much text a tokenizer needs", given, ours["seconds"], "s", "one training", once["seconds"])
    record("memory of how much text is needed", given, ours["memory"] / 1e6, "MB", "one training", once["memory"] / 1e6)


if __name__ == "__main__":
    run_parts(parser(__doc__), parts=parts)
