"""Rules that find text a tokenizer should perhaps not learn from: documents or lines, by the text alone.

What `RULES` has of each rule: whether documents or lines go, its test, and its threshold.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.base.arrays import power_of_two, read_only
from tokstudio.core.base.errors import ConfigError, CorpusError
from tokstudio.core.base.machine import free_memory
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.wording import first_few, shown
from tokstudio.core.corpus.source import Source, groups
from tokstudio.core.text.languages import SCRIPTS, script_numbers

if TYPE_CHECKING:
    from tokstudio.core.corpus.corpus import Corpus

# --- The rules, their thresholds, and what they find -----------------------------------------------------------------


@dataclass(frozen=True)
class Rule:
    """A rule by which documents or lines are left out.

    Attributes:
        name: Its name in lists, projects and on the command line.
        of_lines: Whether it finds lines, else documents.
        test: What it finds, as a sentence with the threshold in it.
        threshold: The usual value; None where there is none to choose.
        least: The lowest value.
        most: The highest value.
    """

    name: str
    of_lines: bool
    test: str
    threshold: float | None = None
    least: float = 1
    most: float = 1 << 40

    def check(self, threshold: object) -> float | None:
        """A threshold that was given, True for the usual one; ConfigError where it cannot be one."""
        if threshold is True:
            return self.threshold
        if self.threshold is None:
            raise ConfigError(f"The rule {self.name} has no threshold: give True, not {threshold!r}.")
        if (
            isinstance(threshold, bool)
            or not isinstance(threshold, (int, float))
            or not self.least <= threshold <= self.most
        ):
            raise ConfigError(
                f"The threshold of {self.name} must be from {self.least:g} to {self.most:,.15g}, not {threshold!r}."
            )
        return float(threshold)


#: All rules, in the order in which they are applied; what one finds, the next does not see. The white space at the ends
#: of a line does not count, and bytes that are not UTF-8 stand for themselves.
RULES = {
    rule.name: rule
    for rule in (
        Rule("duplicates", False, "documents, not empty, with the same bytes as an earlier one"),
        Rule("near-duplicates", False, "documents of which at least {} of the shingles, each five adjacent words, are "
             "those of an earlier one that stays, by the Jaccard index of both; a word is a run of letters, marks and "
             "digits, or one character of a script without spaces", 0.8, 0.5, 1),
        Rule("blobs", True, "lines of which at least half lies in runs of {} bytes or more of ASCII without a space "
             "that have the entropy of noise: at least 5 bits a byte, or 3 where all are hexadecimal digits", 64, 16),
        Rule("repetition", True, "lines of 20 bytes and more in which at least {} of the characters equal the one 1 to "
             "32 bytes before, always the same number, at most a quarter of the line", 0.8, 0.5, 1),
        Rule("mojibake", True, "lines with at least {} characters of UTF-8 that was read as Windows-1252 or Latin-1, "
             "such as the two of Ã©", 3),
        Rule("control", True, "lines with at least {} control characters other than white space, or U+FFFD", 1),
        Rule("markup", True, "lines of which at least {} is tags and entities of HTML or XML", 0.6, 0.01, 1),
        Rule("rare-script", True, "lines with most letters, at least five, in a script that has less than {} of the "
             "letters of their source", 0.001, 0, 1),
        Rule("repeated-lines", True, "lines of {} bytes and more that equal an earlier one that stays", 20),
    )
}  # fmt: skip
NAMED = "named"  # the rule of documents and lines that were named


def check_rules(rules: Iterable[str], keywords: Mapping[str, object]) -> dict[str, float | None]:
    """The thresholds of rules by name, in the order of `RULES`; ConfigError where one is unknown or not valid.

    Keywords are names with `_` for `-`, with True for the usual threshold, False for no rule, or a threshold.
    """
    if isinstance(rules, str):
        raise ConfigError(f"Rules must be a sequence of names, such as ({rules!r},).")
    chosen: dict[str, object] = dict.fromkeys(rules, True)
    chosen |= {name.replace("_", "-"): value for name, value in keywords.items()}
    for name in chosen:
        if name not in RULES:
            raise ConfigError(
                f"There is no rule {shown(str(name))} to leave text out by: use {first_few(RULES, len(RULES), str)}."
            )
    return {name: rule.check(chosen[name]) for name, rule in RULES.items() if chosen.get(name, False) is not False}


@dataclass(frozen=True, eq=False)
class Marked:
    """The documents or lines that a rule finds; arrays of one length, in the order of the corpus.

    Attributes:
        rule: Its name.
        source: int32, the index of the source of each.
        document: int64, the number of the document among those of the source, from 0.
        line: int64, the number of the line in it, from 0; -1 for the whole document.
        start: int64, the first byte in the data of the source.
        stop: int64, the byte after the last, which is a line feed where the line has one.
    """

    rule: str
    source: NDArray[np.int32]
    document: NDArray[np.int64]
    line: NDArray[np.int64]
    start: NDArray[np.int64]
    stop: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.source)

    def __getitem__(self, chosen: NDArray[np.bool_] | NDArray[np.int64] | slice) -> Marked:
        arrays = (self.source, self.document, self.line, self.start, self.stop)
        return Marked(self.rule, *(array[chosen] for array in arrays))  # pyright: ignore[reportArgumentType]

    @property
    def bytes(self) -> NDArray[np.int64]:
        """int64, the bytes of each."""
        return self.stop - self.start


class Gone:
    """What is left out already, and is not looked at again.

    Attributes:
        documents: By source: bool, which documents are; None where none is.
        lines: By source: int64, the starts of lines that are, ascending.
    """

    documents: list[NDArray[np.bool_] | None]
    lines: list[NDArray[np.int64]]

    def __init__(self, sources: Sequence[Source]) -> None:
        self.documents = [None] * len(sources)
        self.lines = [np.zeros(0, np.int64)] * len(sources)
        self._sizes = [source.documents for source in sources]

    def add(self, marks: Marked) -> None:
        """Adds what a rule found."""
        for source in map(int, np.unique(marks.source)):
            here = marks[marks.source == source]
            if (documents := here.document[here.line < 0]).size:
                before = self.documents[source]
                is_gone = np.zeros(self._sizes[source], np.bool_) if before is None else before
                is_gone[documents] = True
                self.documents[source] = is_gone
            if (starts := here.start[here.line >= 0]).size:
                self.lines[source] = np.union1d(self.lines[source], starts)

    def stays(self, lines: SomeLines) -> NDArray[np.bool_] | None:
        """Which of some lines stay; None for all."""
        documents, starts = self.documents[lines.source], self.lines[lines.source]
        stays = None if documents is None else ~documents[lines.documents]
        if len(starts):
            begins = lines.starts + lines.base
            at = np.minimum(np.searchsorted(starts, begins), len(starts) - 1)
            others = starts[at] != begins
            stays = others if stays is None else stays & others
        return stays


def refuse_word_counts(corpus: Corpus) -> None:
    """Raises CorpusError where a source has word counts: they have neither documents nor lines."""
    for source in corpus.sources:
        if source.counts is not None:
            raise CorpusError(
                f"{source.name} has word counts, not documents and lines, so no rule can leave any of it out: open the "
                "text, or train without rules."
            )


def marks_work(corpus: Corpus, rule: str, threshold: float | None = None, gone: Gone | None = None) -> Work[Marked]:
    """What a rule finds in a corpus, whatever the weights; a source of weight 0 is looked at as well.

    `RULES` has what each rule finds, and its usual threshold. What is `gone` is passed over. The memory that is needed
    does not grow with the text, but with its longest line and what is found.

    Raises:
        ConfigError: The rule is unknown, or the threshold not valid.
        CorpusError: A source has word counts, or can no longer be read.
    """
    thresholds = check_rules((rule,), {} if threshold is None else {rule: threshold})
    refuse_word_counts(corpus)
    value, gone = thresholds[rule], gone or Gone(corpus.sources)
    if rule == "duplicates":
        return (yield from _duplicates_work(corpus, gone))
    assert value is not None
    if rule == "near-duplicates":
        from tokstudio.core.corpus.near_duplicates import near_duplicates_work

        return (yield from near_duplicates_work(corpus, value, gone))
    if rule == "repeated-lines":
        marks, _ = yield from _repeated_lines_work(corpus, int(value), gone)
        return marks
    if rule == "rare-script":
        return (yield from _rare_script_work(corpus, value, gone))
    return (yield from _lines_found_work(corpus, rule, partial(_line_test(rule), value), gone))


def repeated_bytes_work(corpus: Corpus, threshold: float = 20) -> Work[tuple[NDArray[np.int64], ...]]:
    """The bytes of repeated lines of each document, for each source: int64 [documents].

    A line of at least `threshold` bytes is repeated if another line of the corpus equals it; all of them count, the
    first too, with the white space at their ends and their line feeds.
    """
    refuse_word_counts(corpus)
    _, sums = yield from _repeated_lines_work(corpus, int(threshold), Gone(corpus.sources))
    return tuple(np.split(sums, np.cumsum([source.documents for source in corpus.sources])[:-1]))


# --- The lines of a corpus, in pieces --------------------------------------------------------------------------------

_PIECE = 1 << 20
_LINES = 1 << 15
_GROWTH = 4  # of a piece in which no line ends


@dataclass(frozen=True, eq=False)
class SomeLines:
    """Some lines of a source; arrays of one length.

    Attributes:
        source: The index of the source.
        data: uint8, the text that they are in.
        base: The offset of this text in the source.
        starts: int64, the first byte of each line in the text.
        stops: int64, the byte after its last.
        documents: int64, its document.
        lines: int64, its number in the document.
    """

    source: int
    data: NDArray[np.uint8]
    base: int
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    documents: NDArray[np.int64]
    lines: NDArray[np.int64]

    def marked(self, rule: str, marks: NDArray[np.bool_]) -> Marked:
        """The marked lines."""
        place = np.full(int(np.count_nonzero(marks)), self.source, np.int32)
        starts, stops = self.starts[marks] + self.base, self.stops[marks] + self.base
        return Marked(rule, place, self.documents[marks], self.lines[marks], starts, stops)


def lines_of(corpus: Corpus, gone: Gone, only: Sequence[int] | None = None) -> Iterator[tuple[SomeLines, int]]:
    """Yields the lines of a corpus that are not gone, in bounded pieces, and how many bytes of it are done.

    With `only`, those of some sources. A line ends after its line feed or with its document; one that is longer than a
    piece is read whole.
    """
    from tokstudio.core.kernels.lines import split_lines

    before = 0
    for number, source in enumerate(corpus.sources):
        data, ends = source.data, read_only(source.ends)
        base, document, line, size = 0, 0, 0, _PIECE
        while base < len(data) and (only is None or number in only):
            piece, at = read_only(np.asarray(data[base : base + size])), 0
            while True:
                written = np.empty((4, _LINES), np.int64)
                count, at, document, line = split_lines(piece, at, base, document, line, ends, *written)
                if count:
                    lines = SomeLines(number, piece, base, *written[:, :count])
                    if (stays := gone.stays(lines)) is not None:
                        arrays = (lines.starts, lines.stops, lines.documents, lines.lines)
                        lines = SomeLines(number, piece, base, *(array[stays] for array in arrays))
                    yield lines, before + base + at
                if count < _LINES:
                    break
            size = _PIECE if at else size * _GROWTH
            base += at
        before += len(data)


def joined_marks(rule: str, found: Sequence[Marked]) -> Marked:
    """What was found, one after another."""
    none = np.zeros(0, np.int64)
    arrays = [(none.astype(np.int32), none, none, none, none)]
    arrays += [(marks.source, marks.document, marks.line, marks.start, marks.stop) for marks in found]
    return Marked(rule, *(np.concatenate(each) for each in zip(*arrays, strict=True)))  # pyright: ignore[reportArgumentType]


#: Looks at lines, whose offsets are in a text, and writes which are found.
_Test = Callable[[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]], None]


def _line_test(rule: str) -> Callable[..., None]:
    from tokstudio.core.kernels import lines as loops

    of_rules = {
        "blobs": loops.find_blobs,
        "repetition": loops.find_repetition,
        "mojibake": loops.find_mojibake,
        "control": loops.find_controls,
        "markup": loops.find_markup,
    }
    return partial(_called, of_rules[rule])


def _called(
    loop: Callable[..., None],
    threshold: float,
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    marks: NDArray[np.bool_],
) -> None:
    loop(data, read_only(starts), read_only(stops), float(threshold), marks)


def _lines_found_work(corpus: Corpus, rule: str, test: _Test, gone: Gone) -> Work[Marked]:
    found, total = list[Marked](), _size_of(corpus)
    for lines, done in lines_of(corpus, gone):
        marks = np.zeros(len(lines.starts), np.bool_)
        test(lines.data, lines.starts, lines.stops, marks)
        if marks.any():
            found.append(lines.marked(rule, marks))
        yield Progress(f"looking for {rule}", done, total)
    return joined_marks(rule, found)


def _size_of(corpus: Corpus) -> int:
    return sum(len(source.data) for source in corpus.sources)


# --- Text that was there before: exact duplicates and repeated lines -------------------------------------------------

_FIRST_ROOM = 1 << 16
_MOST_OF_FREE = 0.3  # for the table of hashes; with more of them, the text is read several times
_BYTES_OF_HASH = 32


class TooManyHashesError(Exception):
    """There are more hashes than fit into the memory."""


class Seen:
    """The hashes that were there before, of one part of all hashes."""

    def __init__(self, part: int, parts: int, sums: NDArray[np.int64], has_owners: bool) -> None:
        self._part, self._parts, self._sums = part, parts, sums
        self._tables = self._tables_of(_FIRST_ROOM, has_owners)
        self._used, self._has_owners = 0, has_owners
        free = free_memory()
        self._most = None if free is None else max(_FIRST_ROOM, int(_MOST_OF_FREE * free) // _BYTES_OF_HASH)

    def look_up(
        self, hashes: NDArray[np.uint64], documents: NDArray[np.int64], sizes: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Says which were there before, and adds the others; `TooManyHashesError` where they do not fit."""
        from tokstudio.core.kernels.lines import find_repeated, move_hashes

        marks, at = np.zeros(len(hashes), np.bool_), 0
        documents, sizes = read_only(documents), read_only(sizes)
        while True:
            keys, owners, owned = self._tables
            at, self._used = find_repeated(
                hashes,
                at,
                self._part,
                self._parts,
                keys,
                self._used,
                documents,
                sizes,
                owners,
                owned,
                self._sums,
                marks,
            )
            if at == len(hashes):
                return marks
            if self._most is not None and 2 * len(keys) > self._most:
                raise TooManyHashesError
            larger = self._tables_of(2 * len(keys), self._has_owners)
            move_hashes(keys, owners, owned, *larger)
            self._tables = larger

    @staticmethod
    def _tables_of(room: int, has_owners: bool) -> tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.int64]]:
        rows = power_of_two(room)
        owned = rows if has_owners else 0
        return np.zeros((rows, 2), np.uint64), np.zeros(owned, np.int64), np.zeros(owned, np.int64)


