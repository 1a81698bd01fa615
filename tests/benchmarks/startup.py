"""From the start of the process to a window that answers, with the compiled loops cached, offscreen.

The window says in its log when its event loop has turned after the first paint; what is measured is when that line
comes out of a fresh process.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

from _common import machine, table

_RUNS = 7


def main() -> None:
    """Starts the window some times, and prints the times."""
    from tokstudio.core.base.progress import finish
    from tokstudio.core.warm_up import prepare_work

    finish(prepare_work())
    print(machine())
    with tempfile.TemporaryDirectory() as home:
        times = sorted(_start(home) for _ in range(_RUNS))
    rows = [["start to answering window", f"{times[0]:.2f} s", f"{times[len(times) // 2]:.2f} s", f"{times[-1]:.2f} s"]]
    table([f"{_RUNS} starts", "fastest", "median", "slowest"], rows)


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


if __name__ == "__main__":
    main()
