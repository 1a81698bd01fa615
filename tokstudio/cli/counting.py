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
from dataclasses import dataclass, replace
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
from tokstudio.core.base.progress import Progress, Work, finish
from tokstudio.core.base.wording import printable, several, size_text
from tokstudio.core.corpus.readers.folders import Entry, Folder, numbered_work, remote_entries_work
from tokstudio.core.corpus.source import CountedWith
from tokstudio.core.hub.addresses import address_of
from tokstudio.core.pretokenization.count_words import CountedPart, Counting, count_corpus_work, stored_bytes
from tokstudio.core.pretokenization.word_counts import WordCounts

if TYPE_CHECKING:
    from distributed import Future

# --- Counts files on a Dask cluster: tasks that count neighbouring files, and a tree of tasks that join the tables ----

_TASKS_PER_CORE = 2  # few, as each table is joined with others; more than one, as files take unequal time


def count_on_cluster(counting: Counting, entries: Sequence[Entry], address: str, console: Console) -> CountedPart:
    """Counts files with the workers of a cluster, which must see the same paths; the table is that of one pass.

    Args:
        counting: How files are read and counted.
        entries: The files.
        address: That of the scheduler, such as "tcp://10.0.0.1:8786"; "local" starts workers here, one per core.
        console: Shows the progress.

    Raises:
        ConfigError: Dask is not installed.
        CorpusError: No scheduler answers, all workers died, or a file cannot be read.
    """
    with open_client(address) as client:
        entries = list(map(absolute, entries))
        cores = console.finish(cores_work(client, address))
        shards = list(neighbours(entries, list(map(stored_bytes, entries)), _TASKS_PER_CORE * cores))
        parts = client.map(_count, shards, counting=counting, pure=False)
        tables: list[Future] = list(parts)
        joins: list[Future] = []
        while len(tables) > 1:
            pairs = [
                client.submit(_join, *tables[at : at + 2], pure=False) if at + 1 < len(tables) else tables[at]
                for at in range(0, len(tables), 2)
            ]
            joins += [future for future in pairs if future not in tables]
            tables = pairs
        futures = [*parts, *joins]

        def progress() -> Progress:
            return Progress("counting", sum(future.done() for future in futures), len(futures))

        counted: _Counted = console.finish(waited_work(tables[0], progress, "counted"))
        read = size_text(sum(map(stored_bytes, entries)) - len(entries))
        console.say(
            f"Read {read} in {several(len(parts), 'task')}; the slowest took {counted.seconds:,.1f} s, "
            f"from {printable(counted.file)} on."
        )
        return counted.part


@dataclass(frozen=True, eq=False)
class _Counted:
    """A table with the seconds of the slowest task that counted for it, and its first file."""

    part: CountedPart
    seconds: float
    file: str


def _count(shard: Sequence[Entry], counting: Counting) -> _Counted | TokStudioError:
    """Counts a shard; an error is its result, as a worker would print an exception."""
    begun = time.monotonic()
    try:
        part = finish(counting.count_work(shard, threads=1))
    except TokStudioError as error:
        return error
    return _Counted(part, time.monotonic() - begun, shard[0].path.name)


def _join(first: _Counted | TokStudioError, later: _Counted | TokStudioError) -> _Counted | TokStudioError:
    if isinstance(first, TokStudioError):
        return first
    if isinstance(later, TokStudioError):
        return later
    slowest = max(first, later, key=lambda one: one.seconds)
    return replace(slowest, part=finish(first.part.joined_work(later.part)))


# --- The command `count`: counts the pre-tokens of texts and writes the table, for training later or elsewhere --------


def count(arguments: argparse.Namespace, console: Console) -> None:
    """Counts files, here or on a cluster, and writes the table."""
    settings = CountedWith(arguments.pattern, tuple(arguments.special), arguments.documents)
    texts = texts_of(arguments, arguments.files)
    counting = Counting(settings, texts.reading, texts.encoding)
    if "-" in arguments.files:
        raise CorpusError("Standard input cannot be counted: give files. To train on it: tokstudio train -.")
    with plain_reading_errors():
        folders = list[Folder]()
        if texts.leave_out or texts.leave_out_lists:
            part, folders = _count_without(replace(texts, documents=arguments.documents), settings, console)
        else:
            entries = console.finish(_entries_work(texts, folders, console))
            if arguments.dask is not None:
                part = count_on_cluster(counting, entries, arguments.dask, console)
            else:
                part = console.finish(counting.count_work(entries))
            report_read(part.sources, console)
    counts, least = part.counts, arguments.min_count
    if not len(counts):
        raise CorpusError("There are no words in these texts: nothing was written.")
    if least > 1:
        counts = _frequent(counts, least, console)
    out = console.finish(counts.save_work(arguments.out))
    if arguments.json:
        put(sys.stdout, json.dumps(_as_json(counts, out) | read_as_json(folders, part.sources)) + "\n")
    text = sum(total.bytes for total in counts.totals)
    console.say(
        f"Counted {several(text, 'byte')} of {several(len(counts.totals), 'source')}: "
        f"{several(len(counts), 'distinct word')}, in {out.name}."
    )


def _frequent(counts: WordCounts, least: int, console: Console) -> WordCounts:
    """The words that are not rare in the joined table, so that it does not matter how texts were divided among workers.

    Reports what is left out.
    """
    frequent = counts.at_least(least)
    rare, uses = len(counts) - len(frequent), int(counts.counts.sum() - frequent.counts.sum())
    console.say(f"Left out {several(rare, 'word')} with fewer than {least:,} uses: {several(uses, 'use')} in all.")
    if not len(frequent):
        raise CorpusError(f"--min-count {least}: every word occurs less often: nothing was written.")
    return frequent


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


def _as_json(counts: WordCounts, out: Path) -> dict[str, object]:
    return {
        "file": str(out),
        "words": len(counts),
        "sources": [{"name": one.name, "bytes": one.bytes, "documents": one.documents} for one in counts.totals],
        "special_tokens": dict(counts.cut_out),
    }
