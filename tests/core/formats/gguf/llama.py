"""llama.cpp for tests, where it is installed."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import importlib.util
from array import array
from functools import cache

import numpy as np
import pytest

from tests.core.formats.trained import trained
from tokstudio.core.base.progress import finish
from tokstudio.core.libraries.client import LibraryProcess, torture_text
from tokstudio.core.libraries.server import EncodeByFile, EncodeInput, OpenFile, TryLlama

# A text of which tokens cross every boundary between words: those where llama.cpp has no exact pattern stand in several
# surroundings, so that tokens within them are made first.
CROSSING = torture_text() * 2 + "".join(
    f"{number}{word}{sign}" for word in ("MÜNCHEN", "FRANÇAIS", "straßeÄpfel", "приветМир", "\n ", "हिन्दी")
    for number, sign in enumerate("!?;:#%&*+=")
)  # fmt: skip


@cache
def crossing(*specials):
    """A tokenizer trained on it, without a pattern; longer tokens would cross nothing new, and fill megabytes."""
    return trained(CROSSING, 5000, special_tokens=specials, max_token_bytes=128)


needs_llama = pytest.mark.skipif(importlib.util.find_spec("xllamacpp") is None, reason="llama.cpp is not installed")


@cache
def process():
    """The process that llama.cpp runs in for all tests; a trial has shown that it can be used."""
    process = LibraryProcess()
    assert finish(process.parts(TryLlama("llama.cpp", "trial"))) == [b""]
    return process


def ids_of_llama(path, texts):
    """The ids of texts, special tokens recognised."""
    request = EncodeByFile("llama.cpp", path.name, str(path), {}, texts, [None] * len(texts))
    return [np.frombuffer(part, np.uint32).tolist() for part in finish(process().parts(request))]


def inputs_of_llama(path, texts):
    """The ids of texts as a model gets them, with BOS and EOS."""
    raw = [text.encode() for text in texts]
    ends = array("q", np.cumsum([*map(len, raw)]).tolist()).tobytes()
    assert finish(process().parts(OpenFile("llama.cpp", path.name, str(path), {}))) is not None
    parts = finish(process().parts(EncodeInput("llama.cpp", path.name, True, [b"".join(raw), ends])))
    ids, counts = np.frombuffer(parts[0], np.uint32), np.frombuffer(parts[1], np.int64)
    return [part.tolist() for part in np.split(ids, np.cumsum(counts)[:-1])]
