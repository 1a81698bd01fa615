"""`tokstudio count`: counts pre-tokens into a table, also on a Dask cluster."""

# SPDX-License-Identifier: MIT
# pyright: reportMissingImports=false, reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownParameterType=false
from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, TypeVar
from uuid import uuid4

import numpy as np

from tokstudio.cli.cluster import MINUTES, Cluster, absolute, cores_work, neighbours, open_cluster, waited_work
from tokstudio.cli.process.terminal import Console, put
from tokstudio.cli.reading import (
    TextsToRead,
    expand_files_work,
    plain_reading_errors,
    read_as_json,
    read_corpus,
    report_read,
    texts_of,
    without_left_out,
)
from tokstudio.core.base.errors import CorpusError, TokStudioError
from tokstudio.core.base.private_folders import TemporaryFolder
from tokstudio.core.base.progress import Progress, Work, finish
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import printable, several, size_text
from tokstudio.core.corpus.counts_file import CountFacts, RowBlock, no_rows, write_counted_blocks_work
from tokstudio.core.corpus.readers.folders import Entry, Folder, numbered_work, remote_entries_work
from tokstudio.core.corpus.source import CountedWith, Source
from tokstudio.core.hub.addresses import address_of, parse_address
from tokstudio.core.hub.fetching_texts import store_work
from tokstudio.core.pretokenization.count_words import (
    CountedPart,
    Counting,
    count_corpus_work,
    numbers_of_parts,
    stored_bytes,
)
from tokstudio.core.pretokenization.word_counts import WordCounts, sorted_rows
from tokstudio.core.pretokenization.word_table import PARTITIONS

if TYPE_CHECKING:
    from distributed import Client, Future
    from numpy.typing import NDArray

P = ParamSpec("P")
T = TypeVar("T")

# --- Counts files on a Dask cluster: tasks that count neighbouring files, and one for each partition of the words -----

_TASKS_PER_CORE = 2  # few, as each table is divided and joined; more than one, as files take unequal time
_PLACES = 1 << 10  # of a partition, by which the rows of all are divided into ranges


@dataclass(frozen=True, eq=False)
class _Frequent:
    """The words that occur often enough, and what is left out: words, and how often they occur in all."""

    counts: WordCounts
    rare: int
    uses: int

    def __sizeof__(self) -> int:
        return sys.getsizeof(self.counts)


@dataclass(frozen=True, eq=False)
class CountedTable:
    """A counted table, which may still be with the workers of a cluster."""

    facts: CountFacts  # what is true of all its words, also of those that are left out
    words: int  # how many it has
    rare: int  # the words that are left out
    uses: int  # how often these occur in all
    save_work: Callable[[Path], Work[Path]]  # writes it to a file, whole or not at all


@contextmanager
def count_on_cluster(
    counting: Counting,
    entries: Sequence[Entry],
    address: str,
    console: Console,
    least: int = 1,
    minutes: float = MINUTES,
) -> Iterator[tuple[CountedTable, tuple[Source, ...]]]:
    """Counts files with the workers of a cluster, which must see the same paths; the table is that of one pass.

    The table is divided by a hash of the word. A task joins what all files have of a partition, and leaves out its rare
    words. Other tasks divide what is left by the places of its rows, in whose order the file has them: one such part
    after another comes here while the table is saved, so that no computer ever holds all of it.

    Args:
        counting: How files are read and counted.
        entries: The files.
        address: That of the scheduler, such as "tcp://10.0.0.1:8786"; "local" starts workers here, one per core.
        console: Shows the progress.
        least: Words that occur less often in all files are left out.
        minutes: In which the workers must do something; 0: never.

    Yields:
        The table, which can be saved once, within the block; and the sources.

    Raises:
        ConfigError: Dask is not installed.
        CorpusError: No scheduler answers, workers cannot load TokStudio, died or do nothing, or a file cannot be read.
    """
    with open_cluster(address, minutes) as cluster:
        entries = list(map(absolute, entries))
        cores = console.finish(cores_work(cluster, _count))
        shards = list(neighbours(entries, list(map(stored_bytes, entries)), _TASKS_PER_CORE * cores))
        tasks = _submit(cluster.client, counting, shards, least)
        small = (*tasks.facts, *tasks.kept)

        def progress() -> Progress:
            return Progress("counting", sum(future.done() for future in small), len(small))

        placed: _Placed = console.finish(waited_work(cluster, tasks.placed, progress, "counted"))
        kept: list[_Kept] = [console.finish(waited_work(cluster, future, progress, "counted")) for future in tasks.kept]
        read = size_text(sum(map(stored_bytes, entries)) - len(entries))
        console.say(
            f"Read {read} in {several(len(shards), 'task')}; the slowest took {placed.seconds:,.1f} s, "
            f"from {printable(placed.file)} on."
        )
        facts = kept[0].facts  # the same in each partition
        words, rare, uses = (sum(each) for each in zip(*((one.words, one.rare, one.uses) for one in kept), strict=True))

        def save_work(path: Path) -> Work[Path]:
            return write_counted_blocks_work(facts, _blocks(cluster, tasks.ranges), path)

        yield CountedTable(facts, words, rare, uses, save_work), placed.sources


