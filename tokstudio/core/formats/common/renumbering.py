"""Closes the gaps between the ids of a tokenizer, and describes in words which tokens move.

Gaps remain where `Tokenizer.at` leaves merges out, or come from an opened file. They are closed only on request.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.base.wording import shown

if TYPE_CHECKING:
    from tokstudio.core.formats.common.format import Format
    from tokstudio.core.tokenizer.tokenizer import Tokenizer

_MOST_NAMED = 3


def closed_gaps(tokenizer: Tokenizer) -> tuple[Tokenizer, tuple[str, ...]]:
    """The same tokenizer with ids from 0 on without gaps, and a sentence for each kind of moved tokens.

    Without gaps, where a library encodes, and with Picky BPE, it is the tokenizer itself and no sentence. A sentence is
    such as 'The special token "<|end|>" moves from 1,000 to 568.'
    """
    before = tokenizer.tokens.ids()
    after = np.arange(len(before))
    fixed = tokenizer.library is not None or tokenizer.removals is not None
    if len(before) == len(tokenizer.tokens) or fixed:
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


def renumbered(original: Tokenizer, tokenizer: Tokenizer, chosen: Format) -> str:
    """A sentence on changed ids, such as "Ids 744-745 became 743-744."; "" where none changed.

    Args:
        original: The tokenizer with the ids shown to the user.
        tokenizer: The written tokenizer: the original, or the same tokens without gaps between their ids.
        chosen: The format, which may change ids.
    """
    before, after = original.tokens.ids(), tokenizer.tokens.ids()
    new_ids = chosen.new_ids(tokenizer)
    return moves(before, after if new_ids is None else new_ids[after])


def moves(before: NDArray[np.integer], after: NDArray[np.integer]) -> str:
    """A sentence on ascending ids that changed, at the same indexes; -1 stands for no new id."""
    moved = (after >= 0) & (before != after)
    old, new = before[moved].astype(np.int64), after[moved].astype(np.int64)
    if len(old) == 0:
        return ""
    starts = np.flatnonzero((np.diff(old, prepend=-2) != 1) | (np.diff(new, prepend=-2) != 1))
    ends = np.append(starts[1:], len(old))
    named = [
        f"{_range(old[start:end])} became {_range(new[start:end])}"
        for start, end in zip(starts[:_MOST_NAMED].tolist(), ends.tolist(), strict=False)
    ]
    more = len(old) - int(ends[: len(named)][-1])
    several = len(old) > 1
    others = f", and {more:,} more changed" if more else ""
    return f"{'Ids' if several else 'Id'} {', '.join(named)}{others}."


def _range(ids: NDArray[np.int64]) -> str:
    first, last = int(ids[0]), int(ids[-1])
    return f"{first:,}" if first == last else f"{first:,}-{last:,}"
