"""The two stages of SuperBPE: what is between them, and what holds for both."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.base.errors import ConfigError
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.model.alphabet import Alphabet
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.tokenizer.tokenizer import Tokenizer


def check_corpus(corpus: Corpus, config: TrainingConfig) -> None:
    """Raises ConfigError where a training needs the text of a corpus, not word counts alone."""
    counted = next((source for source in corpus.sources if source.counts is not None), None)
    algorithm = config.algorithm
    if algorithm.needs_text and counted is not None:
        raise ConfigError(
            f"{counted.name} has word counts, but {algorithm.title} {algorithm.needs_text}: open the text."
        )


def start_of_second_stage(merges: NDArray[np.int32], alphabet: Alphabet, base_size: int) -> Tokenizer:
    """The tokenizer of the merges of stage 1, with which stage 2 encodes the pre-tokens of the corpus.

    It has no special tokens, so that the ids of stage 2 follow those of stage 1.
    """
    results = np.arange(base_size, base_size + len(merges), dtype=np.int32)
    return Tokenizer(merges, results, alphabet=alphabet, checked=True)
