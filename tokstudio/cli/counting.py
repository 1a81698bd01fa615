"""`tokstudio count`: counts pre-tokens into a table, also on a Dask cluster."""

# SPDX-License-Identifier: MIT
# pyright: reportMissingImports=false, reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownParameterType=false
from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tokstudio.cli.cluster import absolute, cores_work, neighbours, open_client, waited_work
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
from tokstudio.core.pretokenization.word_counts import WordCounts
from tokstudio.core.pretokenization.word_table import PARTITIONS

if TYPE_CHECKING:
    from distributed import Client, Future

# --- Counts files on a Dask cluster: tasks that count neighbouring files, and one for each partition of the words -----

_TASKS_PER_CORE = 2  # few, as each table is divided and joined; more than one, as files take unequal time


@dataclass(frozen=True, eq=False)
class _Frequent:
    """The words that occur often enough, and what is left out: words, and how often they occur in all."""

    counts: WordCounts
    rare: int
    uses: int

    def __sizeof__(self) -> int:
        return sys.getsizeof(self.counts)


def count_on_cluster(
    counting: Counting, entries: Sequence[Entry], address: str, console: Console, least: int = 1
) -> tuple[_Frequent, tuple[Source, ...]]:
    """Counts files with the workers of a cluster, which must see the same paths; the table is that of one pass.

    The table is divided by a hash of the word. A task joins what all files have of a partition, and leaves out its rare
    words, so that only the others come together here.

    Args:
        counting: How files are read and counted.
        entries: The files.
        address: That of the scheduler, such as "tcp://10.0.0.1:8786"; "local" starts workers here, one per core.
        console: Shows the progress.
        least: Words that occur less often in all files are left out.

    Raises:
        ConfigError: Dask is not installed.
        CorpusError: No scheduler answers, all workers died, or a file cannot be read.
    """
    with open_client(address) as client:
        entries = list(map(absolute, entries))
        cores = console.finish(cores_work(client, address))
        shards = list(neighbours(entries, list(map(stored_bytes, entries)), _TASKS_PER_CORE * cores))
        facts, numbers, joined = _submit(client, counting, shards, least)
        steps = len(facts) + len(joined)

        def progress() -> Progress:
            fetched = PARTITIONS - len(joined)
            return Progress("counting", fetched + sum(future.done() for future in (*facts, *joined)), steps)

        placed: _Placed = console.finish(waited_work(numbers, progress, "counted"))
        parts: list[_Frequent] = []
        while joined:
            parts.append(console.finish(waited_work(joined[0], progress, "counted")))
            joined.pop(0)
    rare, uses = sum(part.rare for part in parts), sum(part.uses for part in parts)
    counts = [part.counts for part in parts]
    parts.clear()  # a partition is freed when it is joined
    frequent = _Frequent(console.finish(WordCounts.of_partitions_work(counts)), rare, uses)
    read = size_text(sum(map(stored_bytes, entries)) - len(entries))
    console.say(
        f"Read {read} in {several(len(shards), 'task')}; the slowest took {placed.seconds:,.1f} s, "
        f"from {printable(placed.file)} on."
    )
    return frequent, placed.sources


def _submit(
    client: Client, counting: Counting, shards: Sequence[Sequence[Entry]], least: int
) -> tuple[list[Future], Future, list[Future]]:
    """The facts about each shard, the numbers of all sources, and the partitions.

    No other result is asked for here, so that workers free the tables of the shards as soon as they are joined.
    """
    counted = client.map(_count, shards, counting=counting, partitions=PARTITIONS, pure=False)
    facts: list[Future] = client.map(_facts, counted, pure=False)
    placed = client.submit(_place, facts, pure=False)
    joined: list[Future] = []
    for number in range(PARTITIONS):
        parts = client.map(_partition, counted, number=number, pure=False)
        joined.append(client.submit(_join, parts, placed, least, pure=False))
    return facts, placed, joined


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


def _count(shard: Sequence[Entry], counting: Counting, partitions: int) -> _Counted | TokStudioError:
    """Counts a shard; an error is its result, as a worker would print an exception."""
    begun = time.monotonic()
    try:
        part = finish(counting.count_work(shard, threads=1))
    except TokStudioError as error:
        return error
    tables = part.counts.divided(partitions)
    return _Counted(part.sources, part.counts.files, time.monotonic() - begun, shard[0].path.name, tables)


