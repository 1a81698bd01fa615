"""Texts to compare tokenizers on, with their words: read once, and kept as bytes and distinct words."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Generic, Literal, TypeVar

import numpy as np

from tokstudio.core.analysis.baselines import AnyTokenizer
from tokstudio.core.base.arrays import grown, read_only
from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.progress import Progress, Work, finish
from tokstudio.core.base.records import dataclass
from tokstudio.core.corpus.readers.files import Budget
from tokstudio.core.corpus.source import CountedWith, Source, groups
from tokstudio.core.corpus.statistics import characters_work, is_utf8_work, lines_work
from tokstudio.core.pretokenization.count_words import count_work
from tokstudio.core.pretokenization.special_tokens import cut_sources_work
from tokstudio.core.pretokenization.word_table import MOST_WORDS, PADDING, WordTable
from tokstudio.core.text.utf8 import Text
from tokstudio.core.tokenizer.tokenizer import Tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray

T = TypeVar("T")

# --- The distinct words of a text, and how often each occurs ----------------------------------------------------------
# They are kept in arrays: the millions of objects of a dictionary would take ten times the memory, and Python would
# visit or move all of them at once from time to time, while no other thread could run.


Units = Literal["words", "characters", "syllables"]

# Scripts that put no space between words, with the long vowel marks of Kana, which several scripts share; Tibetan,
# whose tshegs end syllables; and the Ethiopic space.
_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\u30fc\uff70\p{Thai}\p{Khmer}\p{Lao}\p{Myanmar}"
_UNITS: tuple[Units, ...] = ("words", "characters", "syllables")  # of equal counts, the first
_WORDS = 1 << 12
_CUT = 1 << 18  # bytes of runs that are cut into words at once


class WordTypes:
    """Distinct words, in the order of their first occurrence, and how often each occurs."""

    def __init__(self, data: NDArray[np.uint8], ends: NDArray[np.int64], counts: NDArray[np.int64]) -> None:
        self.data, self.ends = data, ends  # the words one after another, and [words] the end of each
        self.counts = counts  # [words], the occurrences of each

    def __len__(self) -> int:
        return len(self.ends)

    def __iter__(self) -> Iterator[bytes]:
        start = 0
        for first in range(0, len(self), _WORDS):
            ends = self.ends[first : first + _WORDS].tolist()
            some, begin = self.data[start : ends[-1]].tobytes(), start
            for end in ends:
                yield some[start - begin : end - begin]
                start = end

    def total(self) -> int:
        """The occurrences of all words."""
        return int(self.counts.sum())

    def most_common(self, number: int) -> list[bytes]:
        """The words that occur most often; of equal counts, the first."""
        chosen = np.argsort(-self.counts, kind="stable")[:number]
        starts = np.append(np.zeros(1, np.int64), self.ends)[chosen].tolist()
        return [self.data[begin:end].tobytes() for begin, end in zip(starts, self.ends[chosen].tolist(), strict=True)]


def no_words() -> WordTypes:
    """The words of no text."""
    return WordTypes(np.zeros(0, np.uint8), np.zeros(0, np.int64), np.zeros(0, np.int64))


def word_types_work(*sources: Source) -> Work[tuple[WordTypes, Units]]:
    """The words of one or more sources, and what most of them are."""
    from tokstudio.core.kernels.documents import ALONE, IN_WORD, SYLLABLE, cut_words

    pieces, _ = yield from cut_sources_work(sources, ())
    counted = yield from count_work(pieces, CountedWith("whitespace"))
    table, occurrences, uses = WordTable(), np.zeros(_WORDS, np.int64), np.zeros(256, np.int64)
    for first, last, start, stop in groups(counted.ends, _CUT, MOST_WORDS):
        yield Progress("counting words", first, len(counted.ends))
        data, ends = read_only(counted.data[start:stop]), read_only(counted.ends[first:last] - start)
        out, stops = np.zeros(stop - start + last - first + PADDING, np.uint8), np.empty(stop - start, np.int64)
        runs, kinds = np.empty(len(stops), np.int32), np.empty(len(stops), np.uint8)
        n, _ = cut_words(data, ends, _unit_classes(), out, stops, runs, kinds)
        counts = counted.counts[first:last][runs[:n]]
        occurrences = _added(table, occurrences, out, stops[:n], counts)
        np.add.at(uses, kinds[:n], counts)
    size = int(table.offsets[-1])
    types = WordTypes(table.words[:size].copy(), table.offsets[1:].copy(), occurrences[: len(table)].copy())
    return types, _UNITS[int(np.argmax(uses[[IN_WORD, ALONE, SYLLABLE]]))]


def _added(
    table: WordTable,
    occurrences: NDArray[np.int64],
    data: NDArray[np.uint8],
    ends: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Adds words and their occurrences; returns the occurrences by number, in an array that may be longer."""
    for first in range(0, len(ends), MOST_WORDS):
        begin = int(ends[first - 1]) if first else 0
        numbers = table.look_up(data, begin, ends[first : first + MOST_WORDS])
        if len(table) > len(occurrences):
            occurrences = grown(occurrences, 2 * len(table))
        np.add.at(occurrences, numbers, counts[first : first + MOST_WORDS])
    return occurrences


