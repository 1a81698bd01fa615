"""Words counted by two local Dask workers, beside one process with one thread; the tables must be equal.

The mixed text is cut into files at line ends, which are one source like those of a large folder. The time to start the
workers is left out.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import tempfile
from pathlib import Path
from statistics import median

from _common import machine, parser, seconds, table, texts

from tokstudio.cli.cluster import count_on_cluster, local_cluster
from tokstudio.cli.process.terminal import Console
from tokstudio.core.base.progress import finish
from tokstudio.core.corpus.readers.folders import Entry
from tokstudio.core.corpus.source import CountedWith
from tokstudio.core.pretokenization.counting import CountedPart, Counting


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--text", default="mixed_100mb.txt", help="which of the texts")
    arguments.add_argument("--files", type=int, default=8)
    arguments.add_argument("--times", type=int, default=20, help="how often each file is given")
    arguments.add_argument("--pattern", default="cl100k")
    arguments.add_argument("--runs", type=int, default=5)
    chosen = arguments.parse_args()
    counting = Counting(CountedWith(chosen.pattern))
    with texts(chosen, chosen.text) as (file,), tempfile.TemporaryDirectory(prefix="tokstudio-benchmark-") as folder:
        entries = [Entry(path, folder) for path in _cut(file.read_bytes(), chosen.files, Path(folder))] * chosen.times
        with local_cluster(2) as cluster:

            def alone() -> CountedPart:
                return finish(counting.count_work(entries, threads=1))

            def together() -> CountedPart:
                with Console(False) as console:
                    return count_on_cluster(counting, entries, cluster.scheduler_address, console)

            expected = _bytes(alone(), folder)  # loads the loops, as the next line does in the workers
            same = _bytes(together(), folder) == expected
            took: dict[str, list[float]] = {"one process, one thread": [], "two workers": []}
            for _ in range(chosen.runs):
                for times, job in zip(took.values(), (alone, together), strict=True):
                    times.append(seconds(job)[0])
    settings = f"{chosen.files} files, each given {chosen.times} times, pattern {chosen.pattern}"
    print(f"{settings}; {chosen.runs} runs in turn; {'equal' if same else 'DIFFERENT'} tables; {machine()}\n")
    rows = [[name, *(f"{of(times):.2f} s" for of in (min, median, max))] for name, times in took.items()]
    one, two = took.values()
    rows.append(["times as fast", *(f"{of(one) / of(two):.2f}" for of in (min, median, max))])
    table(["counted by", "best", "median", "worst"], rows)


def _bytes(part: CountedPart, folder: str) -> bytes:
    return part.counts.save(Path(folder) / "counts.parquet").read_bytes()


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
