"""Figures by which tokenizers are compared; making the tokens is left to them."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Sized

from tokstudio.core.corpus import Text, to_utf8


def compression_ratio(text: Text, tokens: Sized | int) -> float:
    """UTF-8 bytes per token: the higher, the shorter is what a model has to read. 0.0 where there are no tokens.

    Args:
        text: What was encoded.
        tokens: Its ids, or how many they are.
    """
    number = len(tokens) if isinstance(tokens, Sized) else int(tokens)
    return len(to_utf8(text)) / number if number else 0.0
