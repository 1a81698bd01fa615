"""Leaving out: what is left out of a corpus, by rules or by name, as a value; and the corpus without it.

What `rules` finds, this removes. Documents and lines keep the numbers that they have in their files.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import base64
import hashlib
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from tokstudio.core.base.arguments import several_of
from tokstudio.core.base.arrays import narrowed, read_only
from tokstudio.core.base.errors import ConfigError, CorpusError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import first_few, several, shown, size_text
from tokstudio.core.corpus.marks import Gone, Marked, joined_marks, lines_of
from tokstudio.core.corpus.readers.files import Budget, TextStore
from tokstudio.core.corpus.rules import NAMED, RULES, check_rules, marks_work, refuse_word_counts
from tokstudio.core.corpus.source import Source, WithSources, document_numbers, document_shards, file_lines

if TYPE_CHECKING:
    from numpy.typing import NDArray

_PIECE = 1 << 20
_MOST_NAMED = 8
_SHARD_BITS = 44
_MOST_LISTED = 100_000  # documents or lines that are written as a list
_MOST_UNPACKED = 1 << 30  # bytes
_LARGEST_INT32 = (1 << 31) - 1
_REASONS = (NAMED, *RULES)  # the rule of each row of what was left out, by its number


# --- What is left out, as a value -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LeavingOut:
    """What is left out of a corpus; the numbers are those of files, from 0."""

    # The name of each rule with its threshold, None where it has none; in the order of `RULES`.
    rules: tuple[tuple[str, float | None], ...] = ()
    # Of each named document the index of its source, the number of its file among the `shards` of the source, and its
    # row or line there.
    documents: tuple[tuple[int, int, int], ...] = ()
    lines: tuple[tuple[int, int, int, int], ...] = ()  # of each named line likewise, and its number in its document

    def __bool__(self) -> bool:
        return bool(self.rules or self.documents or self.lines)

    def to_json(self) -> dict[str, Any]:
        """A value for JSON, from which `from_json` makes it again; lists of all numbers, packed where they are long.

        Raises:
            ValueError: More is named than can be read again.
        """
        values: dict[str, Any] = {"rules": dict(self.rules)} if self.rules else {}
        for name, rows in (("documents", self.documents), ("lines", self.lines)):
            if len(rows) > _MOST_LISTED:
                values[name] = _packed(np.array(rows, np.int64))
            elif rows:
                values[name] = [number for row in rows for number in row]
        return values

    @classmethod
    def from_json(cls, values: Mapping[str, object]) -> LeavingOut:
        """Reads a value that is not trusted; ConfigError where it is none."""
        rules = values.get("rules", {})
        if not values.keys() <= {"rules", "documents", "lines"} or not isinstance(rules, dict):
            raise ConfigError("This does not say what is left out.")
        thresholds = cast("dict[str, object]", rules)
        if any(isinstance(threshold, bool) for threshold in thresholds.values()):
            raise ConfigError("This does not say by which rules text is left out.")
        checked = check_rules((), {name: True if value is None else value for name, value in thresholds.items()})
        documents = _rows_of(values.get("documents", []), 3)
        return cls(tuple(checked.items()), cast("Any", documents), cast("Any", _rows_of(values.get("lines", []), 4)))


def _rows_of(numbers: object, columns: int) -> tuple[tuple[int, ...], ...]:
    flat = cast("list[object]", numbers) if isinstance(numbers, list) else [None]
    if isinstance(numbers, str):
        return _unpacked(numbers, columns)
    whole = [number for number in flat if type(number) is int and 0 <= number < 1 << 53]
    if len(whole) != len(flat) or len(whole) % columns:
        raise ConfigError("This does not say which documents and lines are left out.")
    return tuple(zip(*(whole[at::columns] for at in range(columns)), strict=True))


def _packed(rows: NDArray[np.int64]) -> str:
    """Rows in base64: how much each number is above the one before, by columns and their bytes, compressed."""
    if rows.nbytes > _MOST_UNPACKED:
        most = _MOST_UNPACKED // rows.itemsize // rows.shape[1]
        raise ValueError(f"more than {most:,} documents or lines are left out by name: use rules instead")
    steps = np.ascontiguousarray(np.diff(rows, axis=0, prepend=0).T, "<i8")
    planes = steps.view(np.uint8).reshape(*steps.shape, 8).transpose(0, 2, 1)
    return base64.b64encode(zlib.compress(planes.tobytes())).decode()


def _unpacked(text: str, columns: int) -> tuple[tuple[int, ...], ...]:
    """The rows that `_packed` has packed; ConfigError where it has not."""
    try:
        unpacking = zlib.decompressobj()
        planes = np.frombuffer(unpacking.decompress(base64.b64decode(text, validate=True), _MOST_UNPACKED), np.uint8)
        if not unpacking.eof:
            raise ValueError
        planes = planes.reshape(columns, 8, -1).transpose(0, 2, 1)
    except (ValueError, zlib.error) as error:
        raise ConfigError("This does not say which documents and lines are left out.") from error
    numbers = np.cumsum(np.ascontiguousarray(planes).view("<i8")[..., 0], axis=1)
    if np.any(numbers < 0) or np.any(numbers >= 1 << 53):
        raise ConfigError("This does not say which documents and lines are left out.")
    return tuple(zip(*numbers.tolist(), strict=True))


#: The name or the index of a source, and the number of a document in its file; of a line, its number too.
Named = tuple["str | int", int]
NamedLine = tuple["str | int", int, int]


def leaving_out(
    corpus: WithSources,
    rules: Iterable[str] = (),
    documents: Iterable[Named] = (),
    lines: Iterable[NamedLine] = (),
    **keywords: object,
) -> LeavingOut:
    """What `Corpus.without` leaves out, for `Corpus.without_work`; raises the same errors but those of reading."""
    thresholds = check_rules(rules, keywords)
    if thresholds:
        refuse_word_counts(corpus)
    finder = NamedDocuments(corpus)
    found = {finder.document(*_parts(row, 2)) for row in several_of("documents", documents)}
    named_lines = (_parts(row, 3) for row in several_of("lines", lines))
    found_lines = {(*finder.document(which, number), _whole(line)) for which, number, line in named_lines}
    return LeavingOut(tuple(thresholds.items()), tuple(sorted(found)), tuple(sorted(found_lines)))


class NamedDocuments:
    """Finds the sources and files of what is named."""

    def __init__(self, corpus: WithSources) -> None:
        self._sources = corpus.sources
        self._places: dict[str | int, list[tuple[int, int]]] = {}
        self._keys: dict[int, NDArray[np.int64]] = {}

    def document(self, which: str | int, number: int, file: str = "") -> tuple[int, int, int]:
        """The index of the source, the number of the file among its shards, and that of the document.

        `file` is the name of one of these, perhaps between spaces, "" where the number tells which it is.
        """
        number = _whole(number)
        if isinstance(which, np.integer):
            which = int(which)
        if which not in self._places:
            self._places[which] = self._named(which)
        found = self._places[which]
        if file.strip() and any(self._sources[index].shards for index, _ in found):
            files = [self._sources[index].shards or ("",) for index, _ in found]
            named = [(place, names[place[1]]) for place, names in zip(found, files, strict=True)]
            found = [place for place, name in named if name == file]
            found = found or [place for place, name in named if name == file.strip()]
            if not found:
                raise ConfigError(f"{which} has no file {shown(file.strip())}.")
        if len(found) > 1:
            found = [(index, shard) for index, shard in found if self._has(index, shard, number)] or found[:1]
        if len(found) > 1:
            raise ConfigError(
                f"{which} has {len(found)} documents with the number {number}, counted from 0, in several files: name "
                f"one of these, such as {self._name_of_file(*found[0])}."
            )
        return (*found[0], number)

    def name_or_index(self, text: str) -> str | int:
        """What names a source in a list: a name, or an index where nothing has that name."""
        if not text.isdecimal() or text in self._places:
            return text
        names = {name for source in self._sources for name in (source.name, *source.shards)}
        names |= {source.path.name for source in self._sources if source.path is not None}
        return text if text in names else int(text[:15])

    def check(self, index: int, shard: int, number: int) -> None:
        """Raises ConfigError where there is no such document."""
        if not self._has(index, shard, number):
            raise _missing(_source_of(self._sources, index), document_key(shard, number))

    def _has(self, index: int, shard: int, number: int) -> bool:
        if index not in self._keys:
            self._keys[index] = np.sort(document_keys(_source_of(self._sources, index)))
        keys, key = self._keys[index], document_key(shard, number)
        at = int(np.searchsorted(keys, key))
        return at < len(keys) and int(keys[at]) == key

    def _named(self, which: str | int) -> list[tuple[int, int]]:
        """The sources that have a name, each with the numbers of its files that may have it."""
        sources = self._sources
        if isinstance(which, int):
            if isinstance(which, bool) or not 0 <= which < len(sources):
                raise ConfigError(f"There is no source {which}: the corpus has {len(sources)}, counted from 0.")
            return [(which, shard) for shard in range(max(1, len(sources[which].shards)))]
        named = [index for index, source in enumerate(sources) if source.name == which]
        if len(named) > 1:
            raise ConfigError(f"{shown(which)} is the name of {len(named)} sources: give the index, from 0.")
        if named:
            return self._named(named[0])
        files = [(index, sources[index].shards.index(which)) for index in self._with_shard(which)]
        # The parts of a file that a column divides have its path and other names.
        divided = [
            (index, shard)
            for index, source in enumerate(sources)
            if source.path is not None and which in (source.path.name, str(source.path))
            for shard in range(max(1, len(source.shards)))
        ]
        files = files or [
            (index, shard)
            for index, source in enumerate(sources)
            for shard, name in enumerate(source.shards)
            if which in (f"{index}/{name}", f"{source.name}/{name}")
        ]
        if not files and not divided:
            names = first_few([source.name for source in sources], _MOST_NAMED)
            raise ConfigError(f"There is no source {shown(which)}. The corpus has: {names or 'none'}.")
        return files or divided

    def _name_of_file(self, index: int, shard: int) -> str:
        return f"{index}/{self._sources[index].shards[shard]}"

    def _with_shard(self, which: str) -> list[int]:
        return [index for index, source in enumerate(self._sources) if which in source.shards]


def _whole(number: object) -> int:
    whole = int(cast("int", number)) if isinstance(number, (int, np.integer)) and not isinstance(number, bool) else -1
    if not 0 <= whole < 1 << _SHARD_BITS:
        raise ConfigError(f"The number of a document or a line must be a whole number from 0, not {number!r}.")
    return whole


def _parts(row: object, size: int) -> tuple[Any, ...]:
    """The source and the numbers that name a document or a line."""
    parts: list[Any] = list(cast("Sequence[Any]", row)) if isinstance(row, (tuple, list)) else []
    if len(parts) != size or not isinstance(parts[0], (str, int, np.integer)):
        what = "a source and the number of a document" + (", and that of a line" if size > 2 else "")
        raise ConfigError(f"{row!r} must be {what}.")
    return tuple(parts)


def document_key(shard: int, number: int) -> int:
    """A number that a document has in its source alone."""
    return shard << _SHARD_BITS | number


def document_keys(source: Source) -> NDArray[np.int64]:
    """`document_key` of each document."""
    return document_shards(source) << _SHARD_BITS | document_numbers(source)


# --- What was left out ------------------------------------------------------------------------------------------------


_COLUMNS = ("source", "shard", "document", "line", "rule", "size")


def _no_rows() -> NDArray[np.int64]:
    return np.zeros(0, np.int64)


@dataclass(frozen=True, eq=False)
class LeftOut:
    """What was left out of a corpus: a row for each document or line, arrays of one length."""

    steps: tuple[LeavingOut, ...] = ()  # what was asked for, one after another
    # int32, the index of its source.
    source: NDArray[np.int32] = field(default_factory=lambda: _no_rows().astype(np.int32))
    # int32, the number of its file among the `shards` of the source.
    shard: NDArray[np.int32] = field(default_factory=lambda: _no_rows().astype(np.int32))
    # The row or line in its file, from 0; this and the next are int32, or int64 where a number needs it.
    document: NDArray[np.int32] | NDArray[np.int64] = field(default_factory=_no_rows)
    # The line in the document, from 0; -1 for the whole document.
    line: NDArray[np.int32] | NDArray[np.int64] = field(default_factory=_no_rows)
    # int8, the number of its rule in `names`.
    rule: NDArray[np.int8] = field(default_factory=lambda: _no_rows().astype(np.int8))
    size: NDArray[np.int32] | NDArray[np.int64] = field(default_factory=_no_rows)  # its bytes
    # For each source, the hash of its whole text as of `Corpus.text_hashes`; "" where it is whole.
    texts: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.source)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of rules by their numbers; "named" for what was named."""
        return _REASONS

    @property
    def columns(self) -> dict[str, NDArray[Any]]:
        """The columns by name; "shard" is for data sets of several files, whose rows count from 0 in each."""
        return {
            "source": self.source,
            "document": self.document,
            "line": self.line,
            "rule": np.array(_REASONS)[self.rule],
            "bytes": self.size,
            "shard": self.shard,
        }

    @property
    def totals(self) -> tuple[tuple[str, int, int, int], ...]:
        """The name of each rule that found something, with the documents, lines and bytes that it left out."""
        rows: list[tuple[str, int, int, int]] = []
        for number in map(int, np.unique(self.rule)):
            here = self.rule == number
            lines = int(np.count_nonzero(self.line[here] >= 0))
            documents = int(np.count_nonzero(here)) - lines
            rows.append((_REASONS[number], documents, lines, int(self.size[here].sum(dtype=np.int64))))
        return tuple(rows)

    @cached_property
    def by_source(self) -> NDArray[np.int64]:
        """int64 [sources, 3], the documents, lines and bytes that were left out of each; found once."""
        is_line, most = self.line >= 0, len(self.texts)
        amounts = np.zeros((most, 3), np.int64)
        for column, each in enumerate((~is_line, is_line)):
            amounts[:, column] = np.bincount(self.source[each], minlength=most)
        amounts[:, 2] = np.bincount(self.source, self.size, most)
        return read_only(amounts)

    def of(self, sources: Sequence[int]) -> LeftOut:
        """The same of some of the sources, which are then numbered as here."""
        number = {source: at for at, source in enumerate(sources)}
        chosen = np.isin(self.source, list(number))
        renumbered = np.full(max(number, default=-1) + 1, 0, np.int32)
        renumbered[list(number)] = list(number.values())
        steps = tuple(
            replace(
                step,
                documents=tuple((number[row[0]], *row[1:]) for row in step.documents if row[0] in number),
                lines=tuple((number[row[0]], *row[1:]) for row in step.lines if row[0] in number),
            )
            for step in self.steps
        )
        columns: Any = {name: getattr(self, name)[chosen] for name in _COLUMNS}
        columns["source"] = renumbered[columns["source"]]
        return LeftOut(steps, **columns, texts=tuple(self.texts[source] for source in sources))


