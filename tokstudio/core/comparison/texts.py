"""The texts that tokenizers are compared on, with what does not depend on a tokenizer: characters, lines, words."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.comparison.word_types import Units, WordTypes, word_types_work
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.source import Source
from tokstudio.core.corpus.statistics import statistics_work
from tokstudio.core.text.utf8 import Text

_PIECE = 1 << 20


@dataclass(frozen=True, eq=False)
class ComparedText:
    """A text to compare tokenizers on.

    A word is a run of characters other than white space and the Ethiopic word space. In Han, Kana, Thai, Khmer, Lao and
    Myanmar text each character counts as one, and in Tibetan text each syllable between tshegs; `units` says which of
    these most words are.
    """

    name: str
    source: Source  # its documents are encoded one by one
    sha256: str  # of the documents; equal texts have equal ones
    text_sha256: str  # of the bytes alone, as of a file in UTF-8
    # Those of `Corpus.text_hashes` that a source with this text may have: also where its lines are documents without
    # line ends, or line ends stand between these documents.
    hashes: frozenset[str]
    # Of held-out text: the mark of what the training held out, and `hashes` are also of the whole text that it is from.
    held_out: frozenset[str]
    bytes: int
    characters: int  # code points; each byte that is not UTF-8 counts as one
    lines: int
    words: int
    units: Units
    # Each distinct word as it is encoded, and how often it occurs. The first of a run has the space before it, as in
    # running text, unless it is of a script without spaces.
    word_types: WordTypes

    def is_among(self, trained_on: Collection[str]) -> bool:
        """Whether a training on texts with these hashes and marks, as of `trained_texts`, was on some of this text."""
        return not self.hashes.isdisjoint(trained_on) and self.held_out.isdisjoint(trained_on)


def text_work(
    name: str,
    text: Source | Text | Sequence[Text],
    is_lines: bool = False,
    whole: str = "",
    held_out: frozenset[str] = frozenset(),
) -> Work[ComparedText]:
    """Measures a text: a source, one text, or a sequence of lines, each of which is a document.

    Args:
        name: Its name.
        text: The text.
        is_lines: Whether each document of a source is one line, even an empty one.
        whole: For held-out text, the hash of the text that it is from, of `Corpus.text_hashes`.
        held_out: For held-out text, `held_out_marks` of the training.

    Raises:
        ConfigError: The source has word counts, not text.
    """
    is_lines = is_lines or not isinstance(text, (Source, str, bytes))
    source = (
        text
        if isinstance(text, Source)
        else Source.from_texts([text] if isinstance(text, (str, bytes)) else text, name)
    )
    if source.counts is not None:
        raise ConfigError(f"{name} has word counts, not text: tokenizers cannot be compared on it.")
    statistics = yield from statistics_work(Corpus((source,)))
    digest = hashlib.sha256(source.ends.tobytes())
    for start in range(0, len(source.data), 1 << 20):
        digest.update(np.asarray(source.data[start : start + (1 << 20)]).tobytes())
        yield Progress("reading", start, len(source.data))
    text_sha256, hashes = yield from _hashes_work(source)
    types, units = yield from word_types_work(source)
    return ComparedText(
        name=name,
        source=source,
        sha256=digest.hexdigest(),
        text_sha256=text_sha256,
        hashes=hashes.union((whole,) if whole else ()),
        held_out=held_out,
        bytes=source.bytes,
        characters=statistics.characters + statistics.invalid_bytes,
        lines=source.documents if is_lines else statistics.lines,
        words=types.total(),
        units=units,
        word_types=types,
    )


def _hashes_work(source: Source) -> Work[tuple[str, frozenset[str]]]:
    """`ComparedText.text_sha256` and `hashes`; none of the latter for an empty text."""
    as_it_is, bare, ended, open_ended = (hashlib.sha256() for _ in range(4))
    first = 0  # of the ends that are not yet reached
    for start in range(0, len(source.data), _PIECE):
        piece = np.asarray(source.data[start : start + _PIECE])
        as_it_is.update(piece.tobytes())
        bare.update(piece[(piece != ord("\n")) & (piece != ord("\r"))].tobytes())
        last = int(np.searchsorted(source.ends, start + len(piece), side="right"))
        with_ends = np.insert(piece, source.ends[first:last] - start, ord("\n")).tobytes()
        open_ended = ended.copy()
        open_ended.update(with_ends[:-1])
        ended.update(with_ends)
        first = last
        yield Progress("reading", start, len(source.data))
    hashes = frozenset(one.hexdigest() for one in (as_it_is, bare, ended, open_ended))
    return as_it_is.hexdigest(), hashes if len(source.data) else frozenset()
