"""Well-known files, recognised by the SHA-256 of their content, with facts that the files lack.

The hashes, patterns and special tokens are those that `tiktoken` publishes.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import hashlib
from codecs import BOM_UTF8
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tokstudio.core.base.progress import Progress, Work

_LARGEST = 1 << 23
_END = "<|endoftext|>"


@dataclass(frozen=True)
class Known:
    """The pattern and the special tokens that belong to a file."""

    pattern: str
    special_tokens: Mapping[str, int]


_GPT2 = Known("gpt2", {_END: 50256})

# The vocabulary and the merges of GPT-2.
PAIRS: Mapping[tuple[str, ...], Known] = {
    (
        "196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783",
        "1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5",
    ): _GPT2
}
RANKS: Mapping[tuple[str, ...], Known] = {
    # r50k_base and p50k_base.
    ("306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930",): _GPT2,
    ("94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069",): _GPT2,
    # cl100k_base.
    ("223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",): Known(
        "cl100k",
        {
            _END: 100257,
            "<|fim_prefix|>": 100258,
            "<|fim_middle|>": 100259,
            "<|fim_suffix|>": 100260,
            "<|endofprompt|>": 100276,
        },
    ),
    # o200k_base.
    ("446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",): Known(
        "o200k", {_END: 199999, "<|endofprompt|>": 200018}
    ),
}


def known_work(files: tuple[Path, ...], among: Mapping[tuple[str, ...], Known]) -> Work[Known | None]:
    """The facts about a set of files; None for unknown files, and for files that cannot be read."""
    hashes: list[str] = []
    for file in files:
        try:
            if not file.is_file() or file.stat().st_size > _LARGEST:
                return None
            hashes.append(hashlib.sha256(file.read_bytes().removeprefix(BOM_UTF8)).hexdigest())
        except OSError:
            # Reading the file later gives a better message.
            return None
        yield Progress("reading")
    return among.get(tuple(hashes))
