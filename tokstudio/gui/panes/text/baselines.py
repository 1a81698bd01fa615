"""Counts the tokens of a text with other tokenizers: the simple ones, and those of other runs; work for a job."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Sequence

from tokstudio.core.analysis.baselines import WORDS, WordTokenizer
from tokstudio.core.base.errors import TokStudioError
from tokstudio.core.base.progress import Work
from tokstudio.core.pretokenization.special_tokens import AllowedSpecial
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.core.warm_up import prepare_work

#: The most characters for a comparison; more would take too long while the user types.
LONGEST = 2_000_000
#: The most tokenizers besides the simple ones.
MOST = 6

Count = tuple[str, int | None]


def compare_work(
    text: str, others: Sequence[tuple[str, Tokenizer]], allowed_special: AllowedSpecial = ()
) -> Work[tuple[Count, ...]]:
    """Counts the tokens of a text with each tokenizer, then with the simple ones; None if it cannot encode the text."""
    counts: list[Count] = []
    if others:
        yield from prepare_work()
    for name, tokenizer in others:
        try:
            counts.append((name, len((yield from tokenizer.encode_work(text, allowed_special)))))
        except TokStudioError:
            counts.append((name, None))
    for pattern in (WORDS, None):
        simple = yield from WordTokenizer.from_text_work(text, pattern)
        counts.append((simple.title, len((yield from simple.encode_work(text)))))
    return tuple(counts)