_Pass = Callable[[Seen, "list[Marked]"], Work[None]]


def _in_parts_work(documents: int, has_owners: bool, look: _Pass) -> Work[tuple[list[Marked], NDArray[np.int64], int]]:
    """Looks at all hashes at once, or at one part of them after another where they do not fit into the memory."""
    parts = 1
    while True:
        found, sums = list[Marked](), np.zeros(documents, np.int64)
        try:
            for part in range(parts):
                yield from look(Seen(part, parts, sums, has_owners), found)
        except TooManyHashesError:
            parts *= 2
        else:
            return found, sums, parts


def _in_order(rule: str, found: list[Marked], parts: int) -> Marked:
    marks = joined_marks(rule, found)
    return marks if parts == 1 else marks[np.lexsort((marks.start, marks.source))]


def _repeated_lines_work(corpus: Corpus, least: int, gone: Gone) -> Work[tuple[Marked, NDArray[np.int64]]]:
    """All lines but the first of those that are equal, and the bytes of all of them in each document."""
    from tokstudio.core.kernels.lines import hash_texts

    rule, total = "repeated-lines", _size_of(corpus)
    sizes = [source.documents for source in corpus.sources]
    firsts = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])

    def look(seen: Seen, found: list[Marked]) -> Work[None]:
        for lines, done in lines_of(corpus, gone):
            hashes = np.empty((len(lines.starts), 2), np.uint64)
            hash_texts(lines.data, read_only(lines.starts), read_only(lines.stops), least, True, hashes)
            marks = seen.look_up(hashes, lines.documents + firsts[lines.source], lines.stops - lines.starts)
            if marks.any():
                found.append(lines.marked(rule, marks))
            yield Progress(f"looking for {rule}", done, total)

    found, sums, parts = yield from _in_parts_work(int(firsts[-1]), True, look)
    return _in_order(rule, found, parts), sums


