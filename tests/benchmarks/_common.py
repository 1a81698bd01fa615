"""What the benchmarks share: where the texts are, how long something takes and how much memory, tables and results."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import importlib.util
import json
import lzma
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import _results

T = TypeVar("T")

_FOLDER = Path(__file__).resolve().parent
_PEAK = Path("/proc/self/clear_refs")
_STATUS = Path("/proc/self/status")


def parser(description: str | None) -> argparse.ArgumentParser:
    """The arguments that every benchmark takes."""
    arguments = argparse.ArgumentParser(description=description)
    arguments.add_argument(
        "--data",
        type=Path,
        default=os.environ.get("TOKSTUDIO_DATA"),
        help="folder with shakespeare.txt, mixed_10mb.txt and mixed_100mb.txt, plain or as .xz (or set TOKSTUDIO_DATA)",
    )
    arguments.add_argument("--bytes", type=int, help="use this much of each text only, to try the benchmark out")
    return arguments


def run_parts(arguments: argparse.ArgumentParser, **parts: Callable[[argparse.Namespace], None]) -> None:
    """Runs the parts of a program, or those that are asked for."""
    arguments.add_argument("--only", choices=parts, nargs="*", default=list(parts), help="some of the tables")
    chosen = arguments.parse_args()
    print(f"{machine()}\n", flush=True)
    for name in chosen.only:
        parts[name](chosen)


@contextmanager
def texts(arguments: argparse.Namespace, *names: str) -> Iterator[list[Path]]:
    """The files of that name, unpacked and cut; what had to be made is gone afterwards."""
    if arguments.data is None:
        sys.exit("Say where the texts are: --data FOLDER, or set TOKSTUDIO_DATA.")
    if arguments.bytes is not None:
        os.environ.pop("TOKSTUDIO_RECORD", None)  # a try is no result
    with tempfile.TemporaryDirectory(prefix="tokstudio-benchmark-") as folder:
        yield [_unpacked(Path(arguments.data), name, arguments.bytes, Path(folder)) for name in names]


def _unpacked(data: Path, name: str, most: int | None, folder: Path) -> Path:
    places = [data / name, data / "corpora" / name, data / f"{name}.xz", data / "corpora" / f"{name}.xz"]
    there = next((place for place in places if place.exists()), None)
    if there is None:
        sys.exit(f"{name}: not found in {data}.")
    if there.suffix != ".xz" and most is None:
        return there
    made = folder / Path(name).name
    with lzma.open(there) if there.suffix == ".xz" else there.open("rb") as source, made.open("wb") as target:
        if most is None:
            shutil.copyfileobj(source, target, 1 << 20)
        else:
            # A character that was cut would be no text.
            target.write(source.read(most).decode("utf-8", "ignore").encode())
    return made


def tokenizer_file(arguments: argparse.Namespace, name: str) -> Path:
    """A tokenizer in the folder of the texts, or in its folder `tokenizers`."""
    places = [Path(arguments.data) / name, Path(arguments.data) / "tokenizers" / name]
    return next((place for place in places if place.exists()), None) or sys.exit(f"{name}: not found in {places[0]}.")


def cut(text: bytes, number: int, folder: Path) -> list[Path]:
    """Files of about the same size, cut at line ends."""
    at, made = 0, list[Path]()
    for part in range(1, number + 1):
        end = len(text) if part == number else text.index(b"\n", len(text) * part // number) + 1
        made.append(folder / f"part{part}.txt")
        made[-1].write_bytes(text[at:end])
        at = end
    return made


def seconds(work: Callable[[], T]) -> tuple[float, T]:
    """How long something takes, and what it gives."""
    started = time.perf_counter()
    made = work()
    return time.perf_counter() - started, made


def memory(field: str) -> int:
    """Bytes of this process's memory: "VmRSS" now, "VmHWM" at most; 0 where the system does not say."""
    for line in _STATUS.read_text().splitlines() if _STATUS.exists() else ():
        if line.startswith(f"{field}:"):
            return 1024 * int(line.split()[1])
    return 0


def forget_peak() -> None:
    """Lets "VmHWM" begin anew."""
    if _PEAK.exists():
        _PEAK.write_text("5")


