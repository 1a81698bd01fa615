"""`tokstudio count`: counts pre-tokens into a table, also on a Dask cluster."""

# SPDX-License-Identifier: MIT
# pyright: reportMissingImports=false, reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownParameterType=false
from __future__ import annotations

import argparse
import json
import logging
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import accumulate, groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

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
from tokstudio.core.base.errors import ConfigError, CorpusError, TokStudioError
from tokstudio.core.base.machine import processors
from tokstudio.core.base.progress import Progress, Work, finish
from tokstudio.core.base.wording import several
from tokstudio.core.corpus.readers.folders import Entry, Folder
from tokstudio.core.corpus.source import CountedWith
from tokstudio.core.pretokenization.count_words import CountedPart, Counting, count_corpus_work, stored_bytes
from tokstudio.core.pretokenization.word_counts import WordCounts

if TYPE_CHECKING:
    from distributed import Client, Future, LocalCluster

# --- Cluster ----------------------------------------------------------------------------------------------------------
# Counts files on a Dask cluster: tasks that count neighbouring files, and a tree of tasks that join their tables.

# distributed is not installed everywhere, and has no complete types.

T = TypeVar("T")

_SECONDS = 6  # to wait for an answer of a scheduler
_UNTIL_WORKERS = 10  # seconds
_TASKS_PER_CORE = 2  # few, as each table is joined with others; more than one, as files take unequal time
_PATIENCE = 0.1  # seconds between two reports of progress
_TRIM = "MALLOC_TRIM_THRESHOLD_"


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
    with _client(address) as client:
        entries = [
            replace(entry, path=entry.path.absolute(), shards=tuple(shard.absolute() for shard in entry.shards))
            for entry in entries
        ]
        cores = console.finish(_cores_work(client, address))
        shards = list(_shards(entries, _TASKS_PER_CORE * cores))
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
        return console.finish(_result_work(tables[0], [*parts, *joins]))


def _cores_work(client: Client, address: str) -> Work[int]:
    """The cores of all workers; waits for the first of them."""
    for _ in range(round(_UNTIL_WORKERS / _PATIENCE)):
        try:
            threads: Any = _in_time(client.nthreads)
        except TimeoutError:
            raise CorpusError(f"--dask {address}: the scheduler no longer answers.") from None
        if threads:
            return sum(threads.values())
        yield Progress("waiting for workers")
        time.sleep(_PATIENCE)
    raise CorpusError(f"--dask {address}: the scheduler has no workers; start some.")


def _shards(entries: Sequence[Entry], most: int) -> Iterator[list[Entry]]:
    """Neighbouring files together, in at most so many shards of about the same size."""
    sizes = list(map(stored_bytes, entries))
    middles = [end - size / 2 for end, size in zip(accumulate(sizes), sizes, strict=True)]
    for _, shard in groupby(zip(entries, middles, strict=True), lambda each: int(each[1] * most / sum(sizes))):
        yield [entry for entry, _ in shard]


def _count(shard: Sequence[Entry], counting: Counting) -> CountedPart | TokStudioError:
    """Counts a shard; an error is its result, as a worker would print an exception."""
    try:
        return finish(counting.count_work(shard, threads=1))
    except TokStudioError as error:
        return error


def _join(part: CountedPart | TokStudioError, later: CountedPart | TokStudioError) -> CountedPart | TokStudioError:
    if isinstance(part, TokStudioError):
        return part
    return later if isinstance(later, TokStudioError) else finish(part.joined_work(later))


def _result_work(last: Future, futures: Sequence[Future]) -> Work[CountedPart]:
    """Waits for the last table; an error of any task is raised."""
    from distributed import KilledWorker

    while not last.done():
        yield Progress("counting", sum(future.done() for future in futures), len(futures))
        time.sleep(_PATIENCE)
    try:
        part_or_error: CountedPart | TokStudioError = last.result()
    except KilledWorker as error:
        raise CorpusError(
            "The workers that counted a file died again and again, probably for lack of memory: give smaller files."
        ) from error
    if isinstance(part_or_error, TokStudioError):
        raise part_or_error
    return part_or_error


def local_cluster(workers: int) -> LocalCluster:
    """Starts workers on this computer, with a thread each."""
    from dask import config
    from distributed import LocalCluster

    environment = "distributed.nanny.pre-spawn-environ"
    # With this variable, whatever its value, the C library maps the text of each file anew: a tenth of the time.
    variables = {name: value for name, value in config.get(environment).items() if name != _TRIM}
    with config.set({environment: variables}):
        options: dict[str, Any] = {"dashboard_address": ":0", "silence_logs": logging.ERROR}
        return LocalCluster(n_workers=workers, threads_per_worker=1, processes=True, **options)


def _in_time(ask: Callable[[], T]) -> T:
    """Asks a scheduler; TimeoutError where it says nothing, which `distributed` would wait for without end."""
    answers: queue.SimpleQueue[T | BaseException] = queue.SimpleQueue()

    def put() -> None:
        try:
            answers.put(ask())
        except BaseException as error:
            answers.put(error)

    threading.Thread(target=put, daemon=True).start()
    try:
        answer = answers.get(timeout=_SECONDS)
    except queue.Empty:
        raise TimeoutError from None
    if isinstance(answer, BaseException):
        raise answer
    return answer


@contextmanager
def _client(address: str) -> Iterator[Client]:
    try:
        import distributed
    except ImportError as error:
        raise ConfigError("--dask: Dask is not installed; install tokstudio[dask].") from error
    with ExitStack() as opened:
        try:
            if address == "local":
                cluster = opened.enter_context(local_cluster(processors()))
                client = opened.enter_context(distributed.Client(cluster))
            else:
                client = opened.enter_context(_in_time(lambda: distributed.Client(address, timeout=_SECONDS)))
        except Exception as error:  # whatever a server of another protocol causes
            raise CorpusError(f"--dask {address}: no scheduler answered there within {_SECONDS} s.") from error
        yield client


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
            entries = console.finish(expand_files_work(arguments.files, folders, console))
            if arguments.dask is not None:
                part = count_on_cluster(counting, entries, arguments.dask, console)
            else:
                part = console.finish(counting.count_work(entries))
            report_read(part.sources, console)
    counts = part.counts
    if not len(counts):
        raise CorpusError("There are no words in these texts: nothing was written.")
    out = console.finish(counts.save_work(arguments.out))
    if arguments.json:
        put(sys.stdout, json.dumps(_as_json(counts, out) | read_as_json(folders, part.sources)) + "\n")
    text = sum(total.bytes for total in counts.totals)
    console.say(
        f"Counted {several(text, 'byte')} of {several(len(counts.totals), 'source')}: "
        f"{several(len(counts), 'distinct word')}, in {out.name}."
    )


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
