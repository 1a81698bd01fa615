"""Every algorithm with a small corpus, and all that a run says: for tests that hold for each of them."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.core.texts import config_by_name
from tokstudio import Corpus, Run, TrainingConfig
from tokstudio.core.corpus.source import Source

BOUNDLESS_TEXT = (
    "one of the cats sat on the mat, at the end of the day: of the 12 cats one of them sat.\n"
    "12345 of the 67 dogs ... ran to the end of the road (and so on), as of the 1st of May!!\n"
) * 6
SUPERBPE_TEXT = (
    "the end of the day: one of the cats sat on the mat, at the end of the day.\n"
    "12345 of the 67 dogs ... ran to the end of the road (and so on), as of the 1st of May!!\n"
) * 6
PICKY_TEXT = "abc " * 10 + "abd " * 9 + "ab " + "the cat and the dog and the bird, then the other cat " * 6
LANGUAGES = {"de": "der dachs und der fuchs " * 5, "fi": "mäyrä ja kettu " * 5}
PARALLEL = {"de": "dachs \U0001f98a", "fi": "mäyrä"}


def boundless(size: int = 300, pattern: str = "gpt2", **more: Any) -> TrainingConfig:
    return config_by_name("boundless", vocabulary_size=size, pattern=pattern, **more)


def superbpe(size: int = 330, transition: int | None = 290, pattern: str = "gpt2", **more: Any) -> TrainingConfig:
    return config_by_name("superbpe", vocabulary_size=size, transition=transition, pattern=pattern, **more)


def picky(size: int | None = 290, **more: Any) -> TrainingConfig:
    return config_by_name("picky", **{"vocabulary_size": size, "threshold": 0.4} | more)


def parity(size: int = 290, **more: Any) -> TrainingConfig:
    given = {"parallel": PARALLEL, "global_merges": 3, "window": 5}
    return config_by_name("parity", **{"vocabulary_size": size} | given | more)


@dataclass(frozen=True)
class Case:
    """An algorithm: what it trains on, its configuration for a size, and a size at which all of it has been at work."""

    corpus: Corpus
    config: Callable[..., TrainingConfig]
    size: int


def _of(texts: dict[str, str]) -> Corpus:
    return Corpus(tuple(Source.from_texts([text], name) for name, text in texts.items()))


CASES = {
    "boundless": Case(_of({"en": BOUNDLESS_TEXT}), boundless, 320),
    "superbpe": Case(_of({"en": SUPERBPE_TEXT}), superbpe, 330),
    "picky": Case(_of({"en": PICKY_TEXT}), picky, 290),
    "parity": Case(_of(LANGUAGES), parity, 290),
}


def facts(run: Run) -> dict[str, Any]:
    """All that a run says of its merges, as plain values."""
    names = ("config", "merges", "counts", "tokens_after", "base_counts", "languages")
    values = {name: getattr(run, name) for name in names}
    values |= run.columns
    return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in values.items()}
