"""Words counted by two local Dask workers, beside one process with one thread; the tables must be equal.

The mixed text is cut into files at line ends, which are one source like those of a large folder. The time to start the
workers is told apart.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import tempfile
import time
from pathlib import Path

import distributed
from _common import machine, parser, seconds, table, texts

from tokstudio.cli.cluster import count_on_cluster
from tokstudio.cli.terminal import Console
from tokstudio.core.base.progress import finish
from tokstudio.core.corpus.readers.folders import Entry
from tokstudio.core.corpus.source import CountedWith
from tokstudio.core.pretokenization.counting import Counting


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--text", default="mixed_100mb.txt", help="which of the texts")
    arguments.add_argument("--files", type=int, default=8)
    arguments.add_argument("--times", type=int, default=5, help="how often each file is given")
    arguments.add_argument("--pattern", default="cl100k")
    chosen = arguments.parse_args()
    counting = Counting(CountedWith(chosen.pattern))
    with texts(chosen, chosen.text) as (file,), tempfile.TemporaryDirectory(prefix="tokstudio-benchmark-") as folder:
        entries = [Entry(path, folder) for path in _cut(file.read_bytes(), chosen.files, Path(folder))] * chosen.times
        finish(counting.count_work(entries[:1], threads=1))  # loads the loops
        alone, one = seconds(lambda: finish(counting.count_work(entries, threads=1)).counts)
        saved = one.save(Path(folder) / "one.parquet").read_bytes()
        started = time.perf_counter()
        options = {"dashboard_address": ":0", "silence_logs": 40}
        with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, **options) as cluster:
            start = time.perf_counter() - started
            rows = [["one process, one thread", f"{alone:.2f} s", "1.00"]]
            for name in ("two workers, loops loaded first", "two workers"):
                with Console(False) as console:
                    took, counts = seconds(
                        lambda: count_on_cluster(counting, entries, cluster.scheduler_address, console).counts
                    )
                same = counts.save(Path(folder) / "two.parquet").read_bytes() == saved
                rows.append([f"{name}{'' if same else ', another table!'}", f"{took:.2f} s", f"{alone / took:.2f}"])
    settings = f"{chosen.files} files, each given {chosen.times} times, pattern {chosen.pattern}"
    print(f"{settings}; workers started in {start:.1f} s; {machine()}\n")
    table(["counted by", "seconds", "times as fast"], rows)


def _cut(text: bytes, parts: int, folder: Path) -> list[Path]:
    at, made = 0, list[Path]()
    for number in range(parts):
        end = len(text) if number == parts - 1 else text.index(b"\n", len(text) * (number + 1) // parts) + 1
        made.append(folder / f"{number}.txt")
        made[-1].write_bytes(text[at:end])
        at = end
    return made


if __name__ == "__main__":
    main()
