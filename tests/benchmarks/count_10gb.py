"""Ten gigabytes counted and trained: the mixed 100 MB with its Latin letters permuted in ten ways, each ten times.

So the text stays as regular as it was, and there are ever more distinct pre-tokens. Each training has a process of its
own; memory is what it needs at most above what the process held before, the corpus included. With --free the files stay
on the disk as if so little memory were free. The bar: 4 minutes and 4 GB on two cores.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import random
import string
import tempfile
from pathlib import Path
from typing import Any

from _common import in_fresh_process, machine, parser, table, texts, training_by_phase

from tokstudio.core.corpus.readers import text_store


def permutation(seed: int) -> bytes:
    """A table for `bytes.translate` that gives each Latin letter another; capitals go with their small letters."""
    letters = list(string.ascii_lowercase)
    random.Random(seed).shuffle(letters)
    others = "".join(letters)
    return bytes.maketrans(
        (string.ascii_lowercase + string.ascii_uppercase).encode(), (others + others.upper()).encode()
    )


def measure(files: list[str], size: int, pattern: str, tie_break: str, times: int, free: int | None) -> dict[str, Any]:
    """Trains here: seconds by phase, and bytes of memory above what the process held before."""
    settings = {"vocabulary_size": size, "pattern": pattern, "tie_break": tie_break}
    if free is not None:
        text_store.free_memory = lambda: free
    made, trainer = training_by_phase(files, times, **settings)
    return {**made, "bytes": trainer.corpus.bytes, "merges": trainer.merges_made}


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--vocabulary-size", type=int, default=32768)
    arguments.add_argument("--copies", type=int, nargs="*", default=[1, 10], help="how many permuted copies are made")
    arguments.add_argument("--times", type=int, default=10, help="how often each copy is given")
    arguments.add_argument("--free", type=int, default=1 << 30, help="bytes of free memory that reading sees")
    arguments.add_argument("--pattern", default="cl100k")
    arguments.add_argument("--tie-break", default="first")
    arguments.add_argument("--text", default="mixed_100mb.txt", help="which of the texts")
    arguments.add_argument("--one", help="used by itself")
    chosen = arguments.parse_args()
    if chosen.one:
        print(json.dumps(measure(*json.loads(chosen.one))))
        return
    rows = []
    with texts(chosen, chosen.text) as (file,), tempfile.TemporaryDirectory(prefix="tokstudio-benchmark-") as folder:
        copies = [Path(folder) / f"{number:03}.txt" for number in range(max(chosen.copies))]
        text = file.read_bytes()
        for number, copy in enumerate(copies):
            copy.write_bytes(text.translate(permutation(number)))
        del text
        for count in chosen.copies:
            files = [str(copy) for copy in copies[:count]]
            given = [files, chosen.vocabulary_size, chosen.pattern, chosen.tie_break]
            made = in_fresh_process(__file__, [*given, chosen.times, chosen.free])
            if made is None:
                print(f"{count} copies: failed, see above", flush=True)
                continue
            phases = [f"{took:.2f} s" for took in made["phases"].values()]
            memory = f"{made['memory'] / 1e6:,.0f} MB" if made["memory"] else ""
            share = f"{made['memory'] / made['bytes']:.2f}" if made["memory"] else ""
            total = f"{made['seconds']:.2f} s"
            rows.append([f"{made['bytes'] / 1e6:,.0f} MB", *phases, total, f"{made['merges']:,}", memory, share])
            print(*rows[-1], sep="  ", flush=True)
    print(f"\nPattern {chosen.pattern}, {chosen.vocabulary_size:,} tokens, ties by {chosen.tie_break}; {machine()}\n")
    heads = ["text", "reading", "counting", "merging", "all", "merges", "peak memory", "bytes a corpus byte"]
    table(heads, rows)


if __name__ == "__main__":
    main()
