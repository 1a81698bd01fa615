"""From the start of the process to a window that answers, and how long the compiled loops take to be made and loaded.

The window says in its log when its event loop has turned after the first paint; what is measured is when that line
comes out of a fresh process, offscreen, with the compiled loops cached.

On a new installation a first start makes the loops that every training needs, and then the others in the background,
which are made here after it. Later starts load each loop when it is first called: so a first training and encoding are
measured too.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from statistics import median

from _common import parser, record, run_parts, seconds, table

_STARTS = 7
_PROGRAM = (
    "from tokstudio.core.warm_up import prepare_work; from tokstudio.core.base.progress import finish;"
    "finish(prepare_work());"
)
_TRAINING = _PROGRAM + (
    "from tokstudio import Corpus, TrainingConfig, train;"
    "config = TrainingConfig(vocabulary_size=270, pattern='gpt2');"
    "train(Corpus.from_text('a first text, ' * 70), config).encode('a text')"
)
_ALL = "from tokstudio.core.warm_up import main; main()"


def window(_: argparse.Namespace) -> None:
    """Starts the window some times."""
    from tokstudio.core.base.progress import finish
    from tokstudio.core.warm_up import prepare_work

    finish(prepare_work())
    with tempfile.TemporaryDirectory() as home:
        times = sorted(_start(home) for _ in range(_STARTS))
    cells = [f"{taken:.2f} s" for taken in (times[0], median(times), times[-1])]
    table([f"{_STARTS} starts", "fastest", "median", "slowest"], [["start to answering window", *cells]])
    record("start until the window answers", f"median of {_STARTS} starts", median(times), "s", bar="0.5 s")


def _start(home: str) -> float:
    environment = {**os.environ, "TOKSTUDIO_LOG": "info", "XDG_CONFIG_HOME": home}
    environment.setdefault("QT_QPA_PLATFORM", "offscreen")
    started = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-m", "tokstudio"], stderr=subprocess.PIPE, env=environment, text=True
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "The window answers." in line:
                break
        taken = time.perf_counter() - started
        process.kill()
    return taken


def loops(chosen: argparse.Namespace) -> None:
    """Makes the loops ready as a first start does, then as later ones do."""
    took: dict[str, float] = {}
    for _ in range(chosen.runs):
        with tempfile.TemporaryDirectory() as home:
            # No loops are cached.
            environment = {**os.environ, "HOME": home, "XDG_CACHE_HOME": home, "LOCALAPPDATA": home}
            environment["NUMBA_CACHE_DIR"] = os.path.join(home, "loops")
            programs = [("first start", _PROGRAM), ("the loops of other algorithms after it", _ALL)]
            programs += [
                ("later start", _PROGRAM),
                ("later start, and a first training of 1 kB", _TRAINING),
            ] * chosen.runs
            for name, program in programs:
                this, _ = seconds(lambda: subprocess.run([sys.executable, "-c", program], env=environment, check=True))  # noqa: B023
                took[name] = min(this, took.get(name, this))
    table(["process that makes the loops ready", "takes"], [[name, f"{best:.2f} s"] for name, best in took.items()])
    record("compile the loops", "first start", took["first start"], "s", bar="10 s")


if __name__ == "__main__":
    arguments = parser(__doc__)
    arguments.add_argument("--runs", type=int, default=3, help="of making and loading the loops; the best counts")
    run_parts(arguments, window=window, loops=loops)
