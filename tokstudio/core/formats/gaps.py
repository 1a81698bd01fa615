"""Closes the gaps between the ids of a tokenizer, and says in words which tokens move.

Gaps are where `Tokenizer.at` has put merges aside, or where a file that was opened has them. Nobody calls this unasked.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tokstudio.core.formats.json_reader import shown

if TYPE_CHECKING:
    from tokstudio.core.tokenizer import Tokenizer

_MOST_NAMED = 3


def closed_gaps(tokenizer: Tokenizer) -> tuple[Tokenizer, tuple[str, ...]]:
    """The same tokenizer with ids from 0 on without gaps, and which tokens move, each a sentence.

    Where there are no gaps, and where a library encodes, it is the tokenizer itself and no sentence.

    Example:
        Of 744 merges the first 312 are kept, and the one special token stood behind all of them: it is said that
        'The special token "<|end|>" moves from 1,000 to 568.'
    """
    before = tokenizer.tokens.ids()
    after = np.arange(len(before))
    if len(before) == len(tokenizer.tokens) or tokenizer.library is not None:
        return tokenizer, ()
    compact = tokenizer.compact()
    special = np.isin(before, list(tokenizer.special_tokens.values()))
    moved = before != after
    specials = [
        (f"The special token {shown(text)}", number, compact.special_tokens[text])
        for text, number in sorted(tokenizer.special_tokens.items(), key=lambda item: item[1])
        if number != compact.special_tokens[text]
    ]
    others = zip(before[moved & ~special].tolist(), after[moved & ~special].tolist(), strict=True)
    plain = [("A token", old, new) for old, new in others]
    return compact, (
        *_sentences(specials, "special tokens"),
        *_sentences(plain, "other tokens" if specials else "tokens"),
    )


def _sentences(moves: Sequence[tuple[str, int, int]], several: str) -> list[str]:
    if len(moves) <= _MOST_NAMED:
        return [f"{name} moves from {old:,} to {new:,}." for name, old, new in moves]
    _, old, new = moves[0]
    return [f"{len(moves):,} {several} move, the first from {old:,} to {new:,}."]
