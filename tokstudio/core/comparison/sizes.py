"""Which vocabulary size is enough: what each size of a run compresses, from the tokens of a text after each merge.

A smaller vocabulary is the same run with fewer merges, so no size needs another training.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from tokstudio.core.analysis.token_store import TokenStore
from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.progress import Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.source import Source
from tokstudio.core.tokenizer.counts_by_merge import counts_by_merge_work, why_not_by_merge
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.core.training.curves import SourceCurves

if TYPE_CHECKING:
    from numpy.typing import NDArray

PERCENTS = (90, 95, 99)  # of the compression at the end
TAIL = 1_000  # the last tokens of a vocabulary, which show whether more of them pay off
_LEAST_POWER = 9  # 512: a vocabulary of bytes has 256 already


@dataclass(frozen=True)
class Size:
    """One vocabulary size of a run."""

    vocabulary: int  # tokens in all, with special tokens
    merges: int
    bytes_per_token: float  # of the text
    of_end: float  # `bytes_per_token` in relation to that after all merges
    last: int  # the number of the last merges that `saved` is about: `TAIL`, or all if there are fewer
    saved: int  # tokens that these merges save, in the unit of the tokens
    saved_share: float  # `saved` in relation to the tokens before these merges


def merges_for(tokens: NDArray[np.int64], percent: int) -> int:
    """The least number of merges k with so many percent of the compression at the end.

    Compression is bytes per token of the same text: with n merges in all, k is the least number for which
    bytes / tokens[k] >= percent / 100 * bytes / tokens[n]. It is computed in whole numbers.

    Args:
        tokens: int64 [n + 1], the tokens of a text after 0, 1, ... n merges; they never increase.
        percent: From 1 to 100.
    """
    most = int(tokens[-1]) * 100 // percent
    return int(np.argmax(tokens <= most))


def size_after(tokens: NDArray[np.int64], text_bytes: int, merges: int, vocabularies: NDArray[np.int64]) -> Size:
    """The figures after a number of merges.

    Args:
        tokens: int64 [n + 1], as in `merges_for`, greater than 0.
        text_bytes: The bytes of the text, in the unit of the tokens.
        merges: From 0 to n.
        vocabularies: int64 [n + 1], the tokens of the vocabulary after 0, 1, ... n merges.
    """
    last = min(TAIL, merges)
    before, now, end = (int(tokens[at]) for at in (merges - last, merges, -1))
    size, saved = int(vocabularies[merges]), before - now
    return Size(size, merges, text_bytes / now, end / now, last, saved, saved / before)


def usual_sizes(least: int, most: int) -> list[int]:
    """Powers of two from 512 on, 1,000 and 50,000 doubled again and again, from `least` to `most`, in order."""
    powers = (1 << power for power in range(_LEAST_POWER, most.bit_length()))
    round_sizes = (first << power for first in (1_000, 50_000) for power in range(most.bit_length()))
    return sorted({size for size in (*powers, *round_sizes) if least <= size <= most})


def table_of_sizes(
    tokens: NDArray[np.int64], text_bytes: int, vocabularies: NDArray[np.int64], chosen: Iterable[int] = ()
) -> tuple[Size, ...]:
    """The usual sizes of a run, those that reach `PERCENTS`, the last one, and those after the `chosen` merges.

    The arguments are as in `size_after`; the sizes ascend.
    """
    end = len(tokens) - 1
    wanted = {end, *chosen, *(merges_for(tokens, percent) for percent in PERCENTS)}
    # With removals, a vocabulary may have one size several times: training ends at the first.
    usual = usual_sizes(int(vocabularies[0]), int(vocabularies.max()))
    wanted |= {int(np.argmax(vocabularies >= size)) for size in usual}
    return tuple(size_after(tokens, text_bytes, merges, vocabularies) for merges in sorted(wanted))


def embedding_parameters(vocabulary: int, width: int, tied: bool) -> int:
    """The parameters of a model's embeddings: vocabulary * width.

    If the output layer is not tied to the input embedding, it has as many parameters again.
    """
    return vocabulary * width * (1 if tied else 2)


# --- The sizes from which on other texts have what one of them has ----------------------------------------------------


def parallel_curves_work(
    tokenizer: Tokenizer, named: Sequence[tuple[str, Source]], store: TokenStore
) -> Work[SourceCurves]:
    """Counts the tokens of parallel texts after every merge; each document is a line.

    Raises:
        ConfigError: The tokens after fewer merges do not follow from those after all, or a character is missing.
        FormatError: The library that encodes for the tokenizer refuses the text.
    """
    if (reason := why_not_by_merge(tokenizer)) is not None:
        raise ConfigError(reason)
    tokens = list["NDArray[np.int64]"]()
    for _, source in named:
        counts = (yield from store.counts_work(tokenizer, Corpus((source,)))).by_id(len(tokenizer.tokens))
        tokens.append((yield from counts_by_merge_work(tokenizer, counts)).tokens)
    size = np.array([source.bytes for _, source in named], np.int64)
    lines = len(named[0][1].ends)
    return SourceCurves(tuple(name for name, _ in named), size, np.stack(tokens, axis=1), lines=lines)


def ratios_of(curves: SourceCurves, merges: int | None = None) -> NDArray[np.float64]:
    """Tokens per line where the texts have the same lines, else bytes per token; 0 for a text without tokens.

    float64 [texts] after a number of merges, [merges + 1, texts] for None.
    """
    tokens = curves.tokens if merges is None else curves.tokens[merges]
    if curves.lines:
        return tokens / curves.lines
    return np.divide(curves.bytes, tokens, out=np.zeros(tokens.shape), where=tokens > 0)


def merges_like(curves: SourceCurves, base: int, merges: int) -> tuple[int | None, ...]:
    """The least number of merges after which each text has at least what the base has after `merges` of them.

    That is as few tokens per line where the texts have the same lines, else as many bytes per token. It is compared in
    whole numbers. None for a text that never has it, or has no tokens.

    Args:
        curves: Of the texts.
        base: The number of one of them.
        merges: From 0 to those of the curves.
    """
    amounts = [1] * len(curves.names) if curves.lines else curves.bytes.tolist()
    if not curves.tokens[merges, base]:
        return (None,) * len(amounts)
    found = list[int | None]()
    for minus, amount in zip(curves.minus_fewest, amounts, strict=True):
        # tokens / amount of the text <= tokens / amount of the base
        most = int(curves.tokens[merges, base]) * amount // amounts[base]
        at = int(np.searchsorted(minus, max(-most, int(minus[0]))))
        found.append(at if minus[0] and at < len(minus) else None)
    return tuple(found)
