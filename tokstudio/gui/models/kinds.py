"""What can be listed of a vocabulary apart from the rest: tokens of one kind, look or use; and the words for them."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.tokens import TokenKind
from tokstudio.gui.models.tokens import KINDS, NOT_UTF8, WHITE_SPACE, RunTokens
from tokstudio.gui.models.uses import NEVER, NO_LONGER, USED, TokenUses

KindFilter = Literal[
    "All",
    "Base",
    "Merges",
    "Special",
    "Whole words",
    "Unreachable",
    "Other",
    "White space",
    "Not UTF-8",
    "Only in longer tokens",
    "Not in the corpus",
]
KIND_FILTERS: tuple[KindFilter, ...] = get_args(KindFilter)

_OF_KIND: dict[str, tuple[TokenKind, ...]] = {
    "Base": ("byte", "character"),
    "Merges": ("merge",),
    "Special": ("special",),
    "Whole words": ("whole word",),
    "Unreachable": ("unreachable",),
    "Other": ("other",),
}
_FLAGS = {"White space": WHITE_SPACE, "Not UTF-8": NOT_UTF8}
_STATES = {"Only in longer tokens": NO_LONGER, "Not in the corpus": NEVER}
_WORDS = {USED: "", NO_LONGER: "only in longer tokens", NEVER: "not in the corpus"}


def needs_flags(chosen: KindFilter) -> bool:
    """Whether tokens must have been gathered before they can be listed."""
    return chosen in _FLAGS


def listed(chosen: KindFilter, tokens: RunTokens, uses: TokenUses, size: int) -> NDArray[np.bool_]:
    """Which of the first `size` tokens are listed, by slot."""
    if chosen in _OF_KIND:
        return np.isin(tokens.kinds(size), [KINDS.index(kind) for kind in _OF_KIND[chosen]])
    if chosen in _FLAGS:
        flags = tokens.flags()[:size]
        return np.pad((flags & _FLAGS[chosen]) > 0, (0, size - len(flags)))
    return uses.states(size) == _STATES[chosen] if chosen in _STATES else np.ones(size, np.bool_)


def notes(slot: int, tokens: RunTokens, uses: TokenUses) -> str:
    """What else is to be said of a token: `"not UTF-8, not in the corpus"`."""
    flags = tokens.flags_of(slot)
    look = "not UTF-8" if flags & NOT_UTF8 else "white space" if flags & WHITE_SPACE else ""
    return ", ".join(filter(None, (look, _WORDS[uses.state_of(slot)])))
