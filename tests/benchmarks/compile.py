"""How long the compiled loops take to be made on a new installation, and to be loaded later; in fresh processes."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import subprocess
import sys
import tempfile

from _common import machine, parser, seconds, table

_PROGRAM = (
    "from tokstudio.core.warm_up import prepare_work; from tokstudio.core.base.progress import finish;"
    "finish(prepare_work())"
)


def main() -> None:
    """Makes the loops ready as a first start does, then as later ones do, and prints the times."""
    arguments = parser(__doc__)
    arguments.add_argument("--runs", type=int, default=3, help="of each; the best counts")
    runs: int = arguments.parse_args().runs
    first, later = float("inf"), float("inf")
    for _ in range(runs):
        with tempfile.TemporaryDirectory() as home:
            # Neither Numba's cache nor our note that it is filled is there.
            environment = {**os.environ, "HOME": home, "XDG_CACHE_HOME": home, "LOCALAPPDATA": home}
            environment["NUMBA_CACHE_DIR"] = os.path.join(home, "loops")
            first = min(first, _start(environment))
            later = min(later, *(_start(environment) for _ in range(runs)))
    print(machine())
    table(["process that makes the loops ready", "takes"], [["first", f"{first:.1f} s"], ["later", f"{later:.2f} s"]])


def _start(environment: dict[str, str]) -> float:
    command = [sys.executable, "-c", _PROGRAM]
    took, _ = seconds(lambda: subprocess.run(command, env=environment, check=True))
    return took


if __name__ == "__main__":
    main()
