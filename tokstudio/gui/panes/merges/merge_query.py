"""The filter of the merge log: a `FilterQuery` that also finds who chose a merge, and what was removed after it."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.model.picky import LEFT_GONE
from tokstudio.core.model.run import ChosenBy
from tokstudio.gui.token_table.query import FilterQuery

TOGETHER = "all"  # the name where all languages chose together
CHOOSER_HINT = f"by:de lists the merges that the language de chose, and by:{TOGETHER} those that all chose together."
REMOVAL_HINT = "removed: lists the merges that removed a token, and removed:ab those that removed one with ab."

_CHOOSER = re.compile(r"(?:^|\s+)by:(\S*)(?=\s|$)", re.IGNORECASE)
_REMOVAL = re.compile(r"(?:^|\s+)removed:(\S*)(?=\s|$)", re.IGNORECASE)


class MergeQuery(FilterQuery):
    """`by:de` or `removed:ab` before or after the other text.

    Attributes:
        chooser: How the name of the language begins that chose a merge, in small letters; None for any merges.
        removed: What a token has that was removed after a merge, in small letters; None for any merges.
    """

    def __init__(self, text: str) -> None:
        rest, self.chooser = _taken(_CHOOSER, text)
        rest, self.removed = _taken(_REMOVAL, rest)
        super().__init__(rest)
        self.text = text

    def chosen(self, chosen: ChosenBy | None, size: int) -> NDArray[np.bool_] | None:
        """Which of the first merges such a language chose, as bool [size]; None where all pass."""
        if self.chooser is None:
            return None
        if chosen is None:
            return np.zeros(size, np.bool_)
        names = (TOGETHER, *chosen.languages)
        wanted = [number - 1 for number, name in enumerate(names) if name.casefold().startswith(self.chooser)]
        return np.isin(chosen.numbers[:size], wanted)

    def removing(
        self, removals: NDArray[np.int64] | None, parts: NDArray[np.int32], heads: Sequence[bytes]
    ) -> NDArray[np.bool_] | None:
        """After which merges such a token was removed, as bool [n]; None where all pass.

        `parts` has the slots of left and right of each merge, int32 [n, 2], and `heads` the bytes of each slot.
        """
        if self.removed is None:
            return None
        if removals is None:
            return np.zeros(len(parts), np.bool_)
        gone = removals[: len(parts), LEFT_GONE:] >= 0
        if self.removed:
            slots = parts[gone].tolist()
            gone[gone] = [self.removed in heads[slot].decode("utf-8", "replace").casefold() for slot in slots]
        return gone[:, 0] | gone[:, 1]


def _taken(pattern: re.Pattern[str], text: str) -> tuple[str, str | None]:
    """A text without a word, and what follows the colon of that in small letters; None where it is not there."""
    found = pattern.search(text)
    if found is None:
        return text, None
    return f"{text[: found.start()]} {text[found.end() :]}".strip(), found[1].casefold()