def _duplicates_work(corpus: Corpus, gone: Gone) -> Work[Marked]:
    from tokstudio.core.kernels.lines import hash_texts

    rule, total = "duplicates", _size_of(corpus)
    none = np.zeros(0, np.int64)

    def look(seen: Seen, found: list[Marked]) -> Work[None]:
        before = 0
        for number, source in enumerate(corpus.sources):
            is_gone = gone.documents[number]
            for first, last, start, stop in groups(source.ends, _PIECE, _LINES):
                if stop - start > _PIECE:
                    hashes = yield from _long_hash_work(source, start, stop, before, total)
                    ends, starts = np.array([stop]), np.array([start])
                else:
                    ends = source.ends[first:last]
                    starts = np.concatenate([np.array([start]), ends[:-1]])
                    text, hashes = (
                        read_only(np.asarray(source.data[start:stop])),
                        np.empty((last - first, 2), np.uint64),
                    )
                    hash_texts(text, read_only(starts - start), read_only(ends - start), 1, False, hashes)
                if is_gone is not None:
                    hashes[is_gone[first:last]] = 0
                marks = np.flatnonzero(seen.look_up(hashes, none, none))
                if len(marks):
                    place, whole = np.full(len(marks), number, np.int32), np.full(len(marks), -1, np.int64)
                    found.append(Marked(rule, place, marks + first, whole, starts[marks], ends[marks]))
                yield Progress(f"looking for {rule}", before + stop, total)
            before += len(source.data)

    found, _, parts = yield from _in_parts_work(0, False, look)
    return _in_order(rule, found, parts)


