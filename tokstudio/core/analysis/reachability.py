"""Finds tokens that no text becomes, because other merges come first, or the pattern or the normalizer prevents it.

Merging depends only on adjacent tokens, so a token that occurs in some text also results from its own bytes alone. That
decides what merges can make. The pattern may still split it in every context: tokens are tried among neighbours of each
class that the named patterns distinguish. A custom expression can depend on anything, however far away, so what it
splits must be proved: a token counts as split only if no match could have it within. Every part of a text in form NFC
is in this form. Land and Bartolo (2024, arXiv:2405.05417) call such tokens unreachable.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, product
from typing import TYPE_CHECKING

import numpy as np

from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.pretokenization.patterns import splitter, word_ends
from tokstudio.core.pretokenization.possible_matches import possible_matches
from tokstudio.core.pretokenization.word_table import PADDING
from tokstudio.core.text.nfc import nfc_changes
from tokstudio.core.text.utf8 import is_utf8
from tokstudio.core.tokenizer.self_encoding import merged_work
from tokstudio.core.tokenizer.tokenizer import Tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: The results for a token: some text becomes it; no merge makes it; its bytes become other tokens; it is always split;
#: the normalizer changes its text.
REACHED, NOT_MADE, MADE_OTHERWISE, CUT, NORMALIZED = range(5)

_NEIGHBOURS = ("", " ", "\n", "a", "A", "中", "\u0301", "1", ".", "'")
# After an apostrophe, patterns distinguish the letters of 's, 're, 've and 'll.
_AROUND = [(before.encode(), behind.encode()) for before, behind in product(_NEIGHBOURS, (*_NEIGHBOURS, *"sel"))]
_MOST = 1 << 24  # bytes of all tokens to try, the shortest first; the others count as reached
_LONGEST = 4096  # bytes of a token to try among neighbours
_STEP = 4096
_FEW = 64  # tokens to try among all neighbours at once


def reachability_work(tokenizer: Tokenizer) -> Work[NDArray[np.uint8]]:
    """Whether some text becomes each id, as one of the constants; uint8 [len(tokenizer.tokens)].

    Special tokens and all tokens of another library count as reached; so do, unless the normalizer changes their text,
    base tokens, what supermerges make and all tokens of Picky BPE, whose removals depend on the text around. For a
    token that begins or ends within a character, or is longer than 4 KiB, the pattern is not tried.
    """
    results = np.full(len(tokenizer.tokens), REACHED, np.uint8)
    unmade = [token for token in tokenizer.extra_tokens if tokenizer.kind(token) == "unreachable"]
    results[unmade] = NOT_MADE
    if tokenizer.library is not None:
        return results
    ordinary = np.setdiff1d(tokenizer.tokens.ids(), [*unmade, *tokenizer.special_tokens.values()]).astype(np.int32)
    changed = (yield from _normalized_work(tokenizer, ordinary)) if tokenizer.preparation.nfc else ordinary[:0]
    results[changed] = NORMALIZED
    if tokenizer.removals is not None:
        return results
    # What a supermerge makes was in the corpus, and depends on the words beside it.
    within = slice(None) if tokenizer.supermerges is None else ~tokenizer.supermerges
    shortest = _shortest(tokenizer, np.setdiff1d(tokenizer.merge_results[within], changed))
    words = tokenizer.whole_words.difference(tokenizer.special_tokens.values(), changed.tolist())
    words = _shortest(tokenizer, np.array(sorted(words), np.int32))
    for first in range(0, len(shortest), _STEP):
        ids = shortest[first : first + _STEP]
        tokens = _bytes_of(tokenizer, ids)
        sizes, last = yield from merged_work(tokenizer, tokens)
        itself = (sizes == 1) & (last == ids)
        results[ids[~itself]] = MADE_OTHERWISE
        cut = yield from _cut_work(tokenizer.pattern, tokens, whole=False)
        results[ids[itself & cut]] = CUT
        yield Progress("trying tokens", first, len(shortest))
    for first in range(0, len(words), _STEP):
        ids = words[first : first + _STEP]
        tokens = _bytes_of(tokenizer, ids)
        cut = yield from _cut_work(tokenizer.pattern, tokens, whole=True)
        results[ids[~cut]] = REACHED
        results[ids[cut & ~(np.isin(ids, shortest) & (results[ids] == REACHED))]] = CUT
    return results


def _normalized_work(tokenizer: Tokenizer, ids: NDArray[np.int32]) -> Work[NDArray[np.int32]]:
    """The ids whose tokens have whole characters that normalization to form C changes, so that no text has them."""
    shortest, found = _shortest(tokenizer, ids), list[int]()
    for first in range(0, len(shortest), _STEP):
        some = shortest[first : first + _STEP]
        tokens = zip(some.tolist(), _bytes_of(tokenizer, some), strict=True)
        found += [token for token, raw in tokens if not raw.isascii() and any(nfc_changes(raw))]
        yield Progress("trying tokens", first, len(shortest))
    return np.array(found, np.int32)


def _cut_work(pattern: str, tokens: Sequence[bytes], *, whole: bool) -> Work[NDArray[np.bool_]]:
    """Which tokens the pattern splits, or gives no pre-token of their own if `whole`, in any context; bool [tokens]."""
    if splitter(pattern).kind < 0:
        return (yield from _never_matched_work(pattern, tokens, whole))
    cut = yield from _cut_among_work(pattern, tokens, [(b"", b"")], whole)
    numbers: list[int] = np.flatnonzero(cut).tolist()
    doubtful = [token for token in numbers if len(tokens[token]) <= _LONGEST and is_utf8(tokens[token])]
    cut[:] = False
    for first in range(0, len(doubtful), _FEW):
        some = doubtful[first : first + _FEW]
        cut[some] = yield from _cut_among_work(pattern, [tokens[token] for token in some], _AROUND, whole)
        yield Progress("trying tokens")
    return cut


def _never_matched_work(pattern: str, tokens: Sequence[bytes], whole: bool) -> Work[NDArray[np.bool_]]:
    """Which tokens no match of a custom expression could have within, or be if `whole`; bool [tokens]."""
    cut = np.zeros(len(tokens), np.bool_)
    if (matches := possible_matches(pattern)) is None:
        return cut
    for number, token in enumerate(tokens):
        if len(token) <= _LONGEST and is_utf8(token):
            cut[number] = not matches.may_have(token.decode(), whole=whole)
        if number % _FEW == 0:
            yield Progress("trying tokens")
    return cut


def _cut_among_work(
    pattern: str, tokens: Sequence[bytes], around: Sequence[tuple[bytes, bytes]], whole: bool
) -> Work[NDArray[np.bool_]]:
    """Which tokens a named pattern splits between all of the given neighbours; bool [tokens]."""
    texts = [before + token + behind for token in tokens for before, behind in around]
    stops = np.fromiter(accumulate(map(len, texts)), np.int64, len(texts))
    data = np.array(np.frombuffer(b"".join(texts) + bytes(PADDING), np.uint8))
    is_end = np.zeros(len(data), np.bool_)
    is_end[0] = True
    for ends, _ in word_ends(splitter(pattern), data, 0, stops):
        is_end[ends] = True
        yield Progress("trying tokens")
    first = np.concatenate([[0], stops[:-1]]) + np.tile([len(before) for before, _ in around], len(tokens))
    last = stops - np.tile([len(behind) for _, behind in around], len(tokens))
    ends_until = np.cumsum(is_end)
    cut = ends_until[last - 1] > ends_until[first]
    if whole:
        cut |= ~(is_end[first] & is_end[last])
    return np.logical_and.reduce(cut.reshape(-1, len(around)), axis=1)


def _shortest(tokenizer: Tokenizer, ids: NDArray[np.int32]) -> NDArray[np.int32]:
    """The shortest tokens whose bytes together are at most `_MOST`."""
    lengths = tokenizer.tokens.lengths()[ids]
    order = np.argsort(lengths, kind="stable")
    return ids[order[np.cumsum(lengths[order]) <= _MOST]]


def _bytes_of(tokenizer: Tokenizer, ids: NDArray[np.int32]) -> list[bytes]:
    numbers: list[int] = ids.tolist()
    return [tokenizer.tokens[token] or b"" for token in numbers]
