"""Measures how well a tokenizer compresses held-out text."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tokstudio.core.base.progress import Progress, Work, finish
from tokstudio.core.corpus.source import Source
from tokstudio.core.pretokenization.special_tokens import SpecialFinder

if TYPE_CHECKING:
    from tokstudio.core.model.config import TrainingConfig
    from tokstudio.core.tokenizer.tokenizer import Tokenizer


@dataclass(frozen=True)
class Measured:
    """The bytes and tokens of an encoded text; special tokens are cut out and not counted."""

    bytes: int
    tokens: int

    @property
    def bytes_per_token(self) -> float | None:
        """The compression ratio; None where there is no text."""
        return self.bytes / self.tokens if self.tokens else None


def measure_work(
    tokenizer: Tokenizer, held_out: Sequence[Source], config: TrainingConfig, most: int | None = None
) -> Work[Measured]:
    """Encodes held-out text, document by document, with special tokens cut out as in training.

    `most` is about how many bytes to encode, as documents from all over the text; None for all.

    Raises:
        ConfigError: It has a character that the training text lacks, and there is no unknown token.
    """
    size = sum(len(source.data) for source in held_out)
    every = 1 if most is None else max(1, -(-size // most))
    text_bytes = tokens = 0
    for text in _texts(held_out, config, every):
        tokens += len((yield from tokenizer.encode_work(text)))
        text_bytes += len(text)
        yield Progress("measuring held-out text", min(size, every * text_bytes), size)
    return Measured(text_bytes, tokens)


def _texts(sources: Sequence[Source], config: TrainingConfig, every: int) -> Iterator[bytes]:
    """The pieces of text between special tokens, of one document in `every`."""
    finder = SpecialFinder(token.encode() for token in config.all_specials)
    for source in sources:
        lengths = np.diff(source.ends, prepend=0)[::every]
        for stop, length in zip(source.ends[::every].tolist(), lengths.tolist(), strict=True):
            raw = source.data[stop - length : stop]
            pieces = finish(finder.cut_work(raw, np.array([length], np.int64)))
            for start, end in zip(pieces.starts.tolist(), pieces.stops.tolist(), strict=True):
                text = raw[start:end].tobytes()
                if text:
                    yield text.decode("utf-8", "replace").encode() if config.base == "characters" else text
