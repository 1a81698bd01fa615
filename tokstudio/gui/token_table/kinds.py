"""The kinds, forms and uses of tokens for the filters, and their text in the column of notes."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from tokstudio.core.model.tokens import TokenKind
from tokstudio.core.verification.reachability import CUT, MADE_OTHERWISE, REACHED
from tokstudio.gui.state.run_tokens import RunTokens
from tokstudio.gui.state.token_flags import DIGITS, NOT_UTF8, WHITE_SPACE, WORDS
from tokstudio.gui.token_table.token_uses import NEVER, NO_LONGER, UNCOUNTED, UNUSED, USED, TokenUses

MADE: dict[str, tuple[TokenKind, ...]] = {
    "Base": ("byte", "character"),
    "Merges": ("merge",),
    "Special": ("special",),
    "Whole words": ("whole word",),
    "Unreachable": ("unreachable",),
    "Other": ("other",),
}
LOOKS = {"White space": WHITE_SPACE, "Digits": DIGITS, "Cuts a character": NOT_UTF8, "Across words": WORDS}
USES_STATES = {
    "Used": (USED,),
    "0 uses now": (NO_LONGER, NEVER, UNUSED),
    "Only in longer tokens": (NO_LONGER,),
    "Not in the corpus": (NEVER,),
}
#: The prefix of a script in the choice.
SCRIPT = "script:"
_WORDS = {USED: "", UNCOUNTED: "", NO_LONGER: "only in longer tokens", NEVER: "not in the corpus", UNUSED: "0 uses"}
_UNREACHED = {MADE_OTHERWISE: "other merges come first", CUT: "always cut by the pattern"}


def notes(slot: int, tokens: RunTokens, uses: TokenUses) -> str:
    """Further notes on a token: `"not UTF-8, not in the corpus"`."""
    flags = tokens.flags_of(slot)
    look = "not UTF-8" if flags & NOT_UTF8 else "white space" if flags & WHITE_SPACE else ""
    reach = REACHED if tokens.reach is None else int(tokens.reach[slot])
    return ", ".join(filter(None, (look, _UNREACHED.get(reach), _WORDS[uses.state_of(slot)])))