def _long_hash_work(source: Source, start: int, stop: int, before: int, total: int) -> Work[NDArray[np.uint64]]:
    """The hash of a document that is longer than a piece."""
    from tokstudio.core.kernels.lines import hash_part

    state = np.zeros(2, np.uint64)
    for at in range(start, stop, _PIECE):
        end = min(at + _PIECE, stop)
        hash_part(read_only(np.asarray(source.data[at:end])), stop - start if end == stop else 0, state)
        yield Progress("looking for duplicates", before + end, total)
    return state.reshape(1, 2)


# --- Lines in a script that is rare in their source ------------------------------------------------------------------

_LEAST_LETTERS = 5  # of a line


def _rare_script_work(corpus: Corpus, threshold: float, gone: Gone) -> Work[Marked]:
    from tokstudio.core.kernels.lines import find_scripts

    yield Progress("looking for rare-script")
    totals = np.zeros((len(corpus.sources), len(SCRIPTS) + 1), np.int64)
    nothing, scripts = np.zeros(len(SCRIPTS) + 1, np.bool_), script_numbers()
    total, found = 2 * _size_of(corpus), list[Marked]()
    for lines, done in lines_of(corpus, gone):
        starts, stops = read_only(lines.starts), read_only(lines.stops)
        marks = np.zeros(len(starts), np.bool_)
        find_scripts(lines.data, starts, stops, scripts, nothing, 1, totals[lines.source], marks)
        yield Progress("looking for rare-script", done, total)
    is_rare = (totals > 0) & (totals < threshold * totals.sum(axis=1, keepdims=True))
    only, none = np.flatnonzero(is_rare.any(axis=1)).tolist(), np.zeros(len(SCRIPTS) + 1, np.int64)
    for lines, done in lines_of(corpus, gone, only):
        starts, stops = read_only(lines.starts), read_only(lines.stops)
        marks, rare = np.zeros(len(starts), np.bool_), is_rare[lines.source]
        find_scripts(lines.data, starts, stops, scripts, rare, _LEAST_LETTERS, none, marks)
        if marks.any():
            found.append(lines.marked("rare-script", marks))
        yield Progress("looking for rare-script", total // 2 + done, total)
    return joined_marks("rare-script", found)
