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
    """Raises ConfigError where a training by SuperBPE cannot split its corpus twice."""
    counted = next((source for source in corpus.sources if source.counts is not None), None)
    if config.algorithm == "superbpe" and counted is not None:
        raise ConfigError(f"{counted.name} has word counts, but SuperBPE splits text in two ways: open the text.")


def start_of_second_stage(
    config: TrainingConfig, merges: NDArray[np.int32], alphabet: Alphabet, base_size: int
) -> Tokenizer:
    """The tokenizer that stage 2 starts from: the merges of stage 1, with the pattern of stage 2.

    Special tokens after the merges are left out, as the ids of stage 2 follow those of stage 1.
    """
    results = np.arange(base_size, base_size + len(merges), dtype=np.int32)
    return Tokenizer(merges, results, alphabet=alphabet, pattern=config.as_second_stage().pattern, checked=True)