@cache
def _unit_classes() -> NDArray[np.uint8]:
    """What each code point is for `cut_words`: uint8 [0x110000], read-only."""
    import regex

    from tokstudio.core.kernels import documents as kernel

    every = np.r_[:0xD800, 0xE000:0x110000].astype("<u4").tobytes().decode("utf-32-le")
    kinds = np.full(len(every), kernel.IN_WORD, np.uint8)
    for expression, kind in (
        (r"[\x1c-\x1f]", kernel.AT_ENDS),  # white space for Python's `strip`
        (r"\s", kernel.SPACE_BETWEEN),
        (r"\p{Tibetan}", kernel.SYLLABLE),
        (r"[\u0f0b\u0f0c]", kernel.BETWEEN_SYLLABLES),
        (r"\u1361", kernel.WORD_SPACE),
        (f"[{_UNSPACED}]", kernel.ALONE),
    ):
        for match in regex.finditer(f"(?:{expression})+", every):
            kinds[match.start() : match.end()] = kind
    classes = np.full(0x110000, kernel.IN_WORD, np.uint8)
    classes[:0xD800], classes[0xE000:] = kinds[:0xD800], kinds[0xD800:]
    return read_only(classes)


def in_running_text(word: str) -> bytes:
    """A word as it is encoded, with the space before it; without one in scripts that put none between words."""
    import regex

    unspaced = regex.match(rf"[{_UNSPACED}\p{{Tibetan}}]", word, regex.V1)
    return (word if unspaced else f" {word}").encode()


# --- Texts ------------------------------------------------------------------------------------------------------------
# The texts that tokenizers are compared on, with what does not depend on a tokenizer: characters, lines, words.

_PIECE = 1 << 20


class FoundOnce(Generic[T]):
    """What `find` returns, found when it is asked for first. Safe in several threads."""

    def __init__(self, find: Callable[[], T]) -> None:
        self._find, self._lock, self._values = find, threading.Lock(), list[T]()

    @property
    def value(self) -> T:
        """What was found."""
        with self._lock:
            if not self._values:
                self._values.append(self._find())
            return self._values[0]


#: The distinct words of a text, what most of them are, and how many all of them are.
FoundWords = FoundOnce[tuple[WordTypes, Units, int]]


def _words_of(source: Source) -> tuple[WordTypes, Units, int]:
    types, units = finish(word_types_work(source))
    return types, units, types.total()


