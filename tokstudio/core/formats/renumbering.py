"""Says which ids became others in an export. That they change, and why, is said by the formats beforehand."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from tokstudio.core.formats.base import Format
    from tokstudio.core.tokenizer import Tokenizer

_MOST_NAMED = 3


def renumbered(original: Tokenizer, tokenizer: Tokenizer, chosen: Format) -> str:
    """Which ids became others, a sentence; "" where none did.

    Args:
        original: With the ids as the person knows them.
        tokenizer: What is written: the original, or the same tokens without gaps between their ids.
        chosen: The format, which may number anew.

    Example:
        "Ids 744-745 became 743-744."
    """
    before, after = original.tokens.ids(), tokenizer.tokens.ids()
    new_ids = chosen.new_ids(tokenizer)
    return moves(before, after if new_ids is None else new_ids[after])


def moves(before: NDArray[np.integer], after: NDArray[np.integer]) -> str:
    """The sentence about ids, ascending, that became others, at the same places; -1 is one that no id became."""
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
