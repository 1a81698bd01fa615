"""Draws the pictures of `docs/algorithm.md` from real runs, and prints the rounds of a training on a file.

`python docs/pictures/draw.py` writes the SVG files beside it; `python docs/pictures/draw.py FILE [PATTERN]` prints.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from math import log10
from pathlib import Path

import numpy as np

from tokstudio import Corpus, Trainer, TrainingConfig
from tokstudio.core.algorithms.bpe.engine import PairEngine
from tokstudio.core.algorithms.common.units import Units
from tokstudio.core.base.progress import finish
from tokstudio.core.kernels import tables as k
from tokstudio.core.model.run import Run
from tokstudio.core.training.curves import held_out_work

HERE = Path(__file__).resolve().parent
SAMPLE = HERE.parents[1] / "resources" / "corpora" / "how-tokenizers-work.txt"

# A picture brings its own background, so that it is legible wherever it is shown.
STYLE = """
svg { font: 13px ui-sans-serif, system-ui, sans-serif; }
.mono { font-family: ui-monospace, monospace; }
.ground { fill: #ffffff; } text { fill: #1f2328; } .dim { fill: #6e7781; }
.line { stroke: #8c959f; fill: none; } .box { fill: #f6f8fa; stroke: #8c959f; }
.token { fill: #b6d7ff; } .end { fill: #dbecff; } .stale { fill: #eaeef2; } .border { fill: #d0d7de; }
.one { stroke: #0969da; fill: none; stroke-width: 2; } .two { stroke: #bc4c00; fill: none; stroke-width: 2; }
.floor { stroke: #8250df; fill: none; stroke-width: 1.5; stroke-dasharray: 5 3; }
@media (prefers-color-scheme: dark) {
.ground { fill: #161b22; } text { fill: #e6edf3; } .dim { fill: #9da7b1; }
.line { stroke: #6e7681; } .box { fill: #21262d; stroke: #6e7681; }
.token { fill: #1f4f86; } .end { fill: #1b3350; } .stale { fill: #2b3138; } .border { fill: #484f58; }
.one { stroke: #58a6ff; } .two { stroke: #f0883e; } .floor { stroke: #bc8cff; }
}
"""


def text(x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> str:
    """Some words; `y` is their baseline."""
    words = words.replace("&", "&amp;").replace("<", "&lt;")
    return f'<text x="{x:.0f}" y="{y:.0f}" class="{kind}" text-anchor="{anchor}">{words}</text>'


def box(x: float, y: float, width: float, height: float, kind: str) -> str:
    """A rectangle."""
    return f'<rect x="{x:.0f}" y="{y:.0f}" width="{width:.0f}" height="{height:.0f}" rx="3" class="{kind}"/>'


def path(points: Iterable[tuple[float, float]], kind: str) -> str:
    """Straight lines from point to point."""
    return f'<polyline points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in points)}" class="{kind}"/>'


def write(name: str, width: int, height: int, title: str, parts: list[str]) -> None:
    """Writes one picture."""
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    ground = f'<rect width="{width}" height="{height}" rx="6" class="ground"/>'
    lines = [f'{head} role="img">', f"<title>{title}</title>", f"<style>{STYLE}</style>", ground, *parts, "</svg>"]
    (HERE / name).write_text("\n".join(lines) + "\n", encoding="utf-8")


def engine_of(text: bytes) -> PairEngine:
    """An engine for one document of bytes, each pair counted."""
    symbols = np.array([k.SEPARATOR, *text, k.SEPARATOR], np.int32)
    once = np.empty(0, np.int32)
    units = Units(symbols, once, np.ones(256, np.int64), np.arange(256, dtype=np.int32))
    return PairEngine(units, "first", 1, None)


def layout() -> None:
    """The symbols of `aaabdaaabac` before and after each of its first five merges."""
    engine = engine_of(b"aaabdaaabac")
    names = [chr(byte) for byte in range(256)]
    cell, high, left, top = 46, 30, 128, 46
    parts = [text(left + cell * (i + 0.5), 30, str(i), "dim mono", "middle") for i in range(13)]
    parts.append(text(14, 30, "position", "dim"))
    row = 0
    while row < 6:
        state, tables = engine._state, engine._tables
        y = top + row * (high + 12)
        parts.append(text(14, y + 20, "at first" if row == 0 else f"merge {row}: {names[-1]}", "mono"))
        starts = set[int]()
        at = 0
        while at < state[k.LENGTH]:
            starts.add(at)
            symbol = int(tables.symbols[at])
            at += 1 if symbol < 0 else int(tables.token_span[symbol])
        for i, symbol in enumerate(tables.symbols[: state[k.LENGTH]].tolist()):
            ends = i + 1 in starts or i + 1 == state[k.LENGTH]
            if symbol == k.SEPARATOR:
                kind, shown = "border", "-1"
            elif i in starts:
                kind, shown = "token", names[symbol] if symbol < 256 else str(symbol)
            elif ends:
                kind, shown = "end", f"{symbol & k.TOKEN}+E"
            else:
                kind, shown = "stale", "-2" if symbol == k.INSIDE else f"{symbol & k.TOKEN}+E"
            wide = cell - 3 if ends else cell
            parts.append(box(left + cell * i, y, wide, high, kind))
            parts.append(text(left + cell * i + wide / 2, y + 20, shown, "mono" + " dim" * (kind == "stale"), "middle"))
        while (made := engine.advance(1)) is None or not len(made.left):
            pass
        names.append(names[int(made.left[0])] + names[int(made.right[0])])
        row += 1
    write("layout.svg", left + 13 * cell + 14, top + row * (high + 12) + 4, "The symbols through five merges", parts)


@dataclass(frozen=True)
class Round:
    """One round as it begins: its floor, the merges before it, positions, pairs that reach the floor, and places."""

    floor: int
    merges: int
    positions: int
    pairs: int
    places: int


def rounds_of(corpus: Corpus, config: TrainingConfig) -> tuple[list[Round], Run]:
    """Trains, and notes each round."""
    trainer, rounds = Trainer(corpus, config), list[Round]()
    while trainer.ended is None:
        trainer.advance()
        engine = getattr(trainer._engine, "merger", None)
        if engine is not None and not engine._is_counting and (not rounds or rounds[-1].floor != engine.floor):
            state = engine._state
            merges = 0 if not rounds else trainer.merges_made
            counts = engine._tables.pairs[1 : state[k.PAIRS], k.COUNT]
            pairs = int(np.count_nonzero(counts >= engine.floor))
            rounds.append(Round(engine.floor, merges, int(state[k.LENGTH]), pairs, int(state[k.POOL]) - 1))
    return rounds, trainer.run


def frame(width: int, height: int) -> list[str]:
    """The lower left edges of a plot."""
    return [path([(60, 20), (60, height - 50), (width - 20, height - 50)], "line")]


def rounds() -> None:
    """The count of each merge of the sample, on log scales, with the floors of the rounds."""
    made, run = rounds_of(Corpus.from_files([SAMPLE]), TrainingConfig(vocabulary_size=6000))
    width, height, n = 700, 330, len(run)
    most = log10(int(run.counts[0])) * 1.05

    def x(merge: float) -> float:
        return 60 + (width - 80) * log10(max(1, merge)) / log10(n)

    def y(count: float) -> float:
        return height - 50 - (height - 70) * log10(max(1, count)) / most

    parts = frame(width, height)
    for mark in (1, 10, 100, 1000):
        parts.append(text(x(mark), height - 32, f"{mark:,}", "dim", "middle"))
        if log10(mark) < most:
            parts.append(text(52, y(mark) + 4, f"{mark:,}", "dim", "end"))
    parts.append(text(width / 2, height - 10, "merge", "dim", "middle"))
    parts.append(text(66, 18, "count of the chosen pair", "dim"))
    for here, following in zip(made, [*made[1:], None], strict=True):
        first, last = here.merges + 1, following.merges if following else n
        parts.append(path([(x(first), y(here.floor)), (x(last), y(here.floor))], "floor"))
        words = f"round with floor {here.floor}: merges {first:,} to {last:,}"
        if first == 1:
            parts.append(text(x(first) + 8, y(here.floor) + 17, words))
        else:
            parts.append(text(x(first) - 6, y(here.floor) + (4 if here.floor > 1 else -5), words, "", "end"))
    counts = run.counts.tolist()
    steps = [(x(1), y(counts[0]))]
    for merge in range(2, n + 1):
        if counts[merge - 1] != counts[merge - 2]:
            steps += [(x(merge), y(counts[merge - 2])), (x(merge), y(counts[merge - 1]))]
    parts.append(path([*steps, (x(n), y(counts[-1]))], "one"))
    write("rounds.svg", width, height, "Counts of merges and floors of rounds", parts)


def held_out() -> None:
    """Bytes per token of the text trained on and of the text held out, over merges."""
    config = TrainingConfig(vocabulary_size=2500, pattern="gpt2", held_out=0.1)
    trainer = Trainer(Corpus.from_files([SAMPLE]), config)
    for _ in trainer:
        pass
    prepared, run = trainer.prepared, trainer.run
    assert prepared is not None
    held = finish(held_out_work(run, prepared.held_out))
    trained = prepared.bytes / np.concatenate([[run.tokens_before], run.tokens_after])
    other = held.bytes / held.tokens
    width, height, n = 700, 300, len(run)
    most = float(trained.max()) * 1.05

    def points(curve: np.ndarray) -> list[tuple[float, float]]:
        places = np.unique(np.linspace(0, n, 300).astype(int)).tolist()
        return [(60 + (width - 80) * i / n, height - 50 - (height - 70) * curve[i] / most) for i in places]

    parts = frame(width, height)
    for mark in range(0, n + 1, 500):
        parts.append(text(60 + (width - 80) * mark / n, height - 32, f"{mark:,}", "dim", "middle"))
    for mark in range(0, int(most) + 1):
        parts.append(text(52, height - 46 - (height - 70) * mark / most, str(mark), "dim", "end"))
    parts.append(text(width / 2, height - 10, "merges", "dim", "middle"))
    parts.append(text(66, 18, "bytes per token", "dim"))
    for curve, kind, words, down in ((trained, "one", "text trained on", -12), (other, "two", "text held out", 22)):
        parts.append(path(points(curve), kind))
        end_x, end_y = points(curve)[-60]
        parts.append(text(end_x, end_y + down, words, "", "middle"))
    write("held-out.svg", width, height, "Compression of text trained on and of text held out", parts)


def scanner() -> None:
    """How the scanner of the pattern gpt2 finds the end of a pre-token."""
    parts = [box(14, 20, 230, 46, "box"), text(24, 39, "Step over a blank, if one stands")]
    parts.append(text(24, 57, "here. Which character follows?"))
    rows = (
        ("a letter", "run of letters", "ends where a character is no letter"),
        ("a number", "run of numbers", "ends where a character is no number"),
        ("another", "contraction?", "'s 't 'd 'm 'll 've 're end it; else a run of other characters"),
        ("white space, or the end", "run of white space", "less its last character, unless it is alone or at the end"),
    )
    for number, (seen, state, end) in enumerate(rows):
        y = 96 + 52 * number
        parts.append(path([(40, 66 if number == 0 else y - 34), (40, y + 18), (52, y + 18)], "line"))
        parts.append(text(58, y + 22, seen, "dim"))
        parts.append(path([(212, y + 18), (232, y + 18)], "line"))
        parts.append(box(234, y, 150, 36, "box"))
        parts.append(text(309, y + 22, state, "", "middle"))
        parts.append(text(396, y + 22, end, "dim"))
    write("scanner.svg", 790, 310, "The scanner of the pattern gpt2", parts)


def main() -> None:
    """Draws, or prints the rounds of a training on a file."""
    if len(sys.argv) == 1:
        for draw in (layout, rounds, held_out, scanner):
            draw()
        return
    pattern = sys.argv[2] if len(sys.argv) > 2 else "none"
    made, run = rounds_of(Corpus.from_files([sys.argv[1]]), TrainingConfig(vocabulary_size=32_768, pattern=pattern))
    for here in made:
        sys.stdout.write(f"{here}\n")
    before = np.concatenate([[run.tokens_before], run.tokens_after])
    recounted, merged = int(before[:-1].sum()), int(before[0] - before[-1])
    words = f"{len(run):,} merges; a recount looks at {recounted:,} tokens; {merged:,} tokens were merged away"
    sys.stdout.write(f"{words}\n")


if __name__ == "__main__":
    main()
