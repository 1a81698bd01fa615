"""The rows of `variants` for a pattern alone: SuperBPE, whole characters and BoundlessBPE, beside plain BPE."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

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


def one_by_pattern(file: str, variant: str) -> dict[str, Any]:
    """Trains once on a file, and measures its text."""
    cost, trainer = training_by_phase([file], vocabulary_size=_SIZE, pattern="gpt2", **_WAYS[variant])
    return {**cost, "ratio": trainer.run.bytes_per_token()}


def by_pattern(program: str, file: Path) -> None:
    """Prints the table, from the file to the merges."""
    print(f"\nmixed 10 MB, {_SIZE:,} tokens, SuperBPE across words from {_TRANSITION:,} on; {machine()}\n")
    made: dict[str, list[dict[str, Any]]] = {variant: [] for variant in _WAYS}
    for variant in _ROUNDS * [*_WAYS]:
        if (result := in_fresh_process(program, {"who": "pattern", "file": str(file), "variant": variant})) is not None:
            made[variant].append(result)
    rows = [
        [
            f"TokStudio, {variant}",
            f"{median(result['seconds'] for result in results):.2f} s",
            f"{median(result['memory'] for result in results) / 1e6:.0f} MB",
            f"{results[0]['ratio']:.3f}",
        ]
        for variant, results in made.items()
        if results
    ]
    table(["way", "time", "memory", "bytes per token"], rows)