def _blocks(cluster: Cluster, ranges: list[Future]) -> Iterator[RowBlock]:
    """The rows of all ranges, one range after another; a block without rows while one is waited for."""
    while ranges:
        work = waited_work(cluster, ranges[0], partial(Progress, "joining"), "counted")
        while True:
            try:
                next(work)
            except StopIteration as end:
                yield end.value
                break
            yield no_rows()
        ranges.pop(0)


class _Tasks(NamedTuple):
    """What is asked for: the facts about each shard and partition, the numbers of all sources, and the rows."""

    facts: list[Future]
    placed: Future
    kept: list[Future]
    ranges: list[Future]


def _submit(client: Client, counting: Counting, shards: Sequence[Sequence[Entry]], least: int) -> _Tasks:
    """Starts all tasks; no other result is asked for here, so that workers free tables as soon as they are divided."""

    def submit(task: Callable[..., Any], *given: object) -> Future:
        return client.submit(task, *given, key=_key(task))

    def each(task: Callable[..., Any], items: Sequence[object], shared: dict[str, Any] | None = None) -> list[Future]:
        return client.map(task, items, key=[_key(task) for _ in items], **(shared or {}))

    counted = each(_count, shards, {"counting": counting, "partitions": PARTITIONS})
    facts = each(_facts, counted)
    placed = submit(_place, facts)
    joined = [
        submit(_join, each(_partition, counted, {"number": number}), placed, least) for number in range(PARTITIONS)
    ]
    kept = each(_kept, joined)
    borders = submit(_borders, kept, PARTITIONS)
    ranges = [
        submit(_sorted, each(_between, joined, {"borders": borders, "number": number})) for number in range(PARTITIONS)
    ]
    return _Tasks(facts, placed, kept, ranges)


def _key(task: Callable[..., Any]) -> tuple[str, int]:
    """A key of a group of its own: a scheduler queues what is in a large group, and may leave it there without end.

    It looks at its queue where a task ends, but not where one goes back to wait for a result that died with a worker.
    """
    return f"{task.__name__}-{uuid4()}", 0


@dataclass(frozen=True, eq=False)
class _Counted:
    """A counted shard: its sources and files, the seconds it took, its first file, and its table in partitions."""

    sources: tuple[Source, ...]
    files: int
    seconds: float
    file: str
    partitions: Sequence[WordCounts] = ()

    def __sizeof__(self) -> int:
        return sum(map(sys.getsizeof, self.partitions))


@dataclass(frozen=True, eq=False)
class _Placed:
    """All sources, the numbers for the table of each shard, and the seconds of the slowest with its first file."""

    sources: tuple[Source, ...]
    numbers: list[tuple[list[int], int]]
    seconds: float
    file: str


