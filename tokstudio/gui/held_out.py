"""How well a finished run compresses the text that was kept out of it; work for a job."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tokstudio.core.config import TrainingConfig
from tokstudio.core.corpus import Source
from tokstudio.core.errors import ConfigError
from tokstudio.core.progress import Progress, Work, finish
from tokstudio.core.specials import SpecialFinder
from tokstudio.gui.studio_run import StudioRun

_MOST = 2_000_000  # bytes that are encoded; of more, documents from all over


@dataclass(frozen=True, eq=False)
class Measured:
    """What came of it.

    Attributes:
        run: Whose text it was.
        bytes_per_token: The compression ratio; None where there is no text, or it cannot be encoded.
    """

    run: StudioRun
    bytes_per_token: float | None


def measure_work(run: StudioRun) -> Work[Measured]:
    """Encodes held-out text, document by document; special tokens are cut out, as they are in training."""
    config, tokenizer = run.config, run.tokenizer
    assert config is not None
    text_bytes = tokens = 0
    for text in _texts(run.held_out, config):
        try:
            tokens += len((yield from tokenizer.encode_work(text)))
        except ConfigError:
            # A character that the rest of the corpus has not, and no token for what is unknown.
            return Measured(run, None)
        text_bytes += len(text)
        yield Progress("measuring", text_bytes, _MOST)
    return Measured(run, text_bytes / tokens if tokens else None)


def _texts(sources: Sequence[Source], config: TrainingConfig) -> Iterator[bytes]:
    finder = SpecialFinder(token.encode() for token in config.all_specials)
    total = sum(len(source.data) for source in sources)
    step = max(1, -(-total // _MOST))
    for source in sources:
        lengths = np.diff(source.ends, prepend=0)[::step]
        for stop, length in zip(source.ends[::step].tolist(), lengths.tolist(), strict=True):
            for piece in _pieces(finder, source.data[stop - length : stop].tobytes()):
                yield piece.decode("utf-8", "replace").encode() if config.base == "characters" else piece


def _pieces(finder: SpecialFinder, raw: bytes) -> list[bytes]:
    """What of a document is left between special tokens."""
    if not len(finder):
        return [raw]
    cut = finish(finder.cut_work(np.frombuffer(raw, np.uint8), np.array([len(raw)], np.int64)))
    return [
        raw[start:stop] for start, stop in zip(cut.starts.tolist(), cut.stops.tolist(), strict=True) if stop > start
    ]
