"""The rows of `variants` for a pattern alone: SuperBPE, whole characters, Picky BPE and BoundlessBPE, beside plain BPE.

The story is measured in the languages whose script the text has.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from _common import in_fresh_process, machine, table, training_by_phase

_ROUNDS = 7
_SIZE, _TRANSITION = 32_000, 24_000
_WAYS: dict[str, dict[str, Any]] = {
    "plain BPE": {},
    "whole characters": {"algorithm": "whole-characters"},
    "SuperBPE": {"algorithm": "superbpe", "transition": _TRANSITION},
    "Picky BPE": {"algorithm": "picky"},
    "BoundlessBPE": {"algorithm": "boundless"},
}


def one_by_pattern(file: str, variant: str, story: Sequence[str]) -> dict[str, Any]:
    """Trains once on a file, and measures its text and the texts of the story."""
    cost, trainer = training_by_phase([file], vocabulary_size=_SIZE, pattern="gpt2", **_WAYS[variant])
    made = trainer.tokenizer()
    lengths, size = [len(made.encode(text)) for text in story], sum(len(text.encode()) for text in story)
    return {**cost, "ratio": trainer.run.bytes_per_token(), "lengths": lengths, "bytes": size}


def by_pattern(program: str, file: Path, story: Sequence[str], gini: Callable[[list[int]], float]) -> None:
    """Prints the table, from the file to the merges."""
    print(f"\nmixed 10 MB, {_SIZE:,} tokens, SuperBPE across words from {_TRANSITION:,} on; {machine()}\n")
    made: dict[str, list[dict[str, Any]]] = {variant: [] for variant in _WAYS}
    for variant in _ROUNDS * [*_WAYS]:
        asked = {"who": "pattern", "file": str(file), "variant": variant, "story": story}
        if (result := in_fresh_process(program, asked)) is not None:
            made[variant].append(result)
    rows = [
        [
            f"TokStudio, {variant}",
            f"{median(result['seconds'] for result in results):.2f} s",
            f"{median(result['memory'] for result in results) / 1e6:.0f} MB",
            f"{results[0]['ratio']:.3f}",
            f"{results[0]['bytes'] / sum(results[0]['lengths']):.3f}",
            f"{gini(results[0]['lengths']):.4f}",
        ]
        for variant, results in made.items()
        if results
    ]
    table(["way", "time", "memory", "bytes per token", "of the story", "Gini of the story"], rows)
