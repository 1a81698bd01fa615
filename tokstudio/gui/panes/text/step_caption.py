"""The line that names a step of an encoding."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from tokstudio.core.analysis.encoding_steps import Rounds
from tokstudio.core.base.wording import several
from tokstudio.gui.token_text.spelling import whole_characters
from tokstudio.gui.token_text.token_label import in_characters as characters_label
from tokstudio.gui.token_text.token_label import token_label
from tokstudio.gui.widgets.labels import isolated

_LABEL = 24  # characters of a token


def step_words(rounds: Rounds, number: int, pieces: int, *, in_characters: bool = False) -> str:
    """Describes the step to a state, counted from 0, with its number of pieces."""
    step = rounds.round(number)
    if step.kind == "pre-tokens":
        return f"Split into {several(pieces, 'pre-token')}"
    if step.kind == "base tokens":
        tokenizer = rounds.steps.tokenizer
        unit = "byte" if tokenizer.alphabet.base == "bytes" else "character"
        odd = {*tokenizer.special_tokens.values(), *tokenizer.whole_words}
        if odd.isdisjoint(rounds.state(1).ids.tolist()):
            return f"Base tokens: {several(pieces, unit)}"
        return f"Base tokens: {several(pieces, 'token')}, mostly {unit}s"
    tokens, limit = rounds.steps.tokenizer.tokens, 4 * _LABEL  # a character has four bytes at most
    label = characters_label if in_characters else token_label
    ids = (step.left, *step.parts) if step.kind == "removal" else (step.left, step.right, step.token)
    heads = (whole_characters(tokens.prefix(one, limit + 4), limit) for one in ids)
    first, *others = (isolated(label(head, _LABEL)) for head in heads)
    places = f" at {len(step.starts):,} places" if len(step.starts) > 1 else ""
    lead = f"Step {number + 1:,} of {len(rounds):,}:"
    if step.kind == "removal":
        return f"{lead} {first} → {' + '.join(others)}{places} (removed after merge {step.merge:,})"
    return f"{lead} {first} + {others[0]} → {others[1]}{places} (merge {step.merge:,})"