def told_totals(totals: Iterable[tuple[str, int, int, int]]) -> str:
    """What was left out, as of `LeftOut.totals`, such as "12 documents, 312 kB (duplicates 12 documents)"."""
    rows = list(totals)
    whole = _amounts(sum(row[1] for row in rows), sum(row[2] for row in rows))
    by_rule = ", ".join(f"{name} {_amounts(documents, lines)}" for name, documents, lines, _ in rows)
    return f"{whole}, {size_text(sum(row[3] for row in rows))} ({by_rule})"


def _amounts(documents: int, lines: int) -> str:
    both = [several(documents, "document")] if documents or not lines else []
    return " and ".join([*both, several(lines, "line")] if lines else both)


def _joined(before: LeftOut | None, after: LeftOut) -> LeftOut:
    """What was left out in two steps."""
    if before is None:
        return after
    columns: Any = {name: np.concatenate([getattr(before, name), getattr(after, name)]) for name in _COLUMNS}
    texts = tuple(old or new for old, new in zip(before.texts, after.texts, strict=True))
    return LeftOut(before.steps + after.steps, **columns, texts=texts)


# --- The corpus without it --------------------------------------------------------------------------------------------


def without_work(
    corpus: WithSources, step: LeavingOut, before: LeftOut | None
) -> Work[tuple[tuple[Source, ...], LeftOut]]:
    """The sources of a corpus without documents and lines, in bounded pieces, and what was left out; `before`, too.

    See `Corpus.without`.
    """
    found = yield from _found_work(corpus, step)
    rules = np.repeat(np.array([_REASONS.index(each.rule) for each in found], np.int8), list(map(len, found)))
    marks = joined_marks("", found)
    del found
    yield Progress("leaving out")
    order = np.lexsort((marks.start, marks.document, marks.source))
    # Each column is freed before the next is sorted: there may be a row for every line of the text.
    unsorted: Any = [marks.stop, marks.start, marks.line, marks.document, marks.source]
    del marks
    ordered: Any = [narrowed(unsorted.pop()[order]) for _ in range(len(unsorted) - 2)]
    ordered += [unsorted.pop()[order] for _ in range(len(unsorted))]
    marks, rules = Marked("", *ordered), rules[order]
    del order, ordered
    sources, texts = list(corpus.sources), [""] * len(corpus.sources)
    shards, numbers = np.zeros(len(marks), np.int32), np.zeros(len(marks), marks.document.dtype)
    lines = marks.line if all(source.cuts is None for source in sources) else marks.line.astype(np.int64)
    total, done, budget = sum(len(source.data) for source in sources), 0, Budget()
    borders = np.searchsorted(marks.source, np.arange(len(sources) + 1)).tolist()
    for index, source in enumerate(corpus.sources):
        here = slice(borders[index], borders[index + 1])
        if borders[index] < borders[index + 1]:
            own = marks[here]
            own_numbers, own_shards = _numbers_of(source, own.document)
            numbers = numbers.astype(np.promote_types(numbers.dtype, narrowed(own_numbers).dtype), copy=False)
            numbers[here] = own_numbers
            if source.rows is not None:
                shards[here] = own_shards
            del own_numbers, own_shards
            is_line = own.line >= 0
            if source.cuts is not None:
                lines[here][is_line] = file_lines(source, own.document, own.start, own.line)[is_line]
            sources[index], texts[index] = yield from _reduced_work(source, own, budget, done, total)
        done += len(source.data)
    if len(marks) and not any(len(source.data) for source in sources) and total:
        names = first_few([_REASONS[number] for number in map(int, np.unique(rules))], len(_REASONS), str)
        raise CorpusError(f"Nothing of the text would be left: {names} would leave out all of it. Choose fewer rules.")
    left = LeftOut((step,), marks.source, shards, numbers, narrowed(lines), rules, narrowed(marks.bytes), tuple(texts))
    return tuple(sources), _joined(before, left)


