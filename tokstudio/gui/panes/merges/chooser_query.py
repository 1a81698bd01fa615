"""The filter of the merge log: a `FilterQuery` that also finds the merges that a language chose."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.model.run import ChosenBy
from tokstudio.gui.token_table.query import FilterQuery

TOGETHER = "all"  # the name where all languages chose together
CHOOSER_HINT = f"by:de lists the merges that the language de chose, and by:{TOGETHER} those that all chose together."

_CHOOSER = re.compile(r"(?:^|\s+)by:(\S*)(?=\s|$)", re.IGNORECASE)


class ChooserQuery(FilterQuery):
    """`by:de`, before or after the other text, finds merges chosen by a language whose name begins with these letters.

    Attributes:
        chooser: How the name begins, in small letters; None for any merges.
    """

    def __init__(self, text: str) -> None:
        found = _CHOOSER.search(text)
        self.chooser = None if found is None else found[1].casefold()
        super().__init__(text if found is None else f"{text[: found.start()]} {text[found.end() :]}".strip())
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