def _task(work: Callable[P, T]) -> Callable[P, T | TokStudioError]:
    """Has a task return its error, which a worker would print if it were raised, or that of one that it builds on."""

    @wraps(work)
    def done(*args: P.args, **named: P.kwargs) -> T | TokStudioError:
        for given in (*args, *named.values()):
            for one in given if isinstance(given, list) else (given,):
                if isinstance(one, TokStudioError):
                    return one
        try:
            return work(*args, **named)
        except TokStudioError as error:
            return error

    return done


@_task
def _count(shard: Sequence[Entry], counting: Counting, partitions: int) -> _Counted:
    begun = time.monotonic()
    part = finish(counting.count_work(shard, threads=1))
    tables = part.counts.divided(partitions)
    return _Counted(part.sources, part.counts.files, time.monotonic() - begun, shard[0].path.name, tables)


@_task
def _facts(counted: _Counted) -> _Counted:
    return replace(counted, partitions=())


@_task
def _partition(counted: _Counted, number: int) -> WordCounts:
    return counted.partitions[number]


@_task
def _place(counted: Sequence[_Counted]) -> _Placed:
    slowest = max(counted, key=lambda one: one.seconds)
    sources = tuple(source for one in counted for source in one.sources)
    numbers = numbers_of_parts([(one.sources, one.files) for one in counted])
    return _Placed(sources, numbers, slowest.seconds, slowest.file)


@_task
def _join(parts: Sequence[WordCounts], placed: _Placed, least: int) -> _Frequent:
    tables = [part.renumbered(*where) for part, where in zip(parts, placed.numbers, strict=True)]
    return _frequent(finish(WordCounts.merge_work(tables)), least)


def _frequent(counts: WordCounts, least: int) -> _Frequent:
    """The words that are not rare in a joined table, so that it does not matter how texts were divided."""
    frequent = counts.at_least(least) if least > 1 else counts
    return _Frequent(frequent, len(counts) - len(frequent), int(counts.counts.sum() - frequent.counts.sum()))


@dataclass(frozen=True, eq=False)
class _Kept:
    """What is said of a partition: as in `CountedTable`, with some of the places of its rows, in their order."""

    facts: CountFacts
    words: int
    rare: int
    uses: int
    places: NDArray[np.int64]


@_task
def _kept(joined: _Frequent) -> _Kept:
    places = joined.counts.firsts
    some = places[np.linspace(0, len(places) - 1, _PLACES).astype(np.int64)] if len(places) else places
    return _Kept(joined.counts.facts, len(joined.counts), joined.rare, joined.uses, some)