def _facts(counted: _Counted | TokStudioError) -> _Counted | TokStudioError:
    return counted if isinstance(counted, TokStudioError) else replace(counted, partitions=())


def _partition(counted: _Counted | TokStudioError, number: int) -> WordCounts | None:
    return None if isinstance(counted, TokStudioError) else counted.partitions[number]


def _place(shards: Sequence[_Counted | TokStudioError]) -> _Placed | TokStudioError:
    counted: list[_Counted] = []
    for shard in shards:
        if isinstance(shard, TokStudioError):
            return shard
        counted.append(shard)
    slowest = max(counted, key=lambda one: one.seconds)
    sources = tuple(source for one in counted for source in one.sources)
    numbers = numbers_of_parts([(one.sources, one.files) for one in counted])
    return _Placed(sources, numbers, slowest.seconds, slowest.file)


def _join(
    parts: Sequence[WordCounts | None], placed: _Placed | TokStudioError, least: int
) -> _Frequent | TokStudioError:
    if isinstance(placed, TokStudioError):
        return placed
    tables = [part.renumbered(*where) for part, where in zip(parts, placed.numbers, strict=True) if part is not None]
    return _frequent(finish(WordCounts.merge_work(tables)), least)


def _frequent(counts: WordCounts, least: int) -> _Frequent:
    """The words that are not rare in a joined table, so that it does not matter how texts were divided."""
    frequent = counts.at_least(least) if least > 1 else counts
    return _Frequent(frequent, len(counts) - len(frequent), int(counts.counts.sum() - frequent.counts.sum()))


# --- The command `count`: counts the pre-tokens of texts and writes the table, for training later or elsewhere --------


def count(arguments: argparse.Namespace, console: Console) -> None:
    """Counts files, here or on a cluster, and writes the table."""
    settings = CountedWith(arguments.pattern, tuple(arguments.special), arguments.documents)
    texts = texts_of(arguments, arguments.files)
    counting = Counting(settings, texts.reading, texts.encoding)
    out: Path | str = arguments.out
    target = parse_address(out) if isinstance(out, str) else None
    if target is not None:
        console.finish(store_work(target))  # before any work, as far as that can be known
    if "-" in arguments.files:
        raise CorpusError("Standard input cannot be counted: give files. To train on it: tokstudio train -.")
    least: int = arguments.min_count
    with plain_reading_errors():
        folders = list[Folder]()
        if texts.leave_out or texts.leave_out_lists:
            part, folders = _count_without(replace(texts, documents=arguments.documents), settings, console)
            frequent, sources = _frequent(part.counts, least), part.sources
        else:
            entries = console.finish(_entries_work(texts, folders, console))
            if arguments.dask is not None:
                frequent, sources = count_on_cluster(counting, entries, arguments.dask, console, least)
            else:
                part = console.finish(counting.count_work(entries))
                frequent, sources = _frequent(part.counts, least), part.sources
                del part  # with its rare words
            report_read(sources, console)
    counts = frequent.counts
    if not len(counts) and not frequent.rare:
        raise CorpusError("There are no words in these texts: nothing was written.")
    if least > 1:
        rare, uses = several(frequent.rare, "word"), several(frequent.uses, "use")
        console.say(f"Left out {rare} with fewer than {least:,} uses: {uses} in all.")
    if not len(counts):
        raise CorpusError(f"--min-count {least}: every word occurs less often: nothing was written.")
    if target is None:
        console.finish(counts.save_work(out))
    else:
        with TemporaryFolder() as folder:
            console.finish(store_work(target, console.finish(counts.save_work(folder / "counts.parquet"))))
    name = out.name if isinstance(out, Path) else str(target)
    if arguments.json:
        put(sys.stdout, json.dumps(_as_json(frequent, str(target or out)) | read_as_json(folders, sources)) + "\n")
    text = sum(total.bytes for total in counts.totals)
    console.say(
        f"Counted {several(text, 'byte')} of {several(len(counts.totals), 'source')}: "
        f"{several(len(counts), 'distinct word')}, in {name}."
    )


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


def _as_json(frequent: _Frequent, out: str) -> dict[str, object]:
    counts = frequent.counts
    return {
        "file": out,
        "words": len(counts),
        "rare_words": frequent.rare,
        "rare_uses": frequent.uses,
        "sources": [{"name": one.name, "bytes": one.bytes, "documents": one.documents} for one in counts.totals],
        "special_tokens": dict(counts.cut_out),
    }
