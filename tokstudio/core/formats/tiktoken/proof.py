"""The proof of ranks, by tiktoken, or by TokStudio alone where tiktoken is not installed."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.progress import Work
from tokstudio.core.formats.common.proof import pieces_of, prove_work, trials_work, varied
from tokstudio.core.formats.tiktoken.writer import in_rank_order, merging_losses_work, unclear_specials
from tokstudio.core.pretokenization.patterns import NAMES

if TYPE_CHECKING:
    from tokstudio.core.tokenizer.tokenizer import Tokenizer


def prove_ranks_work(
    tokenizer: Tokenizer, back: Tokenizer, ranks: Path, sidecar: Path, name: str, sample: str
) -> Work[str]:
    """Lets tiktoken read the files and encode; its ids must be equal.

    Args:
        tokenizer: The exported tokenizer.
        back: The tokenizer as TokStudio has read it back.
        ranks: The file of the ranks.
        sidecar: The file of the pattern and the special tokens.
        name: The name of the file in errors.
        sample: Some text.

    Raises:
        FormatError: The ids or the tokenizers differ.
    """
    from tokstudio.core.libraries.client import LibraryInput, check_split_work, is_installed

    expected = in_rank_order(tokenizer)
    agrees = _is_same(back, expected)
    if not agrees and (yield from merging_losses_work(tokenizer)):
        # The losses were accepted: the files are compared with what TokStudio reads in them.
        expected, agrees = back, True
    if is_installed("tiktoken"):
        settings: dict[str, Any] = json.loads(sidecar.read_bytes())
        if expected.pattern not in NAMES:
            # Where few pre-tokens have merges, equal ids would prove little.
            regex = settings["pattern"]
            yield from check_split_work(name, expected.pattern, regex, pieces_of(sample), "tiktoken")
        unclear = unclear_specials(expected.special_tokens)
        clear = {token: number for token, number in settings["special_tokens"].items() if token not in unclear}
        ours = {token: number for token, number in expected.special_tokens.items() if token not in unclear}
        tried = expected if not unclear or expected.library else varied(expected, special_tokens=ours)
        trials = yield from trials_work(tried, sample)
        file = LibraryInput("tiktoken", ranks, name, settings | {"special_tokens": clear})
        proof = yield from prove_work(tried, file, trials)
    else:
        proof = "identical by TokStudio alone: the tiktoken library is not installed"
    if not agrees:
        raise FormatError(f"{name}: when read back, its merges or its special tokens differ from those written.")
    return proof


def _is_same(back: Tokenizer, expected: Tokenizer) -> bool:
    """Whether what was read has the same tokens, and no additional merge or whole word.

    A merge that no text uses is not recovered, and its token becomes a whole word.
    """
    if not np.array_equal(back.tokens.ids(), expected.tokens.ids()):
        return False
    parts = np.full((len(expected.tokens), 2), -1, np.int32)
    parts[expected.merge_results] = expected.merges
    return (
        back.special_tokens == expected.special_tokens
        and np.array_equal(back.byte_ids, expected.byte_ids)
        and np.array_equal(parts[back.merge_results], back.merges)
        and all(expected.tokens[number] == token for number, token in back.extra_tokens.items())
        and back.whole_words <= expected.whole_words
    )
