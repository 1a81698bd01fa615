"""The exploration of a corpus: computes what is asked for, once.

Each property has a twin that works in bounded pieces, for a window that shows progress and can cancel.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from tokstudio.core.analysis.baselines import AnyTokenizer
from tokstudio.core.analysis.token_store import TokenStore
from tokstudio.core.base.errors import CorpusError
from tokstudio.core.corpus.corpus import Corpus


def explore(corpus: Corpus, tokenizer: AnyTokenizer | None = None) -> Exploration:
    """Explores a corpus, and what a tokenizer makes of it; without one, only what needs none.

    Raises:
        CorpusError: The corpus has word counts, which have no documents.
    """
    return Exploration(corpus, tokenizer)


class Exploration:
    """A corpus, and a tokenizer or one at the playhead of its first merges; see `explore`.

    All text counts, held-out text too, and weights do not matter.
    """

    def __init__(self, corpus: Corpus, tokenizer: AnyTokenizer | None = None, store: TokenStore | None = None) -> None:
        for source in corpus.sources:
            if source.counts is not None:
                raise CorpusError(f"{source.name} has word counts, which have no documents: open the text.")
        self.corpus = corpus
        self.tokenizer = tokenizer
        self.store = store or TokenStore()  # of the counts of tokens, which others may share
