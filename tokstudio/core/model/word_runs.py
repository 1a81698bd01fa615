"""Runs of words, in which supermerges join: adjacent pre-tokens that are one token each and hold a letter.

Schmidt, Reddy, Tanner and Pinter (2025), "Boundless Byte Pair Encoding", arXiv:2504.00178. Encoding marks the tokens of
runs first, then joins them by rank.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: The bit of a token in a run; and what stands between two texts, as in `kernels.word_runs`.
ALONE, BREAK = 1 << 31, (1 << 31) - 1

_BUDGET = 1 << 18  # tokens per call

_Encode: TypeAlias = "Callable[[NDArray[np.int32]], Work[list[NDArray[np.uint32]]]]"


@dataclass(frozen=True, eq=False)
class Joining:
    """What an `Encoder` joins, and how."""

    holds_letter: NDArray[np.bool_]  # [ids], whether a token holds a letter
    pairs: NDArray[np.int64]  # the supermerges, as the hash table of `kernels.encode`

    def mark(self, ids: NDArray[np.uint32], offsets: NDArray[np.int64]) -> None:
        """Marks the words that are one token with a letter; `offsets` has the start of each word, and the end."""
        first = offsets[:-1][np.diff(offsets) == 1]
        first = first[self.holds_letter[ids[first]]]
        ids[first] |= ALONE

    def joined_work(
        self, marked: Sequence[NDArray[np.uint32]], limit: int, encode: _Encode
    ) -> Work[NDArray[np.uint32]]:
        """Joins the runs of a text in parts by supermerges below rank `limit`; `encode` joins one long run."""
        from tokstudio.core.kernels.encode import join_runs

        ids = np.concatenate([np.empty(0, np.uint32), *marked])
        at = to = 0
        while at < len(ids):
            at, to, end = join_runs(ids, at, to, self.pairs, limit, _BUDGET)
            if end:
                for part in (yield from encode((ids[at:end] & (ALONE - 1)).astype(np.int32))):
                    ids[to : to + len(part)] = part
                    to += len(part)
                at = end
            yield Progress("encoding", at, len(ids))
        return ids[:to]
