"""Shares of ten texts from merges: how far they are from known mixtures, and the time with and without intervals.

Help in seven languages, Shakespeare, Python's library and the stubs of PySide6. Every second line is a candidate; of
the others, lines drawn at random are trained on in five random mixtures: 1,500 merges with the pattern of GPT-4.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse
import sysconfig
from pathlib import Path

import numpy as np
import PySide6
from _common import parser, record, run_parts, seconds, table, texts

from tokstudio import Corpus, TrainingConfig, infer_mixture, train

_LANGUAGES = ("en", "de", "fr", "ru", "ja", "ko", "zh")
_TEXTS = (*(f"help/{language}.txt" for language in _LANGUAGES), "shakespeare.txt")
_MIXTURES = 5
_OTHERS = 2_000_000  # bytes of the texts that are not among the data


def _lines(chosen: argparse.Namespace) -> dict[str, list[bytes]]:
    """The lines of each text."""
    with texts(chosen, *_TEXTS) as files:
        read = {name: file.read_bytes() for name, file in zip(_TEXTS, files, strict=True)}
    for name, folder, ending in (
        ("library", Path(sysconfig.get_path("stdlib")), "*.py"),
        ("stubs", Path(PySide6.__file__).parent, "*.pyi"),
    ):
        read[name] = b"".join(file.read_bytes() for file in sorted(folder.glob(ending)))[:_OTHERS]
    return {name: raw[: chosen.bytes].splitlines(keepends=True) for name, raw in read.items()}


def _mixed(lines: list[list[bytes]], draw: np.random.Generator) -> tuple[list[bytes], np.ndarray]:
    """Texts of lines in a random mixture, as large as the lines allow, and their shares."""
    wanted = draw.dirichlet(np.ones(len(lines)))
    total = min(sum(map(len, each)) / share for each, share in zip(lines, wanted, strict=True))
    mixed = list[bytes]()
    for each, share in zip(lines, wanted, strict=True):
        order = draw.permutation(len(each))
        until = int(np.searchsorted(np.cumsum([len(each[at]) for at in order]), total * share)) + 1
        mixed.append(b"".join(each[at] for at in sorted(order[:until])))
    sizes = np.array([len(text) for text in mixed])
    return mixed, sizes / sizes.sum()


def shares(chosen: argparse.Namespace) -> None:
    """Known mixtures, and what is found of them."""
    lines, draw = _lines(chosen), np.random.Generator(np.random.PCG64(0))
    candidates = {name: b"".join(each[1::2]) for name, each in lines.items()}
    config = TrainingConfig(vocabulary_size=256 + 1_500, pattern="cl100k")
    rows, took, alone, worst, inside = list[list[str]](), list[float](), list[float](), 0.0, list[bool]()
    for number in range(_MIXTURES):
        mixed, true = _mixed([each[::2] for each in lines.values()], draw)
        tokenizer = train(Corpus.from_texts(mixed), config)
        if not number:
            infer_mixture(tokenizer, candidates)  # a first call loads the compiled loops
        time, found = seconds(lambda tokenizer=tokenizer: infer_mixture(tokenizer, candidates))
        time_alone, _ = seconds(lambda tokenizer=tokenizer: infer_mixture(tokenizer, candidates, intervals=False))
        took.append(time)
        alone.append(time_alone)
        far = max(abs(each.share - share) for each, share in zip(found.shares, true, strict=True))
        inside += [(each.low or 0) <= share <= (each.high or 1) for each, share in zip(found.shares, true, strict=True)]
        worst = max(worst, 100 * far)
        rows.append([str(number + 1), f"{100 * far:.2f}", f"{time:.2f} s", f"{time_alone:.2f} s"])
    table(["mixture", "worst share, points off", "with intervals", "without"], rows)
    print(f"{100 * np.mean(inside):.0f} % of the shares are within their intervals.")
    given = f"{sum(map(len, candidates.values())) / 1e6:.1f} MB in 10 candidates, 1,000 merges"
    record("shares of texts from merges, with intervals", given, max(took), "s", "without intervals", max(alone), "5 s")
    record("the worst of 50 shares from merges", given, worst, "points", bar="1")


if __name__ == "__main__":
    run_parts(parser(__doc__), shares=shares)
