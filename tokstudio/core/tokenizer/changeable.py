"""Which tokenizers can be changed: those whose merges decide everything."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from tokstudio.core.base.errors import ConfigError
from tokstudio.core.tokenizer.tokenizer import Tokenizer


def why_fixed(tokenizer: Tokenizer, whole_words: bool = False) -> str | None:
    """Why a tokenizer cannot be changed, a sentence; None where it can.

    `whole_words` says whether tokens that a pre-token becomes without merging may stay what they are; so may merges of
    tokens that later ones make.
    """
    if tokenizer.no_merges is not None:
        return f"This tokenizer cannot be changed. {tokenizer.no_merges}"
    if tokenizer.library is not None:
        return f"This tokenizer cannot be changed: {tokenizer.no_playhead}."
    if tokenizer.removals is not None:
        return "This tokenizer cannot be changed: its encoding also removes tokens again (Picky BPE)."
    if tokenizer.supermerges is not None:
        return "This tokenizer cannot be changed: its supermerges join only words that are whole tokens of it."
    if tokenizer.whole_words and not whole_words:
        number = len(tokenizer.whole_words)
        return (
            f"The tokens of this tokenizer cannot be changed: {number:,} of them are made without merging, because its "
            'file says "ignore_merges".'
        )
    if tokenizer.needed_merges is not None and not whole_words:
        return "The tokens of this tokenizer cannot be changed: some of its merges join tokens that later merges make."
    return None


def check_changeable(tokenizer: Tokenizer, whole_words: bool = False) -> None:
    """Raises ConfigError where a tokenizer cannot be changed; see `why_fixed`."""
    if (reason := why_fixed(tokenizer, whole_words)) is not None:
        raise ConfigError(reason)
