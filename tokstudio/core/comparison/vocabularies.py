"""What tokenizers have learned differently: the tokens that only one has, and those that several share."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.text.languages import scripts_work
from tokstudio.core.tokenizer.tokenizer import Tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray

NO_SCRIPT = "None"  # of tokens without a letter
_STEP = 1 << 12


@dataclass(frozen=True, eq=False)
class Vocabularies:
    """The distinct tokens of two tokenizers: those of the first by id, then others of the second; no special tokens.

    Of equal tokens of one tokenizer, the one with the lowest id counts.
    """

    tokens: tuple[bytes, ...]  # [n]
    ids: NDArray[np.int64]  # [n, 2], the id in each tokenizer; -1 where it is missing
    # [n, 2], the number of the merge that makes it, from 1; 0 for none, -1 where it is missing
    ranks: NDArray[np.int64]
    scripts: NDArray[np.int64]  # [n], the script of its first letter, an index into `script_names`
    script_names: tuple[str, ...]

    @property
    def is_in(self) -> NDArray[np.bool_]:
        """Bool [n, 2], whether each tokenizer has the token."""
        return self.ids >= 0

    @property
    def jaccard(self) -> float:
        """Shared tokens / tokens of either; NaN where there are none."""
        both, either = self.is_in.all(axis=1).sum(), len(self.tokens)
        return float(both / either) if either else float("nan")

    def shared_uses(self, counts: NDArray[np.int64]) -> float:
        """The share of the second tokenizer's uses whose token the first one has; NaN where nothing is used.

        `counts` is int64, the uses of the second tokenizer's tokens in some text, by id.
        """
        uses = self.uses(counts, 1)
        total = int(uses.sum())
        return float(uses[self.is_in[:, 0]].sum() / total) if total else float("nan")

    def uses(self, counts: NDArray[np.int64], which: int) -> NDArray[np.int64]:
        """int64 [n], the uses of each token, from int64 counts by id of the tokenizer `which`, 0 or 1."""
        ids = self.ids[:, which]
        are_ids = (ids >= 0) & (ids < len(counts))
        uses = np.zeros(len(ids), np.int64)
        uses[are_ids] = counts[ids[are_ids]]
        return uses


@dataclass(frozen=True, eq=False)
class Overlap:
    """What the vocabularies of tokenizers share, each with each; special tokens are left out."""

    tokenizers: tuple[str, ...]
    jaccard: NDArray[np.float64]  # [n, n], shared tokens / tokens of either
    # [n, n], the share of the uses of the first whose token the second has, too; NaN where the uses are not known
    shared_uses: NDArray[np.float64]


def overlap_work(
    tokenizers: Sequence[tuple[str, Tokenizer]], uses: Sequence[tuple[NDArray[np.int64], NDArray[np.int64]] | None]
) -> Work[Overlap]:
    """Compares vocabularies by the bytes of their tokens.

    Args:
        tokenizers: The tokenizers, each with its name.
        uses: Of each the ids of the tokens that occur in some text, and how often; None where that is not known.
    """
    vocabularies: list[dict[bytes, int]] = []
    for _, tokenizer in tokenizers:
        vocabularies.append((yield from _ids_work(tokenizer)))
    n = len(vocabularies)
    jaccard, shared = np.full((n, n), np.nan), np.full((n, n), np.nan)
    for first, (mine, uses_of_first) in enumerate(zip(vocabularies, uses, strict=True)):
        counts = (
            Counter[int]()
            if uses_of_first is None
            else Counter(dict(zip(*map(np.ndarray.tolist, uses_of_first), strict=True)))
        )
        total = sum(counts[token] for token in mine.values())
        for second, other in enumerate(vocabularies):
            both = mine.keys() & other.keys()
            either = len(mine) + len(other) - len(both)
            jaccard[first, second] = len(both) / either if either else np.nan
            shared[first, second] = sum(counts[mine[token]] for token in both) / total if total else np.nan
            yield Progress("comparing vocabularies", first * n + second, n * n)
    return Overlap(tuple(name for name, _ in tokenizers), jaccard, shared)


def vocabularies_work(first: Tokenizer, second: Tokenizer) -> Work[Vocabularies]:
    """Compares two vocabularies by the bytes of their tokens."""
    tokens_of: dict[bytes, list[int]] = {}
    for which, tokenizer in enumerate((first, second)):
        ranks, ids = _ranks(tokenizer), (yield from _ids_work(tokenizer))
        for number, (spelled, token) in enumerate(ids.items()):
            entry = tokens_of.setdefault(spelled, [-1, -1, -1, -1])
            entry[which], entry[2 + which] = token, ranks.get(token, 0)
            if number % _STEP == 0:
                yield Progress("comparing vocabularies", which * len(ids) + number, 2 * len(ids))
    rows = np.array(list(tokens_of.values()), np.int64).reshape(-1, 4)
    scripts, names = yield from _scripts_work(list(tokens_of))
    return Vocabularies(tuple(tokens_of), rows[:, :2], rows[:, 2:], scripts, names)


def _ids_work(tokenizer: Tokenizer) -> Work[dict[bytes, int]]:
    """The lowest id of each token by its bytes, in the order of ids, without special tokens."""
    specials = set(tokenizer.special_tokens.values())
    tokens: Sequence[bytes | None] = tokenizer.tokens
    token_of: dict[bytes, int] = {}
    ids: list[int] = tokenizer.tokens.ids().tolist()
    for number, token in enumerate(ids):
        spelled = tokens[token]
        if spelled and token not in specials:
            token_of.setdefault(spelled, token)
        if number % _STEP == 0:
            yield Progress("comparing vocabularies", number, len(ids))
    return token_of


def _ranks(tokenizer: Tokenizer) -> dict[int, int]:
    """The number of the first merge that makes each token."""
    results: list[int] = tokenizer.merge_results.tolist()
    return {token: number for number, token in reversed(list(enumerate(results, 1)))}


def _scripts_work(tokens: list[bytes]) -> Work[tuple[NDArray[np.int64], tuple[str, ...]]]:
    letters = np.zeros(len(tokens), np.uint32)
    for number, token in enumerate(tokens):
        text = token.decode("utf-8", "ignore")
        letters[number] = next((ord(character) for character in text if character.isalpha()), 0)
        if number % _STEP == 0:
            yield Progress("comparing vocabularies", number, len(tokens))
    names, of_letter = [NO_SCRIPT], np.zeros(int(letters.max(initial=0)) + 1, np.int64)
    for name, points in (yield from scripts_work(np.unique(letters[letters > 0]))):
        of_letter[points] = len(names)
        names.append(name)
    return of_letter[letters], tuple(names)
