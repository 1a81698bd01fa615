"""Removes tokens from a tokenizer: to a size, below a number of uses, or those named.

A token can go when no merge that stays needs it: only leaves go, one after another, and each may leave new leaves
behind. A token that other tokens do not need takes no part in making them. So whatever was produced before is produced
after, if it stays, and the merges that stay are a subsequence of those before.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

import numpy as np

from tokstudio.core.base.arguments import whole_number
from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.progress import Progress, Work, finish
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import several
from tokstudio.core.text.languages import SCRIPTS, scripts_work
from tokstudio.core.tokenizer.library_tokenizer import check_changeable
from tokstudio.core.tokenizer.origin import Change, Origin
from tokstudio.core.tokenizer.tokenizer import Tokenizer

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

# --- A tokenizer with other ids, and which old id became which --------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Pruned:
    """A tokenizer after tokens were removed or ids changed."""

    tokenizer: Tokenizer
    new_ids: NDArray[np.int32]  # [ids before], the new id of each; -1: removed, or not in use; read-only
    # Ids before that were to be removed, but that a token which stays needs; ascending.
    needed: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))


def with_ids(
    tokenizer: Tokenizer, new_ids: NDArray[np.int32], change: Change, needed: NDArray[np.int32] | None = None
) -> Pruned:
    """The tokenizer with the ids `new_ids[id]`, and where it is from; see `Tokenizer.renumbered`."""
    origin = Origin(tokenizer, change, new_ids)
    changed = tokenizer.renumbered(new_ids).changed(origin=origin)
    return Pruned(changed, origin.new_ids, np.empty(0, np.int32) if needed is None else needed)


_REPORTED = 1 << 12


def prune(
    tokenizer: Tokenizer,
    vocabulary_size: int | None = None,
    counts: ArrayLike | None = None,
    *,
    least_uses: int | None = None,
    tokens: Iterable[int] | None = None,
    renumber: bool = True,
) -> Pruned:
    """Removes tokens, the least used first among those that no other token needs.

    Of equally used tokens the one with the highest id goes first. Base tokens and special tokens stay.

    Args:
        tokenizer: The tokenizer; one from `at` has only the merges up to there.
        vocabulary_size: The number of tokens to stop at; None to remove all that `least_uses` and `tokens` name.
        counts: int64 by id, the uses of each token, which are never updated; those that are missing at the end are 0.
            None: the uses in the run, if it was trained here; else none, so that the highest ids go first.
        least_uses: Only tokens with fewer uses are removed.
        tokens: Only these ids are removed.
        renumber: Whether to close the gaps between ids, in the same order; otherwise all ids stay.

    Raises:
        ConfigError: Nothing says what to remove; the size is below that of the base tokens and special tokens, or above
            the present one; a token cannot be removed; or the tokenizer cannot be changed (see `changeable`).
    """
    return finish(
        prune_work(tokenizer, vocabulary_size, counts, least_uses=least_uses, tokens=tokens, renumber=renumber)
    )


def prune_work(
    tokenizer: Tokenizer,
    vocabulary_size: int | None = None,
    counts: ArrayLike | None = None,
    *,
    least_uses: int | None = None,
    tokens: Iterable[int] | None = None,
    renumber: bool = True,
) -> Work[Pruned]:
    """Does the same as `prune` in bounded pieces."""
    if vocabulary_size is None and least_uses is None and tokens is None:
        raise ConfigError("Give a vocabulary size, a least number of uses, or tokens: nothing says what to remove.")
    check_changeable(tokenizer)
    most = _most(tokenizer, vocabulary_size)
    order, needed = yield from removal_order_work(tokenizer, counts, least_uses=least_uses, tokens=tokens)
    return without(tokenizer, order[:most], needed, renumber=renumber)


def without(
    tokenizer: Tokenizer, removed: NDArray[np.int32], needed: NDArray[np.int32] | None = None, *, renumber: bool = True
) -> Pruned:
    """The tokenizer without the first tokens of a `removal_order_work`; see `prune` for `renumber`."""
    new_ids = np.full(len(tokenizer.tokens), -1, np.int32)
    left = np.setdiff1d(tokenizer.tokens.ids(), removed)
    new_ids[left] = np.arange(len(left)) if renumber else left
    return with_ids(tokenizer, new_ids, "pruned", needed)


def removal_order_work(
    tokenizer: Tokenizer,
    counts: ArrayLike | None = None,
    *,
    least_uses: int | None = None,
    tokens: Iterable[int] | None = None,
) -> Work[tuple[NDArray[np.int32], NDArray[np.int32]]]:
    """All tokens that `prune` can remove, in the order in which it removes them, whatever the size to stop at.

    Returns:
        int32 [removed], their ids, and int32 [needed], the ids that were to be removed, but that others need.
    """
    uses, scale = _uses(tokenizer, counts)
    may_go = _removable(tokenizer)
    if least_uses is not None:
        may_go &= uses < scale * whole_number("The least number of uses", least_uses)
    if tokens is not None:
        may_go &= _named(tokenizer, tokens)
    made_by: dict[int, list[tuple[int, int]]] = {}
    for pair, result in zip(tokenizer.merges.tolist(), tokenizer.merge_results.tolist(), strict=True):
        made_by.setdefault(result, []).append(pair)
    needed_by = np.bincount(tokenizer.merges.ravel(), minlength=len(may_go)).tolist()
    keys = list(zip(uses.tolist(), range(0, -len(uses), -1), strict=True))
    leaves = [keys[token] for token in np.flatnonzero(may_go).tolist() if not needed_by[token]]
    heapify(leaves)
    order: list[int] = []
    while leaves:
        token = -heappop(leaves)[1]
        order.append(token)
        for part in (part for pair in made_by.get(token, ()) for part in pair):
            needed_by[part] -= 1
            if not needed_by[part] and may_go[part]:
                heappush(leaves, keys[part])
        if len(order) % _REPORTED == 0:
            yield Progress("removing tokens", len(order), len(tokenizer))
    removed = np.array(order, np.int32)
    return removed, np.setdiff1d(np.flatnonzero(may_go), removed).astype(np.int32)


def tokens_of_scripts_work(tokenizer: Tokenizer, scripts: Iterable[str]) -> Work[NDArray[np.int32]]:
    """The ids of tokens with a letter of one of these scripts, such as "Cyrillic", ascending; no base or special ones.

    Raises:
        ConfigError: A script is unknown.
    """
    wanted = set(scripts)
    if strange := sorted(wanted - {*SCRIPTS}):
        raise ConfigError(f'There is no script "{strange[0]}". Choose from: {", ".join(SCRIPTS)}.')
    ids: list[int] = np.flatnonzero(_removable(tokenizer)).tolist()
    texts = {token: (tokenizer.tokens[token] or b"").decode("utf-8", "ignore") for token in ids}
    points = np.array(sorted(map(ord, {*"".join(texts.values())})), np.uint32)
    scripts_of_points = yield from scripts_work(points)
    letters = {chr(point) for script, here in scripts_of_points if script in wanted for point in here.tolist()}
    return np.array([token for token, text in texts.items() if not letters.isdisjoint(text)], np.int32)


def _removable(tokenizer: Tokenizer) -> NDArray[np.bool_]:
    """Whether each id is in use, and neither a base token, nor special, nor the token for unknown characters."""
    may_go = tokenizer.tokens.lengths() >= 0
    may_go[tokenizer.alphabet.ids] = False
    may_go[list(tokenizer.special_tokens.values())] = False
    if (unknown := tokenizer.alphabet.unknown) is not None:
        may_go[unknown : unknown + 1] = False  # there is none at fewer merges than it takes to make it
    return may_go


def _most(tokenizer: Tokenizer, size: int | None) -> int | None:
    """How many tokens to remove at most; None for all."""
    if size is None:
        return None
    size, now = whole_number("The vocabulary size", size), len(tokenizer)
    base = f"{len(tokenizer.alphabet):,} {tokenizer.alphabet.base}"
    specials = several(len(tokenizer.special_tokens), "special token")
    if size < len(tokenizer.alphabet) + len(tokenizer.special_tokens):
        raise ConfigError(f"A vocabulary of {size:,} tokens is too small: the {base} and {specials} must stay.")
    if size > now:
        raise ConfigError(f"Pruning cannot make {size:,} tokens: the tokenizer has {now:,}.")
    return now - size


def _uses(tokenizer: Tokenizer, counts: ArrayLike | None) -> tuple[NDArray[np.int64], int]:
    """int64 [ids], how often each token is used, in units of 1 / the number that is returned too."""
    uses, scale = np.zeros(len(tokenizer.tokens), np.int64), 1
    if counts is None:
        run = tokenizer.run
        of_run = None if run is None else run.uses_in_tokenizer(len(tokenizer.merges))
        counted, scale = (uses[:0], 1) if run is None or of_run is None else (of_run, run.weight_scale)
    else:
        counted = np.asarray(counts)
        if counted.ndim != 1 or len(counted) > len(uses) or (counted.size and counted.dtype.kind not in "iu"):
            raise ConfigError(f"The uses must be whole numbers by id, at most {len(uses):,}.")
    uses[: len(counted)] = counted
    return uses, scale


def _named(tokenizer: Tokenizer, tokens: Iterable[int]) -> NDArray[np.bool_]:
    """Whether each id is among those given."""
    named = np.zeros(len(tokenizer.tokens), np.bool_)
    for token in tokenizer.tokens.known(tokens):
        if (kind := tokenizer.kind(token)) in ("byte", "character", "special"):
            raise ConfigError(f"Token {token} is a {kind}{' token' * (kind == 'special')}, which must stay.")
        named[token] = True
    return named
