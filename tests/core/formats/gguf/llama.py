"""llama.cpp for tests, where it is installed."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import importlib.util
from functools import cache

import pytest

from tests.core.formats.trained import trained
from tokstudio.core.base.progress import finish
from tokstudio.core.libraries.client import LibraryInput, Trial, llama_ids, torture_text

# A text of which tokens cross every boundary between words: those where llama.cpp has no exact pattern stand in several
# surroundings, so that tokens within them are made first.
CROSSING = torture_text() * 2 + "".join(
    f"{number}{word}{sign}" for word in ("MÜNCHEN", "FRANÇAIS", "straßeÄpfel", "приветМир", "\n ", "हिन्दी")
    for number, sign in enumerate("!?;:#%&*+=")
)  # fmt: skip


@cache
def crossing(*specials):
    """A tokenizer trained on it, without a pattern."""
    return trained(CROSSING, 5000, special_tokens=specials)


needs_llama = pytest.mark.skipif(importlib.util.find_spec("xllamacpp") is None, reason="llama.cpp is not installed")


def ids_of_llama(path, texts):
    """The ids of texts, special tokens recognised, in a process of its own."""
    answer = finish(llama_ids(LibraryInput("llama.cpp", path, path.name), [Trial(text, None) for text in texts]))
    assert not isinstance(answer, str), answer
    return [ids.tolist() for ids in answer]
