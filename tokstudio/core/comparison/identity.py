"""What figures are of, for every form in which they leave: the size and the hash of a tokenizer, and its texts."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict

import numpy as np

from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.wording import several
from tokstudio.core.comparison.counts import AnyTokenizer
from tokstudio.core.tokenizer.tokenizer import Tokenizer


def sized_name(name: str, tokenizer: AnyTokenizer) -> str:
    """A name with the size of the vocabulary: "Run 4 (5,000 tokens)"; without it where Unicode decides (characters)."""
    size = vocabulary_size(tokenizer)
    return name if size is None else f"{name} ({several(size, 'token')})"


def vocabulary_size(tokenizer: AnyTokenizer) -> int | None:
    """All tokens of the vocabulary, special ones too; None where Unicode decides (characters)."""
    return len(tokenizer) if hasattr(tokenizer, "__len__") else None  # pyright: ignore[reportArgumentType]


def trained_texts(tokenizer: AnyTokenizer) -> frozenset[str]:
    """The hashes of the texts that a tokenizer, or one that it was made from, was trained on, as far as is known.

    They are those of `Corpus.counted_hashes`, and the marks of `held_out_marks` of what it held out of them.
    """
    texts, held_out = set[str](), list[frozenset[str]]()
    now = tokenizer if isinstance(tokenizer, Tokenizer) else None
    while now is not None:
        if (run := now.run) is not None:
            texts.update(run.corpus.texts)
            held_out.append(held_out_marks(run.corpus.sha256, run.corpus.weights, run.config.held_out))
        now = None if now.origin is None else now.origin.old
    # What one of several trainings held out, another one may have been trained on.
    return frozenset(texts).union(*(held_out if len(held_out) == 1 else ()))


def held_out_marks(sha256: str, weights: Sequence[int] | None, share: float) -> frozenset[str]:
    """What tells which text a training held out: by the hash of its corpus, the weights and the share; none for 0."""
    used = None if weights is None else [weight > 0 for weight in weights]  # other weights hold out the same
    return frozenset({f"{share!r} held out of {sha256} {used}"} if share else ())


def hash_work(tokenizer: AnyTokenizer) -> Work[str]:
    """The hexadecimal SHA-256 of all that decides the ids of a tokenizer, for one at the playhead of its first merges.

    That is JSON with sorted keys, in which arrays are hashes: base tokens, merges with their results, special and extra
    tokens, pattern and preparation; or the files that its library reads. "" for a simple tokenizer, which its name
    describes.
    """
    if not isinstance(tokenizer, Tokenizer):
        return ""
    told: dict[str, object] = {name: _hash(content) for name, content in tokenizer.source_files.items()}
    yield Progress("hashing")
    alphabet, preparation = tokenizer.alphabet, asdict(tokenizer.preparation)  # which has sets
    rows = np.column_stack([tokenizer.merges, tokenizer.merge_results])
    supermerges, removals = tokenizer.supermerges, tokenizer.removals
    told |= {
        "base": alphabet.base,
        "base_ids": _hash(alphabet.ids.astype("<i8").tobytes()),
        "base_units": _hash(alphabet.units.astype("<i8").tobytes()),
        "unknown": alphabet.unknown,
        "merges": _hash(rows.astype("<i8").tobytes()),
        "supermerges": None if supermerges is None else _hash(supermerges.astype(np.uint8).tobytes()),
        "removals": None if removals is None else _hash(removals.astype("<i8").tobytes()),
        "special_tokens": dict(tokenizer.special_tokens),
        "extra_tokens": {token: made.hex() for token, made in tokenizer.extra_tokens.items()},
        "whole_words": sorted(tokenizer.whole_words),
        "pattern": tokenizer.pattern,
        "first_stage": tokenizer.first_stage,
        "preparation": preparation,
    }
    yield Progress("hashing")
    return _hash(json.dumps(told, sort_keys=True, default=sorted).encode())


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