@_task
def _borders(kept: Sequence[_Kept], ranges: int) -> list[int]:
    """Places that divide the rows of all partitions into ranges of about the same size."""
    places = np.sort(np.concatenate([one.places for one in kept]))
    inner = [int(places[len(places) * number // ranges]) if len(places) else 0 for number in range(1, ranges)]
    return [0, *inner, np.iinfo(np.int64).max]


@_task
def _between(joined: _Frequent, borders: Sequence[int], number: int) -> RowBlock:
    return joined.counts.between(borders[number], borders[number + 1])


@_task
def _sorted(rows: Sequence[RowBlock]) -> RowBlock:
    return sorted_rows(rows)


# --- The command `count`: counts the pre-tokens of texts and writes the table, for training later or elsewhere --------


def count(arguments: argparse.Namespace, console: Console) -> None:
    """Counts files, here or on a cluster, and writes the table."""
    settings = CountedWith(arguments.pattern, tuple(arguments.special), arguments.documents)
    texts = texts_of(arguments, arguments.files)
    out: Path | str = arguments.out
    target = parse_address(out) if isinstance(out, str) else None
    if target is not None:
        console.finish(store_work(target))  # before any work, as far as that can be known
    if "-" in arguments.files:
        raise CorpusError("Standard input cannot be counted: give files. To train on it: tokstudio train -.")
    with ExitStack() as opened:
        with plain_reading_errors():
            folders = list[Folder]()
            table, sources = _counted(arguments, texts, settings, folders, console, opened)
        _refuse_nothing(table, arguments.min_count, console)
        if target is None:
            console.finish(table.save_work(Path(out)))
        else:
            folder = opened.enter_context(TemporaryFolder())
            console.finish(store_work(target, console.finish(table.save_work(folder / "counts.parquet"))))
    name = out.name if isinstance(out, Path) else str(target)
    if arguments.json:
        put(sys.stdout, json.dumps(_as_json(table, str(target or out)) | read_as_json(folders, sources)) + "\n")
    totals = table.facts.totals
    console.say(
        f"Counted {several(sum(total.bytes for total in totals), 'byte')} of {several(len(totals), 'source')}: "
        f"{several(table.words, 'distinct word')}, in {name}."
    )


def _counted(
    arguments: argparse.Namespace,
    texts: TextsToRead,
    settings: CountedWith,
    folders: list[Folder],
    console: Console,
    opened: ExitStack,
) -> tuple[CountedTable, tuple[Source, ...]]:
    """Counts the texts, here or on a cluster, to which `opened` keeps the connection until the table is saved."""
    least: int = arguments.min_count
    if texts.leave_out or texts.leave_out_lists:
        part, read = _count_without(replace(texts, documents=arguments.documents), settings, console)
        folders += read
        return _table(part.counts, least), part.sources
    entries = console.finish(_entries_work(texts, folders, console))
    counting = Counting(settings, texts.reading, texts.encoding)
    if arguments.dask is not None:
        table, sources = opened.enter_context(
            count_on_cluster(counting, entries, arguments.dask, console, least, arguments.dask_wait)
        )
    else:
        part = console.finish(counting.count_work(entries))
        table, sources = _table(part.counts, least), part.sources
    report_read(sources, console)
    return table, sources


def _table(counts: WordCounts, least: int) -> CountedTable:
    """The table without its rare words, which are freed."""
    frequent = _frequent(counts, least)
    counts = frequent.counts
    return CountedTable(counts.facts, len(counts), frequent.rare, frequent.uses, counts.save_work)


def _refuse_nothing(table: CountedTable, least: int, console: Console) -> None:
    """Says what was left out; raises CorpusError where nothing is left."""
    if not table.words and not table.rare:
        raise CorpusError("There are no words in these texts: nothing was written.")
    if least > 1:
        rare, uses = several(table.rare, "word"), several(table.uses, "use")
        console.say(f"Left out {rare} with fewer than {least:,} uses: {uses} in all.")
    if not table.words:
        raise CorpusError(f"--min-count {least}: every word occurs less often: nothing was written.")


def _entries_work(texts: TextsToRead, folders: list[Folder], console: Console) -> Work[list[Entry]]:
    """What is counted: each file of an address is fetched when its turn comes, where it is counted, and not kept.

    Files that must be read together are fetched before, and kept.
    """
    entries: list[Entry] = []
    one = texts.reading
    is_apart = not one.deduplicate and one.most_bytes is None and one.split_by is None and texts.sample_bytes is None
    for number, file in enumerate(texts.files):
        address = address_of(file)
        if address is not None and is_apart:
            entries += yield from remote_entries_work(address, texts.fetching, number)
        else:
            entries += yield from expand_files_work([file], folders, console, texts.fetching)
    return (yield from numbered_work(entries))


def _count_without(texts: TextsToRead, settings: CountedWith, console: Console) -> tuple[CountedPart, list[Folder]]:
    """Counts texts without what is to be left out, for which all of them are read first."""
    read = without_left_out(read_corpus(texts, console), texts, console)
    counts = console.finish(count_corpus_work(read.corpus, settings))
    return CountedPart(counts, read.corpus.sources), list(read.folders)


def _as_json(table: CountedTable, out: str) -> dict[str, object]:
    return {
        "file": out,
        "words": table.words,
        "rare_words": table.rare,
        "rare_uses": table.uses,
        "sources": [{"name": one.name, "bytes": one.bytes, "documents": one.documents} for one in table.facts.totals],
        "special_tokens": dict(table.facts.cut_out),
    }