@dataclass(frozen=True, eq=False)
class ComparedText:
    """A text to compare tokenizers on.

    A word is a run of characters other than white space and the Ethiopic word space. In Han, Kana, Thai, Khmer, Lao and
    Myanmar text each character counts as one, and in Tibetan text each syllable between tshegs; `units` says which of
    these most words are.
    """

    name: str
    source: Source  # its documents are encoded one by one
    found_hashes: FoundOnce[tuple[str, str, frozenset[str]]]
    # Of held-out text: the mark of what the training held out, and `hashes` are also of the whole text that it is from.
    held_out: frozenset[str]
    bytes: int
    characters: int  # code points; each byte that is not UTF-8 counts as one
    beyond_ascii: int  # of these, all but those of ASCII
    is_utf8: bool
    lines: int
    is_lines: bool  # whether each document is one line, even an empty one
    found_words: FoundWords

    @property
    def sha256(self) -> str:
        """The hash of the documents; equal texts have equal ones."""
        return self.found_hashes.value[0]

    @property
    def text_sha256(self) -> str:
        """The hash of the bytes alone, as of a file in UTF-8."""
        return self.found_hashes.value[1]

    @property
    def hashes(self) -> frozenset[str]:
        """Those of `Corpus.text_hashes` that a source with this text may have.

        They are there also where its lines are documents without line ends, or line ends stand between these documents.
        """
        return self.found_hashes.value[2]

    @property
    def words(self) -> int:
        """How many words it has; they are found when they are asked for first."""
        return self.found_words.value[2]

    @property
    def units(self) -> Units:
        """What most words are."""
        return self.found_words.value[1]

    @property
    def word_types(self) -> WordTypes:
        """Each distinct word as it is encoded, and how often it occurs.

        The first of a run has the space before it, as in running text, unless it is of a script without spaces.
        """
        return self.found_words.value[0]

    def without_text(self) -> ComparedText:
        """The same without its text and its distinct words."""
        known, hashes = (no_words(), self.units, self.words), self.found_hashes.value
        empty = Source.from_texts([])
        return replace(self, source=empty, found_words=FoundOnce(lambda: known), found_hashes=FoundOnce(lambda: hashes))

    def is_among(self, trained_on: Collection[str]) -> bool:
        """Whether a training on texts with these hashes and marks, as of `trained_texts`, was on some of this text."""
        return not self.hashes.isdisjoint(trained_on) and self.held_out.isdisjoint(trained_on)


def how_read(source: Source) -> str:
    """How a text was read, as a sentence; "" where that is as it stands."""
    encoding = "" if source.encoding == "utf-8" else f"read as {source.encoding}"
    remarks = ", ".join(filter(None, (encoding, source.note)))
    return f"{source.name}: {remarks}." if remarks else ""


def trained_texts(tokenizer: AnyTokenizer) -> frozenset[str]:
    """The hashes of the texts that a tokenizer, or one that it was made from, was trained on, as far as is known.

    They are those of `Corpus.counted_hashes`, and the marks of `held_out_marks` of what it held out of them.
    """
    texts, held_out = set[str](), list[frozenset[str]]()
    now = tokenizer if isinstance(tokenizer, Tokenizer) else None
    while now is not None:
        if (run := now.run) is not None:
            texts.update(run.corpus.texts)
            held_out.append(held_out_marks(run.corpus.sha256, run.corpus.weights, run.config.held_out))
        now = None if now.origin is None else now.origin.old
    # What one of several trainings held out, another one may have been trained on.
    return frozenset(texts).union(*(held_out if len(held_out) == 1 else ()))


def held_out_marks(sha256: str, weights: Sequence[int] | None, share: float) -> frozenset[str]:
    """What tells which text a training held out: by the hash of its corpus, the weights and the share; none for 0."""
    if not share:
        return frozenset()
    # Other weights hold out the same, where none is 0 also no weights.
    used = None if weights is None else [weight > 0 for weight in weights]
    every = [None] if used is not None and all(used) else []
    return frozenset(f"{share!r} held out of {sha256} {each}" for each in (used, *every))


