"""The texts that tokenizers are compared on, with what does not depend on a tokenizer: characters, lines, words."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal

import numpy as np

from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.source import CountedWith, Source
from tokstudio.core.corpus.statistics import statistics_work
from tokstudio.core.pretokenization.count_words import count_work
from tokstudio.core.pretokenization.cut_specials import cut_sources_work
from tokstudio.core.text.utf8 import Text

Units = Literal["words", "characters", "syllables"]

# Scripts that put no space between words, with the long vowel marks of Kana, which several scripts share; Tibetan,
# whose tshegs end syllables; and the Ethiopic space.
_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\u30fc\uff70\p{Thai}\p{Khmer}\p{Lao}\p{Myanmar}"
_UNIT = rf"[{_UNSPACED}]|[\p{{Tibetan}}--[\u0f0b\u0f0c]]+|[^\s\u1361{_UNSPACED}\p{{Tibetan}}]+"
_SPECIAL = rf"[\s\u1361{_UNSPACED}\p{{Tibetan}}]"  # a run without any of these is one word
_GRAPHIC = bytes(range(0x21, 0x7F))
_UNITS: tuple[Units, ...] = ("words", "characters", "syllables")  # of equal counts, the first
_WORDS = 1 << 12


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
    bytes: int
    characters: int  # code points; each byte that is not UTF-8 counts as one
    lines: int
    words: int
    units: Units
    # Each distinct word as it is encoded, and how often it occurs. The first of a run has the space before it, as in
    # running text, unless it is of a script without spaces.
    word_types: Counter[bytes]


def text_work(name: str, text: Source | Text | Sequence[Text], is_lines: bool = False) -> Work[ComparedText]:
    """Measures a text: a source, one text, or a sequence of lines, each of which is a document.

    Args:
        name: Its name.
        text: The text.
        is_lines: Whether each document of a source is one line, even an empty one.

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
    types, units = yield from _word_types(source)
    return ComparedText(
        name=name,
        source=source,
        sha256=digest.hexdigest(),
        bytes=source.bytes,
        characters=statistics.characters + statistics.invalid_bytes,
        lines=source.documents if is_lines else statistics.lines,
        words=types.total(),
        units=units,
        word_types=types,
    )


def in_running_text(word: str) -> bytes:
    """A word as it is encoded, with the space before it; without one in scripts that put none between words."""
    import regex

    unspaced = regex.match(rf"[{_UNSPACED}\p{{Tibetan}}]", word, regex.V1)
    return (word if unspaced else f" {word}").encode()


def _word_types(source: Source) -> Work[tuple[Counter[bytes], Units]]:
    """How often each word occurs, and what most words are."""
    import regex

    pieces, _ = yield from cut_sources_work([source], ())
    counted = yield from count_work(pieces, CountedWith("whitespace"))
    types, of_units = Counter[bytes](), Counter[Units]()
    unit, special = regex.compile(_UNIT, regex.V1), regex.compile(_SPECIAL, regex.V1)
    unspaced, tibetan = regex.compile(f"[{_UNSPACED}]"), regex.compile(r"\p{Tibetan}")
    apart = regex.compile(r"[\s\u1361]+")
    data, at = counted.data[: int(counted.ends[-1]) if len(counted.ends) else 0].tobytes(), 0
    # A list of all words at once would hold the interpreter for 50 ms at 100 MB.
    blocks = (slice(first, first + _WORDS) for first in range(0, len(counted.ends), _WORDS))
    words = (zip(counted.ends[one].tolist(), counted.counts[one].tolist(), strict=True) for one in blocks)
    for number, (end, occurs) in enumerate(chain.from_iterable(words)):
        if number % _WORDS == 0:
            yield Progress("counting words", number, len(counted.ends))
        raw, at = data[at:end].strip(b" "), end
        if raw.translate(None, _GRAPHIC):
            run = raw.decode("utf-8", "surrogateescape").strip()
            if special.search(run):
                for part in apart.split(run):
                    for place, word in enumerate(unit.findall(part)):
                        kind = _UNITS[1 if unspaced.match(word) else 2 if tibetan.match(word) else 0]
                        coded = word.encode("utf-8", "surrogateescape")
                        types[coded if place or kind != "words" else b" " + coded] += occurs
                        of_units[kind] += occurs
                continue
            raw = run.encode("utf-8", "surrogateescape")
        if raw:
            types[b" " + raw] += occurs
            of_units["words"] += occurs
    return types, max(_UNITS, key=of_units.__getitem__)
