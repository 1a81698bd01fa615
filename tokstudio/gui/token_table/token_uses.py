"""The counts of tokens in the corpus at one position of the playhead, and the state of unused tokens."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tokstudio.core.base.arrays import empty_until_set
from tokstudio.gui.state.run import StudioRun

if TYPE_CHECKING:
    from numpy.typing import NDArray

# A token occurs in the corpus; or later merges replaced all its occurrences; or it never occurred; or it does not
# occur, for an unknown reason; or it is a special token, which is cut out before counting.
USED, NO_LONGER, NEVER, UNUSED, UNCOUNTED = range(5)


class TokenUses:
    """The counts of the tokens that exist at the playhead, by slot; `ids` has the ids where a file gave them."""

    #: In units of 1 / `scale`; empty if the run has no counts: then every token counts as used.
    counts: NDArray[np.int64] = empty_until_set("int64")
    _absent: NDArray[np.bool_] = empty_until_set("bool")

    def __init__(self, run: StudioRun | None = None, playhead: int = 0, ids: NDArray[np.int32] | None = None) -> None:
        # 1,000 if a source of the run has a weight that is no whole number, else 1
        self.scale = 1 if run is None else run.weight_scale
        self._specials: dict[int, int | None] = {}
        self._guessed = False
        counts = run.uses.at(playhead) if run is not None else None
        if run is None or counts is None:
            return
        if (start_counts := run.log.start_counts) is not None and ids is not None:
            ids = ids[: len(ids) - len(run) + playhead]
            self.counts = counts[ids]
            self._absent = np.append(start_counts == 0, np.False_)[np.minimum(ids, len(start_counts))]
            self._specials = {int(np.flatnonzero(ids == number)[0]): None for number in run.special_tokens.values()}
            return
        if run.uses.base is None:
            # Of an opened tokenizer it is not known which unused tokens were replaced by merges.
            self._guessed = True
            order = np.arange(len(counts)) if ids is None else np.minimum(ids, len(counts))
            self.counts = np.append(counts, 0)[order]
            return
        # A merge only makes tokens that occur, so only base tokens can have never occurred.
        self._absent = run.uses.base == 0
        self._add_specials(run, counts)

    def _add_specials(self, run: StudioRun, counts: NDArray[np.int64]) -> None:
        """Inserts special tokens, which have no counts, as they are cut out of the corpus."""
        base, end = run.base_size, run.base_size + len(run)
        trailing = 0
        for number, uses in run.uses.specials.items():
            slot = number if number < base else base + number - end
            trailing += number >= base
            self._specials[slot] = uses
        behind = np.zeros(trailing, np.int64)
        self.counts = np.concatenate([counts[:base], behind, counts[base:]]) if trailing else counts.copy()
        for slot, uses in self._specials.items():
            self.counts[slot] = uses or 0

    @property
    def known(self) -> bool:
        """Whether the counts are known."""
        return len(self.counts) > 0

    def count_of(self, slot: int) -> int | None:
        """The count of a token; None if it is not known or the token does not exist."""
        if slot in self._specials:
            return self._specials[slot]
        return int(self.counts[slot]) if slot < len(self.counts) else None

    def state_of(self, slot: int) -> int:
        """The state of a token."""
        if slot in self._specials:
            return _state_of_special(self._specials[slot])
        if self.count_of(slot) != 0:
            return USED
        if self._guessed:
            return UNUSED
        return NEVER if slot < len(self._absent) and self._absent[slot] else NO_LONGER

    def states(self, size: int) -> NDArray[np.int8]:
        """The states of the first `size` tokens."""
        states = np.full(size, USED, np.int8)
        unused = np.flatnonzero(self.counts[:size] == 0)
        states[unused] = UNUSED if self._guessed else NO_LONGER
        base = unused[: np.searchsorted(unused, len(self._absent))]
        states[base[self._absent[base]]] = NEVER
        for slot, uses in self._specials.items():
            if slot < size:
                states[slot] = _state_of_special(uses)
        return states


def _state_of_special(uses: int | None) -> int:
    # No merge replaces a special token.
    return UNCOUNTED if uses is None else USED if uses else NEVER
