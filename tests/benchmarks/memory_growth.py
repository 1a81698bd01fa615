"""How memory and time grow with the corpus, without pre-tokenization. Each training has a process of its own."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from _common import forget_peak, machine, memory, parser, seconds, table, texts


def measure(file: str, limits: dict[str, int]) -> dict[str, float]:
    """Trains here: seconds, and bytes of memory above what the process held before it read the corpus."""
    from tokstudio.core.corpus.corpus import Corpus
    from tokstudio.core.model.config import TrainingConfig
    from tokstudio.core.training.trainer import train
    from tokstudio.core.warm_up import exercise

    exercise()
    forget_peak()
    base = memory("VmRSS")
    corpus = Corpus.from_files([file])
    took, tokenizer = seconds(lambda: train(corpus, TrainingConfig(**limits)))
    return {
        "seconds": took,
        "bytes": corpus.bytes,
        "memory": memory("VmHWM") - base,
        "merges": len(tokenizer.merges),
    }


def measured(file: Path, limits: dict[str, int]) -> dict[str, float]:
    """The same, in a fresh process."""
    command = [sys.executable, __file__, "--one", json.dumps([str(file), limits])]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--vocabulary-size", type=int, default=32768)
    arguments.add_argument("--runs", type=int, default=3, help="of each text; the best counts")
    arguments.add_argument("--one", help="used by itself")
    chosen = arguments.parse_args()
    if chosen.one:
        print(json.dumps(measure(*json.loads(chosen.one))))
        return
    if not Path("/proc/self/clear_refs").exists():
        sys.exit("Memory is measured on Linux only.")
    size = chosen.vocabulary_size
    rows = []
    with texts(chosen, "mixed_10mb.txt", "mixed_100mb.txt") as (small, large):
        if chosen.bytes:
            small.write_bytes(small.read_bytes()[: chosen.bytes // 10].decode(errors="ignore").encode())
        for name, limits in {
            f"size {size:,}": {"vocabulary_size": size},
            f"size {size:,}, frequency 2": {"vocabulary_size": size, "min_frequency": 2},
            "frequency 2": {"min_frequency": 2},
        }.items():
            less, more = (
                min((measured(text, limits) for _ in range(chosen.runs)), key=lambda made: made["seconds"])
                for text in (small, large)
            )
            rows.append(
                [
                    name,
                    f"{more['merges']:,}",
                    f"{less['seconds']:.2f} s",
                    f"{more['seconds']:.2f} s",
                    f"{more['seconds'] / less['seconds']:.1f}x",
                    f"{more['memory'] / 1e6:,.0f} MB",
                    f"{more['memory'] / more['bytes']:.2f}",
                ]
            )
            print(*rows[-1], sep="  ", flush=True)
    print(f"\nMixed text without pre-tokenization, the corpus itself included in the memory; {machine()}\n")
    table(["limits", "merges", "10 MB", "100 MB", "time grows", "peak memory", "bytes a corpus byte"], rows)


if __name__ == "__main__":
    main()