def costs(work: Callable[[], T]) -> tuple[dict[str, float], T]:
    """Seconds that something takes, and the most memory it needs above what the process held before."""
    forget_peak()
    base = memory("VmRSS")
    took, made = seconds(work)
    return {"seconds": took, "memory": memory("VmHWM") - base}, made


def training_by_phase(
    files: Sequence[str], times: int = 1, start: Any = None, **settings: Any
) -> tuple[dict[str, Any], Any]:
    """Trains here with TokStudio on files, each given so many times, from nothing or from a tokenizer.

    Returns:
        Seconds in all and by phase, and memory; then the trainer at its end.
    """
    from tokstudio import Corpus, Trainer, TrainingConfig, train

    config = TrainingConfig(**settings)
    train(Corpus.from_text("a first call loads the compiled loops"), config)
    phases = {"reading": 0.0, "counting": 0.0, "merging": 0.0}

    def work() -> Trainer:
        phases["reading"], corpus = seconds(lambda: Corpus.from_files(files))
        corpus = Corpus(times * corpus.sources)
        trainer = Trainer(corpus, config, start=start)
        while trainer.ended is None:
            phase = "counting" if trainer.prepared is None else "merging"
            phases[phase] += seconds(trainer.advance)[0]
        return trainer

    cost, trainer = costs(work)
    return {**cost, "phases": phases}, trainer


def in_fresh_process(function: Callable[..., Any], *given: object, **environment: str) -> Any | None:
    """What a function of a program gives in a process of its own, from and as JSON; None where it fails."""
    module = Path(function.__code__.co_filename).stem
    program = (
        f"import json, sys; sys.path.insert(0, {str(_FOLDER)!r}); from {module} import {function.__name__} as one;"
    )
    program += "print(json.dumps(one(*json.loads(sys.argv[1]))))"
    command = [sys.executable, "-c", program, json.dumps(given)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env={**os.environ, **environment})
    return json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else None


def is_installed(library: str) -> bool:
    """Whether a rival is there; where it is not, a line says so."""
    if importlib.util.find_spec(library) is not None:
        return True
    print(f"{library} is not installed here (see BENCHMARKS.md): left out.", flush=True)
    return False


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Prints a Markdown table, numbers to the right."""
    widths = [max(len(row[column]) for row in [heads, *rows]) for column in range(len(heads))]
    print("| " + " | ".join(head.ljust(width) for head, width in zip(heads, widths, strict=True)) + " |")
    print("|" + "|".join("-" * (width + 1) + (":" if column else "-") for column, width in enumerate(widths)) + "|")
    for row in rows:
        cells = [
            cell.rjust(width) if column else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        print("| " + " | ".join(cells) + " |")
    print(flush=True)


def record(
    work: str, given: str, ours: float, unit: str, rival: str = "", theirs: float | None = None, bar: str = ""
) -> None:
    """Keeps a result in `results.json` and BENCHMARKS.md, where `dev.py bench` asks for that.

    Args:
        work: What is done.
        given: The text, and what decides the amount of work; with work and rival, it tells the rows apart.
        ours: The value of TokStudio.
        unit: The unit of both values; one that ends in "/s" is better when higher.
        rival: A library, whose version is noted, or another way to do the work.
        theirs: The value of the rival.
        bar: What value or ratio should reach.
    """
    if os.environ.get("TOKSTUDIO_RECORD") != "1":
        return
    version = ""
    with suppress(importlib.metadata.PackageNotFoundError, ValueError):
        version = importlib.metadata.version(rival)
    row = _results.Row(
        program=Path(sys.argv[0]).stem,
        work=work,
        input=given,
        ours=float(f"{ours:.4g}"),
        unit=unit,
        date=datetime.date.today().isoformat(),
        machine=_results.computer(),
        rival=rival,
        version=version,
        theirs=None if theirs is None else float(f"{theirs:.4g}"),
        bar=bar,
    )
    _results.keep(row)


def machine() -> str:
    """One line on where this is measured."""
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return f"{_results.computer()}, Python {platform.python_version()}{load}"
