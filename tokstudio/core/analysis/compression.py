"""Measures how well a tokenizer compresses held-out text."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tokstudio.core.base.progress import Progress, Work, part_of
from tokstudio.core.corpus.source import Source
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.pretokenization.special_tokens import SpecialFinder
from tokstudio.core.tokenizer.tokenizer import Tokenizer

_PHASE = "measuring held-out text"


@dataclass(frozen=True)
class Measured:
    """The bytes and tokens of an encoded text; special tokens are cut out and not counted."""

    bytes: int
    tokens: int

    @property
    def bytes_per_token(self) -> float | None:
        """The compression ratio; None where there is no text."""
        return self.bytes / self.tokens if self.tokens else None


def measure_work(tokenizer: Tokenizer, held_out: Sequence[Source], config: TrainingConfig) -> Work[Measured]:
    """Encodes held-out text, document by document, with special tokens cut out as in training.

    Raises:
        ConfigError: It has a character that the training text lacks, and there is no unknown token.
    """
    finder = SpecialFinder(token.encode() for token in config.all_specials)
    size = sum(len(source.data) for source in held_out)
    text_bytes = tokens = 0
    for source in held_out:
        cutting = finder.cut_work(source.data, source.ends)
        pieces = yield from part_of(cutting, _PHASE, min(size, text_bytes), 0, size)
        for start, stop in zip(pieces.starts.tolist(), pieces.stops.tolist(), strict=True):
            text = source.data[start:stop].tobytes()
            if config.base == "characters":
                text = text.decode("utf-8", "replace").encode()
            tokens += len((yield from tokenizer.encode_work(text)))
            text_bytes += len(text)
            yield Progress(_PHASE, min(size, text_bytes), size)
    return Measured(text_bytes, tokens)