def named_work(corpus: WithSources, rules: Iterable[str], only: Collection[int]) -> Work[LeavingOut]:
    """What rules find in some sources, by name, as a rule itself leaves text out of all.

    They look at all sources, one rule after another as in `without_work`; what they find elsewhere stays.

    Raises:
        ConfigError: There is no such rule.
        CorpusError: A source has word counts, or can no longer be read.
    """
    found = yield from _found_work(corpus, LeavingOut(tuple(check_rules(rules, {}).items())), list(only))
    documents, lines = list[tuple[int, int, int]](), list[tuple[int, int, int, int]]()
    for marks in found:
        for index in map(int, np.unique(marks.source)):
            source, own = corpus.sources[index], marks[marks.source == index]
            numbers, shards = _numbers_of(source, own.document)
            of_file = file_lines(source, own.document, own.start, own.line)
            for shard, number, line, of_whole in zip(
                shards.tolist(), numbers.tolist(), of_file.tolist(), (own.line < 0).tolist(), strict=True
            ):
                if of_whole:
                    documents.append((index, shard, number))
                else:
                    lines.append((index, shard, number, line))
            yield Progress("leaving out")
    return LeavingOut((), tuple(sorted(documents)), tuple(sorted(lines)))


def _found_work(corpus: WithSources, step: LeavingOut, only: Sequence[int] | None = None) -> Work[list[Marked]]:
    """What is named, and what each rule finds, only in some sources; whole documents first, and nothing twice."""
    thresholds = dict(step.rules)
    if thresholds:
        refuse_word_counts(corpus)
    gone, found = Gone(corpus.sources), [_named_documents(corpus, step.documents)]
    gone.add(found[0])

    def by_rules(of_lines: bool) -> Work[None]:
        for name, threshold in thresholds.items():
            if RULES[name].of_lines == of_lines:
                marks = yield from marks_work(corpus, name, threshold, gone)
                marks = marks if only is None else marks[np.isin(marks.source, only)]
                gone.add(marks)
                found.append(marks)

    yield from by_rules(of_lines=False)
    if step.lines:
        found.append((yield from _named_lines_work(corpus, step.lines, gone)))
        gone.add(found[-1])
    yield from by_rules(of_lines=True)
    return found