def text_work(
    name: str,
    text: Source | Text | Sequence[Text],
    is_lines: bool = False,
    whole: str = "",
    held_out: frozenset[str] = frozenset(),
    at_once: bool = False,
    budget: Budget | None = None,
) -> Work[ComparedText]:
    """Measures a text: a source, one text, or a sequence of lines, each of which is a document.

    Args:
        name: Its name.
        text: The text.
        is_lines: Whether each document of a source is one line, even an empty one.
        whole: For held-out text, the hash of the text that it is from, of `Corpus.text_hashes`.
        held_out: For held-out text, `held_out_marks` of the training.
        at_once: Whether its words and hashes are found now, not when they are asked for first.
        budget: The memory for lines; None is all that is free.

    Raises:
        ConfigError: The source has word counts, not text.
    """
    is_lines = is_lines or not isinstance(text, (Source, str, bytes))
    source = (
        text
        if isinstance(text, Source)
        else Source.from_texts([text] if isinstance(text, (str, bytes)) else text, name, budget)
    )
    if source.counts is not None:
        raise ConfigError(f"{name} has word counts, not text: tokenizers cannot be compared on it.")
    characters, of_ascii = yield from characters_work(source)
    is_utf8 = yield from is_utf8_work(source)
    lines = source.documents if is_lines else (yield from lines_work(source))
    words, hashes = FoundOnce(partial(_words_of, source)), FoundOnce(lambda: finish(_hashes_work(source, whole)))
    if at_once:
        types, units = yield from word_types_work(source)
        known = types, units, types.total()
        found = yield from _hashes_work(source, whole)
        words, hashes = FoundOnce(lambda: known), FoundOnce(lambda: found)
    return ComparedText(
        name=name,
        source=source,
        found_hashes=hashes,
        held_out=held_out,
        bytes=source.bytes,
        characters=characters,
        beyond_ascii=characters - of_ascii,
        is_utf8=is_utf8,
        lines=lines,
        is_lines=is_lines,
        found_words=words,
    )


def _hashes_work(source: Source, of_whole: str) -> Work[tuple[str, str, frozenset[str]]]:
    """`ComparedText.sha256`, `text_sha256` and `hashes`; an empty text has of the last only `of_whole`, if any."""
    whole = hashlib.sha256(source.ends.tobytes())
    as_it_is, bare, ended, open_ended = (hashlib.sha256() for _ in range(4))
    first = 0  # of the ends that are not yet reached
    for start in range(0, len(source.data), _PIECE):
        piece = np.asarray(source.data[start : start + _PIECE])
        for digest in (whole, as_it_is):
            digest.update(piece.tobytes())
        bare.update(piece[(piece != ord("\n")) & (piece != ord("\r"))].tobytes())
        last = int(np.searchsorted(source.ends, start + len(piece), side="right"))
        with_ends = np.insert(piece, source.ends[first:last] - start, ord("\n")).tobytes()
        open_ended = ended.copy()
        open_ended.update(with_ends[:-1])
        ended.update(with_ends)
        first = last
        yield Progress("reading", start, len(source.data))
    hashes = frozenset(one.hexdigest() for one in (as_it_is, bare, ended, open_ended))
    known = frozenset({of_whole} if of_whole else ())
    return whole.hexdigest(), as_it_is.hexdigest(), known | hashes if len(source.data) else known


def base_of(rows: Sequence[ComparedText], chosen: str | None, *, is_parallel: bool) -> int | None:
    """The text that premiums relate to: the chosen one, English, or the first; None where lines differ in number."""
    names = [row.name for row in rows]
    if not names or (not is_parallel and len({row.lines for row in rows}) > 1):
        return None
    if chosen in names:
        return names.index(chosen)
    return next((at for at, name in enumerate(names) if name.startswith("English")), 0)
