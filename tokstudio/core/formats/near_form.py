"""BoundlessBPE in a file that knows only ordinary merges: a near form, and how many words it encodes differently.

BoundlessBPE joins words that are one token each. A file cannot say so, but its pattern can leave adjacent words
together. Then the merges within words come first, as in BoundlessBPE, and supermerges after them; these also join a
word with the beginning or the end of another that is several tokens.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.base.progress import Work
from tokstudio.core.base.wording import percent_text, several
from tokstudio.core.formats.common.format import Fit, Format
from tokstudio.core.formats.common.split_regex import written_regex
from tokstudio.core.pretokenization.count_words import word_ends
from tokstudio.core.pretokenization.patterns import known_name, splitter
from tokstudio.core.text.utf8 import to_utf8

if TYPE_CHECKING:
    from tokstudio.core.tokenizer.tokenizer import Tokenizer

# How many of the first alternatives of each pattern match words; adjacent words become one pre-token.
_OF_WORDS = {"whitespace": 1, "gpt2": 2, "cl100k": 2, "llama3": 2, "qwen2": 2, "o200k": 2}


def near_form(tokenizer: Tokenizer) -> Tokenizer | None:
    """The tokenizer without supermerges that is nearest to one with; None where its pattern is not a named one."""
    name, supermerges = known_name(tokenizer.pattern), tokenizer.supermerges
    if supermerges is None or name not in _OF_WORDS:
        return None
    alternatives, amount = list(_alternatives(written_regex(name))), _OF_WORDS[name]
    pattern = "|".join([f"(?:{'|'.join(alternatives[:amount])})+", *alternatives[amount:]])
    order = np.argsort(supermerges, kind="stable")
    return tokenizer.changed(
        merges=tokenizer.merges[order],
        merge_results=tokenizer.merge_results[order],
        pattern=pattern,
        supermerges=None,
    )


def _alternatives(regex: str) -> Iterator[str]:
    """The alternatives of a named pattern, which has no bracket or bar as a character of its own."""
    depth = begin = 0
    for place, character in enumerate(regex):
        depth += (character == "(") - (character == ")")
        if character == "|" and depth == 0:
            yield regex[begin:place]
            begin = place + 1
    yield regex[begin:]


@dataclass(frozen=True)
class WordDifferences:
    """How many of the words of a text are encoded differently, and the first that is, between its neighbours."""

    different: int
    words: int
    example: str


def difference_work(tokenizer: Tokenizer, near: Tokenizer, text: str) -> Work[WordDifferences]:
    """Counts the words, as the pattern of `tokenizer` splits a text, with a byte whose token is not the same."""
    ids, ends = yield from tokenizer.encode_with_ends_work(text)
    near_ids, near_ends = yield from near.encode_with_ends_work(text)
    raw = to_utf8(text)
    differs = _tokens_of_bytes(ids, ends, len(raw)) != _tokens_of_bytes(near_ids, near_ends, len(raw))
    data, stops = np.frombuffer(raw, np.uint8), np.array([len(raw)], np.int64)
    found = [piece.copy() for piece, _ in word_ends(splitter(tokenizer.pattern), data, 0, stops)] if raw else []
    words = np.concatenate([np.zeros(1, np.int64), *found])
    changed = np.logical_or.reduceat(differs, words[:-1]) if raw else np.zeros(0, np.bool_)
    example = ""
    if changed.any():
        at = int(np.argmax(changed))
        around = words[max(0, at - 1)], words[min(len(words) - 1, at + 2)]
        example = raw[around[0] : around[1]].decode("utf-8", "replace").strip()
    return WordDifferences(int(np.count_nonzero(changed)), len(changed), example)


def _tokens_of_bytes(ids: NDArray[np.uint32], ends: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """The token of each byte of a text, as its end and its id in one number; int64 [size]."""
    lengths = np.diff(ends, prepend=0)
    return np.repeat(ends << 32 | ids.astype(np.int64), lengths)[:size]


class NearForm(Format):
    """What differs from a format where it holds a near form; names, targets and snippet are those of the format."""

    def __init__(self, of: Format, near: Tokenizer, sample: str) -> None:
        self._of, self._near, self._sample = of, near, sample

    def fit_work(self, tokenizer: Tokenizer) -> Work[Fit]:
        """What the format says of the near form, and what is lost."""
        fitting = yield from self._of.fit_work(self._near)
        if fitting.problem is not None:
            return fitting
        told = _NEAR
        if self._sample:
            found = yield from difference_work(tokenizer, self._near, self._sample)
            share = f"{found.different:,} ({percent_text(found.different / max(1, found.words), 1)})"
            told += f" Of {several(found.words, 'word')} in a sample of the text, {share} get other tokens"
            told += f", as in “{found.example}”." if found.different else "."
        return replace(fitting, losses=(told, *fitting.losses))

    def size(self, tokenizer: Tokenizer, token_bytes: int) -> int:
        """That of the near form."""
        return self._of.size(self._near, token_bytes)

    def contents(self, tokenizer: Tokenizer) -> Mapping[str, Iterable[bytes]]:
        """Those of the near form."""
        return self._of.contents(self._near)

    def prove(self, tokenizer: Tokenizer, written: Mapping[str, Path], name: str, sample: str) -> Work[str]:
        """Proves that the files hold the near form."""
        proof = yield from self._of.prove(self._near, written, name, sample)
        return f"the near form is {proof}"


_NEAR = (
    "This is a near form: it cannot say that only whole words are joined. Its pattern leaves adjacent words together, "
    "so that supermerges also join parts of words."
)