def _named_documents(corpus: WithSources, documents: Sequence[tuple[int, int, int]]) -> Marked:
    """The named documents; raises ConfigError where one is not there."""
    found: list[Marked] = []
    for index in sorted({row[0] for row in documents}):
        source = _source_of(corpus.sources, index)
        wanted = np.unique([document_key(*row[1:]) for row in documents if row[0] == index])
        keys = document_keys(source)
        missing = wanted[~np.isin(wanted, keys)]
        if len(missing):
            raise _missing(source, int(missing[0]))
        own = np.flatnonzero(np.isin(keys, wanted))
        starts = np.where(own > 0, source.ends[own - 1], 0)
        place, whole = np.full(len(own), index, np.int32), np.full(len(own), -1, np.int64)
        found.append(Marked(NAMED, place, own, whole, starts, source.ends[own]))
    return joined_marks(NAMED, found)


def _source_of(sources: Sequence[Source], index: int) -> Source:
    if index >= len(sources):
        raise ConfigError(f"There is no source {index}: the corpus has {len(sources)}, counted from 0.")
    if (source := sources[index]).counts is not None:
        raise CorpusError(f"{source.name} has word counts, not documents and lines, so none can be left out.")
    return source


def _missing(source: Source, key: int, line: int | None = None) -> ConfigError:
    shard, number = key >> _SHARD_BITS, key & ((1 << _SHARD_BITS) - 1)
    name = source.shards[shard] if shard < len(source.shards) else source.name
    unit = "row" if source.is_rows else "document"
    which = f"{unit} {number + 1:,}" if line is None else f"line {line + 1:,} in its {unit} {number + 1:,}"
    return ConfigError(f"{name} has no {which}, counted from 1, that could be left out: was the file changed?")


