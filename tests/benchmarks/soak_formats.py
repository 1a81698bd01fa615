"""Damages files of every readable format thousands of times, real ones too: one clear error, bounded time and memory.

Run as `python tests/benchmarks/soak_formats.py [COUNT] [FORMAT ...]`. Each format has a process of its own, which may
take less than a gigabyte, and no mutant longer than 20 seconds.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import multiprocessing
import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

TESTS = Path(__file__).parents[1]
SHARED = TESTS.parents[1] / "shared" / "data" / "tokenizers"
sys.path[:0] = [str(TESTS / "core" / "formats"), str(TESTS.parent)]

import file_mutants  # noqa: E402
import test_mutants  # noqa: E402

LARGEST = 1_000_000_000
LONGEST = 20.0
REAL = {"cl100k_base.tiktoken": 60, "mistral_v1.model": 200, "gpt2/vocab.bpe": 60}  # how many of 2,000: they are large


def soak(name: str, path: Path, mutate: Callable[[bytes, random.Random], bytes], count: int) -> None:
    """Opens so many mutants of one file, and prints what came of it."""
    whole, chance = path.read_bytes(), random.Random(f"{name} {mutate.__name__}")
    refused, longest = 0, 0.0
    for _ in range(count):
        path.write_bytes(mutate(whole, chance))
        begin = time.perf_counter()
        refused += file_mutants.read_or_refused(path, "gpt2") is None
        longest = max(longest, time.perf_counter() - begin)
    largest = 1024 * max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    print(f"{name:<22} {mutate.__name__:<18} {count:>6,} mutants, {refused:>6,} refused, longest {longest:5.2f} s, "
          f"most memory {largest / 1e6:5.0f} MB", flush=True)  # fmt: skip
    assert largest < LARGEST
    assert longest < LONGEST


def soak_made(index: int, count: int) -> None:
    """A file that the tests make."""
    make, mutate = test_mutants.FILES[index]
    with tempfile.TemporaryDirectory() as folder:
        soak(make.__name__, make(Path(folder)), mutate, count)


def soak_real(name: str, count: int) -> None:
    """A file that everybody has."""
    with tempfile.TemporaryDirectory() as folder:
        for source in [SHARED / name, *(SHARED.glob("gpt2/*.json") if "gpt2" in name else ())]:
            (Path(folder) / source.name).write_bytes(source.read_bytes())
        soak(name, Path(folder) / Path(name).name, file_mutants.mutant_of_bytes, count)


def main() -> int:
    """Soaks all formats, or those that are named."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    chosen = sys.argv[2:]
    jobs = [(soak_made, (index, count), make.__name__) for index, (make, _) in enumerate(test_mutants.FILES)]
    jobs += [
        (soak_real, (name, max(1, count * share // 2000)), name) for name, share in REAL.items() if SHARED.is_dir()
    ]
    failed = 0
    for target, arguments, name in jobs:
        if not chosen or name in chosen:
            process = multiprocessing.get_context("spawn").Process(target=target, args=arguments)
            process.start()
            process.join()
            failed += process.exitcode != 0
    return failed


if __name__ == "__main__":
    sys.exit(main())
