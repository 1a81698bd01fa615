"""Large corpora: ten gigabytes counted and trained on, and words counted by two local Dask workers.

Ten gigabytes are the mixed 100 MB with its Latin letters permuted in ten ways, each given ten times.

So the text stays as regular as it was, and there are ever more distinct pre-tokens. Each training has a process of its
own; memory is what it needs at most above what the process held before, the corpus included. With --free the files stay
on the disk as if so little memory were free.

Dask's workers are held against one process with one thread, and the tables must be equal. The mixed text is cut at line
ends into files of one source, each given twenty times. The time to start the workers is left out.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse
import random
import string
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from _common import cut, in_fresh_process, parser, record, run_parts, seconds, table, texts, training_by_phase

from tokstudio.cli.cluster import local_cluster
from tokstudio.cli.counting import count_on_cluster
from tokstudio.cli.process.terminal import Console
from tokstudio.core.base.progress import finish
from tokstudio.core.corpus.readers import files as text_store
from tokstudio.core.corpus.readers.folders import Entry
from tokstudio.core.corpus.source import CountedWith
from tokstudio.core.pretokenization.count_words import Counting

_TIMES = 10  # how often each permuted copy is given
_FILES, _GIVEN = 8, 20  # of the text that the workers count, and how often each is given


def permutation(seed: int) -> bytes:
    """A table for `bytes.translate` that gives each Latin letter another; capitals go with their small letters."""
    letters = list(string.ascii_lowercase)
    random.Random(seed).shuffle(letters)
    others = "".join(letters)
    return bytes.maketrans(
        (string.ascii_lowercase + string.ascii_uppercase).encode(), (others + others.upper()).encode()
    )


def measure(files: list[str], size: int, pattern: str, free: int) -> dict[str, Any]:
    """Trains here: seconds by phase, and bytes of memory above what the process held before."""
    text_store.free_memory = lambda: free
    made, trainer = training_by_phase(files, _TIMES, vocabulary_size=size, pattern=pattern)
    return {**made, "bytes": trainer.corpus.bytes, "merges": trainer.merges_made}


def ten_gigabytes(chosen: argparse.Namespace) -> None:
    """Trains on all copies, and prints time by phase and memory."""
    with texts(chosen, chosen.text) as (file,), tempfile.TemporaryDirectory(prefix="tokstudio-benchmark-") as folder:
        copies = [Path(folder) / f"{number:03}.txt" for number in range(chosen.copies)]
        for number, copy in enumerate(copies):
            copy.write_bytes(file.read_bytes().translate(permutation(number)))
        files = [str(copy) for copy in copies]
        made = in_fresh_process(measure, files, chosen.vocabulary_size, chosen.pattern, chosen.free)
    if made is None:
        sys.exit("It failed, see above.")
    phases = [f"{took:.2f} s" for took in (*made["phases"].values(), made["seconds"])]
    memory = [f"{made['memory'] / 1e6:,.0f} MB", f"{made['memory'] / made['bytes']:.2f}"]
    heads = ["text", "reading", "counting", "merging", "all", "merges", "peak memory", "bytes a corpus byte"]
    table(heads, [[f"{made['bytes'] / 1e6:,.0f} MB", *phases, f"{made['merges']:,}", *memory]])
    if made["bytes"] >= 9e9:
        text = f"10 GB, {chosen.vocabulary_size:,} tokens"
        record("count and train", text, made["seconds"], "s", bar="240 s")
        record("peak memory of it", text, made["memory"] / 1e6, "MB", bar="4,000 MB")


def by_workers(chosen: argparse.Namespace) -> None:
    """Counts alone and on the workers, by turns, and prints both."""
    counting = Counting(CountedWith(chosen.pattern))
    with (
        texts(chosen, chosen.text) as (file,),
        tempfile.TemporaryDirectory() as name,
        local_cluster(2) as cluster,
    ):
        folder = Path(name)
        entries = [Entry(path, name) for path in cut(file.read_bytes(), _FILES, folder)] * _GIVEN

        def alone() -> Path:
            return finish(counting.count_work(entries, threads=1)).counts.save(folder / "counts.parquet")

        def together() -> Path:
            with (
                Console(False) as console,
                count_on_cluster(counting, entries, cluster.scheduler_address, console) as (counted, _),
            ):
                return console.finish(counted.save_work(folder / "counts.parquet"))

        # The first calls load the loops, in the workers too.
        tables = [job().read_bytes() for job in (alone, together)]
        took: dict[str, list[float]] = {"one process, one thread": [], "two workers": []}
        for _ in range(chosen.runs):
            for times, job in zip(took.values(), (alone, together), strict=True):
                times.append(seconds(job)[0])
    rows = [[name, *(f"{of(times):.2f} s" for of in (min, median, max))] for name, times in took.items()]
    one, two = took.values()
    rows.append(["times as fast", *(f"{of(one) / of(two):.2f}" for of in (min, median, max))])
    table([f"2 GB, {'equal' if len({*tables}) == 1 else 'DIFFERENT'} tables", "best", "median", "worst"], rows)
    record("count by two Dask workers", f"2 GB, {chosen.pattern}", median(two), "s", "one thread", median(one), "1.6x")


if __name__ == "__main__":
    arguments = parser(__doc__)
    arguments.add_argument("--vocabulary-size", type=int, default=32768)
    arguments.add_argument("--copies", type=int, default=10, help="how many permuted copies are made")
    arguments.add_argument("--free", type=int, default=1 << 30, help="bytes of free memory that reading sees")
    arguments.add_argument("--pattern", default="cl100k")
    arguments.add_argument("--runs", type=int, default=5, help="of counting by workers and alone")
    arguments.add_argument("--text", default="mixed_100mb.txt", help="which of the texts")
    run_parts(arguments, training=ten_gigabytes, workers=by_workers)
