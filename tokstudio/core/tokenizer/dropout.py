"""BPE-dropout: encoding in which merges are passed over at random, so that a text can become other tokens each time.

Provilkov, Emelianenko and Voita (2020), "BPE-Dropout: Simple and Effective Subword Regularization", arXiv:1910.13267.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from tokstudio.core.base.arguments import plain_number, whole_number
from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.pretokenization.patterns import splitter
from tokstudio.core.pretokenization.special_tokens import Pieces
from tokstudio.core.tokenizer.encoder import Encoder

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LONGEST = 1 << 20  # bytes of a pre-token, which is encoded in one call
_TOGETHER = 1 << 16  # bytes of pre-tokens that are encoded in one call
_BITS = (1 << 64) - 1


@dataclass(frozen=True)
class Dropout:
    """How often merges are passed over, and the seed of the random numbers.

    At each step of a pre-token, every merge that applies is tried, lowest rank first and leftmost first among equals.
    It is passed over with the probability, at this step; the first that is not is done. The pre-token ends as it is
    when all are passed over. So 0 encodes as without dropout, and 1 leaves the base tokens.

    Raises:
        ConfigError: The probability is not from 0 to 1, or the seed is not a whole number from 0 to 2^63 - 1.
    """

    probability: float
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 <= plain_number("The probability of dropout", self.probability) <= 1:
            raise ConfigError(f"The probability of dropout must be from 0 to 1, not {self.probability}.")
        if not 0 <= whole_number("The seed of dropout", self.seed, most=1 << 128) < 1 << 63:
            raise ConfigError(f"The seed of dropout must be from 0 to 2^63 - 1, not {self.seed}.")

    def seeds(self, starts: NDArray[np.int64]) -> NDArray[np.uint64]:
        """uint64 [n], where the random numbers begin of the pre-tokens that begin at these bytes of a prepared text."""
        return _mixed(_mixed(np.full(1, self.seed, np.uint64)) + starts.astype(np.uint64))

    def passes(self, start: int) -> Iterator[bool]:
        """Whether each merge that is tried in the pre-token at a byte is passed over, as in `kernels.dropout`."""
        state = int(self.seeds(np.array([start], np.int64))[0])
        while True:
            state = (state + 0x9E3779B97F4A7C15) & _BITS
            mixed = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & _BITS
            mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _BITS
            yield ((mixed ^ (mixed >> 31)) >> 11) * 2.0**-53 < self.probability


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Spreads numbers over 64 bits, each to another one."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def encode_with_dropout_work(
    encoder: Encoder, dropout: Dropout, data: NDArray[np.uint8], pieces: Pieces, special_ids: NDArray[np.int32]
) -> Work[list[NDArray[np.uint32]]]:
    """Encodes pieces like `Encoder.encode_work`, with dropout; whole words are merged like others.

    Raises:
        ConfigError: A pre-token is longer than 1 MiB, or has a character that is not in the vocabulary.
    """
    ids: list[NDArray[np.uint32]] = []
    split, total = splitter(encoder.pattern), int(pieces.stops[-1])
    for start, stop, special in zip(pieces.starts.tolist(), pieces.stops.tolist(), pieces.specials, strict=True):
        at = start
        for ends in split.ends_work(data, start, stop) if start < stop else ():
            edges = np.append(np.int64(at), ends)
            if int((widths := np.diff(edges)).max(initial=0)) > _LONGEST:
                raise ConfigError(
                    f"A pre-token has {int(widths.max()):,} bytes: dropout needs pre-tokens of at most {_LONGEST:,}. "
                    "Choose a pattern that splits the text."
                )
            first = 0
            while first < len(widths):
                last = max(first + 1, int(np.searchsorted(edges, edges[first] + _TOGETHER, side="right")) - 1)
                ids.append((yield from _words_work(encoder, dropout, data, edges[first : last + 1])))
                first = last
                yield Progress("encoding", int(edges[first]), total)
            at = int(edges[-1])
        if special_ids[special] >= 0:
            ids.append(special_ids[special : special + 1 or None].astype(np.uint32))
    return ids


def _words_work(
    encoder: Encoder, dropout: Dropout, data: NDArray[np.uint8], edges: NDArray[np.int64]
) -> Work[NDArray[np.uint32]]:
    """Encodes neighbouring pre-tokens; `edges` has the start of each, and the end of the last."""
    from tokstudio.core.kernels.encode import encode_with_dropout

    text = data[edges[0] : edges[-1]]
    symbols = yield from encoder.symbols_work(text)
    sizes = np.diff(edges)
    if encoder.base != "bytes":
        sizes = np.add.reduceat((text & 0xC0) != 0x80, edges[:-1] - edges[0]).astype(np.int64)
    ids = np.empty(len(symbols), np.uint32)
    n = encode_with_dropout(
        symbols, sizes, dropout.seeds(edges[:-1]), encoder.pairs, encoder.limit, float(dropout.probability), ids
    )
    return ids[:n]
