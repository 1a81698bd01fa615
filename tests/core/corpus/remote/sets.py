"""Small data sets, as bytes of files."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import io
import json
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

WORDS = ("der", "die", "Haus", "Bäume", "läuft", "und", "日本", "привет", "of", "the")


@cache
def _pool() -> list[str]:
    """Words of which a packer finds few again: drawn from them, a text is made in a tenth of the time."""
    chance = np.random.default_rng(0)
    kinds, numbers = chance.integers(len(WORDS), size=60_000), chance.integers(10**6, size=60_000)
    return [f"{WORDS[kind]}{number}" for kind, number in zip(kinds.tolist(), numbers.tolist(), strict=True)]


def texts(number: int, seed: int, words: int = 20) -> list[str]:
    """Documents that differ."""
    word, drawn = _pool().__getitem__, np.random.default_rng(seed).integers(60_000, size=(number, words))
    return [" ".join(map(word, row)) + f" {seed}-{at}" for at, row in enumerate(drawn.tolist())]


def parquet(documents: list[str], group: int = 500, **columns: list[object]) -> bytes:
    """A Parquet file with the column text, and others."""
    out = io.BytesIO()
    pq.write_table(
        pa.table({"id": list(range(len(documents))), "text": documents, **columns}), out, row_group_size=group
    )
    return out.getvalue()


def json_lines(documents: list[str]) -> bytes:
    """JSON Lines with the column text."""
    return "".join(json.dumps({"id": row, "text": text}) + "\n" for row, text in enumerate(documents)).encode()


def card(*configurations: str, more: str = "license: odc-by\n") -> bytes:
    """The description of a data set whose configurations have a split train each."""
    listed = "".join(
        f"- config_name: {name}\n  data_files:\n  - split: train\n    path: data/{name}/train-*\n"
        f"  - split: test\n    path: [data/{name}/test-*]\n"
        for name in configurations
    )
    return f"---\n{more}configs:\n{listed}---\n# About\n".encode()