def _named_lines_work(corpus: WithSources, lines: Sequence[tuple[int, int, int, int]], gone: Gone) -> Work[Marked]:
    """The named lines of documents that are not gone; raises ConfigError where one is not there."""
    wanted: dict[int, set[tuple[int, int]]] = {}
    for index, shard, number, line in lines:
        wanted.setdefault(index, set()).add((document_key(shard, number), line))
    for index in wanted:
        _source_of(corpus.sources, index)
    keys = {index: document_keys(corpus.sources[index]) for index in wanted}
    documents = {index: np.unique([key for key, _ in pairs]) for index, pairs in wanted.items()}
    found, total = list[Marked](), sum(len(source.data) for source in corpus.sources)
    for some, done in lines_of(corpus, Gone(corpus.sources), list(wanted)):
        own = keys[some.source][some.documents]
        marks = np.isin(own, documents[some.source])
        chosen = np.flatnonzero(marks)
        source = corpus.sources[some.source]
        numbers = file_lines(source, some.documents[chosen], some.starts[chosen] + some.base, some.lines[chosen])
        for at, pair in zip(chosen.tolist(), zip(own[chosen].tolist(), numbers.tolist(), strict=True), strict=True):
            marks[at] = pair in wanted[some.source]
            wanted[some.source].discard(pair)
        if marks.any():
            found.append(some.marked(NAMED, marks))
        yield Progress("looking for lines", done, total)
    for index, pairs in wanted.items():
        if pairs:
            raise _missing(corpus.sources[index], *min(pairs))
    marks = joined_marks(NAMED, found)
    stays = np.ones(len(marks), np.bool_)
    for index, is_gone in enumerate(gone.documents):
        if is_gone is not None:
            here = marks.source == index
            stays[here] = ~is_gone[marks.document[here]]
    return marks[stays]


