"""What can be listed of a vocabulary apart from the rest: tokens of some kinds, looks, scripts and uses; their words.

Of one group any that is chosen will do; of several groups each must hold.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np
import regex
from numpy.typing import NDArray

from tokstudio.core.analysis.reachability import CUT, MADE_OTHERWISE, REACHED
from tokstudio.core.model.tokens import TokenKind
from tokstudio.gui.state.run_tokens import KINDS, RunTokens
from tokstudio.gui.state.token_flags import DIGITS, NOT_UTF8, WHITE_SPACE
from tokstudio.gui.state.token_uses import NEVER, NO_LONGER, UNCOUNTED, UNUSED, USED, TokenUses
from tokstudio.gui.token_table.index import TokenIndex
from tokstudio.gui.token_table.search import TokenSearch

MADE: dict[str, tuple[TokenKind, ...]] = {
    "Base": ("byte", "character"),
    "Merges": ("merge",),
    "Special": ("special",),
    "Whole words": ("whole word",),
    "Unreachable": ("unreachable",),
    "Other": ("other",),
}
LOOKS = {"White space": WHITE_SPACE, "Digits": DIGITS, "Cuts a character": NOT_UTF8}
USES = {
    "Used": (USED,),
    "0 uses now": (NO_LONGER, NEVER, UNUSED),
    "Only in longer tokens": (NO_LONGER,),
    "Not in the corpus": (NEVER,),
}
#: A script is chosen by its name behind this.
SCRIPT = "script:"
_WORDS = {
    USED: "",
    UNCOUNTED: "",
    NO_LONGER: "only in longer tokens",
    NEVER: "not in the corpus",
    UNUSED: "0 uses",
}
_UNREACHED = {MADE_OTHERWISE: "other merges come first", CUT: "always cut by the pattern"}
_REACH = 3  # bytes of a letter on one side of a place within it


def needs_heads(chosen: Collection[str]) -> bool:
    """Whether tokens must have been gathered, or an index made, before they can be listed."""
    return any(one in LOOKS or one.startswith(SCRIPT) for one in chosen)


def listed(
    chosen: Collection[str], tokens: RunTokens, uses: TokenUses, looks: NDArray[np.bool_] | None, size: int
) -> NDArray[np.bool_]:
    """Which of the first `size` tokens are listed, by slot.

    Args:
        chosen: Names of `MADE`, `LOOKS` and `USES`, and scripts.
        tokens: The tokens.
        uses: Their uses.
        looks: Which have one of the chosen looks or scripts; None where none is chosen.
        size: How many tokens there are.
    """
    found = np.ones(size, np.bool_)
    made = [KINDS.index(kind) for one in chosen if one in MADE for kind in MADE[one]]
    if made:
        found &= np.isin(tokens.kinds(size), made)
        if "Unreachable" in chosen and tokens.reach is not None:
            found |= tokens.reach[:size] != REACHED
    states = [state for one in chosen if one in USES for state in USES[one]]
    if states:
        found &= np.isin(uses.states(size), states)
    if looks is not None:
        found &= np.pad(looks[:size], (0, max(0, size - len(looks))))
    return found


def indexed_looks(chosen: Collection[str], index: TokenIndex) -> NDArray[np.bool_]:
    """Which tokens of an index have one of the chosen looks or scripts."""
    wanted = sum(LOOKS[one] for one in chosen if one in LOOKS)
    found = (index.flags & wanted) > 0
    for one in chosen:
        if one.startswith(SCRIPT):
            found |= index.of_script(one.removeprefix(SCRIPT))
    return found


def script_search(chosen: Collection[str], tokens: RunTokens) -> TokenSearch | None:
    """A search of the tokens that are gathered for letters of the chosen scripts; None where none is chosen."""
    names = [one.removeprefix(SCRIPT).replace(" ", "_") for one in chosen if one.startswith(SCRIPT)]
    names = [name for name in names if name != "Other"]
    if not names:
        return None
    wanted = "".join(rf"\p{{Script={name}}}" for name in names)
    # As `scripts_work` counts: a numeral, such as U+3029 of Han, is no letter.
    script = regex.compile(rf"[[\p{{L}}\p{{M}}]&&[{wanted}]]", regex.V1)

    def has_letter(raw: bytes) -> bool:
        return script.search(raw.decode("utf-8", "ignore")) is not None

    return TokenSearch(has_letter, _REACH, tokens.heads, tokens.base, tokens.parts_from)


def looks_of(
    chosen: Collection[str], tokens: RunTokens, first: int, scripts: TokenSearch | None
) -> Iterator[NDArray[np.bool_]]:
    """The same of the tokens that are gathered and no index has, from `first` on, some at a time.

    Args:
        chosen: See `listed`.
        tokens: The tokens.
        first: How many are known.
        scripts: What `script_search` gave; goes on where it was.
    """
    wanted = sum(LOOKS[one] for one in chosen if one in LOOKS)
    found = (tokens.flags()[first:] & wanted) > 0
    if scripts is not None:
        for _ in scripts.go_on():
            yield found[:0]
        found |= np.frombuffer(bytes(scripts.found[first : first + len(found)]), np.bool_)
    yield found


def notes(slot: int, tokens: RunTokens, uses: TokenUses) -> str:
    """What else is to be said of a token: `"not UTF-8, not in the corpus"`."""
    flags = tokens.flags_of(slot)
    look = "not UTF-8" if flags & NOT_UTF8 else "white space" if flags & WHITE_SPACE else ""
    reach = REACHED if tokens.reach is None else int(tokens.reach[slot])
    return ", ".join(filter(None, (look, _UNREACHED.get(reach), _WORDS[uses.state_of(slot)])))
