"""How often each token stands in the corpus at one place of the playhead, and what has become of those that do not."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tokstudio.gui.state.run import StudioRun

# A token stands in the corpus, or later merges have taken all of it up, or it never stood there; or it does not stand
# there, and why is not known; or it is a special token that is cut out, so that nobody has counted it.
USED, NO_LONGER, NEVER, UNUSED, UNCOUNTED = range(5)


class TokenUses:
    """The uses of the tokens that exist after so many merges, by slot.

    Args:
        run: Whose tokens they are.
        playhead: How many merges are applied.
        ids: The id of each slot, for a tokenizer from a file.

    Attributes:
        counts: int64, empty where the run has no counts; then every token counts as used.
    """

    def __init__(self, run: StudioRun | None = None, playhead: int = 0, ids: NDArray[np.int32] | None = None) -> None:
        self.counts = np.zeros(0, np.int64)
        self._absent = np.zeros(0, np.bool_)
        self._specials: dict[int, int | None] = {}
        self._guessed = False
        counts = run.uses(playhead) if run is not None else None
        if run is None or counts is None:
            return
        if run.base_counts is None:
            # Which of the unused ones merges have taken up is not known of a tokenizer that was not trained here.
            self._guessed = True
            order = np.arange(len(counts)) if ids is None else np.minimum(ids, len(counts))
            self.counts = np.append(counts, 0)[order]
            return
        # A merge makes only what stands there, so it is among the base tokens that some were never used.
        self._absent = run.base_counts == 0
        self._add_specials(run, counts)

    def _add_specials(self, run: StudioRun, counts: NDArray[np.int64]) -> None:
        """Puts special tokens in their places; as they are cut out of the corpus, there is nothing to be counted."""
        base, end = run.base_size, run.base_size + len(run)
        trailing = 0
        for text, number in run.special_tokens.items():
            slot = number if number < base else base + number - end
            trailing += number >= base
            self._specials[slot] = run.special_uses(text)
        behind = np.zeros(trailing, np.int64)
        self.counts = np.concatenate([counts[:base], behind, counts[base:]]) if trailing else counts.copy()
        for slot, uses in self._specials.items():
            self.counts[slot] = uses or 0

    @property
    def known(self) -> bool:
        """Whether they have been counted."""
        return len(self.counts) > 0

    def count_of(self, slot: int) -> int | None:
        """How often a token stands in the corpus; None where that is not known, or where the token has gone."""
        if slot in self._specials:
            return self._specials[slot]
        return int(self.counts[slot]) if slot < len(self.counts) else None

    def state_of(self, slot: int) -> int:
        """What has become of a token."""
        if slot in self._specials:
            return _state_of_special(self._specials[slot])
        if self.count_of(slot) != 0:
            return USED
        if self._guessed:
            return UNUSED
        return NEVER if slot < len(self._absent) and self._absent[slot] else NO_LONGER

    def states(self, size: int) -> NDArray[np.int8]:
        """What has become of the first `size` tokens."""
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
    # No merge takes up a special token.
    return UNCOUNTED if uses is None else USED if uses else NEVER