def _reduced_work(source: Source, own: Marked, budget: Budget, before: int, total: int) -> Work[tuple[Source, str]]:
    """A source without some documents and lines, and the hash of its whole text."""
    left = np.diff(source.ends, prepend=0)
    goes = left > 0
    np.subtract.at(left, own.document, own.bytes)
    goes &= left == 0
    goes[own.document[own.line < 0]] = True
    stays = np.flatnonzero(~goes)
    ends = np.cumsum(left[stays], dtype=np.int64)
    del left, goes
    # What needs memory for a time comes before the text.
    places = None if source.places is None else source.places[stays]
    cuts, rows = _cuts_after(source, own, stays), _rows_after(source, stays, ends)
    del stays
    digest, filled, size = hashlib.sha256(), 0, int(ends[-1]) if len(ends) else 0
    # Filled in place, as the size is known; what does not fit goes to the disk.
    whole = np.empty(size, np.uint8) if budget.take(size) else None
    store = TextStore(source.name, budget)
    for at in range(0, len(source.data), _PIECE):
        piece = np.ascontiguousarray(source.data[at : at + _PIECE])
        digest.update(piece.data)
        for kept in _kept(piece, at, own):
            if whole is None:
                store.add(kept)
            else:
                whole[filled : filled + len(kept)] = kept
                filled += len(kept)
        yield Progress("leaving out", before + at, total)
    data = (yield from store.finish_work()) if whole is None else whole
    return replace(source, data=data, ends=ends, places=places, rows=rows, cuts=cuts), digest.hexdigest()


