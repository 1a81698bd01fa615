"""How long the compiled loops take to be made on a new installation, and to be loaded later; in fresh processes.

A first start makes those that every training needs, and then the others in the background, which are made here after
it. Later ones load each loop when it is first called: so a first training and encoding are measured too.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import subprocess
import sys
import tempfile

from _common import machine, parser, seconds, table

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


def main() -> None:
    """Makes the loops ready as a first start does, then as later ones do, and prints the times."""
    arguments = parser(__doc__)
    arguments.add_argument("--runs", type=int, default=3, help="of each; the best counts")
    runs: int = arguments.parse_args().runs
    took: dict[str, float] = {}
    for _ in range(runs):
        with tempfile.TemporaryDirectory() as home:
            # No loops are cached.
            environment = {**os.environ, "HOME": home, "XDG_CACHE_HOME": home, "LOCALAPPDATA": home}
            environment["NUMBA_CACHE_DIR"] = os.path.join(home, "loops")
            programs = [("first start", _PROGRAM), ("the loops of other algorithms after it", _ALL)]
            programs += [("later start", _PROGRAM), ("later start, and a first training of 1 kB", _TRAINING)] * runs
            for name, program in programs:
                this, _ = seconds(lambda: subprocess.run([sys.executable, "-c", program], env=environment, check=True))  # noqa: B023
                took[name] = min(this, took.get(name, this))
    print(machine())
    table(["process that makes the loops ready", "takes"], [[name, f"{best:.2f} s"] for name, best in took.items()])


if __name__ == "__main__":
    main()
