"""Rules that find text a tokenizer should perhaps not learn from: documents or lines, by the text alone.

What `RULES` has of each rule: whether documents or lines go, its test, and its threshold.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from tokstudio.core.base.arguments import several_of
from tokstudio.core.base.arrays import read_only
from tokstudio.core.base.errors import ConfigError, CorpusError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import first_few, shown
from tokstudio.core.corpus.marks import LINES, PIECE, Gone, GrowingMarks, Marked, Seen, TooManyHashesError, lines_of
from tokstudio.core.corpus.near_duplicates import near_duplicates_work
from tokstudio.core.corpus.source import Source, WithSources, groups
from tokstudio.core.text.languages import SCRIPTS, script_numbers
from tokstudio.core.text.unicode_classes import LETTER, classes

if TYPE_CHECKING:
    from numpy.typing import NDArray

# --- The rules, their thresholds, and what they find -----------------------------------------------------------------


@dataclass(frozen=True)
class Rule:
    """A rule by which documents or lines are left out."""

    name: str  # its name in lists, projects and on the command line
    of_lines: bool  # whether it finds lines, else documents
    test: str  # what it finds, as a sentence with the threshold in it
    threshold: float | None = None  # the usual value; None where there is none to choose
    least: float = 1  # the lowest value
    most: float = 1 << 40  # the highest value

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
        Rule("duplicates", False, "documents of at least one byte, with the same bytes as an earlier one"),
        Rule("near-duplicates", False, "documents of which at least {} of the shingles, each five adjacent words, are "
             "those of an earlier one that stays, by the Jaccard index of both; a word is a run of letters, marks and "
             "digits, or one character of a script without spaces; of more than 100 that look alike and stay, only "
             "the first 100 are compared", 0.8, 0.7, 1),
        Rule("blobs", True, "lines of which at least half lies in runs of {} bytes or more of ASCII without a space "
             "that have the entropy of noise: at least 5 bits a byte, or 3 where all are hexadecimal digits", 64, 16),
        Rule("repetition", True, "lines of 20 bytes and more in which at least {} of the characters equal the one 1 to "
             "32 bytes before, always the same number, at most a quarter of the line, of which the first 64 KiB count",
             0.8, 0.5, 1),
        Rule("mojibake", True, "lines with at least {} characters of UTF-8 that was read as Windows-1252 or Latin-1, "
             "such as the two of Ã©", 3),
        Rule("control", True, "lines with at least {} control characters other than white space, or U+FFFD", 1),
        Rule("markup", True, "lines of which at least {} is tags and entities of HTML or XML", 0.6, 0.01, 1),
        Rule("rare-script", True, "lines with most letters, at least five, in a script that has less than {} of the "
             "letters of their source", 0.02, 0, 1),
        Rule("repeated-lines", True, "lines of {} bytes and more that equal an earlier one that stays", 20),
    )
}  # fmt: skip
NAMED = "named"  # the rule of documents and lines that were named


def check_rules(rules: Iterable[str], keywords: Mapping[str, object]) -> dict[str, float | None]:
    """The thresholds of rules by name, in the order of `RULES`; ConfigError where one is unknown or not valid.

    Keywords are names with `_` for `-`, with True for the usual threshold, False for no rule, or a threshold.
    """
    chosen: dict[str, object] = {str(name): True for name in several_of("Rules", rules)}
    chosen |= {name.replace("_", "-"): value for name, value in keywords.items()}
    for name in chosen:
        if name == "owners":
            raise ConfigError("The rule owners needs a tokenizer: leave out the documents that Clean Up shows for it.")
        if name not in RULES:
            raise ConfigError(
                f"There is no rule {shown(str(name))} to leave text out by: use {first_few(RULES, len(RULES), str)}."
            )
    return {name: rule.check(chosen[name]) for name, rule in RULES.items() if chosen.get(name, False) is not False}


def refuse_word_counts(corpus: WithSources) -> None:
    """Raises CorpusError where a source has word counts: they have neither documents nor lines."""
    for source in corpus.sources:
        if source.counts is not None:
            raise CorpusError(
                f"{source.name} has word counts, not documents and lines, so no rule can leave any of it out: open the "
                "text, or train without rules."
            )


def marks_work(
    corpus: WithSources, rule: str, threshold: float | None = None, gone: Gone | None = None
) -> Work[Marked]:
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
        return (yield from near_duplicates_work(corpus, value, gone))
    if rule == "repeated-lines":
        marks, _ = yield from _repeated_lines_work(corpus, int(value), gone, has_sums=False)
        return marks
    if rule == "rare-script":
        return (yield from _rare_script_work(corpus, value, gone))
    return (yield from _lines_found_work(corpus, rule, partial(_line_test(rule), value), gone))


def repeated_bytes_work(corpus: WithSources, threshold: float = 20) -> Work[tuple[NDArray[np.int64], ...]]:
    """The bytes of repeated lines of each document, for each source: int64 [documents].

    A line of at least `threshold` bytes is repeated if another line of the corpus equals it; all of them count, the
    first too, with the white space at their ends and their line feeds.
    """
    refuse_word_counts(corpus)
    _, sums = yield from _repeated_lines_work(corpus, int(threshold), Gone(corpus.sources), has_sums=True)
    return tuple(np.split(sums, np.cumsum([source.documents for source in corpus.sources], dtype=np.int64))[:-1])


# --- Tests of single lines -------------------------------------------------------------------------------------------

#: Looks at lines, whose offsets are in a text, and writes which are found.
_Test: TypeAlias = "Callable[[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]], None]"


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


def _lines_found_work(corpus: WithSources, rule: str, test: _Test, gone: Gone) -> Work[Marked]:
    found, total = GrowingMarks(rule), _size_of(corpus)
    for lines, done in lines_of(corpus, gone):
        marks = np.zeros(len(lines.starts), np.bool_)
        test(lines.data, lines.starts, lines.stops, marks)
        if marks.any():
            found.add(lines.marked(rule, marks))
        yield Progress(f"looking for {rule}", done, total)
    return found.finish()


def _size_of(corpus: WithSources) -> int:
    return sum(len(source.data) for source in corpus.sources)


# --- Text that was there before: exact duplicates and repeated lines -------------------------------------------------

_Pass = Callable[[Seen, GrowingMarks], Work[None]]


def _in_parts_work(rule: str, documents: int, has_owners: bool, look: _Pass) -> Work[tuple[Marked, NDArray[np.int64]]]:
    """Looks at all hashes at once, or at one part of them after another where they do not fit into the memory."""
    parts = 1
    while True:
        found, sums = GrowingMarks(rule), np.zeros(documents, np.int64)
        try:
            for part in range(parts):
                yield from look(Seen(part, parts, sums, has_owners), found)
        except TooManyHashesError:
            parts *= 2
        else:
            marks = found.finish()
            return marks if parts == 1 else marks[np.lexsort((marks.start, marks.source))], sums


def _repeated_lines_work(
    corpus: WithSources, least: int, gone: Gone, has_sums: bool
) -> Work[tuple[Marked, NDArray[np.int64]]]:
    """All lines but the first of those that are equal; or, with `has_sums`, bytes of all of them in each document."""
    from tokstudio.core.kernels.lines import hash_texts

    rule, total = "repeated-lines", _size_of(corpus)
    sizes = [source.documents for source in corpus.sources]
    firsts = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])

    def look(seen: Seen, found: GrowingMarks) -> Work[None]:
        for lines, done in lines_of(corpus, gone):
            hashes = np.empty((len(lines.starts), 2), np.uint64)
            hash_texts(lines.data, read_only(lines.starts), read_only(lines.stops), least, True, hashes)
            marks = seen.look_up(hashes, lines.documents + firsts[lines.source], lines.stops - lines.starts)
            if not has_sums and marks.any():
                found.add(lines.marked(rule, marks))
            yield Progress(f"looking for {rule}", done, total)

    return (yield from _in_parts_work(rule, int(firsts[-1]) if has_sums else 0, has_sums, look))


def _duplicates_work(corpus: WithSources, gone: Gone) -> Work[Marked]:
    from tokstudio.core.kernels.lines import hash_texts

    rule, total = "duplicates", _size_of(corpus)
    none = np.zeros(0, np.int64)

    def look(seen: Seen, found: GrowingMarks) -> Work[None]:
        before = 0
        for number, source in enumerate(corpus.sources):
            is_gone = gone.documents[number]
            for first, last, start, stop in groups(source.ends, PIECE, LINES):
                if stop - start > PIECE:
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
                    found.add(Marked(rule, place, marks + first, whole, starts[marks], ends[marks]))
                yield Progress(f"looking for {rule}", before + stop, total)
            before += len(source.data)

    return (yield from _in_parts_work(rule, 0, False, look))[0]


def _long_hash_work(source: Source, start: int, stop: int, before: int, total: int) -> Work[NDArray[np.uint64]]:
    """The hash of a document that is longer than a piece."""
    from tokstudio.core.kernels.lines import hash_part

    state = np.zeros(2, np.uint64)
    for at in range(start, stop, PIECE):
        end = min(at + PIECE, stop)
        hash_part(read_only(np.asarray(source.data[at:end])), stop - start if end == stop else 0, state)
        yield Progress("looking for duplicates", before + end, total)
    return state.reshape(1, 2)


# --- Lines in a script that is rare in their source ------------------------------------------------------------------

_LEAST_LETTERS = 5  # of a line


def _rare_script_work(corpus: WithSources, threshold: float, gone: Gone) -> Work[Marked]:
    from tokstudio.core.kernels.lines import find_scripts

    yield Progress("looking for rare-script")
    totals = np.zeros((len(corpus.sources), len(SCRIPTS) + 1), np.int64)
    nothing, scripts = np.zeros(len(SCRIPTS) + 1, np.bool_), script_numbers() * (classes() & LETTER != 0)
    total, found = 2 * _size_of(corpus), GrowingMarks("rare-script")
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
            found.add(lines.marked("rare-script", marks))
        yield Progress("looking for rare-script", total // 2 + done, total)
    return found.finish()