def _kept(piece: NDArray[np.uint8], at: int, own: Marked) -> Iterator[NDArray[np.uint8]]:
    """The parts of a piece, which begins at this byte of its source, that stay."""
    first, last = np.searchsorted(own.stop, at, side="right"), np.searchsorted(own.start, at + len(piece))
    if first >= last:
        yield piece
        return
    borders = np.clip(np.stack([own.start[first:last], own.stop[first:last]], axis=1).ravel() - at, 0, len(piece))
    lengths = np.diff(borders, prepend=0, append=len(piece))
    stays = np.repeat(np.arange(len(lengths)) % 2 == 0, lengths)
    if stays.any():
        yield piece[stays]


def _numbers_of(source: Source, documents: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The row or line of some documents in their files, and the numbers of these files."""
    if source.rows is None:
        return documents, np.broadcast_to(np.int64(0), len(documents))
    which = np.searchsorted(source.rows[:, 0], documents, side="right") - 1
    shifts = source.rows[:, 2].astype(np.int64) - 1 - source.rows[:, 0]
    return documents + shifts[which], source.rows[which, 3].astype(np.int64)


def _rows_after(
    source: Source, stays: NDArray[np.int64], ends: NDArray[np.int64]
) -> NDArray[np.int32] | NDArray[np.int64] | None:
    """`Source.rows` of the documents that stay."""
    if len(stays) == source.documents and source.rows is None:
        return None
    numbers, shards = _numbers_of(source, stays)
    begins = np.ones(len(stays), np.bool_)
    begins[1:] = np.diff(numbers) != 1
    if source.rows is not None:
        begins[1:] |= np.diff(shards) != 0
    firsts = np.flatnonzero(begins)
    columns = [firsts, np.where(firsts > 0, ends[firsts - 1], 0), numbers[firsts] + 1, shards[firsts]]
    del numbers, shards, begins
    largest = max((int(column.max()) for column in columns if len(column)), default=_LARGEST_INT32 + 1)
    runs: Any = np.empty((len(firsts), 4), np.int32 if largest <= _LARGEST_INT32 else np.int64)
    for number, column in enumerate(columns):
        runs[:, number] = column
    return runs


def _cuts_after(source: Source, own: Marked, stays: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """`Source.cuts` of the documents that stay."""
    summed = np.concatenate([np.zeros(1, np.int64), np.cumsum(own.bytes)])
    is_line = own.line >= 0
    documents, amounts = own.document[is_line].astype(np.int64), np.ones(int(np.count_nonzero(is_line)), np.int64)
    # Where bytes are now; of what was left out, where it was.
    places = own.start[is_line] - summed[:-1][is_line]
    if source.cuts is not None:
        old = source.cuts.astype(np.int64)
        moved = old[:, 1] - summed[np.searchsorted(own.start, old[:, 1])]
        documents, places = np.concatenate([documents, old[:, 0]]), np.concatenate([places, moved])
        amounts = np.concatenate([amounts, old[:, 2]])
        order = np.lexsort((places, documents))
        documents, places, amounts = documents[order], places[order], amounts[order]
    at = np.minimum(np.searchsorted(stays, documents), len(stays) - 1) if len(stays) else documents
    chosen = stays[at] == documents if len(stays) else np.zeros(len(documents), np.bool_)
    if not chosen.any():
        return None
    documents, places, amounts = at[chosen], places[chosen], amounts[chosen]
    begins = np.ones(len(documents), np.bool_)
    begins[1:] = (np.diff(documents) != 0) | (np.diff(places) != 0)
    firsts = np.flatnonzero(begins)
    return np.stack([documents[firsts], places[firsts], np.add.reduceat(amounts, firsts)], axis=1)
