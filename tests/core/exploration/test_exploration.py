"""An exploration of a corpus: what it refuses."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import pytest

from tokstudio import Corpus, CorpusError, explore


def test_word_counts_have_no_documents():
    with pytest.raises(CorpusError, match="word counts, which have no documents"):
        explore(Corpus.from_counts({"a": 2}))
